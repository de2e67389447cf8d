//! The launch files of `examples/framework`: results beside those of sums in double precision.

use std::path::{Path, PathBuf};

use crate::gpucast::stdout;

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/framework");
    folder.join(name).display().to_string()
}

/// Runs an example with `parameters`, finds no fault, and reads the numbers that it leaves.
fn left<const N: usize>(name: &str, parameters: &str, buffers: [&str; N]) -> [Vec<f64>; N] {
    left_bytes(name, parameters, buffers).map(|bytes| {
        let word = |word: &[u8]| f32::from_le_bytes(word.try_into().unwrap()).into();
        bytes.chunks_exact(4).map(word).collect()
    })
}

/// The same, of any type.
fn left_bytes<const N: usize>(name: &str, parameters: &str, buffers: [&str; N]) -> [Vec<u8>; N] {
    let folder = tempfile::tempdir().unwrap();
    let file = |buffer: &str| -> PathBuf { folder.path().join(format!("{buffer}.bin")) };
    let dumps = buffers.map(|buffer| format!(" --dump {buffer}={}", file(buffer).display()));
    let said = stdout(&format!("run {} --check all {parameters}{}", example(name), dumps.concat()));
    assert!(said.contains("nothing found"), "{said}");
    buffers.map(|buffer| std::fs::read(file(buffer)).unwrap())
}

#[test]
fn sums_of_two_tensors_are_exact() {
    let [a, b, c] = left("elementwise.toml", "--param elements=1536", ["a", "b", "c"]);
    assert_eq!(c.len(), 1536);
    for ((a, b), c) in a.iter().zip(&b).zip(&c) {
        assert_eq!(f64::from((a + b) as f32), *c);
    }
}

#[test]
fn rows_are_normalised() {
    let parameters = "--param rows=3 --param length=644";
    let [x, weight, bias, means, y] =
        left("layer-norm.toml", parameters, ["x", "weight", "bias", "means", "y"]);
    for (row, (x, y)) in x.chunks(644).zip(y.chunks(644)).enumerate() {
        let mean = x.iter().sum::<f64>() / 644.0;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 644.0;
        assert!((means[row] - mean).abs() < 1e-6, "{row}");
        for (at, (x, y)) in x.iter().zip(y).enumerate() {
            let want = (x - mean) / (variance + 1e-5).sqrt() * weight[at] + bias[at];
            assert!((want - y).abs() < 1e-5, "{row} {at}: {y} for {want}");
        }
    }
}

#[test]
fn rows_become_shares() {
    // Their own expectations compare with the reference of the corpus.
    for (name, parameters) in [
        ("softmax.toml", "--param rows=3 --param length=1284 --param threads=256"),
        ("softmax-short.toml", "--param rows=7 --param length=768"),
    ] {
        let [] = left(name, parameters, []);
    }
}

/// The value of an e4m3, as the OCP's specification of 8-bit floating point has it.
fn e4m3(bits: u8) -> f64 {
    let (exponent, fraction) = (i32::from(bits >> 3 & 15), f64::from(bits & 7));
    let magnitude = if exponent == 0 {
        fraction * 2_f64.powi(-9)
    } else {
        (8.0 + fraction) * 2_f64.powi(exponent - 10)
    };
    if bits < 0x80 { magnitude } else { -magnitude }
}

#[test]
fn each_value_becomes_the_nearest_e4m3() {
    // Rows by their own scales are compared with the reference of the corpus.
    let [] = left("quantise-rows.toml", "--param rows=3 --param length=4112", []);
    let [] = left("quantise-rows.toml", "--param rows=3 --param length=64 --param threads=64", []);
    let parameters = "--param rows=3 --param length=4112";
    let [x, y] = left_bytes("quantise.toml", parameters, ["x", "y"]);
    assert_eq!((x.len(), y.len()), (2 * 3 * 4112, 3 * 4112));
    let numbers = (0..=u8::MAX).filter(|bits| bits & 0x7F != 0x7F).map(e4m3).collect::<Vec<_>>();
    for (x, y) in x.chunks_exact(2).zip(y) {
        let x = f32::from_bits(u32::from(u16::from_le_bytes(x.try_into().unwrap())) << 16);
        let want = f64::from(x * (1.0 / 0.005_f32)).clamp(-448.0, 448.0);
        let away = |number: &f64| (number - want).abs();
        let nearest = numbers.iter().map(away).fold(f64::INFINITY, f64::min);
        assert_eq!(away(&e4m3(y)), nearest, "{x} became {}", e4m3(y));
    }
}

//! Clang without NVIDIA's headers, where the environment of the test has a clang.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};

use crate::gpucast::{Outcome, command, outcome};

const FUNCTIONS: &str = include_str!("clang/functions.cu");
const WARPS: &str = include_str!("clang/warps.cu");

/// Runs the program where clang is the one compiler; `None` without a clang, and says so.
pub(crate) fn with_clang(arguments: &str) -> Option<Outcome> {
    let folders = std::env::var_os("PATH")?;
    let clang = std::env::split_paths(&folders).map(|folder| folder.join("clang++"));
    let Some(clang) = clang.into_iter().find(|path| path.is_file()) else {
        eprintln!("skipped: there is no clang++ on PATH");
        return None;
    };
    let mut program = command(&format!("{arguments} --cuda-compiler {}", clang.display()));
    program.env("PATH", folders);
    Some(outcome(program))
}

fn written(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path
}

/// Numbers of all sizes and signs, without a generator: the bits of multiples of a prime.
fn numbers(count: u32) -> Vec<f32> {
    let anywhere = (0..count / 2).map(|i| f32::from_bits(i.wrapping_mul(2_654_435_761)));
    let small = (0..count / 2).map(|i| (i as f32 - count as f32 / 4.0) * 0.013_7);
    anywhere.chain(small).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// The distance of a result from the exact one, in units of its last place.
fn units(got: f32, exact: f64) -> f64 {
    let want = exact as f32;
    if got == want || (got.is_nan() && want.is_nan()) {
        return 0.0;
    }
    if !got.is_finite() || !want.is_finite() {
        return f64::INFINITY;
    }
    let unit = f64::from(f32::from_bits(want.abs().to_bits() + 1)) - f64::from(want.abs());
    (f64::from(got) - exact).abs() / unit
}

type Function = (&'static str, fn(f64, f64) -> f64);

/// In the order of `functions.cu`.
const EXACT: [Function; 17] = [
    ("expf", |x, _| x.exp()),
    ("exp2f", |x, _| x.exp2()),
    ("logf", |x, _| x.ln()),
    ("log2f", |x, _| x.log2()),
    ("log10f", |x, _| x.log10()),
    ("powf", f64::powf),
    ("cbrtf", |x, _| x.cbrt()),
    ("sinf", |x, _| x.sin()),
    ("cosf", |x, _| x.cos()),
    ("tanf", |x, _| x.tan()),
    ("tanhf", |x, _| x.tanh()),
    ("sqrtf", |x, _| x.sqrt()),
    ("rsqrtf", |x, _| 1.0 / x.sqrt()),
    ("fmodf", |x, y| x % y),
    ("floorf", |x, _| x.floor()),
    ("roundf", |x, _| x.round()),
    ("fminf", f64::min),
];

/// The greatest distance that the documentation promises.
const PROMISED: f64 = 4.0;

#[test]
fn functions_of_mathematics_are_within_four_units() {
    const COUNT: u32 = 20_000;
    let folder = tempfile::tempdir().unwrap();
    let (x, by) = (numbers(COUNT), numbers(COUNT).into_iter().rev().collect::<Vec<_>>());
    let bytes = |numbers: &[f32]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
    fs::write(folder.path().join("x.bin"), bytes(&x)).unwrap();
    fs::write(folder.path().join("by.bin"), bytes(&by)).unwrap();
    written(folder.path(), "functions.cu", FUNCTIONS);
    let buffer = |name: &str, rest: &str| format!("[buffers.{name}]\ntype = \"f32\"\n{rest}\n");
    let of_file =
        |name: &str| buffer(name, &format!("len = {COUNT}\ninit = {{ file = \"{name}.bin\" }}"));
    let text = format!(
        "module = \"functions.cu\"\n{}{}{}[[launch]]\nkernel = \"functions\"\n\
         grid = [{}, 1, 1]\nblock = [256, 1, 1]\nargs = [\"x\", \"by\", \"y\", {{ s32 = {COUNT} }}]\n",
        of_file("x"),
        of_file("by"),
        buffer("y", &format!("len = {}\ninit = \"zero\"", EXACT.len() as u32 * COUNT)),
        COUNT.div_ceil(256),
    );
    let launch = written(folder.path(), "launch.toml", &text);
    let results = folder.path().join("y.bin");
    let run = format!("run {} --dump y={}", launch.display(), results.display());
    let Some(ran) = with_clang(&run) else { return };
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let got = floats(&fs::read(results).unwrap());
    for ((name, exact), got) in EXACT.iter().zip(got.chunks_exact(COUNT as usize)) {
        for ((&x, &by), &got) in x.iter().zip(&by).zip(got) {
            let exact = exact(x.into(), by.into());
            let far = units(got, exact);
            assert!(far <= PROMISED, "{name}({x:e}, {by:e}) = {got:e}, {far} units from {exact:e}");
        }
    }
}

#[test]
fn lanes_and_blocks_work_together_and_host_code_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let source = written(folder.path(), "warps.cu", WARPS);
    let file = |name: &str| folder.path().join(format!("{name}.bin"));
    let dump = |name: &str| format!("--dump {name}={}", file(name).display());
    let run = format!(
        "run {} --grid 4 --block 256 --arg 'buf:f32[1]' --arg 'buf:u32[7]' --arg s32:1000 {} {}",
        source.display(),
        dump("arg0"),
        dump("arg1"),
    );
    let Some(ran) = with_clang(&run) else { return };
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stderr.contains("1000 of 4"), "{}", ran.stderr);
    let sums = floats(&fs::read(file("arg0")).unwrap());
    assert_eq!(sums, [(0..1000).map(|i| i % 3).sum::<i32>() as f32]);
    let facts = fs::read(file("arg1")).unwrap();
    let facts: Vec<u32> =
        facts.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    let of_bits = 16 + 4 + 31;
    let some = 8 + 2 + 16 * 128;
    assert_eq!(facts, [0xaaaa_aaaa, of_bits, 7 + 4 + 2, 10.0_f32.to_bits(), 10, 1023, some]);
}

#[test]
fn integers_of_the_c_library_need_no_header() {
    let folder = tempfile::tempdir().unwrap();
    let text = "__global__ void fill(float *x, uint32_t n) {\n\
                size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;\n\
                if (i < n && n < INT_MAX) x[i] = FLT_MAX; }\n";
    let source = written(folder.path(), "fill.cu", text);
    let file = folder.path().join("x.bin");
    let run = format!(
        "run {} --grid 2 --block 32 --arg 'buf:f32[64]=zero' --arg u32:40 --dump arg0={}",
        source.display(),
        file.display()
    );
    let Some(ran) = with_clang(&run) else { return };
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    let filled = floats(&fs::read(file).unwrap());
    assert!(filled[..40].iter().all(|&x| x == f32::MAX) && filled[40..] == [0.0; 24]);
}

#[test]
fn what_is_not_declared_is_refused_with_the_way_round() {
    let folder = tempfile::tempdir().unwrap();
    let text = "extern \"C\" __global__ void k(double *x) { x[0] = exp(x[0]); }\n";
    let source = written(folder.path(), "double.cu", text);
    let run = format!("run {} --grid 1 --block 1 --arg 'buf:f64[1]'", source.display());
    let Some(ran) = with_clang(&run) else { return };
    assert_eq!(ran.status, 1);
    for part in ["double.cu:1:", "exp", "pip install nvidia-cuda-nvrtc-cu12"] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    // What is wrong in itself needs no other headers.
    let text = "extern \"C\" __global__ void k(float *x) { x[0] = 1.0f }\n";
    let source = written(folder.path(), "semicolon.cu", text);
    let run = format!("run {} --grid 1 --block 1 --arg 'buf:f32[1]'", source.display());
    let Some(ran) = with_clang(&run) else { return };
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("semicolon.cu:1:"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("pip install"), "{}", ran.stderr);
}

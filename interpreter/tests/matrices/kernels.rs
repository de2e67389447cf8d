//! Matrix products that NVIDIA's compiler made of CUDA, through `mma.h` and through inline PTX,
//! against loops over integers: `tests/kernels`.

use gpucast_interpreter::{Argument, DeviceMemory, Launch, NoObserver, Options, Program, run};

use crate::exact::{BF16, F16, Number, Rounding};
use crate::machine::Random;

const WMMA: &str = include_str!("../kernels/wmma.ptx");
const MMA: &str = include_str!("../kernels/mma.ptx");

/// Extent of all matrices.
const N: usize = 64;

/// A kernel on `buffers` and scalars; what the last buffer holds afterwards.
fn launch(
    text: &str,
    kernel: &str,
    grid: [u32; 2],
    threads: u32,
    buffers: &[Vec<u8>],
    scalars: &[Argument],
) -> Vec<u8> {
    let module = gpucast_ptx_frontend::load(text).unwrap_or_else(|p| panic!("{}", p[0].message));
    let program = Program::new(&module, text, kernel).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let mut arguments = Vec::new();
    for (index, buffer) in buffers.iter().enumerate() {
        let name = index.to_string();
        arguments.push(Argument::Address(memory.allocate(&name, buffer.len() as u64).unwrap()));
        memory.bytes_mut(&name).unwrap().copy_from_slice(buffer);
    }
    arguments.extend_from_slice(scalars);
    let [x, y] = grid;
    let launch = Launch {
        grid: [x, y, 1],
        block: [threads, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments,
    };
    run(
        &program,
        &launch,
        &mut memory,
        &mut NoObserver,
        &Options::default(),
        &gpucast_interpreter::Silent,
    )
    .unwrap_or_else(|error| panic!("{error}"));
    memory.bytes(&(buffers.len() - 1).to_string()).unwrap().to_vec()
}

/// A matrix of integers.
fn integers(seed: u64, limit: i64) -> Vec<i64> {
    let mut random = Random::new(seed);
    let range = 2 * limit as u64 + 1;
    (0..N * N).map(|_| random.below(range) as i64 - limit).collect()
}

fn product(a: &[i64], b: &[i64]) -> Vec<i64> {
    let element = |at: usize| (0..N).map(|k| a[at / N * N + k] * b[k * N + at % N]).sum();
    (0..N * N).map(element).collect()
}

fn bytes<const W: usize>(values: &[i64], encode: impl Fn(i64) -> [u8; W]) -> Vec<u8> {
    values.iter().flat_map(|&value| encode(value)).collect()
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|word| f32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// 64ths as halves: products are 4096ths, whose sums `.f32` holds exactly.
fn halves(values: &[i64], format: crate::exact::Format) -> Vec<u8> {
    bytes(values, |value| {
        let number = Number::integer(value).scaled(-6);
        (format.encode(&number, Rounding::Nearest) as u16).to_le_bytes()
    })
}

const I32: fn(i32) -> Argument = |value| Argument::Bytes(value.to_le_bytes().to_vec());

#[test]
fn mma_and_ldmatrix_multiply_halves() {
    let (a, b) = (integers(1, 127), integers(2, 127));
    let expected: Vec<f32> = product(&a, &b).iter().map(|&sum| sum as f32 / 4096.0).collect();
    for (kernel, format) in [("product_f16", F16), ("product_bf16", BF16)] {
        let buffers = [halves(&a, format), halves(&b, format), vec![0xff; 4 * N * N]];
        let result = launch(MMA, kernel, [1, 1], 128, &buffers, &[I32(N as i32)]);
        assert_eq!(floats(&result), expected, "{kernel}");
    }
}

#[test]
fn wmma_multiplies_halves_and_fragments_are_worked_on() {
    let (a, b) = (integers(3, 1000), integers(4, 1000));
    let buffers = [halves(&a, F16), halves(&b, F16), vec![0xff; 4 * N * N]];
    let alpha = Argument::Bytes(0.5f32.to_le_bytes().to_vec());
    let result = launch(WMMA, "product_f16", [2, 2], 128, &buffers, &[I32(N as i32), alpha]);
    // The sums of 64 products of 20 bits may need more than 24 bits, and are rounded every 16.
    let magnitudes: Vec<i64> = {
        let magnitude = |values: &[i64]| values.iter().map(|v| v.abs()).collect::<Vec<_>>();
        product(&magnitude(&a), &magnitude(&b))
    };
    let expected = product(&a, &b);
    for (at, &found) in floats(&result).iter().enumerate() {
        let exact = (expected[at] as f64 / 8192.0).max(0.0);
        let bound = 4.0 * magnitudes[at] as f64 / 8192.0 * 2f64.powi(-24);
        assert!((f64::from(found) - exact).abs() <= bound, "{at}: {found} for {exact}");
    }
}

#[test]
fn wmma_multiplies_bytes() {
    let (a, b) = (integers(5, 127), integers(6, 127));
    let c = integers(7, i64::from(i32::MAX));
    let buffers = [
        bytes(&a, |value| [value as u8]),
        bytes(&b, |value| [value as u8]),
        bytes(&c, |value| (value as i32).to_le_bytes()),
    ];
    let result = launch(WMMA, "product_s8", [8, 2], 32, &buffers, &[I32(N as i32)]);
    let product = product(&a, &b);
    for (at, word) in result.chunks_exact(4).enumerate() {
        // C is column-major. A clamped sum can come back, one step of 16 after the other.
        let (row, column) = (at % N, at / N);
        let mut expected = c[at];
        for step in (0..N).step_by(16) {
            let part = (step..step + 16).map(|k| a[row * N + k] * b[k * N + column]);
            expected =
                (expected + part.sum::<i64>()).clamp(i64::from(i32::MIN), i64::from(i32::MAX));
        }
        let found = i32::from_le_bytes(word.try_into().unwrap());
        assert_eq!(i64::from(found), expected, "{row}, {column}");
        let unclamped = c[at] + product[row * N + column];
        assert!(expected == unclamped || c[at].abs() > 2_147_000_000);
    }
}

#[test]
fn wmma_multiplies_tf32_and_doubles() {
    let (a, b) = (integers(8, 1000), integers(9, 1000));
    let expected = product(&a, &b);
    let single = |values: &[i64]| bytes(values, |value| (value as f32).to_le_bytes());
    let buffers = [single(&a), single(&b), vec![0xff; 4 * N * N]];
    let result = launch(WMMA, "product_tf32", [4, 4], 32, &buffers, &[I32(N as i32)]);
    for (at, &found) in floats(&result).iter().enumerate() {
        // Up to 64 million: eight roundings to 24 bits.
        assert!((f64::from(found) - expected[at] as f64).abs() <= 8.0 * 2.0, "{at}");
    }
    let double = |values: &[i64]| bytes(values, |value| (value as f64).to_le_bytes());
    let buffers = [double(&a), double(&b), vec![0xff; 8 * N * N]];
    let result = launch(WMMA, "product_f64", [8, 8], 32, &buffers, &[I32(N as i32)]);
    for (at, word) in result.chunks_exact(8).enumerate() {
        let found = f64::from_le_bytes(word.try_into().unwrap());
        assert_eq!(found, expected[at] as f64, "{at}");
    }
}

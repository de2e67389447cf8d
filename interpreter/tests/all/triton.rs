//! Triton's matrix product for sm_80, sm_90a and sm_100a, softmax and layer normalisation for
//! sm_80, as Triton compiles them (`kernels/triton`), against double-precision references.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use gpucast_interpreter::tensor_map::{Element, Fill, Swizzle, TensorMap};
use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, NoObserver, Options, Program, Silent, run,
};
use gpucast_ptx_frontend::ScalarType;
use half::f16;

/// A buffer's contents and what becomes of them.
struct Buffer<'a> {
    name: &'a str,
    bytes: Vec<u8>,
}

fn halves(values: &[f16]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn singles(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn read_halves(bytes: &[u8]) -> Vec<f64> {
    let half = |bytes: &[u8]| f16::from_le_bytes(bytes.try_into().unwrap()).to_f64();
    bytes.chunks_exact(2).map(half).collect()
}

/// Numbers between -2 and 2 that half precision holds, without a pattern.
fn numbers(seed: u64, count: usize) -> Vec<f16> {
    let mut random = seed;
    let mut next = || {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f16::from_f64((random >> 40) as f64 / f64::from(1 << 22) - 2.0)
    };
    (0..count).map(|_| next()).collect()
}

/// Launch `kernel` of `text`; Triton's kernels take two further pointers, which these do not use.
fn launch(
    text: &str,
    kernel: &str,
    grid: [u32; 3],
    shared: u32,
    buffers: &[Buffer<'_>],
    scalars: &[(ScalarType, u32)],
) -> DeviceMemory {
    let scalar = |&(ty, bits): &(ScalarType, u32)| Argument::Scalar { ty, bits: bits.into() };
    launch_with(text, kernel, grid, shared, buffers, |addresses| {
        let addresses = addresses.iter().map(|&address| Argument::Address(address));
        addresses.chain(scalars.iter().map(scalar)).chain([Argument::Address(0)]).collect()
    })
}

/// [`launch`] with arguments made of the buffers' addresses, but for the last pointer.
fn launch_with(
    text: &str,
    kernel: &str,
    grid: [u32; 3],
    shared: u32,
    buffers: &[Buffer<'_>],
    arguments: impl Fn(&[u64]) -> Vec<Argument>,
) -> DeviceMemory {
    let module =
        gpucast_ptx_frontend::load(text).unwrap_or_else(|problems| panic!("{}", problems[0]));
    let program = Program::new(&module, text, kernel).unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let mut addresses = Vec::new();
    for buffer in buffers {
        let address = memory.allocate(buffer.name, buffer.bytes.len() as u64).unwrap();
        memory.bytes_mut(buffer.name).unwrap().copy_from_slice(&buffer.bytes);
        addresses.push(address);
    }
    let mut arguments = arguments(&addresses);
    arguments.push(Argument::Address(0));
    let launch =
        Launch { grid, block: [128, 1, 1], cluster: None, dynamic_shared_bytes: shared, arguments };
    run(&program, &launch, &mut memory, &mut NoObserver, &Options::default(), &Silent)
        .unwrap_or_else(|error| panic!("{error}"));
    memory
}

fn integer(value: usize) -> (ScalarType, u32) {
    (ScalarType::S32, value as u32)
}

#[test]
fn a_matrix_product_of_halves() {
    check_product(include_str!("../kernels/triton/matmul_sm_80.ptx"));
}

/// With `wgmma`: A in rows of K that are swizzled by 64 bytes, B in rows of N swizzled by 128.
#[test]
fn a_matrix_product_of_halves_by_warpgroups() {
    check_product(include_str!("../kernels/triton/matmul_sm_90.ptx"));
}

/// With `tcgen05`: the sums in tensor memory, a row of them in each lane.
#[test]
fn a_matrix_product_of_halves_in_tensor_memory() {
    check_product(include_str!("../kernels/triton/matmul_sm_100.ptx"));
}

/// Singles that the tensor cores read as `.tf32`: 64 rows, sixteen in each quarter of the lanes.
#[test]
fn a_matrix_product_of_singles_in_tensor_memory() {
    let text = include_str!("../kernels/triton/matmul_tf32_sm_100.ptx");
    let element = |value: f16| value.to_f32().to_le_bytes().to_vec();
    // Values of 11 significant bits are those of `.tf32`, too.
    check_product_of(text, [4, 2, 1], 32_784, |value| value, element);
}

/// Numbers of 8 bits, in a product of 128 columns.
#[test]
fn a_matrix_product_of_bytes_in_tensor_memory() {
    let text = include_str!("../kernels/triton/matmul_e4m3_sm_100.ptx");
    // Halves, ones, twos and so on, of either sign.
    let rounded = |value: f16| f16::from_f64((value.to_f64() * 4.0).round() / 4.0);
    let element = |value: f16| {
        let (size, sign) = (value.to_f64().abs(), u8::from(value.is_sign_negative()) << 7);
        let magnitudes = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0];
        let codes = [0, 0x28, 0x30, 0x34, 0x38, 0x3a, 0x3c, 0x3e, 0x40];
        let at = magnitudes.iter().position(|&magnitude| magnitude == size).unwrap();
        vec![codes[at] | sign]
    };
    check_product_of(text, [2, 1, 1], 49_168, rounded, element);
}

/// [`check_product`] of elements that are `rounded`, and whose bytes `element` makes.
fn check_product_of(
    text: &str,
    grid: [u32; 3],
    shared: u32,
    rounded: impl Fn(f16) -> f16,
    element: impl Fn(f16) -> Vec<u8>,
) {
    let product = Product { m: 200, n: 80, k: 112, strides: [128, 96, 80] };
    let Product { m, n, k, strides: [stride_a, stride_b, stride_c] } = product;
    let (a, b) = product.operands();
    let [a, b] = [a, b].map(|values| values.into_iter().map(&rounded).collect::<Vec<f16>>());
    let bytes = |values: &[f16]| values.iter().flat_map(|&value| element(value)).collect();
    let buffers = [
        Buffer { name: "a", bytes: bytes(&a) },
        Buffer { name: "b", bytes: bytes(&b) },
        Buffer { name: "c", bytes: vec![0xcc; m * stride_c * 2] },
    ];
    let scalars = [m, n, k, stride_a, stride_b, stride_c].map(integer);
    let memory = launch(text, "matmul", grid, shared, &buffers, &scalars);
    product.check_of(&a, &b, &memory);
}

fn check_product(text: &str) {
    let product = Product { m: 200, n: 80, k: 112, strides: [128, 96, 80] };
    let Product { m, n, k, strides: [stride_a, stride_b, stride_c] } = product;
    let scalars = [m, n, k, stride_a, stride_b, stride_c].map(integer);
    let memory = launch(text, "matmul", [2, 2, 1], 36_880, &product.buffers(), &scalars);
    product.check(&memory);
}

/// The same with tensor maps, of boxes of 128 x 64 and 64 x 64 halves swizzled by 128 bytes; what
/// lies outside the matrices is zero when it is loaded and left out when it is stored.
#[test]
fn a_matrix_product_with_tensor_maps_that_the_kernel_makes() {
    check_own_maps(include_str!("../kernels/triton/matmul_own_maps_sm_90.ptx"), 73_752);
}

#[test]
fn a_product_in_tensor_memory_with_tensor_maps_that_the_kernel_makes() {
    check_own_maps(include_str!("../kernels/triton/matmul_own_maps_sm_100.ptx"), 73_776);
}

fn check_own_maps(text: &str, shared: u32) {
    let product = Product { m: 200, n: 80, k: 112, strides: [128, 96, 80] };
    let Product { m, n, k, strides: [stride_a, stride_b, stride_c] } = product;
    let mut buffers = product.buffers();
    // Three maps for each CTA.
    buffers.push(Buffer { name: "maps", bytes: vec![0xaa; 4 * 384] });
    let memory = launch_with(text, "matmul_own_maps", [2, 2, 1], shared, &buffers, |addresses| {
        let scalars = [m, n, k, stride_a, stride_b, stride_c].map(integer);
        let scalars = scalars.map(|(ty, bits)| Argument::Scalar { ty, bits: bits.into() });
        let [a, b, c, maps] = addresses else { panic!("four buffers") };
        let matrices = [a, b, c].map(|&address| Argument::Address(address));
        let mut arguments = matrices.to_vec();
        arguments.extend(scalars);
        arguments.push(Argument::Address(*maps));
        arguments
    });
    product.check(&memory);
}

#[test]
fn a_matrix_product_with_tensor_maps_as_arguments() {
    check_maps(include_str!("../kernels/triton/matmul_maps_sm_90.ptx"), 73_752);
}

#[test]
fn a_product_in_tensor_memory_with_tensor_maps_as_arguments() {
    check_maps(include_str!("../kernels/triton/matmul_maps_sm_100.ptx"), 73_776);
}

fn check_maps(text: &str, shared: u32) {
    let product = Product { m: 200, n: 80, k: 112, strides: [128, 96, 80] };
    let Product { m, n, k, strides } = product;
    let buffers = product.buffers();
    let memory = launch_with(text, "matmul_maps", [2, 2, 1], shared, &buffers, |addresses| {
        let shapes = [[m, k], [k, n], [m, n]];
        let boxes = [[128, 64], [64, 64], [128, 64]];
        let mut arguments = Vec::new();
        for (index, [rows, columns]) in shapes.into_iter().enumerate() {
            let [box_rows, box_columns] = boxes[index];
            let map = TensorMap {
                global_address: addresses[index],
                element: Element::F16,
                rank: 2,
                global_dim: [columns as u32, rows as u32, 0, 0, 0],
                global_stride: [strides[index] as u64 * 2, 0, 0, 0],
                box_dim: [box_columns, box_rows, 0, 0, 0],
                element_stride: [1; 5],
                swizzle: Swizzle::B128,
                fill: Fill::Zero,
                im2col: None,
            };
            map.check().unwrap();
            arguments.push(Argument::Bytes(map.encode().to_vec()));
            let sizes = [rows, columns].map(integer);
            arguments.extend(sizes.map(|(ty, bits)| Argument::Scalar { ty, bits: bits.into() }));
            for stride in [strides[index], 1] {
                arguments.push(Argument::Scalar { ty: ScalarType::S64, bits: stride as u64 });
            }
        }
        let (ty, bits) = integer(k);
        arguments.push(Argument::Scalar { ty, bits: bits.into() });
        arguments.push(Argument::Address(0));
        arguments
    });
    product.check(&memory);
}

/// A matrix product whose sizes are not multiples of the tiles, of rows that are longer than they
/// need to be.
#[derive(Clone, Copy)]
struct Product {
    m: usize,
    n: usize,
    k: usize,
    /// Elements from one row of a, b and c to the next.
    strides: [usize; 3],
}

impl Product {
    fn operands(self) -> (Vec<f16>, Vec<f16>) {
        let [stride_a, stride_b, _] = self.strides;
        (numbers(1, self.m * stride_a), numbers(2, self.k * stride_b))
    }

    fn buffers(self) -> Vec<Buffer<'static>> {
        let (a, b) = self.operands();
        vec![
            Buffer { name: "a", bytes: halves(&a) },
            Buffer { name: "b", bytes: halves(&b) },
            Buffer { name: "c", bytes: halves(&numbers(3, self.m * self.strides[2])) },
        ]
    }

    fn check(self, memory: &DeviceMemory) {
        let (a, b) = self.operands();
        self.check_of(&a, &b, memory);
    }

    fn check_of(self, a: &[f16], b: &[f16], memory: &DeviceMemory) {
        let [stride_a, stride_b, stride_c] = self.strides;
        let c = read_halves(memory.bytes("c").unwrap());
        for row in 0..self.m {
            for column in 0..self.n {
                let products = (0..self.k)
                    .map(|at| a[row * stride_a + at].to_f64() * b[at * stride_b + column].to_f64());
                let (sum, size) =
                    products.fold((0.0, 0.0), |(sum, size), x: f64| (sum + x, size + x.abs()));
                // Half a unit in the last place of the result, and what single-precision sums lose.
                let bound = sum.abs() * 2f64.powi(-11) + size * 2f64.powi(-20);
                let got = c[row * stride_c + column];
                assert!((got - sum).abs() <= bound, "c[{row}][{column}] is {got}, not {sum}");
            }
        }
    }
}

#[test]
fn a_softmax_of_rows() {
    let text = include_str!("../kernels/triton/softmax_sm_80.ptx");
    let (rows, columns, stride) = (7, 1000, 1008);
    let values: Vec<f32> =
        numbers(4, rows * stride).iter().map(|value| value.to_f32() * 10.0).collect();
    let buffers = [
        Buffer { name: "out", bytes: singles(&vec![-1.0; rows * stride]) },
        Buffer { name: "values", bytes: singles(&values) },
    ];
    let scalars = [stride, columns].map(integer);
    let memory = launch(text, "softmax", [rows as u32, 1, 1], 16, &buffers, &scalars);
    let out: Vec<f64> = memory
        .bytes("out")
        .unwrap()
        .chunks_exact(4)
        .map(|bytes| f64::from(f32::from_le_bytes(bytes.try_into().unwrap())))
        .collect();
    for row in 0..rows {
        let values = &values[row * stride..row * stride + columns];
        let largest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let power = |value: f32| f64::from(value - largest).exp();
        let sum: f64 = values.iter().map(|&value| power(value)).sum();
        for (column, &value) in values.iter().enumerate() {
            let (got, expected) = (out[row * stride + column], power(value) / sum);
            // ex2.approx is good to 2^-22; its argument, up to 60, is rounded to 2^-19.
            let good = (got - expected).abs() <= expected * 2f64.powi(-17);
            assert!(good, "out[{row}][{column}] is {got}, not {expected}");
        }
        assert!(out[row * stride + columns..(row + 1) * stride].iter().all(|&rest| rest == -1.0));
    }
}

#[test]
fn a_layer_normalisation_of_rows() {
    let text = include_str!("../kernels/triton/layer_norm_sm_80.ptx");
    let (rows, columns, stride) = (5, 1200, 1200);
    let values = numbers(5, rows * stride);
    let (weights, biases) = (numbers(6, columns), numbers(7, columns));
    let epsilon = 1e-5f32;
    let buffers = [
        Buffer { name: "out", bytes: vec![0; rows * stride * 2] },
        Buffer { name: "values", bytes: halves(&values) },
        Buffer { name: "weights", bytes: halves(&weights) },
        Buffer { name: "biases", bytes: halves(&biases) },
    ];
    let scalars = [integer(stride), integer(columns), (ScalarType::F32, epsilon.to_bits())];
    let memory = launch(text, "layer_norm", [rows as u32, 1, 1], 16, &buffers, &scalars);
    let out = read_halves(memory.bytes("out").unwrap());
    for row in 0..rows {
        let values: Vec<f64> =
            values[row * stride..][..columns].iter().map(|value| value.to_f64()).collect();
        let mean = values.iter().sum::<f64>() / columns as f64;
        let variance =
            values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / columns as f64;
        let scale = 1.0 / (variance + f64::from(epsilon)).sqrt();
        for column in 0..columns {
            let weighted = (values[column] - mean) * scale * weights[column].to_f64();
            let expected = weighted + biases[column].to_f64();
            let got = out[row * stride + column];
            let bound = expected.abs() * 2f64.powi(-11) + (weighted.abs() + 1.0) * 2f64.powi(-18);
            assert!(
                (got - expected).abs() <= bound,
                "out[{row}][{column}] is {got}, not {expected}"
            );
        }
    }
}

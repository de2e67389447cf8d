//! References against results worked out by hand.

mod measured;
mod papers;
mod rodinia;

use super::*;

fn buffer(name: &str) -> Argument {
    Argument::Buffer(name.to_owned())
}

fn s32(value: i32) -> Argument {
    Argument::Scalar(Scalar::S32(value))
}

fn u32(value: u32) -> Argument {
    Argument::Scalar(Scalar::U32(value))
}

/// A launch with one row of blocks.
struct Case<'a> {
    reference: &'a str,
    kernel: &'a str,
    grid: [u32; 3],
    block: [u32; 3],
    repeat: u32,
    args: Vec<Argument>,
    buffers: Vec<(&'a str, Values)>,
}

impl Case<'_> {
    fn run(&self) -> Result<Outputs, ReferenceError> {
        let buffers = self
            .buffers
            .iter()
            .map(|(name, values)| ((*name).to_owned(), values.clone()))
            .collect();
        (reference(self.reference).unwrap().run)(&Inputs {
            kernel: self.kernel,
            grid: self.grid,
            block: self.block,
            repeat: self.repeat,
            args: &self.args,
            buffers: &buffers,
        })
    }

    fn gives(&self, name: &str, expected: Values) {
        assert_eq!(self.run().unwrap(), Outputs::from([(name.to_owned(), expected)]));
    }
}

fn sgemm() -> Case<'static> {
    Case {
        reference: "sgemm",
        kernel: "sgemm",
        grid: [2, 1, 1],
        block: [1, 1, 1],
        repeat: 1,
        args: vec![buffer("a"), buffer("b"), buffer("c"), s32(2)],
        buffers: vec![
            ("a", Values::F32(vec![1.0, 2.0])),
            ("b", Values::F32(vec![3.0, 4.0, 5.0, 6.0])),
            ("c", Values::F32(vec![9.0, 9.0])),
        ],
    }
}

#[test]
fn sgemm_multiplies_rows_by_columns() {
    sgemm().gives("c", Values::F32(vec![13.0, 16.0]));
}

#[test]
fn sgemm_rejects_what_does_not_fit() {
    let mut short = sgemm();
    short.buffers[1].1 = Values::F32(vec![0.0; 3]);
    assert_eq!(
        short.run().unwrap_err().to_string(),
        "buffer `b` has 3 elements: the reference needs 4"
    );

    let mut other_type = sgemm();
    other_type.buffers[0].1 = Values::F64(vec![1.0, 2.0]);
    assert_eq!(
        other_type.run().unwrap_err().to_string(),
        "buffer `a` holds f64: the reference needs f32"
    );

    let mut scalar = sgemm();
    scalar.args[0] = s32(1);
    assert_eq!(
        scalar.run().unwrap_err().to_string(),
        "argument 0 is a scalar of type s32: the reference needs a buffer of f32 there"
    );

    let mut missing = sgemm();
    missing.args.pop();
    assert_eq!(
        missing.run().unwrap_err().to_string(),
        "argument 3 is missing: the reference needs a scalar of type s32 there"
    );

    let mut negative = sgemm();
    negative.args[3] = s32(-2);
    assert_eq!(
        negative.run().unwrap_err().to_string(),
        "the launch does not fit: argument 3 is a size and is -2"
    );

    let mut unknown = sgemm();
    unknown.args[0] = buffer("x");
    assert_eq!(
        unknown.run().unwrap_err().to_string(),
        "buffer `x` (argument 0) is not among the inputs"
    );
}

/// A 4 x 2 grid: 6 rows of 16 for each colour (2 points of a colour a row, and padding).
fn coloured(point: impl Fn(usize, usize) -> f64, colour: usize) -> Values {
    let mut matrix = vec![0.0; 6 * 16];
    for j in 0..6 {
        for i in (0..4).filter(|i| (i + j) % 2 == colour) {
            matrix[j * 16 + i / 2] = point(i, j);
        }
    }
    Values::F64(matrix)
}

#[test]
fn sor_relaxes_inner_red_points_only() {
    // A linear function solves the Laplace equation: the neighbours' mean is the function itself.
    let plane = |i: usize, j: usize| (3 * i + 5 * j) as f64;
    // Inner red points start 1 too high and end 1 - 1.9 = -0.9 too high.
    let inner = |i: usize, j: usize| (1..=2).contains(&i) && (1..=4).contains(&j);
    let case = |repeat| Case {
        reference: "sor-red-black",
        kernel: "sor_red_4x2",
        grid: [1, 1, 1],
        block: [128, 4, 1],
        repeat,
        args: vec![buffer("red"), buffer("black")],
        buffers: vec![
            ("red", coloured(|i, j| plane(i, j) + if inner(i, j) { 1.0 } else { 0.0 }, 0)),
            ("black", coloured(plane, 1)),
        ],
    };
    for (repeat, error) in [(0, 1.0), (1, -0.9), (2, 0.81)] {
        let outputs = case(repeat).run().unwrap();
        let Values::F64(red) = &outputs["red"] else { panic!("{outputs:?}") };
        for j in 0..6 {
            for i in (0..4).filter(|i| (i + j) % 2 == 0) {
                let expected = plane(i, j) + if inner(i, j) { error } else { 0.0 };
                let found = red[j * 16 + i / 2];
                assert!((found - expected).abs() < 1e-12, "({i}, {j}): {found}, not {expected}");
            }
        }
    }
}

#[test]
fn lmsor_weighs_each_neighbour_by_its_own_coefficient() {
    // One black neighbour at a time is 1; omega = 1 leaves the local Jacobi operator alone.
    let (w, f, g) = (0.25, 0.5, 0.125);
    // A red point in an odd row and one in an even row.
    for (i, j) in [(1, 1), (2, 2)] {
        for (neighbour, coefficient) in [
            ((i - 1, j), w * (1.0 + f)),
            ((i + 1, j), w * (1.0 - f)),
            ((i, j + 1), w * (1.0 - g)),
            ((i, j - 1), w * (1.0 + g)),
        ] {
            // The block has 8 rows, so the grid has too.
            let matrix = |value: f64| Values::F64(vec![value; 10 * 16]);
            let mut black = vec![0.0; 10 * 16];
            black[neighbour.1 * 16 + neighbour.0 / 2] = 1.0;
            let case = Case {
                reference: "lmsor",
                kernel: "lmsor_red_8x2",
                grid: [1, 1, 1],
                block: [32, 8, 1],
                repeat: 1,
                args: [
                    ["u", "black", "f", "g", "omega"].map(buffer).to_vec(),
                    vec![Argument::Scalar(Scalar::F64(w))],
                ]
                .concat(),
                buffers: vec![
                    ("u", matrix(7.0)),
                    ("black", Values::F64(black)),
                    ("f", matrix(f)),
                    ("g", matrix(g)),
                    ("omega", matrix(1.0)),
                ],
            };
            let outputs = case.run().unwrap();
            let Values::F64(red) = &outputs["u"] else { panic!("{outputs:?}") };
            assert_eq!(red[j * 16 + i / 2], coefficient, "point ({i}, {j}) from {neighbour:?}");
        }
    }
}

#[test]
fn stencils_reject_sizes_that_no_kernel_has() {
    for kernel in ["sor_red_4x3", "sor_red_99999999999999999999x2", "sor_red_", "sgemm"] {
        let case = Case {
            reference: "sor-red-black",
            kernel,
            grid: [1, 1, 1],
            block: [128, 4, 1],
            repeat: 1,
            args: vec![],
            buffers: vec![],
        };
        assert!(matches!(case.run(), Err(ReferenceError::UnknownKernel { .. })), "{kernel}");
    }
}

#[test]
fn mixbench_writes_only_where_the_sum_is_minus_one() {
    let mut data = vec![0; 256 * 8 * 4];
    // Thread 3, first round: 2 * 2 + (-5) * 1 = -1. Thread 4: 1 * 1.
    for (j, value) in [2, 2, -5, 1].into_iter().enumerate() {
        data[3 + j * 256] = value;
    }
    data[4] = 1;
    data[4 + 256] = 1;
    let mut expected = data.clone();
    expected[3] = -1;
    Case {
        reference: "mixbench",
        kernel: "mixbench_s32_i0",
        grid: [1, 1, 1],
        block: [256, 1, 1],
        repeat: 1,
        args: vec![s32(3), buffer("data")],
        buffers: vec![("data", Values::S32(data))],
    }
    .gives("data", Values::S32(expected));
}

#[test]
fn shmem_swap_sums_six_slots_of_every_component() {
    // Thread t: 6 t + (0 + 1 + 3 + 7 + 13 + 17) = 6 t + 41, and 6 * 11 more in the second
    // component.
    Case {
        reference: "shmem-swap",
        kernel: "shmem_swap_float2",
        grid: [2, 1, 1],
        block: [2, 1, 1],
        repeat: 1,
        args: vec![buffer("out")],
        buffers: vec![("out", Values::F32(vec![0.0; 8]))],
    }
    .gives("out", Values::F32(vec![41.0, 107.0, 47.0, 113.0, 41.0, 107.0, 47.0, 113.0]));
}

#[test]
fn vector_add_leaves_the_rest_alone() {
    Case {
        reference: "vector-add",
        kernel: "vector_add",
        grid: [1, 1, 1],
        block: [32, 1, 1],
        repeat: 1,
        args: vec![buffer("a"), buffer("b"), buffer("c"), u32(2)],
        buffers: vec![
            ("a", Values::F32(vec![1.0, 2.0, 3.0])),
            ("b", Values::F32(vec![0.5, 0.25, 0.125])),
            ("c", Values::F32(vec![9.0; 3])),
        ],
    }
    .gives("c", Values::F32(vec![1.5, 2.25, 9.0]));
}

#[test]
fn reduction_adds_to_the_total_once_a_launch() {
    let case = |kernel, data, total| Case {
        reference: "reduction",
        kernel,
        grid: [1, 1, 1],
        block: [32, 1, 1],
        repeat: 2,
        args: vec![buffer("data"), buffer("total"), u32(3)],
        buffers: vec![("data", data), ("total", total)],
    };
    case("reduce_f32", Values::F32(vec![1.0, 2.0, 3.5, 100.0]), Values::F32(vec![1.0]))
        .gives("total", Values::F32(vec![14.0]));
    case("reduce_u32", Values::U32(vec![u32::MAX, 2, 3, 100]), Values::U32(vec![1]))
        .gives("total", Values::U32(vec![9]));
}

#[test]
fn histogram_clamps_samples_from_outside() {
    let mut expected = vec![0; 256];
    expected[0] = 3; // 0, -1 and 0.999 / 256
    expected[128] = 11; // 10 from before and 0.5
    expected[255] = 2; // 0.999 and 7
    let mut bins = vec![0; 256];
    bins[128] = 10;
    let samples = vec![0.0, -1.0, 0.999 / 256.0, 0.5, 0.999, 7.0];
    Case {
        reference: "histogram",
        kernel: "histogram",
        grid: [1, 1, 1],
        block: [32, 1, 1],
        repeat: 1,
        args: vec![buffer("samples"), buffer("bins"), u32(6)],
        buffers: vec![("samples", Values::F32(samples)), ("bins", Values::U32(bins))],
    }
    .gives("bins", Values::U32(expected));
}

#[test]
fn transpose_exchanges_rows_and_columns() {
    Case {
        reference: "transpose",
        kernel: "transpose_padded",
        grid: [1, 1, 1],
        block: [32, 8, 1],
        repeat: 1,
        args: vec![buffer("out"), buffer("in"), s32(3), s32(2)],
        buffers: vec![
            ("out", Values::F32(vec![0.0; 6])),
            ("in", Values::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
        ],
    }
    .gives("out", Values::F32(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
}

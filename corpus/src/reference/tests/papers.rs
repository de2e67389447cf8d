//! References of the kernels of Zhang and Owens, Stevens and Kloeckner, and Yang and Williams.

use super::*;

#[test]
fn matmul_by_columns_reads_columns() {
    // A = [1 3; 2 4] and B = [5 7; 6 8] in the upper left corner of 64 x 64 zeros.
    let corner = |[a, b, c, d]: [f32; 4]| {
        let mut matrix = vec![0.0; 64 * 64];
        (matrix[0], matrix[1], matrix[64], matrix[65]) = (a, b, c, d);
        Values::F32(matrix)
    };
    Case {
        reference: "matmul-by-columns",
        kernel: "matmul_volkov_8",
        grid: [1, 8, 1],
        block: [64, 1, 1],
        repeat: 1,
        args: vec![buffer("a"), buffer("b"), buffer("c"), s32(64)],
        buffers: vec![
            ("a", corner([1.0, 2.0, 3.0, 4.0])),
            ("b", corner([5.0, 6.0, 7.0, 8.0])),
            ("c", corner([9.0; 4])),
        ],
    }
    .gives("c", corner([23.0, 34.0, 31.0, 46.0]));
}

#[test]
fn tridiagonal_finds_the_last_unknown_of_each_system() {
    // x = 1, 2, 3, 4 and x = 1, 0, 0, 0; what stands beyond the ends belongs to no equation.
    let system = |right: [f32; 4]| right;
    Case {
        reference: "tridiagonal",
        kernel: "cyclic_reduction_nbc_32_4",
        grid: [2, 1, 1],
        block: [2, 1, 1],
        repeat: 1,
        args: ["lower", "diagonal", "upper", "right", "last"].map(buffer).to_vec(),
        buffers: vec![
            ("lower", Values::F32([[0.0, -1.0, 2.0, 1.0]; 2].concat())),
            ("diagonal", Values::F32([[4.0, 4.0, 8.0, 2.0]; 2].concat())),
            ("upper", Values::F32([[1.0, 1.0, -2.0, 0.0]; 2].concat())),
            (
                "right",
                Values::F32([system([6.0, 10.0, 20.0, 11.0]), [4.0, -1.0, 0.0, 0.0]].concat()),
            ),
            ("last", Values::F32(vec![9.0; 2])),
        ],
    }
    .gives("last", Values::F32(vec![4.0, 0.0]));
}

/// Entries of two block rows with one block each: 1 to 9 in column 1, 10 to 18 in column 0.
fn blocks() -> Vec<(&'static str, Values)> {
    vec![
        ("values", Values::F32((1..=9).flat_map(|i| [i as f32, i as f32 + 9.0]).collect())),
        ("columns", Values::S32(vec![1, 0])),
        ("y", Values::F32(vec![0.0; 6])),
    ]
}

#[test]
fn spmv_understands_every_format() {
    let case = |kernel, rows, entries, buffers| Case {
        reference: "spmv",
        kernel,
        grid: [1, 1, 1],
        block: [32, 1, 1],
        repeat: 1,
        args: [["values", "columns", "x", "y"].map(buffer).to_vec(), vec![s32(rows), s32(entries)]]
            .concat(),
        buffers,
    };
    // [0 2; 5 3], entries by columns of the format.
    let ell = vec![
        ("values", Values::F32(vec![2.0, 5.0, 0.0, 3.0])),
        ("columns", Values::S32(vec![1, 0, 1, 1])),
        ("x", Values::F32(vec![10.0, 100.0])),
        ("y", Values::F32(vec![0.0; 2])),
    ];
    case("spmv_ell", 2, 2, ell.clone()).gives("y", Values::F32(vec![200.0, 350.0]));
    // x = 1, 0, 0 and 0, 1, 0: the first column of the lower block, the second of the upper one.
    let plain = [blocks(), vec![("x", Values::F32(vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0]))]].concat();
    case("spmv_bell_im", 2, 1, plain)
        .gives("y", Values::F32(vec![2.0, 5.0, 8.0, 10.0, 13.0, 16.0]));
    let interleaved =
        [blocks(), vec![("x", Values::F32(vec![1.0, 0.0, 0.0, 1.0, 0.0, 0.0]))]].concat();
    case("spmv_bell_imiv", 2, 1, interleaved)
        .gives("y", Values::F32(vec![2.0, 10.0, 5.0, 13.0, 8.0, 16.0]));

    let mut outside = ell;
    outside[1].1 = Values::S32(vec![1, 0, 2, 1]);
    assert_eq!(
        case("spmv_ell", 2, 2, outside).run().unwrap_err().to_string(),
        "the launch does not fit: there is no column 2"
    );
}

#[test]
fn dg_differentiation_multiplies_every_matrix_with_every_element() {
    // Matrix m is (m + 1) times a shift: node i of the result is node i + 1 of u, cyclically.
    let (elements, nodes) = (16, 16);
    let mut matrix = vec![0.0; 3 * nodes * nodes];
    for m in 0..3 {
        for i in 0..nodes {
            matrix[(m * nodes + i) * nodes + (i + 1) % nodes] = (m + 1) as f32;
        }
    }
    let value = |k: usize, i: usize| (100 * k + i % nodes) as f32;
    for (kernel, transposed) in [("dg_prefetch_u", false), ("dg_prefetch_matrix_transposed", true)]
    {
        let place = |k, i| if transposed { i * elements + k } else { k * nodes + i };
        let mut u = vec![0.0; elements * nodes];
        let mut result = vec![0.0; 3 * elements * nodes];
        for k in 0..elements {
            for i in 0..nodes {
                u[place(k, i)] = value(k, i);
                for m in 0..3 {
                    result[m * elements * nodes + place(k, i)] = (m + 1) as f32 * value(k, i + 1);
                }
            }
        }
        Case {
            reference: "dg-differentiation",
            kernel,
            grid: [1, 1, 1],
            block: [16, 16, 1],
            repeat: 1,
            args: [["matrix", "u", "result"].map(buffer).to_vec(), vec![s32(16), s32(16)]].concat(),
            buffers: vec![
                ("matrix", Values::F32(matrix.clone())),
                ("u", Values::F32(u)),
                ("result", Values::F32(vec![0.0; 3 * elements * nodes])),
            ],
        }
        .gives("result", Values::F32(result));
    }
}

#[test]
fn finite_differences_are_those_of_a_parabola() {
    // The second differences of 3 i^2 + 5 j^2 are 6 and 10 everywhere.
    let parabola = |index: usize| {
        let (i, j) = (index / 16, index % 16);
        (3 * i * i + 5 * j * j) as f32
    };
    Case {
        reference: "finite-differences",
        kernel: "finite_differences_16",
        grid: [1, 1, 1],
        block: [16, 16, 1],
        repeat: 1,
        args: vec![buffer("u"), buffer("result"), s32(14)],
        buffers: vec![
            ("u", Values::F32((0..256).map(parabola).collect())),
            ("result", Values::F32(vec![0.0; 196])),
        ],
    }
    .gives("result", Values::F32(vec![16.0; 196]));
}

/// A box of `dim`^3 points with its frame, from the coordinates of the points, -1 to `dim`.
fn padded(dim: i64, value: impl Fn([i64; 3]) -> f64) -> Vec<f64> {
    let row = dim + 4;
    let plane = row * (dim + 2);
    let mut values = vec![f64::NAN; (plane * (dim + 2)) as usize];
    for k in -1..=dim {
        for j in -1..=dim {
            for i in -1..=dim {
                // Only corners of the frame, which no stencil reads, are outside the buffer.
                if let Some(place) = values.get_mut(((k + 1) * plane + (j + 1) * row + i) as usize)
                {
                    *place = value([i, j, k]);
                }
            }
        }
    }
    values
}

#[test]
fn stencil_7pt_differentiates_a_parabola() {
    let old = padded(32, |[i, j, k]| (i * i + 2 * j * j + 3 * k * k) as f64);
    let mut new = vec![7.0; old.len()];
    for k in 0..32 {
        for j in 0..32 {
            let first = (k + 1) * 34 * 36 + (j + 1) * 36;
            new[first..first + 32].fill(12.0);
        }
    }
    Case {
        reference: "stencil-7pt",
        kernel: "stencil_7pt",
        grid: [1, 8, 1],
        block: [32, 4, 1],
        repeat: 1,
        args: vec![buffer("old"), buffer("new"), s32(32)],
        buffers: vec![("new", Values::F64(vec![7.0; old.len()])), ("old", Values::F64(old))],
    }
    .gives("new", Values::F64(new));
}

#[test]
fn gsrb_relaxes_even_points_with_the_coefficients_of_their_faces() {
    // x is linear with slopes 1, 2 and 4; coefficients grow by 1 from a face to the next along
    // their direction, so that the flow is the sum of the slopes.
    let dim = 64;
    let x = |[i, j, k]: [i64; 3]| (i + 2 * j + 4 * k) as f64;
    let fields = [
        ("x", padded(dim, x)),
        ("out", padded(dim, |_| 0.0)),
        ("right", padded(dim, |_| 3.0)),
        ("inverse", padded(dim, |_| 10.0)),
        ("face_i", padded(dim, |[i, _, _]| i as f64)),
        ("face_j", padded(dim, |[_, j, _]| j as f64)),
        ("face_k", padded(dim, |[_, _, k]| k as f64)),
    ];
    let case = Case {
        reference: "gsrb",
        kernel: "gsrb_branch",
        grid: [2, 16, 8],
        block: [32, 4, 1],
        repeat: 1,
        args: [
            fields.iter().map(|(name, _)| buffer(name)).collect(),
            vec![Argument::Scalar(Scalar::F64(0.5)), s32(64)],
        ]
        .concat(),
        buffers: fields.iter().map(|(name, field)| (*name, Values::F64(field.clone()))).collect(),
    };
    let outputs = case.run().unwrap();
    let Values::F64(out) = &outputs["out"] else { panic!("{outputs:?}") };
    let expected = padded(dim, |point| {
        let inner = point.iter().all(|coordinate| (0..dim).contains(coordinate));
        match (inner, point.iter().sum::<i64>() % 2) {
            (false, _) => 0.0,
            // 10 (3 + 7 / 2)
            (true, 0) => x(point) + 65.0,
            (true, _) => x(point),
        }
    });
    for (index, (found, expected)) in out.iter().zip(&expected).enumerate() {
        assert!(found == expected || expected.is_nan(), "{index}: {found}, not {expected}");
    }
}

#[test]
fn gpp_sums_quotients_of_complex_numbers() {
    // conj(i) i = 1 for the column's own element and conj(i) 1 = -i for the other one; epsilon is
    // 2; the pole 1 + i and the frequency 1 make (1 + i) / -i = -1 + i.
    let case = |kernel, frequencies: &[f64], sums: usize| Case {
        reference: "gpp",
        kernel,
        grid: [1, 1, 1],
        block: [256, 1, 1],
        repeat: 1,
        args: [["m", "epsilon", "pole", "w", "sums"].map(buffer).to_vec(), vec![s32(2), s32(2)]]
            .concat(),
        buffers: vec![
            ("m", Values::F64(vec![0.0, 1.0, 1.0, 0.0])),
            ("epsilon", Values::F64(vec![2.0, 0.0, 2.0, 0.0])),
            ("pole", Values::F64(vec![1.0; 4])),
            ("w", Values::F64(frequencies.to_vec())),
            ("sums", Values::F64(vec![0.0; sums])),
        ],
    };
    // 2 (-1 + i) - 2 i (-1 + i) = 4 i.
    case("gpp_nw1", &[1.0], 2).gives("sums", Values::F64(vec![0.0, 4.0]));
    // The frequency 2 makes (1 + i) / (1 - i) = i: 2 i - 2 i i = 2 + 2 i.
    case("gpp_nw2", &[1.0, 2.0], 4).gives("sums", Values::F64(vec![0.0, 4.0, 2.0, 2.0]));
    assert!(matches!(case("gpp_nw7", &[], 0).run(), Err(ReferenceError::UnknownKernel { .. })));
}

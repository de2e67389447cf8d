//! References of the kernels whose times others measured.

use super::*;

#[test]
fn copies_are_of_the_type_of_their_buffers() {
    let copy = |kernel, args: Vec<Argument>, from: Values, to: Values| Case {
        reference: "copy",
        kernel,
        grid: [1, 1, 1],
        block: [2, 1, 1],
        repeat: 1,
        args,
        buffers: vec![("in", from), ("out", to)],
    };
    let doubles = |values| Values::F64(values);
    copy(
        "stream_copy",
        vec![buffer("out"), buffer("in")],
        doubles(vec![0.5, 2.0]),
        doubles(vec![9.0; 2]),
    )
    .gives("out", doubles(vec![0.5, 2.0]));
    // Two threads for six words, in three strides.
    let args = vec![buffer("out"), buffer("in"), s32(6)];
    let words = Values::U32((1..=6).collect());
    copy("copy_in_strides", args.clone(), words.clone(), Values::U32(vec![0; 6]))
        .gives("out", words.clone());
    // A kernel without strides leaves four of them.
    assert!(copy("copy_direct", args, words, Values::U32(vec![0; 6])).run().is_err());
}

#[test]
fn a_triad_rounds_once() {
    // 1/3 of three is one but for what the product loses; without a rounding of its own the sum has
    // it.
    let third = 1.0_f64 / 3.0;
    Case {
        reference: "stream-triad",
        kernel: "stream_triad",
        grid: [1, 1, 1],
        block: [1, 1, 1],
        repeat: 1,
        args: vec![buffer("a"), buffer("b"), buffer("c"), Argument::Scalar(Scalar::F64(3.0))],
        buffers: vec![
            ("a", Values::F64(vec![9.0])),
            ("b", Values::F64(vec![-1.0])),
            ("c", Values::F64(vec![third])),
        ],
    }
    .gives("a", Values::F64(vec![-(2.0_f64.powi(-54))]));
}

#[test]
fn gemm_scales_the_product_and_what_was_there() {
    // [1 2 3; 4 5 6] times [1 0; 0 1; 1 1] is [4 5; 10 11].
    let case = |args: Vec<Argument>| Case {
        reference: "gemm",
        kernel: "sgemm_tiled",
        grid: [1, 1, 1],
        block: [2, 2, 1],
        repeat: 1,
        args: [vec![buffer("a"), buffer("b"), buffer("c"), s32(2), s32(3)], args].concat(),
        buffers: vec![
            ("a", Values::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
            ("b", Values::F32(vec![1.0, 0.0, 0.0, 1.0, 1.0, 1.0])),
            ("c", Values::F32(vec![1.0, 2.0, 3.0, 4.0])),
        ],
    };
    case(Vec::new()).gives("c", Values::F32(vec![4.0, 5.0, 10.0, 11.0]));
    let f32 = |value| Argument::Scalar(Scalar::F32(value));
    case(vec![f32(0.5), f32(10.0)]).gives("c", Values::F32(vec![12.0, 22.5, 35.0, 45.5]));
    // A thread of sgemm_patch makes 64 elements.
    let patch = Case { kernel: "sgemm_patch", ..case(Vec::new()) };
    assert!(patch.run().is_err());
}

#[test]
fn blocks_sum_their_own_shares() {
    let data: Vec<f32> = (0..512).map(|i| if i < 256 { 1.0 } else { i as f32 }).collect();
    Case {
        reference: "block-sums",
        kernel: "sum_strided",
        grid: [2, 1, 1],
        block: [256, 1, 1],
        repeat: 1,
        args: vec![buffer("data"), buffer("sums")],
        buffers: vec![("data", Values::F32(data)), ("sums", Values::F32(vec![0.0; 2]))],
    }
    .gives("sums", Values::F32(vec![256.0, (256..512).sum::<i32>() as f32]));
}

#[test]
fn two_bodies_fall_towards_each_other() {
    // Two masses at a distance d = 3 and 254 bodies without mass: a = 2 d / (d² + 0.01)^1.5 on the
    // first.
    let mut positions = vec![0.0_f32; 4 * 256];
    positions[3] = 5.0;
    (positions[4], positions[7]) = (3.0, 2.0);
    let f32 = |value| Argument::Scalar(Scalar::F32(value));
    let outputs = Case {
        reference: "n-body",
        kernel: "n_body",
        grid: [1, 1, 1],
        block: [256, 1, 1],
        repeat: 1,
        args: vec![buffer("new"), buffer("old"), buffer("speed"), s32(256), f32(0.5), f32(0.75)],
        buffers: vec![
            ("new", Values::F32(vec![9.0; 4 * 256])),
            ("old", Values::F32(positions)),
            ("speed", Values::F32(vec![0.0; 4 * 256])),
        ],
    }
    .run()
    .unwrap();
    let [Values::F32(speed), Values::F32(new)] = [&outputs["speed"], &outputs["new"]] else {
        panic!("both are f32")
    };
    let pull = 3.0 / 9.01_f64.powf(1.5);
    let expected = [2.0, -5.0].map(|mass| (0.75 * 0.5 * mass * pull) as f32);
    assert_eq!([speed[0], speed[4]], expected);
    assert_eq!([new[0], new[3]], [0.5 * expected[0], 5.0]);
    assert!((f64::from(new[4]) - (3.0 + 0.5 * f64::from(expected[1]))).abs() < 1e-6);
}

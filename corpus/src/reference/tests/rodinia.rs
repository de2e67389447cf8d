//! The kernels of Rodinia.

use super::*;

fn f32(value: f32) -> Argument {
    Argument::Scalar(Scalar::F32(value))
}

#[test]
fn hotspot3d_weighs_neighbours_and_repeats_cells_at_the_edges() {
    // Two cells side by side, two layers: 1 2 below, 3 4 above.
    let weights = [1.0, 10.0, 100.0, 1000.0, 0.5, 0.25, 0.0].map(f32);
    Case {
        reference: "hotspot3d",
        kernel: "hotspot3d",
        grid: [1, 1, 1],
        block: [2, 1, 1],
        repeat: 1,
        args: [
            vec![buffer("power"), buffer("old"), buffer("new"), f32(8.0), s32(2), s32(1), s32(2)],
            weights.to_vec(),
        ]
        .concat(),
        buffers: vec![
            ("power", Values::F32(vec![0.0, 0.0, 0.0, 1.0])),
            ("old", Values::F32(vec![1.0, 2.0, 3.0, 4.0])),
            ("new", Values::F32(vec![0.0; 4])),
        ],
    }
    .gives(
        "new",
        Values::F32(vec![
            2.0 + 10.0 + 1100.0 + 0.5 * (3.0 + 80.0) + 0.25,
            2.0 + 10.0 + 2200.0 + 0.5 * (4.0 + 80.0) + 0.5,
            4.0 + 30.0 + 3300.0 + 0.5 * (3.0 + 80.0) + 0.25,
            4.0 + 30.0 + 4400.0 + 0.5 * (4.0 + 80.0) + 0.5 + 8.0,
        ]),
    );
}

#[test]
fn kmeans_inverts_points_and_finds_the_centre_that_a_point_lies_on() {
    let case = |reference, args, buffers| Case {
        reference,
        kernel: "",
        grid: [1, 1, 1],
        block: [256, 1, 1],
        repeat: 1,
        args,
        buffers,
    };
    case(
        "kmeans-invert-mapping",
        vec![buffer("in"), buffer("out"), s32(2), s32(3)],
        vec![
            ("in", Values::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])),
            ("out", Values::F32(vec![0.0; 6])),
        ],
    )
    .gives("out", Values::F32(vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    // Centres 0, 1 and 2 begin with (3, 5), (6, 10) and (9, 4) tenths.
    case(
        "kmeans-point",
        vec![buffer("in"), buffer("out"), s32(3), s32(2), s32(3)],
        vec![
            ("in", Values::F32(vec![0.8, 0.4, 0.5, 0.3, 0.4, 1.0])),
            ("out", Values::S32(vec![-1; 3])),
        ],
    )
    .gives("out", Values::S32(vec![2, 0, 1]));
}

#[test]
fn cfd_time_step_divides_the_step_by_the_stages_that_are_left() {
    Case {
        reference: "cfd-time-step",
        kernel: "cfd_time_step",
        grid: [1, 1, 1],
        block: [1, 1, 1],
        repeat: 1,
        args: vec![s32(1), s32(1), buffer("old"), buffer("new"), buffer("steps"), buffer("fluxes")],
        buffers: vec![
            ("old", Values::F32(vec![1.0, 2.0, 3.0, 4.0, 5.0])),
            ("new", Values::F32(vec![0.0; 5])),
            ("steps", Values::F32(vec![6.0])),
            ("fluxes", Values::F32(vec![1.0, -1.0, 0.0, 2.0, 10.0])),
        ],
    }
    .gives("new", Values::F32(vec![3.0, 0.0, 3.0, 8.0, 25.0]));
}

#[test]
fn srad_1_finds_differences_and_full_diffusion_where_there_are_none() {
    // Columns 0 to 7 hold 1, columns 8 to 15 hold 2; the rows around the image do not matter.
    let row: Vec<f32> = (0..16).map(|column| if column < 8 { 1.0 } else { 2.0 }).collect();
    let image = [vec![99.0; 16], row.repeat(16), vec![99.0; 16]].concat();
    let sides = ["east", "west", "north", "south"];
    let mut buffers = vec![("image", Values::F32(image))];
    buffers.extend(sides.iter().chain(&["c"]).map(|name| (*name, Values::F32(vec![9.0; 256]))));
    let outputs = Case {
        reference: "srad-1",
        kernel: "srad_1",
        grid: [1, 1, 1],
        block: [16, 16, 1],
        repeat: 1,
        args: [
            sides.map(buffer).to_vec(),
            vec![buffer("image"), buffer("c"), s32(16), s32(16), f32(0.25)],
        ]
        .concat(),
        buffers,
    }
    .run()
    .unwrap();
    let at = |name: &str, pixel: usize| match &outputs[name] {
        Values::F32(values) => values[pixel],
        _ => panic!("{name} is f32"),
    };
    assert_eq!([at("east", 7), at("west", 8)], [1.0, -1.0]);
    assert_eq!([at("north", 7), at("south", 255), at("east", 255)], [0.0; 3]);
    assert_eq!(at("c", 0), 1.0);
    // At column 7 the gradient is 1 and the Laplacian 1: q² = (1/2 - 1/16) / (5/4)² = 0.28.
    let coefficient = 1.0 / (1.0 + (0.28 - 0.25) / (0.25 * 1.25));
    assert!((f64::from(at("c", 7)) - coefficient).abs() < 1e-7);
}

#[test]
fn merge_sort_first_sorts_fours() {
    Case {
        reference: "merge-sort-first",
        kernel: "merge_sort_first",
        grid: [1, 1, 1],
        block: [256, 1, 1],
        repeat: 4,
        args: vec![buffer("in"), buffer("out"), s32(8)],
        buffers: vec![
            ("in", Values::F32(vec![4.0, 1.0, 3.0, 2.0, 0.0, -1.0, 9.0, 9.0])),
            ("out", Values::F32(vec![0.0; 8])),
        ],
    }
    .gives("out", Values::F32(vec![1.0, 2.0, 3.0, 4.0, -1.0, 0.0, 9.0, 9.0]));
}

#[test]
fn nearest_neighbour_measures_distances() {
    Case {
        reference: "nearest-neighbour",
        kernel: "nearest_neighbour",
        grid: [1, 1, 1],
        block: [256, 1, 1],
        repeat: 1,
        args: vec![buffer("places"), buffer("out"), s32(2), f32(30.0), f32(90.0)],
        buffers: vec![
            ("places", Values::F32(vec![30.0, 90.0, 33.0, 86.0])),
            ("out", Values::F32(vec![9.0; 2])),
        ],
    }
    .gives("out", Values::F32(vec![0.0, 5.0]));
}

#[test]
fn leukocyte_dilate_spreads_a_point_to_the_disc_and_leaves_the_last_pixels() {
    // One bright pixel in the middle of 27 x 29, of which the last column is left out.
    let mut image = vec![-1.0; 27 * 29];
    image[14 * 27 + 13] = 7.0;
    let outputs = Case {
        reference: "leukocyte-dilate",
        kernel: "leukocyte_dilate",
        grid: [28, 1, 1],
        block: [27, 1, 1],
        repeat: 1,
        args: vec![buffer("image"), buffer("out"), s32(27), s32(29), s32(25), s32(25)],
        buffers: vec![("image", Values::F32(image)), ("out", Values::F32(vec![9.0; 27 * 29]))],
    }
    .run()
    .unwrap();
    let Values::F32(dilated) = &outputs["out"] else { panic!("it is f32") };
    let count = |value| dilated.iter().filter(|pixel| **pixel == value).count();
    // A disc of radius 12 has 441 points.
    assert_eq!([count(7.0), count(0.0), count(9.0)], [441, 27 * 28 - 441, 27]);
    assert_eq!(dilated[13 * 29 + 2], 7.0);
    assert_eq!(dilated[13 * 29 + 1], 0.0);
}

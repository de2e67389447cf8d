//! Bulk copies of tensors against definitions of their own: element by element for boxes, from a
//! convolution's definition for columns of images, from the picture of 16-byte parts for swizzles.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

mod along_width;
mod overrides;

use gpucast_interpreter::tensor_map::{Element, Fill, Im2col, Im2colMode, Swizzle, TensorMap};
use gpucast_interpreter::{
    AccessKind, Argument, DeviceMemory, Launch, Observer, Options, Program, RunError, Silent, run,
};
use gpucast_ptx_frontend::types::StateSpace;
use proptest::prelude::*;

use crate::common::log::{Accessed, Log};
use crate::common::module;

/// Words of the box in shared memory that a test looks at: the largest that [`a_case`] makes has
/// rows of 9 parts of 16 bytes, and 4 places in each of 4 further dimensions.
const BOX_WORDS: usize = 9 * 4 * 4_usize.pow(4);

/// A kernel `k` with the parameters `map`, `tensor` and `out`: `%map` is the map's generic address,
/// `box` the box, which is filled with the words 0xb0000000, 0xb0000001, …; one thread runs `body`,
/// which may wait for `bar` by `WAIT`; then the box is stored to `out`.
fn kernel(body: &str, bytes: u32) -> String {
    module(&format!(
        ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 tensor, .param .u64 out) {{\n\
         .reg .b32 %r<24>; .reg .b64 %map, %tensor, %out, %d<8>; .reg .pred %p, %q; .reg .b16 %h<4>;\n\
         .shared .align 1024 .b32 box[{BOX_WORDS}]; .shared .align 8 .b64 bar;\n\
         mov.b64 %d0, map; cvta.param.u64 %map, %d0;\n\
         ld.param.u64 %tensor, [tensor]; ld.param.u64 %out, [out];\n\
         mbarrier.init.shared::cta.b64 [bar], 1;\n\
         mov.u32 %r0, 0; mov.u32 %r1, box;\n\
         FILL: add.u32 %r2, %r0, 0xb0000000; st.shared.u32 [%r1], %r2;\n\
         add.u32 %r0, %r0, 1; add.u32 %r1, %r1, 4; setp.lt.u32 %p, %r0, {BOX_WORDS}; @%p bra FILL;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [bar], {bytes};\n\
         mov.u32 %r1, box; mov.u32 %r3, bar;\n\
         {body}\n\
         mov.u32 %r0, 0; mov.u64 %d2, %out; mov.u32 %r1, box;\n\
         STORE: ld.shared.u32 %r2, [%r1]; st.global.u32 [%d2], %r2;\n\
         add.u32 %r0, %r0, 1; add.u32 %r1, %r1, 4; add.u64 %d2, %d2, 4;\n\
         setp.lt.u32 %p, %r0, {BOX_WORDS}; @%p bra STORE; ret; }}\n"
    ))
}

const WAIT: &str = "WAIT: mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0; @!%q bra WAIT;";

/// The tensor and the box after a launch.
type Outcome = Result<(Vec<u8>, Vec<u8>), RunError>;

/// Runs a kernel with a map of `tensor`, whose address is filled in.
fn launch(text: &str, map: &TensorMap, tensor: &[u8], observer: &mut impl Observer) -> Outcome {
    let module = gpucast_ptx_frontend::load(text)
        .unwrap_or_else(|problems| panic!("{:?}\n{text}", problems[0]));
    let program = Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let address = memory.allocate("tensor", tensor.len() as u64).unwrap();
    memory.bytes_mut("tensor").unwrap().copy_from_slice(tensor);
    let out = memory.allocate("out", BOX_WORDS as u64 * 4).unwrap();
    let map = TensorMap { global_address: map.global_address.wrapping_add(address), ..map.clone() };
    let launch = Launch {
        grid: [1; 3],
        block: [1; 3],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![
            Argument::Bytes(map.encode().to_vec()),
            Argument::Address(address),
            Argument::Address(out),
        ],
    };
    run(&program, &launch, &mut memory, observer, &Options::default(), &Silent)?;
    let bytes = |name| memory.bytes(name).unwrap().to_vec();
    Ok((bytes("tensor"), bytes("out")))
}

fn outcome(text: &str, map: &TensorMap, tensor: &[u8]) -> (Vec<u8>, Vec<u8>) {
    launch(text, map, tensor, &mut gpucast_interpreter::NoObserver)
        .unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn fault(text: &str, map: &TensorMap, tensor: &[u8]) -> String {
    match launch(text, map, tensor, &mut gpucast_interpreter::NoObserver) {
        Err(RunError::Fault(fault)) => fault.to_string(),
        other => panic!("no fault but {other:?}\n{text}"),
    }
}

/// A dense tensor's map: rows are as far apart as multiples of 16 bytes allow.
fn dense(element: Element, sizes: &[u32], boxes: &[u16]) -> TensorMap {
    let rank = sizes.len();
    let mut map = TensorMap {
        global_address: 0,
        element,
        rank,
        global_dim: [0; 5],
        global_stride: [0; 4],
        box_dim: [0; 5],
        element_stride: [1; 5],
        swizzle: Swizzle::None,
        fill: Fill::Zero,
        im2col: None,
    };
    map.global_dim[..rank].copy_from_slice(sizes);
    map.box_dim[..boxes.len()].copy_from_slice(boxes);
    let mut stride = u64::from(sizes[0] * element.bytes()).next_multiple_of(16);
    for index in 1..rank {
        map.global_stride[index - 1] = stride;
        stride *= u64::from(sizes[index]);
    }
    map
}

/// Bytes of the tensor of a [`dense`] map.
fn tensor_bytes(map: &TensorMap) -> usize {
    match map.rank {
        1 => (map.global_dim[0] * map.element.bytes()) as usize,
        rank => (map.global_stride[rank - 2] * u64::from(map.global_dim[rank - 1])) as usize,
    }
}

/// Bytes without a pattern, none of them zero.
fn noise(count: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8 | 1
    };
    (0..count).map(|_| next()).collect()
}

/// Byte offset of an element in the tensor, `None` outside.
fn offset(map: &TensorMap, at: &[i64]) -> Option<usize> {
    let inside = |(&at, &size): (&i64, &u32)| at >= 0 && at < i64::from(size);
    at.iter().zip(&map.global_dim).all(inside).then(|| {
        let outer: u64 = at[1..].iter().zip(&map.global_stride).map(|(&at, s)| at as u64 * s).sum();
        outer as usize + at[0] as usize * map.element.bytes() as usize
    })
}

/// The elements of a box in the order of shared memory, by counting through all dimensions.
fn elements(map: &TensorMap, first: &[i32]) -> Vec<Vec<i64>> {
    let counts: Vec<u32> = (0..map.rank)
        .map(|index| {
            let step = if index == 0 { 1 } else { u32::from(map.element_stride[index]) };
            u32::from(map.box_dim[index]).div_ceil(step)
        })
        .collect();
    let all: u32 = counts.iter().product();
    (0..all)
        .map(|mut number| {
            let mut at = Vec::new();
            for (index, &count) in counts.iter().enumerate() {
                let step = if index == 0 { 1 } else { i64::from(map.element_stride[index]) };
                at.push(i64::from(first[index]) + i64::from(number % count) * step);
                number /= count;
            }
            at
        })
        .collect()
}

/// Where in a box whose address is a multiple of 1024 the byte at `offset` lies, from the manual's
/// pictures (section 5.5.6): in the rows of `width` bytes one above the other, part `column` of 16
/// bytes in row `row` stands at `column ^ (row % …)`, where a row counts 128 bytes.
fn swizzled(swizzle: Swizzle, offset: usize) -> usize {
    let (line, part, byte) = (offset / 128, offset % 128 / 16, offset % 16);
    let part = match swizzle {
        Swizzle::None => part,
        Swizzle::B32 => part ^ (line % 2),
        Swizzle::B64 => part ^ (line % 4),
        Swizzle::B128 => part ^ (line % 8),
        // Pairs of parts stay together.
        Swizzle::B128Atom32 => ((part / 2) ^ (line % 4)) * 2 + part % 2,
    };
    line * 128 + part * 16 + byte
}

/// The box that a load leaves, by elements.
fn loaded(map: &TensorMap, tensor: &[u8], elements: &[Vec<i64>]) -> Vec<u8> {
    let mut words: Vec<u8> =
        (0..BOX_WORDS as u32).flat_map(|word| (0xb000_0000 + word).to_le_bytes()).collect();
    let bytes = map.element.bytes() as usize;
    for (number, at) in elements.iter().enumerate() {
        for byte in 0..bytes {
            let value = offset(map, at).map_or(0, |offset| tensor[offset + byte]);
            words[swizzled(map.swizzle, number * bytes + byte)] = value;
        }
    }
    words
}

fn coordinates(first: &[i32]) -> String {
    let first: Vec<String> = first.iter().map(ToString::to_string).collect();
    format!("{{{}}}", first.join(", "))
}

fn load_text(map: &TensorMap, first: &[i32], bytes: usize) -> String {
    let body = format!(
        "cp.async.bulk.tensor.{}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes \
         [%r1], [%map, {}], [%r3];\n{WAIT}",
        map.rank,
        coordinates(first),
    );
    kernel(&body, bytes as u32)
}

fn a_case() -> impl Strategy<Value = (TensorMap, Vec<i32>)> {
    let element = prop::sample::select(Element::ALL.to_vec())
        .prop_filter("flushing changes values, and has a test of its own", |element| {
            !matches!(element, Element::F32Ftz | Element::Tf32Ftz)
        });
    let swizzle = prop::sample::select(vec![
        Swizzle::None,
        Swizzle::B32,
        Swizzle::B64,
        Swizzle::B128,
        Swizzle::B128Atom32,
    ]);
    (1..=5_usize, element, swizzle).prop_flat_map(|(rank, element, swizzle)| {
        // Rows of 16, 32, … bytes, not longer than the swizzle is wide.
        let parts = match swizzle {
            Swizzle::None => 1..=9_u16,
            Swizzle::B32 => 1..=2,
            Swizzle::B64 => 1..=4,
            Swizzle::B128 | Swizzle::B128Atom32 => 1..=8,
        };
        let sizes = prop::collection::vec(1..12_u32, rank);
        let boxes = prop::collection::vec(1..5_u16, rank);
        let steps = prop::collection::vec(1..4_u8, rank);
        let first = prop::collection::vec(-6..12_i32, rank);
        (sizes, boxes, steps, first, parts).prop_map(
            move |(mut sizes, mut boxes, steps, first, parts)| {
                sizes[0] *= 7;
                boxes[0] = parts * 16 / element.bytes() as u16;
                let mut map = dense(element, &sizes, &boxes);
                map.element_stride[..rank].copy_from_slice(&steps);
                map.swizzle = swizzle;
                (map, first)
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn boxes_are_loaded_element_by_element((map, first) in a_case()) {
        let tensor = noise(tensor_bytes(&map));
        let elements = elements(&map, &first);
        let bytes = elements.len() * map.element.bytes() as usize;
        let (after, got) = outcome(&load_text(&map, &first, bytes), &map, &tensor);
        prop_assert_eq!(&after, &tensor);
        prop_assert_eq!(got, loaded(&map, &tensor, &elements));
    }

    #[test]
    fn boxes_are_stored_element_by_element((map, first) in a_case()) {
        let tensor = noise(tensor_bytes(&map));
        let body = format!(
            "cp.async.bulk.tensor.{}d.global.shared::cta.tile.bulk_group [%map, {}], [%r1];\n\
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
            map.rank,
            coordinates(&first),
        );
        let (got, contents) = outcome(&kernel(&body, 0), &map, &tensor);
        let bytes = map.element.bytes() as usize;
        let mut wanted = tensor;
        for (number, at) in elements(&map, &first).iter().enumerate() {
            let Some(offset) = offset(&map, at) else { continue };
            for byte in 0..bytes {
                wanted[offset + byte] = contents[swizzled(map.swizzle, number * bytes + byte)];
            }
        }
        prop_assert_eq!(got, wanted);
    }

    /// The 128 bytes say all that there is to say.
    #[test]
    fn maps_survive_their_bytes((map, _) in a_case(), address in 0..1_u64 << 40) {
        let map = TensorMap { global_address: address * 16, ..map };
        prop_assert_eq!(TensorMap::decode(&map.encode()), Ok(map));
    }
}

#[test]
fn swizzles_of_the_manual() {
    // The first columns of the rows of a box of 8 rows of 128 bytes (figures of section 5.5.6).
    let parts = |swizzle: Swizzle| -> Vec<u64> {
        (0..8).map(|row| swizzle.apply(row * 128) % 128 / 16).collect()
    };
    assert_eq!(parts(Swizzle::None), [0; 8]);
    assert_eq!(parts(Swizzle::B32), [0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!(parts(Swizzle::B64), [0, 1, 2, 3, 0, 1, 2, 3]);
    assert_eq!(parts(Swizzle::B128), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(parts(Swizzle::B128Atom32), [0, 2, 4, 6, 0, 2, 4, 6]);
}

/// Columns of images: pixel `p` of the output is read at the place in the filter, so that all
/// pixels together are one column of the matrix that a convolution multiplies with.
#[test]
fn columns_of_images_are_those_of_a_convolution() {
    // Channels, width, height, images; a filter of 3 x 3 with padding 1 and stride 2 in width.
    let (channels, width, height, images) = (8, 7, 5, 3);
    let mut map = dense(Element::F32, &[channels, width, height, images], &[]);
    map.im2col = Some(Im2col {
        mode: Im2colMode::Space,
        lower: [-1, -1, 0],
        upper: [-1, -1, 0],
        channels: 4,
        pixels: 40,
    });
    map.element_stride = [1, 2, 1, 1, 1];
    let tensor = noise(tensor_bytes(&map));
    // Output positions: w = -1, 1, 3, 5 and h = -1 … 3 before the filter's place is added.
    let (across, down) = (4, 5);
    for (offset_w, offset_h, skipped) in [(0, 0, 0), (1, 2, 0), (2, 1, 7), (2, 2, 13)] {
        let (w, h) = (skipped % across, skipped / across % down);
        let first = [4, 2 * w - 1, h - 1, skipped / (across * down)];
        let elements: Vec<Vec<i64>> = (0..40)
            .flat_map(|pixel| {
                let pixel = i64::from(pixel + skipped);
                let (across, down) = (i64::from(across), i64::from(down));
                let (w, rest) = (pixel % across, pixel / across);
                let (h, n) = (rest % down, rest / down);
                let at = [2 * w - 1 + offset_w, h - 1 + offset_h, n];
                (4..8).map(move |channel| vec![channel, at[0], at[1], at[2]])
            })
            .collect();
        let body = format!(
            "cp.async.bulk.tensor.4d.shared::cta.global.im2col.mbarrier::complete_tx::bytes \
             [%r1], [%map, {}], [%r3], {{{offset_w}, {offset_h}}};\n{WAIT}",
            coordinates(&first),
        );
        let (_, got) = outcome(&kernel(&body, 40 * 16), &map, &tensor);
        assert_eq!(got, loaded(&map, &tensor, &elements), "place {offset_w}, {offset_h}");
    }
}

#[test]
fn four_rows_of_a_matrix() {
    let map = dense(Element::F16, &[40, 9], &[16, 1]);
    let tensor = noise(tensor_bytes(&map));
    // One row twice, one outside.
    let rows = [7, 0, 9, 7];
    let body = format!(
        "cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes \
         [%r1], [%map, {{32, {}, {}, {}, {}}}], [%r3];\n{WAIT}",
        rows[0], rows[1], rows[2], rows[3],
    );
    let elements: Vec<Vec<i64>> =
        rows.iter().flat_map(|&row| (32..48).map(move |column| vec![column, row])).collect();
    let (_, got) = outcome(&kernel(&body, 128), &map, &tensor);
    assert_eq!(got, loaded(&map, &tensor, &elements));

    let body = "cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group \
                [%map, {8, 3, 1, 20, 5}], [%r1];";
    let (got, contents) = outcome(&kernel(body, 0), &map, &tensor);
    let mut wanted = tensor;
    for (number, row) in [(0, 3), (1, 1), (3, 5)] {
        wanted[row * 80 + 16..][..32].copy_from_slice(&contents[number * 32..][..32]);
    }
    assert_eq!(got, wanted);
}

#[test]
fn reductions_follow_the_type_of_the_map() {
    // Words 0xb0000000, 0xb0000001, … of the box against these, in two rows of four.
    let old = [1_u32, 0xffff_ffff, 0xb000_0005, 0, 7, 8, 9, 0x8000_0000];
    let tensor: Vec<u8> = old.iter().flat_map(|word| word.to_le_bytes()).collect();
    let reduced = |operation: &str, element| {
        let map = dense(element, &[4, 2], &[4, 2]);
        let body = format!(
            "cp.reduce.async.bulk.tensor.2d.global.shared::cta.{operation}.tile.bulk_group \
             [%map, {{0, 0}}], [%r1];"
        );
        let (got, _) = outcome(&kernel(&body, 0), &map, &tensor);
        let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
        got.chunks_exact(4).map(word).collect::<Vec<u32>>()
    };
    let wanted = |f: &dyn Fn(u32, u32) -> u32| -> Vec<u32> {
        old.iter().zip(0xb000_0000..).map(|(&old, new)| f(old, new)).collect()
    };
    assert_eq!(reduced("add", Element::U32), wanted(&u32::wrapping_add));
    assert_eq!(reduced("min", Element::U32), wanted(&|a, b| a.min(b)));
    assert_eq!(reduced("max", Element::S32), wanted(&|a, b| (a as i32).max(b as i32) as u32));
    assert_eq!(reduced("xor", Element::U32), wanted(&|a, b| a ^ b));
    assert_eq!(reduced("and", Element::S32), wanted(&|a, b| a & b));
    assert_eq!(reduced("or", Element::U32), wanted(&|a, b| a | b));
    assert_eq!(reduced("inc", Element::U32), wanted(&|a, b| if a >= b { 0 } else { a + 1 }));
    assert_eq!(
        reduced("dec", Element::U32),
        wanted(&|a, b| if a == 0 || a > b { b } else { a - 1 })
    );
    let map = dense(Element::F32, &[4, 2], &[4, 2]);
    let text = kernel(
        "cp.reduce.async.bulk.tensor.2d.global.shared::cta.xor.bulk_group [%map, {0, 0}], [%r1];",
        0,
    );
    let said = fault(&text, &map, &tensor);
    assert!(said.contains("the element type of a tensor map is 7"), "{said}");
}

/// Outside the tensor stands what the map says, and subnormal numbers vanish where it says so.
#[test]
fn fills_and_flushes() {
    let mut map = dense(Element::F32Ftz, &[4], &[8]);
    map.fill = Fill::Nan;
    let values = [1.5_f32, f32::from_bits(1), -f32::from_bits(0x7f_ffff), f32::MIN_POSITIVE];
    let tensor: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (_, got) = outcome(&load_text(&map, &[0], 32), &map, &tensor);
    let got: Vec<f32> = got[..32]
        .chunks_exact(4)
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect();
    assert_eq!(got[..4], [1.5, 0.0, -0.0, f32::MIN_POSITIVE]);
    assert!(got[1].is_sign_positive() && got[2].is_sign_negative());
    assert!(got[4..].iter().all(|value| value.is_nan()));
}

#[test]
fn a_copy_to_every_cta_of_a_cluster() {
    let text = module(&format!(
        ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 tensor, .param .u64 out)\n\
         .reqnctapercluster 4, 1, 1 {{\n\
         .reg .b32 %r<8>; .reg .b64 %map, %out, %d<4>; .reg .pred %p, %q; .reg .b16 %mask;\n\
         .shared .align 128 .b32 box[4]; .shared .align 8 .b64 bar;\n\
         mov.b64 %d0, map; cvta.param.u64 %map, %d0; ld.param.u64 %out, [out];\n\
         mov.u32 %r0, %ctaid.x; mov.u32 %r1, box; mov.u32 %r2, bar; mov.u16 %mask, 0b1011;\n\
         mbarrier.init.shared::cta.b64 [bar], 1; setp.eq.u32 %p, %r0, 2; setp.eq.u32 %q, %r0, 2;\n\
         @!%p mbarrier.arrive.expect_tx.shared::cta.b64 %d1, [bar], 16;\n\
         barrier.cluster.arrive; barrier.cluster.wait;\n\
         @!%p bra WAIT;\n\
         cp.async.bulk.tensor.1d.shared::cluster.global.mbarrier::complete_tx::bytes\
         .multicast::cluster [%r1], [%map, {{4}}], [%r2], %mask;\n\
         bra END;\n\
         {WAIT}\n\
         mul.wide.u32 %d2, %r0, 4; add.u64 %d2, %d2, %out;\n\
         ld.shared.u32 %r3, [box]; st.global.u32 [%d2], %r3;\n\
         END: barrier.cluster.arrive; barrier.cluster.wait; ret; }}\n"
    ));
    let map = dense(Element::U32, &[8], &[4]);
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, "k").unwrap();
    let mut memory = DeviceMemory::new();
    let tensor = memory.allocate("tensor", 32).unwrap();
    memory.bytes_mut("tensor").unwrap()[16] = 42;
    let out = memory.allocate("out", 16).unwrap();
    let map = TensorMap { global_address: tensor, ..map };
    let launch = Launch {
        grid: [4, 1, 1],
        block: [1; 3],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![
            Argument::Bytes(map.encode().to_vec()),
            Argument::Address(tensor),
            Argument::Address(out),
        ],
    };
    let mut seen = Log::default();
    run(&program, &launch, &mut memory, &mut seen, &Options::default(), &Silent).unwrap();
    let words = |bytes: &[u8]| bytes.iter().step_by(4).copied().collect::<Vec<u8>>();
    assert_eq!(words(memory.bytes("out").unwrap()), [42, 42, 0, 42]);
    // Read once, written three times.
    let copies = |wanted: (StateSpace, AccessKind)| {
        let is_meant = |access: &&Accessed| {
            (access.space, access.kind) == wanted && access.bytes_per_lane == 16
        };
        seen.accesses.iter().filter(is_meant).count()
    };
    assert_eq!(copies((StateSpace::Global, AccessKind::Load)), 1);
    assert_eq!(copies((StateSpace::Shared, AccessKind::Store)), 3);
}

/// The address, in global memory relative to the first buffer's.
fn relative(access: &Accessed) -> u64 {
    match access.space {
        StateSpace::Global => access.first - gpucast_interpreter::memory::FIRST_ADDRESS,
        _ => access.first,
    }
}

#[test]
fn observers_see_stretches_of_the_tensor_and_the_box() {
    // Whole rows lie together; rows of which a part is copied do not; what is outside is not read.
    for (width, first, wanted) in [
        (8, [0, 1, 0], vec![(32, 96), (160, 96)]),
        (4, [6, 0, 1], vec![(152, 8), (184, 8), (216, 8)]),
    ] {
        let map = dense(Element::F32, &[8, 4, 2], &[width, 3, 2]);
        let tensor = noise(tensor_bytes(&map));
        let bytes = usize::from(width) * 4 * 6;
        let mut seen = Log::default();
        launch(&load_text(&map, &first, bytes), &map, &tensor, &mut seen).unwrap();
        let of = |space, kind| -> Vec<(u64, u32)> {
            let of_kind = seen.accesses.iter().filter(|a| (a.space, a.kind) == (space, kind));
            of_kind.map(|a| (relative(a), a.bytes_per_lane)).collect()
        };
        assert_eq!(of(StateSpace::Global, AccessKind::Load), wanted);
        let boxes = of(StateSpace::Shared, AccessKind::Store);
        assert!(boxes.contains(&(0, bytes as u32)), "{boxes:?}");
    }
}

#[test]
fn dimensions_of_one_element_may_be_left_out() {
    let three = dense(Element::F32, &[8, 4, 3], &[8, 2, 3]);
    let mut five = dense(Element::F32, &[8, 4, 3, 1, 1], &[8, 2, 3, 1, 1]);
    five.global_stride[2..].fill(0);
    let tensor = noise(tensor_bytes(&three));
    let body = format!(
        "mov.u32 %r4, 0; mov.u32 %r5, 1;\n\
         cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%map, {{%r4, %r5, %r4}}], [%r3];\n{WAIT}"
    );
    let text = kernel(&body, 8 * 2 * 3 * 4);
    assert_eq!(outcome(&text, &five, &tensor), outcome(&text, &three, &tensor));
    five.global_dim[4] = 2;
    assert!(
        fault(&text, &five, &tensor).contains("the rank of the tensor map is 5, but must be 3")
    );
}

#[test]
fn wrong_maps_and_places_are_faults() {
    let map = dense(Element::F32, &[8, 4], &[8, 2]);
    let tensor = noise(tensor_bytes(&map));
    let load = load_text(&map, &[0, 0], 64);
    let changed = |f: &dyn Fn(&mut TensorMap)| {
        let mut map = map.clone();
        f(&mut map);
        fault(&load, &map, &tensor)
    };
    for (said, wanted) in [
        (changed(&|map| map.rank = 3), "a dimension of a tensor is 0"),
        (
            changed(&|map| (map.rank, map.global_dim[2], map.box_dim[2]) = (3, 2, 1)),
            "the rank of the tensor map is 3, but must be 2",
        ),
        (changed(&|map| map.rank = 6), "the rank of a tensor map is 6, but must be 1 to 5"),
        (changed(&|map| map.global_address += 8), "the address in a tensor map is"),
        (changed(&|map| map.global_stride[0] = 40), "a stride of a tensor is 40"),
        (changed(&|map| map.box_dim[1] = 0), "a dimension of a box is 0"),
        (changed(&|map| map.box_dim[1] = 300), "a dimension of a box is 300"),
        (changed(&|map| map.box_dim = [256; 5]), "out-of-bounds store of 262144 bytes at shared"),
        (changed(&|map| map.box_dim[0] = 7), "the bytes of a box's row is 28"),
        (changed(&|map| map.element_stride[1] = 9), "a step through a tensor is 9"),
        (changed(&|map| map.global_stride[0] = 1 << 20), "out-of-bounds load of 32 bytes at glob"),
    ] {
        assert!(said.starts_with(wanted), "{said}, not {wanted}");
    }
    let place = |text: &str, with: &str| fault(&load.replace(text, with), &map, &tensor);
    for (text, with, wanted) in [
        ("[%r1], [%map", "[%r1+16], [%map", "misaligned access: address 0x10 is not a"),
        ("[%map, {0", "[%tensor, {0", "the element type of a tensor map is"),
        ("cvta.param.u64 %map, %d0", "mov.u64 %map, 0x40", "out-of-bounds load of 128 bytes at g"),
        ("cvta.param.u64 %map, %d0", "add.u64 %map, %tensor, 4", "misaligned access"),
    ] {
        let said = place(text, with);
        assert!(said.starts_with(wanted), "{said}, not {wanted}");
    }
}

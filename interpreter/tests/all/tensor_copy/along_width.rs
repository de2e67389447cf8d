//! `im2col::w` against the manual's words (section 5.5.5), by division instead of a walk, and
//! against the convolution that such copies are for.

use gpucast_interpreter::tensor_map::{Element, Fill, Im2col, Im2colMode, Swizzle, TensorMap};
use proptest::prelude::*;

use super::{
    WAIT, coordinates, dense, fault, kernel, load_text, loaded, noise, offset, outcome, swizzled,
    tensor_bytes,
};

/// A copy along the width.
#[derive(Clone, Debug)]
struct Copy {
    map: TensorMap,
    /// Channel, width, the other spatial dimensions, image.
    first: Vec<i32>,
    halo: u16,
    offset: u16,
}

fn im2col(mode: Im2colMode, (lower, upper): (i16, i16), channels: u16, pixels: u16) -> Im2col {
    Im2col { mode, lower: [lower, 0, 0], upper: [upper, 0, 0], channels, pixels }
}

impl Copy {
    /// A copy from a dense tensor, through the swizzle that its rows allow.
    fn new(element: Element, sizes: &[u32], im2col: Im2col, first: &[i32]) -> Self {
        let mut map = dense(element, sizes, &[]);
        map.swizzle = Swizzle::B128;
        map.im2col = Some(im2col);
        Self { map, first: first.to_vec(), halo: 0, offset: 0 }
    }

    /// The elements that the copy is about, in the order of shared memory.
    ///
    /// "Bounding Box Lower Corner W += wOffset, Bounding Box Upper Corner W += wOffset, W +=
    /// wOffset." From the first pixel on, every stride-th one of the box is read, up to its upper
    /// corner, and then every stride-th one from its lower corner on in each image that follows.
    fn elements(&self) -> Vec<Vec<i64>> {
        let im2col = self.map.im2col.unwrap();
        let step = i64::from(self.map.element_stride[1]);
        let moved = i64::from(self.offset);
        let lower = i64::from(im2col.lower[0]) + moved;
        let upper = i64::from(self.map.global_dim[1]) - 1 + i64::from(im2col.upper[0]) + moved;
        let width = i64::from(self.first[1]) + moved;
        let in_first = (upper - width) / step + 1;
        let in_each = (upper - lower) / step + 1;
        let image = self.map.rank - 1;
        (0..self.pixels())
            .flat_map(|pixel| {
                let mut at: Vec<i64> = self.first.iter().map(|&at| at.into()).collect();
                if pixel < in_first {
                    at[1] = width + pixel * step;
                } else {
                    let pixel = pixel - in_first;
                    at[1] = lower + pixel % in_each * step;
                    at[image] += 1 + pixel / in_each;
                }
                (0..i64::from(im2col.channels)).map(move |channel| {
                    let mut at = at.clone();
                    at[0] += channel;
                    at
                })
            })
            .collect()
    }

    /// The pixels of the copy, with those of the halo.
    fn pixels(&self) -> i64 {
        let im2col = self.map.im2col.unwrap();
        match im2col.mode {
            Im2colMode::Width128 => 128,
            _ => i64::from(im2col.pixels) + i64::from(self.halo),
        }
    }

    fn bytes(&self) -> usize {
        let channels = self.map.im2col.unwrap().channels;
        self.pixels() as usize * usize::from(channels) * self.map.element.bytes() as usize
    }

    fn load(&self) -> String {
        let mode = match self.map.im2col.unwrap().mode {
            Im2colMode::Width128 => "im2col::w::128",
            _ => "im2col::w",
        };
        self.load_by(mode, self.bytes())
    }

    fn load_by(&self, mode: &str, bytes: usize) -> String {
        let body = format!(
            "cp.async.bulk.tensor.{}d.shared::cta.global.{mode}.mbarrier::complete_tx::bytes \
             [%r1], [%map, {}], [%r3], {{{}, {}}};\n{WAIT}",
            self.map.rank,
            coordinates(&self.first),
            self.halo,
            self.offset,
        );
        kernel(&body, bytes as u32)
    }

    /// `instruction` out of shared memory, such as `cp.async`.
    fn store(&self, instruction: &str, operation: &str) -> String {
        let body = format!(
            "{instruction}.bulk.tensor.{}d.global.shared::cta{operation}.im2col_no_offs::w\
             .bulk_group [%map, {}], [%r1];\n\
             cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
            self.map.rank,
            coordinates(&self.first),
        );
        kernel(&body, 0).replace(".version 8.8\n.target sm_100", ".version 9.4\n.target sm_107f")
    }

    /// The tensor after a store by `write`, which gets the old bytes of an element and the box's.
    fn stored(&self, tensor: &[u8], contents: &[u8], write: impl Fn(&mut [u8], &[u8])) -> Vec<u8> {
        let bytes = self.map.element.bytes() as usize;
        let mut wanted = tensor.to_vec();
        for (number, at) in self.elements().iter().enumerate() {
            let Some(offset) = offset(&self.map, at) else { continue };
            let new: Vec<u8> = (0..bytes)
                .map(|byte| contents[swizzled(self.map.swizzle, number * bytes + byte)])
                .collect();
            write(&mut wanted[offset..][..bytes], &new);
        }
        wanted
    }

    fn fault(&self) -> String {
        fault(&self.load(), &self.map, &noise(tensor_bytes(&self.map)))
    }
}

fn a_copy() -> impl Strategy<Value = Copy> {
    let element = prop::sample::select(Element::ALL.to_vec())
        .prop_filter("flushing changes values", |element| {
            !matches!(element, Element::F32Ftz | Element::Tf32Ftz)
        });
    let swizzle = prop::sample::select(vec![Swizzle::B64, Swizzle::B128, Swizzle::B128Atom32]);
    let mode = prop::sample::select(vec![Im2colMode::Width, Im2colMode::Width128]);
    (3..=5_usize, element, swizzle, mode).prop_flat_map(|(rank, element, swizzle, mode)| {
        let parts = if swizzle == Swizzle::B64 { 1..=4_u16 } else { 1..=8 };
        let halos = if mode == Im2colMode::Width { 0..7_u16 } else { 0..1 };
        let sizes = prop::collection::vec(1..12_u32, rank);
        let steps = prop::collection::vec(1..=8_u8, rank);
        let places = prop::collection::vec(-3..12_i32, rank);
        // Left edge, extent, and the first pixel's distance from the right edge.
        let edges = (-6..6_i16, 1..16_i16, 0..25_i32);
        (sizes, steps, places, edges, parts, 1..40_u16, halos, 0..32_u16).prop_map(
            move |(
                mut sizes,
                steps,
                mut first,
                (lower, extent, back),
                parts,
                pixels,
                halo,
                offset,
            )| {
                sizes[0] *= 7;
                let last = lower + extent - 1;
                first[1] = i32::from(last) - back;
                let corners = (lower, last - (sizes[1] as i16 - 1));
                let channels = parts * 16 / element.bytes() as u16;
                let im2col = im2col(mode, corners, channels, pixels);
                let mut copy = Copy::new(element, &sizes, im2col, &first);
                copy.map.swizzle = swizzle;
                copy.map.element_stride[..rank].copy_from_slice(&steps);
                Copy { halo, offset, ..copy }
            },
        )
    })
}

/// A copy whose bounding box lies in the image and whose coordinates are not negative.
fn a_store() -> impl Strategy<Value = Copy> {
    a_copy().prop_map(|mut copy| {
        let im2col = copy.map.im2col.as_mut().unwrap();
        im2col.mode = Im2colMode::Width;
        im2col.lower[0] = im2col.lower[0].abs() % copy.map.global_dim[1] as i16;
        im2col.upper[0] = 0;
        copy.first.iter_mut().for_each(|at| *at = at.abs());
        copy.first[1] %= copy.map.global_dim[1] as i32;
        Copy { halo: 0, offset: 0, ..copy }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn pixels_are_loaded_along_the_width(copy in a_copy()) {
        let tensor = noise(tensor_bytes(&copy.map));
        let (after, got) = outcome(&copy.load(), &copy.map, &tensor);
        prop_assert_eq!(&after, &tensor);
        prop_assert_eq!(got, loaded(&copy.map, &tensor, &copy.elements()));
    }

    #[test]
    fn pixels_are_stored_along_the_width(copy in a_store()) {
        let tensor = noise(tensor_bytes(&copy.map));
        let (got, contents) = outcome(&copy.store("cp.async", ""), &copy.map, &tensor);
        let wanted = copy.stored(&tensor, &contents, |old, new| old.copy_from_slice(new));
        prop_assert_eq!(got, wanted);
    }

    #[test]
    fn maps_along_the_width_survive_their_bytes(copy in a_copy()) {
        prop_assert_eq!(TensorMap::decode(&copy.map.encode()), Ok(copy.map));
    }
}

/// The example of section 5.5.5.3: 128 pixels of rows of 9, from pixel 3 of row 2 of image 7 on,
/// and two of a halo.
#[test]
fn the_manuals_example_of_a_halo() {
    let im2col = im2col(Im2colMode::Width, (0, 0), 64, 128);
    let mut copy = Copy::new(Element::F16, &[128, 9, 7, 64], im2col, &[0, 3, 2, 7]);
    copy.halo = 2;
    // Six pixels are left of the first row; thirteen rows and five pixels follow.
    let rows = (3..9).map(|w| (w, 7)).chain((8..21).flat_map(|n| (0..9).map(move |w| (w, n))));
    let pixels: Vec<(i64, i64)> = rows.chain((0..7).map(|w| (w, 21))).collect();
    assert_eq!(pixels.len(), 130);
    let elements: Vec<Vec<i64>> =
        pixels.iter().flat_map(|&(w, n)| (0..64).map(move |c| vec![c, w, 2, n])).collect();
    let tensor = noise(tensor_bytes(&copy.map));
    let (_, got) = outcome(&copy.load(), &copy.map, &tensor);
    assert_eq!(got, loaded(&copy.map, &tensor, &elements));
}

/// The use of halos and offsets (section 5.5.5.4): one buffer for each residue of the filter's
/// places by the stride. The row of a buffer that a place needs is the output's, or one behind it.
#[test]
fn buffers_of_a_strided_convolution() {
    // Width, stride, taps of the filter and padding of both examples of the section, and of others.
    // Where rows follow each other without a gap, the padding at the left ends the row before, too.
    for (width, step, taps, lower, upper) in [
        (67, 2, 3, -1, 0),
        (7, 3, 3, -1, -1),
        (12, 1, 3, -1, 0),
        (9, 1, 3, 0, 0),
        (16, 2, 5, -2, 0),
    ] {
        let sizes = [32, width, 3, 40];
        let (pixels, row, image) = (60_u16, 1, 2);
        let tensor = noise(sizes.iter().product::<u32>() as usize);
        let residues = step.min(taps);
        let buffers: Vec<Vec<u8>> = (0..residues)
            .map(|offset| {
                let im2col = im2col(Im2colMode::Width, (lower, upper), 32, pixels);
                let first = [0, lower.into(), row, image];
                let mut copy = Copy::new(Element::U8, &sizes, im2col, &first);
                copy.map.element_stride[1] = step as u8;
                copy.offset = offset;
                copy.halo = (taps - 1 - offset) / step;
                let (_, got) = outcome(&copy.load(), &copy.map, &tensor);
                let bytes = (usize::from(pixels) + usize::from(copy.halo)) * 32;
                (0..bytes).map(|at| got[swizzled(Swizzle::B128, at)]).collect()
            })
            .collect();
        let (width, step) = (width as i64, i64::from(step));
        let (lower, last) = (i64::from(lower), width - 1 + i64::from(upper));
        let in_each = (last - lower) / step + 1;
        let mut compared = 0;
        for output in 0..i64::from(pixels) {
            let base = lower + output % in_each * step;
            let image = i64::from(image) + output / in_each;
            // Outputs whose filter reaches beyond the padding are not the convolution's.
            let padding = -lower;
            if base + i64::from(taps) - 1 > width - 1 + padding {
                continue;
            }
            for tap in 0..i64::from(taps) {
                let at = base + tap;
                let buffer = &buffers[(tap % step) as usize];
                let place = (output + tap / step) as usize * 32;
                let inside = (0..width).contains(&at);
                let place_in_tensor = ((image * 3 + 1) * width + at) * 32;
                let wanted = match inside {
                    true => tensor[place_in_tensor as usize..][..32].to_vec(),
                    false => vec![0; 32],
                };
                assert_eq!(buffer[place..][..32], wanted, "{width} {step} {output} {tap}");
                compared += 1;
            }
        }
        assert!(compared > 100, "{compared}");
    }
}

#[test]
fn pixels_outside_are_filled() {
    let im2col = im2col(Im2colMode::Width, (-2, 1), 32, 12);
    let mut copy = Copy::new(Element::F32, &[32, 5, 2], im2col, &[0, -2, 1]);
    copy.map.fill = Fill::Nan;
    let tensor: Vec<u8> = (0..320).flat_map(|value| (value as f32).to_le_bytes()).collect();
    let (_, got) = outcome(&copy.load(), &copy.map, &tensor);
    let value = |pixel: usize| {
        let bytes: Vec<u8> =
            (0..4).map(|at| got[swizzled(Swizzle::B128, pixel * 128 + at)]).collect();
        f32::from_le_bytes(bytes.try_into().unwrap())
    };
    // Two pixels left of image 1, five of it, one to the right, and an image beyond the last.
    let nan: Vec<bool> = (0..12).map(|pixel| value(pixel).is_nan()).collect();
    assert_eq!(nan[..8], [true, true, false, false, false, false, false, true]);
    assert!(nan[8..].iter().all(|&nan| nan));
    assert_eq!((2..7).map(value).collect::<Vec<f32>>(), [160.0, 192.0, 224.0, 256.0, 288.0]);
}

#[test]
fn reductions_along_the_width() {
    let im2col = im2col(Im2colMode::Width, (0, 0), 16, 7);
    let mut copy = Copy::new(Element::U32, &[16, 3, 2, 4], im2col, &[0, 1, 1, 2]);
    copy.map.element_stride[1] = 2;
    let tensor = noise(tensor_bytes(&copy.map));
    let text = copy.store("cp.reduce.async", ".add");
    let (got, contents) = outcome(&text, &copy.map, &tensor);
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    let wanted = copy.stored(&tensor, &contents, |old, new| {
        old.copy_from_slice(&word(old).wrapping_add(word(new)).to_le_bytes());
    });
    assert_ne!(got, tensor);
    assert_eq!(got, wanted);
}

#[test]
fn what_no_map_or_place_allows_is_a_fault() {
    let good = Copy::new(
        Element::F16,
        &[64, 9, 7, 8],
        im2col(Im2colMode::Width, (-1, 0), 64, 32),
        &[0, 0, 0, 0],
    );
    let changed = |f: &dyn Fn(&mut Copy)| {
        let mut copy = good.clone();
        f(&mut copy);
        copy.fault()
    };
    let of_map = |f: &dyn Fn(&mut Im2col)| changed(&|copy| f(copy.map.im2col.as_mut().unwrap()));
    let of_128 = |im2col: &mut Im2col| im2col.mode = Im2colMode::Width128;
    for (said, wanted) in [
        (
            changed(&|copy| copy.map.swizzle = Swizzle::None),
            "the swizzle mode of a tensor map for im2col::w is 0, but must be 2 or 3",
        ),
        (
            changed(&|copy| {
                copy.map.swizzle = Swizzle::B32;
                copy.map.im2col.as_mut().unwrap().channels = 16;
            }),
            "the swizzle mode of a tensor map for im2col::w is 1, but must be 2 or 3",
        ),
        (of_map(&|im2col| im2col.pixels = 0), "the pixels of a column is 0, but must be 1 to 1024"),
        (of_map(&|im2col| im2col.pixels = 1025), "the pixels of a column is 1025"),
        (of_map(&|im2col| im2col.channels = 0), "the channels of a pixel is 0"),
        (of_map(&|im2col| im2col.channels = 65), "the bytes of a box's row is 130"),
        (
            of_map(&|im2col| im2col.upper[0] = -10),
            "the extent of a bounding box of pixels is 0, but must be at least 1",
        ),
        (changed(&|copy| copy.halo = 512), "the halo of im2col::w is 512, but must be 0 to 511"),
        (changed(&|copy| copy.offset = 32), "the offset of im2col::w is 32, but must be 0 to 31"),
        (
            changed(&|copy| copy.first[1] = 10),
            "the pixels from the right edge of the bounding box to the first one is 2",
        ),
        (
            changed(&|copy| {
                of_128(copy.map.im2col.as_mut().unwrap());
                copy.halo = 1;
            }),
            "the halo of im2col::w::128 is 1, but must be 0",
        ),
        // The box of 511 and 1,024 pixels of 128 bytes.
        (
            changed(&|copy| {
                copy.map.im2col.as_mut().unwrap().pixels = 1024;
                copy.halo = 511;
            }),
            "out-of-bounds store of 196480 bytes at shared",
        ),
    ] {
        assert!(said.starts_with(wanted), "{said}, not {wanted}");
    }
    // Corners that reach far, but have an extent, are allowed.
    let mut far = good.clone();
    far.map.im2col.as_mut().unwrap().lower[0] = i16::MIN;
    far.first[1] = i32::from(i16::MIN);
    let tensor = noise(tensor_bytes(&far.map));
    let (_, got) = outcome(&far.load(), &far.map, &tensor);
    assert!(got[..far.bytes()].iter().all(|&byte| byte == 0));
}

/// A map is made for one mode, and a copy has one.
#[test]
fn other_modes_than_the_maps_are_faults() {
    let tensor = noise(64 * 9 * 7 * 8 * 2);
    for (made, mode, wanted) in [
        (Im2colMode::Width, "im2col::w::128", "is 2, but must be 3 to be copied by im2col::w::128"),
        (Im2colMode::Width128, "im2col::w", "is 3, but must be 2 to be copied by im2col::w"),
        (Im2colMode::Space, "im2col::w", "is 1, but must be 2 to be copied by im2col::w"),
        (Im2colMode::Width, "im2col", "is 2, but must be 1 to be copied as columns"),
    ] {
        let im2col = im2col(made, (0, 0), 64, 32);
        let copy = Copy::new(Element::F16, &[64, 9, 7, 8], im2col, &[0, 0, 0, 0]);
        let said = fault(&copy.load_by(mode, copy.bytes()), &copy.map, &tensor);
        assert!(said.starts_with(&format!("the mode of the tensor map {wanted}")), "{said}");
    }
    // Tiles, by a map of images and the other way round.
    let im2col = im2col(Im2colMode::Width, (0, 0), 64, 32);
    let mut copy = Copy::new(Element::F16, &[64, 9, 7, 8], im2col, &[0, 0, 0, 0]);
    let said = fault(&load_text(&copy.map, &copy.first, 128), &copy.map, &tensor);
    assert!(said.starts_with("the mode of the tensor map is 2, but must be 0"), "{said}");
    copy.map = dense(Element::F16, &[64, 9, 7, 8], &[64, 1, 1, 1]);
    let said = fault(&copy.load_by("im2col::w", 128), &copy.map, &tensor);
    assert!(said.starts_with("the mode of the tensor map is 0, but must be 2"), "{said}");
}

/// Pixels out of the image are not stored ("Restriction on Tensor Copy instructions").
#[test]
fn stores_from_outside_of_the_image_are_faults() {
    let good = Copy::new(
        Element::F16,
        &[64, 9, 7, 8],
        im2col(Im2colMode::Width, (0, 0), 64, 32),
        &[0, 0, 0, 0],
    );
    let tensor = noise(tensor_bytes(&good.map));
    let said = |f: &dyn Fn(&mut Copy)| {
        let mut copy = good.clone();
        f(&mut copy);
        fault(&copy.store("cp.async", ""), &copy.map, &tensor)
    };
    let reaching = "the pixels by which a bounding box reaches out of the image is ";
    for (said, wanted) in [
        (
            said(&|copy| copy.first[2] = -1),
            "a coordinate to store pixels at is 4294967295, but must be at least 0".to_owned(),
        ),
        (said(&|copy| copy.map.im2col.as_mut().unwrap().lower[0] = -3), format!("{reaching}3")),
        (said(&|copy| copy.map.im2col.as_mut().unwrap().upper[0] = 2), format!("{reaching}2")),
    ] {
        assert!(said.starts_with(&wanted), "{said}, not {wanted}");
    }
}

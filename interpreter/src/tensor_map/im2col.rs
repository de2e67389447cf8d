//! Maps of images, whose pixels are copied as rows of a matrix (manual, sections 5.5.4 and 5.5.5).

use super::{BadMap, Swizzle, TensorMap};

/// The way from a pixel to the next. The numbers stand in a map's bytes, where 0 means tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Im2colMode {
    /// Through the bounding box in all spatial dimensions, then on to the next image (`im2col`).
    Space = 1,
    /// Along the width of the bounding box, then on to the same row of the next image
    /// (`im2col::w`).
    Width = 2,
    /// The same for 128 pixels, whatever number the map holds (`im2col::w::128`).
    Width128 = 3,
}

impl Im2colMode {
    /// The mode of a number in a map's bytes.
    pub(super) const fn of(number: u8) -> Option<Self> {
        match number {
            1 => Some(Self::Space),
            2 => Some(Self::Width),
            3 => Some(Self::Width128),
            _ => None,
        }
    }
}

/// The conversion of images to columns: each row of a box is one pixel's channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Im2col {
    /// The way through the images.
    pub mode: Im2colMode,
    /// First position of each spatial dimension that filters start from, innermost first. Modes
    /// along the width know the first dimension alone.
    pub lower: [i16; 3],
    /// The same for the last, counted from the dimension's end.
    pub upper: [i16; 3],
    /// Channels of a pixel that are copied.
    pub channels: u16,
    /// Pixels that are copied, unless the mode says how many.
    pub pixels: u16,
}

impl Im2col {
    /// Pixels that are copied, without a halo.
    pub(crate) const fn pixel_count(&self) -> u16 {
        match self.mode {
            Im2colMode::Space | Im2colMode::Width => self.pixels,
            Im2colMode::Width128 => 128,
        }
    }

    /// Spatial dimensions that the way leads along, in a tensor of `rank` dimensions.
    pub(super) const fn walked(&self, rank: usize) -> usize {
        match self.mode {
            Im2colMode::Space => rank - 2,
            Im2colMode::Width | Im2colMode::Width128 => 1,
        }
    }

    /// Last position of spatial dimension `index` that filters start from.
    pub(crate) fn last(&self, map: &TensorMap, index: usize) -> i64 {
        i64::from(map.global_dim[1 + index]) - 1 + i64::from(self.upper[index])
    }

    /// Pixels by which the bounding box reaches out of the image, in the dimension and at the side
    /// where they are most.
    pub(crate) fn outside(&self, rank: usize) -> u64 {
        (0..self.walked(rank))
            .flat_map(|index| [-i64::from(self.lower[index]), self.upper[index].into()])
            .fold(0, |most, beyond| most.max(beyond.max(0) as u64))
    }

    /// Checks the fields as `cuTensorMapEncodeIm2col` and `cuTensorMapEncodeIm2colWide` do.
    pub(super) fn check(&self, map: &TensorMap) -> Result<(), BadMap> {
        let bad = |what, value, allowed| Err(BadMap { what, value, allowed });
        if !(1..=256).contains(&self.channels) {
            return bad("the channels of a pixel", self.channels.into(), "1 to 256");
        }
        if !(1..=1024).contains(&self.pixel_count()) {
            return bad("the pixels of a column", self.pixels.into(), "1 to 1024");
        }
        if (0..self.walked(map.rank)).any(|at| self.last(map, at) < self.lower[at].into()) {
            return bad("the extent of a bounding box of pixels", 0, "at least 1");
        }
        let along_width = match self.mode {
            Im2colMode::Space => false,
            Im2colMode::Width | Im2colMode::Width128 => true,
        };
        match map.swizzle {
            Swizzle::None | Swizzle::B32 if along_width => {
                let what = "the swizzle mode of a tensor map for im2col::w";
                bad(what, map.swizzle.mode().into(), "2 or 3 (64 or 128 bytes)")
            }
            _ => Ok(()),
        }
    }
}

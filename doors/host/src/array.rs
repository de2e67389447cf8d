//! Arrays: texels that programs copy to and kernels reach through textures and surfaces.
//!
//! NVIDIA does not publish the layout of an array, so elements lie row by row
//! (docs/evidence/ptx-choices.md). Programs get a handle and no address.

use gpucast_interpreter::texture::{Format, LARGEST_EXTENT, Resource, level_extent};

use crate::Error;
use crate::place::{Extent, PitchedMemory};

/// An array, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ArrayId(pub usize);

/// What an array is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArrayShape {
    /// The format of an element.
    pub format: Format,
    /// Elements of a row, rows, and slices or layers; 0 for a dimension that is not there.
    pub extent: [u32; 3],
    /// Bits of [`Self::LAYERED`], [`Self::SURFACE`], [`Self::CUBE`] and [`Self::GATHER`].
    pub flags: u32,
}

impl ArrayShape {
    /// The last extent counts layers. The numbers of the flags are CUDA's.
    pub const LAYERED: u32 = 1;
    /// Surfaces may be made of the array.
    pub const SURFACE: u32 = 2;
    /// Six layers are the faces of a cube.
    pub const CUBE: u32 = 4;
    /// Kernels gather texels of it.
    pub const GATHER: u32 = 8;

    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }

    /// True if the last extent counts layers.
    fn counts_layers(&self) -> bool {
        self.has(Self::LAYERED) || self.has(Self::CUBE)
    }

    /// The shape of a level of a mipmapped array of this shape. Layers are not halved, and a
    /// dimension that is not there stays away.
    pub(crate) fn level(&self, level: u32) -> Self {
        let half = level_extent(self.extent, level);
        let is_halved = |axis: usize| self.extent[axis] > 0 && (axis < 2 || !self.counts_layers());
        let extent =
            [0, 1, 2].map(|axis| if is_halved(axis) { half[axis] } else { self.extent[axis] });
        Self { extent, ..*self }
    }

    /// The array's texels, from an address on.
    pub(crate) fn resource(&self, address: u64) -> Resource {
        let [width, height, depth] = self.extent;
        let (slices, layers) = if self.counts_layers() { (1, depth) } else { (depth.max(1), 1) };
        Resource::dense(address, [width, height.max(1), slices], layers, self.format)
    }

    /// The shapes that CUDA's manual lists at `cudaMalloc3DArray`.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let [width, height, depth] = self.extent;
        let (layered, cube) = (self.has(Self::LAYERED), self.has(Self::CUBE));
        let known = Self::LAYERED | Self::SURFACE | Self::CUBE | Self::GATHER;
        let is_shape = match (layered, cube) {
            (_, true) => width == height && depth > 0 && depth % 6 == 0 && (layered || depth == 6),
            (true, false) => depth > 0,
            (false, false) => height > 0 || depth == 0,
        };
        let fits = self.extent.iter().all(|&extent| extent <= LARGEST_EXTENT) && width > 0;
        let channels = matches!(self.format.channels, 1 | 2 | 4);
        // Texels are gathered in two dimensions.
        let gathers = !self.has(Self::GATHER) || height > 0 && depth == 0;
        if is_shape && fits && channels && gathers && self.flags & !known == 0 {
            Ok(())
        } else {
            Err(Error::InvalidValue)
        }
    }
}

/// An array of the program.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// What it is made of.
    pub shape: ArrayShape,
    /// Where its texels are.
    pub resource: Resource,
}

/// The first element of a part of an array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Corner {
    /// Bytes from the beginning of the row.
    pub x: u64,
    /// The row.
    pub y: u64,
    /// The slice or layer.
    pub z: u64,
}

impl Array {
    /// Bytes of an element.
    #[must_use]
    pub fn element_bytes(&self) -> u64 {
        self.shape.format.bytes().into()
    }

    /// The place of a part of the array.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if it is not all inside.
    pub fn place(&self, corner: Corner, extent: Extent) -> Result<PitchedMemory, Error> {
        let Resource { address, row_pitch, slice_pitch, .. } = self.resource;
        let [_, rows, slices] = self.resource.extent.map(u64::from);
        let slices = slices * u64::from(self.resource.layers);
        let fits = |first: u64, count: u64, all: u64| {
            first.checked_add(count).is_some_and(|end| end <= all)
        };
        let inside = fits(corner.x, extent.width, row_pitch)
            && fits(corner.y, extent.height, rows)
            && fits(corner.z, extent.depth, slices);
        if !inside {
            return Err(Error::InvalidValue);
        }
        let address = address + corner.z * slice_pitch + corner.y * row_pitch + corner.x;
        Ok(PitchedMemory { address, pitch: row_pitch, slice_pitch })
    }

    /// The place of `bytes` bytes that go on from row to row.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if they are not all inside.
    pub fn run(&self, corner: Corner, bytes: u64) -> Result<PitchedMemory, Error> {
        let PitchedMemory { address, .. } = self.place(corner, Extent::row(0))?;
        let end = self.resource.address + self.resource.bytes(self.shape.format);
        if bytes > end - address {
            return Err(Error::InvalidValue);
        }
        Ok(PitchedMemory::rows(address, bytes))
    }
}

#[cfg(test)]
mod tests {
    use gpucast_interpreter::texture::Channel;

    use super::*;

    const LAYERED: u32 = ArrayShape::LAYERED;
    const CUBE: u32 = ArrayShape::CUBE;

    fn array(extent: [u32; 3], flags: u32) -> Result<Array, Error> {
        let shape = ArrayShape { format: Format::new(Channel::F32, 2), extent, flags };
        shape.check()?;
        Ok(Array { shape, resource: shape.resource(0x1000) })
    }

    /// The table of `cudaMalloc3DArray` in CUDA's manual.
    #[test]
    fn shapes_are_those_of_the_manual() {
        for (extent, flags, expected) in [
            ([5, 0, 0], 0, ([5, 1, 1], 1)),
            ([5, 4, 0], 0, ([5, 4, 1], 1)),
            ([5, 4, 3], 0, ([5, 4, 3], 1)),
            ([5, 0, 3], LAYERED, ([5, 1, 1], 3)),
            ([5, 4, 3], LAYERED, ([5, 4, 1], 3)),
            ([4, 4, 6], CUBE, ([4, 4, 1], 6)),
            ([4, 4, 12], CUBE | LAYERED, ([4, 4, 1], 12)),
        ] {
            let found = array(extent, flags).unwrap().resource;
            assert_eq!((found.extent, found.layers), expected);
        }
        for (extent, flags) in [
            ([0, 4, 0], 0),
            ([5, 0, 3], 0),
            ([5, 4, 0], LAYERED),
            ([5, 4, 6], CUBE),
            ([4, 4, 12], CUBE),
            ([4, 4, 7], CUBE | LAYERED),
            ([4, 4, 4], ArrayShape::GATHER),
            ([4, 4, 4], 64),
        ] {
            assert_eq!(
                array(extent, flags).unwrap_err(),
                Error::InvalidValue,
                "{extent:?} {flags}"
            );
        }
    }

    #[test]
    fn levels_halve_what_is_no_layer() {
        let level = |extent, flags, level| {
            ArrayShape { format: Format::new(Channel::F32, 1), extent, flags }.level(level).extent
        };
        assert_eq!(level([9, 0, 0], 0, 1), [4, 0, 0]);
        assert_eq!(level([9, 3, 0], 0, 2), [2, 1, 0]);
        assert_eq!(level([9, 3, 5], 0, 3), [1, 1, 1]);
        assert_eq!(level([9, 0, 5], LAYERED, 2), [2, 0, 5]);
        assert_eq!(level([8, 8, 6], CUBE, 2), [2, 2, 6]);
    }

    #[test]
    fn parts_lie_inside() {
        let array = array([5, 4, 3], 0).unwrap();
        let corner = Corner { x: 8, y: 1, z: 2 };
        let place = array.place(corner, Extent { width: 32, height: 3, depth: 1 }).unwrap();
        let (pitch, slice_pitch) = (40, 160);
        let address = 0x1000 + 2 * slice_pitch + pitch + 8;
        assert_eq!(place, PitchedMemory { address, pitch, slice_pitch });
        for (width, height, depth) in [(33, 3, 1), (32, 4, 1), (32, 3, 2), (u64::MAX, 1, 1)] {
            assert!(array.place(corner, Extent { width, height, depth }).is_err());
        }
        assert_eq!(array.run(corner, 112).unwrap().address, address);
        assert!(array.run(corner, 113).is_err());
    }
}

//! Mipmapped arrays: each level is an array of its own, of half the extents of the one before.
//!
//! All levels lie in one block, so that no level can be freed by itself.

use gpucast_interpreter::texture::most_levels;

use crate::Error;
use crate::array::{ArrayId, ArrayShape};

/// A mipmapped array, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MipmapId(pub usize);

/// The levels of a mipmapped array, and the address of their block.
#[derive(Clone, Debug)]
pub(crate) struct Mipmap {
    pub(crate) address: u64,
    pub(crate) levels: Vec<ArrayId>,
}

/// Levels begin at multiples of it, as memory does that textures are bound to.
const ALIGNMENT: u64 = 512;

/// The shapes of levels with their offsets in a block, and the bytes of that.
pub(crate) struct Layout {
    pub(crate) levels: Vec<(ArrayShape, u64)>,
    pub(crate) bytes: u64,
}

impl Layout {
    /// The levels of an array of this shape. A number that its largest extent does not allow
    /// becomes the nearest one that it does.
    pub(crate) fn new(shape: ArrayShape, levels: u32) -> Result<Self, Error> {
        shape.check()?;
        let most = most_levels(shape.resource(0).extent) as u32;
        let mut layout = Self { levels: Vec::new(), bytes: 0 };
        for level in 0..levels.clamp(1, most) {
            let shape = shape.level(level);
            layout.levels.push((shape, layout.bytes));
            let after = layout.bytes.checked_add(shape.resource(0).bytes(shape.format));
            let aligned = after.and_then(|after| after.checked_next_multiple_of(ALIGNMENT));
            layout.bytes = aligned.ok_or(Error::OutOfMemory)?;
        }
        Ok(layout)
    }
}

#[cfg(test)]
mod tests {
    use gpucast_interpreter::texture::{Channel, Format};

    use super::*;

    #[test]
    fn levels_lie_one_behind_the_other_and_are_as_many_as_there_are_halves() {
        let format = Format::new(Channel::F32, 4);
        let shape = ArrayShape { format, extent: [9, 5, 0], flags: 0 };
        let all = Layout::new(shape, 10).unwrap();
        let extents: Vec<_> = all.levels.iter().map(|(shape, _)| shape.extent).collect();
        assert_eq!(extents, [[9, 5, 0], [4, 2, 0], [2, 1, 0], [1, 1, 0]]);
        // 720, 128, 32 and 16 bytes.
        let offsets: Vec<_> = all.levels.iter().map(|(_, offset)| *offset).collect();
        assert_eq!((offsets.as_slice(), all.bytes), (&[0, 1024, 1536, 2048][..], 2560));
        for (wanted, found) in [(0, 1), (1, 1), (3, 3)] {
            assert_eq!(Layout::new(shape, wanted).unwrap().levels.len(), found);
        }
        // Layers have no halves.
        let layered = ArrayShape { extent: [2, 0, 64], flags: ArrayShape::LAYERED, format };
        assert_eq!(Layout::new(layered, 10).unwrap().levels.len(), 2);
        assert!(Layout::new(ArrayShape { extent: [0, 5, 0], ..shape }, 1).is_err());
    }
}

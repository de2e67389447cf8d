//! Views of arrays: `cudaResourceViewDesc` and `CUDA_RESOURCE_VIEW_DESC`, which are laid out alike.

use gpucast_host::{Array, ArrayShape, Error};
use gpucast_interpreter::texture::{Channel, Format, Resource};

use crate::abi::In;
use crate::texture::{Texels, not_executed};

/// An array's texels in another format, or some of its layers and levels.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// `cudaResourceViewFormat`; 0 for the array's own.
    format: i32,
    /// Texels of a row, rows and slices, as the array or its first level has them.
    extent: [usize; 3],
    /// The first level and the last.
    levels: [u32; 2],
    /// The first layer and the last.
    layers: [u32; 2],
}

// `cudaResourceViewFormat`: three numbers of channels of each format, then compressed blocks.
const CHANNELS: [u8; 3] = [1, 2, 4];
const FORMATS: [Channel; 8] = [
    Channel::U8,
    Channel::S8,
    Channel::U16,
    Channel::S16,
    Channel::U32,
    Channel::S32,
    Channel::F16,
    Channel::F32,
];
const FIRST_BLOCKS: i32 = 25;
const LAST_BLOCKS: i32 = 38;

/// The texels as a view shows them; those of an array as they are if there is none.
pub(crate) fn viewed(texels: Texels, view: In<View>) -> Result<Texels, Error> {
    if view.is_null() {
        return Ok(texels);
    }
    let view = view.get()?;
    match texels {
        Texels::Array(array) if view.levels == [0, 0] => Ok(Texels::Array(view.of(&array)?)),
        Texels::Levels(largest, smaller) => {
            let levels: Vec<Array> = std::iter::once(largest).chain(smaller).collect();
            Texels::of_levels(view.of_levels(&levels)?)
        }
        Texels::Array(_) | Texels::Linear { .. } | Texels::Rows { .. } => Err(Error::InvalidValue),
    }
}

impl View {
    /// The levels that it shows of a mipmapped array. The first of them becomes level 0.
    fn of_levels(&self, levels: &[Array]) -> Result<Vec<Array>, Error> {
        let [first, last] = self.levels.map(|level| level as usize);
        let part = levels.get(first..=last).filter(|part| !part.is_empty());
        let (Some(part), Some(all)) = (part, levels.first()) else {
            return Err(Error::InvalidValue);
        };
        // The extents are those of the whole, whatever the first level is.
        self.of(all)?;
        part.iter().map(|level| Self { extent: extent(level), ..*self }.of(level)).collect()
    }

    /// The part of an array that it shows.
    fn of(&self, array: &Array) -> Result<Array, Error> {
        let Array { shape, resource } = *array;
        let format = match self.format {
            0 => shape.format,
            FIRST_BLOCKS..=LAST_BLOCKS => return not_executed("a view as compressed blocks"),
            number => format(number).ok_or(Error::InvalidValue)?,
        };
        // The manual allows other extents for compressed blocks alone. It does not say whether
        // layers are a depth.
        let [width, height, depth] = extent(array);
        let is_flat = shape.flags & (ArrayShape::LAYERED | ArrayShape::CUBE) != 0;
        let fits = self.extent[..2] == [width, height]
            && (self.extent[2] == depth || is_flat && self.extent[2] == 0)
            && format.bytes() == shape.format.bytes();
        let [first, last] = self.layers;
        if !fits || first > last || last >= resource.layers {
            return Err(Error::InvalidValue);
        }
        let slices = u64::from(first) * u64::from(resource.extent[2]);
        let resource = Resource {
            address: resource.address + slices * resource.slice_pitch,
            layers: last - first + 1,
            ..resource
        };
        Ok(Array { shape: ArrayShape { format, ..shape }, resource })
    }
}

fn extent(array: &Array) -> [usize; 3] {
    array.shape.extent.map(|extent| extent as usize)
}

/// The format of a number from 1 on.
fn format(number: i32) -> Option<Format> {
    let place = usize::try_from(number.checked_sub(1)?).ok()?;
    let channel = FORMATS.get(place / CHANNELS.len())?;
    Some(Format::new(*channel, CHANNELS[place % CHANNELS.len()]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six layers of four by two pairs of halves: 4 bytes a texel.
    fn layers() -> Array {
        let format = Format::new(Channel::F16, 2);
        let shape = ArrayShape { format, extent: [4, 2, 6], flags: ArrayShape::LAYERED };
        Array { shape, resource: Resource::dense(0x1000, [4, 2, 1], 6, format) }
    }

    const ALL: View = View { format: 0, extent: [4, 2, 6], levels: [0; 2], layers: [0, 5] };

    #[test]
    fn a_view_has_another_format_and_fewer_layers() {
        let array = layers();
        let same = ALL.of(&array).unwrap();
        assert_eq!((same.resource, same.shape.format), (array.resource, array.shape.format));
        assert!(View { extent: [4, 2, 0], ..ALL }.of(&array).is_ok(), "layers are no depth");
        // 3 is four bytes, 22 a float; a layer has 32 bytes.
        for (number, format) in [
            (3, Format::new(Channel::U8, 4)),
            (8, Format::new(Channel::U16, 2)),
            (13, Format::new(Channel::U32, 1)),
            (20, Format::new(Channel::F16, 2)),
            (22, Format::new(Channel::F32, 1)),
        ] {
            let part = View { format: number, layers: [2, 3], ..ALL }.of(&array).unwrap();
            assert_eq!(part.shape.format, format, "{number}");
            assert_eq!((part.resource.address, part.resource.layers), (0x1040, 2));
        }
    }

    #[test]
    fn views_that_the_manual_does_not_allow_are_refused() {
        let refused = |view: View| view.of(&layers()).map(|_| ()).unwrap_err();
        for view in [
            View { format: 24, ..ALL },
            View { format: -1, ..ALL },
            View { format: 39, ..ALL },
            View { extent: [2, 2, 6], ..ALL },
            View { layers: [3, 2], ..ALL },
            View { layers: [0, 6], ..ALL },
        ] {
            assert_eq!(refused(view), Error::InvalidValue, "{view:?}");
        }
        assert_eq!(refused(View { format: 25, ..ALL }), Error::NotSupported);
        let beyond = View { levels: [0, 1], ..ALL };
        let place = In::at_address(std::ptr::from_ref(&beyond).cast());
        assert!(matches!(viewed(Texels::Array(layers()), place), Err(Error::InvalidValue)));
        let linear = Texels::Linear { address: 0, bytes: 64, format: Format::new(Channel::F32, 1) };
        let place = In::at_address(std::ptr::from_ref(&ALL).cast());
        assert!(matches!(viewed(linear.clone(), place), Err(Error::InvalidValue)));
        assert!(matches!(viewed(Texels::Array(layers()), place), Ok(Texels::Array(_))));
        assert!(viewed(linear, In::at_number(0)).is_ok(), "there is no view");
    }

    #[test]
    fn a_view_shows_some_levels_and_layers_of_each() {
        let largest = layers();
        let level = |extent: [u32; 3], address| {
            let shape = ArrayShape { extent, ..largest.shape };
            let [width, height, layers] = extent;
            let resource = Resource::dense(address, [width, height, 1], layers, shape.format);
            Array { shape, resource }
        };
        let levels = [largest, level([2, 1, 6], 0x2000), level([1, 1, 6], 0x3000)];
        let view = View { levels: [1, 2], layers: [3, 4], format: 22, ..ALL };
        let found = view.of_levels(&levels).unwrap();
        // A layer of level 1 has 8 bytes, one of level 2 has 4.
        let places: Vec<_> =
            found.iter().map(|view| (view.resource.address, view.resource.layers)).collect();
        assert_eq!(places, [(0x2018, 2), (0x300c, 2)]);
        assert!(found.iter().all(|view| view.shape.format == Format::new(Channel::F32, 1)));
        for view in [
            View { levels: [1, 3], ..ALL },
            View { levels: [2, 1], ..ALL },
            View { levels: [3, 3], ..ALL },
            View { levels: [1, 2], extent: [2, 1, 6], ..ALL },
            View { levels: [0, u32::MAX], ..ALL },
        ] {
            let refused = view.of_levels(&levels).map(|_| ()).unwrap_err();
            assert_eq!(refused, Error::InvalidValue, "{view:?}");
        }
    }
}

//! Tensor maps, which kernels give to bulk copies. Their 128 bytes are opaque to programs.

use gpucast_host::Error;
use gpucast_interpreter::tensor_map::{
    ADDRESS_OFFSET, Element, Fill, Im2col, Im2colMode, Swizzle, TensorMap,
};

use super::driver_functions;
use crate::abi::{In, Out};
use crate::notices;

/// What the functions for tiles and for columns of images have in common.
struct Tensor {
    element: i32,
    rank: u32,
    address: u64,
    dimensions: In<u64>,
    strides: In<u64>,
    steps: In<u32>,
    interleave: i32,
    swizzle: i32,
    fill: i32,
}

/// `CUtensorMapDataType`.
fn element(number: i32) -> Result<Element, Error> {
    Ok(match number {
        0 => Element::U8,
        1 => Element::U16,
        2 => Element::U32,
        3 => Element::S32,
        4 => Element::U64,
        5 => Element::S64,
        6 => Element::F16,
        7 => Element::F32,
        8 => Element::F64,
        9 => Element::Bf16,
        10 => Element::F32Ftz,
        11 => Element::Tf32,
        12 => Element::Tf32Ftz,
        13..=15 => return not_executed("packed elements of 4 and 6 bits"),
        _ => return Err(Error::InvalidValue),
    })
}

/// `CUtensorMapSwizzle`.
fn swizzle(number: i32) -> Result<Swizzle, Error> {
    Ok(match number {
        0 => Swizzle::None,
        1 => Swizzle::B32,
        2 => Swizzle::B64,
        3 => Swizzle::B128,
        4 => Swizzle::B128Atom32,
        5 | 6 => return not_executed("this swizzle"),
        _ => return Err(Error::InvalidValue),
    })
}

fn not_executed<T>(what: &str) -> Result<T, Error> {
    notices::once(&format!("a tensor map has {what}, which gpucast does not execute"));
    Err(Error::NotSupported)
}

/// The first `count` numbers of a list as those of a map.
fn list<T: Copy, U: TryFrom<T> + Copy + Default, const N: usize>(
    values: In<T>,
    count: usize,
) -> Result<[U; N], Error> {
    let mut all = [U::default(); N];
    for (index, place) in all.iter_mut().enumerate().take(count) {
        *place = U::try_from(values.at(index)?).map_err(|_| Error::InvalidValue)?;
    }
    Ok(all)
}

impl Tensor {
    /// The map, with boxes of `box_dim`.
    fn map(&self, box_dim: [u16; 5], im2col: Option<Im2col>) -> Result<TensorMap, Error> {
        let rank = self.rank()?;
        match self.interleave {
            0 => {}
            1 | 2 => return not_executed("an interleaved layout"),
            _ => return Err(Error::InvalidValue),
        }
        let map = TensorMap {
            global_address: self.address,
            element: element(self.element)?,
            rank,
            global_dim: list(self.dimensions, rank)?,
            global_stride: list(self.strides, rank - 1)?,
            box_dim,
            element_stride: list(self.steps, rank)?,
            swizzle: swizzle(self.swizzle)?,
            fill: match self.fill {
                0 => Fill::Zero,
                1 => Fill::Nan,
                _ => return Err(Error::InvalidValue),
            },
            im2col,
        };
        map.check().map_err(|bad| {
            notices::once(&format!("a tensor map is refused: {bad}"));
            Error::InvalidValue
        })?;
        Ok(map)
    }

    /// The map of images, whose boxes have one element in each dimension.
    fn map_of_images(&self, im2col: Im2col) -> Result<TensorMap, Error> {
        let rank = self.rank()?;
        self.map(std::array::from_fn(|index| u16::from(index < rank)), Some(im2col))
    }

    fn rank(&self) -> Result<usize, Error> {
        match self.rank {
            1..=5 => Ok(self.rank as usize),
            _ => Err(Error::InvalidValue),
        }
    }
}

/// A number of 16 bits, which all numbers of pixels and their places are.
fn short<T: TryInto<U>, U>(value: T) -> Result<U, Error> {
    value.try_into().map_err(|_| Error::InvalidValue)
}

driver_functions! {
    /// Describes a tensor whose boxes are tiles.
    fn cuTensorMapEncodeTiled(
        map: Out<u8>,
        element: i32,
        rank: u32,
        address: u64,
        dimensions: In<u64>,
        strides: In<u64>,
        box_dim: In<u32>,
        steps: In<u32>,
        interleave: i32,
        swizzle: i32,
        _l2_promotion: i32,
        fill: i32,
    ) {
        let tensor = Tensor {
            element,
            rank,
            address,
            dimensions,
            strides,
            steps,
            interleave,
            swizzle,
            fill,
        };
        let box_dim = list(box_dim, tensor.rank()?)?;
        map.put_all(tensor.map(box_dim, None)?.encode())
    }

    /// Describes images whose pixels are copied as columns.
    fn cuTensorMapEncodeIm2col(
        map: Out<u8>,
        element: i32,
        rank: u32,
        address: u64,
        dimensions: In<u64>,
        strides: In<u64>,
        lower: In<i32>,
        upper: In<i32>,
        channels: u32,
        pixels: u32,
        steps: In<u32>,
        interleave: i32,
        swizzle: i32,
        _l2_promotion: i32,
        fill: i32,
    ) {
        let tensor = Tensor {
            element,
            rank,
            address,
            dimensions,
            strides,
            steps,
            interleave,
            swizzle,
            fill,
        };
        let spatial = tensor.rank()?.saturating_sub(2);
        let im2col = Im2col {
            mode: Im2colMode::Space,
            lower: list(lower, spatial)?,
            upper: list(upper, spatial)?,
            channels: short(channels)?,
            pixels: short(pixels)?,
        };
        map.put_all(tensor.map_of_images(im2col)?.encode())
    }

    /// Describes images whose pixels are copied along their width.
    fn cuTensorMapEncodeIm2colWide(
        map: Out<u8>,
        element: i32,
        rank: u32,
        address: u64,
        dimensions: In<u64>,
        strides: In<u64>,
        lower: i32,
        upper: i32,
        channels: u32,
        pixels: u32,
        steps: In<u32>,
        interleave: i32,
        mode: i32,
        swizzle: i32,
        _l2_promotion: i32,
        fill: i32,
    ) {
        let tensor = Tensor {
            element,
            rank,
            address,
            dimensions,
            strides,
            steps,
            interleave,
            swizzle,
            fill,
        };
        // `CUtensorMapIm2ColWideMode`; the second one ignores `pixels`.
        let (mode, pixels) = match mode {
            0 => (Im2colMode::Width, short(pixels)?),
            1 => (Im2colMode::Width128, 0),
            _ => return Err(Error::InvalidValue),
        };
        let im2col = Im2col {
            mode,
            lower: [short(lower)?, 0, 0],
            upper: [short(upper)?, 0, 0],
            channels: short(channels)?,
            pixels,
        };
        map.put_all(tensor.map_of_images(im2col)?.encode())
    }

    /// Changes the address in a map.
    fn cuTensorMapReplaceAddress(map: u64, address: u64) {
        if map == 0 || !address.is_multiple_of(16) {
            return Err(Error::InvalidValue);
        }
        Out::<u8>::at_number(map + ADDRESS_OFFSET as u64).put_all(address.to_le_bytes())
    }
}

//! Tensor maps among the arguments of a launch file, in the terms of `cuTensorMapEncodeTiled`,
//! `cuTensorMapEncodeIm2col` and `cuTensorMapEncodeIm2colWide`.
//!
//! ```toml
//! [[launch]]
//! args = [{ tensor_map = {
//!     buffer = "a", type = "f16", global_dim = [1024, 512], box_dim = [64, 128], swizzle = "128B"
//! } }]
//! ```

use gpucast_interpreter::tensor_map::{
    ADDRESS_OFFSET, Element, Fill, Im2col, Im2colMode, Swizzle, TensorMap,
};
use serde::Deserialize;

use super::structure::Structure;

/// The driver aligns tensor maps to this number of bytes.
const ALIGNMENT: usize = 64;

/// `{ tensor_map = { … } }`; all lists begin with the innermost dimension.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TensorMapTable {
    /// The buffer that holds the tensor, from its beginning.
    pub(super) buffer: String,
    #[serde(rename = "type")]
    element: ElementName,
    /// Elements of each dimension.
    global_dim: Vec<u32>,
    /// Bytes from one element to the next of all dimensions but the innermost; without them the
    /// tensor is dense.
    global_strides: Option<Vec<u64>>,
    /// Elements of a box in each dimension.
    #[serde(default)]
    box_dim: Vec<u16>,
    /// Steps through a box; without them every element is copied.
    element_strides: Option<Vec<u8>>,
    #[serde(default)]
    swizzle: SwizzleName,
    #[serde(default)]
    fill: FillName,
    im2col: Option<Im2colTable>,
    im2col_wide: Option<Im2colWideTable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ElementName {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    #[serde(rename = "f32.ftz")]
    F32Ftz,
    F64,
    Bf16,
    Tf32,
    #[serde(rename = "tf32.ftz")]
    Tf32Ftz,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
enum SwizzleName {
    #[default]
    #[serde(rename = "none")]
    None,
    #[serde(rename = "32B")]
    B32,
    #[serde(rename = "64B")]
    B64,
    #[serde(rename = "128B")]
    B128,
    #[serde(rename = "128B_atom_32B")]
    B128Atom32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FillName {
    #[default]
    Zero,
    Nan,
}

/// `im2col = { … }`, for copies of images as columns.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Im2colTable {
    /// Lower corner of the box that filters start in, for each spatial dimension.
    pixel_box_lower_corner: Vec<i16>,
    /// Upper corner, counted from the end.
    pixel_box_upper_corner: Vec<i16>,
    channels_per_pixel: u16,
    pixels_per_column: u16,
}

/// `im2col_wide = { … }`, for copies of images along their width.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Im2colWideTable {
    /// Left edge of the box that filters start in.
    pixel_box_lower_corner_width: i16,
    /// Right edge, counted from the end.
    pixel_box_upper_corner_width: i16,
    channels_per_pixel: u16,
    /// The mode "w128" goes without.
    pixels_per_column: Option<u16>,
    #[serde(default)]
    mode: WideModeName,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum WideModeName {
    #[default]
    W,
    W128,
}

impl TensorMapTable {
    /// The argument, with the address of buffer `index`, which has `bytes` bytes.
    ///
    /// # Errors
    ///
    /// Returns a sentence about the fault.
    pub(super) fn structure(&self, index: usize, bytes: u64) -> Result<Structure, String> {
        let rank = self.global_dim.len();
        let element = self.element.element();
        let strides = match &self.global_strides {
            Some(strides) => strides.clone(),
            None => dense_strides(&self.global_dim, element),
        };
        let steps = self.element_strides.clone().unwrap_or_else(|| vec![1; rank]);
        let im2col = match (&self.im2col, &self.im2col_wide) {
            (None, None) => None,
            (Some(table), None) => Some(table.im2col(rank)?),
            (None, Some(table)) => Some(table.im2col()?),
            (Some(_), Some(_)) => {
                return Err("a tensor map has either im2col or im2col_wide".to_owned());
            }
        };
        let box_dim = match im2col {
            Some(_) if !self.box_dim.is_empty() => {
                return Err("columns of images have no box_dim".to_owned());
            }
            Some(_) => vec![1; rank],
            None => self.box_dim.clone(),
        };
        let map = TensorMap {
            global_address: 0,
            element,
            rank,
            global_dim: filled("global_dim", &self.global_dim, rank)?,
            global_stride: filled("global_strides", &strides, rank.saturating_sub(1))?,
            box_dim: filled("box_dim", &box_dim, rank)?,
            element_stride: filled("element_strides", &steps, rank)?,
            swizzle: self.swizzle.swizzle(),
            fill: match self.fill {
                FillName::Zero => Fill::Zero,
                FillName::Nan => Fill::Nan,
            },
            im2col,
        };
        map.check().map_err(|bad| bad.to_string())?;
        let needed = extent(&map);
        if needed > u128::from(bytes) {
            return Err(format!(
                "the tensor reaches to byte {needed}, and buffer {} has {bytes} bytes",
                self.buffer
            ));
        }
        Ok(Structure::with_address(map.encode().to_vec(), ALIGNMENT, ADDRESS_OFFSET, index))
    }
}

/// Strides of a tensor without gaps.
fn dense_strides(sizes: &[u32], element: Element) -> Vec<u64> {
    let outer = sizes.len().saturating_sub(1);
    sizes
        .iter()
        .take(outer)
        .scan(u64::from(element.bytes()), |stride, &size| {
            *stride = stride.saturating_mul(size.into());
            Some(*stride)
        })
        .collect()
}

/// The byte behind the tensor's last element.
fn extent(map: &TensorMap) -> u128 {
    let row = u128::from(map.global_dim[0]) * u128::from(map.element.bytes());
    let outer = (1..map.rank).map(|index| {
        u128::from(map.global_dim[index] - 1) * u128::from(map.global_stride[index - 1])
    });
    row + outer.sum::<u128>()
}

/// `count` values in an array.
fn filled<T: Copy + Default, const N: usize>(
    name: &str,
    values: &[T],
    count: usize,
) -> Result<[T; N], String> {
    if values.len() != count || count > N {
        let there = values.len();
        return Err(format!("{name} has {there} numbers, where {count} (at most {N}) belong"));
    }
    let mut array = [T::default(); N];
    array[..count].copy_from_slice(values);
    Ok(array)
}

impl Im2colTable {
    fn im2col(&self, rank: usize) -> Result<Im2col, String> {
        let spatial = rank.saturating_sub(2);
        Ok(Im2col {
            mode: Im2colMode::Space,
            lower: filled("pixel_box_lower_corner", &self.pixel_box_lower_corner, spatial)?,
            upper: filled("pixel_box_upper_corner", &self.pixel_box_upper_corner, spatial)?,
            channels: self.channels_per_pixel,
            pixels: self.pixels_per_column,
        })
    }
}

impl Im2colWideTable {
    fn im2col(&self) -> Result<Im2col, String> {
        let (mode, pixels) = match (self.mode, self.pixels_per_column) {
            (WideModeName::W, Some(pixels)) => (Im2colMode::Width, pixels),
            (WideModeName::W, None) => {
                return Err("pixels_per_column is missing; mode \"w128\" has 128".to_owned());
            }
            (WideModeName::W128, pixels) => (Im2colMode::Width128, pixels.unwrap_or(0)),
        };
        Ok(Im2col {
            mode,
            lower: [self.pixel_box_lower_corner_width, 0, 0],
            upper: [self.pixel_box_upper_corner_width, 0, 0],
            channels: self.channels_per_pixel,
            pixels,
        })
    }
}

impl ElementName {
    fn element(self) -> Element {
        match self {
            Self::U8 => Element::U8,
            Self::U16 => Element::U16,
            Self::U32 => Element::U32,
            Self::S32 => Element::S32,
            Self::U64 => Element::U64,
            Self::S64 => Element::S64,
            Self::F16 => Element::F16,
            Self::F32 => Element::F32,
            Self::F32Ftz => Element::F32Ftz,
            Self::F64 => Element::F64,
            Self::Bf16 => Element::Bf16,
            Self::Tf32 => Element::Tf32,
            Self::Tf32Ftz => Element::Tf32Ftz,
        }
    }
}

impl SwizzleName {
    fn swizzle(self) -> Swizzle {
        match self {
            Self::None => Swizzle::None,
            Self::B32 => Swizzle::B32,
            Self::B64 => Swizzle::B64,
            Self::B128 => Swizzle::B128,
            Self::B128Atom32 => Swizzle::B128Atom32,
        }
    }
}

//! Values in the form that the corpus's generators and references work on.

use half::bf16;

use gpucast_corpus::reference::{self, Scalar, Values};

use crate::scalar::ElementType;

/// A scalar of the corpus, if it has scalars of this type.
#[must_use]
pub fn scalar(ty: ElementType, bits: u64) -> Option<Scalar> {
    match ty {
        ElementType::S32 => Some(Scalar::S32(bits as i32)),
        ElementType::S64 => Some(Scalar::S64(bits as i64)),
        ElementType::U32 => Some(Scalar::U32(bits as u32)),
        ElementType::U64 => Some(Scalar::U64(bits)),
        ElementType::F32 => Some(Scalar::F32(f32::from_bits(bits as u32))),
        ElementType::F64 => Some(Scalar::F64(f64::from_bits(bits))),
        ElementType::Bf16 => Some(Scalar::Bf16(bf16::from_bits(bits as u16))),
        ElementType::U8 => Some(Scalar::U8(bits as u8)),
        ElementType::U16 | ElementType::S8 | ElementType::S16 | ElementType::F16 => None,
    }
}

macro_rules! elements {
    ($type:ty, $bytes:expr) => {
        $bytes
            .chunks_exact(size_of::<$type>())
            .filter_map(|chunk| Some(<$type>::from_le_bytes(chunk.try_into().ok()?)))
            .collect()
    };
}

/// The values that little-endian bytes of a buffer are, if the corpus has values of its type.
#[must_use]
pub fn values(ty: ElementType, bytes: &[u8]) -> Option<Values> {
    match ty {
        ElementType::S32 => Some(Values::S32(elements!(i32, bytes))),
        ElementType::S64 => Some(Values::S64(elements!(i64, bytes))),
        ElementType::U32 => Some(Values::U32(elements!(u32, bytes))),
        ElementType::U64 => Some(Values::U64(elements!(u64, bytes))),
        ElementType::F32 => Some(Values::F32(elements!(f32, bytes))),
        ElementType::F64 => Some(Values::F64(elements!(f64, bytes))),
        ElementType::Bf16 => Some(Values::Bf16(elements!(bf16, bytes))),
        ElementType::U8 => Some(Values::U8(bytes.to_vec())),
        ElementType::U16 | ElementType::S8 | ElementType::S16 | ElementType::F16 => None,
    }
}

/// The type that launch files know by the same name.
#[must_use]
pub fn element_type(ty: reference::ElementType) -> ElementType {
    match ty {
        reference::ElementType::S32 => ElementType::S32,
        reference::ElementType::S64 => ElementType::S64,
        reference::ElementType::U32 => ElementType::U32,
        reference::ElementType::U64 => ElementType::U64,
        reference::ElementType::F32 => ElementType::F32,
        reference::ElementType::F64 => ElementType::F64,
        reference::ElementType::Bf16 => ElementType::Bf16,
        reference::ElementType::U8 => ElementType::U8,
    }
}

/// Little-endian bytes, as they would stand in device memory.
#[must_use]
pub fn bytes(values: &Values) -> Vec<u8> {
    match values {
        Values::S32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::S64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::U32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::U64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::F32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::F64(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::Bf16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        Values::U8(values) => values.clone(),
    }
}

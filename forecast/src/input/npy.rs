//! NumPy's `.npy` files, element by element.
//!
//! An element travels as its bits, whatever its type, because NumPy's half floats have no
//! counterpart among Rust's primitives. A file that promises more elements than it holds must be
//! refused before memory is set aside for them.

use std::io::{Read, Write};

use ndarray::{Array1, ArrayD};
use ndarray_npy::{
    ReadDataError, ReadNpyError, ReadNpyExt as _, ReadableElement, WritableElement, WriteDataError,
    WriteNpyError, WriteNpyExt as _,
};
use py_literal::Value;

use super::scalar::ElementType;

/// The bits of one element of the [`ElementType`] whose index is `TYPE`.
struct Bits<const TYPE: usize>(u64);

/// NumPy's name of each type without its byte order, in the order of [`ElementType`].
const NAMES: [Option<&str>; 12] = [
    Some("u1"),
    Some("u2"),
    Some("u4"),
    Some("u8"),
    Some("i1"),
    Some("i2"),
    Some("i4"),
    Some("i8"),
    Some("f2"),
    None,
    Some("f4"),
    Some("f8"),
];

/// NumPy's name of a type (`f4`), if it has one.
pub(super) fn numpy_name(ty: ElementType) -> Option<&'static str> {
    NAMES[ty as usize]
}

const fn width(name: Option<&str>) -> usize {
    match name {
        Some(name) => (name.as_bytes()[1] - b'0') as usize,
        None => 2,
    }
}

impl<const TYPE: usize> ReadableElement for Bits<TYPE> {
    fn read_to_end_exact_vec<R: Read>(
        mut reader: R,
        type_desc: &Value,
        len: usize,
    ) -> Result<Vec<Self>, ReadDataError> {
        let wrong = || ReadDataError::WrongDescriptor(type_desc.clone());
        let Value::String(descriptor) = type_desc else { return Err(wrong()) };
        let name = descriptor.trim_start_matches(['<', '>', '|', '=']);
        if NAMES[TYPE] != Some(name) {
            return Err(wrong());
        }
        let big_endian = descriptor.starts_with('>');
        let bytes = const { width(NAMES[TYPE]) };
        let mut data = Vec::new();
        let expected = (len as u64).saturating_mul(bytes as u64);
        reader.by_ref().take(expected).read_to_end(&mut data).map_err(ReadDataError::Io)?;
        if (data.len() as u64) < expected {
            return Err(ReadDataError::MissingData);
        }
        let extra = std::io::copy(&mut reader, &mut std::io::sink()).map_err(ReadDataError::Io)?;
        if extra > 0 {
            return Err(ReadDataError::ExtraBytes(extra as usize));
        }
        let element = |chunk: &[u8]| {
            let bit = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
            Self(if big_endian {
                chunk.iter().fold(0, bit)
            } else {
                chunk.iter().rev().fold(0, bit)
            })
        };
        Ok(data.chunks_exact(bytes).map(element).collect())
    }
}

impl<const TYPE: usize> WritableElement for Bits<TYPE> {
    fn type_descriptor() -> Value {
        let name = NAMES[TYPE].unwrap_or("V2");
        let order = if name.ends_with('1') { '|' } else { '<' };
        Value::String(format!("{order}{name}"))
    }

    fn write<W: Write>(&self, mut writer: W) -> Result<(), WriteDataError> {
        let bytes = const { width(NAMES[TYPE]) };
        writer.write_all(&self.0.to_le_bytes()[..bytes]).map_err(WriteDataError::Io)
    }

    fn write_slice<W: Write>(slice: &[Self], mut writer: W) -> Result<(), WriteDataError> {
        slice.iter().try_for_each(|element| element.write(&mut writer))
    }
}

fn read_typed<const TYPE: usize>(reader: impl Read) -> Result<Vec<u64>, ReadNpyError> {
    // Iteration is in C order, also for files written in Fortran order.
    Ok(ArrayD::<Bits<TYPE>>::read_npy(reader)?.iter().map(|element| element.0).collect())
}

fn write_typed<const TYPE: usize>(
    writer: impl Write,
    bits: impl Iterator<Item = u64>,
) -> Result<(), WriteNpyError> {
    bits.map(Bits::<TYPE>).collect::<Array1<_>>().write_npy(writer)
}

macro_rules! dispatch {
    ($ty:expr, $function:ident ( $($argument:expr),* ) ) => {
        match $ty {
            ElementType::U8 => $function::<{ ElementType::U8 as usize }>($($argument),*),
            ElementType::U16 => $function::<{ ElementType::U16 as usize }>($($argument),*),
            ElementType::U32 => $function::<{ ElementType::U32 as usize }>($($argument),*),
            ElementType::U64 => $function::<{ ElementType::U64 as usize }>($($argument),*),
            ElementType::S8 => $function::<{ ElementType::S8 as usize }>($($argument),*),
            ElementType::S16 => $function::<{ ElementType::S16 as usize }>($($argument),*),
            ElementType::S32 => $function::<{ ElementType::S32 as usize }>($($argument),*),
            ElementType::S64 => $function::<{ ElementType::S64 as usize }>($($argument),*),
            ElementType::F16 => $function::<{ ElementType::F16 as usize }>($($argument),*),
            ElementType::Bf16 => $function::<{ ElementType::Bf16 as usize }>($($argument),*),
            ElementType::F32 => $function::<{ ElementType::F32 as usize }>($($argument),*),
            ElementType::F64 => $function::<{ ElementType::F64 as usize }>($($argument),*),
        }
    };
}

/// The bits of every element, in C order.
pub fn read(ty: ElementType, reader: impl Read) -> Result<Vec<u64>, ReadNpyError> {
    dispatch!(ty, read_typed(reader))
}

/// Writes a one-dimensional array; the type must have a [`numpy_name`].
pub(super) fn write(
    ty: ElementType,
    bits: impl Iterator<Item = u64>,
    writer: impl Write,
) -> Result<(), WriteNpyError> {
    dispatch!(ty, write_typed(writer, bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let mut file = Vec::new();
        write(ElementType::F16, [0x3c00, 0x4000].into_iter(), &mut file).unwrap();
        assert!(file.windows(5).any(|window| window == b"'<f2'"));
        assert_eq!(read(ElementType::F16, file.as_slice()).unwrap(), [0x3c00, 0x4000]);
        assert!(matches!(
            read(ElementType::U16, file.as_slice()),
            Err(ReadNpyError::WrongDescriptor(_))
        ));
    }

    #[test]
    fn big_endian_and_fortran_order_are_understood() {
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }";
        file.extend(format!("{header:<117}\n").bytes());
        file.extend([0, 1, 0, 2, 0, 3, 0, 4]);
        assert_eq!(read(ElementType::S16, file.as_slice()).unwrap(), [1, 3, 2, 4]);
    }

    #[test]
    fn a_file_that_promises_too_much_is_refused_without_setting_memory_aside() {
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000,), }";
        file.extend(format!("{header:<117}\n").bytes());
        assert!(matches!(read(ElementType::F32, file.as_slice()), Err(ReadNpyError::MissingData)));
    }
}

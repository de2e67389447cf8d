//! NumPy's `.npy` files, element by element (NumPy's documentation, `numpy.lib.format`).
//!
//! An element travels as its bits, whatever its type, because NumPy's half floats have no
//! counterpart among Rust's primitives. A file that promises more elements than it holds is refused
//! before memory is set aside for them.

use std::io::{self, Read, Write};

use thiserror::Error;

use crate::scalar::ElementType;

/// The bytes that every file begins with.
const MAGIC: &[u8; 6] = b"\x93NUMPY";
/// The header's end lies at a multiple of this many bytes.
const ALIGNMENT: usize = 64;
/// Headers are some 100 bytes; those of structures, which no buffer has, can be longer.
const LONGEST_HEADER: usize = 1 << 16;

/// Reason why a file's elements cannot be read.
#[derive(Debug, Error)]
pub enum NpyError {
    /// Reading failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The file ends before its last element.
    #[error("it ends before its last element")]
    CutOff,
    /// The elements are of another type, written in NumPy's way.
    #[error("its elements are of type {0}")]
    OtherType(String),
    /// The header is none.
    #[error("{0}")]
    Header(&'static str),
    /// There is something behind the last element.
    #[error("{0} bytes follow its last element")]
    Extra(u64),
}

/// NumPy's name of a type without its byte order (`f4`), if it has one.
pub(super) fn numpy_name(ty: ElementType) -> Option<&'static str> {
    match ty {
        ElementType::U8 => Some("u1"),
        ElementType::U16 => Some("u2"),
        ElementType::U32 => Some("u4"),
        ElementType::U64 => Some("u8"),
        ElementType::S8 => Some("i1"),
        ElementType::S16 => Some("i2"),
        ElementType::S32 => Some("i4"),
        ElementType::S64 => Some("i8"),
        ElementType::F16 => Some("f2"),
        ElementType::Bf16 => None,
        ElementType::F32 => Some("f4"),
        ElementType::F64 => Some("f8"),
    }
}

/// The header's dictionary.
struct Header {
    /// Byte order and type, such as `<f4`.
    descriptor: String,
    fortran_order: bool,
    shape: Vec<u64>,
}

impl Header {
    fn read(reader: &mut impl Read) -> Result<Self, NpyError> {
        let mut start = [0; 8];
        exact(reader, &mut start)?;
        if !start.starts_with(MAGIC) {
            return Err(NpyError::Header("it does not begin as .npy files do"));
        }
        let length = match start[6] {
            1 => {
                let mut bytes = [0; 2];
                exact(reader, &mut bytes)?;
                usize::from(u16::from_le_bytes(bytes))
            }
            2 | 3 => {
                let mut bytes = [0; 4];
                exact(reader, &mut bytes)?;
                u32::from_le_bytes(bytes) as usize
            }
            _ => return Err(NpyError::Header("its version of the format is unknown")),
        };
        if length > LONGEST_HEADER {
            return Err(NpyError::Header("its header is too long for numbers"));
        }
        let mut text = vec![0; length];
        exact(reader, &mut text)?;
        Self::parse(&String::from_utf8_lossy(&text)).ok_or(NpyError::Header(
            "its header is no dictionary of descr, fortran_order and shape",
        ))
    }

    /// Reads the three entries of Python's dictionary, in any order.
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text.trim().strip_prefix('{')?.strip_suffix('}')?.trim();
        let (mut descriptor, mut fortran_order, mut shape) = (None, None, None);
        while !rest.is_empty() {
            let (key, after) = quoted(rest)?;
            let value = after.trim_start().strip_prefix(':')?.trim_start();
            rest = match key {
                "descr" => {
                    let (text, after) = quoted_or_list(value)?;
                    descriptor = Some(text.to_owned());
                    after
                }
                "fortran_order" => {
                    let length = if value.starts_with("True") { 4 } else { 5 };
                    let (word, after) = value.split_at_checked(length)?;
                    fortran_order = Some(match word {
                        "True" => true,
                        "False" => false,
                        _ => return None,
                    });
                    after
                }
                "shape" => {
                    let (inner, after) = value.strip_prefix('(')?.split_once(')')?;
                    let extents =
                        inner.split(',').map(str::trim).filter(|extent| !extent.is_empty());
                    shape = Some(extents.map(|extent| extent.parse().ok()).collect::<Option<_>>()?);
                    after
                }
                _ => return None,
            };
            rest = rest.trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        Some(Self { descriptor: descriptor?, fortran_order: fortran_order?, shape: shape? })
    }

    fn elements(&self) -> Option<u64> {
        self.shape.iter().try_fold(1_u64, |product, &extent| product.checked_mul(extent))
    }
}

/// A string in quotes of either kind, and the text behind it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|first| matches!(first, '\'' | '"'))?;
    text[1..].split_once(quote)
}

/// A string without its quotes; or a list, which describes a structure, as it is written.
fn quoted_or_list(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(inner) => {
            let end = inner.find(']')? + 2;
            Some(text.split_at(end))
        }
        None => quoted(text),
    }
}

fn exact(reader: &mut impl Read, bytes: &mut [u8]) -> Result<(), NpyError> {
    reader.read_exact(bytes).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => NpyError::CutOff,
        _ => NpyError::Io(error),
    })
}

/// Reads the bits of every element, in C order.
///
/// # Errors
///
/// Returns an error if the file is no `.npy` file, holds another type, or is shorter or longer than
/// it says.
pub fn read(ty: ElementType, mut reader: impl Read) -> Result<Vec<u64>, NpyError> {
    let header = Header::read(&mut reader)?;
    let name = header.descriptor.trim_start_matches(['<', '>', '|', '=']);
    if numpy_name(ty) != Some(name) {
        return Err(NpyError::OtherType(header.descriptor));
    }
    let width = ty.bytes();
    let bytes = header.elements().and_then(|elements| elements.checked_mul(width as u64));
    let mut data = Vec::new();
    reader.by_ref().take(bytes.unwrap_or(u64::MAX)).read_to_end(&mut data)?;
    if bytes != Some(data.len() as u64) {
        return Err(NpyError::CutOff);
    }
    let extra = io::copy(&mut reader, &mut io::sink())?;
    if extra > 0 {
        return Err(NpyError::Extra(extra));
    }
    let append = |bits: u64, &byte: &u8| bits << 8 | u64::from(byte);
    let big_endian = header.descriptor.starts_with('>');
    let element = |chunk: &[u8]| match big_endian {
        true => chunk.iter().fold(0, append),
        false => chunk.iter().rev().fold(0, append),
    };
    let elements: Vec<u64> = data.chunks_exact(width).map(element).collect();
    Ok(if header.fortran_order { in_c_order(&elements, &header.shape) } else { elements })
}

/// The number of elements of a file of `file_bytes` bytes, by its header and its size.
pub fn count(
    ty: ElementType,
    mut reader: impl Read + io::Seek,
    file_bytes: u64,
) -> Result<u64, NpyError> {
    let header = Header::read(&mut reader)?;
    let name = header.descriptor.trim_start_matches(['<', '>', '|', '=']);
    if numpy_name(ty) != Some(name) {
        return Err(NpyError::OtherType(header.descriptor));
    }
    let elements = header.elements().ok_or(NpyError::CutOff)?;
    let bytes = elements.checked_mul(ty.bytes() as u64).ok_or(NpyError::CutOff)?;
    let found = file_bytes.saturating_sub(reader.stream_position()?);
    match found.checked_sub(bytes) {
        None => Err(NpyError::CutOff),
        Some(0) => Ok(elements),
        Some(extra) => Err(NpyError::Extra(extra)),
    }
}

/// Elements of an array whose first index runs fastest, with the last index running fastest.
fn in_c_order(elements: &[u64], shape: &[u64]) -> Vec<u64> {
    let mut indices = vec![0; shape.len()];
    let mut ordered = Vec::with_capacity(elements.len());
    for _ in 0..elements.len() {
        let place = indices.iter().zip(shape).rev().fold(0, |place, (at, len)| place * len + at);
        ordered.extend(elements.get(place as usize));
        for (index, extent) in indices.iter_mut().zip(shape).rev() {
            *index += 1;
            if *index < *extent {
                break;
            }
            *index = 0;
        }
    }
    ordered
}

/// Writes a one-dimensional array; the type must have a [`numpy_name`].
///
/// # Errors
///
/// Returns an error if writing fails.
pub(super) fn write(
    ty: ElementType,
    bits: impl ExactSizeIterator<Item = u64>,
    mut writer: impl Write,
) -> io::Result<()> {
    let name = numpy_name(ty).unwrap_or("V2");
    let order = if ty.bytes() == 1 { '|' } else { '<' };
    let header = format!(
        "{{'descr': '{order}{name}', 'fortran_order': False, 'shape': ({},), }}",
        bits.len()
    );
    // Magic, version and length are ten bytes; the header ends in a line feed.
    let end = (10 + header.len() + 1).next_multiple_of(ALIGNMENT) - 10;
    writer.write_all(MAGIC)?;
    writer.write_all(&[1, 0])?;
    writer.write_all(&(end as u16).to_le_bytes())?;
    writeln!(writer, "{header:<width$}", width = end - 1)?;
    for element in bits {
        writer.write_all(&element.to_le_bytes()[..ty.bytes()])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of version 1.0 with a header as NumPy pads it.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        file.extend(format!("{header:<117}\n").bytes());
        file.extend(data);
        file
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut file = Vec::new();
        write(ElementType::F16, [0x3c00, 0x4000].into_iter(), &mut file).unwrap();
        assert!(file.windows(5).any(|window| window == b"'<f2'"));
        assert_eq!(file.len() % ALIGNMENT, 4, "the data begin at a multiple of 64 bytes");
        assert_eq!(read(ElementType::F16, file.as_slice()).unwrap(), [0x3c00, 0x4000]);
        let error = read(ElementType::U16, file.as_slice()).unwrap_err();
        assert!(matches!(error, NpyError::OtherType(found) if found == "<f2"));
    }

    #[test]
    fn big_endian_and_fortran_order_are_understood() {
        let header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }";
        let file = file(header, &[0, 1, 0, 2, 0, 3, 0, 4]);
        assert_eq!(read(ElementType::S16, file.as_slice()).unwrap(), [1, 3, 2, 4]);
    }

    #[test]
    fn three_dimensions_in_fortran_order_are_put_into_c_order() {
        let header = "{'shape': (2, 1, 3), 'fortran_order': True, 'descr': \"|u1\"}";
        // a[i, 0, k] stands at i + 2 k.
        let file = file(header, &[0, 10, 1, 11, 2, 12]);
        assert_eq!(read(ElementType::U8, file.as_slice()).unwrap(), [0, 1, 2, 10, 11, 12]);
    }

    #[test]
    fn scalars_and_empty_arrays_have_their_elements() {
        let scalar = file("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", &[1, 0, 0, 0]);
        assert_eq!(read(ElementType::F32, scalar.as_slice()).unwrap(), [1]);
        let empty = file("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5)}", &[]);
        assert_eq!(read(ElementType::F32, empty.as_slice()).unwrap(), [0; 0]);
    }

    #[test]
    fn a_file_that_promises_too_much_is_refused_without_setting_memory_aside() {
        for extent in ["1000000000000000", "18446744073709551615"] {
            let header =
                format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({extent},), }}");
            let error = read(ElementType::F32, file(&header, &[]).as_slice()).unwrap_err();
            assert!(matches!(error, NpyError::CutOff));
        }
    }

    #[test]
    fn headers_that_are_none_and_bytes_that_are_left_are_refused() {
        let structure = "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }";
        let error = read(ElementType::F32, file(structure, &[0; 4]).as_slice()).unwrap_err();
        assert!(matches!(error, NpyError::OtherType(found) if found == "[('a', '<f4')]"));
        for header in ["", "{", "{'descr': 3}", "{'descr': '<f4'}", "{'shape': (x,)}", "{'é"] {
            let error = read(ElementType::F32, file(header, &[]).as_slice()).unwrap_err();
            assert!(matches!(error, NpyError::Header(_)), "{header}: {error}");
        }
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
        let error = read(ElementType::F32, file(header, &[0; 7]).as_slice()).unwrap_err();
        assert!(matches!(error, NpyError::Extra(3)));
    }
}

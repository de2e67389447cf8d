//! Structures passed by value: members at the offsets that C gives them.

use gpucast_buffers::scalar::ElementType;
use serde::{Deserialize, Serialize};

use super::pointer::Pointer;

/// Greatest depth of structures in structures.
pub(super) const DEEPEST: usize = 16;

/// Size of a device address.
const POINTER_BYTES: usize = 8;

/// The bytes of a structure, but for the addresses of buffers, which are known at the launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Structure {
    bytes: Vec<u8>,
    align: usize,
    /// Offsets in the structure, and the pointers that stand there.
    addresses: Vec<(usize, Pointer)>,
}

impl Default for Structure {
    fn default() -> Self {
        Self::new()
    }
}

impl Structure {
    /// A structure without members yet.
    pub fn new() -> Self {
        Self { bytes: Vec::new(), align: 1, addresses: Vec::new() }
    }

    /// Plain bytes, which have no alignment.
    pub fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { bytes, align: 1, addresses: Vec::new() }
    }

    /// A structure of these bytes with pointers at some of them, each with the bytes before it.
    /// `None` if a pointer leaves the bytes.
    pub fn of_parts(bytes: Vec<u8>, addresses: Vec<(usize, Pointer)>) -> Option<Self> {
        let fits = |&(at, _): &(usize, Pointer)| {
            at.checked_add(POINTER_BYTES).is_some_and(|end| end <= bytes.len())
        };
        addresses.iter().all(fits).then_some(Self { bytes, align: 1, addresses })
    }

    /// Bytes with an alignment, and the address of a buffer at an offset in them.
    pub(super) fn with_address(bytes: Vec<u8>, align: usize, at: usize, buffer: usize) -> Self {
        Self { bytes, align, addresses: vec![(at, Pointer::to(buffer))] }
    }

    /// Adds a scalar.
    pub fn push_scalar(&mut self, ty: ElementType, bits: u64) {
        self.pad(ty.bytes());
        self.bytes.extend(&bits.to_le_bytes()[..ty.bytes()]);
    }

    /// Adds a pointer.
    pub fn push_pointer(&mut self, pointer: Pointer) {
        self.pad(POINTER_BYTES);
        self.addresses.push((self.bytes.len(), pointer));
        self.bytes.extend([0; POINTER_BYTES]);
    }

    /// Adds a finished structure.
    pub fn push(&mut self, inner: &Self) {
        self.pad(inner.align);
        let start = self.bytes.len();
        self.bytes.extend(&inner.bytes);
        self.addresses.extend(inner.addresses.iter().map(|&(at, pointer)| (start + at, pointer)));
    }

    /// Fills up to a multiple of the alignment, as the elements of an array need it.
    pub fn finished(mut self) -> Self {
        self.pad(self.align);
        self
    }

    fn pad(&mut self, align: usize) {
        self.align = self.align.max(align);
        self.bytes.resize(self.bytes.len().next_multiple_of(align), 0);
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The buffer whose first byte it points at, if it points at nothing else: a tensor map does.
    pub(super) fn only_buffer(&self) -> Option<usize> {
        match self.addresses[..] {
            [(_, Pointer { buffer, offset: 0 })] => Some(buffer),
            _ => None,
        }
    }

    /// The buffers whose addresses are in it.
    pub fn buffers(&self) -> impl Iterator<Item = usize> + '_ {
        self.addresses.iter().map(|&(_, pointer)| pointer.buffer)
    }

    /// The bytes with zeros for addresses, and the offsets and pointers that stand there.
    pub fn into_parts(self) -> (Vec<u8>, Vec<(usize, Pointer)>) {
        (self.bytes, self.addresses)
    }

    /// The bytes with the addresses that `address` knows of pointers.
    pub fn with_addresses(&self, address: impl Fn(Pointer) -> u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for &(at, pointer) in &self.addresses {
            bytes[at..at + POINTER_BYTES].copy_from_slice(&address(pointer).to_le_bytes());
        }
        bytes
    }
}

/// Reads bytes as pairs of hexadecimal digits in the order of memory; `0x`, blanks and
/// underscores between them are skipped.
pub(super) fn parse_bytes(text: &str) -> Result<Vec<u8>, String> {
    let digits = text.trim();
    let digits = digits.strip_prefix("0x").unwrap_or(digits);
    let digits: Vec<char> = digits.chars().filter(|c| !c.is_whitespace() && *c != '_').collect();
    if let Some(wrong) = digits.iter().find(|digit| !digit.is_ascii_hexdigit()) {
        return Err(format!("`{wrong}` is not a hexadecimal digit"));
    }
    if digits.is_empty() || !digits.len().is_multiple_of(2) {
        return Err(format!(
            "bytes are pairs of hexadecimal digits, and {} digits are no pairs",
            digits.len()
        ));
    }
    let value = |digit: char| digit.to_digit(16).unwrap_or(0) as u8;
    Ok(digits.chunks_exact(2).map(|pair| value(pair[0]) << 4 | value(pair[1])).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against what C does, by the same declarations.
    #[test]
    fn members_lie_where_c_puts_them() {
        #[repr(C)]
        struct Inner {
            small: u16,
            large: f64,
        }
        #[repr(C)]
        struct Outer {
            first: u8,
            pointer: u64,
            short: i16,
            inner: Inner,
            last: f32,
        }
        use std::mem::offset_of;
        let mut inner = Structure::new();
        inner.push_scalar(ElementType::U16, 0x1122);
        inner.push_scalar(ElementType::F64, 1.5_f64.to_bits());
        let inner = inner.finished();
        assert_eq!(inner.size_bytes(), size_of::<Inner>());
        let mut outer = Structure::new();
        outer.push_scalar(ElementType::U8, 0xab);
        outer.push_pointer(Pointer { buffer: 7, offset: 16 });
        outer.push_scalar(ElementType::S16, u64::MAX);
        outer.push(&inner);
        outer.push_scalar(ElementType::F32, 2.5_f32.to_bits().into());
        let outer = outer.finished();
        assert_eq!(outer.size_bytes(), size_of::<Outer>());
        let bytes =
            outer.with_addresses(|pointer| 0x7_0000_0000 + pointer.buffer as u64 + pointer.offset);
        let at = |offset: usize, count: usize| bytes[offset..offset + count].to_vec();
        assert_eq!(at(offset_of!(Outer, first), 1), [0xab]);
        assert_eq!(at(offset_of!(Outer, pointer), 8), 0x7_0000_0017_u64.to_le_bytes());
        assert_eq!(at(offset_of!(Outer, short), 2), [0xff, 0xff]);
        let large = offset_of!(Outer, inner) + offset_of!(Inner, large);
        assert_eq!(at(large, 8), 1.5_f64.to_le_bytes());
        assert_eq!(at(offset_of!(Outer, inner) + offset_of!(Inner, small), 2), [0x22, 0x11]);
        assert_eq!(at(offset_of!(Outer, last), 4), 2.5_f32.to_le_bytes());
    }

    #[test]
    fn bytes_are_pairs_of_digits() {
        assert_eq!(parse_bytes("0x00ff_10 2A"), Ok(vec![0, 255, 16, 42]));
        assert_eq!(parse_bytes("7f"), Ok(vec![127]));
        for wrong in ["", "0x", "f", "0x123", "gg", "é0"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }
}

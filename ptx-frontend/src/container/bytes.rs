//! Little-endian fields of a byte slice, `None` outside it.

fn array<const N: usize>(data: &[u8], at: usize) -> Option<[u8; N]> {
    data.get(at..at.checked_add(N)?)?.try_into().ok()
}

pub(super) fn u16_at(data: &[u8], at: usize) -> Option<u16> {
    array(data, at).map(u16::from_le_bytes)
}

pub(super) fn u32_at(data: &[u8], at: usize) -> Option<u32> {
    array(data, at).map(u32::from_le_bytes)
}

pub(super) fn u64_at(data: &[u8], at: usize) -> Option<u64> {
    array(data, at).map(u64::from_le_bytes)
}

/// The bytes from `at`, `length` of them.
pub(super) fn slice(data: &[u8], at: u64, length: u64) -> Option<&[u8]> {
    let start = usize::try_from(at).ok()?;
    let end = usize::try_from(at.checked_add(length)?).ok()?;
    data.get(start..end)
}

/// The bytes from `at` up to the next NUL.
pub(super) fn c_string(data: &[u8], at: usize) -> Option<&[u8]> {
    let tail = data.get(at..)?;
    tail.get(..memchr::memchr(0, tail)?)
}

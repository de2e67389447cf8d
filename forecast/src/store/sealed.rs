//! Compressed bytes with their hash: what a store gives back is whole, or known to be damaged.

use sha2::{Digest as _, Sha256};

/// Bytes of the hash that begins an object.
const HASH_BYTES: usize = 32;

/// Compresses bytes and puts their hash before them.
pub(crate) fn seal(bytes: &[u8]) -> Vec<u8> {
    let compressed = lz4_flex::compress_prepend_size(bytes);
    let mut sealed = Sha256::digest(&compressed).to_vec();
    sealed.extend(compressed);
    sealed
}

/// The bytes that were sealed; `None` if the object is damaged.
pub(crate) fn open(sealed: &[u8]) -> Option<Vec<u8>> {
    let (hash, compressed) = sealed.split_at_checked(HASH_BYTES)?;
    let is_whole = Sha256::digest(compressed).as_slice() == hash;
    is_whole.then(|| lz4_flex::decompress_size_prepended(compressed).ok())?
}

/// The hash of bytes, in hexadecimal.
pub(crate) fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_changed_byte_is_noticed() {
        let bytes: Vec<u8> = (0..2000_u32).map(|at| (at / 7) as u8).collect();
        let sealed = seal(&bytes);
        assert!(sealed.len() < bytes.len());
        assert_eq!(open(&sealed), Some(bytes));
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(open(&damaged), None, "byte {at}");
        }
        assert_eq!(open(&sealed[..sealed.len() - 1]), None);
        assert_eq!(open(&[]), None);
    }
}

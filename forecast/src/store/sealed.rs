//! Compressed bytes with a hash of them and of their name: what a store gives back is whole and the
//! object that was asked for, or known to be damaged.
//!
//! The seal is no signature: whoever may write a store can seal what they like.

use sha2::{Digest as _, Sha256};

/// Bytes of the hash that begins an object.
const HASH_BYTES: usize = 32;

/// A byte of LZ4 stands for at most 255 bytes; a larger size is made up, and would be allocated.
const MOST_EXPANSION: usize = 255;

/// Compresses the contents of the object `name` and puts the seal before them.
pub(crate) fn seal(name: &str, bytes: &[u8]) -> Vec<u8> {
    let compressed = lz4_flex::compress_prepend_size(bytes);
    let mut sealed = hash_of(name, &compressed).to_vec();
    sealed.extend(compressed);
    sealed
}

/// The contents that were sealed as those of the object `name`; `None` if they are damaged, or of
/// another object.
pub(crate) fn open(name: &str, sealed: &[u8]) -> Option<Vec<u8>> {
    let (hash, compressed) = sealed.split_at_checked(HASH_BYTES)?;
    if hash_of(name, compressed) != hash {
        return None;
    }
    let (&size, block) = compressed.split_first_chunk::<4>()?;
    let size = usize::try_from(u32::from_le_bytes(size)).ok()?;
    if size > block.len().saturating_mul(MOST_EXPANSION) {
        return None;
    }
    lz4_flex::decompress_size_prepended(compressed).ok()
}

/// The hash of a name and of what stands under it. The name's length keeps the two apart.
fn hash_of(name: &str, compressed: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = Sha256::new();
    hash.update((name.len() as u64).to_le_bytes());
    hash.update(name.as_bytes());
    hash.update(compressed);
    hash.finalize().into()
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
        let sealed = seal("counts/a", &bytes);
        assert!(sealed.len() < bytes.len());
        assert_eq!(open("counts/a", &sealed), Some(bytes));
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(open("counts/a", &damaged), None, "byte {at}");
        }
        assert_eq!(open("counts/a", &sealed[..sealed.len() - 1]), None);
        assert_eq!(open("counts/a", &[]), None);
    }

    #[test]
    fn an_object_under_another_name_is_damaged() {
        let sealed = seal("counts/a", b"contents");
        for other in ["counts/b", "kernels/a", "counts/", "counts/ab", ""] {
            assert_eq!(open(other, &sealed), None, "{other}");
        }
        assert_eq!(open("counts/a", &sealed).as_deref(), Some(&b"contents"[..]));
    }

    /// A size of gigabytes in a few bytes with a right seal is refused before it is allocated.
    #[test]
    fn a_size_that_no_block_can_have_is_refused() {
        let mut compressed = u32::MAX.to_le_bytes().to_vec();
        compressed.extend([0x10, 7]);
        let mut sealed = hash_of("counts/a", &compressed).to_vec();
        sealed.extend(compressed);
        assert_eq!(open("counts/a", &sealed), None);
        let zeros = vec![0; 1 << 20];
        assert_eq!(open("counts/a", &seal("counts/a", &zeros)), Some(zeros));
        assert_eq!(open("counts/a", &seal("counts/a", b"")), Some(Vec::new()));
    }
}

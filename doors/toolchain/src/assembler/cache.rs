//! Machine code that was assembled before, by the hash of everything that it depends on.
//!
//! An entry is a file: a hash of the key and the cubin in 32 bytes, then the cubin. It is written
//! beside its place and moved there, so that nobody ever reads half of one. An entry that was
//! damaged on the disk, or that stands under another entry's name, does not match its hash and is
//! made anew. The caller keeps only what it could read, and drops an entry that it cannot.

use std::env;
use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

/// Changes when entries of an earlier program must not be used.
const LAYOUT: &str = "machine-code-3";
const HASH_BYTES: usize = 32;

/// Names an entry.
pub(super) struct Key(String);

impl Key {
    /// The key of a kernel's machine code, by the assembler's identity, the architecture, the
    /// kernel's name and the text.
    pub(super) fn new(identity: &str, target: &str, kernel: &str, text: &str) -> Self {
        let mut hash = Sha256::new();
        for part in [LAYOUT, identity, target, kernel, text] {
            // Lengths keep neighbouring parts apart.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Self(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// The folder of what is kept from run to run: `GPUCAST_CACHE`, or `gpucast` in the user's cache
/// folder. `None` if the environment names neither.
#[must_use]
pub fn folder() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    set("GPUCAST_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|folder| folder.join("gpucast")))
        .or_else(|| set("HOME").map(|home| home.join(".cache").join("gpucast")))
}

/// The entry, if there is one and it is whole.
pub(super) fn read(key: &Key) -> Option<Vec<u8>> {
    read_in(&folder()?, key)
}

/// Keeps an entry, if there is a place for it.
pub(super) fn write(key: &Key, image: &[u8]) {
    if let Some(folder) = folder() {
        // There is nothing to do about a full or read-only disk.
        let _ = write_in(&folder, key, image);
    }
}

/// Forgets an entry that turned out to be no machine code of its kernel.
pub(super) fn drop_entry(key: &Key) {
    if let Some(folder) = folder() {
        // One that cannot be removed is found to be bad again.
        let _ = fs::remove_file(folder.join(&key.0));
    }
}

/// No machine code is larger than this; larger entries are none of ours.
const LARGEST: u64 = 1 << 30;

fn read_in(folder: &std::path::Path, key: &Key) -> Option<Vec<u8>> {
    let path = folder.join(&key.0);
    // A pipe would wait for a writer, and a device may never end.
    let facts = fs::metadata(&path).ok()?;
    if !facts.is_file() || facts.len() > LARGEST {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let (hash, image) = bytes.split_at_checked(HASH_BYTES)?;
    (seal(key, image) == hash).then(|| image.to_vec())
}

/// The hash of a key and of its machine code. Keys have one length, so the two do not mix.
fn seal(key: &Key, image: &[u8]) -> [u8; HASH_BYTES] {
    let mut hash = Sha256::new_with_prefix(key.0.as_bytes());
    hash.update(image);
    hash.finalize().into()
}

fn write_in(folder: &std::path::Path, key: &Key, image: &[u8]) -> std::io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    std::io::Write::write_all(&mut file, &seal(key, image))?;
    std::io::Write::write_all(&mut file, image)?;
    file.persist(folder.join(&key.0)).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_and_a_damaged_one_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::new("12.9", "sm_50", "k", "text");
        assert_eq!(read_in(folder.path(), &key), None);
        write_in(folder.path(), &key, b"machine code").unwrap();
        assert_eq!(read_in(folder.path(), &key).as_deref(), Some(&b"machine code"[..]));
        let path = folder.path().join(&key.0);
        let mut bytes = fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(read_in(folder.path(), &key), None);
        fs::write(&path, &bytes[..7]).unwrap();
        assert_eq!(read_in(folder.path(), &key), None);
    }

    /// Two entries that somebody swapped are none.
    #[test]
    fn an_entry_under_another_key_does_not_come_back() {
        let folder = tempfile::tempdir().unwrap();
        let [one, other] = ["sm_50", "sm_90"].map(|target| Key::new("12.9", target, "k", "text"));
        write_in(folder.path(), &one, b"machine code").unwrap();
        fs::rename(folder.path().join(&one.0), folder.path().join(&other.0)).unwrap();
        assert_eq!(read_in(folder.path(), &other), None);
        fs::rename(folder.path().join(&other.0), folder.path().join(&one.0)).unwrap();
        assert_eq!(read_in(folder.path(), &one).as_deref(), Some(&b"machine code"[..]));
    }

    /// Something else in an entry's place is no entry, and nobody waits for it.
    #[cfg(unix)]
    #[test]
    fn pipes_and_folders_are_no_entries() {
        let folder = tempfile::tempdir().unwrap();
        let key = Key::new("12.9", "sm_50", "k", "text");
        let place = folder.path().join(&key.0);
        assert!(std::process::Command::new("mkfifo").arg(&place).status().unwrap().success());
        assert_eq!(read_in(folder.path(), &key), None);
        // What is written is moved into the pipe's place.
        write_in(folder.path(), &key, b"machine code").unwrap();
        assert_eq!(read_in(folder.path(), &key).as_deref(), Some(&b"machine code"[..]));
        fs::remove_file(&place).unwrap();
        fs::create_dir(&place).unwrap();
        assert_eq!(read_in(folder.path(), &key), None);
        assert!(write_in(folder.path(), &key, b"machine code").is_err());
    }

    #[test]
    fn everything_that_matters_is_in_the_key() {
        let parts = ["12.9", "sm_50", "k", "text"];
        let key = |parts: [&str; 4]| Key::new(parts[0], parts[1], parts[2], parts[3]).0;
        for changed in 0..parts.len() {
            let mut other = parts;
            other[changed] = "other";
            assert_ne!(key(parts), key(other));
        }
        // What moves from one part to the next makes another key.
        assert_ne!(key(["1", "2", "ab", "c"]), key(["1", "2", "a", "bc"]));
    }
}

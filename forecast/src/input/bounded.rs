//! Files of unknown origin, read with a limit.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use gpucast_interpreter::host_memory::{self, Shortage};

/// Greatest number of bytes of a text or of a container; a larger file is neither.
pub const MOST_BYTES: u64 = 4 << 30;

/// Reads a file of at most `limit` bytes. Devices are refused, and so are named pipes, at which the
/// program might wait for ever; the pipes that a shell hands over are read.
///
/// # Errors
///
/// As [`fs::read`], and if the file is of the wrong kind or too long.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(io::Error::other("it is a folder"));
    }
    // A shell's substitute for a file, such as `<(command)`, has a number for a name.
    let handed_over = ["/dev/fd", "/dev/stdin", "/proc/self/fd"];
    if !kind.is_file() && !handed_over.iter().any(|place| path.starts_with(place)) {
        return Err(io::Error::other("it is neither a file nor the standard input"));
    }
    if metadata.len() > limit {
        return Err(too_long(limit));
    }
    if let Err(Shortage { available }) = host_memory::ask(metadata.len()) {
        let (long, left) = (metadata.len() >> 20, available >> 20);
        let message = format!("it is {long} MiB long, and {left} MiB of memory are available");
        return Err(io::Error::other(message));
    }
    let mut bytes = Vec::new();
    let size = usize::try_from(metadata.len()).unwrap_or(usize::MAX);
    bytes.try_reserve_exact(size).map_err(|_| io::Error::from(io::ErrorKind::OutOfMemory))?;
    // One byte more tells a file that grows, or a pipe without an end.
    File::open(path)?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(too_long(limit));
    }
    Ok(bytes)
}

fn too_long(limit: u64) -> io::Error {
    io::Error::other(format!("it is longer than {} MiB", limit >> 20))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_long_files_are_refused() {
        let refused = |path: &str, limit| read(Path::new(path), limit).unwrap_err().to_string();
        assert!(refused("/dev/zero", 10).contains("neither a file"));
        assert!(refused("/", 10).contains("folder"));
        let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert!(refused(manifest, 10).contains("longer than"));
        assert_eq!(read(Path::new(manifest), 1 << 20).unwrap(), fs::read(manifest).unwrap());
    }
}

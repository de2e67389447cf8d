//! Buffers in files: `.npy` for NumPy, `.bin` for raw little-endian elements.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};

use crate::npy::{self, NpyError};
use crate::replacement::Replacement;
use crate::scalar::ElementType;

/// Reason why a buffer's file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each variant and field is")]
pub enum FileError {
    #[error("{} is neither .npy nor .bin", .0.display())]
    Extension(PathBuf),
    #[error("cannot {what} {}: {}", path.display(), plain(error))]
    Io { what: &'static str, path: PathBuf, error: std::io::Error },
    #[error("{} holds {found} bytes, but the buffer has {expected}", path.display())]
    Size { path: PathBuf, found: u64, expected: u64 },
    #[error("{} holds {found} elements, but the buffer has {expected}", path.display())]
    Length { path: PathBuf, found: usize, expected: usize },
    #[error("{} holds elements of NumPy type {found}, but the buffer's are {expected}", path.display())]
    Type { path: PathBuf, found: String, expected: &'static str },
    #[error("{} is cut off", .0.display())]
    CutOff(PathBuf),
    #[error("{} is not a valid .npy file: {error}", path.display())]
    Npy { path: PathBuf, error: NpyError },
    #[error("NumPy has no type for bf16, so {} cannot be .npy; use .bin", .0.display())]
    NoNumpyType(PathBuf),
}

/// The system's words without `(os error 2)`.
fn plain(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}

enum Format {
    Npy,
    Bin,
}

fn format(path: &Path, ty: ElementType) -> Result<Format, FileError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") if npy::numpy_name(ty).is_none() => {
            Err(FileError::NoNumpyType(path.to_owned()))
        }
        Some("npy") => Ok(Format::Npy),
        Some("bin") => Ok(Format::Bin),
        _ => Err(FileError::Extension(path.to_owned())),
    }
}

/// Fill `bytes` with the elements of a file, which must be exactly as many and of type `ty`.
pub fn read_into(path: &Path, ty: ElementType, bytes: &mut [u8]) -> Result<(), FileError> {
    let failed = |error| FileError::Io { what: "read", path: path.to_owned(), error };
    let format = format(path, ty)?;
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("it is no file")));
    }
    let mut file = File::open(path).map_err(failed)?;
    match format {
        Format::Bin => {
            let (found, expected) = (file.metadata().map_err(failed)?.len(), bytes.len() as u64);
            if found != expected {
                return Err(FileError::Size { path: path.to_owned(), found, expected });
            }
            file.read_exact(bytes).map_err(failed)
        }
        Format::Npy => {
            let elements = npy_elements(path, ty, file)?;
            let (found, expected) = (elements.len(), bytes.len() / ty.bytes());
            if found != expected {
                return Err(FileError::Length { path: path.to_owned(), found, expected });
            }
            store(elements, ty, bytes);
            Ok(())
        }
    }
}

/// Checks that a file has `len` elements of type `ty`, by its header and its size.
pub fn verify(path: &Path, ty: ElementType, len: usize) -> Result<(), FileError> {
    let failed = |error| FileError::Io { what: "read", path: path.to_owned(), error };
    let format = format(path, ty)?;
    if !std::fs::metadata(path).map_err(failed)?.is_file() {
        return Err(failed(std::io::Error::other("it is no file")));
    }
    let file = File::open(path).map_err(failed)?;
    let bytes = file.metadata().map_err(failed)?.len();
    let expected = len as u64 * ty.bytes() as u64;
    match format {
        Format::Bin if bytes == expected => Ok(()),
        Format::Bin => Err(FileError::Size { path: path.to_owned(), found: bytes, expected }),
        Format::Npy => {
            let found = npy::count(ty, BufReader::new(file), bytes);
            let found = found.map_err(|error| of_npy(path, ty, error))?;
            if found == len as u64 {
                return Ok(());
            }
            Err(FileError::Length { path: path.to_owned(), found: found as usize, expected: len })
        }
    }
}

/// All elements of a file of type `ty`, as the bytes of a buffer.
pub fn read_all(path: &Path, ty: ElementType) -> Result<Vec<u8>, FileError> {
    let failed = |error| FileError::Io { what: "read", path: path.to_owned(), error };
    match format(path, ty)? {
        Format::Bin => std::fs::read(path).map_err(failed),
        Format::Npy => {
            let elements = npy_elements(path, ty, File::open(path).map_err(failed)?)?;
            let mut bytes = vec![0; elements.len() * ty.bytes()];
            store(elements, ty, &mut bytes);
            Ok(bytes)
        }
    }
}

/// The bits of a `.npy` file's elements.
fn npy_elements(path: &Path, ty: ElementType, file: File) -> Result<Vec<u64>, FileError> {
    npy::read(ty, BufReader::new(file)).map_err(|error| of_npy(path, ty, error))
}

/// What is wrong with a `.npy` file that should have elements of type `ty`.
fn of_npy(path: &Path, ty: ElementType, error: NpyError) -> FileError {
    match error {
        NpyError::CutOff => FileError::CutOff(path.to_owned()),
        NpyError::Io(error) => FileError::Io { what: "read", path: path.to_owned(), error },
        NpyError::OtherType(found) => {
            FileError::Type { path: path.to_owned(), found, expected: ty.name() }
        }
        error @ (NpyError::Header(_) | NpyError::Extra(_)) => {
            FileError::Npy { path: path.to_owned(), error }
        }
    }
}

/// Writes elements to as many places.
fn store(elements: Vec<u64>, ty: ElementType, bytes: &mut [u8]) {
    for (place, bits) in bytes.chunks_exact_mut(ty.bytes()).zip(elements) {
        ty.store(bits, place);
    }
}

/// Checks that a buffer of this type could be written to this path, as far as that shows
/// beforehand.
pub fn check_writable(path: &Path, ty: ElementType) -> Result<(), FileError> {
    format(path, ty)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let there = folder.map_or(Ok(()), |folder| folder.metadata().map(drop));
    there.map_err(|error| FileError::Io { what: "write", path: path.to_owned(), error })
}

/// Write a buffer's elements to a file.
pub fn write(path: &Path, ty: ElementType, bytes: &[u8]) -> Result<(), FileError> {
    let failed = |error| FileError::Io { what: "write", path: path.to_owned(), error };
    let format = format(path, ty)?;
    let mut file = BufWriter::new(Replacement::begin(path).map_err(failed)?);
    match format {
        Format::Bin => file.write_all(bytes).map_err(failed)?,
        Format::Npy => {
            let bits = bytes.chunks_exact(ty.bytes()).map(|element| {
                element.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
            });
            npy::write(ty, bits, &mut file).map_err(failed)?;
        }
    }
    let file = file.into_inner().map_err(|error| failed(error.into_error()))?;
    file.commit().map_err(failed)
}

//! A module's text from a file, and the other kinds that the file may have.

use std::path::Path;

use gpucast_counters::import::Position;
use gpucast_ptx_frontend::container::{self, FileKind};

use super::bounded::{self, MOST_BYTES};
use crate::compiler::is_cuda;
use crate::failure::{Report, SourceText};

/// Files that are no text even where every byte of theirs happens to be: ELF, fatbin and its
/// wrapper, archive, Windows executable, LLVM bitcode.
const MAGICS: [&[u8]; 6] = [
    b"\x7fELF",
    &0xBA55_ED50_u32.to_le_bytes(),
    &0x4662_43B1_u32.to_le_bytes(),
    b"!<arch>\n",
    b"MZ",
    b"\xde\xc0\x17\x0b",
];

/// Bytes of a launch file, a GPU file or a table of metrics.
const MOST_TEXT_BYTES: u64 = 256 << 20;

/// The contents of a file that is named as a module.
pub enum Contents {
    /// Code for a GPU.
    Code(ModuleFile),
    /// CUDA source.
    Cuda(SourceText),
}

/// The kinds of file with device code.
#[derive(Clone)]
pub enum ModuleFile {
    /// PTX, or a text about which the parser will complain.
    Text(SourceText),
    /// Something around PTX.
    Container {
        /// The path as the user wrote it.
        name: String,
        /// The contents.
        bytes: Vec<u8>,
    },
}

/// Reads a PTX module, or a file that may hold some.
pub fn read(path: &Path) -> Result<Contents, Report> {
    let bytes =
        bounded::read(path, MOST_BYTES).map_err(|error| Report::file("read", path, &error))?;
    from_bytes(path.display().to_string(), bytes)
}

/// A text file's contents.
pub fn read_text(path: &Path) -> Result<SourceText, Report> {
    let bytes =
        bounded::read(path, MOST_TEXT_BYTES).map_err(|error| Report::file("read", path, &error))?;
    text(&path.display().to_string(), bytes)
}

fn from_bytes(name: String, bytes: Vec<u8>) -> Result<Contents, Report> {
    let is_container = MAGICS.iter().any(|magic| bytes.starts_with(magic))
        || (std::str::from_utf8(&bytes).is_err()
            && container::open(&bytes).is_ok_and(|contents| contents.kind != FileKind::PtxText));
    match is_container {
        true => Ok(Contents::Code(ModuleFile::Container { name, bytes })),
        false => {
            let source = text(&name, bytes)?;
            Ok(match is_cuda(Path::new(&name), &source.text) {
                true => Contents::Cuda(source),
                false => Contents::Code(ModuleFile::Text(source)),
            })
        }
    }
}

fn text(name: &str, bytes: Vec<u8>) -> Result<SourceText, Report> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SourceText::new(name, text)),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let bytes = error.as_bytes();
            let line = bytes[..valid].iter().filter(|&&byte| byte == b'\n').count() + 1;
            let start =
                bytes[..valid].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
            let column = String::from_utf8_lossy(&bytes[start..valid]).chars().count() + 1;
            Err(Report::new(format!(
                "{name}:{line}:{column}: this is not text: byte {:#04x} at offset {valid} is not \
                 UTF-8",
                bytes[valid]
            ))
            .hint("a PTX module is a text file that begins with `.version`"))
        }
    }
}

/// From a position to a range that can be marked: the word or number that begins there.
pub fn range_of(source: &SourceText, position: Position) -> std::ops::Range<usize> {
    let text: &str = &source.text;
    let line_start = match position.line {
        0 | 1 => 0,
        line => text.match_indices('\n').nth(line - 2).map_or(text.len(), |(at, _)| at + 1),
    };
    let line = text[line_start..].lines().next().unwrap_or_default();
    let column = position.column.saturating_sub(1);
    let offset = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    let length = line[offset..]
        .find(|character: char| !(character.is_alphanumeric() || "_-.\"".contains(character)))
        .unwrap_or(line.len() - offset);
    let start = line_start + offset;
    start..start + length.max(usize::from(offset < line.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<Contents, Report> {
        from_bytes("file".to_owned(), bytes.to_vec())
    }

    #[test]
    fn text_is_told_from_containers() {
        for container in [&b"\x7fELF\x02\x01"[..], b"\x50\xed\x55\xba\x01\x00", b"!<arch>\n"] {
            assert!(matches!(read(container), Ok(Contents::Code(ModuleFile::Container { .. }))));
        }
        assert!(matches!(read(b".version 7.8"), Ok(Contents::Code(ModuleFile::Text(_)))));
        assert!(matches!(read(b"__global__ void k() {}"), Ok(Contents::Cuda(_))));
        let Err(report) = read(b".version\nab\xff\xfe") else { panic!("this is not text") };
        assert_eq!(
            report.message,
            "file:2:3: this is not text: byte 0xff at offset 11 is not UTF-8"
        );
    }
}

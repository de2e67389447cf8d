//! A module's text from a file, and what else the file may turn out to be.

use std::path::Path;

use crate::failure::{Report, SourceText};

/// Containers that hold PTX or machine code, by their first bytes.
const CONTAINERS: [(&[u8], &str); 5] = [
    (b"\x7fELF", "an ELF file (a cubin, an object or an executable)"),
    (&0xBA55_ED50_u32.to_le_bytes(), "a fatbin"),
    (&0x4662_43B1_u32.to_le_bytes(), "a fatbin wrapper"),
    (b"MZ", "a Windows executable"),
    (b"\xde\xc0\x17\x0b", "LLVM bitcode"),
];

/// Reads a PTX module.
pub(crate) fn read(path: &Path) -> Result<SourceText, Report> {
    let bytes = std::fs::read(path).map_err(|error| Report::file("read", path, &error))?;
    from_bytes(&path.display().to_string(), bytes)
}

/// A text file's contents.
pub(crate) fn read_text(path: &Path) -> Result<SourceText, Report> {
    let bytes = std::fs::read(path).map_err(|error| Report::file("read", path, &error))?;
    text(&path.display().to_string(), bytes)
}

fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<SourceText, Report> {
    let container = CONTAINERS.iter().find(|(magic, _)| bytes.starts_with(magic));
    if let Some((_, kind)) = container {
        return Err(Report::new(format!(
            "{name} is {kind}; this version reads modules as PTX text only"
        ))
        .hint("extract the PTX first, for example with `cuobjdump -xptx all FILE`"));
    }
    text(name, bytes)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(bytes: &[u8]) -> String {
        from_bytes("file", bytes.to_vec()).unwrap_err().message
    }

    #[test]
    fn what_is_no_text_is_named() {
        assert!(refused(b"\x7fELF\x02\x01").contains("an ELF file"));
        assert!(refused(b"\x50\xed\x55\xba\x01\x00").contains("a fatbin;"));
        assert_eq!(
            refused(b".version\nab\xff\xfe"),
            "file:2:3: this is not text: byte 0xff at offset 11 is not UTF-8"
        );
        assert_eq!(&*from_bytes("file", b".version 7.8".to_vec()).unwrap().text, ".version 7.8");
    }
}

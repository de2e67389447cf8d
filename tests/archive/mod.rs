//! Texts that other programs wrote, an archive for each kind: what compilers made of CUDA beside
//! it, and what a disassembler says. `tar xf` shows them; the scripts that make them write the
//! archive.

#![allow(clippy::unwrap_used, reason = "an archive that cannot be read fails its test")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The texts of an archive in the folder of a crate, by the names of their files.
pub(crate) fn texts(archive: &str) -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(archive);
    let mut archive = tar::Archive::new(File::open(path).unwrap());
    let text = |entry: std::io::Result<tar::Entry<'_, File>>| {
        let mut entry = entry.unwrap();
        let name = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut text = String::new();
        entry.read_to_string(&mut text).unwrap();
        (name, text)
    };
    archive.entries().unwrap().map(text).collect()
}

//! The committed inputs of a fuzz target: an archive for each, so that a folder has not a thousand
//! files.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// The inputs of a target in the order of the archive, which is that of their names.
pub(crate) fn corpus(target: &str) -> Vec<Vec<u8>> {
    let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().skip(1);
    let here = folders.find_map(|folder| {
        let here = folder.join("tests/fuzz/corpus");
        here.is_dir().then_some(here)
    });
    let path = here.unwrap().join(target).with_extension("tar");
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut archive = tar::Archive::new(file);
    let inputs: Vec<Vec<u8>> = archive
        .entries()
        .unwrap()
        .map(|entry| {
            let mut input = Vec::new();
            entry.unwrap().read_to_end(&mut input).unwrap();
            input
        })
        .collect();
    assert!(!inputs.is_empty(), "{target} has no corpus");
    inputs
}

//! What each compiler writes loads, and prints back to the same tokens.

use gpucast_ptx_frontend::{load, parse};

use crate::archive;
use crate::squeeze::squeeze;

#[test]
fn compilers_output_loads_and_prints() {
    let texts = archive::texts("tests/compilers/ptx.tar");
    for (name, text) in &texts {
        if let Err(diagnostics) = load(text) {
            panic!("{name}: {:?}", diagnostics.first());
        }
        let (file, _) = parse(text);
        assert_eq!(squeeze(&file.to_string()), squeeze(text), "{name}");
    }
    assert_eq!(texts.len(), 12);
}

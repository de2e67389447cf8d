//! What each compiler writes loads, and prints back to the same tokens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use gpucast_ptx_frontend::{load, parse};

use crate::squeeze::squeeze;

#[test]
fn compilers_output_loads_and_prints() {
    let mut files = 0;
    insta::glob!("../compilers", "*/*.ptx", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        if let Err(diagnostics) = load(&text) {
            panic!("{}: {:?}", path.display(), diagnostics.first());
        }
        let (file, _) = parse(&text);
        let printed = file.to_string();
        assert_eq!(squeeze(&printed), squeeze(&text), "{}", path.display());
        files += 1;
    });
    assert!(files >= 10, "only {files} files were found");
}

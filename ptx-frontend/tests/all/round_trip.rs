//! Printing a parsed file gives back its tokens.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use gpucast_ptx_frontend::parse;

use crate::squeeze::squeeze;

#[test]
fn printing_keeps_every_token() {
    insta::glob!("../valid", "*.ptx", |path| {
        let text = std::fs::read_to_string(path).unwrap();
        let (file, diagnostics) = parse(&text);
        assert_eq!(diagnostics, [], "{}", path.display());
        let printed = file.to_string();
        assert_eq!(squeeze(&printed), squeeze(&text), "{}", path.display());
        let (again, _) = parse(&printed);
        assert_eq!(again.to_string(), printed, "{}", path.display());
    });
}

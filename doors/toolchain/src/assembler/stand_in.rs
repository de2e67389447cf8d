//! Scripts of tests that stand for the assembler.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A script of these commands, called `ptxas`, in place of the one that may be there.
///
/// Another program writes it. If this one did, a test beside could start a program meanwhile, which
/// would hold the file open for a moment, and a file that somebody writes cannot be executed.
pub(crate) fn write(folder: &Path, commands: &str) -> PathBuf {
    let (path, beside) = (folder.join("ptxas"), folder.join("beside"));
    let mut writer = Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\" && mv \"$0\" \"$1\""])
        .args([&beside, &path])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    let script = format!("#!/bin/sh\n{commands}\n");
    writer.stdin.take().unwrap().write_all(script.as_bytes()).unwrap();
    assert!(writer.wait().unwrap().success());
    path
}

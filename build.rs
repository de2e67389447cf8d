//! Tells the program its version with the commit that it was built from.
//!
//! Sources, the first that has an answer: `GPUCAST_COMMIT` (release archives and containers set
//! it), `.cargo_vcs_info.json` (every package of Cargo has it), and the files of `.git`. The
//! program `git` is not needed. Without any of them the version stands alone.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Letters of a commit that people read.
const SHOWN: usize = 9;

/// The fewest letters that Git itself shows of a commit.
const FEWEST: usize = 7;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GPUCAST_COMMIT");
    let root = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).unwrap_or_default();
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    // A container sets an empty variable where nobody names a commit.
    let named = env::var("GPUCAST_COMMIT").ok().and_then(|text| abbreviated(&text));
    let commit = named
        .or_else(|| packaged(&root).and_then(|text| abbreviated(&text)))
        .or_else(|| checked_out(&root).and_then(|text| abbreviated(&text)));
    let version = match commit {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo:rustc-env=GPUCAST_VERSION={version}");
}

/// The beginning of a commit's hash; `None` for anything else.
fn abbreviated(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hash = text.len() >= FEWEST && text.chars().all(|letter| letter.is_ascii_hexdigit());
    is_hash.then(|| text[..text.len().min(SHOWN)].to_owned())
}

/// The commit of a package: `"sha1": "…"`.
fn packaged(root: &Path) -> Option<String> {
    let text = fs::read_to_string(root.join(".cargo_vcs_info.json")).ok()?;
    let rest = text.split_once("\"sha1\"")?.1;
    rest.split('"').nth(1).map(str::to_owned)
}

/// The commit of a working tree, or of a linked one, whose `.git` is a file.
fn checked_out(root: &Path) -> Option<String> {
    let dot_git = root.join(".git");
    let folder = match fs::read_to_string(&dot_git) {
        Ok(text) => root.join(text.trim().strip_prefix("gitdir: ")?),
        Err(_) => dot_git,
    };
    let head = watched(&folder.join("HEAD"))?;
    let Some(reference) = head.trim().strip_prefix("ref: ") else { return Some(head) };
    let common = match fs::read_to_string(folder.join("commondir")) {
        Ok(text) => folder.join(text.trim()),
        Err(_) => folder,
    };
    watched(&common.join(reference)).or_else(|| {
        let packed = watched(&common.join("packed-refs"))?;
        let line = packed.lines().find(|line| line.ends_with(&format!(" {reference}")))?;
        line.split(' ').next().map(str::to_owned)
    })
}

/// The text of a file; the script runs again when it changes.
fn watched(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    println!("cargo:rerun-if-changed={}", path.display());
    Some(text)
}

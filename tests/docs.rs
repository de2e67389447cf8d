//! The pages of the repository: files that they name exist, and links lead somewhere.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The pages at the top, in `docs` and beside the corpus.
fn pages() -> Vec<PathBuf> {
    let folders = [root(), root().join("docs"), root().join("corpus")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let pages = files.map(|entry| entry.unwrap().path());
    pages.filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// The pieces of a text between one mark and another.
fn between<'a>(text: &'a str, open: &'a str, close: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(open).skip(1).filter_map(move |rest| Some(rest.split_once(close)?.0))
}

#[test]
fn recipes_name_files_that_exist() {
    let page = fs::read_to_string(root().join("docs/adding.md")).unwrap();
    let names: Vec<&str> = page
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2))
        .filter(|name| name.contains('/') && !name.contains(' '))
        .collect();
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(root().join(name).exists(), "docs/adding.md names {name}, which is not there");
    }
}

#[test]
fn links_between_pages_lead_to_files() {
    let mut links = 0;
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        let folder = page.parent().unwrap_or(Path::new(""));
        for target in between(&text, "](", ")") {
            let file = target.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") || file.contains(' ') {
                continue;
            }
            links += 1;
            assert!(folder.join(file).exists(), "{}: {target} is not there", page.display());
        }
    }
    assert!(links > 40, "{links} links");
}

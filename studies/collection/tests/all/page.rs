//! The tables of `docs/collection.md` and `docs/evidence/collection.md` say what the generators
//! say.
//!
//! `GPUCAST_UPDATE=1 cargo test -p gpucast-collection --release --test all page` writes them anew.

use std::fmt::Write;
use std::path::Path;

use gpucast_collection::generators;

#[test]
fn the_pages_of_the_collection_are_up_to_date() {
    check("collection.md", "generators", &generators_table());
    check("evidence/collection.md", "arguments", &arguments_table());
}

/// Compares the table of a page of `docs`, or writes it.
fn check(page: &str, mark: &str, table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let written = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = (format!("<!-- {mark} -->\n"), format!("<!-- end of {mark} -->"));
    let (before, rest) = written.split_once(&begin).unwrap_or_else(|| panic!("no mark {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no mark {end}"));
    let page = format!("{before}{begin}\n{table}\n{end}{after}");
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
        return;
    }
    assert!(written == page, "{} is out of date; run with GPUCAST_UPDATE=1", path.display());
}

fn generators_table() -> String {
    let mut table = "| generator | further tags | kernel |\n|---|---|---|\n".to_owned();
    for generator in generators::all() {
        let tags: Vec<String> = generator.tags.iter().map(|tag| format!("`{tag}`")).collect();
        let (name, tags) = (generator.name, tags.join(", "));
        writeln!(table, "| `{name}` | {tags} | {} |", generator.summary).unwrap();
    }
    table
}

fn arguments_table() -> String {
    let mut table =
        "| generator | argument | meaning | values | without a tag |\n|---|---|---|---|---|\n"
            .to_owned();
    for generator in generators::all() {
        let mut name = format!("`{}`", generator.name);
        for axis in generator.axes {
            let (argument, meaning, usual) = (axis.name, axis.meaning, axis.usual_in_words());
            let allowed = axis.allowed;
            writeln!(table, "| {name} | `{argument}` | {meaning} | {allowed} | {usual} |").unwrap();
            name.clear();
        }
    }
    table
}

//! The tables of `docs/collection.md` say what the generators say.
//!
//! `GPUCAST_UPDATE=1 cargo test -p gpucast-collection --release --test all page` writes them anew.

use std::fmt::Write;
use std::path::Path;

use gpucast_collection::generators;

#[test]
fn the_page_of_the_collection_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/collection.md");
    let written = std::fs::read_to_string(&path).unwrap();
    let mut page = written.clone();
    for (name, table) in [("generators", generators_table()), ("arguments", arguments_table())] {
        let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
        let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no mark {begin}"));
        let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no mark {end}"));
        page = format!("{before}{begin}\n{table}\n{end}{after}");
    }
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

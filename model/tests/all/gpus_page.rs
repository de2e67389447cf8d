//! The tables of `docs/gpus.md` and of `docs/evidence/gpus.md` say what the library and its rules
//! say.
//!
//! `GPUCAST_UPDATE=1 cargo test --workspace --release --all-features --test all gpus_page` writes
//! them anew.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::path::Path;

use gpucast_model::gpu::{ACHIEVED, RULES, Source};
use gpucast_model::{Gpu, GpuLibrary, Model};

#[test]
fn the_pages_of_gpus_are_up_to_date() {
    let library = GpuLibrary::builtin().unwrap();
    check("gpus.md", &[("gpus", gpus(&library))]);
    let evidence = [
        ("fields", fields()),
        ("rules", rules()),
        ("memories", memories()),
        ("comparison", comparison(&library)),
    ];
    check("evidence/gpus.md", &evidence);
}

/// Compares the tables of a page of `docs`, or writes them.
fn check(name: &str, tables: &[(&str, String)]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    let written = std::fs::read_to_string(&path).unwrap();
    let page =
        tables.iter().fold(written.clone(), |page, (mark, table)| with_table(&page, mark, table));
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
        return;
    }
    assert!(written == page, "{} is out of date; run with GPUCAST_UPDATE=1", path.display());
}

/// The page with the table between its two marks replaced.
fn with_table(page: &str, name: &str, table: &str) -> String {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let (before, rest) = page.split_once(&begin).unwrap_or_else(|| panic!("no mark {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no mark {end}"));
    format!("{before}{begin}\n{table}\n{end}{after}")
}

fn gpus(library: &GpuLibrary) -> String {
    let mut table = "| GPU | also | capability | architecture |\n|---|---|---|---|\n".to_owned();
    for gpu in library.iter() {
        let capability = gpu.compute_capability.as_ref().map(|c| c.value.to_string());
        let architecture = gpu.architecture.as_ref().map_or("", |a| a.value.0.as_str());
        let aliases: Vec<String> = gpu.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        let capability = capability.unwrap_or_default();
        writeln!(
            table,
            "| `{}` | {} | {capability} | {architecture} |",
            gpu.name,
            aliases.join(", ")
        )
        .unwrap();
    }
    table
}

fn fields() -> String {
    let mut table = "| field | units | read by | meaning |\n|---|---|---|---|\n".to_owned();
    let reads_some = |model: &&&dyn Model| model.reads().iter().any(|group| !group.is_empty());
    let models = <dyn Model>::ALL.iter().filter(reads_some).count();
    for field in Gpu::FIELDS {
        let units = Gpu::units(field).unwrap().iter().map(|(unit, _)| format!("`{unit}`"));
        let units: Vec<String> = units.collect();
        let meaning = Gpu::meaning(field).unwrap();
        let readers = <dyn Model>::readers(field);
        let is_model = |name: &&&str| <dyn Model>::ALL.iter().any(|model| model.name() == **name);
        // All models that read any field are one word.
        let (names, others): (Vec<&str>, Vec<&str>) = readers.iter().partition(is_model);
        let names = if names.len() == models { vec!["all models"] } else { names };
        let readers = [names, others].concat().join(", ");
        writeln!(table, "| `{field}` | {} | {readers} | {meaning} |", units.join(" ")).unwrap();
    }
    table
}

fn rules() -> String {
    let mut table =
        "| field | rule | what it says | measured over derived |\n|---|---|---|---|\n".to_owned();
    for rule in RULES {
        let spread = rule.spread.map_or(String::new(), |spread| {
            let noun = if spread.gpus == 1 { "GPU" } else { "GPUs" };
            format!("{:.2} to {:.2} ({} {noun})", spread.low, spread.high, spread.gpus)
        });
        writeln!(table, "| `{}` | {} | {} | {spread} |", rule.field, rule.name, rule.formula())
            .unwrap();
    }
    table
}

fn memories() -> String {
    let mut table = "| memory | share | measured | rests on |\n|---|---|---|---|\n".to_owned();
    for row in ACHIEVED {
        let measured =
            row.measured.map_or("not".to_owned(), |(low, high)| format!("{low:.2} to {high:.2}"));
        writeln!(
            table,
            "| {} | {:.2} | {measured} | {} |",
            row.memory_type, row.fraction, row.evidence
        )
        .unwrap();
    }
    table
}

/// Every measured figure of the library that has a rule, beside what the rule says.
fn comparison(library: &GpuLibrary) -> String {
    let mut table =
        "| field | GPU | measured | rule | deviation |\n|---|---|---|---|---|\n".to_owned();
    for rule in RULES {
        for gpu in library.iter() {
            let Some(figure) = gpu.figure(rule.field) else { continue };
            let (Source::Benchmark(_), Some(measured), Some(derived)) =
                (figure.source, figure.value.number(), gpu.by_rule(rule.field))
            else {
                continue;
            };
            writeln!(
                table,
                "| `{}` | {} | {measured:.2} | {derived:.2} | {:+.1} % |",
                rule.field,
                gpu.name,
                100.0 * (derived / measured - 1.0)
            )
            .unwrap();
        }
    }
    table
}

#[test]
fn every_field_is_explained_in_a_sentence() {
    for field in Gpu::FIELDS {
        let meaning = Gpu::meaning(field).unwrap();
        assert!(meaning.ends_with('.') && !meaning.contains("  "), "{field}: {meaning}");
    }
}

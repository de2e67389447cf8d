//! The kernels that come with the program.

use gpucast_corpus::{Entry, entries};
use gpucast_forecast::Report;
use serde::Serialize;

use crate::table::{Align, aligned};
use crate::{Format, csv, json};

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    kernels: Vec<Kernel>,
}

/// An entry without the texts of its files.
#[derive(Serialize)]
struct Kernel {
    name: &'static str,
    family: &'static str,
    summary: &'static str,
    targets: Vec<&'static str>,
    published: bool,
}

impl From<&Entry> for Kernel {
    fn from(entry: &Entry) -> Self {
        Self {
            name: entry.name,
            family: entry.family,
            summary: entry.summary,
            targets: entry.modules.iter().map(|module| module.target).collect(),
            published: entry.published.is_some(),
        }
    }
}

/// All kernels.
///
/// # Errors
///
/// If a value cannot be written in the format.
pub fn list(format: Format) -> Result<String, Report> {
    let kernels: Vec<Kernel> = entries().iter().map(Kernel::from).collect();
    match format {
        Format::Text => Ok(as_text(&kernels)),
        Format::Json => json::document(&Document { schema: "gpucast.corpus/1", kernels }),
        Format::Csv => as_csv(&kernels),
    }
}

fn as_text(kernels: &[Kernel]) -> String {
    let rows: Vec<Vec<String>> = kernels
        .iter()
        .map(|kernel| {
            let published = if kernel.published { "published" } else { "" };
            vec![kernel.name.to_owned(), published.to_owned(), kernel.summary.to_owned()]
        })
        .collect();
    aligned(0, &[Align::Left; 3], &rows)
}

fn as_csv(kernels: &[Kernel]) -> Result<String, Report> {
    let rows: Vec<Vec<String>> = kernels
        .iter()
        .map(|kernel| {
            vec![
                kernel.name.to_owned(),
                kernel.family.to_owned(),
                kernel.targets.join(" "),
                kernel.published.to_string(),
                kernel.summary.to_owned(),
            ]
        })
        .collect();
    csv::document(&["name", "family", "targets", "published", "summary"], &rows)
}

/// An entry's kernel, with its targets, references and files.
pub fn summary(entry: &Entry) -> String {
    let targets: Vec<&str> = entry.modules.iter().map(|module| module.target).collect();
    let published = if entry.published.is_some() { "yes" } else { "no" };
    let mut rows = vec![
        vec!["targets".to_owned(), targets.join(", ")],
        vec!["references".to_owned(), entry.references.join(", ")],
        vec!["published counts".to_owned(), published.to_owned()],
    ];
    let files: Vec<&str> = entry.files().into_iter().map(|(name, _)| name).collect();
    rows.push(vec!["files".to_owned(), files.join(", ")]);
    let table = aligned(2, &[Align::Left; 2], &rows);
    format!("{}: {}\n\n{table}", entry.name, entry.summary)
}

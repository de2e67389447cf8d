//! `gpucast corpus`: the embedded kernels.

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_corpus::{Entry, entries, find};
use gpucast_forecast::input::kernel_argument::unknown_corpus_kernel;
use gpucast_render::table::{Align, aligned};
use gpucast_render::{Format, csv, json};
use serde::Serialize;

use crate::cli::{Corpus, CorpusPart, OutputOptions};
use crate::failure::{Failure, Report};
use crate::output::Output;

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

pub(crate) fn run(command: Corpus) -> Result<(), Failure> {
    match command {
        Corpus::List { output: OutputOptions { format, output } } => {
            let kernels: Vec<Kernel> = entries().iter().map(Kernel::from).collect();
            Output::open(output)?.write(&match format {
                Format::Text => list(&kernels),
                Format::Json => json::document(&Document { schema: "gpucast.corpus/1", kernels })?,
                Format::Csv => list_as_csv(&kernels)?,
            })
        }
        Corpus::Show { name, part } => Output::open(None)?.write(&show(entry(&name)?, part)?),
        Corpus::Export { name, folder } => {
            let entry = entry(&name)?;
            let folder = folder.unwrap_or_else(|| PathBuf::from(entry.name));
            let files = export(entry, &folder)?;
            let lines: Vec<String> =
                files.iter().map(|file| format!("{}\n", folder.join(file).display())).collect();
            Output::open(None)?.write(&lines.concat())
        }
    }
}

fn entry(name: &str) -> Result<&'static Entry, Report> {
    find(name).ok_or_else(|| unknown_corpus_kernel(name))
}

fn list(kernels: &[Kernel]) -> String {
    let rows: Vec<Vec<String>> = kernels
        .iter()
        .map(|kernel| {
            let published = if kernel.published { "published" } else { "" };
            vec![kernel.name.to_owned(), published.to_owned(), kernel.summary.to_owned()]
        })
        .collect();
    aligned(0, &[Align::Left; 3], &rows)
}

fn list_as_csv(kernels: &[Kernel]) -> Result<String, Report> {
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

fn show(entry: &'static Entry, part: CorpusPart) -> Result<String, Report> {
    match part {
        CorpusPart::Summary => Ok(summary(entry)),
        CorpusPart::Source => Ok(entry.source.to_owned()),
        CorpusPart::Launch => Ok(entry.launch.to_owned()),
        CorpusPart::Published => entry.published.map(str::to_owned).ok_or_else(|| {
            Report::new(format!("no counts are published for {}", entry.name))
                .hint("`gpucast corpus list` marks the kernels that have them")
        }),
        CorpusPart::Ptx => {
            // The launch file names the module in its one `module = "…"` line.
            let used = entry.modules.iter().find(|module| {
                entry.launch.lines().any(|line| {
                    line.starts_with("module") && line.contains(&format!("\"{}\"", module.file))
                })
            });
            used.or(entry.modules.first())
                .map(|module| module.ptx.to_owned())
                .ok_or_else(|| Report::new(format!("{} has no PTX", entry.name)))
        }
    }
}

fn summary(entry: &Entry) -> String {
    let targets: Vec<&str> = entry.modules.iter().map(|module| module.target).collect();
    let published = if entry.published.is_some() { "yes" } else { "no" };
    let mut rows = vec![
        vec!["targets".to_owned(), targets.join(", ")],
        vec!["references".to_owned(), entry.references.join(", ")],
        vec!["published counts".to_owned(), published.to_owned()],
    ];
    rows.push(vec!["files".to_owned(), file_names(entry).join(", ")]);
    let table = aligned(2, &[Align::Left; 2], &rows);
    format!("{}: {}\n\n{table}", entry.name, entry.summary)
}

/// Every file of an entry with its text.
fn files(entry: &'static Entry) -> Vec<(&'static str, &'static str)> {
    let mut files = vec![("kernel.cu", entry.source)];
    files.extend(entry.modules.iter().map(|module| (module.file, module.ptx)));
    files.push(("launch.toml", entry.launch));
    files.push(("launch-small.toml", entry.launch_small));
    files.extend(entry.published.map(|metrics| ("published.toml", metrics)));
    files
}

fn file_names(entry: &Entry) -> Vec<&'static str> {
    find(entry.name).map(files).unwrap_or_default().into_iter().map(|(name, _)| name).collect()
}

/// Writes every file; refuses to overwrite any.
fn export(entry: &'static Entry, folder: &Path) -> Result<Vec<&'static str>, Report> {
    let files = files(entry);
    if let Some((name, _)) = files.iter().find(|(name, _)| folder.join(name).exists()) {
        return Err(Report::new(format!("{} exists already", folder.join(name).display()))
            .hint("choose another folder, or remove the file first"));
    }
    fs::create_dir_all(folder).map_err(|error| Report::file("make", folder, &error))?;
    for (name, text) in &files {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| Report::file("write", &path, &error))?;
    }
    Ok(files.into_iter().map(|(name, _)| name).collect())
}

//! `gpucast corpus`: the embedded kernels.

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_corpus::{Entry, find};
use gpucast_forecast::input::kernel_argument::unknown_corpus_kernel;
use gpucast_render::corpus;

use crate::cli::{Corpus, CorpusPart, OutputOptions};
use crate::failure::{Failure, Report};
use crate::output::Output;

pub(crate) fn run(command: Corpus) -> Result<(), Failure> {
    match command {
        Corpus::List { output: OutputOptions { format, output } } => {
            Output::open(output)?.write(&corpus::list(format)?)
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

fn show(entry: &'static Entry, part: CorpusPart) -> Result<String, Report> {
    match part {
        CorpusPart::Summary => Ok(corpus::summary(entry)),
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
                .map(|module| module.ptx().to_owned())
                .ok_or_else(|| Report::new(format!("{} has no PTX", entry.name)))
        }
    }
}

/// Writes every file; refuses to overwrite any.
fn export(entry: &'static Entry, folder: &Path) -> Result<Vec<&'static str>, Report> {
    let files = entry.files();
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

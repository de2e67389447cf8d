//! The collection of measurement kernels: what it can make, and what was made.

use std::collections::BTreeMap;
use std::path::PathBuf;

use gpucast_collection::removal::{Destination, Stripped};
use gpucast_collection::{Axis, Choice, Generator, Unfit};
use gpucast_forecast::Report;
use serde::Serialize;

use crate::table::{Align, aligned, wrapped};
use crate::{Format, TextOrJson, csv, json};

/// The schema of lists of generators and of generated kernels.
const SCHEMA: &str = "gpucast.collection/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// What the collection can make.
    generators: Vec<GeneratorEntry>,
    /// What was made.
    kernels: &'a [MadeKernel],
    /// Combinations of arguments that do not go together.
    left_out: Vec<LeftOut<'a>>,
}

#[derive(Serialize)]
struct GeneratorEntry {
    name: &'static str,
    tags: Vec<&'static str>,
    summary: &'static str,
    arguments: Vec<Argument>,
}

#[derive(Serialize)]
struct Argument {
    name: &'static str,
    meaning: &'static str,
    allowed: String,
    usual: Vec<String>,
}

/// A kernel that was written.
#[derive(Clone, Debug, Serialize)]
pub struct MadeKernel {
    /// The generator's name.
    pub generator: String,
    /// The values of the generator's arguments.
    pub variant: BTreeMap<String, String>,
    /// CTAs of the grid.
    pub grid: [u32; 3],
    /// Threads of a CTA.
    pub block: [u32; 3],
    /// The files with its texts.
    pub files: Vec<PathBuf>,
}

#[derive(Serialize)]
struct LeftOut<'a> {
    tags: &'a str,
    reason: &'a str,
}

/// The generators with their arguments.
///
/// # Errors
///
/// If a value cannot be written in the format.
pub fn generators(generators: &[&'static Generator], format: Format) -> Result<String, Report> {
    match format {
        Format::Text => Ok(list(generators)),
        Format::Csv => list_as_csv(generators),
        Format::Json => json::document(&Document {
            schema: SCHEMA,
            generators: generators.iter().copied().map(entry).collect(),
            kernels: &[],
            left_out: Vec::new(),
        }),
    }
}

fn entry(generator: &'static Generator) -> GeneratorEntry {
    let argument = |axis: &Axis| Argument {
        name: axis.name,
        meaning: axis.meaning,
        allowed: axis.allowed.to_string(),
        usual: axis.usual().iter().map(ToString::to_string).collect(),
    };
    GeneratorEntry {
        name: generator.name,
        tags: generator.all_tags().collect(),
        summary: generator.summary,
        arguments: generator.axes.iter().map(argument).collect(),
    }
}

fn list(generators: &[&'static Generator]) -> String {
    let row = |generator: &&Generator| {
        let tags = generator.tags.join(" ");
        vec![generator.name.to_owned(), tags, generator.summary.to_owned()]
    };
    let rows: Vec<Vec<String>> = generators.iter().map(row).collect();
    aligned(0, &[Align::Left; 3], &rows)
}

fn list_as_csv(generators: &[&'static Generator]) -> Result<String, Report> {
    let rows: Vec<Vec<String>> = generators
        .iter()
        .flat_map(|generator| generator.axes.iter().map(move |axis| (generator, axis)))
        .map(|(generator, axis)| {
            let usual: Vec<String> = axis.usual().iter().map(ToString::to_string).collect();
            vec![
                generator.name.to_owned(),
                generator.tags.join(" "),
                axis.name.to_owned(),
                axis.allowed.to_string(),
                usual.join(" "),
            ]
        })
        .collect();
    csv::document(&["generator", "tags", "argument", "allowed", "usual"], &rows)
}

/// The generators of choices with their arguments, and the number of kernels.
pub fn summary(choices: &[Choice]) -> String {
    let mut text = String::new();
    let mut rest = choices;
    while let Some(first) = rest.first() {
        let generator = first.generator;
        let own = rest.iter().take_while(|row| row.generator.name == generator.name).count();
        rest = rest.get(own..).unwrap_or_default();
        if !text.is_empty() {
            text.push('\n');
        }
        text += &format!("{}: {}\n", generator.name, generator.summary);
        let tags: Vec<&str> = generator.all_tags().collect();
        text += &format!("tags: {}\n\n", tags.join(", "));
        let header = ["argument", "values", "without a tag", "meaning"].map(str::to_owned);
        let mut rows = vec![header.to_vec()];
        rows.extend(generator.axes.iter().map(|axis| {
            vec![
                axis.name.to_owned(),
                axis.allowed.to_string(),
                axis.usual_in_words(),
                axis.meaning.to_owned(),
            ]
        }));
        text += &aligned(2, &[Align::Left; 4], &rows);
        text += &chosen(own);
    }
    text
}

/// The parameters of a launch file with their usual values, and the number of kernels.
pub fn template_summary<'a>(
    name: &str,
    parameters: impl Iterator<Item = (&'a str, f64)>,
    kernels: usize,
) -> String {
    let mut rows = vec![vec!["argument".to_owned(), "without a tag".to_owned()]];
    rows.extend(parameters.map(|(name, usual)| vec![name.to_owned(), usual.to_string()]));
    let table = aligned(2, &[Align::Left; 2], &rows);
    format!("{name}: a launch file\n\n{table}{}", chosen(kernels))
}

fn chosen(kernels: usize) -> String {
    match kernels {
        1 => "\nThese tags choose 1 kernel.\n".to_owned(),
        many => format!("\nThese tags choose {many} kernels.\n"),
    }
}

/// The kernels that were written, and what was left out, by the tags that choose it.
///
/// # Errors
///
/// If a value cannot be written as JSON.
pub fn made(
    kernels: &[MadeKernel],
    left_out: &[(String, Unfit)],
    format: TextOrJson,
) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(written(kernels, left_out)),
        TextOrJson::Json => {
            let left_out = left_out.iter();
            let left_out = left_out.map(|(tags, unfit)| LeftOut { tags, reason: &unfit.reason });
            json::document(&Document {
                schema: SCHEMA,
                generators: Vec::new(),
                kernels,
                left_out: left_out.collect(),
            })
        }
    }
}

/// The files that were written, and what was left out.
fn written(kernels: &[MadeKernel], left_out: &[(String, Unfit)]) -> String {
    let paths = kernels.iter().flat_map(|kernel| &kernel.files);
    let mut text: String = paths.map(|path| format!("{}\n", path.display())).collect();
    text += &reasons(left_out.iter().map(|(_, unfit)| unfit.reason.as_str()));
    text
}

/// How often each reason left something out.
pub(crate) fn reasons<'a>(given: impl Iterator<Item = &'a str>) -> String {
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in given {
        *reasons.entry(reason).or_default() += 1;
    }
    let line =
        |(reason, number)| wrapped("left out: ", 10, 96, &format!("{number}, because {reason}"));
    reasons.into_iter().map(line).collect()
}

/// What stayed in a kernel whose work was removed.
pub fn stripped(stripped: &Stripped) -> String {
    let lines = |lines: &[u32]| lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let mut text = format!("accesses that stay, by line: {}\n", lines(&stripped.kept));
    if !stripped.needed.is_empty() {
        text += &format!(
            "loads that a branch or an address needs, by line: {}\n",
            lines(&stripped.needed)
        );
    }
    if let Some(Destination { name, ty }) = &stripped.destination {
        text += &format!("sums of type {ty} go to the new buffer {name}\n");
    }
    text
}

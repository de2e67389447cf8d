//! `gpucast kernels`: the collection of measurement kernels.

mod strip;
pub(super) mod template;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use gpucast_collection::{Choice, Generator, Request, TagError, Target, Texts, Unfit};
use gpucast_render::table::{Align, aligned, wrapped};
use gpucast_render::{Format, TextOrJson, csv, json};
use serde::Serialize;

use crate::cli::kernels::{Generate, KernelPart, Kernels, Tags};
use crate::failure::{Failure, Report};
use crate::output::Output;

/// The schema of lists of generators and of generated kernels.
const SCHEMA: &str = "gpucast.collection/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    /// What the collection can make.
    generators: Vec<GeneratorEntry>,
    /// What was made.
    kernels: Vec<KernelEntry>,
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

#[derive(Serialize)]
struct KernelEntry {
    generator: String,
    /// The values of the generator's arguments.
    variant: BTreeMap<String, String>,
    grid: [u32; 3],
    block: [u32; 3],
    files: Vec<PathBuf>,
}

#[derive(Serialize)]
struct LeftOut<'a> {
    tags: &'a str,
    reason: &'a str,
}

pub(crate) fn run(command: Kernels) -> Result<(), Failure> {
    match command {
        Kernels::List { tags, output } => {
            let request = request(&tags)?;
            if let Some(own) = template::kernels(&request)? {
                let report = Report::new(format!("{} is a launch file", own.name()));
                return Err(report.hint("`gpucast kernels show` shows its parameters").into());
            }
            let generators = request.generators().map_err(report)?;
            let text = match output.format {
                Format::Text => list(&generators),
                Format::Csv => list_as_csv(&generators)?,
                Format::Json => json::document(&Document {
                    schema: SCHEMA,
                    generators: generators.into_iter().map(entry).collect(),
                    kernels: Vec::new(),
                    left_out: Vec::new(),
                })?,
            };
            Output::open(output.output)?.write(&text)
        }
        Kernels::Show { tags, part, target } => {
            let request = request(&tags)?;
            if let Some(own) = template::kernels(&request)? {
                return Output::open(None)?.write(&own.shown(part, target)?);
            }
            let choices = request.choices().map_err(report)?;
            let text = match part {
                KernelPart::Summary => summary(&choices),
                KernelPart::Ptx | KernelPart::Cuda | KernelPart::Launch => {
                    one_part(&choices, part, target)?
                }
            };
            Output::open(None)?.write(&text)
        }
        Kernels::Generate(arguments) => generate(&arguments),
        Kernels::Strip(arguments) => strip::run(&arguments),
    }
}

fn request(tags: &Tags) -> Result<Request, Report> {
    Request::parse(&tags.tags, tags.condition.into()).map_err(report)
}

/// Tags that choose nothing, as a report.
pub(super) fn report(error: TagError) -> Report {
    Report::new(error.message).hint(error.hint)
}

fn entry(generator: &'static Generator) -> GeneratorEntry {
    let argument = |axis: &gpucast_collection::Axis| Argument {
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
fn summary(choices: &[Choice]) -> String {
    let mut text = String::new();
    let mut rest = choices;
    while let Some(first) = rest.first() {
        let generator = first.generator;
        let own = rest.iter().take_while(|one| one.generator.name == generator.name).count();
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
        text += &match own {
            1 => "\nThese tags choose 1 kernel.\n".to_owned(),
            _ => format!("\nThese tags choose {own} kernels.\n"),
        };
    }
    text
}

/// A text of the one kernel that tags choose.
fn one_part(choices: &[Choice], part: KernelPart, target: Target) -> Result<String, Report> {
    let [choice] = choices else {
        let open = undecided(choices);
        return Err(Report::new(format!("these tags choose {} kernels", choices.len())).hint(
            format!("give a value for {open}, or write all with `gpucast kernels generate`"),
        ));
    };
    let texts = choice.texts(target, &format!("{}.ptx", choice.file_name()));
    let texts = texts.map_err(|unfit| misfit(choice, &unfit))?;
    match part {
        KernelPart::Cuda => texts.cuda.ok_or_else(|| misfit(choice, &without_source())),
        KernelPart::Launch => Ok(texts.launch),
        KernelPart::Ptx | KernelPart::Summary => Ok(texts.ptx),
    }
}

/// The arguments by which choices differ.
fn undecided(choices: &[Choice]) -> String {
    let Some(first) = choices.first() else { return "no argument".to_owned() };
    let differs = |(axis, value): &(&'static str, gpucast_collection::Value)| {
        choices.iter().any(|other| !other.variant.values.contains(&(*axis, *value)))
    };
    let names: Vec<&str> =
        first.variant.values.iter().filter(|one| differs(one)).map(|(axis, _)| *axis).collect();
    names.join(", ")
}

/// Work is removed from PTX alone.
fn without_source() -> Unfit {
    Unfit::new("work is removed from its PTX, so it has no CUDA")
}

fn misfit(choice: &Choice, unfit: &Unfit) -> Report {
    Report::new(format!("{}: {unfit}", choice.tags()))
}

/// Writes kernels with their launch files.
fn generate(arguments: &Generate) -> Result<(), Failure> {
    let request = request(&arguments.tags)?;
    if let Some(own) = template::kernels(&request)? {
        let kernels = own.generate(arguments)?;
        return Output::open(None)?.write(&files_made(kernels, &[], arguments.format)?);
    }
    let choices = request.choices().map_err(report)?;
    let mut made = Vec::new();
    let mut left_out = Vec::new();
    for choice in &choices {
        let file = choice.file_name();
        let kernel = choice.kernel(arguments.target).and_then(|kernel| {
            let texts = Texts::of(&kernel, arguments.target, &format!("{file}.ptx"))?;
            match (arguments.cuda, &texts.cuda) {
                (true, None) => Err(without_source()),
                _ => Ok((choice, kernel, texts)),
            }
        });
        match kernel {
            Ok(kernel) => made.push(kernel),
            Err(unfit) => left_out.push((choice.tags(), unfit)),
        }
    }
    if made.is_empty()
        && let (Some(choice), Some((_, unfit))) = (choices.first(), left_out.first())
    {
        return Err(misfit(choice, unfit).into());
    }
    let folder = &arguments.output;
    fs::create_dir_all(folder).map_err(|error| Report::file("make", folder, &error))?;
    let mut kernels = Vec::new();
    for (choice, kernel, texts) in &made {
        let name = choice.file_name();
        let mut files =
            vec![(format!("{name}.ptx"), &texts.ptx), (format!("{name}.toml"), &texts.launch)];
        if let (true, Some(source)) = (arguments.cuda, &texts.cuda) {
            files.push((format!("{name}.cu"), source));
        }
        let mut paths = Vec::new();
        for (name, text) in files {
            let path = folder.join(name);
            write_new(&path, text)?;
            paths.push(path);
        }
        let values = choice.variant.values.iter();
        kernels.push(KernelEntry {
            generator: choice.generator.name.to_owned(),
            variant: values.map(|(axis, value)| ((*axis).to_owned(), value.to_string())).collect(),
            grid: kernel.grid,
            block: kernel.block,
            files: paths,
        });
    }
    Output::open(None)?.write(&files_made(kernels, &left_out, arguments.format)?)
}

/// The list of the files that were written.
fn files_made(
    kernels: Vec<KernelEntry>,
    left_out: &[(String, Unfit)],
    format: TextOrJson,
) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(written(&kernels, left_out)),
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
fn written(kernels: &[KernelEntry], left_out: &[(String, Unfit)]) -> String {
    let paths = kernels.iter().flat_map(|kernel| &kernel.files);
    let mut text: String = paths.map(|path| format!("{}\n", path.display())).collect();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, unfit) in left_out {
        *reasons.entry(&unfit.reason).or_default() += 1;
    }
    for (reason, number) in reasons {
        text += &wrapped("left out: ", 10, 96, &format!("{number}, because {reason}"));
    }
    text
}

/// Writes a file; one that is there with another text stays, because it may have been changed.
fn write_new(path: &Path, text: &str) -> Result<(), Report> {
    match fs::read(path) {
        Ok(old) if old == text.as_bytes() => Ok(()),
        Ok(_) => Err(Report::new(format!("{} exists already with another text", path.display()))
            .hint("choose another folder, or remove the file first")),
        Err(_) => fs::write(path, text).map_err(|error| Report::file("write", path, &error)),
    }
}

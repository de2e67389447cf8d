//! `gpucast kernels`: the collection of measurement kernels.

mod strip;
pub(super) mod template;

use std::fs;
use std::path::Path;

use gpucast_collection::{Choice, Request, TagError, Target, Texts, Unfit};
use gpucast_render::collection::{self, MadeKernel};

use crate::cli::kernels::{Generate, KernelPart, Kernels, Tags};
use crate::failure::{Failure, Report};
use crate::output::Output;

pub(crate) fn run(command: Kernels) -> Result<(), Failure> {
    match command {
        Kernels::List { tags, output } => {
            let request = request(&tags)?;
            if let Some(own) = template::kernels(&request)? {
                let report = Report::new(format!("{} is a launch file", own.name()));
                return Err(report.hint("`gpucast kernels show` shows its parameters").into());
            }
            let generators = request.generators().map_err(report)?;
            let text = collection::generators(&generators, output.format)?;
            Output::open(output.output)?.write(&text)
        }
        Kernels::Show { tags, part, target } => {
            let request = request(&tags)?;
            if let Some(own) = template::kernels(&request)? {
                return Output::open(None)?.write(&own.shown(part, target)?);
            }
            let choices = request.choices().map_err(report)?;
            let text = match part {
                KernelPart::Summary => collection::summary(&choices),
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
        first.variant.values.iter().filter(|value| differs(value)).map(|(axis, _)| *axis).collect();
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
        return Output::open(None)?.write(&collection::made(&kernels, &[], arguments.format)?);
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
        kernels.push(MadeKernel {
            generator: choice.generator.name.to_owned(),
            variant: values.map(|(axis, value)| ((*axis).to_owned(), value.to_string())).collect(),
            grid: kernel.grid,
            block: kernel.block,
            files: paths,
        });
    }
    Output::open(None)?.write(&collection::made(&kernels, &left_out, arguments.format)?)
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

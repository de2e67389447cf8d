//! `gpucast check`: parse, validate, and list what could not be executed.

use std::path::Path;

use gpucast_interpreter::Program;
use gpucast_interpreter::program::{LowerError, Unsupported};
use gpucast_ptx_frontend::source::LineIndex;
use serde::Serialize;

use crate::cli::{Check, TextOrJson};
use crate::execute::{self, Loaded};
use crate::failure::{Failure, Report, SourceText};
use crate::input::container::{self, Item, ItemCode};
use crate::input::kernel_name;
use crate::input::module_text::{self, ModuleFile};
use crate::render::output::Output;
use crate::render::{diagnostic, json};
use crate::trouble;

#[derive(Serialize)]
struct Document {
    schema: &'static str,
    files: Vec<File>,
}

#[derive(Serialize)]
struct File {
    path: String,
    kernels: Vec<Kernel>,
    errors: Vec<Error>,
    /// Why nothing was looked at.
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped: Option<&'static str>,
    /// What `text` prints on the standard error.
    #[serde(skip)]
    reports: Vec<Report>,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
    /// Its C++ name, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<String>,
    /// Static instructions of the kernel itself.
    instructions: usize,
    unsupported: Vec<Instruction>,
}

#[derive(Serialize)]
struct Instruction {
    line: u32,
    column: u32,
    instruction: String,
    reason: String,
}

/// Something wrong with the file.
#[derive(Serialize)]
struct Error {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(crate) fn run(arguments: &Check) -> Result<(), Failure> {
    let files: Vec<File> = arguments.files.iter().flat_map(|path| check(path)).collect();
    let fine = files.iter().all(|file| file.reports.is_empty());
    let mut output = Output::open(None)?;
    match arguments.format {
        TextOrJson::Text => {
            for file in &files {
                output.write(&text(file))?;
                diagnostic::print(&file.reports);
            }
        }
        TextOrJson::Json => {
            output.write(&json::document(&Document { schema: "gpucast.check/1", files })?)?;
        }
    }
    if fine { Ok(()) } else { Err(Failure::Said) }
}

/// A file, or each PTX of a container.
fn check(path: &Path) -> Vec<File> {
    let name = path.display().to_string();
    match module_text::read(path) {
        Err(report) => vec![check_text(name, Err(report))],
        Ok(ModuleFile::Text(text)) => vec![check_text(name, Ok(text))],
        Ok(ModuleFile::Container { bytes, .. }) => match container::items(&name, &bytes) {
            Err(report) => vec![check_text(name, Err(report))],
            Ok(items) => items.into_iter().map(check_item).collect(),
        },
    }
}

fn check_item(item: Item) -> File {
    match item.code {
        ItemCode::Ptx(Ok(text)) if has_only_data(&text) => File::new(item.name),
        ItemCode::Ptx(text) => check_text(item.name, text),
        ItemCode::LtoIr => File {
            skipped: Some("encrypted compiler code that only nvJitLink reads"),
            ..File::new(item.name)
        },
    }
}

/// nvcc embeds PTX for every translation unit, those without device code included: no kernel is
/// an error of a file that was written for kernels, and none of such an entry.
fn has_only_data(text: &SourceText) -> bool {
    let has_functions = [".entry", ".func"].iter().any(|word| text.text.contains(word));
    // Without functions, a report about the text as a whole says just that.
    !has_functions
        && text.text.contains(".version")
        && execute::load(text).is_err_and(|reports| {
            let about_all = |report: &Report| {
                report.anchor.as_ref().is_some_and(|anchor| anchor.range == (0..0))
            };
            reports.iter().all(about_all)
        })
}

impl File {
    fn new(path: String) -> Self {
        let (kernels, errors, reports) = (Vec::new(), Vec::new(), Vec::new());
        Self { path, kernels, errors, skipped: None, reports }
    }
}

fn check_text(path: String, text: Result<SourceText, Report>) -> File {
    let mut file = File::new(path);
    match text.map_err(|report| vec![report]).and_then(|text| execute::load(&text)) {
        Err(reports) => {
            file.errors = reports.iter().map(error).collect();
            file.reports = reports;
        }
        Ok(loaded) => {
            let names: Vec<String> = Program::kernels(&loaded.module).map(str::to_owned).collect();
            for name in names {
                let (kernel, reports) = check_kernel(&loaded, &name);
                file.kernels.push(kernel);
                file.reports.extend(reports);
            }
        }
    }
    file
}

fn check_kernel(loaded: &Loaded, name: &str) -> (Kernel, Vec<Report>) {
    let function = loaded.module.functions.iter().find(|function| function.name == name);
    let body = function.and_then(|function| function.body.as_ref());
    let text = &loaded.source.text;
    let lines = LineIndex::new(text);
    let instruction = |unsupported: &Unsupported| {
        let position = lines.position(text, unsupported.span.start);
        Instruction {
            line: position.line,
            column: position.column,
            instruction: unsupported.what.clone(),
            reason: unsupported.reason.clone(),
        }
    };
    let mut kernel = Kernel {
        name: name.to_owned(),
        demangled: kernel_name::demangled(name),
        instructions: body.map_or(0, |body| body.instructions.len()),
        unsupported: Vec::new(),
    };
    let Err(error) = Program::new(&loaded.module, text, name) else {
        return (kernel, Vec::new());
    };
    if let LowerError::Unsupported { instructions, .. } = &error {
        kernel.unsupported = instructions.iter().map(instruction).collect();
    }
    let anchor = crate::failure::Anchor {
        source: loaded.source.clone(),
        range: function.map_or(0..0, |function| function.span.range()),
    };
    (kernel, trouble::of_lowering(error, &loaded.source, &anchor))
}

fn error(report: &Report) -> Error {
    let position = report.anchor.as_ref().map(|anchor| {
        let text = &anchor.source.text;
        LineIndex::new(text).position(text, anchor.range.start as u32)
    });
    Error {
        line: position.map(|position| position.line),
        column: position.map(|position| position.column),
        message: report.message.clone(),
        hint: report.hint.clone(),
    }
}

fn text(file: &File) -> String {
    let mut text = String::new();
    for kernel in &file.kernels {
        let instructions = kernel.instructions;
        let verdict = match kernel.unsupported.len() {
            0 => "can be executed".to_owned(),
            number => format!("cannot be executed, {number} unsupported"),
        };
        let demangled = kernel.demangled.as_ref();
        let demangled = demangled.map_or(String::new(), |name| format!(" [{name}]"));
        text += &format!(
            "{}: kernel {}{demangled}, {instructions} instructions: {verdict}\n",
            file.path, kernel.name
        );
    }
    if let Some(reason) = file.skipped {
        text += &format!("{}: skipped: {reason}\n", file.path);
    } else if file.kernels.is_empty() && file.errors.is_empty() {
        text += &format!("{}: no kernels\n", file.path);
    }
    if !file.errors.is_empty() {
        let errors = file.errors.len();
        text += &format!("{}: {errors} error{}\n", file.path, if errors == 1 { "" } else { "s" });
    }
    text
}

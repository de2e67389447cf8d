//! `gpucast check`: parse, validate, and list what could not be executed.

use std::path::Path;

use gpucast_interpreter::Program;
use gpucast_interpreter::program::{LowerError, Unsupported};
use gpucast_ptx_frontend::source::LineIndex;
use serde::Serialize;

use crate::cli::{Check, TextOrJson};
use crate::execute::{self, Loaded};
use crate::failure::{Failure, Report};
use crate::input::module_text;
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
    /// What `text` prints on the standard error.
    #[serde(skip)]
    reports: Vec<Report>,
}

#[derive(Serialize)]
struct Kernel {
    name: String,
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
    let files: Vec<File> = arguments.files.iter().map(|path| check(path)).collect();
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

fn check(path: &Path) -> File {
    let mut file = File {
        path: path.display().to_string(),
        kernels: Vec::new(),
        errors: Vec::new(),
        reports: Vec::new(),
    };
    match module_text::read(path)
        .map_err(|report| vec![report])
        .and_then(|text| execute::load(&text))
    {
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
        text += &format!(
            "{}: kernel {}, {instructions} instructions: {verdict}\n",
            file.path, kernel.name
        );
    }
    if file.kernels.is_empty() && file.errors.is_empty() {
        text += &format!("{}: no kernels\n", file.path);
    }
    if !file.errors.is_empty() {
        let errors = file.errors.len();
        text += &format!("{}: {errors} error{}\n", file.path, if errors == 1 { "" } else { "s" });
    }
    text
}

//! A command line that a user wrote for the compilation of a kernel.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use gpucast_forecast::compiler::{Compiled, Compiler, CudaOptions};
use gpucast_forecast::{Report, SourceText};
use gpucast_ptx_frontend::container::Target;

use super::{log, path_argument};
use crate::Stop;
use crate::process::output_within;

/// Time after which a command is given up.
const PATIENCE: Duration = Duration::from_secs(600);

/// A program with arguments that writes PTX into a file.
///
/// `${source}` stands for the source's path, `${output}` for that of the PTX, and `${NAME}` for the
/// value of the macro `NAME`.
#[derive(Debug)]
pub struct CommandLine {
    /// The program and its arguments.
    words: Vec<String>,
    stop: Stop,
}

impl CommandLine {
    /// The program of the first word, with the others as its arguments. It ends when `stop` is
    /// asked.
    #[must_use]
    pub fn new(words: Vec<String>, stop: Stop) -> Self {
        Self { words, stop }
    }
}

impl Compiler for CommandLine {
    fn compile(&self, source: &SourceText, options: &CudaOptions) -> Result<Compiled, Vec<Report>> {
        let cannot = |what: &str, error: &dyn std::fmt::Display| {
            vec![Report::new(format!("{what} cannot be run: {error}"))]
        };
        let folder = tempfile::Builder::new().prefix("gpucast-command-").tempdir();
        let folder = folder.map_err(|error| cannot("a compiler", &error))?;
        let output = folder.path().join("kernel.ptx");
        let words = self.words.iter().map(|word| filled(word, source, &output, options));
        let words =
            words.collect::<Result<Vec<String>, Report>>().map_err(|report| vec![report])?;
        let Some((program, arguments)) = words.split_first() else {
            return Err(vec![Report::new("the compile command names no program")]);
        };
        let finished = output_within(Command::new(program).args(arguments), PATIENCE, &self.stop);
        let finished = finished.map_err(|error| cannot(program, &error))?;
        if !finished.success {
            let mut reports = log::errors(&finished.text, source);
            if reports.is_empty() {
                let said = finished.text.lines().map(str::trim).find(|line| !line.is_empty());
                let said = said.unwrap_or("it failed without a message");
                reports.push(Report::new(format!("{program}: {said}")));
            }
            return Err(reports);
        }
        let ptx = std::fs::read_to_string(&output).map_err(|error| {
            let report = Report::new(format!("{program} wrote no PTX: {error}"));
            vec![report.hint("its arguments name the file of the PTX by ${output}")]
        })?;
        let target = target(&ptx);
        let target = target.ok_or_else(|| vec![Report::new(format!("{program} wrote no PTX"))])?;
        Ok(Compiled { ptx, by: program.clone(), target, warnings: log::warnings(&finished.text) })
    }
}

/// A word with the values of its placeholders.
fn filled(
    word: &str,
    source: &SourceText,
    output: &Path,
    options: &CudaOptions,
) -> Result<String, Report> {
    let mut result = String::new();
    let mut rest = word;
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, after) = behind
            .split_once('}')
            .ok_or_else(|| Report::new(format!("`{word}` of the compile command lacks a `}}`")))?;
        let of_macro = |define: &String| {
            let (of, value) = define.split_once('=')?;
            (of == name).then(|| value.to_owned())
        };
        let value: Option<String> = match name {
            "source" => Some(path_argument(&source.name).into_owned()),
            "output" => Some(output.display().to_string()),
            _ => options.defines.iter().find_map(of_macro),
        };
        let value = value.ok_or_else(|| {
            Report::new(format!("the compile command uses `${{{name}}}`, which has no value"))
                .hint("known are source, output and the parameters of the space")
        })?;
        result += before;
        result += &value;
        rest = after;
    }
    Ok(result + rest)
}

/// The architecture that PTX says it is for.
fn target(ptx: &str) -> Option<Target> {
    let line = ptx.lines().find_map(|line| line.trim().strip_prefix(".target"))?;
    line.split([',', ' ', '\t']).find(|word| !word.is_empty())?.parse().ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn compile(words: &[&str]) -> Result<Compiled, Vec<Report>> {
        let words = words.iter().map(|&word| word.to_owned()).collect();
        let defines = vec!["block=64".to_owned()];
        let options = CudaOptions { defines, ..CudaOptions::default() };
        CommandLine::new(words, Stop::never()).compile(&SourceText::new("k.cu", ""), &options)
    }

    #[test]
    fn a_command_knows_the_files_and_the_parameters() {
        let script = "printf '.target sm_80, debug\\n// %s %s' \"$1\" \"$2\" > \"$0\"";
        let compiled = compile(&["sh", "-c", script, "${output}", "${source}", "-D${block}"]);
        let compiled = compiled.unwrap();
        assert_eq!(compiled.ptx, ".target sm_80, debug\n// k.cu -D64");
        assert_eq!((compiled.by.as_str(), compiled.target), ("sh", Target::new(80)));
    }

    #[test]
    fn a_source_is_never_an_option() {
        let name = |name: &str| path_argument(name).into_owned();
        assert_eq!(name("-fplugin=p.cu"), "./-fplugin=p.cu");
        assert_eq!(name("@words.cu"), "./@words.cu");
        assert_eq!([name("k.cu"), name("/a/-k.cu")], ["k.cu", "/a/-k.cu"]);
    }

    #[test]
    fn what_fails_is_told() {
        let message = |words: &[&str]| compile(words).unwrap_err()[0].message.clone();
        assert_eq!(message(&["sh", "-c", "echo no >&2; false"]), "sh: no");
        assert!(message(&["sh", "-c", ":"]).starts_with("sh wrote no PTX"));
        assert!(message(&["./not-there"]).starts_with("./not-there cannot be run"));
        assert!(message(&["sh", "${tile}"]).contains("`${tile}`"));
    }
}

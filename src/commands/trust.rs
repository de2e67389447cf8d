//! `gpucast trust`: files that may name programs to run and places to write.

use std::path::{Path, PathBuf};

use gpucast_forecast::input::module_text;

use crate::cli::trust::Trust;
use crate::failure::{Failure, Report};
use crate::output::{Output, diagnostic};
use crate::project;
use crate::trust::{self, Record, Standing};

pub(crate) fn run(arguments: &Trust) -> Result<(), Failure> {
    let text = match arguments {
        Trust { list: true, .. } => listed(&Record::read()?),
        Trust { remove: true, files, .. } => {
            named(files)?.iter().map(|path| removed(path)).collect::<Result<String, Report>>()?
        }
        Trust { files, .. } => {
            named(files)?.iter().map(|path| added(path)).collect::<Result<String, Report>>()?
        }
    };
    Output::open(None)?.write(&text)
}

/// The files that are named, else the project's.
fn named(files: &[PathBuf]) -> Result<Vec<PathBuf>, Report> {
    if !files.is_empty() {
        return Ok(files.to_vec());
    }
    let project = project::locate().map(|path| vec![path]);
    project.ok_or_else(|| {
        Report::new("there is no gpucast.toml in this folder or above").hint("name a file")
    })
}

fn added(path: &Path) -> Result<String, Report> {
    // What is recorded is what is shown: the file is read once.
    let source = module_text::read_text(path)?;
    trust::add(path, source.text.as_bytes())?;
    if let Err(reason) = trust::of_user(path) {
        diagnostic::warning(&format!(
            "[{}] {} still names no program and no place outside its folder: {reason}",
            trust::FOREIGN_FILE,
            path.display()
        ));
    }
    Ok(format!("{} is trusted as it is now\n", path.display()))
}

fn removed(path: &Path) -> Result<String, Report> {
    match trust::remove(path)? {
        true => Ok(format!("{} is trusted no more\n", path.display())),
        false => Err(Report::new(format!("{} was not trusted", path.display()))
            .hint("`gpucast trust --list` shows what is")),
    }
}

fn listed(record: &Record) -> String {
    let line = |(path, _): (&Path, &str)| {
        let state = match module_text::read_text(path) {
            Err(_) => "gone",
            Ok(source) => match record.standing(path, source.text.as_bytes()) {
                Standing::Trusted => "trusted",
                Standing::Changed | Standing::Unknown => "changed",
            },
        };
        format!("{state:8} {}\n", path.display())
    };
    record.entries().map(line).collect()
}

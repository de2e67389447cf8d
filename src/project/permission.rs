//! Defaults of a project that need the user's trust: programs to run, and places to write that lie
//! outside the project's folder.

use std::fs;
use std::path::{Component, Path};

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use gpucast_forecast::Anchor;
use gpucast_forecast::input::project::Project;
use gpucast_toolchain::compiler::Choice;

use crate::failure::Report;
use crate::trust::{self, Permission};

/// A default that needs trust.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Guarded {
    /// The option's long name.
    pub(crate) option: String,
    /// Its value as on a command line.
    pub(crate) value: String,
    /// What the value brings about.
    pub(crate) effect: Effect,
    /// The place of the option's name in the project file.
    pub(crate) anchor: Anchor,
}

/// What a default brings about that needs trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It runs a program.
    Runs,
    /// It writes outside the project's folder.
    Writes,
}

/// What an option's values stand for, as far as files are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileUse {
    /// No file.
    None,
    /// A file or folder that is read.
    Read,
    /// A file or folder that is written.
    Written,
    /// A file that is read, behind a name: `BUFFER=FILE`.
    ReadBehindName,
    /// A file that is written, behind a name.
    WrittenBehindName,
    /// A folder, or the URL of a bucket, that is written.
    Store,
    /// The path of a program.
    Program,
    /// A compiler, by its kind or its path.
    Compiler,
    /// Words that a program is given.
    Words,
}

/// Options whose files are read alone. Every other option with a file writes it.
const READ: [&str; 9] = [
    "baseline",
    "calibration",
    "cost-model",
    "from-metrics",
    "import",
    "include",
    "like",
    "measured",
    "source-root",
];

/// The option whose files are read behind a name.
const READ_BEHIND_NAME: &str = "expect";

impl FileUse {
    pub(super) fn of(argument: &Arg) -> Self {
        let name = argument.get_value_names().and_then(|names| names.first());
        let name = name.map(ToString::to_string).unwrap_or_default();
        let option = argument.get_long().unwrap_or_default();
        match name.as_str() {
            "PATH" => Self::Program,
            "COMPILER" => Self::Compiler,
            "PLACE" => Self::Store,
            "FILE" | "FOLDER" if READ.contains(&option) => Self::Read,
            "FILE" | "FOLDER" => Self::Written,
            name if name.ends_with("=FILE") && option == READ_BEHIND_NAME => Self::ReadBehindName,
            name if name.ends_with("=FILE") => Self::WrittenBehindName,
            // Words for another program can name further ones.
            name if ["OPTION", "COMMAND", "PROGRAM"].iter().any(|of| name.contains(of)) => {
                Self::Words
            }
            _ => Self::None,
        }
    }

    /// A value of the project file, with paths that do not depend on the working directory.
    pub(super) fn absolute(self, value: &str, folder: &Path) -> String {
        let whole = |path: &str| folder.join(path).display().to_string();
        match self {
            Self::None | Self::Words => value.to_owned(),
            Self::Read | Self::Written | Self::Program => whole(value),
            Self::ReadBehindName | Self::WrittenBehindName => match value.split_once('=') {
                Some((name, path)) => format!("{name}={}", whole(path)),
                None => value.to_owned(),
            },
            Self::Store if value.contains("://") => value.to_owned(),
            Self::Store => whole(value),
            Self::Compiler => match Choice::from(value) {
                Choice::Path(_) => whole(value),
                Choice::Nvrtc | Choice::Nvcc | Choice::Clang => value.to_owned(),
            },
        }
    }

    /// The effect of an absolute value that needs trust.
    pub(super) fn guard(self, value: &str, folder: &Path) -> Option<Effect> {
        let outside = |path: &str| (!is_inside(Path::new(path), folder)).then_some(Effect::Writes);
        match self {
            Self::None | Self::Read | Self::ReadBehindName => None,
            Self::Program | Self::Words => Some(Effect::Runs),
            Self::Compiler => match Choice::from(value) {
                Choice::Path(_) => Some(Effect::Runs),
                Choice::Nvrtc | Choice::Nvcc | Choice::Clang => None,
            },
            Self::Written => outside(value),
            Self::WrittenBehindName => outside(value.split_once('=').map_or(value, |it| it.1)),
            Self::Store if value.contains("://") => Some(Effect::Writes),
            Self::Store => outside(value),
        }
    }
}

/// True if a path lies in a folder when all links have been followed, and no name below the folder
/// begins with a dot: other programs take orders from such files.
fn is_inside(path: &Path, folder: &Path) -> bool {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    let Ok(folder) = folder.canonicalize() else { return false };
    // The part of the path that is there, and the names behind it.
    let mut there = path;
    let mut missing = Vec::new();
    while fs::symlink_metadata(there).is_err() {
        // A path that ends in `..` has no name.
        let (Some(name), Some(parent)) = (there.file_name(), there.parent()) else { return false };
        missing.push(name);
        there = parent;
    }
    // A link that leads nowhere, or round in a circle, might lead anywhere later.
    let Ok(mut whole) = there.canonicalize() else { return false };
    whole.extend(missing.iter().rev());
    let Ok(below) = whole.strip_prefix(&folder) else { return false };
    below.components().all(|part| match part {
        Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
        _ => false,
    })
}

/// Refuses defaults that need trust and that the command of the parsed words would use.
///
/// # Errors
///
/// The first one, with the command that trusts the project.
pub(crate) fn check(
    guarded: &[Guarded],
    project: &Project,
    command: &Command,
    matches: &ArgMatches,
) -> Result<(), Report> {
    let used = guarded.iter().find(|default| uses(default, command, matches));
    let Some(default) = used else { return Ok(()) };
    match trust::permission(&project.path, project.source.text.as_bytes())? {
        Permission::Given => Ok(()),
        refused => Err(refusal(default, &refused, project)),
    }
}

fn refusal(default: &Guarded, refused: &Permission, project: &Project) -> Report {
    let Guarded { option, value, effect, anchor } = default;
    let (message, code) = match effect {
        Effect::Runs => {
            (format!("the project names a program to run: {value}"), trust::UNTRUSTED_PROGRAM)
        }
        Effect::Writes => (
            format!("the project names a place to write outside its folder: {value}"),
            trust::UNTRUSTED_OUTPUT,
        ),
    };
    let report = refused.report(&message, code, &project.path).at(anchor);
    let hint = report.hint.clone().unwrap_or_default();
    report.hint(format!("{hint}; otherwise give --{option} yourself, or --no-project"))
}

/// True if the innermost command that was named takes the default.
fn uses(default: &Guarded, command: &Command, matches: &ArgMatches) -> bool {
    if let Some((name, inner)) = matches.subcommand()
        && let Some(command) = command.find_subcommand(name)
    {
        return uses(default, command, inner);
    }
    let mut options = command.get_arguments();
    let Some(option) = options.find(|option| option.get_long() == Some(default.option.as_str()))
    else {
        return false;
    };
    let id = option.get_id().as_str();
    // The same option may have another default for this command.
    let is_taken = |mut values: clap::parser::RawValues<'_>| {
        values.any(|value| value == default.value.as_str())
    };
    matches.value_source(id) == Some(ValueSource::DefaultValue)
        && matches.get_raw(id).is_some_and(is_taken)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    /// Every option that takes something like a file is put where it belongs: a new one that is
    /// only read, or that names a program by another word, fails here.
    #[test]
    fn options_with_files_are_all_known() {
        let mut known = std::collections::BTreeMap::new();
        collect(&Cli::command(), &mut known);
        let named = |place: FileUse| -> Vec<&str> {
            known.iter().filter(|entry| *entry.1 == place).map(|entry| entry.0.as_str()).collect()
        };
        assert_eq!(named(FileUse::Program), ["ptxas"]);
        assert_eq!(named(FileUse::Compiler), ["cuda-compiler"]);
        assert_eq!(named(FileUse::Store), ["store"]);
        assert_eq!(named(FileUse::ReadBehindName), [READ_BEHIND_NAME]);
        assert_eq!(named(FileUse::WrittenBehindName), ["dump"]);
        assert_eq!(named(FileUse::Words), ["nvcc-option"]);
        assert_eq!(
            named(FileUse::Written),
            [
                "cache", "export", "ktt", "log-file", "out", "output", "print-to", "raw", "report",
                "save", "trace"
            ]
        );
        assert_eq!(named(FileUse::Read), READ);
    }

    fn collect(command: &Command, known: &mut std::collections::BTreeMap<String, FileUse>) {
        for argument in command.get_arguments() {
            // A project cannot set what is hidden.
            if let Some(option) = argument.get_long().filter(|_| !argument.is_hide_set()) {
                known.insert(option.to_owned(), FileUse::of(argument));
            }
        }
        command.get_subcommands().for_each(|inner| collect(inner, known));
    }

    #[cfg(unix)]
    #[test]
    fn paths_leave_a_folder_by_many_ways() {
        use std::os::unix::fs::symlink;

        let top = tempfile::tempdir().unwrap();
        let folder = top.path().join("project");
        fs::create_dir_all(folder.join("results")).unwrap();
        fs::create_dir(folder.join(".git")).unwrap();
        fs::write(top.path().join("outside"), "").unwrap();
        symlink("results", folder.join("inner")).unwrap();
        symlink("..", folder.join("up")).unwrap();
        symlink("../outside", folder.join("file")).unwrap();
        symlink("../nothing", folder.join("dangling")).unwrap();
        symlink("circle", folder.join("circle")).unwrap();
        let inside = |path: &str| is_inside(&folder.join(path), &folder);
        for path in ["a.csv", "results/a.csv", "inner/new/a.csv", "results/../a.csv"] {
            assert!(inside(path), "{path}");
        }
        for path in [
            "/dev/null",
            "/tmp",
            "../a",
            "results/../../a",
            "new/../../a",
            "up/a",
            "file",
            "dangling",
            "circle",
            "circle/a",
            ".git/config",
            ".envrc",
            "results/.new/a",
        ] {
            assert!(!inside(path), "{path}");
        }
    }
}

//! The project that the program runs in: `gpucast.toml` of the working directory or of the nearest
//! folder above it.
//!
//! Its defaults become defaults of the command line itself, so that `--help` shows them and options
//! go before them. Its GPUs become names that every argument for a GPU takes.
//!
//! A project comes with a folder that somebody else may have filled. So it names programs to run
//! and places to write outside its folder only if the user trusts it (`permission`, `trust`).

mod permission;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use clap::builder::ValueParser;
use clap::{Arg, ArgAction, Command};
use gpucast_forecast::input::module_text;
use gpucast_forecast::input::project::{DefaultOption, Project};

use crate::failure::{Report, suggest};
use crate::trust::{self, Record, Standing};

pub(crate) use permission::{Guarded, check};

static CURRENT: OnceLock<Arc<Project>> = OnceLock::new();

/// Why a project file was left out.
static LEFT_OUT: OnceLock<String> = OnceLock::new();

/// Why a project file was left out, for whoever prints warnings.
pub(crate) fn left_out() -> Option<&'static str> {
    LEFT_OUT.get().map(String::as_str)
}

/// The project, if there is one and it was read.
pub(crate) fn current() -> Option<Arc<Project>> {
    CURRENT.get().cloned()
}

/// The path of the project file in effect, whoever wrote it.
pub(crate) fn locate() -> Option<PathBuf> {
    Project::locate(&std::env::current_dir().ok()?)
}

/// Reads the project. One that another user may have written is left out, unless the user trusts
/// it; [`left_out`] then says so.
pub(crate) fn read() -> Result<(), Report> {
    // A working directory that was removed has no project.
    let Some(path) = locate() else { return Ok(()) };
    if let Err(reason) = trust::of_user(&path) {
        let text = module_text::read_text(&path).ok();
        let trusted = text.is_some_and(|text| {
            let standing = |record: Record| record.standing(&path, text.text.as_bytes());
            Record::read().is_ok_and(|record| standing(record) == Standing::Trusted)
        });
        if !trusted {
            let command = format!("gpucast trust {}", trust::quoted(&path));
            LEFT_OUT.get_or_init(|| {
                format!(
                    "[{}] {} is left out: {reason}; if you trust it: `{command}`, else --no-project",
                    trust::FOREIGN_FILE,
                    path.display()
                )
            });
            return Ok(());
        }
    }
    let project = Project::read(&path)?;
    CURRENT.get_or_init(|| Arc::new(project));
    Ok(())
}

/// The command line with the project's defaults and GPUs, and the defaults that need trust.
pub(crate) fn applied(
    command: Command,
    project: &Project,
) -> Result<(Command, Vec<Guarded>), Report> {
    let mut command = command;
    let mut guarded = Vec::new();
    for default in &project.defaults {
        command = with_default(command, default, project, &mut guarded)?;
    }
    let command = match project.gpus.is_empty() {
        true => command,
        false => with_gpus(command, &Arc::new(project.gpus.clone())),
    };
    Ok((command, guarded))
}

fn with_default(
    command: Command,
    default: &DefaultOption,
    project: &Project,
    guarded: &mut Vec<Guarded>,
) -> Result<Command, Report> {
    let folder = project.path.parent().unwrap_or(Path::new(""));
    let mut setting = Setting { default, folder, found: false, wrong: None, guarded };
    let command = match &default.command {
        None => setting.in_all(command),
        Some(path) => {
            let path: Vec<&str> = path.split_whitespace().collect();
            setting.below(command, &path)?
        }
    };
    if let Some(report) = setting.wrong {
        return Err(report);
    }
    if !setting.found {
        let message = match &default.command {
            None => format!("no command has an option --{}", default.option),
            Some(name) => format!("`gpucast {name}` has no option --{}", default.option),
        };
        let known = option_names(&command);
        let known = known.iter().map(String::as_str);
        let hint = suggest(&default.option, known);
        return Err(Report::new(message).at(&default.anchor).maybe_hint(hint));
    }
    Ok(command)
}

/// The long options of a command and of its subcommands.
fn option_names(command: &Command) -> Vec<String> {
    let own = command.get_arguments().filter_map(|argument| argument.get_long());
    let mut names: Vec<String> = own.map(str::to_owned).collect();
    names.extend(command.get_subcommands().flat_map(option_names));
    names.sort();
    names.dedup();
    names
}

/// A default on its way to the arguments that it is for.
struct Setting<'a> {
    default: &'a DefaultOption,
    folder: &'a Path,
    found: bool,
    wrong: Option<Report>,
    /// Values that need trust.
    guarded: &'a mut Vec<Guarded>,
}

impl Setting<'_> {
    /// Sets the default in the command that the words of `path` lead to, and below it.
    fn below(&mut self, command: Command, path: &[&str]) -> Result<Command, Report> {
        let Some((&first, rest)) = path.split_first() else { return Ok(self.in_all(command)) };
        if command.find_subcommand(first).is_none() {
            let known: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let report = Report::new(format!("there is no command `{first}`"));
            return Err(report.at(&self.default.anchor).maybe_hint(suggest(first, known)));
        }
        let mut outcome = Ok(());
        let command = command.mut_subcommand(first, |inner| {
            self.below(inner.clone(), rest).unwrap_or_else(|report| {
                outcome = Err(report);
                inner
            })
        });
        outcome.map(|()| command)
    }

    fn in_all(&mut self, command: Command) -> Command {
        let command = command.mut_args(|argument| self.set(argument));
        command.mut_subcommands(|inner| self.in_all(inner))
    }

    fn set(&mut self, argument: Arg) -> Arg {
        // What is hidden is between the program and itself, or means nothing for a command.
        let is_meant = argument.get_long() == Some(self.default.option.as_str());
        if !is_meant || argument.is_hide_set() {
            return argument;
        }
        self.found = true;
        let place = permission::FileUse::of(&argument);
        let given = self.default.values.iter();
        let mut values: Vec<String> =
            given.map(|value| place.absolute(value, self.folder)).collect();
        let possible = argument.get_possible_values();
        let is_known = |value: &&String| possible.iter().any(|choice| choice.matches(value, false));
        if let Some(wrong) = values.iter().find(|value| !possible.is_empty() && !is_known(value)) {
            let known: Vec<&str> = possible.iter().map(|value| value.get_name()).collect();
            let report = Report::new(format!("`{wrong}` is no value of --{}", self.default.option));
            self.wrong = Some(report.at(&self.default.anchor).maybe_hint(suggest(wrong, known)));
            return argument;
        }
        if !matches!(argument.get_action(), ArgAction::Append) {
            // Of several GPUs, the first is the one for commands that take one.
            values.truncate(1);
        }
        for value in &values {
            let guard = place.guard(value, self.folder);
            self.guarded.extend(guard.map(|effect| Guarded {
                option: self.default.option.clone(),
                value: value.clone(),
                effect,
                anchor: self.default.anchor.clone(),
            }));
        }
        argument.default_values(values).required(false)
    }
}

/// Every argument for a GPU takes the project's names.
fn with_gpus(command: Command, gpus: &Arc<BTreeMap<String, PathBuf>>) -> Command {
    let command = command.mut_args(|argument| {
        let is_gpu = argument
            .get_value_names()
            .and_then(|names| names.first())
            .is_some_and(|name| name == "GPU");
        if !is_gpu {
            return argument;
        }
        let gpus = Arc::clone(gpus);
        let file = move |name: &str| {
            let path = gpus.get(name).map(|path| path.display().to_string());
            Ok::<String, std::convert::Infallible>(path.unwrap_or_else(|| name.to_owned()))
        };
        argument.value_parser(ValueParser::new(file))
    });
    command.mut_subcommands(|inner| with_gpus(inner, gpus))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;
    use crate::cli::{self, Cli};

    fn project(text: &str) -> Project {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gpucast.toml");
        std::fs::write(&path, text).unwrap();
        Project::read(&path).unwrap()
    }

    fn parsed(text: &str, words: &[&str]) -> Cli {
        let (command, _) = applied(Cli::command(), &project(text)).unwrap();
        Cli::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    #[test]
    fn defaults_stand_for_what_a_command_line_leaves_out() {
        let text = "[defaults]\ngpu = [\"a100\", \"next\"]\nthreads = 2\n\
                    [defaults.profile]\ngpu = \"h200\"\n[gpus]\nnext = \"n.toml\"\n";
        let cli = parsed(text, &["gpucast", "predict", "sgemm"]);
        assert_eq!(cli.threads, Some(2));
        let cli::Command::Predict(predict) = cli.command else { panic!("it is a prediction") };
        assert_eq!(predict.gpus.gpu[0], "a100");
        assert!(Path::new(&predict.gpus.gpu[1]).ends_with("n.toml"));
        let cli = parsed(text, &["gpucast", "predict", "sgemm", "--gpu", "l4", "--threads", "1"]);
        assert_eq!(cli.threads, Some(1));
        let cli::Command::Predict(predict) = cli.command else { panic!("it is a prediction") };
        assert_eq!(predict.gpus.gpu, ["l4"]);
        let cli = parsed(text, &["gpucast", "profile", "sgemm"]);
        let cli::Command::Profile(profile) = cli.command else { panic!("it is a profile") };
        assert_eq!(profile.gpu.as_deref(), Some("h200"));
    }

    #[test]
    fn defaults_that_mean_nothing_are_refused() {
        for (text, message) in [
            ("[defaults]\ngpus = \"a100\"\n", "no command has an option --gpus"),
            ("[defaults.predict]\nby = \"line\"\n", "`gpucast predict` has no option --by"),
            ("[defaults.predikt]\ngpu = \"a100\"\n", "there is no command `predikt`"),
            ("[defaults]\nmachine = \"rule\"\n", "`rule` is no value of --machine"),
        ] {
            let Err(report) = applied(Cli::command(), &project(text)) else { panic!("{text}") };
            assert_eq!(report.message, message);
            assert!(report.anchor.is_some());
        }
    }
}

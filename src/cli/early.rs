//! Options that decide how the other words are read, or how a complaint about them looks. They are
//! found without the grammar of the command line.

use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, ColorChoice, Command, ValueEnum as _};

use super::ErrorFormat;

/// The options that count before the words are parsed.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Early {
    /// The value of `--color`.
    pub(crate) colour: Option<ColorChoice>,
    /// True if `gpucast.toml` is left out.
    pub(crate) without_project: bool,
    /// The value of `--error-format`.
    pub(crate) errors: ErrorFormat,
    /// The ending of the file that `--output` names, in lower case.
    ending: Option<String>,
}

impl Early {
    /// Reads the words of the command line.
    pub(crate) fn read(words: impl Iterator<Item = OsString>) -> Self {
        let mut early = Self::default();
        let mut words = words.skip(1).map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            let (option, attached) = match word.split_once('=') {
                Some((option, value)) if word.starts_with("--") => (option, Some(value.to_owned())),
                _ => (word.as_str(), None),
            };
            match option {
                "--" => break,
                "--no-project" => early.without_project = true,
                "--color" => {
                    let value = attached.or_else(|| words.next()).unwrap_or_default();
                    // A wrong word is complained about when it is parsed.
                    early.colour = ColorChoice::from_str(&value, false).ok();
                }
                "--error-format" => {
                    let value = attached.or_else(|| words.next()).unwrap_or_default();
                    early.errors = ErrorFormat::from_str(&value, false).unwrap_or_default();
                }
                "-o" | "--output" => {
                    early.ending = ending(&attached.or_else(|| words.next()).unwrap_or_default());
                }
                word => {
                    if let Some(path) = word.strip_prefix("-o") {
                        early.ending = ending(path);
                    }
                }
            }
        }
        early
    }

    /// The command line with what the early options change: `-o x.json` means `--format json`
    /// wherever there is such a form.
    pub(crate) fn applied(&self, command: Command) -> Command {
        let command = command.color(self.colour.unwrap_or_default());
        match &self.ending {
            Some(ending) => with_format(command, ending),
            None => command,
        }
    }
}

fn ending(path: &str) -> Option<String> {
    Some(Path::new(path).extension()?.to_str()?.to_lowercase())
}

fn with_format(command: Command, ending: &str) -> Command {
    let default = |argument: Arg| {
        let is_form = argument.get_id() == "format"
            && argument.get_possible_values().iter().any(|value| value.matches(ending, false));
        match is_form {
            true => argument.default_value(ending.to_owned()),
            false => argument,
        }
    };
    command.mut_args(default).mut_subcommands(|inner| with_format(inner, ending))
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory as _, FromArgMatches as _};

    use super::*;
    use crate::cli::{self, Cli, PredictionFormat, RunFormat};

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn parsed(line: &str) -> Cli {
        let early = Early::read(words(line).into_iter());
        let matches = early.applied(Cli::command()).try_get_matches_from(words(line)).unwrap();
        Cli::from_arg_matches(&matches).unwrap()
    }

    #[test]
    fn early_options_are_found_in_every_form() {
        for line in ["g x --color never", "g --color=never x"] {
            let early = Early::read(words(line).into_iter());
            assert_eq!(early.colour, Some(ColorChoice::Never), "{line}");
        }
        for line in ["g -o a.JSON", "g -oa.json", "g --output a.json", "g --output=a.json"] {
            assert_eq!(Early::read(words(line).into_iter()).ending.as_deref(), Some("json"));
        }
        assert_eq!(Early::read(words("g -- -o a.json").into_iter()), Early::default());
    }

    #[test]
    fn the_ending_of_the_output_says_the_form() {
        let form = |line: &str| match parsed(line).command {
            cli::Command::Predict(predict) => predict.output.format,
            _ => panic!("it is a prediction"),
        };
        assert_eq!(form("gpucast predict k --gpu a100 -o x.json"), PredictionFormat::Json);
        assert_eq!(form("gpucast predict k --gpu a100 -o x.csv"), PredictionFormat::Csv);
        assert_eq!(form("gpucast predict k --gpu a100 -o x.xml"), PredictionFormat::Junit);
        assert_eq!(form("gpucast predict k --gpu a100 -o x.txt"), PredictionFormat::Text);
        assert_eq!(
            form("gpucast predict k --gpu a100 -o x.json --format text"),
            PredictionFormat::Text
        );
        let cli::Command::Run(run) = parsed("gpucast run k -o x.json").command else {
            panic!("it is a run")
        };
        assert_eq!(run.format, RunFormat::Json);
    }
}

//! A launch for a module without one, as a command to copy.

use std::path::Path;

use clap::{ArgAction, CommandFactory as _};
use gpucast_forecast::input::module_listing::Unlaunched;
use gpucast_forecast::run::proposal::{self, Proposal};

use crate::cli::Cli;
use crate::failure::{Failure, Report};
use crate::interrupt;
use crate::output::diagnostic;
use crate::output::manner::{self, Verbosity};

/// Stops when the user does.
struct Interrupted;

impl gpucast_forecast::Supervisor for Interrupted {
    fn should_stop(&self) -> bool {
        interrupt::is_asked()
    }
}

/// The launch that is proposed for a module, if one is found that runs.
pub(crate) fn find(module: &Unlaunched) -> Result<Option<Proposal>, Failure> {
    interrupt::listen();
    Ok(proposal::propose(module, &Interrupted)?)
}

/// The complaint about a module without a launch, with a command that runs.
pub(crate) fn report(module: &Unlaunched) -> Report {
    match find(module) {
        Ok(Some(found)) => {
            let report = module
                .report()
                .hint(format!("a launch of {} that runs, with sizes to change:", found.kernel));
            report.command(command(module.path(), &found))
        }
        Ok(None) | Err(_) => without(module),
    }
}

/// The complaint about a module for which no launch is found.
pub(crate) fn without(module: &Unlaunched) -> Report {
    module.report().hint(
        "no launch is found by trying: give --grid, --block, and an --arg for each parameter, such \
         as u32:1024 or `buf:f32[1048576]`",
    )
}

/// Says which launch stands for the one that is missing.
pub(crate) fn tell(module: &Unlaunched, found: &Proposal) {
    if manner::verbosity() == Verbosity::Quiet {
        return;
    }
    let kernel = module.listing().join("; ");
    diagnostic::note(&format!(
        "no launch of {kernel} is given, so this is one that runs; to copy, with other sizes:"
    ));
    diagnostic::text(&format!("  {}\n", command(module.path(), found)));
}

/// This command for the module at `path`, with the options of a launch: one line that a shell takes
/// as it is. Other inputs are left out, because the launch is not theirs.
fn command(path: &Path, found: &Proposal) -> String {
    let mut given: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let others = other_inputs(&inputs(), path);
    given.retain(|word| !others.contains(word));
    // Words after `--` are the compiler's.
    let behind = given.iter().position(|word| word == "--").unwrap_or(given.len());
    let last = given.split_off(behind);
    // A name that may mean several kernels gives way to one that means the kernel.
    if found.words.iter().any(|(option, _)| *option == "--kernel") {
        let mut words = std::mem::take(&mut given).into_iter();
        while let Some(word) = words.next() {
            if word == "--kernel" {
                words.next();
            } else if !word.starts_with("--kernel=") {
                given.push(word);
            }
        }
    }
    let mut words: Vec<String> = vec!["gpucast".to_owned()];
    words.extend(given);
    for (option, value) in &found.words {
        words.push((*option).to_owned());
        words.push(value.clone());
    }
    words.extend(last);
    let quoted: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    quoted.join(" ")
}

/// The inputs of this command, if it takes several.
fn inputs() -> Vec<String> {
    let whole = Cli::command();
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(std::env::args_os());
    let Ok(matches) = matches else { return Vec::new() };
    let (mut command, mut matches) = (&whole, &matches);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(named) = command.find_subcommand(name) else { return Vec::new() };
        (command, matches) = (named, inner);
    }
    let several = command.get_positionals().filter(|positional| {
        matches!(positional.get_action(), ArgAction::Append) && !positional.is_last_set()
    });
    several
        .filter_map(|positional| matches.try_get_raw(positional.get_id().as_str()).ok()?)
        .flatten()
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

/// The inputs beside the module at `path`; none if no input is its path.
fn other_inputs(inputs: &[String], path: &Path) -> Vec<String> {
    let (own, others): (Vec<&String>, Vec<&String>) =
        inputs.iter().partition(|input| Path::new(input) == path);
    if own.is_empty() { Vec::new() } else { others.into_iter().cloned().collect() }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    const PLAIN: &str = "_-./:,+=%@";
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || PLAIN.contains(letter);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_a_shell() {
        assert_eq!(quoted("a/b.cu"), "a/b.cu");
        assert_eq!(quoted("buf:f32[4]"), "'buf:f32[4]'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}

//! Words that a shell completes: the names of GPUs, kernels and models.
//!
//! An argument says by its value name what it takes; the names therefore reach every command that
//! has such an argument, and a new command needs nothing.

use std::ffi::OsStr;

use clap::{Arg, Command};
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter as _,
};
use gpucast_forecast::choice::gpu_argument;
use gpucast_model::Model;
use gpucast_model::quantitative_roofline::refinements::Refinement;

use crate::project;

/// The word that stands for all of a list.
pub(crate) const ALL: &str = "all";

/// Teaches the arguments of a command and of its subcommands the names that they take.
pub(crate) fn taught(command: Command) -> Command {
    command.mut_args(taught_argument).mut_subcommands(taught)
}

fn taught_argument(argument: Arg) -> Arg {
    let value = argument.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let completer = match (argument.get_id().as_str(), value.as_deref()) {
        (_, Some("GPU" | "GPU[=MS]")) => ArgValueCompleter::new(gpus),
        (_, Some("KERNEL")) => ArgValueCompleter::new(kernel_names),
        // Its values are names of models in some commands, an expression in another.
        ("model", Some("NAME")) => ArgValueCompleter::new(models),
        (_, Some("TAG")) => ArgValueCompleter::new(tags),
        (_, Some("TAGS")) => ArgValueCompleter::new(tags_in_one_word),
        ("refine", _) => ArgValueCompleter::new(refinements),
        _ => return argument,
    };
    argument.add(completer)
}

/// Library GPUs with their vendors' names, and GPU files.
fn gpus(current: &OsStr) -> Vec<CompletionCandidate> {
    let library = gpu_argument::library().unwrap_or_default();
    let mut found: Vec<_> =
        library.iter().map(|gpu| named(&gpu.name, Some(&gpu.display_name))).collect();
    found.push(named(ALL, Some("every GPU of the library")));
    if let Some(project) = project::current() {
        found.extend(project.gpus.keys().map(|name| named(name, Some("a GPU of this project"))));
    }
    with_files(found, current)
}

/// Corpus kernels with their summaries, and files.
fn kernel_names(current: &OsStr) -> Vec<CompletionCandidate> {
    let entries = gpucast_corpus::entries().iter();
    let mut found: Vec<_> = entries.map(|entry| named(entry.name, Some(entry.summary))).collect();
    if let Some(project) = project::current() {
        found.extend(project.kernels().map(|name| named(name, Some("a kernel of this project"))));
    }
    with_files(found, current)
}

fn models(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found: Vec<_> =
        <dyn Model>::ALL.iter().map(|model| named(model.name(), None)).collect();
    found.push(named(ALL, Some("every model that has its inputs")));
    beginning(found, current)
}

fn refinements(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found: Vec<_> =
        Refinement::ALL.iter().map(|refinement| named(refinement.name(), None)).collect();
    found.push(named(ALL, None));
    beginning(found, current)
}

/// Tags of the collection, and values of its arguments.
fn tags(current: &OsStr) -> Vec<CompletionCandidate> {
    let words = gpucast_collection::tags::words();
    beginning(words.iter().map(|(word, about)| named(word, Some(about))).collect(), current)
}

/// The last of several tags that stand in one word, such as the value of `--measure`. Those of the
/// generators that the tags before it choose are offered.
fn tags_in_one_word(current: &OsStr) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let begin = current.rfind(' ').map_or(0, |space| space + 1);
    let (before, last) = current.split_at(begin);
    // Some shells hand on the quote that the user has typed.
    let quote = before.chars().next().or(last.chars().next());
    let quote = quote.filter(|letter| matches!(letter, '\'' | '"')).map(String::from);
    let quote = quote.unwrap_or_default();
    let unquoted = |text: &str| text.strip_prefix(quote.as_str()).unwrap_or(text).to_owned();
    let (tags_before, typed, prefix) = match before.is_empty() {
        true => (String::new(), unquoted(last), quote.clone()),
        false => (unquoted(before), last.to_owned(), before.to_owned()),
    };
    let given: Vec<&str> = tags_before.split_whitespace().collect();
    let words = gpucast_collection::tags::words_beside(&given);
    let named_words = words.iter().map(|(word, about)| named(word, Some(about))).collect();
    let typed = OsStr::new(&typed);
    let found = if given.is_empty() {
        with_files(named_words, typed)
    } else {
        beginning(named_words, typed)
    };
    found.into_iter().map(|candidate| candidate.add_prefix(&prefix)).collect()
}

fn named(name: &str, help: Option<&str>) -> CompletionCandidate {
    CompletionCandidate::new(name).help(help.map(|text| text.to_owned().into()))
}

/// The candidates that begin as the word does; files come behind them.
fn with_files(names: Vec<CompletionCandidate>, current: &OsStr) -> Vec<CompletionCandidate> {
    let mut found = beginning(names, current);
    found.extend(PathCompleter::file().complete(current));
    found
}

fn beginning(
    mut candidates: Vec<CompletionCandidate>,
    current: &OsStr,
) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    candidates.retain(|candidate| candidate.get_value().to_string_lossy().starts_with(&*current));
    candidates
}

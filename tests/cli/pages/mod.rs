//! Pages whose commands are run: their outputs are those that the pages print.
//!
//! A page is a session in an empty folder. A block after `<!-- file: NAME -->` is written into that
//! file. In a `console` block, lines behind `$ ` are commands, and the lines up to the next one are
//! what they print, errors included. `GPUCAST_UPDATE=1` rewrites the outputs, and the pictures that
//! a page shows: `pictures/PAGE-NAME` is the session's file `NAME`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::gpucast::{command, outcome};

mod reader;
mod shell;
mod typed;

const PAGES: [&str; 14] = [
    "tutorial.md",
    "kernels.md",
    "commands.md",
    "python.md",
    "cluster.md",
    "collection.md",
    "counting.md",
    "glossary/bank.md",
    "glossary/issue-slot.md",
    "glossary/occupancy.md",
    "glossary/roofline.md",
    "glossary/sector.md",
    "glossary/warp.md",
    "glossary/wave.md",
];

#[test]
fn pages_print_what_their_commands_print() {
    let docs = root().join("docs");
    let update = std::env::var_os("GPUCAST_UPDATE").is_some();
    let mut wrong = Vec::new();
    let mut commands = 0;
    for name in PAGES {
        let path = docs.join(name);
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut session = Session::new();
        let rewritten = session.run(&text);
        commands += session.commands;
        if update {
            fs::write(&path, &rewritten).unwrap();
        } else {
            let differs = text.lines().zip(rewritten.lines()).find(|(page, got)| page != got);
            if let Some((page, got)) = differs {
                wrong.push(format!("docs/{name}\n  page: {page}\n  got:  {got}"));
            } else if text != rewritten {
                wrong.push(format!("docs/{name}: an output has another length"));
            }
        }
        for (picture, file) in pictures(&path, &text) {
            let made = fs::read(session.current.join(&file))
                .unwrap_or_else(|error| panic!("{name} makes no {file}: {error}"));
            if update {
                fs::write(&picture, &made).unwrap();
            } else if fs::read(&picture).ok().as_ref() != Some(&made) {
                wrong.push(format!("docs/{name}: {} is another picture", picture.display()));
            }
        }
    }
    assert!(commands > 20, "{commands} commands");
    assert!(wrong.is_empty(), "GPUCAST_UPDATE=1 rewrites pages:\n{}", wrong.join("\n"));
}

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The lines of the blocks of a language.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<Vec<&'t str>> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(opened) = line.trim_start().strip_prefix("```") else { continue };
        let block: Vec<&str> =
            lines.by_ref().take_while(|line| line.trim_start() != "```").collect();
        if opened == language {
            blocks.push(block);
        }
    }
    blocks
}

#[test]
fn every_page_with_a_session_is_run() {
    let docs = root().join("docs");
    for page in typed::all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        let is_run = PAGES.iter().any(|name| page == docs.join(name));
        let has_session = !blocks(&text, "console").is_empty();
        assert!(is_run || !has_session, "{}: nobody runs its session", page.display());
    }
}

/// Blocks of text in the README are what a command prints, shortened by `…`.
#[test]
fn the_readme_shows_what_its_commands_print() {
    let text = fs::read_to_string(root().join("README.md")).unwrap();
    let shown = blocks(&text, "text");
    let commands = ["predict sgemm --gpu gtx-660", "predict sgemm --gpu h100-sxm"];
    assert_eq!(shown.len(), commands.len());
    for (arguments, block) in commands.into_iter().zip(shown) {
        assert!(text.contains(arguments), "the README names gpucast {arguments}");
        let outcome = outcome(command(arguments));
        let mut printed = outcome.stdout.lines().map(str::trim_end);
        for line in block.into_iter().filter(|line| line.trim() != "…") {
            let found = printed.any(|other| other == line.trim_end());
            assert!(found, "gpucast {arguments} does not print\n{line}\n{}", outcome.stdout);
        }
    }
}

/// Every state of warps and every bound that a prediction may name is explained.
#[test]
fn the_glossary_explains_bounds_and_states() {
    let glossary = include_str!("../../../docs/glossary.md");
    for state in gpucast_model::sm_simulation::State::ALL {
        let row = format!("| `{}` | {} |", state.name(), state.text());
        assert!(glossary.contains(&row), "{row}");
    }
    use gpucast_model::Bound::{Compute, L1, L2, Memory, Overhead, Shared};
    for bound in [Compute, Memory, Shared, L1, L2, Overhead] {
        assert!(glossary.contains(&format!("| `{bound}` |")), "{bound}");
        let json = serde_json::to_string(&bound).unwrap();
        assert_eq!(json, format!("\"{bound}\""), "JSON has the same name");
    }
    for word in ["issue slot", "wave", "tail", "sector", "replay", "occupancy"] {
        assert!(glossary.contains(&format!("| {word} |")), "{word}");
    }
}

/// The pictures of a page that its session draws, each with the session's file.
fn pictures(page: &Path, text: &str) -> Vec<(PathBuf, String)> {
    let stem = format!("{}-", page.file_stem().unwrap().to_str().unwrap());
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let own = |target: &str| {
        let file = target.rsplit('/').next()?.strip_prefix(&stem)?.to_owned();
        target.contains("pictures/").then(|| (page.parent().unwrap().join(target), file))
    };
    targets.filter_map(own).collect()
}

struct Session {
    folder: tempfile::TempDir,
    current: PathBuf,
    commands: usize,
}

impl Session {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let current = folder.path().to_owned();
        Self { folder, current, commands: 0 }
    }

    /// Runs a page and returns it with the outputs that came.
    fn run(&mut self, page: &str) -> String {
        let mut result = String::new();
        let mut lines = page.lines().peekable();
        while let Some(line) = lines.next() {
            result += line;
            result.push('\n');
            if let Some(name) =
                line.strip_prefix("<!-- file: ").and_then(|rest| rest.strip_suffix(" -->"))
            {
                let fence = lines.next().unwrap();
                assert!(fence.starts_with("```"), "a block follows {line}");
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                let text = block.join("\n") + "\n";
                fs::write(self.current.join(name), &text).unwrap();
                result += &format!("{fence}\n{text}```\n");
            } else if line == "```console" {
                let block: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
                let mut block = block.into_iter().peekable();
                while let Some(line) = block.next() {
                    let Some(first) = line.strip_prefix("$ ") else {
                        // An old output; the new one is there already.
                        continue;
                    };
                    let mut words = first.to_owned();
                    result += &format!("{line}\n");
                    while words.ends_with('\\') {
                        words.pop();
                        let more = block.next().unwrap();
                        words += more.trim_start();
                        result += &format!("{more}\n");
                    }
                    result += &self.execute(&words);
                }
                result += "```\n";
            }
        }
        result
    }

    /// What a line of the session prints.
    fn execute(&mut self, line: &str) -> String {
        self.commands += 1;
        let mut stages = shell::commands(line).into_iter();
        let words = stages.next().unwrap_or_default();
        let text = match words.split_first().map(|(name, rest)| (name.as_str(), rest)) {
            Some(("gpucast", arguments)) => {
                let mut program = command("");
                program.current_dir(&self.current).args(arguments);
                let outcome = outcome(program);
                let status = match outcome.status {
                    0 => String::new(),
                    status => format!("(exit status {status})\n"),
                };
                format!("{}{}{status}", outcome.stdout, outcome.stderr)
            }
            Some(("cd", [folder])) => {
                self.current.push(folder);
                assert!(self.current.is_dir(), "{line}");
                String::new()
            }
            _ => panic!("a page may run gpucast and cd: {line}"),
        };
        let text = stages.fold(text, |text, stage| filtered(&text, &stage));
        // Pages have no blanks at the ends of lines, and paths of this machine mean nothing there.
        let here = self.folder.path().display().to_string();
        text.replace(&here, "~").lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// `head -n N`, `tail -n N` and `grep WORD`.
fn filtered(text: &str, words: &[String]) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let kept: Vec<&str> = match words[..] {
        ["head", "-n", count] => lines.into_iter().take(count.parse().unwrap()).collect(),
        ["tail", "-n", count] => {
            let count: usize = count.parse().unwrap();
            lines[lines.len().saturating_sub(count)..].to_vec()
        }
        ["grep", word] => lines.into_iter().filter(|line| line.contains(word)).collect(),
        _ => panic!("a page may filter by head, tail and grep: {words:?}"),
    };
    kept.iter().map(|line| format!("{line}\n")).collect()
}

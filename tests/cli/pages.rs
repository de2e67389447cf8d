//! Pages whose commands are run: their outputs are those that the pages print.
//!
//! A page is a session in an empty folder. A block after `<!-- file: NAME -->` is written into that
//! file. In a `console` block, lines behind `$ ` are commands, and the lines up to the next one are
//! what they print, errors included. `GPUCAST_UPDATE=1` rewrites the outputs, and the pictures that
//! a page shows: `pictures/PAGE-NAME` is the session's file `NAME`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::gpucast::{command, outcome};

const PAGES: [&str; 8] = [
    "tutorial.md",
    "guide/developer.md",
    "guide/architect.md",
    "guide/teacher.md",
    "guide/ci.md",
    "guide/python.md",
    "guide/cluster.md",
    "projects.md",
];

#[test]
fn pages_print_what_their_commands_print() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
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
        let mut stages = line.split(" | ");
        let words = words(stages.next().unwrap());
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
        let text = stages.fold(text, |text, stage| filtered(&text, stage));
        // Pages have no blanks at the ends of lines, and paths of this machine mean nothing there.
        let here = self.folder.path().display().to_string();
        text.replace(&here, "~").lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

/// `head -n N`, `tail -n N` and `grep WORD`.
fn filtered(text: &str, stage: &str) -> String {
    let words = words(stage);
    let lines: Vec<&str> = text.lines().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let kept: Vec<&str> = match words[..] {
        ["head", "-n", count] => lines.into_iter().take(count.parse().unwrap()).collect(),
        ["tail", "-n", count] => {
            let count: usize = count.parse().unwrap();
            lines[lines.len().saturating_sub(count)..].to_vec()
        }
        ["grep", word] => lines.into_iter().filter(|line| line.contains(word)).collect(),
        _ => panic!("a page may filter by head, tail and grep: {stage}"),
    };
    kept.iter().map(|line| format!("{line}\n")).collect()
}

/// The words of a shell line; both kinds of quotes keep words together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for letter in line.chars() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

#[test]
fn words_are_split_as_a_shell_splits_them() {
    assert_eq!(words("a  'b c' d=\"e f\" ''"), ["a", "b c", "d=e f", ""]);
}

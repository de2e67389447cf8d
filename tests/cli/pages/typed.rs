//! Commands that pages show, in blocks and in sentences: each is run, or it is parsed and a list
//! says why it is not run. Those of other programs name files, packages and tests that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{blocks, reader, root, shell};
use crate::gpucast::{command, outcome};

/// A command of a page.
struct Shown {
    words: Vec<String>,
    /// It stands in a sentence, where a command may be named without all that it needs.
    is_inline: bool,
}

impl Shown {
    fn text(&self) -> String {
        self.words.join(" ")
    }

    /// The arguments, where the command is one of this program.
    fn own(&self) -> Option<&[String]> {
        let (program, arguments) = self.words.split_first()?;
        (program == "gpucast").then_some(arguments)
    }

    /// What a reader fills in keeps a command from being run.
    fn is_template(&self) -> bool {
        self.words.iter().any(|word| word.contains('…') || is_placeholder(word))
    }
}

/// A word in capitals stands for one of the reader's: `KERNEL`, `FILE.svg`, `NAME|FILE.toml`.
fn is_placeholder(word: &str) -> bool {
    let word = word.rsplit('/').next().unwrap_or_default();
    let capitals = word.trim_start_matches(|letter: char| letter.is_ascii_uppercase());
    capitals.len() < word.len() && (capitals.is_empty() || capitals.starts_with(['.', '|', ',']))
}

/// All pages of the repository.
pub(super) fn all_pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_dir() {
                let is_made = name.starts_with('.') || name == "target" || name == "node_modules";
                folders.extend((!is_made).then_some(path));
            } else if name.ends_with(".md") {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// The commands of a page: first those of blocks, then those of sentences.
fn commands_of(text: &str) -> Vec<Shown> {
    let shell = blocks(text, "sh").into_iter().map(|block| block.join("\n"));
    // Such a block is a transcript or a result, in which some lines are commands.
    let results = blocks(text, "text").into_iter().flatten();
    let results = results.map(|line| line.strip_prefix("$ ").unwrap_or(line));
    let results = results.filter(|line| line.starts_with("gpucast ")).map(str::to_owned);
    let lines: Vec<String> = shell.chain(results).collect();
    let lines = lines.iter().map(|block| block.replace("\\\n", " "));
    let in_blocks: Vec<Shown> = lines
        .flat_map(|block| block.lines().flat_map(shell::commands).collect::<Vec<_>>())
        .filter_map(|words| shown(words, false))
        .collect();
    let in_sentences = spans(text).into_iter().flat_map(|span| shell::commands(&span));
    let in_sentences = in_sentences.filter_map(|words| shown(words, true)).filter(|shown| {
        let program = &shown.words[0];
        let is_script = [".ci/", "examples/"].iter().any(|folder| program.starts_with(folder));
        is_script && root().join(program).is_file()
            || shown.words.len() > 1 && (program == "gpucast" || other(program).is_some())
    });
    in_blocks.into_iter().chain(in_sentences).collect()
}

/// Whether `exec` and `ncu` are there.
const HAS_PROGRAMS: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

/// A command without the settings before it.
fn shown(mut words: Vec<String>, is_inline: bool) -> Option<Shown> {
    let is_setting = |word: &str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    let settings = words.iter().take_while(|word| is_setting(word)).count();
    words.drain(..settings);
    (!words.is_empty()).then_some(Shown { words, is_inline })
}

/// What stands between single back quotes, outside of blocks. A line's end is a blank.
fn spans(text: &str) -> Vec<String> {
    let mut is_code = false;
    let prose = text.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    let prose = prose.collect::<Vec<_>>().join("\n");
    // A cell of a table, like a paragraph, ends with its line or behind an empty one.
    let paragraphs = prose.split("\n\n").flat_map(|paragraph| match paragraph.starts_with('|') {
        true => paragraph.lines().map(str::to_owned).collect::<Vec<_>>(),
        false => vec![paragraph.replace('\n', " ")],
    });
    let inside = |part: String| {
        let inside = part.split('`').skip(1).step_by(2);
        inside.map(|span| span.replace("\\|", "|")).collect::<Vec<_>>()
    };
    paragraphs.flat_map(inside).collect()
}

/// The commands of this program, also those that another program starts.
fn own_commands(shown: &Shown) -> Vec<Vec<String>> {
    let is_start = |at: &usize| {
        let is_subcommand =
            |word: &String| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        shown.words[*at] == "gpucast" && shown.words.get(at + 1).is_some_and(is_subcommand)
    };
    let starts: Vec<usize> = (0..shown.words.len()).filter(is_start).collect();
    let ends = starts.iter().skip(1).copied().chain([shown.words.len()]);
    starts.iter().zip(ends).map(|(start, end)| shown.words[start + 1..end].to_vec()).collect()
}

/// Each command is asked for its help, behind all that it says: a command, an option or a value
/// that does not exist is refused.
#[test]
fn commands_of_all_pages_are_understood() {
    let mut commands = 0;
    let mut wrong = Vec::new();
    for page in all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        for shown in commands_of(&text) {
            for arguments in own_commands(&shown) {
                commands += 1;
                // What stands behind `--` is another program's.
                let own = arguments.iter().take_while(|word| *word != "--").map(|word| match word
                    .as_str()
                {
                    "KIND" => "roofline",
                    "COMMAND" => "predict",
                    "WHEN" => "late",
                    "N" => "1",
                    "{}/8" => "1/8",
                    "PTXAS" => env!("CARGO_BIN_EXE_gpucast"),
                    word => word,
                });
                let mut program = command("");
                program.args(own).arg("--help");
                let outcome = outcome(program);
                // A sentence may name an option without its value.
                let is_known =
                    shown.is_inline && outcome.stderr.contains("a value is required for");
                if outcome.status != 0 && !is_known {
                    wrong.push(format!("{}: {}\n{}", page.display(), shown.text(), outcome.stderr));
                }
            }
        }
    }
    assert!(commands > 200, "{commands} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Why commands of this program are not run here. The words of each entry stand on a page.
const NOT_RUN: &[(&str, &[&str])] = &[
    (
        "a compiler",
        &[
            "my.cu",
            "examples/tuning/space.toml",
            "blur.cu",
            "typo.cu",
            "bound.cu",
            "work",
            "lab check t",
            "t3/launch.toml",
            "t7/launch.toml",
        ],
    ),
    ("a transcript of a mistake", &["own.ptx", "heat-static", "plain.py"]),
    ("NVIDIA's assembler", &["--machine ptxas"]),
    ("the reader's program", &["python script.py", "target/release/program"]),
    ("the reader's library", &["libfoo.so"]),
    ("the reader's class", &["lab grade"]),
    ("a GPU", &["bench --device", "bench --compare"]),
    ("a verdict is its exit status", &["judge fast"]),
    ("it runs until it is stopped", &["gpucast serve"]),
    ("a network", &["s3:"]),
    ("a cluster", &["submit --slurm", "--store /scratch"]),
    (
        "long",
        &[
            "compare --published",
            "sweep all",
            "counts launch.toml",
            "counts formulas.json",
            "cost --measure flops_madd_pattern",
            "n:512,640,768,896",
            "--like ",
            "--vary n=32..32000:32",
            "plot errors",
        ],
    ),
];

/// Programs of others, and why their commands are not run here.
const OTHERS: &[(&str, &[&str])] = &[
    (
        "builds and tests",
        &["cargo", "rustup", "mdbook", "maturin", "node", "npm", "cmake", "ctest"],
    ),
    ("a network", &["curl", "pip", "podman", "schemathesis"]),
    ("another's compiler or profiler", &["nvcc", "ncu"]),
    ("scripts", &["python3", "python"]),
    ("the system's programs", &["tar", "sudo", "install", "seq", "parallel", "nvidia-smi"]),
    ("the shell's words", &["cd", "export", "for", "do", "done", "mkdir", "ls", "sort"]),
];

fn other(program: &str) -> Option<&'static str> {
    let entry = OTHERS.iter().find(|(_, programs)| programs.contains(&program));
    entry.map(|(reason, _)| *reason)
}

/// Why a command is not run, with the words of the list that it has.
fn reasons(shown: &Shown) -> Vec<(&'static str, &'static str)> {
    let text = shown.text();
    let entries =
        NOT_RUN.iter().flat_map(|&(reason, parts)| parts.iter().map(move |part| (reason, *part)));
    entries.filter(|(_, part)| text.contains(part)).collect()
}

/// How many commands had which fate.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<&'static str, usize>,
    parts: BTreeSet<&'static str>,
    wrong: Vec<String>,
}

impl Tally {
    fn one(&mut self, fate: &'static str) {
        *self.counts.entry(fate).or_default() += 1;
    }
}

/// Kernels of the corpus are run at their small size, so that all commands take seconds.
fn made_small(arguments: &mut Vec<String>) {
    let sized = [
        "predict",
        "profile",
        "run",
        "advise",
        "report",
        "plot",
        "sensitivity",
        "sweep",
        "trace",
        "bench",
    ];
    let is_sized = arguments.iter().any(|word| ["--size", "--reference"].contains(&word.as_str()));
    let is_beside = |at: usize| {
        at > 0 && ["-o", "--dump", "--gpu", "--save"].contains(&arguments[at - 1].as_str())
    };
    let is_file =
        |word: &String| [".toml", ".csv", ".ptx", ".json"].iter().any(|end| word.ends_with(end));
    let has_files = arguments.iter().enumerate().any(|(at, word)| is_file(word) && !is_beside(at));
    let is_table = |word: &String| ["sweep", "sensitivity"].contains(&word.as_str());
    let draws_table = arguments.get(1).is_some_and(is_table);
    if sized.contains(&arguments[0].as_str()) && !is_sized && !has_files && !draws_table {
        arguments.extend(["--size".to_owned(), "small".to_owned()]);
    }
}

/// Runs the commands of a page in one folder, one after the other.
fn run_page(page: &Path, tally: &mut Tally) {
    let text = fs::read_to_string(page).unwrap();
    let folder = tempfile::tempdir().unwrap();
    reader::files(folder.path());
    for shown in commands_of(&text) {
        let Some(own) = shown.own() else {
            tally.one(other(&shown.words[0]).unwrap_or("scripts"));
            continue;
        };
        if shown.is_template() {
            tally.one("a template");
        } else if !HAS_PROGRAMS && ["exec", "ncu"].contains(&own[0].as_str()) {
            tally.one("another system");
        } else if let [(reason, _), ..] = reasons(&shown)[..] {
            tally.one(reason);
            tally.parts.extend(reasons(&shown).into_iter().map(|(_, part)| part));
        } else {
            let mut arguments = own.to_vec();
            made_small(&mut arguments);
            let mut program = command("");
            program.current_dir(folder.path()).args(&arguments).env("HOME", folder.path());
            program.env("XDG_CONFIG_HOME", folder.path().join("config"));
            let outcome = outcome(program);
            let lacks = ["required", "Usage:", "no program is named"]
                .iter()
                .any(|word| outcome.stderr.contains(word));
            if outcome.status == 0 {
                tally.one("run");
            } else if shown.is_inline && outcome.status == 2 && lacks {
                tally.one("named without arguments");
            } else {
                tally.wrong.push(format!(
                    "{}: {}\n{}",
                    page.display(),
                    shown.text(),
                    outcome.stderr
                ));
            }
        }
    }
}

#[test]
fn commands_of_all_pages_run() {
    let mut tally = Tally::default();
    for page in all_pages() {
        run_page(&page, &mut tally);
    }
    eprintln!("commands of pages: {:#?}", tally.counts);
    assert!(tally.counts["run"] > 120, "{:?}", tally.counts);
    assert!(tally.wrong.is_empty(), "{}", tally.wrong.join("\n"));
    let parts = NOT_RUN.iter().flat_map(|(_, parts)| *parts);
    let stale: Vec<&&str> = parts.filter(|part| !tally.parts.contains(*part)).collect();
    assert!(stale.is_empty(), "no page says {stale:?}");
}

/// What `cargo metadata` says of this workspace.
fn metadata() -> serde_json::Value {
    let mut cargo = std::process::Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["metadata", "--no-deps", "--offline", "--format-version=1"]);
    serde_json::from_slice(&cargo.output().unwrap().stdout).unwrap()
}

/// The names of the workspace's packages, or of the targets of a kind in one of them or in all.
fn names(metadata: &serde_json::Value, kind: Option<&str>, package: Option<&str>) -> Vec<String> {
    let packages = metadata["packages"].as_array().unwrap();
    let name = |value: &serde_json::Value| value["name"].as_str().unwrap().to_owned();
    let Some(kind) = kind else { return packages.iter().map(name).collect() };
    let packages =
        packages.iter().filter(|each| package.is_none_or(|package| name(each) == package));
    let targets = packages.flat_map(|package| package["targets"].as_array().unwrap());
    targets.filter(|target| target["kind"][0] == kind).map(name).collect()
}

/// Sources of tests, in which words that choose tests are looked for.
fn has_test(word: &str) -> bool {
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.extend((name != "target" && !name.starts_with('.')).then_some(path));
            } else if name.ends_with(".rs") {
                let text = fs::read_to_string(&path).unwrap();
                let mut lines = text.lines().map(str::trim_start);
                let is_item = |line: &str| line.starts_with("fn ") || line.starts_with("mod ");
                if lines.any(|line| is_item(line) && line.contains(word)) {
                    return true;
                }
            }
        }
    }
    false
}

/// What is wrong with a call of Cargo: packages, targets, and words that choose tests.
fn wrong_in_cargo(metadata: &serde_json::Value, words: &[String]) -> Option<String> {
    if ["install", "fuzz", "+nightly"].contains(&words[1].as_str()) {
        return None;
    }
    let after = |option: &str| {
        let at = words.iter().position(|word| word == option)?;
        words.get(at + 1).map(String::as_str)
    };
    let package = after("-p");
    let has = |found: Vec<String>, name: &str| found.iter().any(|found| found == name);
    if let Some(package) = package.filter(|package| !has(names(metadata, None, None), package)) {
        return Some(format!("no package {package}"));
    }
    for kind in ["test", "example", "bench"] {
        let target = after(&format!("--{kind}"));
        if let Some(target) = target.filter(|name| !has(names(metadata, Some(kind), package), name))
        {
            return Some(format!("no {kind} {target}"));
        }
    }
    let own = words.iter().skip(2).take_while(|word| *word != "--");
    let with_value = ["-p", "--test", "--example", "--bench", "--features"];
    let mut is_value = false;
    let filters: Vec<&String> = own
        .filter(|word| {
            let is_filter = !is_value && !word.starts_with('-');
            is_value = with_value.contains(&word.as_str());
            is_filter
        })
        .collect();
    let unknown = filters.into_iter().find(|word| words[1] == "test" && !has_test(word));
    unknown.map(|word| format!("no test {word}"))
}

/// Folders that commands make.
const MADE: [&str; 3] = ["target/", "tests/fuzz/found", "tests/fuzz/least"];

/// What is wrong with a call of another program: files of the repository that are not there, and
/// options that a script does not have.
fn wrong_in_others(metadata: &serde_json::Value, words: &[String]) -> Option<String> {
    if words[0] == "cargo" {
        return wrong_in_cargo(metadata, words);
    }
    let is_file = |word: &&String| {
        let first = word.split('/').next().unwrap_or_default();
        let is_pattern = word.contains(['*', '$', ':', '{']);
        let is_ours = word.contains('/') && !first.is_empty() && !first.starts_with("..");
        let is_made = MADE.iter().any(|made| word.starts_with(made));
        is_ours && !is_pattern && !is_made && root().join(first).is_dir()
    };
    let missing = words.iter().filter(is_file).find(|word| !root().join(word).exists());
    if let Some(missing) = missing {
        return Some(format!("no file {missing}"));
    }
    let is_script = |word: &&String| word.contains('/') && root().join(word).is_file();
    let script = words.iter().take(2).find(is_script)?;
    let text = fs::read_to_string(root().join(script)).ok()?;
    let mut options = words.iter().filter(|word| word.starts_with("--"));
    options.find(|option| !text.contains(option.as_str())).map(|option| format!("no {option}"))
}

#[test]
fn commands_of_other_programs_name_what_exists() {
    let metadata = metadata();
    let mut unknown = OTHERS.iter().flat_map(|(_, programs)| *programs).collect::<BTreeSet<_>>();
    let mut wrong = Vec::new();
    for page in all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        for shown in commands_of(&text) {
            let program = shown.words[0].as_str();
            if program == "gpucast" {
                continue;
            }
            unknown.retain(|known| **known != program);
            let is_made = MADE.iter().any(|made| program.starts_with(made));
            let is_known = other(program).is_some() || root().join(program).is_file() || is_made;
            let problem = match is_known {
                true => wrong_in_others(&metadata, &shown.words),
                false => Some(format!("OTHERS lacks {program}")),
            };
            let told = |problem| format!("{}: {}: {problem}", page.display(), shown.text());
            wrong.extend(problem.map(told));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(unknown.is_empty(), "no page says {unknown:?}");
}

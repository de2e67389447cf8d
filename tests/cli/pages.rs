//! Pages whose commands are run: their outputs are those that the pages print.
//!
//! A page is a session in an empty folder. A block after `<!-- file: NAME -->` is written into that
//! file. In a `console` block, lines behind `$ ` are commands, and the lines up to the next one are
//! what they print, errors included. `GPUCAST_UPDATE=1` rewrites the outputs, and the pictures that
//! a page shows: `pictures/PAGE-NAME` is the session's file `NAME`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::gpucast::{command, outcome};

const PAGES: [&str; 7] = [
    "tutorial.md",
    "kernels.md",
    "commands.md",
    "python.md",
    "cluster.md",
    "collection.md",
    "counting.md",
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

/// The pages of the repository whose commands a reader may type.
fn all_pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [root.join("docs"), root.join("docs/evidence"), root.join("corpus")];
    let files = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
    let mut pages: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    pages.retain(|path| path.extension().is_some_and(|ending| ending == "md"));
    pages.push(root.join("README.md"));
    pages.sort();
    pages
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
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    for page in all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        let is_run = PAGES.iter().any(|name| page == docs.join(name));
        let has_session = !blocks(&text, "console").is_empty();
        assert!(is_run || !has_session, "{}: nobody runs its session", page.display());
    }
}

/// The commands of a page's blocks of `sh` as they stand, without comments and filters.
fn commands_of(text: &str) -> Vec<String> {
    let blocks = blocks(text, "sh").into_iter();
    let lines = blocks.flat_map(|block| {
        let joined = block.join("\n").replace("\\\n", " ");
        joined.lines().map(str::to_owned).collect::<Vec<String>>()
    });
    let mut commands = Vec::new();
    for line in lines {
        let line = line.split("  #").next().unwrap_or_default();
        if line.contains('…') {
            continue;
        }
        for part in line.split(['|', '>', ';']).flat_map(|part| part.split("&&")) {
            commands.extend(part.trim().strip_prefix("gpucast ").map(str::to_owned));
        }
    }
    commands
}

/// Commands without outputs stand in blocks of `sh`. Each is asked for its help, behind all that it
/// says: a command or an option that does not exist is refused.
#[test]
fn commands_of_all_pages_are_understood() {
    let mut commands = 0;
    let mut wrong = Vec::new();
    for page in all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        for said in commands_of(&text) {
            // What stands behind `--` is another program's.
            let arguments = said.split(" -- ").next().unwrap_or_default();
            commands += 1;
            let mut program = command("");
            program.args(words(arguments)).arg("--help");
            let outcome = outcome(program);
            if outcome.status != 0 {
                wrong.push(format!("{}: {said}\n{}", page.display(), outcome.stderr));
            }
        }
    }
    assert!(commands > 60, "{commands} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Words of commands that are not run here, and why. Each stands on a page.
const NOT_RUN: &[(&str, &str)] = &[
    ("my.cu", "a compiler"),
    ("examples/tuning/space.toml", "a compiler"),
    ("sweep my.ptx", "the reader's kernel"),
    ("saxpy.toml", "the reader's kernel"),
    ("kernel.ptx --kernel k", "the reader's kernel"),
    ("own.toml", "the reader's kernels"),
    ("libfoo.so", "the reader's library"),
    ("compare my.csv", "the reader's times"),
    ("--from-metrics counts.csv", "the reader's counts"),
    ("calibrate offload", "the reader's times"),
    ("counts formulas.json", "the reader's formulas; counting.md runs such a command"),
    ("gpus import device-query.txt", "texts of the reader's benchmarks"),
    ("KERNEL.toml", "a name that the reader fills in"),
    ("exec ", "the reader's program"),
    ("ncu ", "the reader's program"),
    ("diff base.json", "the baseline of an earlier day"),
    ("bench ", "times of this computer, or a GPU"),
    ("--machine ptxas", "NVIDIA's assembler"),
    ("s3:", "a network"),
    ("/scratch", "a cluster"),
    ("trust", "a configuration of the user's, which tests do not have"),
    ("sweep all", "long"),
    ("compare --published", "long"),
    ("--vary n=32..32000:32", "long"),
    ("--budget 30s", "long"),
    ("counts launch.toml", "long; counting.md runs such a command"),
    ("--like ", "long"),
    ("n:512,640,768,896", "long"),
    ("plot errors", "long"),
];

/// A kernel of the reader's, with the parameters that pages give it.
const SAXPY: &str = "\
.version 7.0
.target sm_50
.address_size 64
.visible .entry saxpy(.param .f32 a, .param .u64 x, .param .u64 y, .param .u32 n)
{
    .reg .pred %p;
    .reg .f32 %a, %x, %y;
    .reg .b32 %i, %n, %c, %w;
    .reg .b64 %px, %py;
    mov.u32 %c, %ctaid.x;
    mov.u32 %w, %ntid.x;
    mov.u32 %i, %tid.x;
    mad.lo.u32 %i, %c, %w, %i;
    ld.param.u32 %n, [n];
    setp.ge.u32 %p, %i, %n;
    @%p ret;
    ld.param.f32 %a, [a];
    ld.param.u64 %px, [x];
    ld.param.u64 %py, [y];
    mad.wide.u32 %px, %i, 4, %px;
    mad.wide.u32 %py, %i, 4, %py;
    ld.global.f32 %x, [%px];
    ld.global.f32 %y, [%py];
    fma.rn.f32 %y, %a, %x, %y;
    st.global.f32 [%py], %y;
    ret;
}
";

/// The files that pages take for granted: launches of a small product, a kernel, GPUs, times, and
/// folders of the repository.
fn reader_files(folder: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("docs/counting.md")).unwrap();
    let (_, product) = page.split_once("<!-- file: product.toml -->\n```toml\n").unwrap();
    let module = root.join("corpus/kernels/sgemm/sm_35.ptx").display().to_string();
    let product = product.split("```").next().unwrap().replace("sgemm/sm_35.ptx", &module);
    let small = product.replace("1280", "64").replace("640", "64");
    let small = small.replace("type = \"f32\"", "type = \"f32\"\ninit = \"iota\"");
    assert_ne!(small, product);
    for name in ["launch", "my", "before", "after", "my-kernel", "product"] {
        fs::write(folder.join(format!("{name}.toml")), &small).unwrap();
    }
    fs::write(folder.join("my.ptx"), SAXPY).unwrap();
    fs::copy(root.join("tests/inputs/saxpy.ptx"), folder.join("kernel.ptx")).unwrap();
    for (name, input) in [
        ("samples.csv", "tests/inputs/cost-samples.csv"),
        ("roofline.json", "model/tests/imports/roofline-v100.json"),
        ("mine.toml", "tests/inputs/my-gpu.toml"),
        ("next.toml", "tests/inputs/h100-next.toml"),
    ] {
        fs::copy(root.join(input), folder.join(name)).unwrap();
    }
}

/// Kernels of the corpus are run at their small size, so that all commands take seconds.
fn made_small(arguments: &mut Vec<String>) {
    let sized = ["predict", "profile", "run", "advise", "report", "plot", "sensitivity", "sweep"];
    let is_sized = arguments.iter().any(|word| ["--size", "--reference"].contains(&word.as_str()));
    let is_output = |at: usize| at > 0 && ["-o", "--dump"].contains(&arguments[at - 1].as_str());
    let is_file =
        |word: &String| [".toml", ".csv", ".ptx", ".json"].iter().any(|end| word.ends_with(end));
    let has_files = arguments.iter().enumerate().any(|(at, word)| is_file(word) && !is_output(at));
    if sized.contains(&arguments[0].as_str()) && !is_sized && !has_files {
        arguments.extend(["--size".to_owned(), "small".to_owned()]);
    }
}

/// The commands of a page run in one folder, one after the other.
#[test]
fn commands_of_all_pages_run() {
    let mut commands = 0;
    let mut wrong = Vec::new();
    let mut left_out = std::collections::BTreeSet::new();
    for page in all_pages() {
        let text = fs::read_to_string(&page).unwrap();
        let folder = tempfile::tempdir().unwrap();
        reader_files(folder.path());
        for said in commands_of(&text) {
            let reasons = NOT_RUN.iter().filter(|(part, _)| said.contains(part));
            let reasons: Vec<&str> = reasons.map(|(part, _)| *part).collect();
            if !reasons.is_empty() {
                left_out.extend(reasons);
                continue;
            }
            commands += 1;
            let mut arguments = words(&said);
            made_small(&mut arguments);
            let mut program = command("");
            program.current_dir(folder.path()).env("HOME", folder.path()).args(arguments);
            let outcome = outcome(program);
            if outcome.status != 0 {
                wrong.push(format!("{}: {said}\n{}", page.display(), outcome.stderr));
            }
        }
    }
    assert!(commands > 55, "{commands} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let stale = NOT_RUN.iter().filter(|(part, _)| !left_out.contains(part));
    let stale: Vec<&str> = stale.map(|(part, _)| *part).collect();
    assert!(stale.is_empty(), "no page says {stale:?}");
}

/// Blocks of text in the README are what a command prints, shortened by `…`.
#[test]
fn the_readme_shows_what_its_commands_print() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
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
    let glossary = include_str!("../../docs/glossary.md");
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

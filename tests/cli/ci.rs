//! The script that pull requests are compared with, and the steps of GitHub and GitLab that run it,
//! on a repository of its own.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::gpucast::inputs;

/// A repository with a kernel, and a change that makes it slower.
struct Repository(tempfile::TempDir);

impl Repository {
    /// `None` where there is no git.
    fn new() -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            eprintln!("skipped: there is no git");
            return None;
        }
        let own = Self(tempfile::tempdir().unwrap());
        own.git(&["init", "--quiet", "--initial-branch", "main"]);
        own.kernel("transpose-padded");
        own.git(&["add", "."]);
        own.git(&["commit", "--quiet", "-m", "one"]);
        Some(own)
    }

    fn git(&self, words: &[&str]) {
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        let git = Command::new("git").args(identity).args(words).current_dir(self.path()).output();
        let git = git.unwrap();
        assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// Writes the kernel of an input under one name.
    fn kernel(&self, input: &str) {
        let launch = fs::read_to_string(inputs().join(format!("{input}.toml"))).unwrap();
        let module = format!("{input}.ptx");
        assert!(launch.contains(&module), "{launch}");
        fs::write(self.path().join("kernel.toml"), launch.replace(&module, "kernel.ptx")).unwrap();
        fs::copy(inputs().join(module), self.path().join("kernel.ptx")).unwrap();
    }

    /// The name of a revision.
    fn revision(&self, name: &str) -> String {
        let git = Command::new("git").args(["rev-parse", name]).current_dir(self.path()).output();
        String::from_utf8(git.unwrap().stdout).unwrap().trim().to_owned()
    }

    /// A shell in the repository that finds our program, with counts of its own.
    fn shell(&self) -> Command {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_gpucast"));
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command.current_dir(self.path());
        // The folder of stand-ins for programs of the host comes first.
        let stand_ins = self.path().join(".git/bin");
        let folders = format!("{}:{}", stand_ins.display(), program.parent().unwrap().display());
        command.env("PATH", format!("{folders}:{path}"));
        command.env("GPUCAST_CACHE", self.path().join(".git/cache"));
        command.env_remove("GITHUB_ACTIONS");
        command
    }

    fn compare(&self, limits: &str, kernels: &[&str]) -> Output {
        let mut command = self.shell();
        command.arg(templates().join("compare.sh")).arg("HEAD").args(kernels);
        command.env("GPUCAST_GPU", "a100-sxm-40gb").env("GPUCAST_FAIL_IF", limits);
        command.env("GITHUB_ACTIONS", "true");
        command.output().unwrap()
    }

    /// A program of the host that writes its arguments into a file.
    fn stand_in(&self, name: &str, said: &Path) {
        let folder = self.path().join(".git/bin");
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(name);
        let text = format!("#!/bin/sh\necho \"$@\" >>'{}'\n", said.display());
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    fn comment(&self) -> String {
        self.read("gpucast.md")
    }
}

#[test]
fn a_slower_kernel_of_a_change_is_flagged_and_an_equal_one_is_not() {
    let Some(repository) = Repository::new() else { return };
    let equal = repository.compare("slower:0% inst_executed:0%", &["kernel.toml"]);
    assert!(equal.status.success(), "{}", String::from_utf8_lossy(&equal.stderr));
    assert!(
        repository.comment().starts_with("### kernel.toml: the same time"),
        "{}",
        repository.comment()
    );
    repository.kernel("transpose");
    let slower = repository.compare("slower:5% shared_load_transactions:1%", &["kernel.toml"]);
    assert_eq!(slower.status.code(), Some(1));
    let comment = repository.comment();
    assert!(comment.contains("2 limits are broken"), "{comment}");
    assert!(comment.contains("| shared_load_transactions | 2,048 | 65,536 |"), "{comment}");
    // The same findings where CI shows them, at the line with most of the passes.
    let read = |name: &str| repository.read(name);
    let log: serde_json::Value = serde_json::from_str(&read("gpucast-1.sarif")).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), 2);
    let location = &results[1]["locations"][0]["physicalLocation"];
    assert_eq!(location["artifactLocation"]["uri"], "kernel.ptx");
    let line = location["region"]["startLine"].as_u64().unwrap();
    let module = read("kernel.ptx");
    let text = module.lines().nth(line as usize - 1).unwrap();
    assert!(text.contains("ld.shared"), "{text}");
    let cases = read("gpucast-1.xml");
    assert!(cases.contains(&format!(">kernel.ptx:{line}</failure>")), "{cases}");
    let said = String::from_utf8(slower.stdout).unwrap();
    assert!(said.contains(&format!("::error file=kernel.ptx,line={line},title=gpucast")), "{said}");
    // A kernel that the revision lacks is new and no failure; one that nobody has is a failure.
    fs::rename(repository.path().join("kernel.toml"), repository.path().join("new.toml")).unwrap();
    let new = repository.compare("slower:5%", &["new.toml"]);
    assert!(new.status.success(), "{}", String::from_utf8_lossy(&new.stderr));
    assert!(repository.comment().starts_with("### new.toml: new"), "{}", repository.comment());
    assert_eq!(repository.compare("slower:5%", &["nowhere.toml"]).status.code(), Some(1));
    // Nothing stays behind.
    let trees =
        Command::new("git").args(["worktree", "list"]).current_dir(repository.path()).output();
    assert_eq!(String::from_utf8(trees.unwrap().stdout).unwrap().lines().count(), 1);
}

/// The folder of the templates.
fn templates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ci")
}

/// The lines below a key of a YAML file, as far as they are indented more, without that indent.
fn below(text: &str, key: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().skip_while(|line| line.trim_start() != key);
    let outer = indent(lines.next().unwrap_or_else(|| panic!("there is {key}")));
    let is_inner = |line: &&str| line.trim().is_empty() || indent(line) > outer;
    let inner: Vec<&str> = lines.take_while(is_inner).collect();
    let least = indent(inner[0]);
    inner.iter().map(|line| line.get(least..).unwrap_or_default().to_owned()).collect()
}

/// The value that an expression of a workflow has in a pull request.
fn expression(text: &str, base: &str) -> String {
    let name = text.strip_prefix("${{").and_then(|rest| rest.strip_suffix("}}")).unwrap();
    match name.trim() {
        "inputs.kernels" => "kernel.toml".to_owned(),
        "inputs.gpu" => "a100-sxm-40gb".to_owned(),
        "inputs.fail-if" => "slower:5% shared_load_transactions:1%".to_owned(),
        "github.event.pull_request.base.sha || github.event.before" => base.to_owned(),
        "github.event.pull_request.number" => "7".to_owned(),
        "github.action_path" => templates().display().to_string(),
        "github.token" => "none".to_owned(),
        other => panic!("nobody knows {other}"),
    }
}

/// Runs the step of the action as GitHub does.
fn github(repository: &Repository, base: &str, summary: &Path) -> Output {
    let action = fs::read_to_string(templates().join("action.yml")).unwrap();
    let mut command = repository.shell();
    command.args(["--noprofile", "--norc", "-eo", "pipefail", "-c"]);
    command.arg(below(&action, "run: |").join("\n"));
    for line in below(&action, "env:") {
        let (name, value) = line.split_once(": ").unwrap();
        command.env(name, expression(value, base));
    }
    command.env("GITHUB_ACTIONS", "true").env("GITHUB_STEP_SUMMARY", summary);
    command.output().unwrap()
}

/// The second commit of a repository reads a column through one bank. Returns the first.
fn with_a_regression(repository: &Repository) -> String {
    repository.kernel("transpose");
    repository.git(&["commit", "--quiet", "-am", "two"]);
    repository.revision("HEAD~1")
}

#[test]
fn the_step_of_the_action_comments_on_a_regression_and_fails() {
    let Some(repository) = Repository::new() else { return };
    let (summary, said) =
        (repository.path().join(".git/summary"), repository.path().join(".git/gh"));
    repository.stand_in("gh", &said);
    // A commit that changes no kernel passes, and is commented on, too.
    fs::write(repository.path().join("notes.txt"), "notes\n").unwrap();
    repository.git(&["add", "notes.txt"]);
    repository.git(&["commit", "--quiet", "-m", "notes"]);
    let neutral = github(&repository, &repository.revision("HEAD~1"), &summary);
    assert!(neutral.status.success(), "{}", String::from_utf8_lossy(&neutral.stderr));
    assert!(!String::from_utf8_lossy(&neutral.stdout).contains("::error"));
    assert!(repository.comment().starts_with("### kernel.toml: the same time"));
    let call = "pr comment 7 --edit-last --create-if-none --body-file gpucast.md\n";
    assert_eq!(fs::read_to_string(&said).unwrap(), call);
    fs::remove_file(&summary).unwrap();
    let base = with_a_regression(&repository);
    let slower = github(&repository, &base, &summary);
    assert_eq!(slower.status.code(), Some(1), "{}", String::from_utf8_lossy(&slower.stderr));
    assert_eq!(fs::read_to_string(&said).unwrap(), call.repeat(2));
    let comment = repository.comment();
    assert_eq!(fs::read_to_string(&summary).unwrap(), comment);
    assert!(comment.lines().next().unwrap().ends_with("; 2 limits are broken"), "{comment}");
    assert!(comment.contains("slower on a100-sxm-40gb"), "{comment}");
    // Each broken limit is an annotation at the line of the change: the column is read there.
    let said = String::from_utf8(slower.stdout).unwrap();
    let annotations: Vec<&str> = said.lines().filter(|line| line.starts_with("::error")).collect();
    assert_eq!(annotations.len(), 2, "{said}");
    let module = repository.read("kernel.ptx");
    for annotation in annotations {
        let at = annotation.strip_prefix("::error file=kernel.ptx,line=").unwrap();
        let line: usize = at.split(',').next().unwrap().parse().unwrap();
        assert!(module.lines().nth(line - 1).unwrap().contains("ld.shared"), "{annotation}");
    }
}

#[test]
fn the_job_of_gitlab_leaves_the_files_that_it_names_and_fails() {
    let Some(repository) = Repository::new() else { return };
    let base = with_a_regression(&repository);
    let job = fs::read_to_string(templates().join("gitlab.yml")).unwrap();
    let folder = repository.path().join("examples/ci");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(templates().join("compare.sh"), folder.join("compare.sh")).unwrap();
    let script = below(&job, "script:");
    let script: Vec<&str> = script.iter().map(|line| line.strip_prefix("- ").unwrap()).collect();
    let mut command = repository.shell();
    command.args(["-eo", "pipefail", "-c", &script.join("\n")]);
    for line in below(&job, "variables:") {
        let (name, value) = line.split_once(": ").unwrap();
        command.env(name, value.trim_matches('"'));
    }
    command.env("CI_MERGE_REQUEST_DIFF_BASE_SHA", base);
    let ran = command.env("KERNELS", "kernel.toml").env("GPUCAST_GPU", "a100-sxm-40gb").output();
    let ran = ran.unwrap();
    assert_eq!(ran.status.code(), Some(1), "{}", String::from_utf8_lossy(&ran.stderr));
    // The limit is that of the template, and the artifacts are those that it names.
    assert!(repository.comment().contains("the limit is 5 %"), "{}", repository.comment());
    let artifacts = "paths: [gpucast.md, gpucast-*.sarif]";
    assert!(job.contains(artifacts) && job.contains("reports: { junit: gpucast-*.xml }"), "{job}");
    assert!(repository.read("gpucast-1.xml").contains("failures=\"1\""));
    assert!(repository.read("gpucast-1.sarif").contains("\"ruleId\""));
    // Annotations are GitHub's alone.
    assert!(!String::from_utf8_lossy(&ran.stdout).contains("::error"));
}

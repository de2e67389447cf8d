//! The script that pull requests are compared with, on a repository of its own.

use std::fs;
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

    fn compare(&self, limits: &str, kernels: &[&str]) -> Output {
        let program = PathBuf::from(env!("CARGO_BIN_EXE_gpucast"));
        let path = std::env::var("PATH").unwrap_or_default();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/ci/compare.sh");
        let mut command = Command::new("bash");
        command.arg(script).arg("HEAD").args(kernels).current_dir(self.path());
        command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
        command.env("GPUCAST_GPU", "a100-sxm-40gb").env("GPUCAST_FAIL_IF", limits);
        command.env("GITHUB_ACTIONS", "true").env("GPUCAST_CACHE", self.path().join(".git/cache"));
        command.output().unwrap()
    }

    fn comment(&self) -> String {
        fs::read_to_string(self.path().join("gpucast.md")).unwrap()
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
    let read = |name: &str| fs::read_to_string(repository.path().join(name)).unwrap();
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

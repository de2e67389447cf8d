//! What a shell asks of the program: completions, manual pages, the version.

use crate::gpucast::{command, outcome, stdout};

/// What a shell is offered for the last word of a line.
fn completed(line: &[&str]) -> Vec<String> {
    let mut program = command("--");
    program.args(line);
    program
        .env("GPUCAST_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", (line.len() - 1).to_string());
    program.env("_CLAP_IFS", "\n");
    let outcome = outcome(program);
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{line:?}");
    outcome.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn commands_options_and_names_are_completed() {
    let has = |line: &[&str], word: &str| {
        let offered = completed(line);
        assert!(offered.iter().any(|offer| offer == word), "{line:?}: {offered:?}");
    };
    has(&["gpucast", "pre"], "predict");
    has(&["gpucast", "predict", "--mod"], "--model");
    has(&["gpucast", "predict", "sgemm", "--gpu", "h100-s"], "h100-sxm");
    // Behind a comma, too.
    has(&["gpucast", "predict", "sgemm", "--gpu", "a10,rtx-409"], "a10,rtx-4090");
    has(&["gpucast", "predict", "transp"], "transpose");
    has(&["gpucast", "run", "saxp"], "saxpy.ptx");
    has(&["gpucast", "predict", "sgemm", "--model", "sm-"], "sm-simulation");
    has(&["gpucast", "predict", "sgemm", "--count-on", "tesla-t"], "tesla-t4");
    has(&["gpucast", "gpus", "diff", "gtx-480", "gtx-58"], "gtx-580");
    has(&["gpucast", "corpus", "show", "sgemm-1"], "sgemm-16");
    has(&["gpucast", "kernels", "show", "flops_ma"], "flops_madd_pattern");
    has(&["gpucast", "kernels", "generate", "matmul_sq", "prefetch:T"], "prefetch:True");
    // Tags in one word, whose quote some shells hand on: those that go with the tags before.
    let measure = |tags| ["gpucast", "calibrate", "cost", "--measure", tags];
    has(&measure("flops_ma"), "flops_madd_pattern");
    has(&measure("'flops_ma"), "'flops_madd_pattern");
    has(&measure("'matmul_sq pre"), "'matmul_sq prefetch:True");
    let offered = completed(&measure("matmul_sq dtype:"));
    assert_eq!(offered, ["matmul_sq dtype:float32", "matmul_sq dtype:float64"]);
    has(&["gpucast", "plot", "roof"], "roofline");
    has(&["gpucast", "profile", "sgemm", "--by", "l"], "line");
}

#[test]
fn each_shell_has_a_script_that_asks_the_program() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = stdout(&format!("completions {shell}"));
        assert!(script.contains("GPUCAST_COMPLETE"), "{shell}: {script}");
    }
}

#[test]
fn manual_pages_cover_every_command() {
    let page = stdout("man");
    assert!(page.contains(".TH gpucast 1"), "{page}");
    let folder = tempfile::tempdir().unwrap();
    let pages = folder.path().join("man1");
    assert_eq!(stdout(&format!("man --out '{}'", pages.display())), "");
    for name in ["gpucast", "gpucast-predict", "gpucast-plot-roofline", "gpucast-gpus-derive"] {
        let page = std::fs::read_to_string(pages.join(format!("{name}.1"))).unwrap();
        assert!(page.contains(".SH OPTIONS"), "{name}");
    }
}

#[test]
fn the_version_may_name_its_commit() {
    let version = stdout("--version");
    let rest = version.strip_prefix(&format!("gpucast {}", env!("CARGO_PKG_VERSION"))).unwrap();
    let commit = rest.trim().trim_matches(['(', ')']);
    let is_commit = commit.len() == 9 && commit.chars().all(|letter| letter.is_ascii_hexdigit());
    assert!(commit.is_empty() || is_commit, "{version}");
}

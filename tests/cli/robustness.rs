//! Inputs and surroundings that mean no good: full disks, foreign files, little memory, hidden
//! characters.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::gpucast::{Outcome, command, gpucast, inputs, outcome, stdout};

/// A folder of a test, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("gpucast-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The program under limits that a shell sets.
fn limited(limit: &str, arguments: &[&str]) -> Outcome {
    let mut shell = Command::new("/bin/sh");
    shell.current_dir(inputs()).env_remove("RAYON_NUM_THREADS").arg("-c");
    shell.arg(format!("{limit}; exec \"$0\" \"$@\"")).arg(env!("CARGO_BIN_EXE_gpucast"));
    shell.args(arguments);
    outcome(shell)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_disk_that_is_full_keeps_the_old_result() {
    let folder = Folder::new("full-disk");
    let old = folder.file("result.json", "old");
    // A file may be half a KiB long; a write beyond that fails as on a full disk.
    let limit = "trap '' XFSZ; ulimit -f 1";
    let profile = ["profile", "saxpy.toml", "--machine", "rules", "--format", "json", "-o"];
    let outcome = limited(limit, &[&profile[..], &[text(&old)]].concat());
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("cannot write"), "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(&old).unwrap(), "old");
    let dumped = folder.file("y.bin", "old");
    let dump = format!("y={}", text(&dumped));
    let outcome = limited(limit, &["run", "saxpy.toml", "--dump", &dump]);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert_eq!(fs::read_to_string(&dumped).unwrap(), "old");
    assert_eq!(folder.names().len(), 2, "nothing is left behind: {:?}", folder.names());
    if Path::new("/dev/full").exists() {
        let outcome = gpucast("gpus list -o /dev/full");
        assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    }
}

#[test]
fn an_input_is_not_overwritten() {
    let folder = Folder::new("own-input");
    let module = fs::read_to_string(inputs().join("talk.ptx")).unwrap();
    let module = folder.file("talk.ptx", &module);
    let before = fs::read(&module).unwrap();
    let outcome = gpucast(&format!(
        "profile {0} --kernel talk --grid 1 --block 3 --machine none -o {0}",
        text(&module)
    ));
    assert_eq!(outcome.status, 2, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("is an input"), "{}", outcome.stderr);
    assert_eq!(fs::read(&module).unwrap(), before);
}

#[test]
fn what_a_kernel_printed_stays_until_one_runs() {
    let folder = Folder::new("printed");
    let printed = folder.file("printed.txt", "old");
    let run = |kernel: &str| {
        let shape = "--grid 1 --block 3";
        gpucast(&format!("run talk.ptx --kernel {kernel} {shape} --print-to {}", text(&printed)))
    };
    assert_eq!(run("no_such_kernel").status, 1);
    assert_eq!(fs::read_to_string(&printed).unwrap(), "old");
    let outcome = run("talk");
    assert_eq!(outcome.status, 0, "{}", outcome.stderr);
    assert!(fs::read_to_string(&printed).unwrap().contains("here"));
}

#[test]
fn files_that_are_no_sources_of_the_module_are_not_shown() {
    let folder = Folder::new("foreign-source");
    let secret = folder.file("secret", "the secret");
    let outside = folder.file("outside.cu", "the secret");
    fs::create_dir(folder.0.join("module")).unwrap();
    let module = folder.0.join("module/leak.ptx");
    let write = |named: &str| {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"{named}\"\n\
             .visible .entry k(.param .u64 a) {{ .reg .b64 %rd1; .reg .b32 %r1;\n\
             .loc 1 1 1\nld.param.u64 %rd1, [a];\nst.global.u32 [%rd1], %r1; ret; }}\n"
        );
        fs::write(&module, text).unwrap();
    };
    let shown = |more: &str| {
        stdout(&format!(
            "profile {} --kernel k --grid 1 --block 1 --arg buf:u32[4] --machine none --by line \
             --source cuda{more}",
            text(&module)
        ))
    };
    for named in [text(&secret), text(&outside), "../outside.cu", "../secret"] {
        write(named);
        assert!(!shown("").contains("the secret"), "{named}");
    }
    write("../outside.cu");
    let root = format!(" --source-root {}", text(&folder.0));
    assert!(shown(&root).contains("the secret"), "a folder that the user names is searched");
}

#[test]
fn more_memory_than_there_is_is_refused_in_words() {
    let limit = "ulimit -v 3145728";
    let large = "saxpy.ptx --kernel saxpy --grid 4 --block 256 --arg u32:1000 --arg f32:0.5 \
                 --arg buf:f32[1500000000] --arg buf:f32[1000]";
    let arguments: Vec<&str> = ["run"].into_iter().chain(large.split_whitespace()).collect();
    let outcome = limited(limit, &arguments);
    assert_eq!(outcome.status, 1, "{}", outcome.stderr);
    assert!(outcome.stderr.contains("the buffers need 5,722 MiB"), "{}", outcome.stderr);
}

#[test]
fn devices_and_pipes_without_a_writer_are_no_inputs() {
    for input in ["/dev/zero", "/dev/full"] {
        if Path::new(input).exists() {
            let outcome = gpucast(&format!("check {input}"));
            assert_eq!(outcome.status, 1, "{}", outcome.stderr);
            assert!(outcome.stderr.contains("neither a file"), "{}", outcome.stderr);
        }
    }
    let folder = Folder::new("pipe");
    let pipe = folder.0.join("pipe.ptx");
    if Command::new("/usr/bin/mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()) {
        assert_eq!(gpucast(&format!("check {}", text(&pipe))).status, 1);
    }
}

#[test]
fn names_cannot_disturb_the_terminal_or_a_spreadsheet() {
    let folder = Folder::new("names");
    let metrics = folder.file(
        "metrics.toml",
        "kernel = \"=cmd|' /C calc'!A0\\u001b[2J\"\n[metrics]\ninst_executed = 1000\n\
         flop_count_sp_fma = 64000\ninst_fp_32 = 64000\ninst_compute_ld_st = 70000\n\
         dram_read_transactions = 1000\ndram_write_transactions = 1000\n",
    );
    for format in ["text", "csv"] {
        let mut predict = command("predict --gpu gtx-480 --model quantitative-roofline");
        predict.arg("--from-metrics").arg(&metrics).args(["--format", format]);
        let outcome = outcome(predict);
        assert!(!outcome.stdout.contains('\u{1b}'), "{format}: {}", outcome.stdout);
        assert!(!outcome.stderr.contains('\u{1b}'), "{format}: {}", outcome.stderr);
        if format == "csv" && outcome.status == 0 {
            assert!(outcome.stdout.contains("'=cmd"), "{}", outcome.stdout);
        }
    }
}

#[test]
fn times_that_no_run_takes_are_refused() {
    for time in ["inf", "1e298", "-1", "nan"] {
        let outcome = gpucast(&format!(
            "predict --from-metrics sgemm-metrics.toml --gpu gtx-660 --reference gtx-480={time}"
        ));
        assert_eq!(outcome.status, 2, "{time}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("is not a time in milliseconds"), "{}", outcome.stderr);
    }
}

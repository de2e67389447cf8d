//! Modules inside fatbins, cubins, host objects, libraries and executables.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::gpucast::{Outcome, inputs, outcome};

/// Runs the program in the folder of the small containers that nvcc made.
fn gpucast(arguments: &str) -> Outcome {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx-frontend/tests/containers/files");
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucast"));
    command.current_dir(folder).args(arguments.split_whitespace());
    outcome(command)
}

fn transcript(commands: &[String]) -> String {
    let mut text = String::new();
    for arguments in commands {
        let _ = writeln!(text, "$ gpucast {arguments}\n{}", gpucast(arguments).transcript());
    }
    text
}

#[test]
fn check_looks_at_every_ptx_of_a_container() {
    insta::assert_snapshot!(
        "check-containers",
        transcript(
            &["several.fatbin", "executable", "libstatic.a", "lto.fatbin"]
                .map(|file| format!("check {file}"))
        )
    );
    // The machine code of the same kernel stands beside it; a pattern may mean several.
    insta::assert_snapshot!(
        "check-one-kernel",
        transcript(
            &["--kernel scale", "--kernel *am?", "--kernel gemm", "--kernel scale --format json"]
                .map(|options| format!("check several.fatbin {options}"))
        )
    );
    insta::assert_snapshot!(
        "check-containers-as-json",
        gpucast("check lto.fatbin kernels-80.cubin --format json").transcript()
    );
}

#[test]
fn code_that_is_not_ptx_is_explained() {
    insta::assert_snapshot!(
        "check-without-ptx",
        transcript(
            &["kernels-90a.cubin", "machine-only.fatbin", "lto-only.fatbin"]
                .map(|file| format!("check {file}"))
        )
    );
    insta::assert_snapshot!(
        "run-a-cubin",
        transcript(&["run kernels-80.cubin --kernel scale --grid 1 --block 96".to_owned()])
    );
}

const SECOND: &str = "--kernel second --grid 1 --block 8 --arg buf:s32[8]";

#[test]
fn a_kernel_runs_out_of_any_container() {
    let files =
        ["debug.fatbin", "bundle-named.fatbin", "executable", "libshared.so", "libstatic.a"];
    insta::assert_snapshot!(
        "run-out-of-containers",
        transcript(&files.map(|file| format!("run {file} {SECOND}")))
    );
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("out.bin");
    let dump = format!("--dump arg0={} --format json", file.display());
    let outcome = gpucast(&format!("run bundle-named.fatbin {SECOND} {dump}"));
    // Notes are for people.
    assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""));
    assert_eq!(fs::read(file).unwrap(), [2, 0, 0, 0].repeat(8));
}

#[test]
fn the_architecture_can_be_chosen() {
    insta::assert_snapshot!(
        "arch-of-a-container",
        transcript(
            &["sm_80", "compute_90a", "sm_86", "sm_70", "ampere"]
                .map(|arch| format!("run bundle-named.fatbin {SECOND} --arch {arch}"))
        )
    );
}

#[test]
fn diagnostics_name_the_ptx() {
    insta::assert_snapshot!(
        "diagnostics-in-a-container",
        transcript(&[
            "run libshared.so --kernel second --grid 1 --block 9 --arg buf:s32[8]".to_owned(),
            "run libshared.so --kernel secund --grid 1 --block 8".to_owned(),
            "run executable --kernel e --grid 1 --block 8".to_owned(),
        ])
    );
}

#[test]
fn a_launch_file_may_name_a_container() {
    let folder = tempfile::tempdir().unwrap();
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx-frontend/tests/containers/files");
    fs::copy(from.join("executable"), folder.path().join("executable")).unwrap();
    let launch = |kernel: &str| {
        let text = format!(
            "module = \"executable\"\n[buffers.out]\ntype = \"s32\"\nlen = 8\n[[launch]]\n\
             kernel = \"{kernel}\"\ngrid = [1, 1, 1]\nblock = [8, 1, 1]\nargs = [\"out\"]\n\
             [[expect]]\nbuffer = \"out\"\nvalues = [2, 2, 2, 2, 2, 2, 2, 2]\n"
        );
        fs::write(folder.path().join("second.toml"), text).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpucast"));
        command.current_dir(folder.path()).args(["run", "second.toml"]);
        outcome(command)
    };
    assert_eq!(launch("second").status, 0);
    assert_eq!(launch("sec").status, 0, "a part that only one kernel has is a name, too");
    let unknown = launch("third");
    assert_eq!(unknown.status, 1);
    assert!(unknown.stderr.contains("has no kernel named `third`"), "{}", unknown.stderr);
}

#[test]
fn mangled_kernels_have_readable_names() {
    let folder = tempfile::tempdir().unwrap();
    let saxpy = fs::read_to_string(inputs().join("saxpy.ptx")).unwrap();
    let body = &saxpy[saxpy.find(".visible").unwrap()..];
    let text =
        saxpy.replace("saxpy", "_Z5saxpyjfPKfPf") + &body.replace("saxpy", "_Z5saxpyjdPKdPd");
    fs::write(folder.path().join("mangled.ptx"), text).unwrap();
    let mut text = String::new();
    for kernel in
        ["saxpy", "saxpy(unsigned int, float, float const *, float *)", "saxpy(unsignedint,d"]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_gpucast"));
        command.current_dir(folder.path()).args(["run", "mangled.ptx", "--grid", "1"]);
        command.args(["--block", "8", "--kernel", kernel, "--arg", "u32:8", "--arg", "f32:1"]);
        command.args(["--arg", "buf:f32[8]", "--arg", "buf:f32[8]"]);
        let _ = writeln!(text, "--kernel {kernel}\n{}", outcome(command).transcript());
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_gpucast"));
    command.current_dir(folder.path()).args(["check", "mangled.ptx"]);
    text += &outcome(command).transcript();
    insta::assert_snapshot!("mangled-kernels", text);
}

#[test]
fn machine_code_beside_the_ptx_settles_registers_and_memory() {
    let scale = "several.fatbin --kernel scale --grid 1 --block 96 --arg buf:f32[96] \
                 --arg buf:f32[96] --arg f32:2";
    let facts = |arguments: &str| {
        let outcome = gpucast(&format!("profile {scale} {arguments} --format json"));
        let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        document["launches"][0]["machine_code"].clone()
    };
    insta::assert_snapshot!("machine-facts", format!("{:#}", facts("--arch sm_80")));
    // The PTX for sm_120f, the highest, has no machine code of its own; the newest stands for it.
    assert_eq!(facts("")["target"], "sm_90a");
    assert_eq!(facts("--arch sm_75")["target"], "sm_75");
    let outcome = gpucast(&format!("profile {scale} --arch sm_80"));
    let second = outcome.stdout.lines().nth(1);
    assert_eq!(
        second,
        Some(
            "machine code for sm_80: 12 registers per thread, 512 bytes of static shared memory, \
             0 bytes of local memory per thread"
        )
    );
    let outcome = gpucast(&format!("predict {scale} --arch sm_80 --gpu gtx-660 --format json"));
    let document: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(document["predictions"][0]["machine_code"]["registers_per_thread"]["value"], 12);
}

#[test]
fn damaged_containers_are_refused_with_a_hint() {
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("ptx-frontend/tests/containers/files");
    let read = |name: &str| fs::read(from.join(name)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let plain = read("mode-none.fatbin");
    let with = |at: usize, bytes: &[u8]| {
        let mut data = plain.clone();
        data[at..at + bytes.len()].copy_from_slice(bytes);
        data
    };
    // In the PTX behind the cubin: its data, and its size after decompression.
    let lz4 = read("mode-speed.fatbin");
    let contents = gpucast_ptx_frontend::container::open(&lz4).unwrap();
    let ptx = contents.ptx().next().unwrap().offset;
    let mut corrupt = lz4.clone();
    corrupt[ptx + 100..ptx + 120].fill(0xff);
    let mut bomb = lz4.clone();
    bomb[ptx + 56..ptx + 64].copy_from_slice(&(1_u64 << 50).to_le_bytes());
    let cases: [(&str, Vec<u8>); 9] = [
        ("cut-off.fatbin", plain[..plain.len() / 2].to_vec()),
        ("header-only.fatbin", plain[..10].to_vec()),
        ("version.fatbin", with(4, &[9])),
        ("oversized.fatbin", with(8, &u64::MAX.to_le_bytes())),
        ("oversized-entry.fatbin", with(16 + 8, &(u64::MAX - 63).to_le_bytes())),
        ("leads-back.fatbin", with(16 + 4, &0_u32.to_le_bytes())),
        ("corrupt.fatbin", corrupt),
        ("bomb.fatbin", bomb),
        ("cut-off.o", read("object.o")[..600].to_vec()),
    ];
    let mut text = String::new();
    for (name, data) in cases {
        fs::write(folder.path().join(name), data).unwrap();
        for arguments in
            [format!("check {name}"), format!("run {name} --kernel scale --grid 1 --block 1")]
        {
            let mut command = Command::new(env!("CARGO_BIN_EXE_gpucast"));
            command.current_dir(folder.path()).args(arguments.split_whitespace());
            let outcome = outcome(command);
            assert_eq!(outcome.status, 1, "{arguments}");
            assert!(outcome.stderr.contains("help: "), "{arguments}: {}", outcome.stderr);
            if arguments.starts_with("check") {
                let _ = writeln!(text, "$ gpucast {arguments}\n{}", outcome.transcript());
            }
        }
    }
    insta::assert_snapshot!("damaged-containers", text);
}

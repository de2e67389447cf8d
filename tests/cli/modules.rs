//! Modules with their launch on the command line, launch files, and buffers in files.

use std::fs;

use crate::gpucast::{gpucast, stdout};

const SAXPY: &str = "saxpy.ptx --kernel saxpy --grid 4 --block 256 --arg u32:1000 --arg f32:0.5";

#[test]
fn a_module_runs_with_arguments_of_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("y.bin");
    let out = stdout(&format!(
        "run {SAXPY} --arg buf:f32[1000]=iota --arg buf:f32[1000]=constant(1) --dump '{}'",
        format_args!("arg3={}", file.display())
    ));
    insta::assert_snapshot!("run-a-module", out);
    let expected: Vec<u8> =
        (0..1000).flat_map(|index| (0.5 * index as f32 + 1.0).to_le_bytes()).collect();
    assert_eq!(fs::read(file).unwrap(), expected);
}

#[test]
fn a_dumped_npy_file_can_be_a_buffer_again() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("y.npy");
    stdout(&format!("run saxpy.toml --dump 'y={}'", file.display()));
    let header = fs::read(&file).unwrap();
    assert!(header.starts_with(b"\x93NUMPY"));
    // y = x / 2 + 1 as x: the result of the second run tells whether it was read.
    let twice = folder.path().join("twice.bin");
    stdout(&format!(
        "run {SAXPY} --arg 'buf:f32[1000]={}' --arg buf:f32[1000] --dump 'arg3={}'",
        file.display(),
        twice.display()
    ));
    let expected: Vec<u8> =
        (0..1000).flat_map(|index| (0.25 * index as f32 + 0.5).to_le_bytes()).collect();
    assert_eq!(fs::read(twice).unwrap(), expected);
    // The wrong length and the wrong type are refused.
    let wrong = |buffer: &str| {
        let outcome = gpucast(&format!(
            "run {SAXPY} --arg 'buf:{buffer}={}' --arg buf:f32[1000]",
            file.display()
        ));
        assert_eq!(outcome.status, 1);
        outcome.stderr
    };
    assert!(wrong("f32[999]").contains("holds 1000 elements, but the buffer has 999"));
    assert!(wrong("u32[1000]").contains("but the buffer's are u32"));
}

#[test]
fn a_launch_file_checks_its_expectations() {
    insta::assert_snapshot!("run-a-launch-file", stdout("run saxpy.toml"));
}

/// A structure `{ unsigned n; float factor; float *to; }` by value, and a byte array.
const BY_VALUE: &str = ".version 7.0\n.target sm_52\n.address_size 64\n
.visible .entry fill(.param .align 8 .b8 s[16], .param .align 1 .b8 more[3])
{
    .reg .pred %p; .reg .b32 %r<4>; .reg .b64 %d<4>; .reg .f32 %f<4>;
    ld.param.u32 %r1, [s];
    ld.param.f32 %f1, [s+4];
    ld.param.u64 %d1, [s+8];
    ld.param.u8 %r3, [more+2];
    mov.u32 %r2, %tid.x;
    setp.ge.u32 %p, %r2, %r1;
    @%p ret;
    cvt.rn.f32.u32 %f2, %r3;
    add.f32 %f3, %f1, %f2;
    mul.wide.u32 %d2, %r2, 4;
    add.s64 %d3, %d1, %d2;
    st.global.f32 [%d3], %f3;
    ret;
}
";

#[test]
fn structures_are_passed_by_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("fill.ptx"), BY_VALUE).unwrap();
    let launch = format!("run {} --kernel fill --grid 1 --block 8", path("fill.ptx"));
    let dump = path("out.bin");
    let run = format!(
        "{launch} --arg struct:{{u32:3,f32:1.5,buf:f32[4]}} --arg bytes:000003 --dump arg0.2={dump}"
    );
    stdout(&run);
    let expected: Vec<u8> = [4.5_f32, 4.5, 4.5, 0.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    assert_eq!(fs::read(&dump).unwrap(), expected);
    // The same from a launch file.
    let file = "module = \"fill.ptx\"\n[buffers.out]\ntype = \"f32\"\nlen = 4\n[[launch]]\nkernel = \
                \"fill\"\ngrid = [1, 1, 1]\nblock = [8, 1, 1]\nargs = [{ struct = [{ u32 = 3 }, { f32 = \
                1.5 }, \"out\"] }, { bytes = \"0x000003\" }]\n[[expect]]\nbuffer = \"out\"\nvalues = \
                [4.5, 4.5, 4.5, 0]\n";
    fs::write(path("fill.toml"), file).unwrap();
    stdout(&format!("run {}", path("fill.toml")));
    // What does not fit is explained.
    let mut text = String::new();
    for arguments in [
        "--arg u32:3 --arg bytes:000003",
        "--arg struct:{u32:3,f32:1.5} --arg bytes:000003",
        "--arg struct:{u32:3,f32:1.5,ptr:arg7} --arg bytes:000003",
        "--arg ptr:arg0 --arg bytes:000003",
    ] {
        let outcome = gpucast(&format!("{launch} {arguments}"));
        let stderr = outcome.stderr.replace(&path("fill.ptx"), "fill.ptx");
        text += &format!("{arguments}\nstatus {}\n{stderr}\n", outcome.status);
    }
    insta::assert_snapshot!("structures-that-do-not-fit", text);
}

/// A kernel whose parameters are structures that hold one pointer.
const WRAPPED: &str = ".version 7.0\n.target sm_52\n.address_size 64\n
.visible .entry twice(.param .align 8 .b8 from[8], .param .align 8 .b8 to[8])
{
    .reg .b64 %d<6>; .reg .b32 %r; .reg .f32 %f<3>;
    ld.param.b64 %d1, [from];
    ld.param.b64 %d2, [to];
    mov.u32 %r, %tid.x;
    mul.wide.u32 %d3, %r, 4;
    add.s64 %d4, %d1, %d3;
    add.s64 %d5, %d2, %d3;
    ld.global.f32 %f1, [%d4];
    add.f32 %f2, %f1, %f1;
    st.global.f32 [%d5], %f2;
    ret;
}
";

#[test]
fn a_buffer_is_a_structure_that_holds_one_pointer() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("twice.ptx"), WRAPPED).unwrap();
    let run = format!("run {} --grid 1 --block 8 --arg buf:f32[8]=iota", path("twice.ptx"));
    stdout(&format!("{run} --arg buf:f32[8] --dump arg1={}", path("to.bin")));
    let expected: Vec<u8> = (0..8).flat_map(|index| (2.0 * index as f32).to_le_bytes()).collect();
    assert_eq!(fs::read(path("to.bin")).unwrap(), expected);
    // Counting by slices passes it as well.
    let launch =
        format!("{} --grid 1 --block 8 --arg buf:f32[8] --arg buf:f32[8]", path("twice.ptx"));
    stdout(&format!("profile {launch} --machine rules --format csv"));
}

/// A failed compilation leaves such files behind.
#[test]
fn a_file_without_kernels_says_so_to_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    fs::write(path("empty.ptx"), "").unwrap();
    fs::write(path("none.ptx"), ".version 7.0\n.target sm_52\n.address_size 64\n").unwrap();
    for command in ["run", "profile", "predict --gpu a100", "advise --gpu a100"] {
        for (file, message) in [("empty.ptx", "the text is empty"), ("none.ptx", "has no kernel")] {
            let refused = gpucast(&format!("{command} {} --grid 1 --block 1", path(file)));
            assert_eq!(refused.status, 1, "{command}: {}", refused.stderr);
            assert!(refused.stderr.contains(message), "{command}: {}", refused.stderr);
        }
        let program = gpucast(&format!("{command} {}", env!("CARGO_BIN_EXE_gpucast")));
        assert_eq!(program.status, 1, "{command}: {}", program.stderr);
        assert!(!program.stderr.contains("is a module"), "{command}: {}", program.stderr);
    }
}

#[test]
fn check_reports_what_code_needs_and_what_is_not_executed() {
    let outcome = gpucast("check ../../interpreter/tests/kernels/triton/matmul_sm_90.ptx");
    insta::assert_snapshot!("check-wgmma", outcome.transcript());
    let outcome = gpucast("check ../../ptx-frontend/tests/valid/hopper.ptx");
    insta::assert_snapshot!("check-hopper", outcome.transcript());
    let outcome = gpucast("check ../../ptx-frontend/tests/valid/fabric.ptx");
    insta::assert_snapshot!("check-not-executed", outcome.transcript());
}

//! Registers where no assembler tells them: what refuses a launch, and what only may.

use std::fmt::Write as _;

use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, LaunchOptions};
use gpucast_model::{GpuLibrary, Warning};

use crate::common::launch_file;

/// The launch of `blocks` blocks of `threads` threads on an A100, by rules. Each thread loads
/// `words` words, and stores each with the sum of all.
fn warnings(words: u32, blocks: u32, threads: u32, registers: Option<u32>) -> Vec<&'static str> {
    let mut ptx = ".version 7.8\n.target sm_80\n.address_size 64\n".to_owned();
    ptx += ".visible .entry k(.param .u64 p) {\n.reg .b64 %d; .reg .b32 %t;\n";
    write!(ptx, ".reg .b32 %r<{words}>;\nld.param.u64 %d, [p];\nmov.u32 %t, 0;\n").unwrap();
    for at in 0..words {
        writeln!(ptx, "ld.global.b32 %r{at}, [%d+{}];", 4 * at).unwrap();
    }
    for at in 0..words {
        writeln!(ptx, "add.s32 %t, %t, %r{at};").unwrap();
    }
    for at in 0..words {
        write!(ptx, "add.s32 %r{at}, %r{at}, %t;\nst.global.b32 [%d+{}], %r{at};\n", 4 * at)
            .unwrap();
    }
    ptx += "ret;\n}\n";
    let launch = format!(
        "[buffers.p]\ntype = \"u32\"\nlen = 1024\n[[launch]]\nkernel = \"k\"\n\
         grid = [{blocks}, 1, 1]\nblock = [{threads}, 1, 1]\nargs = [\"p\"]\n"
    );
    let kernel = launch_file(&ptx, &launch, &LaunchOptions::default()).unwrap();
    let gpu = GpuLibrary::builtin().unwrap().get("a100-sxm-40gb").unwrap();
    let machine =
        MachineSettings { machine: MachineChoice::Rules, registers, ..MachineSettings::default() };
    let counts = Counts { machine, ..Counts::default() };
    let sources = kernel.count_with(&gpu, &counts, &Alone).unwrap();
    let shape = sources[0].conditions.launch.unwrap();
    let warnings = shape.refused_by(&gpu).into_iter().chain(shape.depends_on_registers(&gpu));
    warnings.chain(shape.spills()).map(|warning: Warning| warning.code()).collect()
}

#[test]
fn estimated_registers_refuse_a_launch_or_say_that_they_may() {
    // 101 words: 67 registers are more than the 64 that each of 1,024 threads can have.
    assert_eq!(warnings(98, 1, 1024, None), ["unlaunchable"]);
    // 75 words may be 50 registers, or 112.
    assert_eq!(warnings(72, 1, 1024, None), ["estimated-registers"]);
    // About 35 registers fit with all of their range.
    assert!(warnings(30, 1000, 1024, None).is_empty());
    // Blocks of 64 threads: 12 registers may be 24, with which the SM holds as many.
    assert!(warnings(4, 100_000, 64, None).is_empty());
    // 51 words are 56 registers and four blocks of 256 threads; 76 are 80 and three.
    assert_eq!(warnings(48, 1000, 256, None), ["estimated-registers"]);
    // The grid does not need the third.
    assert!(warnings(48, 200, 256, None).is_empty());
    // Who states registers knows them.
    assert_eq!(warnings(98, 1, 1024, Some(72)), ["unlaunchable"]);
    assert!(warnings(72, 1, 1024, Some(64)).is_empty());
}

/// `ptxas` 12.9 spills 644 bytes of each thread at 32 registers, and nothing at 80.
#[test]
fn registers_that_are_too_few_are_told() {
    assert_eq!(warnings(72, 1, 256, Some(32)), ["uncounted-spills"]);
    assert!(warnings(72, 1, 256, Some(80)).is_empty());
}

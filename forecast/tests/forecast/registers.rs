//! Registers where no assembler tells them: what refuses a launch, and what only may.

use std::fmt::Write as _;

use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, LaunchOptions};
use gpucast_model::{GpuLibrary, Warning};

use crate::common::launch_file;

/// The warnings of a launch of `blocks` blocks of `threads` threads, each of which holds about
/// `words` words, on an A100, by rules.
fn warnings(words: u32, blocks: u32, threads: u32, registers: Option<u32>) -> Vec<&'static str> {
    let mut ptx = ".version 7.8\n.target sm_80\n.address_size 64\n".to_owned();
    write!(ptx, ".visible .entry k(.param .u64 p) {{\n.reg .b64 %d; .reg .b32 %r<{words}>;\n")
        .unwrap();
    ptx += "ld.param.u64 %d, [p];\n";
    for at in 0..words {
        writeln!(ptx, "ld.global.b32 %r{at}, [%d+{}];", 4 * at).unwrap();
    }
    for at in 1..words {
        writeln!(ptx, "add.s32 %r0, %r0, %r{at};").unwrap();
    }
    ptx += "st.global.b32 [%d], %r0;\nret;\n}\n";
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
    warnings.map(|warning: Warning| warning.code()).collect()
}

#[test]
fn estimated_registers_refuse_a_launch_or_say_that_they_may() {
    // 100 words: 66 registers are more than the 64 that each of 1,024 threads can have.
    assert_eq!(warnings(98, 1, 1024, None), ["unlaunchable"]);
    // 74 words may be 49 registers, or 98.
    assert_eq!(warnings(72, 1, 1024, None), ["estimated-registers"]);
    // 40 words fit with all of their range.
    assert!(warnings(38, 1000, 1024, None).is_empty());
    // Blocks of 64 threads: 20 words may take 32 registers, with which the SM holds as many.
    assert!(warnings(18, 100_000, 64, None).is_empty());
    // 50 words are 56 registers and four blocks of 256 threads; 66 are 72 and three.
    assert_eq!(warnings(48, 1000, 256, None), ["estimated-registers"]);
    // The grid does not need the fourth.
    assert!(warnings(48, 300, 256, None).is_empty());
    // Who states registers knows them.
    assert!(warnings(98, 1, 1024, Some(64)).is_empty());
    assert_eq!(warnings(98, 1, 1024, Some(72)), ["unlaunchable"]);
}

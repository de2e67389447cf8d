//! Passes over the banks of shared memory where machine code joins accesses.

use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, LaunchOptions};
use gpucast_model::component_throughput::Analysis;
use gpucast_model::{GpuLibrary, Needs};

use crate::common::launch_file;

/// Four loads of neighbouring words: each has conflicts of four lanes by itself, and 16 bytes of
/// each lane take four passes together.
#[test]
fn stages_have_the_passes_of_joined_accesses() {
    let mut ptx = ".version 7.8\n.target sm_80\n.address_size 64\n\
        .visible .entry k(.param .u64 p) {\n.shared .align 16 .b8 tile[4096];\n\
        .reg .b64 %d<3>; .reg .b32 %r<8>; .reg .f32 %f<5>;\nld.param.u64 %d0, [p];\n\
        mov.u32 %r0, %tid.x;\nshl.b32 %r1, %r0, 4;\nmov.u32 %r2, tile;\nadd.u32 %r3, %r2, %r1;\n\
        cvt.rn.f32.u32 %f0, %r0;\nst.shared.v4.f32 [%r3], {%f0, %f0, %f0, %f0};\nbar.sync 0;\n"
        .to_owned();
    for at in 0..4 {
        ptx += &format!("ld.shared.f32 %f{}, [%r3+{}];\n", at + 1, 4 * at);
    }
    ptx += "add.f32 %f1, %f1, %f2;\nadd.f32 %f3, %f3, %f4;\nadd.f32 %f1, %f1, %f3;\n\
        mul.wide.u32 %d1, %r0, 4;\nadd.s64 %d2, %d0, %d1;\nst.global.f32 [%d2], %f1;\nret;\n}\n";
    let launch = "[buffers.p]\ntype = \"f32\"\nlen = 1024\n[[launch]]\nkernel = \"k\"\n\
                  grid = [10, 1, 1]\nblock = [256, 1, 1]\nargs = [\"p\"]\n";
    let kernel = launch_file(&ptx, launch, &LaunchOptions::default()).unwrap();
    let gpu = GpuLibrary::builtin().unwrap().get("a100-sxm-40gb").unwrap();
    let passes = |machine| {
        let machine = MachineSettings { machine, ..MachineSettings::default() };
        let counts = Counts { machine, needs: Needs::STAGES, ..Counts::default() };
        let sources = kernel.count_with(&gpu, &counts, &Alone).unwrap();
        let analysis = Analysis::of(&sources[0].profile, &gpu, &sources[0].conditions).unwrap();
        let all = analysis.work.combined(1.0);
        (all.passes.round(), all.conflict_free.round())
    };
    // Of 80 warps. The store takes four passes in each case.
    assert_eq!(passes(MachineChoice::None), (80.0 * (16.0 + 4.0), 80.0 * (4.0 + 4.0)));
    assert_eq!(passes(MachineChoice::Rules), (80.0 * (4.0 + 4.0), 80.0 * (4.0 + 4.0)));
}

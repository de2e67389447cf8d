//! Launches acted out by hand: what the interpreter would report, without it.

mod accesses;
mod caches;
mod local_memory;

use gpucast_interpreter::{
    ALIKE_BYTES, Access, AccessKind, Further, FurtherAccess, GridBox, Pattern, Recorder, Tally,
    TensorUse,
};
use gpucast_ptx_frontend::ScalarType;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::source::Span;
use gpucast_ptx_frontend::types::StateSpace;

use super::*;
use crate::banks::BankGeometry;
use crate::coalescing::{Protocol, SectorSize};
use crate::hierarchy::{L2, L2Contents, L2Geometry, PartialWrites, Replacement};
use crate::machine::{BackEnd, KnownAccesses, MachineAccess, MachineProfile, MachineRow};
use crate::metric::{Kind, Number};
use crate::occupancy::Limiter;
use crate::operation::{FlopKind, Flops, Precision};
use crate::recorder::Route;
use crate::table::Description;
use gpucast_ptx_frontend::ComputeCapability;

const LOAD: u32 = 0;
const STORE: u32 = 1;

fn description(opcode: Opcode, class: InstructionClass) -> Description {
    Description {
        opcode,
        class,
        flops: None,
        tensor: None,
        line: 1,
        span: Span::default(),
        location: None,
    }
}

/// One block: a load and a store.
fn copy_code() -> Code {
    Code {
        kernel: "copy".to_owned(),
        blocks: vec![(0, 2)],
        guarded: vec![],
        instructions: vec![
            description(Opcode::Ld, InstructionClass::LoadStore),
            description(Opcode::St, InstructionClass::LoadStore),
        ],
        routes: [Route::default(); 2].into(),
    }
}

fn launch(ctas: u32, threads: u32) -> Launch {
    let (grid, block) = ([ctas, 1, 1], [threads, 1, 1]);
    Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments: vec![] }
}

/// A full warp whose lanes touch consecutive 4-byte words of global memory.
fn words(instruction: u32, warp: u32, time: u64, address: u64) -> Access<'static> {
    // The lanes' addresses follow from the first one, as the pattern says.
    let addresses = Box::leak(Box::new([address; 32]));
    Access {
        instruction,
        warp,
        time,
        space: StateSpace::Global,
        kind: if instruction == STORE { AccessKind::Store } else { AccessKind::Load },
        bytes_per_lane: 4,
        mask: !0,
        pattern: Pattern::Consecutive,
        addresses,
        continues: false,
        distances: None,
    }
}

/// Runs `cta` for each CTA of the launch, wave by wave as the interpreter does, on recorders
/// that are used again.
fn run(counter: &mut Counter, ctas: u64, mut cta: impl FnMut(u64, &mut CtaRecorder)) {
    let mut recorders: Vec<_> = (0..counter.wave()).map(|_| counter.cta_recorder()).collect();
    let mut first = 0;
    while first < ctas {
        let wave = (ctas - first).min(counter.wave() as u64);
        let recorders = &mut recorders[..wave as usize];
        for (index, recorder) in recorders.iter_mut().enumerate() {
            cta(first + index as u64, recorder);
        }
        counter.collect(first, &mut recorders.iter_mut().collect::<Vec<_>>());
        first += wave;
    }
}

fn count(profile: &LaunchProfile, name: &str) -> u128 {
    match profile.metrics[name].value {
        Number::Count(count) => count,
        Number::Real(real) => panic!("{name} is {real}"),
    }
}

/// The counts of one access by one warp on a device.
fn counts_of(device: DeviceModel, access: &Access<'_>) -> (MemoryCounts, LaunchProfile) {
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, device);
    run(&mut counter, 1, |_, recorder| {
        recorder.block(0, 0, !0);
        recorder.access(access);
    });
    let (profile, _) = counter.finish();
    (profile.table.rows[access.instruction as usize].memory[0], profile)
}

fn gpu(major: u32, minor: u32) -> DeviceModel {
    let l2 = if major == 1 { L2Geometry::NONE } else { L2Geometry::GTX_480 };
    DeviceModel::for_capability(ComputeCapability::new(major, minor), 15, l2).unwrap()
}

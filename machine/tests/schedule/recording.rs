//! A launch that is executed, with its counts and the blocks and accesses of every warp.

use std::collections::BTreeMap;

use gpucast_counters::table::BaseTable;
use gpucast_counters::trace::{BlockVisit, ClassTrace, CtaRecord, LaunchTrace, WarpRecord};
use gpucast_counters::{Counter, DeviceModel};
use gpucast_interpreter::{
    Access, Argument, DeviceMemory, Launch, Observer, Options, Program, Recorder, Schedule, Silent,
    run,
};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use gpucast_simulation::code::Space;
use gpucast_simulation::launch::{Beside, CtaRun, Request};

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Given {
    /// A buffer of so many bytes, zeros.
    Zeros(u64),
    Number(u32),
}

/// A launch that has run.
pub(crate) struct Recorded {
    pub(crate) program: Program,
    pub(crate) table: BaseTable,
    /// Every CTA, each as a class of its own.
    pub(crate) trace: LaunchTrace,
}

/// Keeps the blocks and accesses of a CTA.
#[derive(Default)]
struct Warps(Vec<WarpRecord>);

impl Warps {
    fn warp(&mut self, warp: u32) -> &mut WarpRecord {
        let count = self.0.len().max(warp as usize + 1);
        self.0.resize(count, WarpRecord::default());
        &mut self.0[warp as usize]
    }
}

impl Recorder for Warps {
    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        self.warp(warp).blocks.push(BlockVisit { block, lanes: mask.count_ones() });
    }

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        let space = match access.space {
            StateSpace::Shared => Space::Shared,
            StateSpace::Global => Space::Global,
            StateSpace::Local => Space::Local,
            _ => return,
        };
        let request = Request {
            space,
            lanes: access.mask.count_ones() as u8,
            lines: 1,
            passes: 1,
            serial: 1,
            is_paired: false,
            l1_sectors: 0,
            l2_sectors: 4,
            dram_sectors: 0,
            fetched_ago: None,
            first_sector: None,
            beside: Beside::Nothing,
        };
        self.warp(access.warp).requests.entry(access.instruction).or_default().push(request);
    }
}

#[derive(Default)]
struct Ctas(Vec<CtaRecord>);

impl Observer for Ctas {
    type Recorder = Warps;

    fn recorder(&self, _program: &Program) -> Warps {
        Warps::default()
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut Warps]) {
        for (cta, recorder) in (first_cta..).zip(recorders) {
            self.0.push(CtaRecord { cta, warps: std::mem::take(&mut recorder.0) });
        }
    }

    fn fresh(&self) -> Self {
        Self::default()
    }
}

/// Executes a kernel.
pub(crate) fn record(
    text: &str,
    kernel: &str,
    grid: [u32; 3],
    block: [u32; 3],
    given: &[Given],
) -> Recorded {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, kernel).unwrap();
    let mut memory = DeviceMemory::new();
    let arguments = given.iter().enumerate().map(|(number, one)| match *one {
        Given::Zeros(bytes) => {
            Argument::Address(memory.allocate(&format!("buffer {number}"), bytes).unwrap())
        }
        Given::Number(number) => Argument::Scalar { ty: ScalarType::U32, bits: number.into() },
    });
    let arguments = arguments.collect();
    let launch = Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments };
    let shared = program.static_shared_bytes();
    let counter = Counter::new(&program, &launch, shared, DeviceModel::GTX_480);
    let mut both = (counter, Ctas::default());
    let options = Options { schedule: Schedule::Ordered, ..Options::default() };
    run(&program, &launch, &mut memory, &mut both, &options, &Silent).unwrap();
    let (profile, _) = both.0.finish();
    let instructions = |warp: &WarpRecord| -> u64 {
        let of = |visit: &BlockVisit| program.blocks()[visit.block as usize].instruction_count;
        warp.blocks.iter().map(|visit| u64::from(of(visit))).sum()
    };
    let class = |cta: CtaRecord| ClassTrace {
        ctas: 1,
        warp_instructions: cta.warps.iter().map(instructions).sum(),
        samples: vec![cta],
    };
    let classes: Vec<ClassTrace> = both.1.0.into_iter().map(class).collect();
    let order = (0..classes.len() as u32).map(|class| CtaRun { class, ctas: 1 }).collect();
    let trace =
        LaunchTrace { classes, order, dram_writes_per_store: 0.5, ..LaunchTrace::default() };
    let table = profile.table;
    Recorded { program, table, trace }
}

/// Executions of each mnemonic for each PTX instruction.
pub(crate) type Counts = BTreeMap<(u32, String), u64>;

//! Collects the CTAs of one launch into its profile.

use gpucast_interpreter::{Launch, Observer, Program};

use crate::device::{CtaShape, DeviceModel};
use crate::l2::{L2, L2Traffic};
use crate::launch_profile::LaunchProfile;
use crate::recorder::{
    BlockCount, BranchCounts, CtaRecorder, MemoryCounts, RecorderShape, instruction_of_row,
};
use crate::sparse::SparseRows;
use crate::stream::{Stream, replay};
use crate::table::{BaseTable, Description, Row};

/// Requests of one wave that are kept for the L2, 24 bytes each: 400 MB at most.
const REQUESTS_PER_WAVE: usize = 1 << 24;

/// The static side of a program, as far as counting needs it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Code {
    pub(crate) kernel: String,
    /// First instruction and number of instructions of each block.
    pub(crate) blocks: Vec<(u32, u32)>,
    /// The guarded instructions, in the order of their lane counts.
    pub(crate) guarded: Vec<u32>,
    pub(crate) instructions: Vec<Description>,
}

impl Code {
    fn of(program: &Program) -> Self {
        let block = |block: &gpucast_interpreter::program::Block| {
            (block.first_instruction, block.instruction_count)
        };
        Self {
            kernel: program.kernel().to_owned(),
            blocks: program.blocks().iter().map(block).collect(),
            guarded: program.guarded().to_vec(),
            instructions: program.instructions().iter().map(Description::of).collect(),
        }
    }
}

/// Counts one launch of one program as a profiler on the modelled device would.
///
/// ```text
/// let mut counter = Counter::new(&program, &launch, program.static_shared_bytes(), device);
/// run(&program, &launch, &mut memory, &mut counter, &options, &progress)?;
/// let (profile, _l2) = counter.finish();
/// ```
#[derive(Debug)]
pub struct Counter {
    code: Code,
    grid: [u32; 3],
    block: [u32; 3],
    wave: usize,
    shape: RecorderShape,
    l2: L2,
    blocks: Vec<BlockCount>,
    guarded_lanes: Vec<u64>,
    branches: SparseRows<BranchCounts>,
    memory: SparseRows<MemoryCounts>,
    left_out_sectors: u64,
}

impl Counter {
    /// A counter for `launch` of `program`, whose CTAs have `static_shared_bytes` of shared
    /// memory besides the launch's dynamic ones. The L2 starts cold.
    #[must_use]
    pub fn new(
        program: &Program,
        launch: &Launch,
        static_shared_bytes: u64,
        device: DeviceModel,
    ) -> Self {
        Self::for_code(Code::of(program), launch, static_shared_bytes, device)
    }

    pub(crate) fn for_code(
        code: Code,
        launch: &Launch,
        static_shared_bytes: u64,
        device: DeviceModel,
    ) -> Self {
        let wave = device.wave(CtaShape {
            threads: launch.threads_per_cta(),
            shared_bytes: static_shared_bytes + u64::from(launch.dynamic_shared_bytes),
        });
        let shape = RecorderShape {
            instructions: code.instructions.len(),
            blocks: code.blocks.len(),
            guarded: code.guarded.len(),
            banks: device.banks,
            stream_limit: REQUESTS_PER_WAVE / wave,
        };
        let totals = CtaRecorder::new(&shape);
        Self {
            code,
            grid: launch.grid,
            block: launch.block,
            wave,
            shape,
            l2: L2::new(device.l2),
            blocks: totals.blocks,
            guarded_lanes: totals.guarded_lanes,
            branches: totals.branches,
            memory: totals.memory,
            left_out_sectors: 0,
        }
    }

    /// Goes on with the contents that an earlier launch left in the L2, as
    /// [`Counter::finish`] returns them, for launches that follow each other without anything
    /// in between.
    #[must_use]
    pub fn with_l2(mut self, l2: L2) -> Self {
        self.l2 = l2;
        self.l2.take_traffic();
        self
    }

    /// A recorder for one CTA.
    #[must_use]
    pub fn cta_recorder(&self) -> CtaRecorder {
        CtaRecorder::new(&self.shape)
    }

    /// The profile of the launch, and the L2 with its contents written back.
    #[must_use]
    pub fn finish(mut self) -> (LaunchProfile, L2) {
        self.l2.flush();
        let traffic = self.l2.take_traffic();
        let table = self.table();
        let profile = LaunchProfile::new(
            self.code.kernel,
            self.grid,
            self.block,
            table,
            traffic,
            self.left_out_sectors,
        );
        (profile, self.l2)
    }

    fn table(&self) -> BaseTable {
        let row = |(instruction, description): (usize, &Description)| Row {
            instruction: instruction as u32,
            description: *description,
            warp_executions: 0,
            issued_lanes: 0,
            thread_executions: 0,
            branch: None,
            memory: Vec::new(),
        };
        let mut rows: Vec<Row> = self.code.instructions.iter().enumerate().map(row).collect();
        for (&(first, instructions), count) in self.code.blocks.iter().zip(&self.blocks) {
            for row in rows.iter_mut().skip(first as usize).take(instructions as usize) {
                row.warp_executions += count.warps;
                row.issued_lanes += count.lanes;
                row.thread_executions += count.lanes;
            }
        }
        for (&instruction, &lanes) in self.code.guarded.iter().zip(&self.guarded_lanes) {
            if let Some(row) = rows.get_mut(instruction as usize) {
                row.thread_executions = lanes;
            }
        }
        for (instruction, counts) in self.branches.iter() {
            if let Some(row) = rows.get_mut(instruction as usize) {
                row.branch = Some(*counts);
            }
        }
        for (key, counts) in self.memory.iter() {
            if let Some(row) = rows.get_mut(instruction_of_row(key) as usize) {
                row.memory.push(*counts);
            }
        }
        for row in &mut rows {
            row.memory.sort_by_key(|counts| counts.space);
        }
        BaseTable { rows }
    }
}

impl Observer for Counter {
    type Recorder = CtaRecorder;

    fn recorder(&self, _program: &Program) -> CtaRecorder {
        self.cta_recorder()
    }

    fn wave(&self) -> usize {
        self.wave
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut CtaRecorder]) {
        for recorder in recorders.iter_mut() {
            for (total, count) in self.blocks.iter_mut().zip(&recorder.blocks) {
                total.warps += count.warps;
                total.lanes += count.lanes;
            }
            for (total, lanes) in self.guarded_lanes.iter_mut().zip(&recorder.guarded_lanes) {
                *total += lanes;
            }
            for (instruction, counts) in recorder.branches.iter() {
                let total = self.branches.row(instruction);
                total.taken_lanes += counts.taken_lanes;
                total.divergent += counts.divergent;
            }
            for (key, counts) in recorder.memory.iter() {
                self.memory.row(key).add(counts);
            }
            self.left_out_sectors += recorder.stream.take_left_out_sectors();
        }
        let mut streams: Vec<&mut Stream> =
            recorders.iter_mut().map(|recorder| &mut recorder.stream).collect();
        let memory = &mut self.memory;
        replay(&mut streams, &mut self.l2, |row, sectors| {
            memory.row(row).dram_read_sectors += u64::from(sectors);
        });
        recorders.iter_mut().for_each(|recorder| recorder.clear());
    }
}

/// What the L2 would have done if every request had been replayed: as the replayed ones did, in
/// proportion.
pub(crate) fn extrapolate(traffic: L2Traffic, left_out_sectors: u64) -> L2Traffic {
    let replayed = traffic.read_sectors + traffic.write_sectors + traffic.update_sectors;
    let scale = |sectors: u64| match u128::from(replayed) {
        0 => sectors,
        replayed => {
            let all = replayed + u128::from(left_out_sectors);
            (u128::from(sectors) * all / replayed) as u64
        }
    };
    L2Traffic {
        dram_read_sectors: scale(traffic.dram_read_sectors),
        dram_write_sectors: scale(traffic.dram_write_sectors),
        ..traffic
    }
}

#[cfg(test)]
mod tests;

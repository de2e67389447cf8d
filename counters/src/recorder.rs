//! Counts the events of one CTA.
//!
//! The methods run inside the interpreter's inner loop: a block costs two additions, and an
//! access whose lanes share an address or are consecutive is counted without looking at them.

use gpucast_interpreter::{Access, AccessKind, Pattern, Recorder};
use gpucast_ptx_frontend::types::StateSpace;

use crate::banks::BankGeometry;
use crate::coalescing::{Footprint, LINE_BYTES, LineTouch, contiguous};
use crate::l2::L2Operation;
use crate::sparse::SparseRows;
use crate::stream::{LOCAL_LINES_PER_WARP, Request, Stream};

/// How often a block ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockCount {
    pub(crate) warps: u64,
    pub(crate) lanes: u64,
}

/// How the lanes of a conditional branch decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchCounts {
    /// Lanes that branched.
    pub taken_lanes: u64,
    /// Executions by a warp of which some lanes branched and others did not.
    pub divergent: u64,
}

/// What one memory instruction did to one state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryCounts {
    /// The space; generic addresses are resolved.
    pub space: StateSpace,
    /// What it does.
    pub kind: AccessKind,
    /// Executions by a warp with at least one lane that takes part.
    pub requests: u64,
    /// Bytes that the lanes asked for, each lane's counted.
    pub requested_bytes: u64,
    /// Distinct 32-byte sectors of each request, summed (global and local memory).
    pub sectors: u64,
    /// Distinct 128-byte lines of each request, summed (global and local memory).
    pub transactions: u64,
    /// Passes over the banks (shared memory), or over distinct addresses (constant memory).
    pub passes: u64,
    /// DRAM read transactions that its requests caused.
    pub dram_read_sectors: u64,
}

impl Default for MemoryCounts {
    fn default() -> Self {
        Self {
            space: StateSpace::Global,
            kind: AccessKind::Load,
            requests: 0,
            requested_bytes: 0,
            sectors: 0,
            transactions: 0,
            passes: 0,
            dram_read_sectors: 0,
        }
    }
}

impl MemoryCounts {
    /// Adds other counts of the same instruction and space.
    pub fn add(&mut self, other: &Self) {
        self.space = other.space;
        self.kind = other.kind;
        self.requests += other.requests;
        self.requested_bytes += other.requested_bytes;
        self.sectors += other.sectors;
        self.transactions += other.transactions;
        self.passes += other.passes;
        self.dram_read_sectors += other.dram_read_sectors;
    }
}

/// The model that answers for accesses to a state space.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Path {
    /// Global memory and textures: lines and sectors, to the L2.
    Global,
    /// Local memory: the same, but interleaved by thread.
    Local,
    /// Shared memory: banks.
    Shared,
    /// Constants and parameters: one address per pass, no traffic. Their caches hold some KB per
    /// SM, and what misses there is far below what loads and stores move.
    Constant,
}

impl Path {
    fn of(space: StateSpace) -> Self {
        match space {
            StateSpace::Global | StateSpace::Tex => Self::Global,
            StateSpace::Local => Self::Local,
            StateSpace::Shared => Self::Shared,
            StateSpace::Const | StateSpace::Param | StateSpace::Reg | StateSpace::Sreg => {
                Self::Constant
            }
        }
    }
}

/// How many rows an instruction may have: one for each [`StateSpace`].
const SPACES: u32 = 8;

/// The row of `instruction` for accesses of `kind` to `space`.
///
/// A copy from one shared memory to another reads and writes the same space, and tells an mbarrier
/// there: reads and updates of shared memory take the places of registers, which no access goes to.
fn row_key(instruction: u32, space: StateSpace, kind: AccessKind) -> u32 {
    let place = match (space, kind) {
        (StateSpace::Shared, AccessKind::Load | AccessKind::LoadReadOnly) => StateSpace::Reg,
        (StateSpace::Shared, AccessKind::Atomic | AccessKind::Reduction) => StateSpace::Sreg,
        (space, _) => space,
    };
    instruction * SPACES + place as u32
}

/// The instruction that a row belongs to.
pub(crate) fn instruction_of_row(key: u32) -> u32 {
    key / SPACES
}

/// Sizes and parameters of a recorder.
#[derive(Clone, Copy, Debug)]
pub struct RecorderShape {
    /// Static instructions of the program.
    pub instructions: usize,
    /// Basic blocks of the program.
    pub blocks: usize,
    /// Guarded instructions of the program.
    pub guarded: usize,
    /// The banks of shared memory.
    pub banks: BankGeometry,
    /// Requests to the L2 that are kept for one CTA.
    pub stream_limit: usize,
}

/// The counts of one CTA.
#[derive(Clone, Debug)]
pub struct CtaRecorder {
    pub(crate) blocks: Vec<BlockCount>,
    pub(crate) guarded_lanes: Vec<u64>,
    pub(crate) branches: SparseRows<BranchCounts>,
    pub(crate) memory: SparseRows<MemoryCounts>,
    pub(crate) stream: Stream,
    banks: BankGeometry,
    footprint: Footprint,
}

impl CtaRecorder {
    /// A recorder that has seen nothing.
    #[must_use]
    pub fn new(shape: &RecorderShape) -> Self {
        Self {
            blocks: vec![BlockCount::default(); shape.blocks],
            guarded_lanes: vec![0; shape.guarded],
            branches: SparseRows::new(shape.instructions),
            memory: SparseRows::new(shape.instructions * SPACES as usize),
            stream: Stream::new(shape.stream_limit),
            banks: shape.banks,
            footprint: Footprint::new(),
        }
    }

    /// Forgets the CTA.
    pub fn clear(&mut self) {
        self.blocks.fill(BlockCount::default());
        self.guarded_lanes.fill(0);
        self.branches.clear();
        self.memory.clear();
        self.stream.clear();
    }

    #[inline]
    fn shared(&mut self, access: &Access<'_>) -> u64 {
        let passes = match access.pattern {
            Pattern::Uniform | Pattern::Consecutive => self.banks.regular(access.bytes_per_lane),
            Pattern::General => {
                self.banks.gather(access.mask, access.addresses, access.bytes_per_lane)
            }
        };
        u64::from(passes.passes)
    }

    /// Sends the lines of a global access to the L2; returns sectors and lines.
    fn global(&mut self, access: &Access<'_>, request: Request) -> (u64, u64) {
        let bytes = u64::from(access.bytes_per_lane);
        let first = access.addresses[0];
        match access.pattern {
            Pattern::Uniform => send(&mut self.stream, request, contiguous(first, bytes)),
            Pattern::Consecutive => send(&mut self.stream, request, contiguous(first, 32 * bytes)),
            // A bulk copy: one long range.
            Pattern::General if bytes >= LINE_BYTES && access.mask.is_power_of_two() => {
                let first = access.addresses[access.mask.trailing_zeros() as usize];
                send(&mut self.stream, request, contiguous(first, bytes))
            }
            Pattern::General => {
                self.footprint.gather(access.mask, access.addresses, access.bytes_per_lane);
                send(&mut self.stream, request, self.footprint.lines().iter().copied())
            }
        }
    }

    /// As [`CtaRecorder::global`], for local memory.
    ///
    /// Local memory is laid out so that the same 32-bit word of consecutive threads is
    /// consecutive (CUDA C Programming Guide 4.2, section 5.3.2.2): word `w` of lane `l` is word
    /// `32·w + l` of the warp's region, so that one word of a whole warp is one line.
    fn local(&mut self, access: &Access<'_>, request: Request) -> (u64, u64) {
        let bytes = u64::from(access.bytes_per_lane);
        let footprint = &mut self.footprint;
        footprint.clear();
        let mut lanes = access.mask;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            let mut at = access.addresses[lane];
            let end = at.saturating_add(bytes);
            while at < end {
                let in_word = at % 4;
                let step = (4 - in_word).min(end - at);
                let line = (at / 4) % LOCAL_LINES_PER_WARP;
                footprint.touch(line * LINE_BYTES + lane as u64 * 4 + in_word, step);
                at += step;
            }
        }
        footprint.finish();
        send(&mut self.stream, request, footprint.lines().iter().copied())
    }
}

/// Pushes one request for each line; returns sectors and lines.
#[inline]
fn send(
    stream: &mut Stream,
    request: Request,
    lines: impl Iterator<Item = LineTouch>,
) -> (u64, u64) {
    let (mut sectors, mut transactions) = (0, 0);
    for touch in lines {
        sectors += u64::from(touch.sectors.count_ones());
        transactions += 1;
        stream.push(request.with(touch));
    }
    (sectors, transactions)
}

/// How many different addresses the lanes of `mask` use.
fn distinct(mask: u32, addresses: &[u64; 32]) -> u64 {
    let mut rest = mask;
    let mut count = 0;
    while rest != 0 {
        let address = addresses[rest.trailing_zeros() as usize];
        let same = (0..32)
            .fold(0, |same, lane| same | u32::from(addresses[lane as usize] == address) << lane);
        rest &= !same;
        count += 1;
    }
    count
}

impl Recorder for CtaRecorder {
    #[inline]
    fn block(&mut self, _warp: u32, block: u32, mask: u32) {
        let count = &mut self.blocks[block as usize];
        count.warps += 1;
        count.lanes += u64::from(mask.count_ones());
    }

    #[inline]
    fn guarded_lanes(&mut self, lanes: &[u64]) {
        self.guarded_lanes.clear();
        self.guarded_lanes.extend_from_slice(lanes);
    }

    #[inline]
    fn branch(&mut self, instruction: u32, active: u32, taken: u32) {
        let counts = self.branches.row(instruction);
        counts.taken_lanes += u64::from((taken & active).count_ones());
        counts.divergent += u64::from(taken & active != 0 && !taken & active != 0);
    }

    // The executor calls it from several places; where it is a call, that costs 5 % of sgemm.
    #[inline(always)]
    fn access(&mut self, access: &Access<'_>) {
        let key = row_key(access.instruction, access.space, access.kind);
        let path = Path::of(access.space);
        let (mut sectors, mut transactions, mut passes) = (0, 0, 0);
        match path {
            Path::Shared => passes = self.shared(access),
            Path::Constant => {
                passes = match access.pattern {
                    Pattern::Uniform => 1,
                    Pattern::Consecutive | Pattern::General => {
                        distinct(access.mask, access.addresses)
                    }
                };
            }
            Path::Global | Path::Local => {
                let operation = match access.kind {
                    AccessKind::Load | AccessKind::LoadReadOnly => L2Operation::Read,
                    AccessKind::Store => L2Operation::Write,
                    AccessKind::Atomic | AccessKind::Reduction => L2Operation::Update,
                };
                let time = Request::key(access.time, access.warp);
                let request = Request::new(time, key, operation, path == Path::Local);
                (sectors, transactions) = if path == Path::Local {
                    self.local(access, request)
                } else {
                    self.global(access, request)
                };
            }
        }
        let counts = self.memory.row(key);
        counts.space = access.space;
        counts.kind = access.kind;
        counts.requests += 1;
        counts.requested_bytes +=
            u64::from(access.mask.count_ones()) * u64::from(access.bytes_per_lane);
        counts.sectors += sectors;
        counts.transactions += transactions;
        counts.passes += passes;
    }
}

//! A launch for a kernel of which nothing but its code is known, found by trying.
//!
//! Sizes follow from the places that the kernel asks for, from constants in its indices, and from
//! the names of its parameters. The launch is executed. A fault says what to change: a buffer that
//! is too short grows, a block that is too large for a shared array shrinks, and sizes that lead
//! nowhere shrink. A launch that runs is tried in a larger size, which is taken if it runs, too. In
//! the end buffers get the lengths that the launch uses.

mod candidate;
mod given;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use gpucast_counters::used_bytes::UsedBytes;
use gpucast_interpreter::{
    Fault, FaultKind, Host, LaunchError, Options, Program, RunError, StopReason, run,
};
use gpucast_ptx_frontend::types::StateSpace;

use self::candidate::{Candidate, MOST_BYTES, grow, smaller_block, with_pointers};
use self::given::{Given, argument, integer, role};
use super::execute::{self, Loaded};
use super::module;
use super::supervisor::Supervisor;
use crate::failure::Failure;
use crate::input::kernel_argument;
use crate::input::module_listing::{Listed, ListedParameter, Unlaunched};
use crate::input::options::LaunchOptions;

/// Threads of the first launches that are tried. Work and buffers may grow with the square of the
/// sizes, and what is wrong with a launch shows in a small one, too.
const FEW_THREADS: u64 = 1 << 12;
/// Threads of launches that are tried if the first lead nowhere.
const MORE_THREADS: u64 = 1 << 16;
/// By how much larger launches are larger, and the threads of the largest.
const LARGER: u64 = 16;
const MOST_THREADS: u64 = 1 << 20;
/// By how much a launch that takes too long shrinks.
const TOO_LONG: u32 = 4;
/// Warp instructions of a launch that is tried.
const BUDGET: u64 = 1 << 23;
/// Launches that take too long, in each half of the search. The search counts work, so that a busy
/// computer finds the same.
const MOST_LONG: u32 = 6;
/// Time for one launch, and for all that are tried.
const PATIENCE: Duration = Duration::from_secs(10);
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(30);
/// Changes of a launch before another one is begun with.
const MOST_CHANGES: usize = 24;
/// Kernels of a module that are tried.
const MOST_KERNELS: usize = 4;
/// Bytes of all buffers that a launch begins with. A launch that leaves a buffer is executed again,
/// and room to spare costs little.
const FIRST_BYTES: u64 = 64 << 20;
/// Shared memory that every GPU gives to a block.
const MOST_SHARED_BYTES: u32 = 48 << 10;

/// A launch that runs.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Proposal {
    /// All options of the launch.
    pub options: LaunchOptions,
    /// The kernel's name, as people write it.
    pub kernel: String,
    /// The options of a command line that were missing, each with its value.
    pub words: Vec<(&'static str, String)>,
}

/// Finds a launch for the first kernel of a module that has one.
///
/// # Errors
///
/// [`Failure::Stopped`] if the supervisor says so.
pub fn propose(
    module: &Unlaunched,
    supervisor: &dyn Supervisor,
) -> Result<Option<Proposal>, Failure> {
    let end = Instant::now() + PATIENCE_FOR_ALL;
    for kernel in module.kernels.iter().take(MOST_KERNELS) {
        let Some(mut search) = Search::new(module, kernel, end, supervisor) else { continue };
        if let Some(found) = search.first()? {
            // The list holds only what a given name means.
            let name = match &module.options.kernel {
                None => kernel.shortest_name(&module.kernels),
                Some(given) if module.has_one_kernel() => given.clone(),
                Some(_) => kernel.name.clone(),
            };
            return Ok(Some(found.proposal(module, name)));
        }
    }
    Ok(None)
}

/// The search for a launch of one kernel.
struct Search<'a> {
    module: &'a Unlaunched,
    kernel: &'a Listed,
    loaded: Loaded,
    program: Program,
    /// Launches that may still take too long.
    long: u32,
    end: Instant,
    supervisor: &'a dyn Supervisor,
}

/// A launch that ran, with how far into its buffers it went.
struct Ran {
    launch: Candidate,
    used: UsedBytes,
    /// Warp instructions.
    instructions: u64,
}

/// What came of a launch that was tried.
enum Outcome {
    Ran {
        used: UsedBytes,
        instructions: u64,
    },
    Failed(RunError),
    /// It cannot even be described.
    Refused,
}

struct Quiet<'a>(&'a dyn Supervisor);

impl Host for Quiet<'_> {
    fn stop(&self) -> bool {
        self.0.should_stop()
    }
}

impl<'a> Search<'a> {
    /// `None` for a kernel that cannot be executed.
    fn new(
        module: &'a Unlaunched,
        kernel: &'a Listed,
        end: Instant,
        supervisor: &'a dyn Supervisor,
    ) -> Option<Self> {
        let first = Candidate {
            grid: [1; 3],
            block: [1; 3],
            shared_bytes: 0,
            arguments: vec![],
            grown: BTreeSet::new(),
        };
        let options = LaunchOptions { arg: Vec::new(), ..first.options(module, &kernel.name) };
        let plan = kernel_argument::of_file(&module.path, &module.file, &options).ok()?;
        let loaded = module::load(&plan).ok()?;
        let program = Program::new(&loaded.module, &loaded.source.text, &kernel.name).ok()?;
        Some(Self { module, kernel, loaded, program, long: MOST_LONG, end, supervisor })
    }

    /// The first launch that runs, in the largest size that does.
    fn first(&mut self) -> Result<Option<Candidate>, Failure> {
        let whole = self.end;
        // The first launches leave time for smaller ones.
        self.end -= whole.saturating_duration_since(Instant::now()) / 2;
        for block in self.blocks() {
            let begun = self.begin(block, FEW_THREADS);
            let Some(small) = self.mended(begun.clone())? else { continue };
            self.end = whole;
            let is_as_begun = (small.launch.block, small.launch.grid) == (block, begun.grid);
            let largest = if is_as_begun { self.enlarged(small)? } else { small };
            return self.fitted(largest).map(Some);
        }
        (self.end, self.long) = (whole, MOST_LONG);
        for block in self.blocks() {
            if let Some(ran) = self.mended(self.begin(block, MORE_THREADS))? {
                return self.fitted(ran).map(Some);
            }
        }
        Ok(None)
    }

    /// The largest launch that runs.
    fn enlarged(&mut self, small: Ran) -> Result<Ran, Failure> {
        let (mut best, mut threads) = (small, FEW_THREADS);
        // Work grows at least as threads do.
        while threads < MOST_THREADS && best.instructions.saturating_mul(LARGER) <= BUDGET {
            threads *= LARGER;
            let larger = self.begin(best.launch.block, threads);
            // What had to be learnt stays: the larger one differs in its sizes alone.
            let larger = Candidate { shared_bytes: best.launch.shared_bytes, ..larger };
            match self.mended(larger)? {
                Some(ran) if ran.launch.threads() >= best.launch.threads() => best = ran,
                _ => break,
            }
        }
        Ok(best)
    }

    /// The launch with buffers of the lengths that it uses.
    fn fitted(&self, ran: Ran) -> Result<Candidate, Failure> {
        let mut fitted = ran.launch.clone();
        fitted.fit(&ran.used);
        let is_other = fitted != ran.launch;
        match is_other && matches!(self.tried(&fitted)?, Outcome::Ran { .. }) {
            true => Ok(fitted),
            false => Ok(ran.launch),
        }
    }

    /// The blocks to begin with: what the kernel or the user says, then sizes that the source
    /// names, then usual ones.
    fn blocks(&self) -> Vec<[u32; 3]> {
        if let Some(block) = self.module.options.block.or(self.kernel.required_block) {
            return vec![block];
        }
        let most = self.kernel.most_threads.unwrap_or(1024).min(1024);
        let axes: Vec<usize> = self.kernel.shape.axes_of_block().collect();
        let of_size = |size: u32| {
            let mut block = [1; 3];
            for (place, &axis) in axes.iter().enumerate() {
                let left = (most / (size * size).max(1)).clamp(1, 4);
                block[axis] = if place < 2 { size } else { left };
            }
            block
        };
        let usual: &[u32] = if axes.len() == 1 { &[256, 128, 64, 32] } else { &[16, 8, 32] };
        let uses_shared = self.program.static_shared_bytes() > 0;
        let named = self.module.sizes.iter().copied().filter(|_| uses_shared);
        let mut blocks: Vec<[u32; 3]> = Vec::new();
        let of_code = self.block_of_code(&axes);
        for block in of_code.into_iter().chain(named.chain(usual.iter().copied()).map(of_size)) {
            let threads = block.iter().copied().fold(1, u32::saturating_mul);
            if threads <= most && !blocks.contains(&block) {
                blocks.push(block);
            }
        }
        blocks.push([1, 1, 1]);
        blocks.truncate(6);
        blocks
    }

    /// The block that constants in the kernel's indices tell of. Along other axes it has what makes
    /// a usual number of threads.
    fn block_of_code(&self, axes: &[usize]) -> Option<[u32; 3]> {
        const USUAL_THREADS: u32 = 256;
        let extents = self.kernel.shape.extents;
        let known = axes.iter().filter_map(|&axis| extents[axis]);
        let threads = known.fold(1, u32::saturating_mul);
        let mut left = (USUAL_THREADS / threads.max(1)).max(1);
        let mut block = [1; 3];
        for &axis in axes {
            block[axis] = extents[axis].unwrap_or_else(|| std::mem::replace(&mut left, 1));
        }
        (threads > 1).then_some(block)
    }

    /// A launch of about so many threads.
    fn begin(&self, block: [u32; 3], threads: u64) -> Candidate {
        let given = &self.module.options;
        let shape = &self.kernel.shape;
        let axes: BTreeSet<usize> = shape.axes_of_block().chain(shape.axes_of_grid()).collect();
        let side = root(threads, axes.len() as u32);
        let grid = given.grid.unwrap_or_else(|| {
            let mut grid = [1; 3];
            for axis in shape.axes_of_grid() {
                grid[axis] = side.div_ceil(u64::from(block[axis].max(1))).max(1) as u32;
            }
            grid
        });
        let threads_per_block = block.iter().copied().fold(1, u32::saturating_mul);
        let shared_bytes =
            given.shared_bytes.unwrap_or_else(|| match self.kernel.has_dynamic_shared {
                true => threads_per_block.saturating_mul(8).clamp(1024, MOST_SHARED_BYTES),
                false => 0,
            });
        let arguments = self.arguments(threads, side);
        Candidate { grid, block, shared_bytes, arguments, grown: BTreeSet::new() }
    }

    fn arguments(&self, threads: u64, side: u64) -> Vec<Given> {
        let given = &self.module.options.arg;
        if !given.is_empty() {
            return given.iter().map(|argument| Given::Fixed(argument.to_string())).collect();
        }
        let parameters = &self.kernel.parameters;
        let is_extent = |one: &&ListedParameter| {
            one.is_scalar()
                && one.pointee().is_none()
                && integer(one).is_some()
                && role(&one.name).is_none()
        };
        // Several sizes are factors of one: rows and columns.
        let size = match parameters.iter().filter(is_extent).count() {
            0 | 1 => side,
            _ => side.min(root(threads, 2)),
        };
        let mut arguments: Vec<Given> =
            parameters.iter().map(|parameter| argument(parameter, size, threads)).collect();
        let all: u64 = arguments.iter_mut().map(|given| given.lens().count() as u64).sum();
        let bytes = (1 << (FIRST_BYTES / all.max(1)).ilog2()).clamp(1 << 20, MOST_BYTES);
        for len in arguments.iter_mut().flat_map(Given::lens) {
            *len.len = bytes / len.element;
        }
        arguments
    }

    /// The launch, changed until it runs. `None` if it does not come to that.
    fn mended(&mut self, mut candidate: Candidate) -> Result<Option<Ran>, Failure> {
        for _ in 0..MOST_CHANGES {
            if self.long == 0 || Instant::now() >= self.end {
                return Ok(None);
            }
            match self.tried(&candidate)? {
                Outcome::Ran { used, instructions } => {
                    return Ok(Some(Ran { launch: candidate, used, instructions }));
                }
                Outcome::Refused => return Ok(None),
                Outcome::Failed(error) => {
                    self.long -= u32::from(is_too_long(&error));
                    if !self.change(&mut candidate, &error) {
                        return Ok(None);
                    }
                }
            }
        }
        Ok(None)
    }

    fn tried(&self, candidate: &Candidate) -> Result<Outcome, Failure> {
        let options = candidate.options(self.module, &self.kernel.name);
        let plan = match kernel_argument::of_file(&self.module.path, &self.module.file, &options) {
            Ok(plan) => plan,
            Err(_) => return Ok(Outcome::Refused),
        };
        let Ok(mut memory) = execute::memory(&plan, &self.loaded) else {
            return Ok(Outcome::Refused);
        };
        let [planned] = &plan.launches[..] else { return Ok(Outcome::Refused) };
        let launch = execute::device_launch(&plan, planned, &self.program, &memory);
        let limits = Options {
            instruction_budget: BUDGET,
            deadline: Some(self.end.min(Instant::now() + PATIENCE)),
            memory_limit: memory.room(),
            ..Options::default()
        };
        let host = Quiet(self.supervisor);
        let names = plan.buffers.iter().map(|buffer| buffer.name.as_str());
        let mut used = UsedBytes::new(names, &memory);
        let outcome = run(&self.program, &launch, &mut memory, &mut used, &limits, &host);
        match outcome {
            Ok(summary) => {
                let instructions = u64::try_from(summary.warp_instructions).unwrap_or(u64::MAX);
                Ok(Outcome::Ran { used, instructions })
            }
            Err(RunError::Stopped { reason: StopReason::Asked, .. }) => Err(Failure::Stopped),
            Err(error) => Ok(Outcome::Failed(error)),
        }
    }

    /// Changes a launch by what its error says. Returns false if nothing can be changed.
    fn change(&self, candidate: &mut Candidate, error: &RunError) -> bool {
        let given = &self.module.options;
        match error {
            RunError::Fault(fault) => self.after_fault(candidate, fault),
            RunError::Stopped { .. } => candidate.shrink(TOO_LONG, given),
            RunError::Launch(LaunchError::SharedMemory { .. } | LaunchError::Threads { .. }) => {
                given.block.is_none() && smaller_block(&mut candidate.block)
            }
            RunError::Launch(LaunchError::Memory { .. }) => candidate.shrink(2, given),
            RunError::Launch(_) => false,
        }
    }

    fn after_fault(&self, candidate: &mut Candidate, fault: &Fault) -> bool {
        let given = &self.module.options;
        match &fault.kind {
            FaultKind::OutOfBounds {
                space: Some(StateSpace::Shared),
                address,
                bytes,
                limit,
                ..
            } => {
                let needed = address.saturating_add(u64::from(*bytes));
                let own = u64::from(candidate.shared_bytes);
                let fixed = limit.unwrap_or(0).saturating_sub(own);
                let wanted = needed.saturating_sub(fixed);
                let wanted = wanted.checked_next_power_of_two().unwrap_or(u64::MAX);
                let may_grow = self.kernel.has_dynamic_shared && given.shared_bytes.is_none();
                if may_grow && wanted > own && wanted <= u64::from(MOST_SHARED_BYTES) {
                    candidate.shared_bytes = wanted as u32;
                    return true;
                }
                (given.block.is_none() && smaller_block(&mut candidate.block))
                    || candidate.shrink(2, given)
            }
            FaultKind::OutOfBounds { address, bytes, nearest: Some(nearest), .. }
                if *address >= nearest.address =>
            {
                let needed = (address - nearest.address).saturating_add(u64::from(*bytes));
                grow(candidate, &nearest.name, needed) || candidate.shrink(2, given)
            }
            FaultKind::OutOfBounds { address, nearest: None, .. }
                if *address < 1 << 16 && with_pointers(candidate) =>
            {
                true
            }
            FaultKind::BudgetExhausted { .. } => candidate.shrink(TOO_LONG, given),
            FaultKind::OutOfBounds { .. }
            | FaultKind::Misaligned { .. }
            | FaultKind::Trap
            | FaultKind::Assertion { .. }
            | FaultKind::TooMuchPrinted { .. } => candidate.shrink(2, given),
            _ => false,
        }
    }
}

fn is_too_long(error: &RunError) -> bool {
    match error {
        RunError::Stopped { .. } => true,
        RunError::Fault(fault) => matches!(fault.kind, FaultKind::BudgetExhausted { .. }),
        RunError::Launch(_) => false,
    }
}

/// The power of two that is at most the root of another one.
fn root(threads: u64, degree: u32) -> u64 {
    1 << (threads.max(1).ilog2() / degree.max(1))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::input::kernel_argument::ReadFailure;
    use crate::run::supervisor::Alone;

    /// The proposal for a kernel `k` with this body, whose `%d1` is a global address and `%r2` the
    /// thread's index in the grid.
    fn proposed(variables: &str, body: &str) -> Proposal {
        let text = format!(
            ".version 7.0\n.target sm_52\n.address_size 64\n
             .visible .entry k(.param .u64 to, .param .u32 n)\n{{
             .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %d<9>; {variables}
             ld.param.u64 %d1, [to]; ld.param.u32 %r8, [n];
             mov.u32 %r1, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
             mad.lo.s32 %r2, %r1, %r3, %r4;
             {body} ret; }}"
        );
        proposed_of(&text)
    }

    fn proposed_of(text: &str) -> Proposal {
        let options = LaunchOptions::default();
        match kernel_argument::of_text(Path::new("k.ptx"), text, &options) {
            Err(ReadFailure::Unlaunched(module)) => propose(&module, &Alone).unwrap().unwrap(),
            other => panic!("it has no launch: {:?}", other.map(|_| ())),
        }
    }

    /// As the module's own check does it: a plan, memory, a run without a fault.
    #[test]
    fn buffers_grow_until_no_access_leaves_them() {
        let body = "mul.wide.u32 %d2, %r2, 12; add.s64 %d3, %d1, %d2; st.global.u32 [%d3], %r2;";
        let options = proposed("", body).options;
        let (grid, block) = (options.grid.unwrap(), options.block.unwrap());
        let threads = u64::from(grid[0]) * u64::from(block[0]);
        let bytes = 12 * (threads - 1) + 4;
        let text = options.arg[0].to_string();
        let (_, len) = text.split_once('[').unwrap();
        let len: u64 = len.trim_end_matches(']').parse().unwrap();
        assert_eq!(4 * len, bytes, "{options:?}");
    }

    /// A kernel of one row does nothing where it leaves the border out, and blocks that do not know
    /// which they are write over each other.
    #[test]
    fn launches_have_the_axes_along_which_a_kernel_asks_for_its_place() {
        let text = |asked: &str, callee: &str| {
            format!(
                ".version 7.0\n.target sm_52\n.address_size 64\n
                 .func f() {{ .reg .b32 %r; {callee} ret; }}
                 .visible .entry k(.param .u64 to)\n{{
                 .reg .b32 %r<9>; .reg .b64 %d; {asked} ret; }}
                 .visible .entry other(.param .u64 to)\n{{
                 .reg .b32 %r<9>; mov.u32 %r1, %ctaid.z; ret; }}"
            )
        };
        for (asked, callee, grid, block) in [
            ("", "", "", ""),
            ("mov.u32 %r1, %tid.x;", "", "", "x"),
            ("mov.u32 %r2, %ctaid.x;", "", "x", ""),
            ("mov.u32 %r1, %laneid; mov.u32 %r2, %ctaid.y;", "", "y", "x"),
            ("bar.sync 0; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y;", "", "xy", "x"),
            ("shfl.sync.idx.b32 %r1, %r2, 0, 31, -1;", "", "", "x"),
            ("mov.u32 %r2, %ctaid.z; mov.u32 %r3, %tid.z;", "", "z", "z"),
            ("mov.u32 %r1, %tid.x; call f;", "mov.u32 %r, %tid.y;", "", "xy"),
            ("ld.param.u64 %d, [to]; red.global.add.u32 [%d], 1;", "", "x", "x"),
        ] {
            let options = proposed_of(&text(asked, callee)).options;
            for (extents, axes) in [(options.grid, grid), (options.block, block)] {
                let several = "xyz".chars().zip(extents.unwrap()).filter(|(_, extent)| *extent > 1);
                let several: String = several.map(|(axis, _)| axis).collect();
                assert_eq!(several, axes, "{asked} {callee}: {options:?}");
            }
        }
    }

    #[test]
    fn constants_of_indices_are_blocks() {
        let row = "shl.b32 %r5, %r1, 5; add.s32 %r6, %r5, %r4; mov.u32 %r7, %tid.y;
                   mov.u32 %r3, %ctaid.y;";
        assert_eq!(proposed("", row).options.block, Some([32, 8, 1]));
        // A block has at most 1024 threads.
        let large = "mad.lo.s32 %r6, %r1, 1024, %r4; mov.u32 %r7, %tid.y; mov.u32 %r5, %ctaid.y;
                     mad.lo.s32 %row, %r5, 2, %r7;";
        assert_eq!(proposed(".reg .b32 %row;", large).options.block, Some([16, 16, 1]));
    }

    #[test]
    fn blocks_fit_into_shared_arrays() {
        let body = "mul.lo.s32 %r5, %r4, 4; mov.u32 %r6, tile; add.s32 %r6, %r6, %r5; \
                    st.shared.u32 [%r6], %r4;";
        let options = proposed(".shared .align 4 .b8 tile[256];", body).options;
        assert_eq!(options.block, Some([64, 1, 1]));
    }

    #[test]
    fn sizes_shrink_until_they_lead_to_memory() {
        // The offset is n MiB, and no buffer has 64 GiB.
        let body = "cvt.u64.u32 %d2, %r8; shl.b64 %d2, %d2, 20; add.s64 %d3, %d1, %d2; \
                    st.global.u8 [%d3], %r2;";
        let options = proposed("", body).options;
        let n: u64 = options.arg[1].to_string().trim_start_matches("u32:").parse().unwrap();
        assert!((1..=64).contains(&n), "{options:?}");
    }

    #[test]
    fn a_product_of_sizes_leads_to_fewer_threads() {
        // Each CTA writes n words behind those of the CTA before it, into each of six buffers.
        let stores: String = (0..6)
            .map(|at| {
                format!(
                    "ld.param.u64 %d1, [p{at}]; add.s64 %d1, %d1, %d2; st.global.u32 [%d1], %r1;"
                )
            })
            .collect();
        let text = format!(
            ".version 7.0\n.target sm_52\n.address_size 64\n
             .visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3,
                 .param .u64 p4, .param .u64 p5, .param .u32 n)\n{{
             .reg .b32 %r<9>; .reg .b64 %d<9>; ld.param.u32 %r8, [n];
             mov.u32 %r1, %ctaid.x; mov.u32 %r4, %tid.x; mad.lo.s32 %r2, %r1, %r8, %r4;
             mul.wide.u32 %d2, %r2, 4; {stores} ret; }}"
        );
        let options = proposed_of(&text).options;
        let n: u64 = options.arg[6].to_string().trim_start_matches("u32:").parse().unwrap();
        let last = u64::from(options.grid.unwrap()[0] - 1) * n;
        let text = options.arg[3].to_string();
        let (_, len) = text.split_once('[').unwrap();
        assert!(len.trim_end_matches(']').parse::<u64>().unwrap() > last, "{options:?}");
    }

    #[test]
    fn several_sizes_have_a_product_that_fits() {
        assert_eq!((root(1 << 20, 1), root(1 << 20, 2), root(1 << 16, 3)), (1 << 20, 1 << 10, 32));
    }
}

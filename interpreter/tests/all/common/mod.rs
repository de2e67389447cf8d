//! What the tests of the engine share: a kernel's text, its buffers, a launch, and its outcome.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

pub(crate) mod log;

use gpucast_interpreter::{
    Access, Argument, DeviceMemory, Further, Launch, Observer, Options, Program, Recorder,
    RunError, Silent, Summary, run,
};

/// A module around bodies of functions and kernels.
pub(crate) fn module(text: &str) -> String {
    format!(".version 8.8\n.target sm_100\n.address_size 64\n{text}")
}

/// A kernel `k` that takes the buffer `out`, whose address is in `%out`, with `%tid` and a few
/// registers at hand.
pub(crate) fn kernel(body: &str) -> String {
    module(&format!(
        ".visible .entry k(.param .u64 out) {{\n\
         .reg .b32 %tid, %r<16>; .reg .b64 %out, %at, %d<8>; .reg .pred %p, %q;\n\
         ld.param.u64 %out, [out];\nmov.u32 %tid, %tid.x;\n\
         mad.wide.u32 %at, %tid, 4, %out;\n{body}\n}}\n"
    ))
}

/// Event totals: blocks, lanes, branches and accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) blocks: u64,
    pub(crate) block_lanes: u64,
    pub(crate) branches: u64,
    pub(crate) taken: u64,
    pub(crate) accesses: u64,
    pub(crate) access_lanes: u64,
    /// Mixes addresses with the CTA's place, so that order is seen.
    pub(crate) addresses: u64,
    pub(crate) guarded: Vec<u64>,
}

impl Totals {
    /// Adds all but the addresses.
    fn add(&mut self, other: &Self) {
        self.blocks += other.blocks;
        self.block_lanes += other.block_lanes;
        self.branches += other.branches;
        self.taken += other.taken;
        self.accesses += other.accesses;
        self.access_lanes += other.access_lanes;
        self.guarded.resize(other.guarded.len(), 0);
        for (sum, lanes) in self.guarded.iter_mut().zip(&other.guarded) {
            *sum += lanes;
        }
    }
}

/// Adds up events, in CTA order.
#[derive(Default)]
pub(crate) struct Count(pub(crate) Totals);

pub(crate) struct CountRecorder(Totals);

impl Observer for Count {
    type Recorder = CountRecorder;

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn recorder(&self, program: &Program) -> CountRecorder {
        CountRecorder(Totals { guarded: vec![0; program.guarded().len()], ..Totals::default() })
    }

    fn wave(&self) -> usize {
        3
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut CountRecorder]) {
        for (index, CountRecorder(one)) in recorders.iter_mut().enumerate() {
            let total = &mut self.0;
            total.add(one);
            let place = first_cta + index as u64 + 1;
            total.addresses =
                total.addresses.wrapping_mul(31).wrapping_add(one.addresses.wrapping_mul(place));
            *one = Totals { guarded: vec![0; one.guarded.len()], ..Totals::default() };
        }
    }
}

impl Recorder for CountRecorder {
    fn block(&mut self, _warp: u32, _block: u32, mask: u32) {
        self.0.blocks += 1;
        self.0.block_lanes += u64::from(mask.count_ones());
    }

    fn guarded_lanes(&mut self, lanes: &[u64]) {
        self.0.guarded.clear();
        self.0.guarded.extend_from_slice(lanes);
    }

    fn branch(&mut self, _instruction: u32, _active: u32, taken: u32) {
        self.0.branches += 1;
        self.0.taken += u64::from(taken.count_ones());
    }

    fn access(&mut self, access: &Access<'_>) {
        self.0.accesses += 1;
        self.0.access_lanes += u64::from(access.mask.count_ones());
        let first = access.addresses[access.mask.trailing_zeros() as usize];
        self.0.addresses = self.0.addresses.wrapping_mul(31).wrapping_add(first);
    }
}

/// Adds up events of as many CTAs as it is told of, in any order.
#[derive(Default)]
struct Sum {
    totals: Totals,
    /// The number of lanes and the first address of what `first_access` has told, by slot.
    alike: Vec<u64>,
}

impl Observer for Sum {
    type Recorder = Self;

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn recorder(&self, program: &Program) -> Self {
        let totals = Totals { guarded: vec![0; program.guarded().len()], ..Totals::default() };
        Self { totals, alike: Vec::new() }
    }

    fn wave(&self) -> usize {
        1
    }

    fn adds_up(&self) -> bool {
        true
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut Self]) {
        for recorder in recorders {
            self.totals.add(&recorder.totals);
        }
    }
}

impl Recorder for Sum {
    fn block(&mut self, _warp: u32, _block: u32, mask: u32) {
        self.totals.blocks += 1;
        self.totals.block_lanes += u64::from(mask.count_ones());
    }

    fn guarded_lanes(&mut self, lanes: &[u64]) {
        for (sum, lanes) in self.totals.guarded.iter_mut().zip(lanes) {
            *sum += lanes;
        }
    }

    fn branch(&mut self, _instruction: u32, _active: u32, taken: u32) {
        self.totals.branches += 1;
        self.totals.taken += u64::from(taken.count_ones());
    }

    fn access(&mut self, access: &Access<'_>) {
        self.totals.accesses += 1;
        self.totals.access_lanes += u64::from(access.mask.count_ones());
    }

    fn first_access(&mut self, slot: u32, access: &Access<'_>) -> Further {
        self.access(access);
        // Slots count up, and anew at the beginning of some CTAs.
        assert!(slot == 0 || slot as usize == self.alike.len(), "slot {slot}");
        self.alike.truncate(slot as usize);
        self.alike.push(access.mask.count_ones().into());
        Further::Number
    }

    fn further_accesses(&mut self, slot: u32, count: u64, _latest: u64) {
        self.totals.accesses += count;
        self.totals.access_lanes += count * self.alike[slot as usize];
    }
}

/// How to launch.
#[derive(Clone)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) shared: u32,
    pub(crate) words: usize,
    pub(crate) options: Options,
}

impl Shape {
    pub(crate) fn new(ctas: u32, threads: u32, words: usize) -> Self {
        Self {
            grid: [ctas, 1, 1],
            block: [threads, 1, 1],
            cluster: None,
            shared: 0,
            words,
            options: Options { instruction_budget: 1 << 22, ..Options::default() },
        }
    }
}

/// What came of a launch: the words of `out`, the events, the summary.
pub(crate) type Outcome = Result<(Vec<u32>, Totals, Summary), RunError>;

/// Run kernel `k` of `text` on a pool of `threads` threads.
pub(crate) fn launch_on(text: &str, shape: &Shape, threads: usize) -> Outcome {
    let mut count = Count::default();
    let (words, summary) = watched_on(text, shape, threads, &mut count)?;
    Ok((words, count.0, summary))
}

/// As [`launch_on`], with an observer that adds up and hears of no address.
fn launch_for_sums(text: &str, shape: &Shape, threads: usize) -> Outcome {
    let mut sum = Sum::default();
    let (words, summary) = watched_on(text, shape, threads, &mut sum)?;
    Ok((words, sum.totals, summary))
}

fn watched_on<O: Observer>(
    text: &str,
    shape: &Shape,
    threads: usize,
    observer: &mut O,
) -> Result<(Vec<u32>, Summary), RunError> {
    let module = gpucast_ptx_frontend::load(text)
        .unwrap_or_else(|problems| panic!("{:?}\n{text}", problems[0].message));
    let program = Program::new(&module, text, "k").unwrap_or_else(|error| panic!("{error}"));
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", shape.words as u64 * 4).unwrap();
    let launch = Launch {
        grid: shape.grid,
        block: shape.block,
        cluster: shape.cluster,
        dynamic_shared_bytes: shape.shared,
        arguments: vec![Argument::Address(out)],
    };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let summary =
        pool.install(|| run(&program, &launch, &mut memory, observer, &shape.options, &Silent))?;
    let words = memory.bytes("out").unwrap().chunks_exact(4);
    let words = words.map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
    Ok((words, summary))
}

/// Run with one and with two threads and insist that nothing differs. Nor do sums, whatever CTAs a
/// recorder is told of.
pub(crate) fn launch(text: &str, shape: &Shape) -> Outcome {
    let one = launch_on(text, shape, 1);
    let two = launch_on(text, shape, 2);
    assert_eq!(one, two, "the outcome depends on the number of threads");
    let without_addresses = one
        .clone()
        .map(|(words, totals, summary)| (words, Totals { addresses: 0, ..totals }, summary));
    for threads in [1, 2, 3] {
        let sums = launch_for_sums(text, shape, threads);
        assert_eq!(sums, without_addresses, "sums depend on recorders, with {threads} threads");
    }
    one
}

/// The words of `out` after kernel `k` with this body.
pub(crate) fn words(body: &str, shape: &Shape) -> Vec<u32> {
    launch(&kernel(body), shape).unwrap_or_else(|error| panic!("{error}\n{body}")).0
}

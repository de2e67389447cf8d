//! Random kernels beside an executor of their own: contents of memory and counts of the whole
//! program, of its slices and of classes of CTAs.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::unreachable,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

mod kernel;
mod reference;

use gpucast_interpreter::{
    Access, AccessKind, Argument, DeviceMemory, Launch, Observer, Options, Pattern, Program,
    Recorder, Silent, run,
};
use gpucast_ptx_frontend::types::StateSpace;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::slices::{Buffer, Case, Planned, Value};
use kernel::{BINS, OWN, SUMS, Statement, TABLE, THREADS};
use reference::{Counts, Effect, Memory};

/// Cases of a run of the tests; `GPUCAST_EXECUTOR_CASES` asks for others.
const CASES: u32 = 200;

/// The counts of the engine's events.
struct Counted {
    /// Instructions of each block.
    blocks: Vec<u64>,
    counts: Counts,
}

impl Counted {
    fn new(program: &Program) -> Self {
        let blocks = program.blocks().iter().map(|block| block.instruction_count.into()).collect();
        Self { blocks, counts: Counts::default() }
    }
}

/// The sum over all CTAs.
#[derive(Default)]
struct Total(Counts);

impl Observer for Total {
    type Recorder = Counted;

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn recorder(&self, program: &Program) -> Counted {
        Counted::new(program)
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut Counted]) {
        for recorder in recorders {
            self.0 += std::mem::take(&mut recorder.counts);
        }
    }
}

impl Recorder for Counted {
    fn block(&mut self, _warp: u32, block: u32, mask: u32) {
        let instructions = self.blocks[block as usize];
        self.counts.warp_instructions += instructions;
        self.counts.thread_instructions += instructions * u64::from(mask.count_ones());
    }

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        let bytes = u64::from(access.bytes_per_lane);
        let address = |lane: usize| match access.pattern {
            Pattern::Uniform => access.addresses[0],
            Pattern::Consecutive => access.addresses[0] + bytes * lane as u64,
            Pattern::General => access.addresses[lane],
        };
        let lanes = (0..32_usize).filter(|lane| access.mask >> lane & 1 != 0);
        let addresses: Vec<u64> = lanes.map(address).collect();
        let effect = match access.kind {
            AccessKind::Load | AccessKind::LoadReadOnly => Effect::Load,
            AccessKind::Store => Effect::Store,
            AccessKind::Atomic | AccessKind::Reduction => Effect::Update,
        };
        let (counts, is_global) = match access.space {
            StateSpace::Global => (&mut self.counts.global, true),
            StateSpace::Shared => (&mut self.counts.shared, false),
            StateSpace::Local => (&mut self.counts.local, false),
            // Parameters are read before the kernel begins.
            _ => return,
        };
        counts.add(effect, &addresses, bytes, is_global);
    }
}

/// Memory before the launch: a table of arbitrary words, and others that are told apart.
fn memory(ctas: u32, seed: u32) -> Memory {
    let words = |number: u32, salt: u32| -> Vec<u32> {
        // Every other word is small, so that it counts and compares.
        let word = |at: u32| {
            let mixed = (at ^ salt ^ seed).wrapping_mul(2_654_435_761);
            if at.is_multiple_of(2) { mixed % 200 } else { mixed }
        };
        (0..number).map(word).collect()
    };
    Memory {
        table: words(TABLE, 1),
        own: words(ctas * THREADS * OWN, 2),
        sums: words(4 * SUMS, 3),
        out: vec![0; (ctas * BINS) as usize],
    }
}

fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    bytes.chunks_exact(4).map(word).collect()
}

fn buffers(memory: &Memory) -> [(&'static str, Vec<u8>); 4] {
    let Memory { table, own, sums, out } = memory;
    [("table", table), ("own", own), ("sums", sums), ("out", out)]
        .map(|(name, words)| (name, bytes(words)))
}

/// What became of a case by classes.
#[derive(Debug, Default)]
struct Tried {
    sliced: bool,
    classed: bool,
}

/// Insist that the engine does what the executor does, whole, by slices and by classes.
fn compare(body: &[Statement], ctas: u32, seed: u32) -> Tried {
    let text = kernel::text(body);
    let module = match gpucast_ptx_frontend::load(&text) {
        Ok(module) => module,
        Err(problems) => panic!("{:?}\n{text}", problems[0]),
    };
    let before = memory(ctas, seed);
    let mut after = before.clone();
    let expected = reference::execute(body, ctas, &mut after);

    let program = Program::new(&module, &text, "k").unwrap();
    let mut device = DeviceMemory::new();
    let mut arguments = Vec::new();
    for (name, contents) in buffers(&before) {
        let address = device.allocate(name, contents.len() as u64).unwrap();
        device.bytes_mut(name).unwrap().copy_from_slice(&contents);
        arguments.push(Argument::Address(address));
    }
    let (grid, block) = ([ctas, 1, 1], [THREADS, 1, 1]);
    let launch = Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments };
    let mut total = Total::default();
    let options = Options { instruction_budget: 1 << 22, ..Options::default() };
    run(&program, &launch, &mut device, &mut total, &options, &Silent).unwrap();
    for (name, contents) in buffers(&after) {
        let found = device.bytes_mut(name).unwrap();
        assert_eq!(words(found), words(&contents), "{name} of\n{text}");
    }
    assert_eq!(total.0, expected, "counts of\n{text}");

    // Slices have the events of the whole, and classes those of slices.
    let contents = buffers(&before);
    let buffer = |(name, contents): (&str, Vec<u8>)| Buffer::new(name.to_owned(), contents);
    let values = (0..contents.len()).map(Value::Pointer).collect();
    let planned = Planned { kernel: "k".to_owned(), grid, block, shared: 0, values };
    let buffers = contents.into_iter().map(buffer).collect();
    let case = Case { text: &text, module: &module, buffers, launches: vec![planned], options };
    let sliced = case.compare().is_some_and(|compared| !compared.fell_back);
    let classed = case.compare_classes().iter().any(Result::is_ok);
    Tried { sliced, classed }
}

#[test]
fn random_kernels_do_what_an_executor_of_their_own_does() {
    let asked = std::env::var("GPUCAST_EXECUTOR_CASES").ok().and_then(|text| text.parse().ok());
    let config = Config { cases: asked.unwrap_or(CASES), ..Config::default() };
    let cases = (kernel::body(), 1..4_u32, any::<u32>());
    let total = std::cell::RefCell::new([0_u32; 3]);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let outcome = TestRunner::new(config).run(&cases, |(body, ctas, seed)| {
        let Tried { sliced, classed } = pool.install(|| compare(&body, ctas, seed));
        let mut total = total.borrow_mut();
        total[0] += 1;
        total[1] += u32::from(sliced);
        total[2] += u32::from(classed);
        Ok(())
    });
    outcome.unwrap_or_else(|error| panic!("{error}"));
    let [cases, sliced, classed] = *total.borrow();
    println!("{cases} cases, {sliced} by slices, {classed} by classes");
    assert!(sliced * 4 > cases && classed > 0, "{sliced} and {classed} of {cases}");
}

//! Samples of CTAs whose time is over.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use std::ops::Range;
use std::thread::sleep;
use std::time::{Duration, Instant};

use gpucast_interpreter::{
    Argument, BySample, DeviceMemory, Host, Launch, NoObserver, Observer, Options, Program,
    RunError, Samples, Silent, StopReason, run_sample,
};

use crate::common::kernel;

type Recorder = <NoObserver as Observer>::Recorder;

/// Wants some CTAs, and is content with a few of them.
struct Few {
    wanted: Vec<Range<u64>>,
    least: u64,
    /// CTAs that were heard of, in order.
    heard: Vec<u64>,
}

impl Observer for Few {
    type Recorder = Recorder;

    fn recorder(&self, program: &Program) -> Recorder {
        NoObserver.recorder(program)
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut Recorder]) {
        self.heard.extend((first_cta..).take(recorders.len()));
    }

    fn fresh(&self) -> Self {
        Self { wanted: self.wanted.clone(), least: self.least, heard: Vec::new() }
    }
}

impl Samples for Few {
    fn next_ranges(&mut self) -> Result<Vec<Range<u64>>, String> {
        Ok(std::mem::take(&mut self.wanted))
    }

    fn may_end(&mut self) -> bool {
        self.heard.len() as u64 >= self.least
    }
}

/// Each CTA takes its time.
struct Slow(Duration);

impl Host for Slow {
    fn progress(&self, _done: u128, _ctas: u128) {
        sleep(self.0);
    }
}

/// CTAs of the grid. Those of the sample come backwards, one range for each.
const CTAS: u64 = 20_000;

fn sample(
    body: &str,
    least: u64,
    seconds: u64,
    host: &dyn Host,
) -> (Result<BySample, RunError>, Vec<u64>) {
    let text = kernel(body);
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, "k").unwrap();
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", 4096).unwrap();
    let launch = Launch {
        grid: [CTAS as u32, 1, 1],
        block: [32, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(out)],
    };
    let options = Options {
        deadline: Some(Instant::now() + Duration::from_secs(seconds)),
        instruction_budget: u64::MAX,
        ..Options::default()
    };
    let wanted = (0..CTAS).rev().map(|cta| cta..cta + 1).collect();
    let mut few = Few { wanted, least, heard: Vec::new() };
    let outcome = run_sample(&program, &launch, &mut memory, &mut few, &options, host);
    (outcome.map(|outcome| outcome.unwrap()), few.heard)
}

fn is_deadline(outcome: &Result<BySample, RunError>) -> bool {
    matches!(outcome, Err(RunError::Stopped { reason: StopReason::Deadline, .. }))
}

/// 20,000 CTAs of two milliseconds do not end within a second on fewer than 40 threads.
#[test]
fn a_sample_ends_with_the_ctas_that_were_executed_in_time() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let (slow, patient) = (Slow(Duration::from_millis(2)), Silent);
    let (outcome, heard) = pool.install(|| sample("ret;", 10, 1, &slow));
    let BySample { executed, is_cut_short, .. } = outcome.unwrap();
    assert!(is_cut_short && executed < CTAS);
    assert!(
        heard.iter().copied().eq((CTAS - executed..CTAS).rev()),
        "those in order, and no others"
    );
    // Without haste all of them are executed.
    let (outcome, heard) = pool.install(|| sample("ret;", 10, 3600, &patient));
    let BySample { executed, is_cut_short, .. } = outcome.unwrap();
    assert!(!is_cut_short && executed == CTAS && heard.len() as u64 == CTAS);
}

#[test]
fn a_sample_that_says_nothing_yet_is_an_error() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let slow = Slow(Duration::from_millis(2));
    let (outcome, heard) = pool.install(|| sample("ret;", CTAS, 1, &slow));
    assert!(is_deadline(&outcome) && !heard.is_empty());
}

/// One CTA never ends. Without it the sample would be one of a launch that ends.
#[test]
fn a_cta_that_hangs_is_not_left_out_of_a_sample() {
    let body = "mov.u32 %r0, %ctaid.x; setp.eq.u32 %p, %r0, 100; AGAIN: @%p bra AGAIN; ret;";
    let (outcome, heard) = sample(body, 10, 3, &Silent);
    assert!(is_deadline(&outcome), "{outcome:?}");
    assert!(heard.len() > 10 && !heard.contains(&100));
}

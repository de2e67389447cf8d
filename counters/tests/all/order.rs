//! A launch that is given up and executed again in order counts nothing of the attempt.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use gpucast_counters::features::{Buffer, FeatureCounter};
use gpucast_counters::stages::StageCounter;
use gpucast_counters::{Counter, DeviceModel};
use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, Options, Program, Schedule, Silent, Summary, run,
};

/// Each CTA loops as often as the one before has left in `out`, with a barrier between loops.
const KERNEL: &str = ".version 8.0\n.target sm_80\n.address_size 64\n\
    .visible .entry k(.param .u64 out) { .reg .b64 %d<4>; .reg .pred %p; .reg .b32 %r<6>;\n\
    ld.param.u64 %d1, [out]; ld.global.u32 %r1, [%d1]; add.u32 %r2, %r1, 1; mov.u32 %r3, 0;\n\
    W: add.u32 %r3, %r3, 1; bar.sync 0; mul.wide.u32 %d2, %r3, 4; add.u64 %d3, %d1, %d2;\n\
    ld.global.u32 %r4, [%d3+64]; setp.lt.u32 %p, %r3, %r1; @%p bra W;\n\
    st.global.u32 [%d1], %r2; ret; }";

/// Everything that counters say, and how the launch ran.
fn counted(threads: usize, schedule: Schedule) -> (String, Summary) {
    let module = gpucast_ptx_frontend::load(KERNEL).unwrap();
    let program = Program::new(&module, KERNEL, "k").unwrap();
    let mut memory = DeviceMemory::new();
    let bytes = 4096;
    let address = memory.allocate("out", bytes).unwrap();
    let launch = Launch {
        grid: [150, 1, 1],
        block: [64, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(address)],
    };
    let counter = Counter::new(&program, &launch, 0, DeviceModel::GTX_480);
    let stages = StageCounter::new(&program, &launch, 0, DeviceModel::GTX_480);
    let mut all = ((counter, stages), FeatureCounter::new(&program, &launch));
    let options = Options { schedule, ..Options::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let summary =
        pool.install(|| run(&program, &launch, &mut memory, &mut all, &options, &Silent)).unwrap();
    let ((counter, stages), features) = all;
    let (profile, _) = counter.finish();
    let buffers = [Buffer { name: "out".to_owned(), address, bytes }];
    let features = features.finish(&profile.table, &buffers);
    (format!("{profile:?}\n{:?}\n{features:?}", stages.finish()), summary)
}

#[test]
fn counters_stages_and_features_see_only_the_run_that_counts() {
    let (ordered, _) = counted(1, Schedule::Ordered);
    for threads in [1, 2, 7] {
        let (counted, summary) = counted(threads, Schedule::Automatic);
        assert!(summary.watched && summary.ordered_because.is_some());
        assert_eq!(counted, ordered, "{threads} threads");
    }
}

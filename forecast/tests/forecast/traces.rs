//! Traces of the corpus's kernels: they agree with the counts and change none.

use std::collections::BTreeMap;

use gpucast_counters::DeviceModel;
use gpucast_counters::trace::{LaunchTrace, TraceLimits};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::settings::{CacheChoice, RungChoice, Size};
use gpucast_forecast::{Alone, Kernel, LaunchOptions};
use gpucast_interpreter::{AccessKind, Options};

pub(crate) fn counted(
    kernel: &Kernel,
    device: DeviceModel,
    trace: Option<TraceLimits>,
) -> Vec<Counted> {
    let loaded = module::load(kernel.plan()).unwrap();
    let extras = Extras { trace, ..Extras::default() };
    let (rung, caches) = (RungChoice::Auto, CacheChoice::Full);
    let counting = Counting {
        device,
        machine: &Machine::none(),
        extras,
        rung,
        sample: None,
        caches,
        supervisor: &Alone,
    };
    counting::count(kernel.plan(), &loaded, &Options::default(), &counting).unwrap()
}

/// Requests by instruction, and sectors of the L1, the L2 and DRAM.
type Sums = BTreeMap<u32, (u64, [u64; 3])>;

fn recorded(trace: &LaunchTrace) -> Sums {
    let mut sums = Sums::new();
    let samples = trace.classes.iter().flat_map(|class| &class.samples);
    for (&instruction, requests) in
        samples.flat_map(|sample| &sample.warps).flat_map(|warp| &warp.requests)
    {
        let (count, levels) = sums.entry(instruction).or_default();
        *count += requests.len() as u64;
        for request in requests {
            let sectors = [request.l1_sectors, request.l2_sectors, request.dram_sectors];
            levels.iter_mut().zip(sectors).for_each(|(sum, one)| *sum += u64::from(one));
        }
    }
    sums
}

/// The same of the whole launch, of instructions that go to one space.
fn expected(counted: &Counted) -> Sums {
    let mut sums = Sums::new();
    for row in &counted.profile.table.rows {
        if let [memory] = &*row.memory {
            let traffic = memory.traffic.unwrap();
            let levels = match memory.kind {
                AccessKind::Store => [0, memory.sectors as u64, 0],
                _ => [traffic.l1_hit_sectors, traffic.l2_hit_sectors, traffic.dram_read_sectors],
            };
            sums.insert(row.instruction, (memory.requests as u64, levels));
        }
    }
    sums
}

#[test]
fn a_trace_of_every_cta_has_every_request_and_its_sectors() {
    let library = gpu_argument::library().unwrap();
    let mut whole = 0;
    for gpu in ["gtx-480", "a100-sxm-40gb"] {
        let gpu = gpu_argument::find(&library, gpu).unwrap();
        let device = gpu_argument::device_model(&gpu).unwrap();
        for entry in gpucast_corpus::entries() {
            let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
            let kernel = Kernel::open(entry.name, &options).unwrap();
            let untraced = counted(&kernel, device, None);
            let limits = TraceLimits { samples: 300, ..TraceLimits::default() };
            let traced = counted(&kernel, device, Some(limits));
            assert_eq!(traced.len(), untraced.len());
            for (mut traced, untraced) in traced.into_iter().zip(untraced) {
                let trace = traced.profile.trace.take().unwrap();
                assert_eq!(traced.profile, untraced.profile, "{}", entry.name);
                assert_eq!(traced.ranges, untraced.ranges, "{}", entry.name);
                let samples: usize = trace.classes.iter().map(|class| class.samples.len()).sum();
                let ctas: u64 = trace.order.iter().map(|run| run.ctas).sum();
                if samples as u64 == ctas && traced.profile.invocations == 1 {
                    whole += 1;
                    let recorded = recorded(&trace);
                    for (instruction, sums) in expected(&traced) {
                        let got = recorded.get(&instruction).copied().unwrap_or_default();
                        let message = format!("{} {instruction}: {:?}", entry.name, trace.notes);
                        let (count, [l1, l2, dram]) = sums;
                        assert_eq!((got.0, got.1[0]), (count, l1), "{message}");
                        assert_eq!(got.1[1] + got.1[2], l2 + dram, "{message}");
                        // CTAs of a class share their misses out by whole requests.
                        let of_request = (l2 + dram).div_ceil(count.max(1)).max(32);
                        let most = 2 * of_request * trace.classes.len() as u64;
                        assert!(got.1[2].abs_diff(dram) <= most, "{got:?} {sums:?} {message}");
                    }
                }
            }
        }
    }
    assert!(whole > 30, "{whole}");
}

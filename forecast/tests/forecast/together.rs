//! Several GPUs that count one execution: everything is as if each had its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, CountingGpu, Counts, Launched};
use gpucast_forecast::settings::{
    CacheChoice, ExecutionSettings, MachineChoice, MachineSettings, RungChoice, Size,
};
use gpucast_forecast::{Kernel, LaunchOptions, Supervisor};
use gpucast_model::{Gpu, Needs};

/// Counts the launches that are executed.
#[derive(Default)]
struct Launches(AtomicUsize);

impl Supervisor for Launches {
    fn launching(&self, _kernel: &str) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Launches {
    fn take(&self) -> usize {
        self.0.swap(0, Ordering::Relaxed)
    }
}

/// Of different generations: their lines, sectors, residents and habits of first-level caches
/// differ. The last one makes a second group.
const GPUS: [&str; 5] = ["gtx-480", "tesla-k40c", "gtx-960", "titan-v", "h100-sxm"];

fn gpus() -> Vec<Gpu> {
    let library = gpu_argument::library().unwrap();
    GPUS.iter().map(|name| gpu_argument::find(&library, name).unwrap()).collect()
}

/// Insist that one counted what the other did.
fn assert_alike(alone: &Launched, together: &Launched, name: &str) {
    let (one, other) = (&alone.counted, &together.counted);
    assert!(one.profile == other.profile, "the profile of {name}");
    assert_eq!(one.evidence.stages, other.evidence.stages, "{name}");
    let simulated = |launched: &Launched| {
        let launches = launched.counted.evidence.simulation.iter().flat_map(|all| all.iter());
        launches.map(|part| (part.launch.clone(), part.count)).collect::<Vec<_>>()
    };
    assert!(simulated(alone) == simulated(together), "the record of {name}");
    assert!(one.evidence.features == other.evidence.features, "the features of {name}");
    assert_eq!(one.counted_by, other.counted_by, "{name}");
    assert_eq!(alone.source.profile, together.source.profile, "{name}");
    assert_eq!(alone.source.origin, together.source.origin, "{name}");
}

fn check(kernel: &str, counts: &Counts, executions: usize) {
    let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
    let kernel_of_plan = Kernel::open(kernel, &options).unwrap();
    let plan = kernel_of_plan.plan();
    let loaded = module::load(plan).unwrap();
    let (gpus, launches) = (gpus(), Launches::default());
    let on: Vec<CountingGpu<'_>> =
        gpus.iter().map(|gpu| CountingGpu { gpu, needs: counts.needs }).collect();
    let together = sources::launched_each(plan, &loaded, &on, counts, &launches);
    assert_eq!(launches.take(), executions * plan.launches.len(), "{kernel}");
    for (gpu, together) in gpus.iter().zip(&together) {
        let alone = sources::launched(plan, &loaded, gpu, counts, &launches);
        let name = format!("{kernel} on {}", gpu.name);
        let (alone, together) = (alone.unwrap(), together.as_ref().unwrap());
        assert_eq!(alone.len(), together.len(), "{name}");
        for (alone, together) in alone.iter().zip(together) {
            assert_alike(alone, together, &name);
        }
    }
}

fn counts(needs: Needs, caches: CacheChoice, counting: RungChoice) -> Counts {
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let execution = ExecutionSettings { counting, caches, ..ExecutionSettings::default() };
    Counts { machine, execution, needs, ..Counts::default() }
}

#[test]
fn gpus_that_share_an_execution_count_what_each_counts_alone() {
    let (full, none) = (CacheChoice::Full, CacheChoice::None);
    let order = Needs::STAGES | Needs::ORDER;
    // Classes of CTAs; contents that decide; atomics; textures.
    for kernel in ["sgemm", "spmv-ell", "histogram", "kmeans-point"] {
        check(kernel, &counts(order, full, RungChoice::Auto), 2);
    }
    for kernel in ["lmsor", "spmv-ell"] {
        check(kernel, &counts(Needs::METRICS, full, RungChoice::Auto), 2);
        check(kernel, &counts(Needs::METRICS, none, RungChoice::Auto), 2);
    }
    check("transpose", &counts(Needs::METRICS, full, RungChoice::Full), 2);
    check("transpose", &counts(Needs::STAGES, full, RungChoice::Slice), 2);
    let features = Needs { features: true, ..Needs::METRICS };
    check("stencil-7pt", &counts(features, full, RungChoice::Auto), 2);
}

#[test]
fn windows_are_of_each_gpu_alone() {
    let windows = counts(Needs::METRICS, CacheChoice::Windows, RungChoice::Auto);
    check("sgemm", &windows, GPUS.len());
}

//! Several GPUs that count one execution: everything is as if each had its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::module;
use gpucast_forecast::run::sources::{self, CountingGpu, Counts, Launched};
use gpucast_forecast::settings::{
    CacheChoice, ExecutionSettings, MachineChoice, MachineSettings, RungChoice, Size,
};
use gpucast_forecast::{Failure, Kernel, LaunchOptions, Supervisor};
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

/// Everything that was counted, as text: the figures have as many digits as they need.
fn text(launched: &Result<Vec<Launched>, Failure>) -> String {
    let launches = launched.as_ref().unwrap().iter().map(|one| {
        let counted = &one.counted;
        format!(
            "{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}",
            counted.profile,
            counted.evidence.stages,
            counted.evidence.simulation,
            counted.evidence.features,
            counted.counted_by,
            one.source.profile,
            one.source.origin,
        )
    });
    launches.collect::<Vec<_>>().join("\n")
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
        let (alone, together) = (text(&alone), text(together));
        assert!(alone == together, "{kernel} on {}", gpu.name);
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

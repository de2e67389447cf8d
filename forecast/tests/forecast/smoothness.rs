//! Times of nearly the same GPUs: no noise of a scheduler's choices is in their differences.

use gpucast_forecast::run::sources::Source;
use gpucast_forecast::{Kernel, LaunchOptions};
use gpucast_model::sensitivity::analyse;
use gpucast_model::sm_simulation::Orders;
use gpucast_model::{Gpu, GpuLibrary, Model as _, SmSimulation};

/// Kernels that DRAM, shared memory, the L2, latency and arithmetic bound, of one launch.
const KERNELS: [&str; 6] =
    ["transpose", "transpose-unpadded", "stream-triad", "copy-16", "sgemm-320", "reduction-f32"];

const BANDWIDTHS: [&str; 4] =
    ["memory_bandwidth", "l2_bandwidth", "shared_bytes_rate", "l1_bytes_rate"];

fn gpu() -> Gpu {
    GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap()
}

fn counted(kernel: &str, gpu: &Gpu) -> Vec<Source> {
    Kernel::open(kernel, &LaunchOptions::default()).unwrap().count(gpu).unwrap()
}

fn time(source: &Source, orders_of: &Gpu, gpu: &Gpu) -> f64 {
    let conditions = source.conditions.following(Orders::of_gpu(orders_of));
    SmSimulation.time_ms(&source.profile, gpu, &conditions).unwrap()
}

#[test]
fn no_kernel_takes_longer_with_more_bandwidth() {
    let gpu = gpu();
    for kernel in KERNELS {
        for source in counted(kernel, &gpu) {
            let conditions = source.conditions.following(Orders::of_gpu(&gpu));
            for field in BANDWIDTHS {
                let at = |percent: u32| {
                    let factor = format!("{}x", f64::from(percent) / 100.0);
                    let gpu = gpu.with_override(field, &factor).unwrap();
                    SmSimulation.time_ms(&source.profile, &gpu, &conditions).unwrap()
                };
                let times: Vec<f64> = (90..=110).step_by(2).map(at).collect();
                for pair in times.windows(2) {
                    assert!(pair[1] <= 1.003 * pair[0], "{kernel}, {field}: {times:?}");
                }
            }
        }
    }
}

#[test]
fn a_gpu_has_its_own_time_in_its_own_order() {
    let gpu = gpu();
    for kernel in KERNELS {
        for source in counted(kernel, &gpu) {
            let alone = SmSimulation.time_ms(&source.profile, &gpu, &source.conditions).unwrap();
            assert_eq!(time(&source, &gpu, &gpu).to_bits(), alone.to_bits(), "{kernel}");
        }
    }
}

#[test]
fn sensitivities_do_not_depend_on_the_step() {
    let gpu = gpu();
    for kernel in KERNELS {
        for source in counted(kernel, &gpu) {
            let elasticities = |step| {
                let Source { profile, conditions, .. } = &source;
                let found =
                    analyse(&SmSimulation, profile, &gpu, conditions, &BANDWIDTHS, step).unwrap();
                BANDWIDTHS.map(|field| {
                    let one = found.parameters.iter().find(|parameter| parameter.field == field);
                    one.and_then(|sensitivity| sensitivity.elasticity).unwrap_or_default()
                })
            };
            let [small, middle, large] = [0.01, 0.05, 0.1].map(elasticities);
            for (at, field) in BANDWIDTHS.into_iter().enumerate() {
                let all = [small[at], middle[at], large[at]];
                // Less than a twentieth is no effect, whatever its sign.
                let has_effect = all.iter().any(|elasticity| elasticity.abs() > 0.05);
                let is_negative = all.iter().all(|elasticity| *elasticity < 0.0);
                assert!(!has_effect || is_negative, "{kernel}, {field}: {all:?}");
                let spread =
                    all.iter().fold(0.0_f64, |spread, one| spread.max((one - all[2]).abs()));
                assert!(spread <= 0.1, "{kernel}, {field}: {all:?}");
            }
        }
    }
}

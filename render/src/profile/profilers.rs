//! CSV that looks like the profilers'.

use gpucast_counters::definitions::Definition;
use gpucast_counters::export::{self, Device, Launch};
use gpucast_forecast::input::kernel_name::demangled;
use gpucast_forecast::run::counting::Counted;

use super::View;

pub(super) fn nvprof(view: &View<'_>) -> String {
    with_launches(view, |device, launches| export::nvprof_csv(launches, device, &every))
}

pub(super) fn ncu(view: &View<'_>) -> String {
    with_launches(view, |device, launches| export::ncu_csv(launches, device, &every))
}

fn every(_: &Definition) -> bool {
    true
}

/// Profilers show C++ names with their parameters.
fn with_launches(view: &View<'_>, write: impl Fn(Device<'_>, &[Launch<'_>]) -> String) -> String {
    let readable = |name: &String| demangled(name).unwrap_or_else(|| name.clone());
    let names: Vec<String> =
        view.counted.iter().map(|counted| readable(&counted.profile.kernel)).collect();
    let mut launches = Vec::new();
    for (Counted { profile, ranges, .. }, kernel) in view.counted.iter().zip(&names) {
        launches.push(Launch {
            kernel,
            grid: profile.grid,
            block: profile.block,
            invocations: profile.invocations,
            mean: &profile.metrics,
            ranges,
        });
    }
    let capability = view.gpu.compute_capability.as_ref();
    let capability = capability.map_or_else(String::new, |capability| capability.value.to_string());
    write(Device { name: &view.gpu.name, capability: &capability }, &launches)
}

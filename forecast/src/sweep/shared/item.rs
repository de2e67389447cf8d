//! The unit of work: one kernel, counted as one kind of GPU would. Its name is a hash of everything
//! that decides the counts.

use std::fmt::Write as _;

use gpucast_counters::DeviceModel;
use gpucast_model::Needs;

use crate::store::sealed;

/// Version of the counts, and of the bytes that hold them. It is raised whenever an execution may
/// count something else than before, so that nothing is predicted from a mixture.
/// `forecast/tests/forecast/counting_version.rs` fails where that was forgotten.
pub const COUNTING_VERSION: u32 = 20;

/// Settings of a plan that decide counts, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings(pub(super) String);

/// The name of an item.
///
/// The device model's `Debug` form stands for it, because that names every field of it. Threads,
/// machines, folders and times are not in the hash: no count depends on them.
pub(super) fn name(
    kernel: &str,
    device: &DeviceModel,
    needs: Needs,
    settings: &Settings,
) -> String {
    let mut text = format!("counts {COUNTING_VERSION} of gpucast {}\n", env!("CARGO_PKG_VERSION"));
    let Needs { stages, features: _, order } = needs;
    // Writing to a string cannot fail.
    let _ = write!(text, "{kernel}\n{device:?}\nstages {stages} order {order}\n{}\n", settings.0);
    sealed::hash(text.as_bytes())
}

/// The names of items that have everything that models with `needs` read, the exact one first. More
/// inputs change no count.
pub(super) fn names(
    kernel: &str,
    device: &DeviceModel,
    needs: Needs,
    settings: &Settings,
) -> Vec<String> {
    let further = [Needs::METRICS, Needs::STAGES, Needs::ORDER, Needs::STAGES | Needs::ORDER];
    let mut names: Vec<String> = Vec::new();
    for more in further {
        let name = name(kernel, device, needs | more, settings);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_decides_counts_is_in_the_name() {
        let device = DeviceModel::GTX_480;
        let settings = |text: &str| Settings(text.to_owned());
        let usual = name("k", &device, Needs::METRICS, &settings("rules"));
        let larger = DeviceModel { sm_count: 16, ..device };
        let others = [
            name("l", &device, Needs::METRICS, &settings("rules")),
            name("k", &larger, Needs::METRICS, &settings("rules")),
            name("k", &device, Needs::ORDER, &settings("rules")),
            name("k", &device, Needs::METRICS, &settings("ptxas")),
        ];
        assert!(others.iter().all(|other| *other != usual));
        assert_eq!(name("k", &device, Needs::FEATURES, &settings("rules")), usual);
    }

    #[test]
    fn counts_with_more_inputs_serve_too() {
        let device = DeviceModel::GTX_480;
        let settings = Settings(String::new());
        let of = |needs| names("k", &device, needs, &settings);
        assert_eq!(of(Needs::METRICS).len(), 4);
        assert_eq!(of(Needs::STAGES | Needs::ORDER).len(), 1);
        assert!(of(Needs::ORDER).iter().all(|name| of(Needs::METRICS).contains(name)));
        assert!(!of(Needs::ORDER).contains(&of(Needs::METRICS)[0]));
    }
}

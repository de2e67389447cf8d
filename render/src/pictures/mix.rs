//! Instructions by class.

use gpucast_counters::KernelProfile;
use gpucast_counters::metric;
use gpucast_forecast::run::sources::Source;
use gpucast_plot::number::significant;
use gpucast_plot::pictures::bars::{Bar, Bars, Length};
use gpucast_plot::{DrawError, Scene};

use super::{short_name, titled};

/// A class of instructions.
struct Class {
    name: &'static str,
    /// The metrics that make it.
    metrics: &'static [&'static str],
    /// Thread instructions for each that a metric counts.
    threads: f64,
}

const fn class(name: &'static str, metrics: &'static [&'static str]) -> Class {
    Class { name, metrics, threads: 1.0 }
}

/// Rare classes share the last colour.
const CLASSES: [Class; 7] = [
    class("fp32", &[metric!("inst_fp_32")]),
    class("fp64", &[metric!("inst_fp_64")]),
    class("integer", &[metric!("inst_integer")]),
    class("load/store", &[metric!("inst_compute_ld_st")]),
    class("control", &[metric!("inst_control")]),
    // Profilers count the warps that do matrix products, and older ones do not count them.
    Class { name: TENSOR, metrics: &[metric!("inst_executed_pipe_tensor")], threads: 32.0 },
    class(
        "conversion, fp16, between threads, other",
        &metric!["inst_bit_convert", "inst_fp_16", "inst_inter_thread_communication", "inst_misc"],
    ),
];

const TENSOR: &str = "tensor";

/// A bar for each kernel.
///
/// # Errors
///
/// If there is nothing to draw, or the picture becomes too large.
pub fn scene(sources: &[Source], title: Option<&str>) -> Result<Scene, DrawError> {
    let profiles = sources.iter().map(|source| (&source.profile, source.origin.as_str()));
    let mut picture = bars(profiles);
    picture.title = titled(picture.title, title, false);
    picture.scene()
}

/// Describes the origin of each kernel's counts; an origin that all share is said once.
fn notes_of(origins: &[(String, &str)]) -> Vec<String> {
    const PARTS: &str = ": ";
    let common = origins.first().and_then(|(_, origin)| Some(origin.split_once(PARTS)?.1));
    let common = common.filter(|common| {
        let ends = |origin: &str| origin.split_once(PARTS).is_some_and(|(_, end)| end == *common);
        origins.len() > 1 && origins.iter().all(|(_, origin)| ends(origin))
    });
    let Some(common) = common else {
        return origins.iter().map(|(name, origin)| format!("{name}: {origin}")).collect();
    };
    let each = origins.iter().map(|(name, origin)| {
        let own = origin.split_once(PARTS).map_or(*origin, |(own, _)| own);
        format!("{name}: {own}.")
    });
    each.chain([format!("All of them: {common}")]).collect()
}

/// Shares of the thread instructions, by class.
pub fn bars<'a>(profiles: impl IntoIterator<Item = (&'a KernelProfile, &'a str)>) -> Bars {
    let mut bars = Vec::new();
    let mut lacking = Vec::new();
    let mut origins: Vec<(String, &str)> = Vec::new();
    for (profile, origin) in profiles {
        let total = |class: &Class| {
            let known = class.metrics.iter().filter_map(|name| profile.metrics.get(*name));
            class.threads * known.map(|metric| metric.value.as_f64()).sum::<f64>()
        };
        let parts: Vec<f64> = CLASSES.iter().map(total).collect();
        let always = CLASSES.iter().filter(|class| class.name != TENSOR);
        let missing = always.flat_map(|class| class.metrics);
        let missing: Vec<&str> =
            missing.copied().filter(|name| !profile.metrics.contains_key(*name)).collect();
        if !missing.is_empty() {
            lacking.push(format!("{} lacks {}", short_name(&profile.kernel), missing.join(", ")));
        }
        let name = short_name(&profile.kernel);
        if !origins.iter().any(|(one, of)| *one == name && of == &origin) {
            origins.push((name.clone(), origin));
        }
        bars.push(Bar {
            group: String::new(),
            name,
            remark: significant(parts.iter().sum(), 3),
            parts,
            marked: None,
        });
    }
    let mut notes = notes_of(&origins);
    if !lacking.is_empty() {
        notes.push(format!("Shares are of the classes that were counted: {}.", lacking.join("; ")));
    }
    Bars {
        title: "Instructions by class".to_owned(),
        subtitle: "Shares of the instructions that threads executed; beside each bar their number"
            .to_owned(),
        series: CLASSES.iter().map(|class| class.name.to_owned()).collect(),
        axis: "share of the instructions (%)".to_owned(),
        mark: String::new(),
        bars,
        length: Length::Shares,
        notes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_holds_for_all_kernels_is_said_once() {
        let origin = |name: &str, origin| (name.to_owned(), origin);
        let (a, b) = ("6 blocks: by rules.", "2 blocks: by rules.");
        assert_eq!(
            notes_of(&[origin("k", a), origin("m", b)]),
            ["k: 6 blocks.", "m: 2 blocks.", "All of them: by rules."]
        );
        assert_eq!(notes_of(&[origin("k", a)]), ["k: 6 blocks: by rules."]);
        assert_eq!(
            notes_of(&[origin("k", a), origin("m", "Counts of a file.")]),
            ["k: 6 blocks: by rules.", "m: Counts of a file."]
        );
    }
}

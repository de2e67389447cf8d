//! Instructions by class.

use gpucast_counters::KernelProfile;
use gpucast_forecast::run::sources::Source;
use gpucast_plot::number::significant;
use gpucast_plot::pictures::bars::{Bar, Bars, Length};
use gpucast_plot::{DrawError, Scene};

use super::{short_name, titled};

/// The classes with the metrics that make them. Rare ones share the last colour.
const CLASSES: [(&str, &[&str]); 7] = [
    ("fp32", &["inst_fp_32"]),
    ("fp64", &["inst_fp_64"]),
    ("integer", &["inst_integer"]),
    ("load/store", &["inst_compute_ld_st"]),
    ("control", &["inst_control"]),
    ("conversion", &["inst_bit_convert"]),
    (
        "fp16, between threads, other",
        &["inst_fp_16", "inst_inter_thread_communication", "inst_misc"],
    ),
];

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
        let total = |metrics: &[&str]| {
            let known = metrics.iter().filter_map(|name| profile.metrics.get(*name));
            known.map(|metric| metric.value.as_f64()).sum::<f64>()
        };
        let parts: Vec<f64> = CLASSES.iter().map(|(_, metrics)| total(metrics)).collect();
        let missing = CLASSES.iter().flat_map(|(_, metrics)| *metrics);
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
        series: CLASSES.map(|(name, _)| name.to_owned()).to_vec(),
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

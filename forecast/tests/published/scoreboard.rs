//! What follows from the table of predicted times: quantiles of errors for intervals, and the page
//! of evidence.
//!
//! The program of `examples/evaluate` reads this file, too.

use std::collections::{BTreeMap, BTreeSet};

use gpucast_model::agreement::{Pair, Summary, rank_correlation};
use gpucast_model::conformal::{MeasuredError, Table, TimeClass};

use super::times::{MODELS, Time};

/// The quantiles of errors that intervals rest on.
pub(crate) const QUANTILES: &str = "model/data/interval-quantiles.csv";

/// The page with the scoreboard.
pub(crate) const PAGE: &str = "docs/evidence/validation.md";

/// The lines of the page between which the scoreboard stands.
const MARKS: [&str; 2] = ["<!-- scoreboard -->", "<!-- end of the scoreboard -->"];

/// The files that follow from the table, with their texts. `page` is the page as it is.
pub(crate) fn files(times: &[Time], page: &str) -> Vec<(&'static str, String)> {
    let errors: Vec<MeasuredError> = times.iter().filter_map(Time::error).collect();
    let (before, rest) = page.split_once(MARKS[0]).unwrap();
    let (_, after) = rest.split_once(MARKS[1]).unwrap();
    let page = format!("{before}{}\n\n{}\n{}{after}", MARKS[0], scoreboard(times), MARKS[1]);
    vec![(QUANTILES, Table::of(&errors).to_csv()), (PAGE, page)]
}

/// What is known of a set: its name, where its data are from.
const SETS: [(&str, &str); 3] = [
    ("thesis", "Konstantinidis 2017, tables 5.9, 5.12 and 5.14: `corpus/published/times.toml`"),
    ("published", "printed by others, each with its source: `corpus/published/measured.toml`"),
    ("coulomb", "KTT's CoulombSum3d at 931c4157: `corpus/published/coulomb-sum-3d.csv`"),
];

/// Simulators on 617 launches of a Quadro GV100, from the cycles of `compare.xlsx` in
/// github.com/RepositoryAnonymous/simulator-apps, beside the measured ones.
const SIMULATORS: [(&str, usize, [f64; 3]); 3] = [
    ("Accel-Sim", 617, [30.0, 27.0, 47.0]),
    ("HyFiSS", 616, [46.9, 36.9, 32.0]),
    ("PPT-GPU", 617, [145.8, 44.2, 45.0]),
];

/// The rows that are named among the worst of a set.
const WORST: usize = 5;

fn scoreboard(times: &[Time]) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "Written by `evaluate tables` from [predicted-times.csv](predicted-times.csv), by version \
         {version}. The table is from\n`evaluate record`, which runs all models \
         ([command](../sm-simulation.md#its-interval)). GPUs are those from capability 3.0 \
         on.\nErrors are (predicted − measured) / measured; ρ is Spearman's rank correlation. \
         Coverage is the share of held-back times in\ntheir interval. Intervals are taken from \
         half of the kernel families and tried on the other half, in {SPLITS} divisions. Each \
         family\non a GPU weighs the same. 80 % are promised.\n\n| set | data |\n|---|---|\n"
    );
    let sets: BTreeSet<&str> = times.iter().map(|time| time.set.as_str()).collect();
    for set in &sets {
        let known = SETS.iter().find(|(name, _)| name == set);
        let data = known.map_or_else(
            || format!("measured for the corpus: `corpus/measured/{set}.toml`"),
            |(_, data)| (*data).to_owned(),
        );
        text += &format!("| {set} | {data} |\n");
    }
    text += "\n| set | machine code | model | times | mean % | median % | within 25 % | ρ | coverage % |\n\
             |---|---|---|--:|--:|--:|--:|--:|--:|\n";
    let held = held_back(times);
    let mut worst = String::new();
    for set in &sets {
        for machine in ["rules", "ptxas"] {
            let is_meant = |time: &Time| time.set == *set && time.machine == machine;
            let rows: Vec<&Time> = times.iter().filter(|time| is_meant(time)).collect();
            for (at, model) in MODELS.iter().enumerate() {
                let share = (at == 0).then(|| coverage(&held, is_meant)).flatten();
                text += &line(&format!("{set} | {machine} | `{model}`"), &rows, at, share);
            }
            worst += &worst_rows(set, machine, &rows);
        }
    }
    text += &format!("\nThe largest errors of `sm-simulation`:\n\n{worst}");
    text += "\nCoverage by what binds:\n\n| bound by | kernels on a GPU | coverage % |\n|---|--:|--:|\n";
    for class in TimeClass::ALL.map(Some).into_iter().chain([None]) {
        let is_meant = |time: &Time| class.is_none() || time.class == class;
        let groups: BTreeSet<(&str, &str)> = times
            .iter()
            .filter(|time| is_meant(time) && time.class.is_some())
            .map(|time| (time.family.as_str(), time.gpu.as_str()))
            .collect();
        if let Some(share) = coverage(&held, is_meant) {
            let name = class.map_or("any", TimeClass::name);
            text += &format!("| {name} | {} | {:.0} |\n", groups.len(), 100.0 * share);
        }
    }
    text += "\nPublished simulators on launches of Rodinia and PolyBench on a Quadro GV100, from \
             the cycles of `compare.xlsx`\n(github.com/RepositoryAnonymous/simulator-apps). The \
             programs are not in this repository.\n\n\
             | simulator | launches | mean % | median % | within 25 % |\n|---|--:|--:|--:|--:|\n";
    for (name, launches, [mean, median, within]) in SIMULATORS {
        text += &format!("| {name} | {launches} | {mean:.1} | {median:.1} | {within:.0} |\n");
    }
    text
}

fn pairs(rows: &[&Time], model: usize) -> Vec<Pair> {
    let pair = |time: &&Time| {
        Some(Pair { predicted: time.predicted_ms[model]?, measured: time.measured_ms })
    };
    rows.iter().filter_map(pair).collect()
}

fn line(name: &str, rows: &[&Time], model: usize, coverage: Option<f64>) -> String {
    let pairs = pairs(rows, model);
    let Some(summary) = Summary::of(&pairs) else { return String::new() };
    format!(
        "| {name} | {} | {:.1} | {:.1} | {:.0} | {} | {} |\n",
        summary.count,
        100.0 * summary.mean_ape,
        100.0 * summary.median_ape,
        100.0 * summary.within_25_percent,
        rank_correlation(&pairs).map_or_else(String::new, |rho| format!("{rho:.2}")),
        coverage.map_or_else(String::new, |share| format!("{:.0}", 100.0 * share)),
    )
}

/// The largest errors of the simulation in a set, by name.
fn worst_rows(set: &str, machine: &str, rows: &[&Time]) -> String {
    let error = |time: &Time| Some(time.predicted_ms[0]? / time.measured_ms - 1.0);
    let mut errors: Vec<(f64, &Time)> =
        rows.iter().filter_map(|time| Some((error(time)?, *time))).collect();
    errors.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
    let named = errors
        .iter()
        .take(WORST)
        .map(|(error, time)| format!("{} on {} {:+.0} %", time.kernel, time.gpu, 100.0 * error));
    let named: Vec<String> = named.collect();
    match named.is_empty() {
        true => String::new(),
        false => format!("- **{set}, {machine}:** {}.\n", named.join(", ")),
    }
}

/// The shares of held-back times that lie inside an interval: one pair for each group of a family
/// on a GPU, with the number of the times that had an interval.
fn held_back(times: &[Time]) -> Vec<(&Time, f64)> {
    let families: Vec<&str> = times
        .iter()
        .map(|time| time.family.as_str())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut inside: Vec<(u32, u32)> = vec![(0, 0); times.len()];
    for split in 0..SPLITS {
        let order = shuffled(&families, split);
        let (one, other) = order.split_at(order.len() / 2);
        for (known, held) in [(one, other), (other, one)] {
            let errors = times.iter().filter(|time| known.contains(&time.family.as_str()));
            let errors: Vec<MeasuredError> = errors.filter_map(Time::error).collect();
            let table = Table::of(&errors);
            for (time, (within, all)) in times.iter().zip(&mut inside) {
                let Some(error) = time.error().filter(|_| held.contains(&time.family.as_str()))
                else {
                    continue;
                };
                let found = table.find(error.kind).and_then(|(row, _)| row.factors);
                let Some((low, high)) = found else { continue };
                *within += u32::from((low.ln()..=high.ln()).contains(&error.error));
                *all += 1;
            }
        }
    }
    let counted = times.iter().zip(inside).filter(|(_, (_, all))| *all > 0);
    counted.map(|(time, (within, all))| (time, f64::from(within) / f64::from(all))).collect()
}

/// Ways to divide the families into halves.
const SPLITS: u64 = 200;

/// The families in another order for each number.
fn shuffled<'a>(families: &[&'a str], number: u64) -> Vec<&'a str> {
    let mut state = number;
    let mut order = families.to_vec();
    for at in (1..order.len()).rev() {
        // Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators (2014).
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = state;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^= bits >> 31;
        order.swap(at, (bits % (at as u64 + 1)) as usize);
    }
    order
}

/// The share of held-back times inside their intervals. Each family on a GPU weighs the same.
fn coverage(held: &[(&Time, f64)], is_meant: impl Fn(&Time) -> bool) -> Option<f64> {
    let mut groups: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for (time, share) in held.iter().filter(|(time, _)| is_meant(time)) {
        groups.entry((&time.family, &time.gpu)).or_default().push(*share);
    }
    let mean = |shares: &Vec<f64>| shares.iter().sum::<f64>() / shares.len() as f64;
    let count = groups.len() as f64;
    (!groups.is_empty()).then(|| groups.values().map(mean).sum::<f64>() / count)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::times::{from_csv, to_csv};
    use super::*;

    fn committed() -> Vec<Time> {
        from_csv(include_str!("../../../docs/evidence/predicted-times.csv"))
    }

    #[test]
    fn what_follows_from_the_table_of_times_is_committed() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let page = fs::read_to_string(root.join(PAGE)).unwrap();
        for (file, text) in files(&committed(), &page) {
            let path = root.join(file);
            if std::env::var_os("GPUCAST_UPDATE").is_some() {
                fs::write(&path, &text).unwrap();
            }
            let written = fs::read_to_string(&path).unwrap_or_default();
            assert!(written == text, "{file} is out of date; run with GPUCAST_UPDATE=1");
        }
    }

    #[test]
    fn the_table_is_written_as_it_is_read() {
        let text = include_str!("../../../docs/evidence/predicted-times.csv");
        let mut times = from_csv(text);
        assert!(to_csv(&times) == text, "another program wrote the table");
        times.sort_by_key(Time::key);
        assert_eq!(times, from_csv(text), "the rows are in order");
    }

    #[test]
    fn intervals_hold_on_families_that_were_held_back() {
        let times = committed();
        let all = coverage(&held_back(&times), |_| true).unwrap();
        assert!((0.75..=0.85).contains(&all), "{all}");
    }
}

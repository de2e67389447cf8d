//! What follows from the table of predicted times: quantiles of errors for intervals, and the page
//! of evidence.
//!
//! The program of `examples/evaluate` reads this file, too.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use gpucast_model::agreement::{Pair, Summary, rank_correlation};
use gpucast_model::conformal::{
    COVERAGE, MeasuredError, Table, TimeClass, VariantError, VariantFactors,
};

use super::times::{MODELS, Time};

/// The quantiles of errors that intervals rest on.
pub(crate) const QUANTILES: &str = "model/data/interval-quantiles.csv";

/// The differences of errors that rankings rest on.
pub(crate) const FACTORS: &str = "model/data/variant-factors.csv";

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
    vec![
        (QUANTILES, Table::of(&errors).to_csv()),
        (FACTORS, VariantFactors::of(&variant_errors(times)).to_csv()),
        (PAGE, page),
    ]
}

/// The errors of every model.
fn variant_errors(times: &[Time]) -> Vec<VariantError<'_>> {
    let of_model = |(at, model): (usize, &'static str)| {
        times.iter().filter_map(move |time| {
            Some(VariantError {
                model,
                machine: time.machine,
                family: &time.family,
                gpu: &time.gpu,
                error: (time.measured_ms / time.predicted_ms[at]?).ln(),
            })
        })
    };
    MODELS.into_iter().enumerate().flat_map(of_model).collect()
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
         family\non a GPU weighs the same. 80 % are promised. Width is the upper end over the \
         lower one, in the median. Behind ± stands\nthe standard error that chance alone gives \
         so many families on a GPU.\n\n| set | data |\n|---|---|\n"
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
    text += "\n| set | machine code | model | times | mean % | median % | within 25 % | ρ | coverage % | width |\n\
             |---|---|---|--:|--:|--:|--:|--:|--:|--:|\n";
    let held = held_back(times, 0..SPLITS);
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
    text += "\nCoverage by what binds, and by the major number of the compute capability:\n\n\
             | | kernels on a GPU | coverage % | width |\n|---|--:|--:|--:|\n";
    let mut line_of = |name: &str, is_meant: &dyn Fn(&Time) -> bool| {
        if let Some(found) = coverage(&held, is_meant) {
            text += &format!("| {name} | {} | {} |\n", found.groups, found.cells());
        }
    };
    for class in TimeClass::ALL {
        line_of(class.name(), &|time| time.class == Some(class));
    }
    for major in times.iter().map(|time| time.capability).collect::<BTreeSet<_>>() {
        line_of(&format!("capability {major}"), &|time| time.capability == major);
    }
    line_of("all", &|_| true);
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

fn line(name: &str, rows: &[&Time], model: usize, coverage: Option<Coverage>) -> String {
    let pairs = pairs(rows, model);
    let Some(summary) = Summary::of(&pairs) else { return String::new() };
    format!(
        "| {name} | {} | {:.1} | {:.1} | {:.0} | {} | {} |\n",
        summary.count,
        100.0 * summary.mean_ape,
        100.0 * summary.median_ape,
        100.0 * summary.within_25_percent,
        rank_correlation(&pairs).map_or_else(String::new, |rho| format!("{rho:.2}")),
        coverage.map_or_else(|| " | ".to_owned(), |coverage| coverage.cells()),
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

/// A time that was held back, and the intervals that it had.
struct Held<'a> {
    time: &'a Time,
    /// The share of them that it lies in.
    inside: f64,
    /// The mean of ln (upper end / lower end).
    width: f64,
}

/// How often times lie in the intervals of divisions in which they were held back.
fn held_back(times: &[Time], splits: Range<u64>) -> Vec<Held<'_>> {
    let families: Vec<&str> = times
        .iter()
        .map(|time| time.family.as_str())
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let mut sums: Vec<(f64, f64, f64)> = vec![(0.0, 0.0, 0.0); times.len()];
    for split in splits {
        let order = shuffled(&families, split);
        let (one, other) = order.split_at(order.len() / 2);
        for (known, held) in [(one, other), (other, one)] {
            let errors = times.iter().filter(|time| known.contains(&time.family.as_str()));
            let errors: Vec<MeasuredError> = errors.filter_map(Time::error).collect();
            let table = Table::of(&errors);
            for (time, (all, inside, width)) in times.iter().zip(&mut sums) {
                let Some(error) = time.error().filter(|_| held.contains(&time.family.as_str()))
                else {
                    continue;
                };
                let found = table.find(error.kind).and_then(|(row, _)| row.factors);
                let Some((low, high)) = found else { continue };
                *all += 1.0;
                *inside += f64::from((low.ln()..=high.ln()).contains(&error.error));
                *width += (high / low).ln();
            }
        }
    }
    let counted = times.iter().zip(sums).filter(|(_, (all, ..))| *all > 0.0);
    let mean =
        |(time, (all, inside, width))| Held { time, inside: inside / all, width: width / all };
    counted.map(mean).collect()
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

/// How well the intervals of some times hold.
#[derive(Clone, Copy)]
struct Coverage {
    /// The share of held-back times inside. Each family on a GPU weighs the same.
    share: f64,
    /// The upper end over the lower one, in the median.
    width: f64,
    /// Families on a GPU.
    groups: usize,
}

impl Coverage {
    /// The standard error of the share of so many families where the promise holds.
    fn standard_error(self) -> f64 {
        (COVERAGE * (1.0 - COVERAGE) / self.groups as f64).sqrt()
    }

    /// Two cells of a table.
    fn cells(self) -> String {
        let (share, error) = (100.0 * self.share, 100.0 * self.standard_error());
        format!("{share:.0} ± {error:.0} | {:.2}", self.width)
    }
}

fn coverage(held: &[Held<'_>], is_meant: impl Fn(&Time) -> bool) -> Option<Coverage> {
    let mut groups: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    let mut widths = Vec::new();
    for Held { time, inside, width } in held.iter().filter(|held| is_meant(held.time)) {
        groups.entry((&time.family, &time.gpu)).or_default().push(*inside);
        widths.push(*width);
    }
    widths.sort_by(f64::total_cmp);
    let mean = |shares: &Vec<f64>| shares.iter().sum::<f64>() / shares.len() as f64;
    let share = groups.values().map(mean).sum::<f64>() / groups.len() as f64;
    let width = widths.get(widths.len() / 2)?.exp();
    Some(Coverage { share, width, groups: groups.len() })
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
        // Other divisions say the same.
        for seed in 0..4 {
            let held = held_back(&times, seed * SPLITS..seed * SPLITS + SPLITS / 2);
            let all = coverage(&held, |_| true).unwrap().share;
            assert!((0.75..=0.85).contains(&all), "{all}");
        }
    }

    #[test]
    fn intervals_of_each_set_hold_as_often_as_promised() {
        let times = committed();
        let held = held_back(&times, 0..SPLITS);
        let sets: BTreeSet<(&str, &str)> =
            times.iter().map(|time| (time.set.as_str(), time.machine)).collect();
        for (set, machine) in sets {
            let is_meant = |time: &Time| (time.set.as_str(), time.machine) == (set, machine);
            let found = coverage(&held, is_meant).unwrap();
            // Five points, and what chance alone may add to so few families.
            let most = 0.05 + found.standard_error();
            let away = (found.share - COVERAGE).abs();
            assert!(away <= most, "{set}, {machine}: {} is more than {most} away", found.share);
        }
    }
}

//! Each rule is first on the kernel that it was planted in, and nothing fires on the mended twin.

use std::fmt::Write as _;
use std::path::PathBuf;

use gpucast_advice::rules::ALL;

use crate::{advice, first_screen, folder};

/// A launch of the twin does the work of so many launches of the planted kernel.
fn work_of_twin(name: &str) -> f64 {
    match name {
        "launch-overhead" => 96.0,
        _ => 1.0,
    }
}

fn files() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder("kernels")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect();
    files.sort();
    files
}

fn name(path: &std::path::Path) -> String {
    path.file_stem().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn every_rule_has_a_planted_kernel() {
    let names: Vec<String> = files().iter().map(|path| name(path)).collect();
    let mut codes: Vec<&str> = ALL.iter().map(|rule| rule.code).collect();
    codes.sort_unstable();
    assert_eq!(names, codes, "each rule has a file tests/kernels/CODE.toml");
}

#[test]
fn each_rule_is_first_on_its_planted_kernel_and_none_fires_on_the_twin() {
    let mut table = String::from(
        "rule                  rank  planted µs  gain predicted  twin µs  gain of the twin  others\n",
    );
    let mut wrong = String::new();
    for file in files() {
        let name = name(&file);
        let all = advice(&file);
        let [planted, mended] = all.as_slice() else { panic!("{name} has two launches") };
        let rank = planted.items.iter().position(|item| item.rule == name);
        let gain = rank.and_then(|at| planted.items[at].speed_up);
        let ratio = planted.verdict.time_ms * work_of_twin(&name) / mended.verdict.time_ms;
        let others: Vec<String> = planted
            .items
            .iter()
            .filter(|item| item.rule != name)
            .map(|item| format!("{} {:.2}", item.rule, item.speed_up.unwrap_or(0.0)))
            .collect();
        let shown = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
        writeln!(
            table,
            "{name:<20}  {:>4}  {:>10.2}  {:>14}  {:>7.2}  {:>16.2}  {}",
            shown(rank.map(|rank| (rank + 1).to_string())),
            1e3 * planted.verdict.time_ms,
            shown(gain.map(|gain| format!("{gain:.2}"))),
            1e3 * mended.verdict.time_ms,
            ratio,
            others.join(", ")
        )
        .unwrap();
        if rank != Some(0) {
            writeln!(wrong, "{name}: not first").unwrap();
        }
        for item in &mended.items {
            let gain = item.speed_up.unwrap_or(0.0);
            writeln!(wrong, "{name}: {} fires on the twin ({gain:.3})", item.rule).unwrap();
        }
    }
    println!("{table}\n{wrong}");
    assert_eq!(wrong, "");
    insta::assert_snapshot!("ranks", table);
}

/// The first screen of `predict` asks one model, and says what `advise` says.
#[test]
fn first_screens_name_the_same_causes() {
    for file in files() {
        for (whole, short) in advice(&file).iter().zip(first_screen(&file)) {
            let causes = |advice: &gpucast_advice::Advice| -> Vec<(&str, Option<f64>)> {
                advice.items.iter().map(|item| (item.rule, item.speed_up)).collect()
            };
            assert_eq!(causes(whole), causes(&short), "{}", file.display());
            assert_eq!(whole.verdict.costliest, short.verdict.costliest, "{}", file.display());
            assert!(short.items.iter().all(|item| item.outcomes.len() <= 1));
        }
    }
}

/// What a kernel keeps in shared memory is not known. Half of it is one tile of two, and less would
/// be no advice.
#[test]
fn a_block_is_advised_to_keep_half_of_its_shared_memory_or_more() {
    let all = advice(&folder("kernels").join("low-occupancy.toml"));
    let item = all[0].items.iter().find(|item| item.rule == "low-occupancy").unwrap();
    let words: Vec<&str> = item.change.split(' ').collect();
    let at = words.iter().position(|word| *word == "With").unwrap();
    let bytes: u64 = words[at + 1].parse().unwrap();
    assert!((24_000..48_000).contains(&bytes), "{}", item.change);
}

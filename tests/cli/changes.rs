//! `gpucast diff` on changes whose meaning is known: regressions as public histories have them, and
//! changes that mean nothing. `tests/inputs/changes/regenerate.py` makes their PTX.
//! `GPUCAST_UPDATE=1` rewrites the table of `docs/evidence/changes.md`.

use std::fmt::Write as _;
use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::Value;

use crate::gpucast::{gpucast, stdout};

/// A kernel, and a change that makes it slower.
struct Regression {
    name: &'static str,
    /// What the change did.
    change: &'static str,
    launch: &'static str,
    /// The lines of the file after that the change is about.
    lines: RangeInclusive<u64>,
    /// The limits that it breaks.
    breaks: &'static [&'static str],
}

const ON: &str = "--gpu rtx-3060 --machine rules -q";
const LIMITS: [&str; 3] = ["slower:5%", "inst_executed:1%", "shared_load_transactions:1%"];
const ALL: &[&str] = &["slower", "inst_executed", "shared_load_transactions"];
const TIME_AND_INSTRUCTIONS: &[&str] = &["slower", "inst_executed"];

const REGRESSIONS: [Regression; 11] = [
    Regression {
        name: "coalescing",
        change: "x and y swapped: lanes walk down columns",
        launch: "--grid 32,32 --block 32,32 --arg buf:f32[1048576]=iota --arg buf:f32[1048576] \
                 --arg s32:1024 --arg s32:1024 --arg f32:2",
        lines: 4..=7,
        breaks: &["slower"],
    },
    Regression {
        name: "bank-conflict",
        change: "padding of a tile removed",
        launch: "--grid 32,32 --block 32,8 --arg buf:f32[1048576]=iota --arg buf:f32[1048576] \
                 --arg s32:1024",
        lines: 14..=14,
        // The memory takes as long as before: the banks have time.
        breaks: &["shared_load_transactions"],
    },
    Regression {
        name: "launch-bound",
        change: "six blocks a multiprocessor asked for: registers spill",
        launch: "--grid 168 --block 256 --arg buf:f32[2048]=iota --arg buf:f32[1024]=iota \
                 --arg buf:f32[2064384] --arg s32:8",
        lines: 7..=9,
        // The rules spill no registers. `ptxas` does: 326 % slower.
        breaks: &["inst_executed"],
    },
    Regression {
        name: "fp64-literal",
        change: "`0.1f` became `0.1`",
        launch: "--grid 1024 --block 256 --arg buf:f32[262144]=iota --arg buf:f32[256]=iota \
                 --arg buf:f32[262144] --arg s32:262144",
        lines: 9..=9,
        breaks: TIME_AND_INSTRUCTIONS,
    },
    Regression {
        name: "vector-load",
        change: "`float4` became four values",
        launch: "--grid 1024 --block 256 --arg buf:f32[1048576]=iota --arg buf:f32[1048576] \
                 --arg f32:2",
        lines: 5..=6,
        breaks: TIME_AND_INSTRUCTIONS,
    },
    Regression {
        name: "division",
        change: "a carried index became a division in the loop",
        launch: "--grid 512 --block 256 --arg buf:f32[1024]=iota --arg buf:f32[131072] \
                 --arg s32:1000 --arg s32:37 --arg s32:32",
        lines: 7..=9,
        breaks: TIME_AND_INSTRUCTIONS,
    },
    Regression {
        name: "barrier",
        change: "shuffles became a tree with barriers",
        launch: "--grid 512 --block 1024 --arg buf:f32[524288]=iota --arg buf:f32[512]",
        lines: 7..=9,
        breaks: ALL,
    },
    Regression {
        name: "unrolling",
        change: "`#pragma unroll 1` on the inner loop",
        launch: "--grid 1024 --block 256 --arg buf:f32[262176]=iota --arg buf:f32[32]=iota \
                 --arg buf:f32[262144]",
        lines: 14..=16,
        breaks: ALL,
    },
    Regression {
        name: "atomics",
        change: "bins of blocks removed: all count in the same",
        launch: "--grid 512 --block 256 --arg buf:u32[1048576]=uniform(0,8,7) \
                 --arg buf:u32[256]=zero",
        lines: 5..=6,
        breaks: TIME_AND_INSTRUCTIONS,
    },
    Regression {
        name: "tile-order",
        change: "tiles in rows instead of groups: panels leave the L2",
        launch: "--grid 1024 --block 1024 --arg buf:f32[2097152]=iota --arg buf:f32[2097152]=iota \
                 --arg buf:f32[1048576]",
        lines: 10..=13,
        breaks: &["slower"],
    },
    Regression {
        name: "local-array",
        change: "unrolling lost around a small array: it moves to local memory",
        launch: "--grid 512 --block 256 --arg buf:f32[4194304]=iota --arg buf:f32[131072] \
                 --arg s32:32",
        lines: 8..=10,
        breaks: TIME_AND_INSTRUCTIONS,
    },
];

fn limits() -> String {
    LIMITS.map(|limit| format!("--fail-if {limit}")).join(" ")
}

/// A row of the table: how much each limited figure grew, and the line that is named.
fn flagged(regression: &Regression) -> String {
    let Regression { name, change, launch, lines, breaks } = regression;
    let (before, after) = (format!("changes/{name}.ptx"), format!("changes/{name}.slow.ptx"));
    let run = gpucast(&format!("diff {before} {after} {launch} {ON} {} --format sarif", limits()));
    assert_eq!(run.status, 1, "{name}: {}", run.stderr);
    let log: Value = serde_json::from_str(&run.stdout).unwrap();
    let results = log["runs"][0]["results"].as_array().unwrap();
    let of = |rule: &str| results.iter().find(|result| result["ruleId"] == rule);
    let found: Vec<&str> =
        results.iter().map(|result| result["ruleId"].as_str().unwrap()).collect();
    assert_eq!(found, *breaks, "{name}");
    let mut named = Vec::new();
    for result in results {
        let line = &result["locations"][0]["physicalLocation"]["region"]["startLine"];
        let line = line.as_u64().unwrap();
        assert!(lines.contains(&line), "{name}: line {line}");
        if !named.contains(&line) {
            named.push(line);
        }
    }
    let growth = |rule: &str| {
        let message = of(rule).map(|result| result["message"]["text"].as_str().unwrap());
        let growth = message.map(|text| {
            let words = text.split_once(" %").unwrap().0;
            let number: f64 = words.rsplit(' ').next().unwrap().parse().unwrap();
            format!("+{number:.0} %")
        });
        growth.unwrap_or_default()
    };
    let named = named.iter().map(u64::to_string).collect::<Vec<String>>().join(", ");
    format!(
        "| `{name}` | {change} | {} | {} | {} | {named} |\n",
        growth("slower"),
        growth("inst_executed"),
        growth("shared_load_transactions"),
    )
}

/// The greatest change of a time among the neutral changes of a kernel, and their number. None may
/// break a limit.
fn unflagged(regression: &Regression) -> (f64, usize) {
    let Regression { name, launch, .. } = regression;
    let folder = tempfile::tempdir().unwrap();
    let base = folder.path().join("base.json").display().to_string();
    stdout(&format!("predict changes/{name}.ptx {launch} {ON} -o '{base}'"));
    let neutral = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/changes/neutral");
    let (mut greatest, mut number) = (0.0_f64, 0);
    for entry in std::fs::read_dir(neutral).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        if !file.starts_with(&format!("{name}.")) {
            continue;
        }
        let after = format!("changes/neutral/{file}");
        let run =
            gpucast(&format!("diff '{base}' {after} {launch} {ON} {} --format json", limits()));
        assert_eq!((run.status, run.stderr.as_str()), (0, ""), "{file}");
        let difference: Value = serde_json::from_str(&run.stdout).unwrap();
        let change = difference["totals"][0]["change"].as_f64().unwrap();
        greatest = greatest.max(change.abs());
        number += 1;
    }
    (greatest, number)
}

#[test]
fn regressions_break_limits_and_neutral_changes_do_not() {
    let (table, neutral) = std::thread::scope(|scope| {
        let table = scope.spawn(|| REGRESSIONS.iter().map(flagged).collect::<String>());
        let neutral = REGRESSIONS.iter().map(unflagged).collect::<Vec<(f64, usize)>>();
        (table.join().unwrap(), neutral)
    });
    let number: usize = neutral.iter().map(|(_, number)| number).sum();
    assert_eq!(number, 50);
    let greatest = neutral.iter().map(|(change, _)| *change).fold(0.0, f64::max);
    let mut text = format!(
        "| kernel | change | slower:5% | inst_executed:1% | shared_load_transactions:1% | line \
         |\n|---|---|---|---|---|---|\n{table}"
    );
    let _ = write!(
        text,
        "\nOf {number} neutral changes none breaks a limit. The greatest change of a time is {:.1} \
         %.\n",
        100.0 * greatest
    );
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/evidence/changes.md");
    let written = std::fs::read_to_string(&page).unwrap();
    let (head, _) = written.split_once("| kernel |").unwrap();
    let whole = format!("{head}{text}");
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        std::fs::write(&page, &whole).unwrap();
    }
    let written = std::fs::read_to_string(&page).unwrap();
    assert!(written == whole, "{}: GPUCAST_UPDATE=1 rewrites it", page.display());
}

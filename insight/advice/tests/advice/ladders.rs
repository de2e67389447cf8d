//! Kernels made faster step by step: whether the first advice on each step is what the next step
//! changes, and whether its gain is that of the next step. The table is `docs/evidence/ladders.md`;
//! `GPUCAST_UPDATE=1` writes it anew. The gate looks at some of its rows, and `GPUCAST_NIGHTLY` at
//! all.

use std::env::var_os;
use std::path::{Path, PathBuf};

use gpucast_advice::rules::ALL;
use gpucast_advice::trial::LEAST_GAIN;
use gpucast_advice::{Advice, advise_all};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::{Alone, Kernel, LaunchOptions};
use rayon::prelude::*;

use crate::{counts, folder};

/// Two generations.
const GPUS: [&str; 2] = ["a100-sxm-40gb", "h100-sxm"];

/// A gain counts as near if it and the next step's differ by less than this factor.
const NEAR: f64 = 1.2;

/// A ladder, with its steps in order.
struct Ladder {
    name: &'static str,
    /// Where its launches are.
    place: Place,
    steps: &'static [Step],
}

enum Place {
    /// A launch file of its own, with a kernel of each step's name.
    Own,
    /// A folder of the corpus, with a launch file of each step's name.
    Corpus(&'static str),
}

struct Step {
    name: &'static str,
    /// The rules that speak of what the next step changes; none behind the last one.
    next: &'static [&'static str],
}

const fn step(name: &'static str, next: &'static [&'static str]) -> Step {
    Step { name, next }
}

/// The ladders that the gate climbs.
const SHORT: [&str; 3] = ["count", "reduction-steps", "scan"];

const LADDERS: [Ladder; 9] = [
    Ladder {
        name: "transpose",
        place: Place::Own,
        steps: &[
            step("naive", &["uncoalesced-access"]),
            step("tiled", &["bank-conflicts"]),
            step("padded", &["work-per-thread"]),
            step("coarse", &[]),
        ],
    },
    Ladder {
        name: "reduction-steps",
        place: Place::Corpus("reduction-steps"),
        steps: &[
            // The remainder takes longer than the lanes that idle; the next step has neither.
            step("divergent", &["divergence", "slow-arithmetic"]),
            step("strided", &["bank-conflicts"]),
            step("sequential", &["work-per-thread"]),
            step("many", &[]),
        ],
    },
    Ladder {
        name: "reduction",
        place: Place::Own,
        steps: &[
            step("divergent", &["divergence"]),
            step("sequential", &["work-per-thread"]),
            step("several", &["shared-sums"]),
            step("shuffles", &["narrow-accesses"]),
            step("vectors", &[]),
        ],
    },
    Ladder {
        name: "product",
        place: Place::Own,
        steps: &[
            step("uncoalesced", &["uncoalesced-access"]),
            step("coalesced", &["untiled-loads"]),
            step("tiled", &["work-per-thread"]),
            step("registers", &["narrow-accesses"]),
            step("vectors", &["work-per-thread"]),
            step("larger", &["barriers"]),
            step("buffered", &[]),
        ],
    },
    Ladder {
        name: "histogram",
        place: Place::Own,
        steps: &[
            step("everywhere", &["global-atomics"]),
            step("of_blocks", &["narrow-accesses"]),
            step("vectors", &[]),
        ],
    },
    Ladder {
        name: "count",
        place: Place::Own,
        steps: &[
            step("of_warps", &["global-atomics"]),
            step("of_blocks", &["work-per-thread"]),
            step("several", &[]),
        ],
    },
    Ladder {
        name: "softmax",
        place: Place::Own,
        steps: &[
            step("of_threads", &["uncoalesced-access"]),
            step("of_blocks", &["shared-sums"]),
            // The next step divides once for each row, and has fewer exponentials.
            step("shuffles", &["narrow-accesses", "slow-arithmetic"]),
            step("kept", &[]),
        ],
    },
    Ladder {
        name: "scan",
        place: Place::Own,
        steps: &[
            step("rounds", &["shared-sums"]),
            step("shuffles", &["work-per-thread"]),
            step("several", &[]),
        ],
    },
    Ladder {
        name: "convolution",
        place: Place::Own,
        steps: &[
            step("naive", &["untiled-loads"]),
            step("tiled", &["work-per-thread"]),
            step("registers", &[]),
        ],
    },
];

impl Ladder {
    /// The advice on a step on each GPU.
    fn advice(&self, step: &Step) -> Vec<Advice> {
        let (file, kernel): (PathBuf, _) = match self.place {
            Place::Own => {
                (folder("ladders").join(format!("{}.toml", self.name)), Some(step.name.to_owned()))
            }
            Place::Corpus(entry) => {
                let kernels = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/kernels");
                (kernels.join(entry).join(format!("{}.toml", step.name)), None)
            }
        };
        let options = LaunchOptions { kernel, ..LaunchOptions::default() };
        let kernel = Kernel::open(file.to_str().unwrap(), &options).unwrap();
        let library = gpu_argument::library().unwrap();
        let gpus = GPUS.map(|gpu| gpu_argument::find(&library, gpu).unwrap());
        advise_all(&kernel, &gpus, &counts(), None, &Alone)
            .unwrap_or_else(|error| panic!("{} {}: {error:?}", self.name, step.name))
    }
}

/// A step on a GPU.
struct Row {
    gpu: &'static str,
    /// Its line of the table.
    line: String,
    /// True if the next step gains.
    gains: bool,
    /// True if the first advice is what the next step changes.
    is_right: bool,
    /// True if its gain is near the next step's, too.
    is_near: bool,
    /// True if nothing is advised.
    is_silent: bool,
}

impl Ladder {
    fn rows(&self) -> Vec<Row> {
        let all: Vec<Vec<Advice>> = self.steps.iter().map(|step| self.advice(step)).collect();
        let row = |at: usize, gpu, index: usize, step: &Step| {
            let time = |index: usize| all.get(index).map(|advice| advice[at].verdict.time_ms);
            let now = time(index).unwrap();
            let gain = time(index + 1).map(|after| now / after);
            let first = all[index][at].items.first();
            let advised = first.and_then(|item| item.speed_up);
            let gains = gain.is_some_and(|gain| gain >= LEAST_GAIN);
            let is_right = gains && first.is_some_and(|item| step.next.contains(&item.rule));
            let ratio = gain.zip(advised).map(|(gain, advised)| advised / gain);
            let is_near =
                is_right && ratio.is_some_and(|ratio| (1.0 / NEAR..=NEAR).contains(&ratio));
            let times =
                |gain: Option<f64>| gain.map_or(String::new(), |gain| format!("{gain:.2} ×"));
            let mark = |is_asked: bool, holds: bool| match (is_asked, holds) {
                (false, _) => "",
                (true, true) => "yes",
                (true, false) => "no",
            };
            let line = format!(
                "| {} | {} | {:.1} | {} | {} | {} | {} | {} | {} |\n",
                self.name,
                step.name,
                1e3 * now,
                step.next.join(", "),
                times(gain),
                first.map_or("none", |item| item.rule),
                times(advised),
                mark(gains, is_right),
                mark(is_right, is_near),
            );
            Row { gpu, line, gains, is_right, is_near, is_silent: first.is_none() }
        };
        let of_gpu = |(at, gpu): (usize, &&'static str)| -> Vec<Row> {
            let steps = self.steps.iter().enumerate();
            steps.map(|(index, step)| row(at, *gpu, index, step)).collect()
        };
        GPUS.iter().enumerate().flat_map(of_gpu).collect()
    }
}

/// `3 of 4 (75 %)`
fn share(part: usize, whole: usize) -> String {
    format!("{part} of {whole} ({:.0} %)", 100.0 * part as f64 / whole.max(1) as f64)
}

#[test]
fn rules_of_the_ladders_exist() {
    for code in LADDERS.iter().flat_map(|ladder| ladder.steps).flat_map(|step| step.next) {
        assert!(ALL.iter().any(|rule| rule.code == *code), "there is no rule {code}");
    }
}

#[test]
fn first_advice_is_the_next_step() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/ladders.md");
    let updates = var_os("GPUCAST_UPDATE").is_some();
    let whole = updates || var_os("GPUCAST_NIGHTLY").is_some();
    let climbed = LADDERS.par_iter().filter(|ladder| whole || SHORT.contains(&ladder.name));
    let rows: Vec<Row> = climbed.flat_map_iter(Ladder::rows).collect();
    if whole {
        let page = page(&rows);
        if updates {
            std::fs::write(&path, &page).unwrap();
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(written, page, "{} is out of date: GPUCAST_UPDATE=1", path.display());
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    for row in &rows {
        println!("{} {}", row.gpu, row.line.trim_end());
    }
    for Row { gpu, line, .. } in &rows {
        assert!(written.contains(line), "{} on {gpu}: {line}", path.display());
    }
}

fn page(rows: &[Row]) -> String {
    let (mut shares, mut tables) = (String::new(), String::new());
    for gpu in GPUS {
        let count =
            |of: fn(&Row) -> bool| rows.iter().filter(|row| row.gpu == gpu && of(row)).count();
        let right = count(|row| row.is_right);
        shares += &format!(
            "| {gpu} | {} | {} | {} |\n",
            share(right, count(|row| row.gains)),
            share(count(|row| row.is_near), right),
            share(count(|row| !row.gains && row.is_silent), count(|row| !row.gains)),
        );
        tables += &format!(
            "\n## On {gpu}\n\n\
             | ladder | step | µs | the next step's rule | it gains | first advice | gain predicted | the next step's? | near? |\n\
             |---|---|---|---|---|---|---|---|---|\n"
        );
        tables.extend(rows.iter().filter(|row| row.gpu == gpu).map(|row| row.line.as_str()));
    }
    format!(
        "# Advice on ladders\n\n\
         Nine kernels are made faster step by step. This page compares the first advice on each step \
         with the next step.\nThe test `ladders` of `gpucast-advice` writes it. The sources are in \
         `insight/advice/tests/ladders` and\n`corpus/kernels/reduction-steps`. `gpucast-judge` \
         tests that each step computes what the first one does.\n\n\
         A step counts if its next step gains 5 % or more by prediction. Its first advice is right if \
         it is of the rule\nthat the next step was written for. A gain is near if it is within \
         20 % of the next step's. Both are\npredictions by the same simulation, so nothing here says \
         how near they are to a GPU.\nRules and ladders were written together; kernels of others may \
         fare worse.\n\n\
         | GPU | first advice is the next step | of these, gain within 20 % | nothing advised where the next step gains nothing |\n\
         |---|---|---|---|\n{shares}{tables}"
    )
}

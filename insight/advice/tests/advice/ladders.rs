//! Kernels made faster step by step: whether the first advice on each step is what the next step
//! changes, and whether its gain is that of the next step. The table is `docs/evidence/ladders.md`;
//! `GPUCAST_UPDATE=1` writes it anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gpucast_advice::trial::LEAST_GAIN;
use gpucast_advice::{Advice, advise_all};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::{Alone, Kernel, LaunchOptions};

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
            step("several", &["barriers"]),
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
            step("larger", &["double-buffering"]),
            step("buffered", &[]),
        ],
    },
    Ladder {
        name: "histogram",
        place: Place::Own,
        steps: &[
            step("everywhere", &["contended-atomics"]),
            step("of_blocks", &["narrow-accesses"]),
            step("vectors", &[]),
        ],
    },
    Ladder {
        name: "count",
        place: Place::Own,
        steps: &[
            step("of_warps", &["contended-atomics"]),
            step("of_blocks", &["work-per-thread"]),
            step("several", &[]),
        ],
    },
    Ladder {
        name: "softmax",
        place: Place::Own,
        steps: &[
            step("of_threads", &["uncoalesced-access"]),
            step("of_blocks", &["barriers"]),
            step("shuffles", &["narrow-accesses"]),
            step("kept", &[]),
        ],
    },
    Ladder {
        name: "scan",
        place: Place::Own,
        steps: &[
            step("rounds", &["barriers"]),
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

/// What the page says of a set of steps.
#[derive(Default)]
struct Share {
    /// Steps whose next one gains.
    gaining: usize,
    /// Of these, those whose first advice is the next step.
    right: usize,
    /// Of the right ones, those whose gain is near the next step's.
    near: usize,
    /// Steps whose next one gains nothing, or that have none.
    resting: usize,
    /// Of these, those that nothing is advised on.
    silent: usize,
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

#[test]
fn first_advice_is_the_next_step() {
    let all: Vec<(&Ladder, Vec<Vec<Advice>>)> = LADDERS
        .iter()
        .map(|ladder| (ladder, ladder.steps.iter().map(|step| ladder.advice(step)).collect()))
        .collect();
    let mut tables = String::new();
    let mut shares = String::new();
    for (at, gpu) in GPUS.iter().enumerate() {
        let mut share = Share::default();
        write!(
            tables,
            "\n## On {gpu}\n\n\
             | ladder | step | µs | next step | it gains | first advice | gain predicted | next step? | near? |\n\
             |---|---|---|---|---|---|---|---|---|\n"
        )
        .unwrap();
        for (ladder, advices) in &all {
            for (index, step) in ladder.steps.iter().enumerate() {
                let time = |index: usize| advices.get(index).map(|all| all[at].verdict.time_ms);
                let now = time(index).unwrap();
                let gain = time(index + 1).map(|after| now / after);
                let first = advices[index][at].items.first();
                let advised = first.and_then(|item| item.speed_up);
                let gains = gain.is_some_and(|gain| gain >= LEAST_GAIN);
                let is_right = gains && first.is_some_and(|item| step.next.contains(&item.rule));
                let ratio = gain.zip(advised).map(|(gain, advised)| advised / gain);
                let is_near =
                    is_right && ratio.is_some_and(|ratio| (1.0 / NEAR..=NEAR).contains(&ratio));
                match gains {
                    true => {
                        share.gaining += 1;
                        share.right += usize::from(is_right);
                        share.near += usize::from(is_near);
                    }
                    false => {
                        share.resting += 1;
                        share.silent += usize::from(first.is_none());
                    }
                }
                let times =
                    |gain: Option<f64>| gain.map_or(String::new(), |gain| format!("{gain:.2} ×"));
                let mark = |known: bool, holds: bool| match (known, holds) {
                    (false, _) => "",
                    (true, true) => "yes",
                    (true, false) => "no",
                };
                writeln!(
                    tables,
                    "| {} | {} | {:.1} | {} | {} | {} | {} | {} | {} |",
                    ladder.name,
                    step.name,
                    1e3 * now,
                    step.next.join(", "),
                    times(gain),
                    first.map_or("none", |item| item.rule),
                    times(advised),
                    mark(gains, is_right),
                    mark(is_right, is_near),
                )
                .unwrap();
            }
        }
        let Share { gaining, right, near, resting, silent } = share;
        writeln!(
            shares,
            "| {gpu} | {right} of {gaining} ({:.0} %) | {near} of {right} ({:.0} %) | {silent} of {resting} |",
            percent(right, gaining),
            percent(near, right),
        )
        .unwrap();
    }
    let page = format!(
        "# Advice on ladders\n\n\
         Nine kernels are made faster step by step. This page compares the first advice on each step \
         with the next step.\nThe test `ladders` of `gpucast-advice` writes it. The sources are in \
         `insight/advice/tests/ladders` and\n`corpus/kernels/reduction-steps`. `gpucast-judge` \
         tests that each step computes what the first one does.\n\n\
         A step counts if its next step gains 5 % or more by prediction. Its first advice is right if \
         it has the gain first\nthat the next step was written for. A gain is near if it is within \
         20 % of the next step's. Both are\npredictions by the same simulation, so nothing here says \
         how near they are to a GPU.\n\n\
         | GPU | first advice is the next step | of these, gain within 20 % | nothing advised where the next step gains nothing |\n\
         |---|---|---|---|\n{shares}{tables}"
    );
    println!("{page}");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/ladders.md");
    if std::env::var_os("GPUCAST_UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(
        written,
        page,
        "{} is out of date; run this test with GPUCAST_UPDATE=1",
        path.display()
    );
}

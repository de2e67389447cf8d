//! Each step of the ladders of `gpucast-advice` computes what the first step does, and is safe.

#![allow(clippy::panic, reason = "helpers are not inside the test functions that the lints spare")]

use std::path::Path;

use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::launch_template::LaunchTemplate;
use gpucast_forecast::{Alone, LaunchOptions};
use gpucast_interpreter::Options;
use gpucast_judge::tolerance::Overrides;
use gpucast_judge::{Request, Side, Verdict, judge};

/// A ladder's name, a small size, and its steps.
type Ladder = (&'static str, &'static [(&'static str, f64)], &'static [&'static str]);

const LADDERS: [Ladder; 8] = [
    ("convolution", &[("width", 64.0), ("height", 64.0)], &["naive", "tiled", "registers"]),
    ("count", &[("blocks", 32.0)], &["of_warps", "of_blocks", "several"]),
    ("histogram", &[("n", 65536.0)], &["everywhere", "of_blocks", "vectors"]),
    (
        "product",
        &[("m", 128.0), ("n", 128.0), ("k", 64.0)],
        &["uncoalesced", "coalesced", "tiled", "registers", "vectors", "larger", "buffered"],
    ),
    ("reduction", &[("rows", 4.0)], &["divergent", "sequential", "several", "shuffles", "vectors"]),
    ("scan", &[("rows", 4.0)], &["rounds", "shuffles", "several"]),
    ("softmax", &[("rows", 64.0)], &["of_threads", "of_blocks", "shuffles", "kept"]),
    ("transpose", &[("side", 64.0)], &["naive", "tiled", "padded", "coarse"]),
];

fn side(ladder: &str, step: &str) -> Side {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../advice/tests/ladders");
    let options = LaunchOptions { kernel: Some(step.to_owned()), ..LaunchOptions::default() };
    let template = LaunchTemplate { options, ..LaunchTemplate::default() };
    let input = folder.join(format!("{ladder}.toml")).display().to_string();
    Side { input, template, size: None }
}

#[test]
fn every_step_computes_what_the_first_one_does() {
    for (ladder, size, steps) in LADDERS {
        let parameters: Parameters =
            size.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        let [first, ..] = steps else { panic!("{ladder} has steps") };
        for step in steps {
            let (candidate, reference) = (side(ladder, step), side(ladder, first));
            let request = Request {
                candidate: &candidate,
                reference: Some(&reference),
                expected: &[],
                parameters: &parameters,
                seeds: 2,
                tries_odd_sizes: false,
                outputs: &[],
                tolerances: Overrides::default(),
                options: Options::default(),
                forecast: None,
                phase: &|_| {},
                source_root: None,
                supervisor: &Alone,
            };
            let judgement =
                judge(&request).unwrap_or_else(|failure| panic!("{ladder} {step}: {failure}"));
            let refused = matches!(judgement.verdict, Verdict::Wrong | Verdict::Unsafe);
            let faults: Vec<&str> =
                judgement.evidence.iter().map(|evidence| evidence.fault.code()).collect();
            assert!(!refused && !judgement.cases.is_empty(), "{ladder} {step}: {faults:?}");
        }
    }
}

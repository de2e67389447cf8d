//! Classes of CTAs count what slices of all CTAs count: every event is the same, for the kernels of
//! these tests and of the corpus, and for random ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

mod calls;
mod random;
mod shapes;

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_interpreter::{Options, Program};
use rayon::prelude::*;

use crate::slices::{Case, Planned, arbitrary, modules};

#[test]
fn classes_of_all_kernels_of_the_tests_and_the_corpus_count_alike() {
    let mut files = Vec::new();
    for folder in ["tests", "../corpus/kernels", "../forecast/tests", "../insight/sanitizer/tests"]
    {
        modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
    }
    files.sort();
    let files = crate::slices::part(files, 0);
    let options = Options { instruction_budget: 1 << 14, ..Options::default() };
    // Files side by side, each by one thread: of several CTAs that use up a budget, any may be the
    // one to blame.
    let found: Vec<Found> =
        files.par_iter().enumerate().map(|(at, file)| compare_file(file, at, options)).collect();
    let compared: usize = found.iter().map(|one| one.compared).sum();
    let fewer: usize = found.iter().map(|one| one.fewer).sum();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in found.iter().flat_map(|one| &one.reasons) {
        *reasons.entry(reason).or_default() += 1;
    }
    println!(
        "{compared} launches, {fewer} by fewer classes than CTAs, not by classes: {reasons:#?}"
    );
    assert!(compared > 1500 && fewer > 500, "{compared} {fewer}");
}

/// What comparing the kernels of a file comes to.
#[derive(Default)]
struct Found {
    /// Launches.
    compared: usize,
    /// Those executed by fewer classes than CTAs.
    fewer: usize,
    /// Why the others are not executed by classes, without numbers.
    reasons: Vec<String>,
}

/// The kernels of the file that stands `at` this place of the list, with inputs of their own.
fn compare_file(file: &Path, at: usize, options: Options) -> Found {
    let mut found = Found::default();
    let text = crate::cases::expanded(&std::fs::read_to_string(file).unwrap());
    let Ok(module) = gpucast_ptx_frontend::load(&text) else { return found };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for kernel in Program::kernels(&module) {
        let Ok(program) = Program::new(&module, &text, kernel) else { continue };
        let shapes = [([7, 1, 1], [45, 1, 1]), ([4, 3, 2], [32, 2, 1])];
        // One or the other, in turns.
        let turn = at + found.compared;
        let (grid, block) = shapes[turn % 2];
        let (buffers, planned) = arbitrary(&program, turn as u64);
        let launches = vec![Planned { grid, block, ..planned }];
        let case = Case { text: &text, module: &module, buffers, launches, options };
        for report in pool.install(|| case.compare_classes()) {
            match report {
                Ok(classes) => {
                    let ctas: u32 = grid.iter().product();
                    found.fewer += usize::from(classes.classes < ctas as usize);
                }
                Err(because) => {
                    let digits = |one: char| one.is_ascii_digit() || "[]()".contains(one);
                    found.reasons.push(because.split(digits).next().unwrap().to_owned());
                }
            }
            found.compared += 1;
        }
    }
    found
}

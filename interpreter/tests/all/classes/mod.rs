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

use crate::slices::{Case, Planned, arbitrary, modules};

#[test]
fn classes_of_all_kernels_of_the_tests_and_the_corpus_count_alike() {
    let mut files = Vec::new();
    for folder in ["tests", "../corpus/kernels", "../forecast/tests", "../insight/sanitizer/tests"]
    {
        modules(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut files);
    }
    files.sort();
    let options = Options { instruction_budget: 1 << 14, ..Options::default() };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (mut compared, mut fewer) = (0, 0);
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for file in files {
        let text = crate::cases::expanded(&std::fs::read_to_string(&file).unwrap());
        let Ok(module) = gpucast_ptx_frontend::load(&text) else { continue };
        for kernel in Program::kernels(&module) {
            let Ok(program) = Program::new(&module, &text, kernel) else { continue };
            let shapes = [([7, 1, 1], [45, 1, 1]), ([4, 3, 2], [32, 2, 1])];
            // One or the other, in turns.
            let (grid, block) = shapes[compared as usize % 2];
            let (buffers, planned) = arbitrary(&program, compared);
            let launches = vec![Planned { grid, block, ..planned }];
            let case = Case { text: &text, module: &module, buffers, launches, options };
            for report in pool.install(|| case.compare_classes()) {
                match report {
                    Ok(classes) => {
                        let ctas: u32 = grid.iter().product();
                        fewer += u64::from(classes.classes < ctas as usize);
                    }
                    Err(because) => {
                        let digits = |one: char| one.is_ascii_digit() || "[]()".contains(one);
                        let because: String = because.split(digits).next().unwrap().to_owned();
                        *reasons.entry(because).or_default() += 1;
                    }
                }
                compared += 1;
            }
        }
    }
    println!(
        "{compared} launches, {fewer} by fewer classes than CTAs, not by classes: {reasons:#?}"
    );
    assert!(compared > 3000 && fewer > 1000, "{compared} {fewer}");
}

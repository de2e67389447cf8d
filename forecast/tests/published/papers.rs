//! The kernels of Zhang and Owens (2011), Stevens and Kloeckner (2020) and Yang and Williams
//! (2019), executed: what the papers say in numbers, from `corpus/published`, beside what is
//! counted. `docs/evidence/corpus-figures.md` explains the differences.

use std::collections::BTreeSet;

use gpucast_corpus::generator::generator;
use gpucast_corpus::published;
use gpucast_corpus::reference::Values;
use gpucast_forecast::settings::{MachineChoice, Size};
use gpucast_model::Needs;
use toml::Table;

use crate::common::{self, Metrics};

/// The metrics of a corpus kernel. The papers count what their sources ask for, not what compilers
/// make of it.
struct Profile;

impl Profile {
    /// At the paper's size.
    fn full(kernel: &str) -> Metrics {
        Self::of(kernel, Size::Paper, "gtx-480")
    }

    fn small(kernel: &str) -> Metrics {
        Self::of(kernel, Size::Small, "gtx-480")
    }

    /// At the paper's size on another GPU.
    fn on(gpu: &str, kernel: &str) -> Metrics {
        Self::of(kernel, Size::Paper, gpu)
    }

    fn of(kernel: &str, size: Size, gpu: &str) -> Metrics {
        let counts = common::counts(MachineChoice::None, Needs::METRICS);
        Metrics::of(kernel, common::counted(kernel, &common::sized(size), gpu, &counts))
    }
}

/// What a paper prints.
fn published(kernel: &str, quantity: &str) -> f64 {
    let figures = published::FIGURES.map(|text| text.parse::<Table>().unwrap());
    let figure = figures
        .iter()
        .flat_map(|file| file["figures"].as_array().unwrap())
        .find(|figure| {
            figure["kernel"].as_str() == Some(kernel)
                && figure["quantity"].as_str() == Some(quantity)
        })
        .unwrap_or_else(|| panic!("no paper prints {quantity} of {kernel}"));
    let value = &figure["value"];
    value.as_float().or(value.as_integer().map(|integer| integer as f64)).unwrap()
}

fn assert_near(what: &str, value: f64, expected: f64, within: f64) {
    assert!((value - expected).abs() <= within, "{what}: {value}, not {expected} within {within}");
}

const GLOBAL_REQUESTS: [&str; 2] = ["global_load_requests", "global_store_requests"];
const SHARED_REQUESTS: [&str; 2] = ["shared_load", "shared_store"];
const SHARED_TRANSACTIONS: [&str; 2] = ["shared_load_transactions", "shared_store_transactions"];
const L1_SECTORS: [&str; 2] = ["global_load_sectors", "global_store_sectors"];
const DRAM_SECTORS: [&str; 2] = ["dram_read_transactions", "dram_write_transactions"];

#[test]
fn volkov_matmul_has_the_series_of_figure_4a() {
    let n: u64 = 1024;
    let sizes = [("matmul-volkov-8", 8), ("matmul-volkov-16", 16), ("matmul-volkov-32", 32)];
    let mut instructions = Vec::new();
    let mut global = Vec::new();
    for (kernel, columns) in sizes {
        let profile = Profile::full(kernel);
        let mads = published(kernel, "MAD instructions") as u64;
        assert_eq!(mads, n.pow(3) / 32);
        let blocks = (n / 64) * (n / columns);
        profile.check(&[
            ("flop_count_sp_fma", 32 * mads),
            // Every multiply-add reads an element of the tile; the tiles of a block are its columns
            // of B, stored once, as they are loaded.
            ("shared_load", mads),
            ("shared_store", blocks * columns * n / 32),
            ("global_load_requests", blocks * (2 * n + columns * n / 32)),
            ("global_store_requests", blocks * 2 * columns),
        ]);
        instructions.push(profile.count("inst_executed"));
        global.push(profile.sum(&GLOBAL_REQUESTS) as f64);
    }
    assert!(instructions.is_sorted_by(|a, b| a > b), "{instructions:?}");
    for (step, kernel, than) in
        [(0, "matmul-volkov-16", "matmul-volkov-8"), (1, "matmul-volkov-32", "matmul-volkov-16")]
    {
        let percent = (global[step + 1] / global[step] - 1.0) * 100.0;
        let printed = published(kernel, &format!("global transactions against {than}, percent"));
        // -44.1 and -39.5.
        assert_near(kernel, percent, printed, 1.0);
    }
}

/// The words of the bank that has most of them.
fn passes_of_words(mut words: Vec<usize>, banks: usize) -> u64 {
    words.sort_unstable();
    words.dedup();
    let mut of_bank = vec![0; banks];
    words.iter().for_each(|word| of_bank[word % banks] += 1);
    of_bank.into_iter().max().unwrap_or(0)
}

/// Passes through `banks` banks of 4-byte words that the accesses of one system take, by steps, if
/// `issue` lanes go together and element i is at `place(i)`.
fn passes_of_cyclic_reduction(
    banks: usize,
    issue: usize,
    place: impl Fn(usize) -> usize,
) -> Vec<u64> {
    let equations = 512;
    let mut steps = Vec::new();
    let (mut distance, mut threads) = (1, equations / 2);
    while threads > 0 {
        let own = |thread: usize| 2 * distance * (thread + 1) - 1;
        let accesses: [(&dyn Fn(usize) -> usize, u64); 3] = [
            // Four coefficients are read and written at the equation, and read on either side.
            (&own, 8),
            (&|thread| own(thread) - distance, 4),
            (&|thread| (own(thread) + distance).min(equations - 1), 4),
        ];
        let mut passes = 0;
        for first in (0..threads).step_by(issue) {
            for (equation, times) in &accesses {
                let lanes = first..threads.min(first + issue);
                let words = lanes.map(|thread| place(equation(thread)));
                passes += times * passes_of_words(words.collect(), banks);
            }
        }
        steps.push(passes);
        (distance, threads) = (2 * distance, threads / 2);
    }
    steps
}

/// The same for `cyclic-reduction-regrouped`, where each step finds the even equations of its
/// system side by side, and the odd ones beginning half a row of banks after the last whole row
/// that the even ones touch.
fn passes_of_regrouped_equations(banks: usize, issue: usize) -> Vec<u64> {
    let place = |equation: usize, equations: usize| {
        let odd = equations / 2 / banks * banks + banks / 2;
        equation / 2 + if equation % 2 == 1 { odd } else { 0 }
    };
    let mut steps = Vec::new();
    let mut equations = 512;
    while equations > 1 {
        let threads = equations / 2;
        let accesses: [&dyn Fn(usize) -> usize; 4] = [
            &|thread| place(2 * thread, equations),
            &|thread| place(2 * thread + 1, equations),
            &|thread| place((2 * thread + 2).min(equations - 2), equations),
            &|thread| place(thread, threads),
        ];
        let mut passes = 0;
        for first in (0..threads).step_by(issue) {
            for equation in accesses {
                let words = (first..threads.min(first + issue)).map(equation);
                // Of four coefficients.
                passes += 4 * passes_of_words(words.collect(), banks);
            }
        }
        steps.push(passes);
        equations = threads;
    }
    steps
}

#[test]
fn regrouped_equations_have_no_conflicts() {
    // 16 accesses of each half-warp: work and passes halve together.
    let none = [256, 128, 64, 32, 16, 16, 16, 16, 16];
    assert_eq!(passes_of_regrouped_equations(16, 16), none);
    assert_eq!(passes_of_regrouped_equations(32, 32), [128, 64, 32, 16, 16, 16, 16, 16, 16]);
    let [plain, regrouped] =
        ["cyclic-reduction", "cyclic-reduction-regrouped-32"].map(Profile::full);
    assert_eq!(regrouped.sum(&SHARED_TRANSACTIONS), regrouped.sum(&SHARED_REQUESTS));
    assert_eq!(regrouped.sum(&SHARED_REQUESTS), plain.sum(&SHARED_REQUESTS));
    let more = regrouped.count("inst_executed") as f64 / plain.count("inst_executed") as f64;
    assert!((1.0..1.15).contains(&more), "{more}");
}

/// "CR-NBC effectively removed all bank conflicts": what the paper describes, a pad of 1 element
/// after every 16, is the best of its kind, and yet not free of conflicts.
#[test]
fn no_padding_after_every_so_many_elements_frees_cyclic_reduction_of_conflicts() {
    let passes = |every: usize, by: usize| {
        passes_of_cyclic_reduction(16, 16, |i| i + by * (i / every)).iter().sum::<u64>()
    };
    let all = (1..=512).flat_map(|every| (1..16).map(move |by| (every, by)));
    let best = all.map(|(every, by)| (passes(every, by), every, by)).min();
    assert_eq!(best, Some((732, 16, 1)));
    let none = passes_of_regrouped_equations(16, 16).iter().sum::<u64>();
    assert_eq!(none, 560);
}

#[test]
fn cyclic_reduction_keeps_its_transactions_while_its_work_halves() {
    // On the paper's GPU: 16 banks, half-warps.
    let plain = passes_of_cyclic_reduction(16, 16, |i| i);
    let steps = published("cyclic-reduction", "steps of the forward phase") as usize;
    assert_eq!(plain.len(), steps);
    // 16 accesses of 16 half-warps at twice the passes, of 8 at four times ... One lane of the
    // fourth step finds its neighbour in another bank, since the last equation has none.
    assert_eq!(plain[..4], [512, 512, 512, 508]);
    for (step, passes) in plain[..3].iter().enumerate() {
        let requests = (16 * (256 / 16)) >> step;
        let conflicts =
            published("cyclic-reduction", &format!("bank conflicts of step {}", step + 1));
        assert_near("conflicts", *passes as f64 / requests as f64, conflicts, 0.0);
    }
    // A pad after every 16 elements takes the 16-fold conflicts away. What remains: a half-warp's
    // neighbours behind straddle a pad, and strides of 32 and more meet every other pad.
    let padded = passes_of_cyclic_reduction(16, 16, |i| i + i / 16);
    assert_eq!(padded, [316, 160, 80, 36, 32, 32, 32, 28, 16]);

    // With 32 banks the profile counts the same passes in whole warps, and the loading: 8 warps
    // store 8 elements each, and the last equation is read.
    let loading = 8 * 8;
    let system = |banks: fn(usize) -> usize| {
        passes_of_cyclic_reduction(32, 32, banks).iter().sum::<u64>() + loading + 2
    };
    for (kernel, expected) in
        [("cyclic-reduction", system(|i| i)), ("cyclic-reduction-nbc-32", system(|i| i + i / 32))]
    {
        let profile = Profile::full(kernel);
        assert_eq!(profile.sum(&SHARED_TRANSACTIONS), 512 * expected, "{kernel}");
    }
    let [plain, padded] = ["cyclic-reduction", "cyclic-reduction-nbc"].map(Profile::full);
    assert_eq!(plain.sum(&SHARED_REQUESTS), padded.sum(&SHARED_REQUESTS));
    // "CR-NBC has a similar instruction count to CR."
    let more = padded.count("inst_executed") as f64 / plain.count("inst_executed") as f64;
    assert!((1.0..1.15).contains(&more), "{more}");
}

/// Bytes that transactions of `bytes` move for each of the elements of a vector that `threads`
/// neighbours at a time read in rows of `columns` (index of entry k of row r at k * rows + r).
fn bytes_per_element(columns: &[i32], rows: usize, threads: usize, bytes: usize) -> f64 {
    let moved: usize = columns
        .chunks_exact(rows)
        .flat_map(|entries| entries.chunks(threads))
        .map(|read| {
            let segments: BTreeSet<usize> =
                read.iter().map(|&column| column as usize * 4 / bytes).collect();
            segments.len() * bytes
        })
        .sum();
    moved as f64 / columns.len() as f64
}

#[test]
fn spmv_reads_the_bytes_that_its_indices_say() {
    let (rows, entries) = (49_152, 1_916_928);
    let Values::S32(columns) =
        (generator("qcd-columns").unwrap().run)(&[8, 8, 8, 8], entries).unwrap()
    else {
        panic!()
    };
    // Half-warps: 7.07 and 4.57 where the paper has 6.69 and 4.55 for a matrix whose order of rows
    // it does not print. Other orders give 5.57 to 7.10 and 3.47 to 4.57; this one was kept knowing
    // that, so that the tolerance guards the generator and predicts nothing.
    for bytes in [32, 16] {
        let quantity = format!("bytes per vector entry by transactions of {bytes} bytes");
        let printed = published("spmv-ell", &quantity);
        let counted = bytes_per_element(&columns, rows, 16, bytes);
        assert_near(&quantity, counted / printed, 1.0, 0.06);
    }
    // The profile counts sectors of whole warps: 4 bytes for the value, 4 for the index.
    let vector = bytes_per_element(&columns, rows, 32, 32);
    let expected = (entries as f64 * (4.0 + 4.0 + vector) / 32.0).round() as u64;
    let ell = Profile::full("spmv-ell");
    ell.check(&[
        ("flop_count_sp_fma", entries as u64),
        ("global_load_sectors", expected),
        ("ptx_global_load_bytes", 12 * entries as u64),
    ]);
    // Blocks: an index for nine entries and an element of x for three; interleaving the vectors
    // brings neighbours together.
    let [plain, interleaved] = ["spmv-bell-im", "spmv-bell-imiv"].map(Profile::full);
    for profile in [&plain, &interleaved] {
        profile.check(&[
            ("flop_count_sp_fma", entries as u64),
            ("ptx_global_load_bytes", (36 + 4 + 12) * entries as u64 / 9),
        ]);
    }
    let sectors = [&ell, &plain, &interleaved].map(|profile| profile.count("global_load_sectors"));
    assert!(sectors.is_sorted_by(|a, b| a > b), "{sectors:?}");
}

#[test]
fn matmul_variants_load_what_stevens_and_kloeckner_say() {
    let n: u64 = 64;
    let [prefetch, direct] = ["matmul-prefetch", "matmul-direct"].map(Profile::small);
    let elements = |bytes: u64| bytes / 4;
    let loads = |profile: &Metrics| elements(profile.count("ptx_global_load_bytes"));
    assert_eq!(loads(&direct), 2 * n.pow(3));
    let fewer = published("matmul-direct", "global loads of matmul-prefetch's") as u64;
    assert_eq!(loads(&direct), fewer * loads(&prefetch));
    for (metric, quantity) in [
        ("shared_load", "shared loads for each n^3"),
        ("shared_store", "shared stores for each n^3"),
    ] {
        let expected = published("matmul-prefetch", quantity) * n.pow(3) as f64 / 32.0;
        assert_eq!(prefetch.count(metric), expected as u64, "{metric}");
    }
    for profile in [&prefetch, &direct] {
        profile.check(&[("flop_count_sp_fma", n.pow(3))]);
    }
}

#[test]
fn dg_variants_read_shared_memory_for_what_they_prefetch() {
    // The small launches: 3 matrices, 32 nodes, 48 elements.
    let products = 3 * 32 * 32 * 48;
    for (kernel, shared_loads, global_loads) in [
        ("dg-direct", 0, 2 * products),
        // A value from a tile serves three matrices; every thread fetches one value for 16 nodes.
        ("dg-prefetch-u", products / 3 / 32, products + products / 3 / 16),
        ("dg-prefetch-matrix", products / 32, products + products / 16),
        ("dg-prefetch-matrix-transposed", products / 32, products + products / 16),
    ] {
        let profile = Profile::small(kernel);
        profile.check(&[
            ("flop_count_sp_fma", products),
            ("ptx_global_load_bytes", 4 * global_loads),
            ("ptx_global_store_bytes", 4 * 3 * 32 * 48),
        ]);
        assert_eq!(profile.count("shared_load"), shared_loads, "{kernel}");
    }
    let [plain, transposed] =
        ["dg-prefetch-matrix", "dg-prefetch-matrix-transposed"].map(Profile::small);
    assert!(plain.sum(&L1_SECTORS) > 4 * transposed.sum(&L1_SECTORS));
}

#[test]
fn finite_differences_idle_as_many_threads_as_stevens_and_kloeckner_say() {
    for (kernel, tile) in [("finite-differences-16", 16), ("finite-differences-18", 18)] {
        let profile = Profile::small(kernel);
        let blocks = (112 / (tile - 2_u64)).pow(2);
        let idle = published(kernel, "idle threads of a block after the fetch") as u64;
        assert_eq!(tile * tile - (tile - 2).pow(2), idle);
        profile.check(&[
            ("ptx_global_load_bytes", 4 * blocks * tile * tile),
            ("ptx_global_store_bytes", 4 * blocks * (tile * tile - idle)),
        ]);
    }
}

#[test]
fn stencil_has_the_arithmetic_intensities_of_the_slides() {
    let profile = Profile::on("tesla-v100-sxm2", "stencil-7pt");
    let points = 256_u64.pow(3);
    let operations = published("stencil-7pt", "operations of a point") as u64 * points;
    profile.check(&[
        ("flop_count_dp", operations),
        ("ptx_global_load_bytes", 7 * 8 * points),
        ("ptx_global_store_bytes", 8 * points),
    ]);
    let per_byte = |bytes: u64| operations as f64 / bytes as f64;
    // As instructions ask for it, 7 / 64. By sectors 7 / 66, since points to the left and right
    // of a warp's begin another one.
    let l1 = published("stencil-7pt", "operations per byte at L1");
    let asked = profile.sum(&["ptx_global_load_bytes", "ptx_global_store_bytes"]);
    assert_near("L1", per_byte(asked), l1, 0.005);
    assert_near("L1 sectors", per_byte(32 * profile.sum(&L1_SECTORS)), l1, 0.005);
    // 7 / 16, were there no boundary points; with them 0.431.
    let dram = published("stencil-7pt", "operations per byte at DRAM");
    assert_near("DRAM", per_byte(32 * profile.sum(&DRAM_SECTORS)), dram, 0.02);
}

#[test]
fn gsrb_branch_halves_the_operations_and_keeps_the_bytes() {
    let [fp, branch, stride2] = ["gsrb-fp", "gsrb-branch", "gsrb-stride2"].map(Profile::full);
    let points = 8 * 64_u64.pow(3);
    // 22 operations a point; without the multiplication by the mask, half of 21.
    fp.check(&[("flop_count_dp", 22 * points)]);
    branch.check(&[("flop_count_dp", 21 * points / 2)]);
    stride2.check(&[("flop_count_dp", 21 * points / 2)]);
    let ratio = |metrics: &[&str]| branch.sum(metrics) as f64 / fp.sum(metrics) as f64;
    let (operations, bytes) = (
        published("gsrb-branch", "operations of gsrb-fp's"),
        published("gsrb-branch", "bytes of gsrb-fp's"),
    );
    assert_near("operations", ratio(&["flop_count_dp"]), operations, 0.03);
    // The mask is the difference.
    assert_near("L1", ratio(&L1_SECTORS), bytes, 0.08);
    assert_near("DRAM", ratio(&DRAM_SECTORS), bytes, 0.05);
    // "Extra writes in GSRB_STRIDE2": each sector is written for the copied and for the relaxed
    // points.
    assert_eq!(stride2.count("global_store_sectors"), 2 * branch.count("global_store_sectors"));
    assert!(stride2.sum(&DRAM_SECTORS) > branch.sum(&DRAM_SECTORS));
}

#[test]
fn gpp_scales_its_arithmetic_and_not_its_traffic() {
    let iterations = 3 * 2 * 520;
    let profiles =
        ["gpp-nw1", "gpp-nw2", "gpp-nw3", "gpp-nw4", "gpp-nw5", "gpp-nw6"].map(Profile::small);
    for (profile, frequencies) in profiles.iter().zip(1..) {
        // Two for each of the two products of the factor; for a frequency one for the norm, two for
        // the quotient's numerator, four for product and sum.
        profile.check(&[("flop_count_dp_fma", iterations * (4 + frequencies * 7))]);
    }
    // 48 bytes an iteration, the frequencies and the column's own element once a thread.
    let bytes = |profile: &Metrics| profile.count("ptx_global_load_bytes");
    for (profile, frequencies) in profiles.iter().zip(1..) {
        assert_eq!(bytes(profile), 48 * iterations + 6 * 256 * (16 + 8 * frequencies));
    }
    let no_fma = Profile::small("gpp-no-fma");
    no_fma.check(&[("flop_count_dp_fma", 0)]);
    // The product of the pole's parts occurs for each frequency: fused five times more.
    let difference = profiles[5].count("flop_count_dp") - no_fma.count("flop_count_dp");
    assert_eq!(difference, 5 * iterations);
}

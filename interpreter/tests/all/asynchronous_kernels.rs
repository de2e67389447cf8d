//! Kernels that a compiler wrote: pipelines, barriers and clusters of libcu++ and cooperative
//! groups, against the loops that they stand for.
//!
//! `tests/kernels` holds the CUDA and the PTX. Every launch runs with one and with two threads and
//! must not differ.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use crate::common::Count;

use gpucast_interpreter::{Argument, DeviceMemory, Launch, Options, Program, Summary, run};
use gpucast_ptx_frontend::ScalarType;

/// How a kernel is launched.
#[derive(Clone, Copy)]
struct Config {
    grid: [u32; 3],
    threads: u32,
    cluster: Option<[u32; 3]>,
    shared: u32,
}

fn config(ctas: u32, threads: u32) -> Config {
    Config { grid: [ctas, 1, 1], threads, cluster: None, shared: 0 }
}

/// The bytes of `output` after a launch of `kernel(input, output, number)`; kernels without an
/// input or a number leave them out.
fn launch(
    file: &str,
    kernel: &str,
    config: Config,
    input: Option<&[u8]>,
    output: usize,
    number: Option<u32>,
) -> (Vec<u8>, Summary) {
    let path = format!("{}/tests/kernels/{file}.ptx", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let program = Program::new(&module, &text, kernel).unwrap_or_else(|error| panic!("{error}"));
    let mut outcomes = Vec::new();
    for cpu_threads in [1, 2] {
        let mut memory = DeviceMemory::new();
        let mut arguments = Vec::new();
        if let Some(input) = input {
            let address = memory.allocate("input", input.len() as u64).unwrap();
            memory.bytes_mut("input").unwrap().copy_from_slice(input);
            arguments.push(Argument::Address(address));
        }
        arguments.push(Argument::Address(memory.allocate("output", output as u64).unwrap()));
        if let Some(number) = number {
            arguments.push(Argument::Scalar { ty: ScalarType::U32, bits: u64::from(number) });
        }
        let launch = Launch {
            grid: config.grid,
            block: [config.threads, 1, 1],
            cluster: config.cluster,
            dynamic_shared_bytes: config.shared,
            arguments,
        };
        let mut count = Count::default();
        let options = Options { instruction_budget: 1 << 24, ..Options::default() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cpu_threads).build().unwrap();
        let summary = pool
            .install(|| {
                run(
                    &program,
                    &launch,
                    &mut memory,
                    &mut count,
                    &options,
                    &gpucast_interpreter::Silent,
                )
            })
            .unwrap_or_else(|error| panic!("{file}, {kernel}: {error}"));
        outcomes.push((memory.bytes("output").unwrap().to_vec(), count.0, summary));
    }
    assert_eq!(outcomes[0], outcomes[1], "{kernel} depends on the number of threads");
    let (bytes, _, summary) = outcomes.swap_remove(0);
    (bytes, summary)
}

/// Numbers below `bound` that look arbitrary.
fn numbers(count: usize, bound: u64) -> Vec<u64> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) % bound
    };
    (0..count).map(|_| next()).collect()
}

fn bytes_of(words: &[i32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn words_of(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|word| i32::from_le_bytes(word.try_into().unwrap())).collect()
}

fn integers(count: usize, bound: u64) -> Vec<i32> {
    numbers(count, bound).into_iter().map(|number| number as i32).collect()
}

#[test]
fn pipelines_add_up_the_tiles_that_they_fetched() {
    for file in ["pipeline_sm_80", "pipeline_sm_90"] {
        // Columns of a tile for each kernel.
        for (kernel, width) in
            [("primitives", 128), ("block_pipeline", 128), ("specialised_pipeline", 64)]
        {
            for tiles in [1, 2, 3, 4, 17] {
                let ctas = 3;
                let x = numbers(ctas * tiles * width, 100);
                let floats: Vec<u8> = x.iter().flat_map(|&v| (v as f32).to_le_bytes()).collect();
                let (got, summary) = launch(
                    file,
                    kernel,
                    config(ctas as u32, 128),
                    Some(&floats),
                    ctas * width * 4,
                    Some(tiles as u32),
                );
                let got: Vec<f32> = got
                    .chunks_exact(4)
                    .map(|w| f32::from_le_bytes(w.try_into().unwrap()))
                    .collect();
                for (at, &got) in got.iter().enumerate() {
                    let (cta, column) = (at / width, at % width);
                    let value = |tile| x[(cta * tiles + tile) * width + width - 1 - column];
                    let wanted: u64 = (0..tiles).map(|tile| value(tile) * (tile as u64 + 1)).sum();
                    assert_eq!(got, wanted as f32, "{file}, {kernel}, {tiles} tiles, sum {at}");
                }
                // Waiting costs little.
                let each = summary.warp_instructions / (ctas * tiles * 4) as u128;
                assert!(each < 1000, "{kernel}: {each} instructions for a warp and a tile");
            }
        }
    }
}

#[test]
fn barriers_of_the_library_pass_values_back_and_forth() {
    for file in ["pipeline_sm_80", "pipeline_sm_90"] {
        let (ctas, rounds, consumers) = (2, 9, 70);
        let x = integers(ctas * rounds * 32, 1 << 31);
        let config = config(ctas as u32, 32 + consumers as u32);
        let (got, _) = launch(
            file,
            "barriers",
            config,
            Some(&bytes_of(&x)),
            ctas * consumers * 4,
            Some(rounds as u32),
        );
        for (at, got) in words_of(&got).into_iter().enumerate() {
            let (cta, thread) = (at / consumers, at % consumers + 32);
            let lane = (thread % 32 + thread / 32) % 32;
            let wanted = (0..rounds).fold(0i32, |sum, round| {
                sum.wrapping_mul(5).wrapping_add(x[(cta * rounds + round) * 32 + lane])
            });
            assert_eq!(got, wanted, "{file}, thread {thread} of CTA {cta}");
        }
    }
}

#[test]
fn groups_copy_together() {
    for file in ["pipeline_sm_80", "pipeline_sm_90"] {
        for count in [4usize, 64, 250, 1000] {
            let (ctas, threads) = (2, 96);
            let x = integers(ctas * count, 1000);
            let config = Config { shared: count as u32 * 4, ..config(ctas as u32, threads as u32) };
            let (got, _) = launch(
                file,
                "group_copy",
                config,
                Some(&bytes_of(&x)),
                ctas * threads * 4,
                Some(count as u32),
            );
            for (at, got) in words_of(&got).into_iter().enumerate() {
                let x = &x[at / threads * count..][..count];
                let mine = (at % threads..count).step_by(threads);
                let wanted: i32 = mine.map(|i| x[count - 1 - i] * i as i32 - x[i]).sum();
                assert_eq!(got, wanted, "{file}, {count} words, sum {at}");
            }
        }
    }
}

#[test]
fn threads_drop_out_of_a_barrier_one_group_after_the_other() {
    for file in ["pipeline_sm_80", "pipeline_sm_90"] {
        let (got, _) = launch(file, "dropping", config(2, 80), None, 2 * 80 * 4, None);
        let wanted: Vec<i32> = (0..160).map(|at| at % 80 / 16 * 101).collect();
        assert_eq!(words_of(&got), wanted, "{file}");
    }
}

#[test]
fn a_histogram_is_spread_over_the_cluster() {
    let count = 5000;
    let x = integers(count, 1 << 20);
    let mut wanted = vec![0; 256];
    x.iter().for_each(|value| wanted[*value as usize % 256] += 1);
    for size in [1, 2, 4, 8, 16] {
        let config =
            Config { cluster: Some([size, 1, 1]), shared: 256 / size * 4, ..config(16, 96) };
        let input = bytes_of(&x);
        let (got, _) =
            launch("cluster_sm_90", "histogram", config, Some(&input), 1024, Some(count as u32));
        assert_eq!(words_of(&got), wanted, "clusters of {size}");
    }
}

#[test]
fn rows_travel_around_the_cluster() {
    let (ctas, steps) = (8, 7);
    let x = integers(ctas * 64, 1000);
    let input = bytes_of(&x);
    let config = config(ctas as u32, 64);
    let (got, _) =
        launch("cluster_sm_90", "ring", config, Some(&input), ctas * 256, Some(steps as u32));
    let mut values = x;
    let mut sums = vec![0i32; ctas * 64];
    for _ in 0..steps {
        let before = values.clone();
        for (at, value) in values.iter_mut().enumerate() {
            let (cta, thread) = (at / 64, at % 64);
            let previous = cta / 4 * 4 + (cta % 4 + 3) % 4;
            sums[at] = sums[at].wrapping_mul(3).wrapping_add(before[at]);
            *value = before[previous * 64 + 63 - thread] + (cta % 4) as i32;
        }
    }
    let wanted: Vec<i32> = sums.into_iter().map(|sum| sum.wrapping_add(1)).collect();
    assert_eq!(words_of(&got), wanted);
}

#[test]
fn bulk_copies_bring_tiles_and_take_results() {
    let (ctas, tiles) = (3, 9);
    let x = integers(ctas * tiles * 128, 1 << 20);
    let input = bytes_of(&x);
    let config = config(ctas as u32, 96);
    let (got, _) =
        launch("cluster_sm_90", "bulk", config, Some(&input), input.len(), Some(tiles as u32));
    let wanted = (0..x.len()).map(|at| {
        let (tile, i) = (at / 128, at % 128);
        x[tile * 128 + 127 - i] * 2 + (tile % tiles) as i32
    });
    assert_eq!(words_of(&got), wanted.collect::<Vec<_>>());
}

#[test]
fn partial_sums_are_sent_to_one_cta_of_a_square() {
    let grid = [6usize, 4];
    let x: Vec<i64> = numbers(24 * 32, 1 << 40).into_iter().map(|v| v as i64).collect();
    let input: Vec<u8> = x.iter().flat_map(|v| v.to_le_bytes()).collect();
    let config = Config { grid: [6, 4, 1], ..config(1, 32) };
    let (got, _) = launch("cluster_sm_90", "gather", config, Some(&input), 6 * 32 * 8, None);
    let got: Vec<i64> =
        got.chunks_exact(8).map(|w| i64::from_le_bytes(w.try_into().unwrap())).collect();
    for (at, got) in got.into_iter().enumerate() {
        let (cluster, lane) = (at / 32, at % 32);
        let (left, top) = (cluster % 3 * 2, cluster / 3 * 2);
        let wanted = [(0, 0), (1, 0), (0, 1), (1, 1)].into_iter().fold(0i64, |sum, (dx, dy)| {
            sum * 7 + x[((top + dy) * grid[0] + left + dx) * 32 + lane] * 5
        });
        assert_eq!(got, wanted, "cluster {cluster}, lane {lane}");
    }
}

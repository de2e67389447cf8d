//! Programs whose launches take the times that `gpucast predict` gives for the same launches in a
//! launch file.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use gpucast_forecast::{Kernel, LaunchOptions};
use gpucast_host::Settings;
use gpucast_model::{GpuLibrary, Model, Timing};

use crate::{SOURCES, run};

/// A launch file that grows.
struct File {
    text: String,
}

impl File {
    /// Buffers in the order in which the program allocates them: name and words of four bytes.
    fn new(buffers: &[(&str, usize)]) -> Self {
        let mut text = format!("module = \"{SOURCES}/kernels.ptx\"\n");
        for (name, words) in buffers {
            writeln!(text, "[buffers.{name}]\ntype = \"f32\"\nlen = {words}").unwrap();
        }
        Self { text }
    }

    fn launch(&mut self, kernel: &str, grid: [usize; 2], block: [usize; 2], arguments: &str) {
        let ([gx, gy], [bx, by]) = (grid, block);
        writeln!(
            self.text,
            "[[launch]]\nkernel = \"{kernel}\"\ngrid = [{gx}, {gy}, 1]\nblock = [{bx}, {by}, 1]\n\
             args = [{arguments}]"
        )
        .unwrap();
    }

    /// For the last launch.
    fn dynamic_shared(&mut self, bytes: usize) {
        writeln!(self.text, "shared_bytes = {bytes}").unwrap();
    }
}

fn vector_addition(_: &Path) -> File {
    let n = 1 << 16;
    let mut file = File::new(&[("a", n), ("b", n), ("c", n)]);
    let arguments = "\"a\", \"b\", \"c\", { u32 = 65536 }";
    file.launch("vector_add", [256, 1], [256, 1], arguments);
    file
}

fn heat(_: &Path) -> File {
    let mut file = File::new(&[("a", 7000), ("b", 7000), ("c", 7000)]);
    for step in 0..40 {
        let (from, to) = if step % 2 == 0 { ("a", "c") } else { ("c", "a") };
        let arguments = format!("\"{from}\", \"b\", \"{to}\", {{ u32 = 100 }}, {{ u32 = 70 }}");
        file.launch("stencil", [5, 7], [16, 16], &arguments);
    }
    file
}

/// The launches depend on the graph, which the program makes of its random numbers.
fn search(folder: &Path) -> File {
    let (n, degree) = (2000, 4);
    let mut state = 1_u32;
    let mut edge = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % n
    };
    let edges: Vec<u32> = (0..n * degree).map(|_| edge()).collect();
    let offsets: Vec<u32> = (0..=n).map(|node| node * degree).collect();
    let mut levels = vec![-1_i32; n as usize];
    levels[0] = 0;
    let mut front = vec![0_u32];
    let mut launches = 0;
    while !front.is_empty() {
        let mut next = Vec::new();
        for node in std::mem::take(&mut front) {
            for &to in &edges[(node * degree) as usize..((node + 1) * degree) as usize] {
                if levels[to as usize] < 0 {
                    levels[to as usize] = launches + 1;
                    next.push(to);
                }
            }
        }
        front = next;
        launches += 1;
    }
    let first: Vec<i32> = (0..n).map(|node| if node == 0 { 0 } else { -1 }).collect();
    let mut text = format!("module = \"{SOURCES}/kernels.ptx\"\n");
    let bytes = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let contents: [(&str, Vec<u8>); 4] = [
        ("a", bytes(&offsets)),
        ("b", bytes(&edges)),
        ("c", first.iter().flat_map(|level| level.to_le_bytes()).collect()),
        ("d", vec![0; 4]),
    ];
    for (name, bytes) in contents {
        fs::write(folder.join(format!("{name}.bin")), &bytes).unwrap();
        let len = bytes.len() / 4;
        writeln!(
            text,
            "[buffers.{name}]\ntype = \"u32\"\nlen = {len}\ninit = {{ file = \"{name}.bin\" }}"
        )
        .unwrap();
    }
    let mut file = File { text };
    for level in 0..launches {
        let arguments = format!("\"a\", \"b\", \"c\", {{ u32 = {level} }}, {{ u32 = {n} }}, \"d\"");
        file.launch("bfs_level", [8, 1], [256, 1], &arguments);
    }
    file
}

fn alignment(_: &Path) -> File {
    let mut file = File::new(&[("a", 97 * 97), ("b", 97 * 97)]);
    for diagonal in 2..=192 {
        let numbers = format!("{{ u32 = 96 }}, {{ u32 = {diagonal} }}, {{ u32 = 10 }}");
        file.launch("alignment_diagonal", [3, 1], [32, 1], &format!("\"a\", \"b\", {numbers}"));
    }
    file
}

fn path(_: &Path) -> File {
    let mut file = File::new(&[("w", 20_000), ("x", 1000), ("y", 1000)]);
    for row in 1..20 {
        let (from, to) = if row % 2 == 1 { ("x", "y") } else { ("y", "x") };
        let arguments = format!("\"w+{}\", \"{from}\", \"{to}\", {{ u32 = 1000 }}", row * 4000);
        file.launch("path_row", [4, 1], [256, 1], &arguments);
    }
    file
}

fn layer(_: &Path) -> File {
    let mut file = File::new(&[("a", 500), ("b", 8000), ("c", 16), ("d", 16), ("e", 8000)]);
    file.launch("layer_forward", [16, 1], [128, 1], "\"a\", \"b\", \"c\", { u32 = 500 }");
    file.dynamic_shared(512);
    let arguments = "\"a\", \"d\", \"b\", \"e\", { u32 = 500 }";
    file.launch("layer_adjust", [32, 1], [16, 16], arguments);
    file
}

fn triangles(_: &Path) -> File {
    let mut file = File::new(&[("m", 64 * 64)]);
    for step in 0..4 {
        let arguments = format!("\"m\", {{ u32 = 64 }}, {{ u32 = {} }}", 16 * step);
        file.launch("lud_diagonal", [1, 1], [16, 1], &arguments);
        let left = 3 - step;
        if left > 0 {
            file.launch("lud_perimeter", [left, 1], [32, 1], &arguments);
            file.launch("lud_internal", [left, left], [16, 16], &arguments);
        }
    }
    file
}

fn elimination(_: &Path) -> File {
    let mut file = File::new(&[("a", 1600), ("b", 40), ("f", 40)]);
    for k in 0..39 {
        let numbers = format!("{{ u32 = 40 }}, {{ u32 = {k} }}");
        file.launch("gaussian_factors", [1, 1], [64, 1], &format!("\"f\", \"a\", {numbers}"));
        let arguments = format!("\"f\", \"a\", \"b\", {numbers}");
        file.launch("gaussian_rows", [3, 3], [16, 16], &arguments);
    }
    file
}

fn speckles(_: &Path) -> File {
    let mut file = File::new(&[("a", 5400), ("b", 2), ("c", 4 * 5400), ("d", 5400)]);
    for _ in 0..2 {
        file.launch("moments", [22, 1], [256, 1], "\"a\", { u32 = 5400 }, \"b\"");
        let numbers = "{ u32 = 60 }, { u32 = 90 }";
        let arguments = format!("\"a\", \"c\", \"d\", {numbers}, {{ f32 = 0.5 }}");
        file.launch("edge_slopes", [6, 4], [16, 16], &arguments);
        let arguments = format!("\"a\", \"c\", \"d\", {numbers}");
        file.launch("edge_diffusion", [6, 4], [16, 16], &arguments);
    }
    file
}

/// The predicted milliseconds of each launch.
fn predicted(file: &Path, gpu: &str) -> Vec<f64> {
    let gpu = GpuLibrary::builtin().unwrap().get(gpu).unwrap();
    let kernel = Kernel::open(&file.display().to_string(), &LaunchOptions::default()).unwrap();
    let model = <dyn Model>::default_for(&gpu);
    let mut times = Vec::new();
    for source in kernel.count(&gpu).unwrap() {
        let mut conditions = source.conditions;
        conditions.timing = Some(Timing::BackToBack);
        times.push(model.predict(&source.profile, &gpu, &conditions).unwrap().time_ms);
    }
    times
}

#[test]
fn programs_take_the_times_that_predict_gives_for_an_h100() {
    // Addresses decide between the halves of an H100's L2, and programs have buffers that the
    // launch file does not have. A block that works alone meets one half or the other.
    take_the_times_that_predict_gives("h100-sxm", 0.25);
}

#[test]
fn programs_take_the_times_that_predict_gives_for_an_rtx_3080() {
    take_the_times_that_predict_gives("rtx-3080", 0.0);
}

#[test]
fn programs_take_the_times_that_predict_gives_for_a_gtx_480() {
    take_the_times_that_predict_gives("gtx-480", 0.0);
}

fn take_the_times_that_predict_gives(gpu: &str, tolerance: f64) {
    type Launches = fn(&Path) -> File;
    let programs: [(&str, Launches); 9] = [
        ("vector_addition", vector_addition),
        ("heat", heat),
        ("search", search),
        ("alignment", alignment),
        ("path", path),
        ("layer", layer),
        ("triangles", triangles),
        ("elimination", elimination),
        ("speckles", speckles),
    ];
    let folder = tempfile::tempdir().unwrap();
    for (program, launches) in programs {
        let file = folder.path().join(format!("{program}.toml"));
        fs::write(&file, launches(folder.path()).text).unwrap();
        let expected = predicted(&file, gpu);
        let timing = Some("back-to-back".to_owned());
        let settings =
            Settings { gpu: gpu.to_owned(), timing, list_launches: true, ..Settings::default() };
        let ran = run("13", program, settings).right();
        let listed = ran.reports[0].launches.as_ref().unwrap();
        let times: Vec<f64> =
            listed.iter().map(|launch| launch.time_ms.unwrap()).take(expected.len()).collect();
        let is_near = |(time, expected): (&f64, &f64)| (time / expected - 1.0).abs() <= tolerance;
        assert!(
            times.iter().zip(&expected).all(is_near),
            "{program} on {gpu}: {times:?}, {expected:?}"
        );
        // The heat goes back and forth between two buffers that the L2 keeps.
        let counted = listed.iter().filter(|launch| launch.counted).count();
        if program == "heat" {
            assert!(counted < 30, "{counted} on {gpu}");
        }
        // The clock of the device adds them up; the event has them as a `float`. Two programs
        // fill some bytes between their launches.
        let stdout = ran.stdout();
        let elapsed = stdout.strip_prefix("elapsed ").and_then(|rest| rest.lines().next());
        let elapsed: f64 = elapsed.unwrap().parse().unwrap();
        let sum: f64 = times.iter().sum();
        assert!((elapsed / sum - 1.0).abs() < 1e-4, "{program} on {gpu}: {elapsed}, {sum}");
    }
}

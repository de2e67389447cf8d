//! Programs in C that use CUDA's runtime as nvcc's code does, with our libraries.
//!
//! `programs.cu` checks its own results. The tests here look at what it prints, at the
//! report that it leaves, and at the times of events.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]
#![cfg(all(target_os = "linux", target_arch = "x86_64"))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use gpucast_cuda::facade::{FACADES, LIBRARY};
use gpucast_forecast::settings::MachineChoice;
use gpucast_forecast::{Argument, Kernel, LaunchOptions};
use gpucast_host::Settings;
use gpucast_host::report::ProcessReport;
use gpucast_host::settings::{Mode, OnFault, VARIABLE};
use gpucast_model::{GpuLibrary, Model, Timing};

mod calls;
mod predicted;

const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs");
const INPUTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/inputs");

/// Programs that check themselves and need nothing more than to be right.
const RIGHT: [&str; 16] = [
    "vector_addition",
    "heat",
    "search",
    "alignment",
    "path",
    "layer",
    "triangles",
    "elimination",
    "speckles",
    "variables",
    "managed",
    "repetition",
    "rows_with_pitch",
    "streams",
    "pools",
    "graphs",
];

/// The folder of the libraries, and of the programs linked with the runtimes of CUDA 11, 12 and 13.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
        fs::create_dir_all(&folder).unwrap();
        // A test runner may start a process for each test: one of them compiles.
        let lock = fs::File::create(folder.join("lock")).unwrap();
        lock.lock().unwrap();
        let made_of = folder.join("made-of");
        if fs::read_to_string(&made_of).is_ok_and(|inputs| inputs == inputs_of_programs()) {
            return folder;
        }
        gpucast_cuda::facade::write(&folder, &library()).unwrap();
        for (program, source, library) in [
            ("programs11", "programs.cu", "libcudart.so.11.0"),
            ("textures11", "textures.c", "libcudart.so.11.0"),
            ("programs12", "programs.cu", "libcudart.so.12"),
            ("programs13", "programs.cu", "libcudart.so.13"),
            ("textures12", "textures.c", "libcudart.so.12"),
            ("textures13", "textures.c", "libcudart.so.13"),
            ("driver", "driver.c", "libcuda.so.1"),
            ("ocelot", "ocelot.c", "libgpuocelot.so"),
        ] {
            let references = if program == "textures11" { "-DREFERENCES" } else { "-DOBJECTS" };
            let compiled = Command::new("cc")
                .args(["-x", "c", "-O1", references, "-o"])
                .arg(folder.join(program))
                .arg(format!("{SOURCES}/{source}"))
                .arg("-L")
                .arg(&folder)
                .args([&format!("-l:{library}"), "-lm"])
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&compiled.stderr).into_owned();
            assert!(compiled.status.success(), "{said}");
        }
        fs::write(made_of, inputs_of_programs()).unwrap();
        folder
    })
}

/// What the programs and the libraries beside them are made of: files with sizes and times.
fn inputs_of_programs() -> String {
    let sources = fs::read_dir(SOURCES).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        sources.chain([library(), std::env::current_exe().unwrap()]).collect();
    files.sort();
    let stamp = |path: &PathBuf| {
        let facts = fs::metadata(path).unwrap();
        format!("{} {} {:?}\n", path.display(), facts.len(), facts.modified().unwrap())
    };
    files.iter().map(stamp).collect()
}

/// A linker that is asked for the static runtime, as nvcc asks, takes the shared one.
#[test]
fn programs_for_the_static_runtime_are_right() {
    for cuda in [11, 12, 13] {
        let folder = built().join(format!("linked{cuda}"));
        fs::create_dir_all(&folder).unwrap();
        gpucast_cuda::facade::write_for_linker(&folder, &library(), cuda).unwrap();
        let program = format!("static{cuda}");
        let linked = Command::new("cc")
            .args(["-x", "c", "-O1", "-o"])
            .arg(built().join(&program))
            .arg(format!("{SOURCES}/programs.cu"))
            .arg("-L")
            .arg(&folder)
            .args(["-lcudart_static", "-lrt", "-lpthread", "-ldl", "-lm"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&linked.stderr).into_owned();
        assert!(linked.status.success(), "{said}");
        let ran = run_file(&program, &["vector_addition"], running()).right();
        assert!(ran.stdout().ends_with(&format!("right with {cuda}\n")), "{}", ran.stdout());
    }
    let error = gpucast_cuda::facade::write_for_linker(built(), &library(), 10).unwrap_err();
    assert_eq!(error.to_string(), "there is no runtime of CUDA 10 here, only of 11, 12 and 13");
}

/// The library with the functions, which Cargo puts beside the tests or above them.
fn library() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let mut folders = own.ancestors().skip(1).take(2);
    folders.find_map(|folder| Some(folder.join(LIBRARY)).filter(|path| path.is_file())).unwrap()
}

/// What a program left.
struct Ran {
    output: Output,
    reports: Vec<ProcessReport>,
}

impl Ran {
    fn stdout(&self) -> String {
        String::from_utf8(self.output.stdout.clone()).unwrap()
    }

    fn stderr(&self) -> String {
        String::from_utf8(self.output.stderr.clone()).unwrap()
    }

    fn right(self) -> Self {
        let (out, error) = (self.stdout(), self.stderr());
        assert!(self.output.status.success(), "{:?}\n{out}\n{error}", self.output.status);
        self
    }
}

fn run(version: &str, program: &str, settings: Settings) -> Ran {
    run_file(&format!("programs{version}"), &[program], settings)
}

fn run_file(file: &str, arguments: &[&str], settings: Settings) -> Ran {
    run_in(file, arguments, settings, &[])
}

fn run_in(file: &str, arguments: &[&str], settings: Settings, environment: &[(&str, &str)]) -> Ran {
    let folder = built();
    let kernels = if file.starts_with("textures") { "textures.ptx" } else { "kernels.ptx" };
    let reports = tempfile::tempdir().unwrap();
    let settings = Settings { report_folder: Some(reports.path().to_owned()), ..settings };
    let output = Command::new(folder.join(file))
        .args(arguments)
        .env("LD_LIBRARY_PATH", folder)
        .env("TEST_PTX", format!("{SOURCES}/{kernels}"))
        .env("TEST_TEXTURE_PTX", format!("{SOURCES}/textures.ptx"))
        .env("TEST_TENSOR_PTX", format!("{INPUTS}/tensor-map.ptx"))
        .env("TEST_SAXPY_PTX", format!("{INPUTS}/saxpy.ptx"))
        .env(VARIABLE, settings.to_variable())
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    let files = fs::read_dir(reports.path()).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: PathBuf| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    Ran { output, reports: files.map(read).collect() }
}

fn running() -> Settings {
    Settings { mode: Mode::Run, ..Settings::default() }
}

#[test]
fn programs_are_right_with_all_runtimes() {
    for version in ["11", "12", "13"] {
        for program in RIGHT {
            // These compare times.
            let has_times = ["streams", "graphs"].contains(&program);
            let mode = if has_times { Mode::Count } else { Mode::Run };
            let ran = run(version, program, Settings { mode, ..Settings::default() }).right();
            assert!(ran.stdout().ends_with(&format!("right with {version}\n")), "{program}");
            assert_eq!(ran.stderr(), "", "{program}");
        }
    }
}

#[test]
fn arrays_textures_and_surfaces_are_right_in_each_mode() {
    let checked = Settings { check: Some("all".to_owned()), ..running() };
    for settings in [running(), Settings::default(), checked] {
        for version in ["11", "12", "13"] {
            // What the program does wrong on purpose is a finding, not an error.
            if settings.check.is_some() && version == "11" {
                continue;
            }
            let ran = run_file(&format!("textures{version}"), &[], settings.clone()).right();
            assert!(ran.stdout().ends_with(&format!("right with {version}\n")), "{}", ran.stdout());
            let findings = ran.reports[0].findings.clone().unwrap_or_default();
            assert_eq!(findings, []);
        }
    }
}

#[test]
fn events_show_the_times_that_predict_gives() {
    let text = fs::read_to_string(format!("{SOURCES}/kernels.ptx")).unwrap();
    let arguments = ["buf:f32[65536]", "buf:f32[65536]", "buf:f32[65536]", "u32:65536"];
    let launch = LaunchOptions {
        kernel: Some("vector_add".to_owned()),
        grid: Some([256, 1, 1]),
        block: Some([256, 1, 1]),
        arg: arguments.map(Argument::notation).to_vec(),
        ..LaunchOptions::default()
    };
    let library = GpuLibrary::builtin().unwrap();
    let kernel = Kernel::from_ptx("kernels.ptx", &text, &launch).unwrap();
    // The default of the first is the simulation of an SM, of the second the thesis's model.
    for name in ["h100-sxm", "gtx-480"] {
        let counted = kernel.count(&library.get(name).unwrap()).unwrap();
        for (timing, on_gpu) in [(Some("back-to-back"), Some(Timing::BackToBack)), (None, None)] {
            let gpu = library.get(name).unwrap();
            let mut conditions = counted[0].conditions.clone();
            conditions.timing = on_gpu;
            let profile = &counted[0].profile;
            let predicted =
                <dyn Model>::default_for(&gpu).predict(profile, &gpu, &conditions).unwrap();
            let timing = timing.map(str::to_owned);
            let settings = Settings { gpu: name.to_owned(), timing, ..Settings::default() };
            let ran = run("13", "vector_addition", settings).right();
            let expected = format!("elapsed {}\n", as_c_prints(predicted.time_ms as f32));
            assert!(ran.stdout().starts_with(&expected), "{expected}{}", ran.stdout());
            assert_eq!(ran.reports[0].kernels[0].time_ms, Some(predicted.time_ms));
        }
    }
}

/// `%.9g`: nine digits tell every `float` apart.
fn as_c_prints(value: f32) -> String {
    let printed = Command::new("printf").args(["%.9g", &format!("{value:.60}")]).output().unwrap();
    String::from_utf8(printed.stdout).unwrap()
}

#[test]
fn the_report_has_every_launch_and_copy() {
    let settings = Settings { list_launches: true, link_gbps: Some(10.0), ..Settings::default() };
    let ran = run("13", "search", settings).right();
    let [report] = &ran.reports[..] else { panic!("one process has one report") };
    let [kernel] = &report.kernels[..] else { panic!("one kernel was launched") };
    assert_eq!((kernel.kernel.as_str(), kernel.share), ("bfs_level", Some(1.0)));
    assert!(kernel.launches > 3 && kernel.counted == kernel.launches);
    let launches = report.launches.as_ref().unwrap();
    assert_eq!(launches.len() as u64, kernel.launches);
    let sum: f64 = launches.iter().filter_map(|launch| launch.time_ms).sum();
    assert!((sum - kernel.time_ms.unwrap()).abs() < 1e-12);
    assert!(launches.windows(2).all(|pair| pair[0].start_ms < pair[1].start_ms));
    let [to_device, to_host] = &report.copies[..] else { panic!("{:?}", report.copies) };
    assert_eq!((to_device.count, to_device.bytes), (3, 4 * (2001 + 8000 + 2000)));
    assert_eq!(to_host.count, kernel.launches + 1);
    // 48,004 bytes at 10 GB/s.
    assert!((to_device.time_ms - 48_004e-7).abs() < 1e-9);
}

#[test]
fn equal_launches_are_counted_as_often_as_asked() {
    let settings = Settings { mode: Mode::Sample, samples: 2, ..Settings::default() };
    let ran = run("13", "heat", settings).right();
    let kernel = &ran.reports[0].kernels[0];
    assert_eq!((kernel.launches, kernel.counted), (40, 2));
    assert!(kernel.time_ms.unwrap() > 0.0);
}

#[test]
fn launches_that_find_the_same_memory_are_not_executed() {
    for mode in [Mode::Run, Mode::Count, Mode::Sample] {
        let ran = run("13", "repetition", Settings { mode, ..Settings::default() }).right();
        let [kernel] = &ran.reports[0].kernels[..] else { panic!("one kernel was launched") };
        assert_eq!(kernel.launches, 200 + 24 + 67 + 6 + 3);
        // The host changes a word twenty times, and managed memory is never the same.
        assert!((60..200).contains(&kernel.repeated), "{mode:?}: {}", kernel.repeated);
        assert_eq!(kernel.time_ms.is_some(), mode != Mode::Run);
    }
    // What never recurs is executed each time.
    let ran = run("13", "heat", running()).right();
    assert_eq!(ran.reports[0].kernels[0].repeated, 0);
}

#[test]
fn only_kernels_of_the_pattern_are_counted() {
    let settings = Settings { kernel: Some("*_internal".to_owned()), ..Settings::default() };
    let ran = run("13", "triangles", settings).right();
    for kernel in &ran.reports[0].kernels {
        let expected = if kernel.kernel == "lud_internal" { kernel.launches } else { 0 };
        assert_eq!(kernel.counted, expected, "{}", kernel.kernel);
    }
}

#[test]
fn what_kernels_print_stands_between_what_the_program_prints() {
    let ran = run("13", "printing", running()).right();
    let hello = "hello from 0\nhello from 1\nhello from 2\n";
    assert_eq!(ran.stdout(), format!("before\n{hello}after\nright with 13\n"));
}

#[test]
fn a_failed_assertion_ends_the_device() {
    let ran = run("13", "assertion", running()).right();
    let expected = "block: [0,0,0], thread: [5,0,0] Assertion `threadIdx.x < limit` failed.";
    assert!(ran.stderr().contains(expected), "{}", ran.stderr());
}

#[test]
fn a_bad_access_is_told_with_its_place() {
    let ran = run("12", "fault", running()).right();
    assert!(ran.stderr().contains("out_of_bounds"), "{}", ran.stderr());
    assert!(ran.stderr().contains("device memory 1"), "{}", ran.stderr());
}

#[test]
fn a_bad_access_is_left_out_where_the_user_wants_it() {
    for mode in [Mode::Run, Mode::Count, Mode::Sample] {
        let settings = Settings { mode, on_fault: OnFault::Report, ..Settings::default() };
        let ran = run("13", "passed_fault", settings).right();
        assert!(ran.stderr().contains("device memory 1"), "{}", ran.stderr());
        assert!(ran.stderr().contains("left out once; the launch goes on"), "{}", ran.stderr());
        let [fault] = &ran.reports[0].faults[..] else { panic!("{:?}", ran.reports[0].faults) };
        assert_eq!((fault.kernel.as_str(), fault.launches), ("out_of_bounds", 1));
        assert_eq!((fault.kind.as_str(), fault.occurrences), ("cudaErrorIllegalAddress", 1));
        assert!(ran.reports[0].text().contains("fault in out_of_bounds"));
    }
    let stopped = run("13", "fault", running()).right();
    assert_eq!(stopped.reports[0].faults[0].kind, "cudaErrorIllegalAddress");
    assert_eq!(run("13", "heat", running()).right().reports[0].faults, []);
}

#[test]
fn host_threads_launch_beside_a_pool_of_one_thread() {
    for threads in ["1", "2"] {
        let settings = |mode| Settings { mode, ..Settings::default() };
        for mode in [Mode::Run, Mode::Count] {
            let environment = [("RAYON_NUM_THREADS", threads)];
            let ran = run_in("programs13", &["host_threads"], settings(mode), &environment);
            let ran = ran.right();
            assert_eq!(ran.reports[0].kernels[0].launches, 80);
        }
    }
}

#[test]
fn checks_find_what_is_wrong() {
    let settings = Settings { check: Some("all".to_owned()), ..Settings::default() };
    let ran = run("13", "fault", settings.clone());
    // The access is passed over, so the program does not see the error that it waits for.
    assert!(!ran.output.status.success());
    let found = ran.reports[0].findings.as_ref().unwrap();
    assert_eq!((found.len(), found[0].kind.as_str()), (1, "out-of-bounds"), "{found:?}");
    let clean = run("13", "heat", settings).right();
    assert_eq!(clean.reports[0].findings, Some(Vec::new()));
}

/// A kernel in which warps read what others write, with no barrier between, is noted once.
#[test]
fn hazards_between_warps_are_noted() {
    let text = fs::read_to_string(format!("{SOURCES}/kernels.ptx")).unwrap();
    let (before, rest) = text.split_once(".entry vector_add(").unwrap();
    let (head, body) = rest.split_once('{').unwrap();
    let hazard = ".shared .align 4 .b32 hazard[256]; .reg .b32 %hz<4>; mov.u32 %hz1, %tid.x; \
                  shl.b32 %hz2, %hz1, 2; mov.u32 %hz3, hazard; add.u32 %hz3, %hz3, %hz2; \
                  st.shared.u32 [%hz3], %hz1; BARRIER ld.shared.u32 %hz2, [hazard];";
    let file = tempfile::NamedTempFile::new().unwrap();
    for (barrier, times) in [("", 1), ("bar.sync 0;", 0)] {
        let hazard = hazard.replace("BARRIER", barrier);
        fs::write(&file, format!("{before}.entry vector_add({head}{{{hazard}{body}")).unwrap();
        let environment = [("TEST_PTX", file.path().to_str().unwrap())];
        let ran = run_in("programs13", &["vector_addition"], running(), &environment).right();
        let noted = ran.stderr().matches("[shared-hazard] vector_add: no barrier").count();
        assert_eq!(noted, times, "{}", ran.stderr());
    }
}

#[test]
fn the_gpu_is_the_one_that_was_chosen() {
    for (gpu, expected) in
        [("gtx-480", "15 SMs, capability 2"), ("h100-sxm", "132 SMs, capability 9")]
    {
        let ran = run("13", "occupancy", Settings { gpu: gpu.to_owned(), ..running() }).right();
        assert!(ran.stdout().contains(expected), "{}", ran.stdout());
    }
}

/// The PTX with a `stencil` that loads `words` words, and stores each with the sum of all.
fn holding(words: u32) -> String {
    let text = fs::read_to_string(format!("{SOURCES}/kernels.ptx")).unwrap();
    let (before, rest) = text.split_once(".entry stencil(").unwrap();
    let (head, body) = rest.split_once('{').unwrap();
    let mut held = format!(
        ".reg .b64 %hp; .reg .b32 %hs; .reg .b32 %hw<{words}>;\nld.param.u64 %hp, [stencil_param_0];\n\
         mov.u32 %hs, 0;\n"
    );
    for at in 0..words {
        held += &format!("ld.global.u32 %hw{at}, [%hp+{}];\n", 4 * at);
    }
    for at in 0..words {
        held += &format!("add.u32 %hs, %hs, %hw{at};\n");
    }
    for at in 0..words {
        held +=
            &format!("add.u32 %hw{at}, %hw{at}, %hs;\nst.global.u32 [%hp+{}], %hw{at};\n", 4 * at);
    }
    format!("{before}.entry stencil({head}{{{held}{body}")
}

/// The registers of `stencil`, and the CTAs of 256 threads that an SM of an H100 holds.
fn registers_and_ctas(ptx: &Path, settings: Settings) -> (u32, u32) {
    let environment = [("TEST_PTX", ptx.to_str().unwrap())];
    let ran = run_in("programs13", &["occupancy"], settings, &environment).right();
    let said = ran.stdout();
    let mut words = said.split([' ', ',']).filter_map(|word| word.parse().ok());
    (words.next().unwrap(), words.next().unwrap())
}

/// A quarter of an SM has 16,384 registers, and a warp takes them by 256. A CTA has eight warps.
fn ctas_that_fit(registers: u32) -> u32 {
    16_384 / (32 * registers).next_multiple_of(256) * 4 / 8
}

#[test]
fn estimated_registers_are_told_and_limit_the_occupancy() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for (words, least, most) in [(1, 16, 40), (100, 90, 160)] {
        fs::write(&file, holding(words)).unwrap();
        let (registers, ctas) = registers_and_ctas(file.path(), by_rules());
        assert!((least..most).contains(&registers), "{registers}");
        assert_eq!(ctas, ctas_that_fit(registers).min(8));
    }
}

fn by_rules() -> Settings {
    Settings { machine: MachineChoice::Rules, ..running() }
}

#[test]
fn registers_of_an_assembler_are_told_and_limit_the_occupancy() {
    let Some(ptxas) = std::env::var_os("GPUCAST_TEST_PTXAS").map(PathBuf::from) else {
        eprintln!("skipped: no GPUCAST_TEST_PTXAS");
        return;
    };
    let file = tempfile::NamedTempFile::new().unwrap();
    // Any assembler since CUDA 11.8 takes it.
    fs::write(&file, holding(100).replace(".version 9.5", ".version 7.8")).unwrap();
    let mut assemble = Command::new(&ptxas);
    assemble.args(["-v", "-arch", "sm_90", "-o", "/dev/null"]).arg(file.path());
    let said = String::from_utf8(assemble.output().unwrap().stderr).unwrap();
    let (_, of_stencil) = said.split_once("'stencil'").unwrap();
    let (_, used) = of_stencil.split_once("Used ").unwrap();
    let used: u32 = used.split(' ').next().unwrap().parse().unwrap();
    let settings = Settings { machine: MachineChoice::Ptxas, ptxas: Some(ptxas), ..running() };
    assert_eq!(registers_and_ctas(file.path(), settings), (used, ctas_that_fit(used)));
}

#[test]
fn a_hundred_thousand_launches_end() {
    let ran = run("13", "empty", running()).right();
    assert_eq!(ran.reports[0].kernels[0].launches, 100_000);
}

#[test]
fn of_equal_launches_few_are_counted_and_all_have_their_time() {
    for gpu in ["h100-sxm", "gtx-480"] {
        let settings = Settings { gpu: gpu.to_owned(), list_launches: true, ..Settings::default() };
        let ran = run("13", "empty", settings).right();
        let kernel = &ran.reports[0].kernels[0];
        assert_eq!((kernel.launches, kernel.counted), (100_000, 2));
        assert_eq!((kernel.least_ms, kernel.bound.as_deref()), (kernel.most_ms, Some("overhead")));
        let launches = ran.reports[0].launches.as_ref().unwrap();
        assert!(launches.iter().all(|launch| launch.time_ms == kernel.least_ms));
    }
}

#[test]
fn a_function_that_is_not_there_is_named_once() {
    let ran = run("13", "unsupported", running()).right();
    assert_eq!(ran.stderr().matches("cudaGraphDebugDotPrint").count(), 1, "{}", ran.stderr());
}

#[test]
fn a_client_of_the_driver_finds_links_and_launches() {
    let ran = run_file("driver", &[], Settings::default()).right();
    assert_eq!(ran.stdout(), "right\n");
    assert!(ran.stderr().contains("grid size 0"), "{}", ran.stderr());
    let launches: Vec<u64> = ran.reports[0].kernels.iter().map(|kernel| kernel.launches).collect();
    // The first is the kernel that counts in the loops of a graph.
    assert_eq!(launches, [11, 3, 2, 2, 1, 1, 1, 1, 1, 1]);
}

#[test]
fn a_client_of_ocelot_runs_kernels_on_its_own_arrays() {
    let ran = run_file("ocelot", &[], Settings::default()).right();
    assert_eq!(ran.stdout(), "right\n");
    let kernel = &ran.reports[0].kernels[0];
    assert_eq!((kernel.kernel.as_str(), kernel.launches), ("saxpy", 5));
}

#[test]
fn settings_that_are_wrong_are_told() {
    let ran = run("13", "heat", Settings { gpu: "h1000".to_owned(), ..running() });
    assert!(!ran.output.status.success());
    assert!(ran.stderr().contains("there is no GPU named `h1000`"), "{}", ran.stderr());
}

#[test]
fn every_name_has_its_library_s_version() {
    for facade in FACADES {
        let bytes = fs::read(built().join(facade.file)).unwrap();
        let elf = goblin::elf::Elf::parse(&bytes).unwrap();
        assert_eq!(elf.soname, Some(facade.file));
        let mut found: Vec<&str> = Vec::new();
        for (index, symbol) in elf.dynsyms.iter().enumerate().skip(1) {
            if symbol.st_shndx == 0 {
                continue;
            }
            found.push(elf.dynstrtab.get_at(symbol.st_name).unwrap());
            let version = elf.versym.as_ref().map(|table| table.get_at(index).unwrap().vs_val);
            assert_eq!(version, facade.version.map(|_| 2));
        }
        assert!(found.iter().copied().eq(facade.names()), "{}", facade.file);
        let Some(expected) = facade.version else { continue };
        let definitions: Vec<_> = elf.verdef.as_ref().unwrap().iter().collect();
        let names = definitions.iter().map(|definition| {
            elf.dynstrtab.get_at(definition.iter().next().unwrap().vda_name).unwrap()
        });
        assert_eq!(names.collect::<Vec<_>>(), [facade.file, expected]);
    }
}

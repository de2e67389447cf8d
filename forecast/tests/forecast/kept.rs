//! Counts and simulations that are kept from run to run are those of a new execution.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use gpucast_counters::trace::TraceLimits;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::kept::{KeptCounts, USUAL_BYTES};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::{module, sources};
use gpucast_forecast::settings::{CacheChoice, MachineChoice, MachineSettings, RungChoice, Size};
use gpucast_forecast::{Kernel, LaunchOptions, Supervisor};
use gpucast_interpreter::Options;
use gpucast_model::sm_simulation::Analysis;
use gpucast_model::what_if::apply;
use gpucast_model::{Model as _, SmSimulation, WhatIf};

use crate::common::corpus_part;

/// Keeps counts, and knows how often something was executed or printed.
struct Keeper {
    kept: Option<KeptCounts>,
    launches: AtomicUsize,
    prints: AtomicUsize,
}

impl Keeper {
    fn in_folder(folder: &Path) -> Self {
        let kept = KeptCounts::new(folder, "this build".to_owned());
        let kept = kept.with_limits(USUAL_BYTES, Duration::ZERO);
        Self { kept: Some(kept), launches: AtomicUsize::new(0), prints: AtomicUsize::new(0) }
    }

    fn anew() -> Self {
        Self { kept: None, ..Self::in_folder(Path::new("")) }
    }

    fn launches(&self) -> usize {
        self.launches.load(Ordering::Relaxed)
    }
}

impl Supervisor for Keeper {
    fn launching(&self, _kernel: &str) {
        self.launches.fetch_add(1, Ordering::Relaxed);
    }

    fn print(&self, _text: &[u8]) {
        self.prints.fetch_add(1, Ordering::Relaxed);
    }

    fn kept_counts(&self) -> Option<&KeptCounts> {
        self.kept.as_ref()
    }
}

/// Everything that is kept of a kernel's launches.
fn counted(kernel: &Kernel, gpu: &str, keeper: &Keeper) -> Vec<Counted> {
    let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), gpu).unwrap();
    let device = gpu_argument::device_model(&gpu).unwrap();
    let plan = kernel.plan();
    let loaded = module::load(plan).unwrap();
    let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
    let settings = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let machine = Machine::new(&settings, &loaded, device.capability, kernels, None).unwrap();
    let trace = Some(TraceLimits::default());
    let extras = Extras { hashes: true, stages: true, trace, ..Extras::default() };
    let (rung, caches) = (RungChoice::Auto, CacheChoice::Full);
    let counting = Counting {
        device,
        machine: &machine,
        extras,
        rung,
        sample: None,
        caches,
        supervisor: keeper,
    };
    counting::count(plan, &loaded, &Options::default(), &counting).unwrap()
}

fn small(name: &str) -> Kernel {
    let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
    Kernel::open(name, &options).unwrap()
}

fn assert_alike(new: Vec<Counted>, kept: &[Counted], name: &str) {
    assert_eq!(new.len(), kept.len(), "{name}");
    for (mut new, kept) in new.into_iter().zip(kept) {
        // The order of events is kept as the simulation takes it.
        new.profile.trace = None;
        assert!(new.profile == kept.profile, "the profile of {name}");
        assert_eq!(new.ranges, kept.ranges, "{name}");
        assert_eq!(new.evidence.stages, kept.evidence.stages, "{name}");
        let simulated = |counted: &Counted| {
            let all = counted.evidence.simulation.iter().flat_map(|all| all.iter());
            all.map(|part| (part.launch.clone(), part.count)).collect::<Vec<_>>()
        };
        assert!(simulated(&new) == simulated(kept), "the record of {name}");
        assert_eq!(new.evidence.instructions, kept.evidence.instructions, "{name}");
        assert_eq!(new.ordered_because, kept.ordered_because, "{name}");
        assert_eq!(new.watched, kept.watched, "{name}");
        assert_eq!(new.buffers_sha256, kept.buffers_sha256, "{name}");
        assert_eq!(new.counted_by, kept.counted_by, "{name}");
        assert_eq!(new.machine_code.is_some(), kept.machine_code.is_some(), "{name}");
    }
}

#[test]
fn kept_counts_of_the_corpus_are_those_of_a_new_execution() {
    let folder = tempfile::tempdir().unwrap();
    for entry in corpus_part(1, 3) {
        let kernel = small(entry.name);
        for gpu in ["gtx-480", "a100-sxm-40gb"] {
            let new = counted(&kernel, gpu, &Keeper::anew());
            let first = Keeper::in_folder(folder.path());
            counted(&kernel, gpu, &first);
            assert_eq!(first.launches(), new.len(), "{} on {gpu}", entry.name);
            let second = Keeper::in_folder(folder.path());
            let kept = counted(&kernel, gpu, &second);
            assert_eq!(second.launches(), 0, "{} on {gpu}", entry.name);
            assert_alike(new, &kept, entry.name);
        }
    }
}

#[test]
fn a_damaged_entry_is_counted_anew() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = small("sgemm");
    counted(&kernel, "a100-sxm-40gb", &Keeper::in_folder(folder.path()));
    let entries: Vec<_> = fs::read_dir(folder.path().join("counts")).unwrap().collect();
    assert_eq!(entries.len(), 1);
    let path = entries[0].as_ref().unwrap().path();
    let whole = fs::read(&path).unwrap();
    for damaged in [&whole[..whole.len() / 2], &[], &[0; 100]] {
        fs::write(&path, damaged).unwrap();
        let keeper = Keeper::in_folder(folder.path());
        counted(&kernel, "a100-sxm-40gb", &keeper);
        assert_eq!(keeper.launches(), 1);
        assert_eq!(fs::read(&path).unwrap(), whole, "it is written anew");
    }
}

/// Counts and simulations of one GPU under the names of another one's are none.
#[test]
fn swapped_entries_are_damaged() {
    for kind in ["counts", "simulations"] {
        let folder = tempfile::tempdir().unwrap();
        let kernel = small("sgemm");
        let gpus = ["titan-v", "h100-sxm"];
        let first = gpus.map(|gpu| simulated(&kernel, gpu, &Keeper::in_folder(folder.path())));
        let entries = fs::read_dir(folder.path().join(kind)).unwrap();
        let paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        let [one, other] = &paths[..] else { panic!("{kind}: {paths:?}") };
        let contents = [one, other].map(|path| fs::read(path).unwrap());
        assert_ne!(contents[0], contents[1], "{kind}");
        fs::write(one, &contents[1]).unwrap();
        fs::write(other, &contents[0]).unwrap();
        for (gpu, first) in gpus.iter().zip(&first) {
            let keeper = Keeper::in_folder(folder.path());
            assert!(simulated(&kernel, gpu, &keeper) == *first, "{kind} {gpu}");
            assert_eq!(keeper.launches(), usize::from(kind == "counts"), "{kind} {gpu}");
        }
        assert_eq!([one, other].map(|path| fs::read(path).unwrap()), contents, "{kind}");
    }
}

/// Arguments, files of buffers, the GPU and the build decide counts.
#[test]
fn another_question_is_not_answered_by_kept_counts() {
    let folder = tempfile::tempdir().unwrap();
    let files = tempfile::tempdir().unwrap();
    let launch = files.path().join("k.toml");
    let ptx = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\n\
               .reg .b64 %a;\n.reg .b32 %n;\n.reg .pred %q;\nld.param.u64 %a, [p];\n\
               ld.global.u32 %n, [%a];\nagain:\nsub.u32 %n, %n, 1;\nsetp.ne.u32 %q, %n, 0;\n\
               @%q bra again;\nret;\n}\n";
    fs::write(files.path().join("k.ptx"), ptx).unwrap();
    let text = "module = \"k.ptx\"\n[buffers.rounds]\ntype = \"u32\"\nlen = 1\ninit = { file = \"rounds.bin\" }\n\
                [[launch]]\nkernel = \"k\"\ngrid = [1, 1, 1]\nblock = [32, 1, 1]\nargs = [\"rounds\"]\n";
    fs::write(&launch, text).unwrap();
    let rounds = |rounds: u32, gpu: &str| {
        fs::write(files.path().join("rounds.bin"), rounds.to_le_bytes()).unwrap();
        let kernel = Kernel::open(launch.to_str().unwrap(), &LaunchOptions::default()).unwrap();
        let keeper = Keeper::in_folder(folder.path());
        let counted = counted(&kernel, gpu, &keeper);
        let rows = &counted[0].profile.table.rows;
        (keeper.launches(), rows.iter().map(|row| row.warp_executions).max().unwrap())
    };
    assert_eq!(rounds(5, "a100-sxm-40gb"), (1, 5));
    assert_eq!(rounds(5, "a100-sxm-40gb"), (0, 5));
    assert_eq!(rounds(7, "a100-sxm-40gb"), (1, 7));
    assert_eq!(rounds(7, "h100-sxm"), (1, 7));
    assert_eq!(rounds(5, "a100-sxm-40gb"), (0, 5));
}

#[test]
fn a_kernel_that_prints_prints_each_time() {
    let folder = tempfile::tempdir().unwrap();
    let module = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/inputs/talk.ptx");
    let options = LaunchOptions {
        kernel: Some("talk".to_owned()),
        grid: Some([1; 3]),
        block: Some([2, 1, 1]),
        ..LaunchOptions::default()
    };
    let kernel = Kernel::open(module, &options).unwrap();
    for _ in 0..2 {
        let keeper = Keeper::in_folder(folder.path());
        counted(&kernel, "a100-sxm-40gb", &keeper);
        assert_eq!((keeper.launches(), keeper.prints.load(Ordering::Relaxed) > 0), (1, true));
    }
}

/// Other programs may use the folder at the same time.
#[test]
fn eight_runs_at_a_time_share_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = small("histogram");
    let new = counted(&kernel, "a100-sxm-40gb", &Keeper::anew());
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let keeper = Keeper::in_folder(folder.path());
                    let kept = counted(&kernel, "a100-sxm-40gb", &keeper);
                    assert!(kept[0].profile.metrics == new[0].profile.metrics);
                }
            });
        }
    });
}

#[test]
fn entries_that_killed_processes_left_unfinished_go_after_an_hour() {
    let folder = tempfile::tempdir().unwrap();
    let unfinished = folder.path().join("unfinished");
    fs::create_dir_all(&unfinished).unwrap();
    let minutes_old = |name: &str, minutes: u64| {
        let file = fs::File::create(unfinished.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60 * minutes)).unwrap();
    };
    minutes_old("of-a-killed-process", 61);
    minutes_old("of-a-process-that-writes", 30);
    counted(&small("sgemm"), "gtx-660", &Keeper::in_folder(folder.path()));
    let left = fs::read_dir(&unfinished).unwrap().map(|entry| entry.unwrap().file_name());
    assert_eq!(left.collect::<Vec<_>>(), ["of-a-process-that-writes"]);
}

/// What `sm-simulation` says of a kernel's launches on a GPU.
fn simulated(kernel: &Kernel, gpu: &str, keeper: &Keeper) -> Vec<Analysis> {
    let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), gpu).unwrap();
    let analysis = |counted: &Counted| {
        let source = sources::of_launch(counted, &gpu);
        Analysis::of(&source.profile, &gpu, &source.conditions).unwrap()
    };
    counted(kernel, &gpu.name, keeper).iter().map(analysis).collect()
}

/// The only entry of a folder of simulations.
fn entry(folder: &Path) -> PathBuf {
    let entries: Vec<_> = fs::read_dir(folder.join("simulations")).unwrap().collect();
    assert_eq!(entries.len(), 1);
    entries[0].as_ref().unwrap().path()
}

#[test]
fn kept_simulations_are_those_of_a_new_simulation() {
    for name in ["sgemm", "histogram", "reduction-f32", "stencil-7pt"] {
        let folder = tempfile::tempdir().unwrap();
        let kernel = small(name);
        for gpu in ["titan-v", "h100-sxm"] {
            let new = simulated(&kernel, gpu, &Keeper::anew());
            for time in 0..3 {
                let keeper = Keeper::in_folder(folder.path());
                assert!(simulated(&kernel, gpu, &keeper) == new, "{name} on {gpu}, {time}");
            }
        }
    }
}

#[test]
fn a_damaged_entry_of_simulations_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = small("sgemm");
    let first = simulated(&kernel, "titan-v", &Keeper::in_folder(folder.path()));
    let path = entry(folder.path());
    let whole = fs::read(&path).unwrap();
    for damaged in [&whole[..whole.len() / 2], &[], &[0; 100]] {
        fs::write(&path, damaged).unwrap();
        assert!(simulated(&kernel, "titan-v", &Keeper::in_folder(folder.path())) == first);
        assert_eq!(fs::read(&path).unwrap(), whole, "it is written anew");
    }
}

/// Results under a what-if are kept beside those without, and are others.
#[test]
fn what_ifs_are_simulated_apart() {
    let folder = tempfile::tempdir().unwrap();
    let kernel = small("sgemm");
    let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), "h100-sxm").unwrap();
    let times = |keeper: &Keeper| {
        let counted = counted(&kernel, "h100-sxm", keeper);
        let source = sources::of_launch(&counted[0], &gpu);
        let of = |what_if: &str| {
            let what_ifs: Vec<WhatIf> =
                what_if.split_terminator(',').map(|word| word.parse().unwrap()).collect();
            let changed = apply(&what_ifs, &source.profile, &source.conditions);
            SmSimulation.time_ms(&changed.profile, &gpu, &changed.conditions).unwrap()
        };
        ["", "no-barriers", "no-bank-conflicts", "no-barriers,no-bank-conflicts"].map(of)
    };
    let new = times(&Keeper::anew());
    assert!(new[1] < new[0], "{new:?}");
    for _ in 0..2 {
        assert_eq!(times(&Keeper::in_folder(folder.path())), new);
    }
}

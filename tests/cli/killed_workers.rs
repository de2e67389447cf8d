//! Sweeps whose workers are killed at random moments until the work is done.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, SystemTime};

use crate::gpucast::{command, is_nightly};
use crate::shared_sweep::Sweep;

/// 48 executions of some milliseconds each.
const KERNELS: &str = "sgemm lmsor transpose histogram saxpy-n.toml --size small --machine rules";
const GPUS: &str = "--gpu h100-sxm,tesla-v100-sxm2,gtx-960 --set l2_size=0.25x,0.5x,1x,2x";

/// Numbers that look random and are the same in every run (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

/// The files of stored counts, and which file each of them is.
fn files(sweep: &Sweep) -> BTreeMap<PathBuf, u64> {
    let file = |path: PathBuf| {
        let inode = fs::metadata(&path).unwrap().ino();
        (path, inode)
    };
    sweep.objects("counts").into_iter().map(file).collect()
}

/// Kills one of several workers at a time, and starts another one in its place, until a worker
/// finds nothing left to do. Returns the number of those killed.
fn work_while_killed(sweep: &Sweep, workers: u64, seed: u64) -> u32 {
    let mut random = Random(seed);
    let start = |_| sweep.start("work --lease 1");
    let mut running: Vec<Child> = (0..workers).map(start).collect();
    let mut first_files = BTreeMap::new();
    let mut killed = 0;
    loop {
        // Every kill lets the next worker live longer, so that slow machines come to an end, too.
        let life = Duration::from_millis(50 + random.below(250)) * (5 + killed) / 5;
        thread::sleep(life);
        for (path, file) in files(sweep) {
            let first = *first_files.entry(path).or_insert(file);
            assert_eq!(file, first, "an execution was stored twice");
        }
        if running.iter_mut().any(|worker| worker.try_wait().unwrap().is_some()) {
            break;
        }
        let victim = &mut running[random.below(workers) as usize];
        victim.kill().unwrap();
        let status = victim.wait().unwrap();
        assert!(status.code().is_none_or(|code| code == 0), "a worker failed: {status}");
        *victim = start(0);
        killed += 1;
    }
    for worker in &mut running {
        assert!(worker.wait().unwrap().success());
    }
    killed
}

#[test]
fn killed_workers_change_nothing() {
    let mut killed = 0;
    let cases: &[(u64, u64)] =
        if is_nightly() { &[(1, 7), (2, 8), (8, 9)] } else { &[(1, 7), (8, 9)] };
    for &(workers, seed) in cases {
        let sweep = Sweep::new();
        sweep.succeeds(&format!("plan {KERNELS} {GPUS}"));
        let killed_now = work_while_killed(&sweep, workers, seed);
        eprintln!("{workers} workers: {killed_now} killed");
        killed += killed_now;
        assert!(sweep.objects("leases").is_empty(), "of workers that were killed");
        let stored = files(&sweep);
        assert_eq!(stored.len(), 48);
        let mut forms = vec!["csv"];
        if cfg!(feature = "parquet") {
            forms.push("parquet");
        }
        for form in forms {
            sweep.assert_merged(&format!("{KERNELS} {GPUS}"), form);
        }
        // A GPU whose arithmetic alone is slower counts as the H100 does. What was executed stays.
        let slow = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inputs/slow-h100.toml");
        let others = format!("{KERNELS} --gpu gtx-960,{slow} --set memory_bandwidth=1x,3x");
        sweep.succeeds(&format!("plan {others} --replace"));
        assert_eq!(sweep.succeeds("work"), "note: 0 executed, 0 of them failed\n");
        assert!(files(&sweep) == stored);
        sweep.assert_merged(&others, "csv");
    }
    assert!(killed > 0, "no worker lived long enough to be killed");
}

/// As by the kernel where memory runs out, with no worker after it.
#[test]
fn a_killed_worker_leaves_a_lease_and_no_half_object() {
    let sweep = Sweep::new();
    sweep.succeeds("plan sgemm --gpu h100-sxm --machine rules");
    let mut worker = sweep.start("work");
    while sweep.objects("leases").is_empty() {
        thread::yield_now();
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    let state = sweep.succeeds("status");
    assert!(state.starts_with("0 of 1 executions are stored"), "{state}");
    assert_eq!(sweep.objects("leases").len(), 1);
    let mut merge = command(&sweep.words("merge --format csv"));
    assert_eq!(merge.output().unwrap().status.code(), Some(1));
}

/// A worker may die between writing a file and giving it its name.
#[test]
fn unfinished_files_of_killed_workers_are_removed_when_they_are_old() {
    let sweep = Sweep::new();
    sweep.succeeds("plan transpose --size small --gpu gtx-960 --machine rules");
    sweep.succeeds("work");
    let folder = sweep.path("store").join("unfinished");
    let left_by_killed = |name: &str, seconds| {
        let file = fs::File::create(folder.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).unwrap();
    };
    left_by_killed("1-1-1", 3600);
    left_by_killed("2-2-2", 0);
    let state = sweep.succeeds("status");
    assert!(state.contains("note: 1 unfinished file of killed workers removed\n"), "{state}");
    assert_eq!(sweep.objects("unfinished").len(), 1);
    left_by_killed("2-2-2", 3600);
    left_by_killed("3-3-3", 3600);
    let merged = sweep.succeeds(&format!("merge -o '{}'", sweep.path("m.csv").display()));
    assert!(merged.contains("note: 2 unfinished files of killed workers removed\n"), "{merged}");
    assert!(sweep.objects("unfinished").is_empty());
    left_by_killed("4-4-4", 3600);
    assert_eq!(sweep.succeeds("work"), "note: 0 executed, 0 of them failed\n");
    assert!(sweep.objects("unfinished").is_empty());
}

//! Sweeps that many processes execute together: `sweep plan|work|status|merge|submit`.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::gpucast::{Outcome, command, gpucast, outcome, stdout};

/// A grid with launch files, one that is not there, a GPU of another maker and all models.
const GRID: &str = "saxpy.toml transpose.toml saxpy-n.toml nowhere.toml --gpu gtx-480,gtx-960,r9-nano \
                    --set memory_bandwidth=0.5x,1x --model all --machine rules";

/// A folder with a store, and what is written beside it.
pub(crate) struct Sweep {
    pub(crate) folder: tempfile::TempDir,
}

impl Sweep {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `sweep WHAT --store …`.
    pub(crate) fn words(&self, what: &str) -> String {
        format!("sweep {what} --store '{}'", self.path("store").display())
    }

    pub(crate) fn run(&self, what: &str) -> Outcome {
        gpucast(&self.words(what))
    }

    #[track_caller]
    pub(crate) fn succeeds(&self, what: &str) -> String {
        let Outcome { status, stdout, stderr } = self.run(what);
        assert_eq!(status, 0, "sweep {what}: {stderr}");
        stdout + &stderr
    }

    pub(crate) fn start(&self, what: &str) -> Child {
        let mut command = command(&self.words(what));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    }

    /// The files of a folder of the store.
    pub(crate) fn objects(&self, folder: &str) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.path("store").join(folder)) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    }

    /// The merged table and that of one process.
    #[track_caller]
    pub(crate) fn assert_merged(&self, grid: &str, form: &str) {
        let (merged, alone) = (self.path(&format!("m.{form}")), self.path(&format!("a.{form}")));
        self.succeeds(&format!("merge -o '{}'", merged.display()));
        let status = gpucast(&format!("sweep {grid} -o '{}'", alone.display())).status;
        assert_eq!(status, 0);
        let [merged, alone] = [merged, alone].map(|path| fs::read(path).unwrap());
        assert!(merged == alone, "the merged {form} is another one");
    }
}

/// Failures are rows, too, and every model's numbers come back to the last bit.
#[test]
fn several_workers_write_what_one_process_writes() {
    let sweep = Sweep::new();
    let planned = sweep.succeeds(&format!("plan {GRID}"));
    assert_eq!(planned, "note: 6 executions are planned, 0 of them are stored already\n");
    let mut workers = ["1/3", "2/3", "3/3"].map(|it| sweep.start(&format!("work --shard {it}")));
    for worker in &mut workers {
        assert!(worker.wait().unwrap().success());
    }
    assert_eq!(sweep.objects("counts").len(), 6);
    assert!(sweep.objects("leases").is_empty() && sweep.objects("unfinished").is_empty());
    let state = sweep.succeeds("status");
    assert!(state.starts_with("6 of 6 executions are stored"), "{state}");
    for form in ["csv", "json", "txt"] {
        sweep.assert_merged(GRID, form);
    }
    // Whoever comes late finds nothing to do.
    assert_eq!(sweep.succeeds("work"), "note: 0 executed, 0 of them failed\n");
}

/// Launches of one file: what each finds in the L2 depends on those before it, and on what the file
/// says of the first one.
#[test]
fn launches_that_follow_each_other_are_merged_as_one_process_counts_them() {
    let inputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs");
    let text = fs::read_to_string(inputs.join("saxpy.toml")).unwrap();
    let (text, _) = text.split_once("[[expect]]").unwrap();
    let (buffers, launch) = text.split_once("[[launch]]").unwrap();
    let module = format!("module = \"{}\"", inputs.join("saxpy.ptx").display());
    let buffers = buffers.replace("module = \"saxpy.ptx\"", &module);
    let sweep = Sweep::new();
    let names = ["cold", "keep", "repeated", "warm"];
    let paths = names.map(|l2| {
        let path = sweep.path(&format!("{l2}.toml"));
        let launches = format!("[[launch]]{launch}").repeat(2);
        fs::write(&path, format!("l2 = \"{l2}\"\n{buffers}{launches}repeat = 3\n")).unwrap();
        format!("'{}'", path.display())
    });
    let grid = format!("{} --gpu gtx-480,h100-sxm --model all --machine rules", paths.join(" "));
    sweep.succeeds(&format!("plan {grid}"));
    sweep.succeeds("work");
    sweep.assert_merged(&grid, "csv");
    // Each finds something else, so that their first launches take other times.
    let table = fs::read_to_string(sweep.path("m.csv")).unwrap();
    let times: BTreeSet<&str> = table
        .lines()
        .filter_map(|row| row.split_once(".toml,saxpy,1,h100-sxm,sm-simulation,"))
        .filter_map(|(_, rest)| rest.split(',').next())
        .collect();
    assert!(times.len() >= 2, "{table}");
}

#[cfg(feature = "parquet")]
#[test]
fn a_merged_parquet_table_is_that_of_one_process() {
    let sweep = Sweep::new();
    sweep.succeeds(&format!("plan {GRID}"));
    sweep.succeeds("work");
    sweep.assert_merged(GRID, "parquet");
}

/// A change of GPUs that count alike executes nothing, whatever is predicted for them.
#[test]
fn other_gpus_and_models_execute_nothing() {
    let sweep = Sweep::new();
    let kernels = "transpose histogram --size small --machine rules";
    sweep.succeeds(&format!("plan {kernels} --gpu gtx-960,h100-sxm"));
    assert_eq!(sweep.succeeds("work"), "note: 4 executed, 0 of them failed\n");
    let other = format!(
        "{kernels} --gpu h100-sxm,gtx-960 --set memory_bandwidth=1x,3x \
         --model hierarchical-roofline,sm-simulation"
    );
    sweep.succeeds(&format!("plan {other} --replace"));
    assert_eq!(sweep.succeeds("work"), "note: 0 executed, 0 of them failed\n");
    sweep.assert_merged(&other, "csv");
    // Another size of the L2 counts something else.
    sweep.succeeds(&format!("plan {kernels} --gpu gtx-960 --set l2_size=0.5x --plan smaller"));
    assert_eq!(sweep.succeeds("work --plan smaller"), "note: 2 executed, 0 of them failed\n");
}

#[test]
fn damaged_counts_are_executed_again() {
    let sweep = Sweep::new();
    let grid = "transpose histogram --size small --gpu gtx-480 --machine rules";
    sweep.succeeds(&format!("plan {grid}"));
    sweep.succeeds("work");
    let path = sweep.objects("counts").pop().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&path, bytes).unwrap();
    let refused = sweep.run("merge");
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("are damaged"), "{}", refused.stderr);
    let partial = sweep.run("merge --format csv --allow-missing");
    assert_eq!(partial.status, 0);
    assert_eq!(partial.stdout.matches("it is not executed yet").count(), 1, "{}", partial.stdout);
    assert_eq!(sweep.succeeds("work"), "note: 1 executed, 0 of them failed\n");
    sweep.assert_merged(grid, "csv");
}

/// Swapped, cut and missing contents are damaged counts for everybody: state, workers and merge. So
/// are links that lead round in a circle.
#[cfg(unix)]
#[test]
fn damaged_counts_are_never_taken_for_stored() {
    type Damage<'a> = &'a dyn Fn(&[PathBuf]);

    let sweep = Sweep::new();
    let grid = "transpose histogram lmsor --size small --gpu gtx-480,h100-sxm --machine rules";
    sweep.succeeds(&format!("plan {grid}"));
    assert_eq!(sweep.succeeds("work"), "note: 6 executed, 0 of them failed\n");
    let damage: [(&str, usize, Damage<'_>); 4] = [
        ("swapped", 2, &|paths| {
            let [first, second] = [&paths[0], &paths[1]].map(|path| fs::read(path).unwrap());
            fs::write(&paths[0], second).unwrap();
            fs::write(&paths[1], first).unwrap();
        }),
        ("cut", 1, &|paths| {
            let bytes = fs::read(&paths[2]).unwrap();
            fs::write(&paths[2], &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("circle", 1, &|paths| {
            fs::remove_file(&paths[3]).unwrap();
            std::os::unix::fs::symlink(&paths[3], &paths[3]).unwrap();
        }),
        ("folder", 1, &|paths| {
            fs::remove_file(&paths[4]).unwrap();
            fs::create_dir(&paths[4]).unwrap();
        }),
    ];
    for (name, damaged, damage) in damage {
        damage(&sweep.objects("counts"));
        let state = sweep.succeeds("status");
        let expected = format!("{} of 6 executions are stored", 6 - damaged);
        assert!(state.starts_with(&expected), "{name}: {state}");
        assert!(state.contains(&format!("{damaged} are damaged")), "{name}: {state}");
        let worked = sweep.succeeds("work");
        assert_eq!(worked, format!("note: {damaged} executed, 0 of them failed\n"), "{name}");
        sweep.assert_merged(grid, "csv");
    }
    // A merge that finds them first says so once, and the next worker mends it.
    std::os::unix::fs::symlink("circle", sweep.path("store/counts/circle")).unwrap();
    sweep.assert_merged(grid, "csv");
    let path = sweep.objects("counts").into_iter().find(|path| path.is_file()).unwrap();
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&path, &path).unwrap();
    assert!(sweep.run("merge").stderr.contains("are damaged"));
    assert_eq!(sweep.succeeds("work"), "note: 1 executed, 0 of them failed\n");
    sweep.assert_merged(grid, "csv");
    // A damaged kernel is stored again with the next plan.
    let kernel = sweep.objects("kernels").pop().unwrap();
    fs::write(&kernel, "damaged").unwrap();
    sweep.objects("counts").iter().for_each(|path| fs::remove_file(path).unwrap());
    assert_eq!(sweep.run("work").status, 1);
    sweep.succeeds(&format!("plan {grid}"));
    sweep.succeeds("work");
    sweep.assert_merged(grid, "csv");
}

/// Whoever may write the store names no program for its workers.
#[cfg(unix)]
#[test]
fn a_plan_names_no_program() {
    use std::os::unix::fs::PermissionsExt as _;

    let sweep = Sweep::new();
    let evil = sweep.path("evil");
    let ran = sweep.path("ran");
    fs::write(&evil, format!("#!/bin/sh\n: > '{}'\n", ran.display())).unwrap();
    fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).unwrap();
    sweep.succeeds("plan transpose --size small --gpu gtx-480");
    let path = sweep.path("store/plans/sweep.json");
    let mut plan: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    assert!(plan["machine"].get("ptxas").is_none(), "{}", plan["machine"]);
    plan["machine"]["ptxas"] = evil.display().to_string().into();
    fs::write(&path, plan.to_string()).unwrap();
    for what in ["status", "work", "merge --format csv"] {
        sweep.succeeds(what);
        assert!(!ran.exists(), "sweep {what}");
    }
    // A worker's own assembler has to be of the planned version.
    sweep.objects("counts").iter().for_each(|path| fs::remove_file(path).unwrap());
    plan["machine"]["assemblers"] = serde_json::json!(["0.1"]);
    fs::write(&path, plan.to_string()).unwrap();
    let refused = sweep.run("work");
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("planned with ptxas 0.1"), "{}", refused.stderr);
    assert!(!ran.exists());
    let other = sweep.run(&format!("work --ptxas '{}'", evil.display()));
    assert_eq!(other.status, 1);
    assert!(ran.exists(), "the command line names it");
}

/// What fails is stored, and executed again on request alone.
#[test]
fn failures_are_stored_and_retried() {
    let sweep = Sweep::new();
    let grid = "sgemm --size small --gpu gtx-480 --machine rules --budget 100";
    sweep.succeeds(&format!("plan {grid}"));
    assert_eq!(sweep.succeeds("work"), "note: 1 executed, 1 of them failed\n");
    assert_eq!(sweep.succeeds("work"), "note: 0 executed, 0 of them failed\n");
    assert_eq!(sweep.succeeds("work --retry"), "note: 1 executed, 1 of them failed\n");
    let merged = sweep.succeeds("merge --format csv");
    assert_eq!(merged, gpucast(&format!("sweep {grid} --format csv")).stdout);
}

#[test]
fn what_cannot_be_shared_is_refused() {
    let sweep = Sweep::new();
    let mut transcript = String::new();
    sweep.succeeds("plan transpose --size small --gpu gtx-480 --machine rules");
    for what in [
        "plan histogram --size small --gpu gtx-480 --machine rules",
        "plan transpose --gpu gtx-480 --time-limit 5",
        "plan --from-metrics sgemm-metrics.toml --gpu gtx-480",
        "plan transpose --gpu gtx-480 --plan ../outside",
        "work --plan another",
        "work --shard 3/2",
        "merge",
        "merge --format parquet",
        "submit",
    ] {
        let Outcome { status, stderr, .. } = sweep.run(what);
        let stderr = stderr.replace(&sweep.path("store").display().to_string(), "STORE");
        transcript += &format!("{what}: status {status}\n{stderr}\n");
    }
    insta::assert_snapshot!("shared-sweep-refusals", transcript);
}

#[cfg(not(feature = "cloud"))]
#[test]
fn a_cloud_needs_a_feature() {
    let outcome = gpucast("sweep status --store s3://bucket/sweep");
    assert_eq!(outcome.status, 1);
    assert!(outcome.stderr.contains("--features cloud"), "{}", outcome.stderr);
}

/// A stand-in for Slurm's `sbatch` takes the script, whose tasks are then run by hand.
#[cfg(unix)]
#[test]
fn a_job_array_is_submitted_and_its_tasks_work() {
    use std::os::unix::fs::PermissionsExt as _;

    let sweep = Sweep::new();
    let grid = "transpose histogram --size small --gpu gtx-480,h100-sxm --machine rules";
    sweep.succeeds(&format!("plan {grid}"));
    let options = "submit --slurm --array 2 --time 00:10:00 --partition short";
    let script = sweep.succeeds(&format!("{options} --dry-run"));
    let sbatch = sweep.path("sbatch");
    let taken = sweep.path("taken.sh");
    let stand_in = format!(
        "#!/bin/sh\nwhile IFS= read -r line; do printf '%s\\n' \"$line\"; done > '{}'\n\
         echo Submitted batch job 7\n",
        taken.display()
    );
    fs::write(&sbatch, stand_in).unwrap();
    fs::set_permissions(&sbatch, fs::Permissions::from_mode(0o755)).unwrap();
    let mut submit = command(&sweep.words(options));
    submit.env("PATH", sweep.folder.path());
    assert_eq!(outcome(submit).stdout, "Submitted batch job 7\n");
    assert_eq!(fs::read_to_string(&taken).unwrap(), script);
    for task in ["2", "1"] {
        let mut shell = Command::new("/bin/sh");
        shell.arg(&taken).env("SLURM_ARRAY_TASK_ID", task).stderr(Stdio::null());
        let status = shell.status().unwrap();
        assert!(status.success());
    }
    sweep.assert_merged(grid, "csv");
    // Without Slurm the command says what to do.
    let nowhere = sweep.run("submit --slurm");
    assert_eq!(nowhere.status, 1);
    assert!(nowhere.stderr.contains("sbatch cannot be run"), "{}", nowhere.stderr);
}

/// A worker that is told to stop gives back what it is at.
#[test]
fn the_end_of_the_time_is_a_status() {
    let sweep = Sweep::new();
    sweep.succeeds("plan sgemm lmsor --gpu h100-sxm --machine rules");
    let Outcome { status, stderr, .. } = sweep.run("work --max-seconds 1");
    // A fast machine is done; nobody else would be.
    if status != 0 {
        assert_eq!(status, 75, "{stderr}");
        assert!(stderr.contains("the same command continues"), "{stderr}");
    }
    assert!(sweep.objects("leases").is_empty());
}

/// The protocol of a launch file goes with its kernel, and an option wins over it.
#[test]
fn a_merged_sweep_has_the_protocols_of_its_launch_files() {
    let sweep = Sweep::new();
    let from = crate::gpucast::inputs();
    fs::copy(from.join("saxpy.ptx"), sweep.path("saxpy.ptx")).unwrap();
    let text = fs::read_to_string(from.join("saxpy-n.toml")).unwrap();
    let file = sweep.path("looped.toml");
    fs::write(&file, format!("timing = \"graph\"\nl2 = \"repeated\"\n{text}")).unwrap();
    let grid = |more: &str| {
        let file = file.display();
        format!("'{file}' --vary n=256,65536 --gpu h200 --machine rules{more}")
    };
    // Of the small kernel, whose row is the first.
    let time = |text: &str| -> f64 {
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let column = rows.headers().unwrap().iter().position(|name| name == "time_ms").unwrap();
        rows.records().next().unwrap().unwrap()[column].parse().unwrap()
    };
    let mut times = Vec::new();
    for more in ["", " --timing kernel", " --timing framework"] {
        sweep.succeeds(&format!("plan --replace {}", grid(more)));
        sweep.succeeds("work");
        let merged = stdout(&sweep.words("merge --format csv"));
        assert_eq!(merged, stdout(&format!("sweep {} --format csv", grid(more))));
        times.push(time(&merged));
    }
    // A small kernel in a graph has a gap, and a call of a framework is far slower.
    assert!(times[1] < times[0] && times[2] - times[1] > 10.0 * (times[0] - times[1]), "{times:?}");
}

/// The kernels travel with the plan: workers need none of the files.
#[test]
fn workers_need_no_files_but_the_store() {
    let sweep = Sweep::new();
    let inputs = sweep.path("inputs");
    fs::create_dir(&inputs).unwrap();
    let from = crate::gpucast::inputs();
    for name in ["saxpy-n.toml", "saxpy.ptx"] {
        fs::copy(from.join(name), inputs.join(name)).unwrap();
    }
    let grid = "saxpy-n.toml --vary n=256,512 --gpu gtx-480 --machine rules --format csv";
    let in_folder = |words: &str, folder: &Path| {
        let mut command = command(words);
        command.current_dir(folder);
        outcome(command)
    };
    let alone = in_folder(&format!("sweep {grid}"), &inputs).stdout;
    let grid = grid.strip_suffix(" --format csv").unwrap();
    assert_eq!(in_folder(&sweep.words(&format!("plan {grid}")), &inputs).status, 0);
    fs::remove_dir_all(&inputs).unwrap();
    assert_eq!(in_folder(&sweep.words("work"), sweep.folder.path()).status, 0);
    let merged = in_folder(&sweep.words("merge --format csv"), sweep.folder.path()).stdout;
    assert_eq!(merged, alone);
    assert!(stdout("sweep work --help").contains("75"));
}

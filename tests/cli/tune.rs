//! `gpucast tune`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use gpucast_forecast::tune::Space;
use serde_json::Value;

use crate::gpucast::{Outcome, command, gpucast, json, outcome, stdout};

/// The kernel of the space is PTX with parameters, so no compiler is needed.
const TUNE: &str = "tune tuning/space.toml --gpu h100-sxm --machine rules";

#[test]
fn configurations_are_ranked_by_each_model() {
    let text = stdout(&format!("{TUNE} --model sm-simulation,hierarchical-roofline --top 5"));
    insta::assert_snapshot!("tune-text", text);
    insta::assert_snapshot!("tune-csv", stdout(&format!("{TUNE} --format csv")));
}

/// Each configuration is predicted as by itself: the parameters reach the PTX and the launch.
#[test]
fn a_configuration_has_the_time_of_its_own_prediction() {
    let tuned = json(&format!("{TUNE} --format json"));
    let configurations = tuned["configurations"].as_array().unwrap();
    // Twelve combinations; the constraints leave out three.
    assert_eq!(configurations.len(), 9);
    for configuration in configurations {
        let value = |at: usize| configuration["parameters"][at]["value"].as_f64().unwrap();
        let predict = format!(
            "predict tuning/scale.toml --param block={} --param per_thread={} --gpu h100-sxm \
             --machine rules --format json",
            value(0),
            value(1)
        );
        let Outcome { status, stdout, .. } = gpucast(&predict);
        let time = configuration["times"][0]["time_ms"].as_f64();
        assert_eq!(status == 0, time.is_some(), "{configuration}");
        let Some(time) = time else {
            assert!(configuration["error"].as_str().unwrap().contains("1024"), "{configuration}");
            continue;
        };
        let predicted: Value = serde_json::from_str(&stdout).unwrap();
        let predicted = predicted["predictions"][0]["time_ms"].as_f64().unwrap();
        assert!((time / predicted - 1.0).abs() < 1e-11, "{time} {predicted}");
    }
}

/// A cache file is what Kernel Tuner reads, and a cut one is completed to the same result.
#[test]
fn a_cut_cache_file_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.json");
    let tune = format!("{TUNE} --format json --cache '{}'", path.display());
    let alone = stdout(&format!("{TUNE} --format json"));
    assert_eq!(stdout(&tune), alone);
    let whole = fs::read_to_string(&path).unwrap();
    assert_cache(&whole);
    // As after a kill in the midst of an entry.
    let third = whole.match_indices("\n\"").nth(10).unwrap().0;
    fs::write(&path, &whole[..third + 40]).unwrap();
    let kept = whole[..third].matches("timestamp").count();
    assert!((1..8).contains(&kept), "{kept}");
    assert_eq!(stdout(&tune), alone);
    assert_cache(&fs::read_to_string(&path).unwrap());
    // A whole one is not touched.
    let whole = fs::read_to_string(&path).unwrap();
    assert_eq!(stdout(&tune), alone);
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);
    // Another model has no times yet; another GPU has another file.
    stdout(&format!("{tune} --model hierarchical-roofline"));
    // Those of the first one stay.
    let both = fs::read_to_string(&path).unwrap();
    assert_eq!(stdout(&tune), alone);
    assert_eq!(fs::read_to_string(&path).unwrap(), both);
    let other = gpucast(&format!("tune tuning/space.toml --gpu a100 --cache '{}'", path.display()));
    assert_eq!(other.status, 1);
    assert!(other.stderr.contains("is of the GPU"), "{}", other.stderr);
}

/// A space whose compile command writes down what it compiles. The second configuration waits for
/// the file `go` if there is a file `wait`.
#[cfg(unix)]
struct Slow {
    folder: tempfile::TempDir,
}

#[cfg(unix)]
impl Slow {
    fn new() -> Self {
        let slow = Self { folder: tempfile::tempdir().unwrap() };
        fs::write(slow.path("k.cu"), "__global__ void k() {}").unwrap();
        fs::write(slow.path("wait"), "").unwrap();
        let launch = "module = \"k.cu\"\n[parameters]\nregisters = 1\n[[launch]]\nkernel = \"k\"\n\
                      grid = [1, 1, 1]\nblock = [32, 1, 1]\nargs = []\n";
        fs::write(slow.path("k.toml"), launch).unwrap();
        let compile = format!(
            "echo $0 >> '{compiled}'; [ $0 = 8 ] && [ -e '{wait}' ] && until [ -e '{go}' ]; do :; \
             done; echo \".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k() {{\n\
             .reg .b32 %r<$0>; ret; }}\" > \"$1\"",
            compiled = slow.path("compiled").display(),
            wait = slow.path("wait").display(),
            go = slow.path("go").display(),
        );
        let space = format!(
            "launch = \"k.toml\"\n[parameters]\nregisters = [4, 8, 16]\n[compile]\ncommand = \
             [\"/bin/sh\", \"-c\", \"\"\"{}\"\"\", \"${{registers}}\", \"${{output}}\"]\n",
            compile.replace('\\', "\\\\").replace('"', "\\\"")
        );
        fs::write(slow.path("space.toml"), space).unwrap();
        let trusted = slow.command(&format!("trust '{}'", slow.path("space.toml").display()));
        assert_eq!(outcome(trusted).status, 0);
        slow
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut program = command(arguments);
        program.env("XDG_CONFIG_HOME", self.path("config"));
        program
    }

    fn tune(&self) -> Command {
        self.command(&format!(
            "tune '{}' --gpu gtx-960 --machine rules --format json --cache '{}'",
            self.path("space.toml").display(),
            self.path("cache.json").display()
        ))
    }

    /// A tuning that waits amid the second configuration.
    fn begun(&self) -> Child {
        self.amid_the_second(self.tune().stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Starts a tuning and waits until it is amid the second configuration.
    fn amid_the_second(&self, tune: &mut Command) -> Child {
        let begun = tune.spawn().unwrap();
        while self.compilations() != "4\n8\n" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        begun
    }

    fn compilations(&self) -> String {
        fs::read_to_string(self.path("compiled")).unwrap_or_default()
    }

    fn cache(&self) -> String {
        fs::read_to_string(self.path("cache.json")).unwrap()
    }
}

/// The compile command of the second configuration waits, so the kill comes in the midst of it.
#[cfg(unix)]
#[test]
fn a_killed_tuning_goes_on() {
    let slow = Slow::new();
    let mut killed = slow.begun();
    killed.kill().unwrap();
    killed.wait().unwrap();
    fs::write(slow.path("go"), "").unwrap();
    assert_eq!(slow.cache().matches("timestamp").count(), 1);
    // The kill came behind the entry's last brace: it counts.
    let whole = slow.cache();
    fs::write(slow.path("cache.json"), whole.trim_end().trim_end_matches(',')).unwrap();
    let resumed = outcome(slow.tune());
    assert_eq!((resumed.status, resumed.stderr.as_str()), (0, ""));
    assert_eq!(slow.compilations(), "4\n8\n8\n16\n");
    fs::remove_file(slow.path("cache.json")).unwrap();
    assert_eq!(resumed.stdout, outcome(slow.tune()).stdout);
}

/// Ctrl-C and SIGTERM end it amid the second configuration: what was tried is ranked.
#[cfg(unix)]
#[test]
fn a_stopped_tuning_shows_its_ranking() {
    for signal in ["-INT", "-TERM"] {
        let slow = Slow::new();
        let mut tune = slow.tune();
        let tune = tune.stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = slow.amid_the_second(tune);
        let killed = Command::new("/bin/kill").args([signal, &child.id().to_string()]).status();
        assert!(killed.unwrap().success());
        let stopped = child.wait_with_output().unwrap();
        assert_eq!(stopped.status.code(), Some(130), "{signal}");
        let said = String::from_utf8_lossy(&stopped.stderr);
        assert!(said.contains("stopped after 1 of 3 configurations"), "{said}");
        let tuned: Value = serde_json::from_slice(&stopped.stdout).unwrap();
        assert_eq!(tuned["untried"], 2, "{tuned}");
        assert_eq!(tuned["configurations"].as_array().unwrap().len(), 1);
        assert_eq!(tuned["configurations"][0]["times"][0]["rank"], 1);
    }
}

/// One tuning begins and ends while another one is amid its second configuration.
#[cfg(unix)]
#[test]
fn tunings_at_the_same_time_lose_nothing() {
    let slow = Slow::new();
    let mut first = slow.begun();
    fs::remove_file(slow.path("wait")).unwrap();
    let second = outcome(slow.tune());
    assert_eq!((second.status, second.stderr.as_str()), (0, ""));
    let complete = slow.cache();
    fs::write(slow.path("go"), "").unwrap();
    assert!(first.wait().unwrap().success());
    // The file is whole, has each configuration once, and the entries of the second tuning.
    let cache: Value = serde_json::from_str(&slow.cache()).unwrap();
    let entries = cache["cache"].as_object().unwrap();
    let keys: std::collections::BTreeSet<&str> = entries.keys().map(String::as_str).collect();
    assert!(keys.iter().eq(&["16", "4", "8"]), "{cache}");
    assert_eq!(slow.cache().matches("timestamp").count(), 3);
    assert_eq!(slow.cache(), complete);
    // Whoever comes later compiles nothing.
    let compiled = slow.compilations();
    assert_eq!(outcome(slow.tune()).stdout, second.stdout);
    assert_eq!(slow.compilations(), compiled);
}

/// A space that names a parameter wrongly would fail in each configuration.
#[test]
fn spaces_of_the_corpus_name_parameters_of_their_launch_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/spaces");
    let mut spaces = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path().join("space.toml");
        if !path.is_file() {
            continue;
        }
        spaces += 1;
        let space = Space::read(&path).unwrap();
        assert!(space.configurations().unwrap().len() > 10, "{}", path.display());
        let launch: toml::Value =
            toml::from_str(&fs::read_to_string(&space.launch).unwrap()).unwrap();
        let source = fs::read_to_string(path.with_file_name("kernel.cu")).unwrap();
        for parameter in &space.parameters {
            let usual = launch["parameters"].get(&parameter.name).and_then(toml::Value::as_integer);
            let usual = usual.unwrap_or_else(|| panic!("{}: {}", path.display(), parameter.name));
            assert!(parameter.values.contains(&(usual as f64)), "{}", parameter.name);
            assert!(source.contains(&parameter.name), "{}: {}", path.display(), parameter.name);
        }
    }
    assert!(spaces >= 12, "{spaces}");
}

/// The members that Kernel Tuner's schema of version 1.1.0 requires.
#[track_caller]
fn assert_cache(text: &str) {
    let cache: Value = serde_json::from_str(text).expect("the file is whole");
    assert_eq!(cache["schema_version"], "1.1.0");
    assert_eq!(cache["kernel_name"], "scale");
    assert_eq!(cache["problem_size"], serde_json::json!([16384]));
    assert_eq!(cache["tune_params_keys"], serde_json::json!(["block", "per_thread"]));
    assert_eq!(cache["objective"], "time");
    assert!(cache["device_name"].is_string() && cache["tune_params"]["block"].is_array());
    let entries = cache["cache"].as_object().unwrap();
    assert_eq!(entries.len(), 9);
    for (key, entry) in entries {
        assert_eq!(*key, format!("{},{}", entry["block"], entry["per_thread"]));
        let is_failure =
            entry["time"] == "CompilationFailedConfig" || entry["time"] == "RuntimeFailedConfig";
        assert!(entry["time"].is_number() || is_failure, "{entry}");
        for name in [
            "compile_time",
            "verification_time",
            "benchmark_time",
            "strategy_time",
            "framework_time",
        ] {
            assert!(entry[name].is_number(), "{name}");
        }
        assert!(entry["timestamp"].as_str().unwrap().ends_with("+00:00"));
    }
}

/// Times of KTT are read, and what is written for KTT can be read as if it were measured.
#[test]
fn results_of_ktt_are_read_and_written() {
    let text = stdout(&format!("{TUNE} --measured tuning/measured-ktt.json --top 3"));
    insta::assert_snapshot!("tune-measured", text);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ktt.json");
    let path = path.display();
    stdout(&format!("{TUNE} --ktt '{path}'"));
    let again = json(&format!("{TUNE} --measured '{path}' --format json"));
    let correlation = &again["correlations"][0];
    assert_eq!(
        (&correlation["second"], &correlation["configurations"]),
        (&"measured".into(), &8.into())
    );
    assert_eq!(correlation["spearman"], 1.0);
    let written: Value =
        serde_json::from_str(&fs::read_to_string(path.to_string()).unwrap()).unwrap();
    let first = &written["Results"][0];
    assert_eq!(first["Status"], "Ok");
    assert_eq!(first["ComputationResults"][0]["LocalSize"]["X"], 64);
    assert_eq!(first["ComputationResults"][0]["GlobalSize"]["X"], 256);
}

/// A command of the user's own takes the place of the compiler.
#[cfg(unix)]
#[test]
fn a_compile_command_makes_the_ptx() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("k.cu", "__global__ void k() {}");
    write(
        "k.toml",
        "module = \"k.cu\"\n[parameters]\nregisters = 1\n[[launch]]\nkernel = \"k\"\n\
         grid = [1, 1, 1]\nblock = [32, 1, 1]\nargs = []\n",
    );
    let compile = "echo \".version 7.0\n.target sm_50\n.address_size 64\n.visible .entry k() {\n\
                   .reg .b32 %r<$0>; ret; }\" > \"$1\"";
    let space = |command: &str| {
        format!(
            "launch = \"k.toml\"\n[parameters]\nregisters = [4, 8]\n[compile]\ncommand = \
             [\"/bin/sh\", \"-c\", '''{command}''', \"${{registers}}\", \"${{output}}\"]\n"
        )
    };
    write("space.toml", &space(compile));
    write("broken.toml", &space("echo it breaks >&2; exit 1"));
    let of = |name: &str| {
        let path = folder.path().join(name);
        let run = |arguments: &str| {
            let mut program = command(&format!("{arguments} '{}'", path.display()));
            program.env("XDG_CONFIG_HOME", folder.path());
            outcome(program)
        };
        assert_eq!(run("trust").status, 0);
        run("tune --gpu gtx-960 --machine rules --format json")
    };
    let Outcome { status, stdout, .. } = of("space.toml");
    let tuned: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(status, 0);
    assert!(tuned["configurations"][1]["times"][0]["time_ms"].is_number(), "{tuned}");
    let Outcome { status, stdout, .. } = of("broken.toml");
    let broken: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!((status, &broken["configurations"][0]["error"]), (1, &"/bin/sh: it breaks".into()));
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut transcript = String::new();
    let launch = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/tuning/scale.toml");
    for (name, text) in [
        ("none", "[parameters]\nblock = [64]\n"),
        ("unknown", "constraints = [\"blok < 3\"]\n[parameters]\nblock = [64]\n"),
        ("nothing", "constraints = [\"block < 3\"]\n[parameters]\nblock = [64]\n"),
        ("undeclared", "[parameters]\ntile = [1]\n"),
    ] {
        let path = folder.path().join(format!("{name}.toml"));
        let launch = match name {
            "none" => String::new(),
            _ => format!("launch = \"{}\"\n", launch.display()),
        };
        fs::write(&path, launch + text).unwrap();
        let Outcome { status, stdout, stderr } =
            gpucast(&format!("tune '{}' --gpu gtx-960 --machine rules", path.display()));
        let said = (stdout + &stderr).replace(&folder.path().display().to_string(), "FOLDER");
        let said = said.replace(&launch_folder(), "INPUTS");
        transcript += &format!("{name}: status {status}\n{said}\n");
    }
    insta::assert_snapshot!("tune-refusals", transcript);
}

fn launch_folder() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/inputs/tuning").display().to_string()
}

//! JSON Schemas of the program's documents, made of what it prints.
//!
//! Each document names its schema, such as `gpucast.profile/1`. Below stand runs that show a
//! document in all its forms. What they have in common is the schema: the fields that every one has
//! are required, and types are those that occur. `GPUCAST_UPDATE=1` rewrites `docs/schemas`. Other
//! runs than these are validated against the committed schemas.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Map, Value, json};

use crate::gpucast::{command, gpucast, json as document, outcome};
use crate::management::{self, Tells};

/// A document: its schema, its meaning, runs that show its forms, and others that must fit.
struct Documented {
    schema: &'static str,
    meaning: &'static str,
    shown_by: &'static [&'static str],
    fits: &'static [&'static str],
}

/// A calibration with kernels of the collection.
const MEASURED: &str = "calibrate cost --measure 'transpose dtype:float32 n:64,128' \
                        --on sm-simulation:titan-v --machine rules --format json \
                        --model p_g*f_mem_access_global+p_launch*f_sync_kernel_launch";

/// Runs of `calibrate cost`, with a linear model of the kernels in the samples.
macro_rules! calibrate_cost {
    ($options:literal) => {
        concat!(
            "calibrate cost cost-samples.csv --gpu titan-v --model ",
            "p_madd*f_op_float32_madd+p_load*f_mem_access_global_float32_load",
            "+p_store*f_mem_access_global_float32_store+p_local*f_mem_access_local_float32",
            "+p_group*f_thread_groups+p_launch*f_sync_kernel_launch ",
            $options
        )
    };
}

static DOCUMENTS: [Documented; 30] = [
    Documented {
        schema: "gpucast.predictions/1",
        meaning: "Predicted times with the counts and values behind them: `predict`",
        shown_by: &[
            "predict sgemm --size small --gpu gtx-660,a100 --model all --machine rules --what-if fma",
            "predict cyclic-reduction --size small --gpu gtx-480 --model all --machine rules",
            "predict sgemm --gpu gtx-480 --machine rules --execution-time --reference gtx-660",
            "predict --from-metrics sgemm-metrics.toml --gpu gtx-660 --model quantitative-roofline",
            "predict sgemm --size small --gpu a100 --count-on h100-sxm --model sm-simulation --machine rules",
            "predict sgemm --gpu l40 --model quantitative-roofline --machine rules",
            "predict transpose --size small --gpu a100 --power-limit board --machine rules",
        ],
        fits: &[
            "predict transpose --size small --gpu h100-sxm --model all --machine rules",
            "predict lmsor --size small --gpu gtx-960 --model quantitative-roofline --machine none",
        ],
    },
    Documented {
        schema: "gpucast.profile/1",
        meaning: "Counts of launches, or of their lines, stages, branches or accesses: `profile`",
        shown_by: &[
            "profile sgemm --size small --machine rules",
            "profile sgemm --size small --machine none --execution-time",
            "profile sgemm --size small --machine none --counting full",
            "profile sgemm --size small --machine none --counting classes",
            "profile sgemm --size small --machine none --caches none",
            "profile {inputs}/parametric/transpose-square.toml --param n=8192 --machine none \
             --caches windows --gpu gtx-480",
            "profile histogram --size small --machine rules --by line --caches none",
            "profile cyclic-reduction --size small --machine rules --by line",
            "profile cyclic-reduction --size small --machine rules --by stage",
            "profile cyclic-reduction --size small --machine rules --by branch",
            "profile cyclic-reduction --size small --machine rules --by access",
            "profile histogram --size small --machine rules --by line",
        ],
        fits: &[
            "profile histogram --size small --machine rules",
            "profile transpose --size small --machine rules --by line",
            "profile reduction-f32 --size small --machine rules --metrics nvprof",
        ],
    },
    Documented {
        schema: "gpucast.counts/1",
        meaning: "Counts as formulas in the sizes of a problem: `counts`",
        shown_by: &[
            "counts saxpy-n.toml --parametric n --machine rules --format json",
            "counts parametric/transpose.toml --parametric width,height --machine none --metrics ptx_inst_executed,global_load_sectors --format json",
            "counts parametric/transpose-square.toml --parametric n --machine none --metrics global_load_sectors --format json",
            "counts parametric/reduction.toml --parametric n --machine none --metrics ptx_inst_executed --format json",
            "counts parametric/reduction.toml --parametric n=1..20000,blocks=1..64 --machine none --metrics ptx_inst_executed --format json",
        ],
        fits: &["counts parametric/sgemm.toml --parametric n,m --machine none --format json"],
    },
    Documented {
        schema: "gpucast.counts-at/1",
        meaning: "Counts that formulas give in sizes of a problem: `counts --at`",
        shown_by: &[
            "counts parametric/transpose-counts.json --at width=77,height=130 --format json",
        ],
        fits: &[
            "counts parametric/transpose-counts.json --at width=8..16:8,height=4194304 --format json",
        ],
    },
    Documented {
        schema: "gpucast.run/1",
        meaning: "Launches that were executed, and buffers compared with their expected contents: `run`",
        shown_by: &[
            "run sgemm --size small --format json",
            "run saxpy.toml --execution-time --format json",
            "run wrong-expectation.toml --format json",
        ],
        fits: &["run histogram --size small --format json"],
    },
    Documented {
        schema: "gpucast.bench/1",
        meaning: "Speeds of the executor on a computer, with and without counting: `bench`",
        shown_by: &[
            "bench sgemm --size small --rounds 1 --threads 2 --format json",
            "bench histogram --size small --rounds 2 --threads 1 --record --format json",
            "bench copy-few-blocks --size small --rounds 1 --threads 1 --format json",
        ],
        fits: &["bench vector-add --size small --rounds 1 --format json"],
    },
    Documented {
        schema: "gpucast.measured-kernels/1",
        meaning: "Results and times of kernels on a GPU: `bench --device KERNEL`",
        shown_by: &[
            "exec --gpu {inputs}/made-up.toml {own} bench vector-add histogram --size small \
             --device 0 --trials 2 --warm-up 0 --format json",
            "exec --gpu {inputs}/made-up.toml {own} bench vector-add --device 0 --unchecked \
             --size small --trials 1 --warm-up 0 --format json",
        ],
        fits: &["exec --gpu titan-v {own} bench transpose --size small --device 0 --trials 1 \
             --warm-up 0 --format json"],
    },
    Documented {
        schema: "gpucast.measured-gpu/1",
        meaning: "Parameters of a measured GPU: `bench --device`, `bench --compare`",
        shown_by: &[
            "exec --gpu {inputs}/made-up.toml {own} bench --compare {inputs}/made-up.toml \
             --only shared_latency,shared_stride_8 --trials 1 --warm-up 1 --format json",
            "exec --gpu {inputs}/made-up.toml {own} bench --device 0 \
             --only shared_latency,tensor_int4_rate --trials 1 --warm-up 1 --format json",
            "exec --gpu {inputs}/made-up.toml {own} bench --device 0 --only shared_latency \
             --trials 1 --warm-up 1 --raw /dev/stdout -o /dev/null --format json",
            "exec --gpu {inputs}/made-up.toml {own} bench --device 0 --only shared_latency \
             --trials 1 --warm-up 0 --raw /dev/stdout -o /dev/null {all_but_power}",
            "exec --gpu {inputs}/made-up.toml {own} bench --device 0 --only shared_latency \
             --trials 1 --warm-up 0 --raw /dev/stdout -o /dev/null {power_alone}",
            "exec --gpu {inputs}/made-up.toml {own} bench --compare {inputs}/slow.toml \
             --only shared_latency --trials 1 --warm-up 0",
        ],
        fits: &[
            "exec --gpu titan-v {own} bench --device 0 --only sp_clock --trials 1 --warm-up 1 \
             --format json",
        ],
    },
    Documented {
        schema: "gpucast.findings/1",
        meaning: "What a checked run found: `run --check`",
        shown_by: &[
            "run histogram --size small --check all --format json",
            "run planted-faults.ptx --grid 1 --block 64 --arg buf:u32[64] --kernel past_the_end --check all --format json",
        ],
        fits: &["run saxpy.toml --check all --format json"],
    },
    Documented {
        schema: "gpucast.lab-tasks/1",
        meaning: "The tasks for classes: `lab list`",
        shown_by: &["lab list --format json"],
        fits: &[],
    },
    Documented {
        schema: "gpucast.lab-check/1",
        meaning: "What became of a submission, with points and reasons: `lab check`",
        shown_by: &[
            "lab check ../../studies/lab/tasks/02-guard/start.ptx --task guard --format json",
            "lab check ../../studies/lab/tasks/03-coalescing/start.ptx --task coalescing --format json",
            "lab check ../../studies/lab/tasks/06-transpose/start.ptx --task transpose --format json",
        ],
        fits: &["lab check ../../studies/lab/tasks/07-banks/start.ptx --task banks --format json"],
    },
    Documented {
        schema: "gpucast.lab-grades/1",
        meaning: "The submissions of a class: `lab grade`",
        shown_by: &["lab grade lab --task scan --format json"],
        fits: &[],
    },
    Documented {
        schema: "gpucast.judgement/1",
        meaning: "A kernel beside a reference, with a verdict and what it rests on: `judge`",
        shown_by: &[
            "judge judge/whole-warps.ptx --reference judge/saxpy.toml --format json",
            "judge judge/past-the-end.ptx --reference judge/saxpy.toml --format json",
            "judge broken/several.ptx --reference judge/saxpy.toml --format json",
            "judge saxpy.ptx --reference judge/saxpy.toml --format json",
            "judge judge/few.ptx --reference judge/saxpy.toml --gpu h100-sxm --machine rules --format json",
            "judge transpose-padded.toml --reference transpose.toml --gpu gtx-480 --machine rules --format json",
        ],
        fits: &[
            "judge transpose-padded.toml --reference transpose.toml --gpu gtx-960 --machine rules --format json",
        ],
    },
    Documented {
        schema: "gpucast.check/1",
        meaning: "Files with their kernels, needs, and what is wrong with them: `check`",
        shown_by: &[
            "check saxpy.ptx planted-faults.ptx --format json",
            "check broken/several.ptx --format json",
            "check slices.ptx --slice --format json",
        ],
        fits: &["check talk.ptx --format json"],
    },
    Documented {
        schema: "gpucast.gpus/1",
        meaning: "GPUs with every figure, its unit and its source: `gpus list`, `gpus show`",
        shown_by: &["gpus list --format json"],
        fits: &["gpus show h100 --format json", "gpus show h100 --set sm_count=144 --format json"],
    },
    Documented {
        schema: "gpucast.gpu-fields/1",
        meaning: "The fields that a GPU's file may have, and what reads each: `gpus fields`",
        shown_by: &["gpus fields --format json"],
        fits: &["gpus fields latency --format json"],
    },
    Documented {
        schema: "gpucast.gpus-diff/1",
        meaning: "The figures in which two GPUs differ: `gpus diff`",
        shown_by: &[
            "gpus diff gtx-480 h100-sxm --format json",
            "gpus diff a100 a100 --format json",
        ],
        fits: &["gpus diff l4 l40 --format json"],
    },
    Documented {
        schema: "gpucast.explanation/1",
        meaning: "What pages say of a word: `explain`",
        shown_by: &[
            "explain few-blocks --format json",
            "explain gld_efficiency --format json",
            "explain sm_count --format json",
            "explain missing-lanes --format json",
        ],
        fits: &["explain unsteady --format json", "explain warp --format json"],
    },
    Documented {
        schema: "gpucast.corpus/1",
        meaning: "The kernels that come with the program: `corpus list`",
        shown_by: &["corpus list --format json"],
        fits: &[],
    },
    Documented {
        schema: "gpucast.collection/1",
        meaning: "Generators of measurement kernels: `kernels list`; and what they made",
        shown_by: &[
            "kernels list --format json",
            "kernels generate transpose -o {folder} --format json",
        ],
        fits: &["kernels list tensor --format json"],
    },
    Documented {
        schema: "gpucast.sensitivity/1",
        meaning: "How much each figure of a GPU moves the time: `sensitivity`",
        shown_by: &[
            "sensitivity sgemm --size small --gpu gtx-660 --model quantitative-roofline --machine rules --format json",
            "sensitivity cyclic-reduction --size small --gpu gtx-480 --model component-throughput --machine rules --format json",
            "sensitivity sgemm --gpu a100 --field fp32_pipes --machine rules --format json",
        ],
        fits: &[
            "sensitivity transpose --size small --gpu a100 --model hierarchical-roofline --machine rules --format json",
        ],
    },
    Documented {
        schema: "gpucast.sweep/1",
        meaning: "A row for each combination of a grid: `sweep`",
        shown_by: &[
            "sweep transpose --size small --gpu a100,gtx-285 --model all --machine rules --format json",
            "sweep transpose --size small --gpu a100 --model quantitative-roofline --machine rules --set memory_bandwidth=0.5x,1x --format json",
        ],
        fits: &[
            "sweep histogram --size small --gpu l4 --model quantitative-roofline --machine rules --format json",
        ],
    },
    Documented {
        schema: "gpucast.tuning/1",
        meaning: "The configurations of a tuning space, the fastest first: `tune`",
        shown_by: &[
            "tune tuning/space.toml --gpu h100-sxm --model all --machine rules --format json",
            "tune tuning/space.toml --gpu a100 --machine rules --measured tuning/measured-ktt.json --format json",
        ],
        fits: &[
            "tune tuning/space.toml --gpu gtx-480 --model quantitative-roofline --machine rules --format json",
        ],
    },
    Documented {
        schema: "gpucast.advice/1",
        meaning: "The verdict on each launch, and what to change: `advise`",
        shown_by: &[
            "advise ../../insight/advice/tests/stories/product.toml --gpu rtx-3060,gtx-480 --machine rules",
            "advise ../../insight/advice/tests/kernels/launch-overhead.toml --gpu rtx-3060 --machine rules",
            "advise saxpy.toml --gpu rtx-3060 --machine rules",
        ],
        fits: &[
            "advise ../../insight/advice/tests/stories/softmax.toml --gpu rtx-3060 --machine rules",
        ],
    },
    Documented {
        schema: "gpucast.difference/1",
        meaning: "Two kernels side by side: `diff`",
        shown_by: &[
            "diff transpose.toml transpose-padded.toml --gpu gtx-960 --machine rules",
            "diff transpose-padded.toml transpose.toml --gpu gtx-960 --machine rules",
            "diff saxpy.toml saxpy.toml --gpu gtx-480 --machine rules",
        ],
        fits: &["diff saxpy.toml saxpy.toml --gpu gtx-960 --machine rules"],
    },
    Documented {
        schema: "gpucast.comparison/1",
        meaning: "Predicted times beside measured ones, with the errors: `compare`",
        shown_by: &[
            "compare --published --published-counts --format json",
            "compare measured.csv --machine rules --format json",
        ],
        fits: &["compare measured-clocks.csv --machine rules --format json"],
    },
    Documented {
        schema: "gpucast.calibration/1",
        meaning: "A model fitted to measurements: `calibrate offload`, `calibrate cost`",
        shown_by: &[
            MEASURED,
            "calibrate offload offload-samples.csv --format json",
            "calibrate offload offload-samples.csv --gpu gtx-480 --every 1 --format json",
            calibrate_cost!("--format json"),
        ],
        fits: &["calibrate offload offload-samples.csv --every 1 --format json"],
    },
    Documented {
        schema: "gpucast.cost-model/1",
        meaning: "A calibrated cost model, a TOML file: `calibrate cost --save`, `predict --cost-model`",
        shown_by: &[calibrate_cost!("--save {file}")],
        fits: &[],
    },
    Documented {
        schema: "gpucast.ncu/1",
        meaning: "Metrics of a program's launches: `ncu --export`",
        shown_by: &[
            "--set full --launch-count 2 {exported}",
            "--metrics smsp__inst_executed.sum,no__such_metric.sum {exported}",
        ],
        fits: &["--set basic --section SourceCounters {exported}"],
    },
    Documented {
        schema: "gpucast.kernels/1",
        meaning: "The documents of several kernels: `profile` and `run` with more than one KERNEL",
        shown_by: &[
            "profile sgemm histogram --size small --machine rules",
            "run sgemm histogram --size small --format json",
        ],
        fits: &["profile transpose* --size small --machine rules --by stage"],
    },
];

/// Keys of objects whose own keys are names: of metrics, parameters, buffers, registers.
const MAPS: [&str; 14] = [
    "metrics",
    "ptx_metrics",
    "stalls",
    "parameters",
    "intermediate",
    "buffers_sha256",
    "mix",
    "mnemonics",
    "registers",
    "symbols",
    "warp_instructions",
    "thread_instructions",
    "terms",
    "variant",
];

/// What is known of a value.
#[derive(Default)]
struct Shape {
    types: BTreeSet<&'static str>,
    objects: usize,
    properties: BTreeMap<String, (usize, Shape)>,
    items: Option<Box<Shape>>,
    /// The shape of all values of a map.
    values: Option<Box<Shape>>,
}

impl Shape {
    fn learn(&mut self, value: &Value, is_map: bool) {
        self.types.insert(match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        });
        match value {
            Value::Array(values) => {
                let items = self.items.get_or_insert_default();
                values.iter().for_each(|value| items.learn(value, false));
            }
            Value::Object(map) if is_map => {
                let shape = self.values.get_or_insert_default();
                map.values().for_each(|value| shape.learn(value, false));
            }
            Value::Object(map) => {
                self.objects += 1;
                for (key, value) in map {
                    let (seen, shape) = self.properties.entry(key.clone()).or_default();
                    *seen += 1;
                    shape.learn(value, MAPS.contains(&key.as_str()));
                }
            }
            _ => {}
        }
    }

    fn schema(&self) -> Value {
        let mut schema = Map::new();
        let mut types = self.types.clone();
        if types.contains("number") {
            types.remove("integer");
        }
        let types: Vec<&str> = types.into_iter().collect();
        match types[..] {
            // An array that was always empty.
            [] => return json!(true),
            [one] => schema.insert("type".to_owned(), json!(one)),
            _ => schema.insert("type".to_owned(), json!(types)),
        };
        if let Some(items) = &self.items {
            schema.insert("items".to_owned(), items.schema());
        }
        if let Some(values) = &self.values {
            schema.insert("additionalProperties".to_owned(), values.schema());
        }
        if !self.properties.is_empty() {
            let properties = self.properties.iter();
            let properties: Map<String, Value> =
                properties.map(|(key, (_, shape))| (key.clone(), shape.schema())).collect();
            schema.insert("properties".to_owned(), Value::Object(properties));
            let always = self.properties.iter().filter(|(_, (seen, _))| *seen == self.objects);
            let required: Vec<&String> = always.map(|(key, _)| key).collect();
            schema.insert("required".to_owned(), json!(required));
        }
        Value::Object(schema)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schemas")
}

/// `gpucast.profile.1.json`.
fn file_name(schema: &str) -> String {
    format!("{}.json", schema.replace('/', "."))
}

fn printed(run: &str) -> Value {
    // Two tests ask for the same.
    static PRINTED: Mutex<BTreeMap<String, Arc<OnceLock<Value>>>> = Mutex::new(BTreeMap::new());
    let place = Arc::clone(PRINTED.lock().unwrap().entry(run.to_owned()).or_default());
    place.get_or_init(|| printed_now(run)).clone()
}

fn printed_now(run: &str) -> Value {
    if run.contains("{file}") {
        return saved(run);
    }
    if run.contains("{exported}") {
        return exported(run);
    }
    let run =
        if run.contains("--format") { run.to_owned() } else { format!("{run} --format json") };
    let folder = tempfile::tempdir().unwrap();
    let run = run.replace("{inputs}", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/inputs"));
    let run = run.replace("{own}", env!("CARGO_BIN_EXE_gpucast"));
    let run = run.replace("{folder}", folder.path().to_str().unwrap());
    // A run that names one finds a library that tells the state of the device.
    let told = [("{all_but_power}", Tells::AllButPower), ("{power_alone}", Tells::PowerAlone)];
    let told = told.into_iter().find(|(name, _)| run.contains(name));
    let library = told.map(|(_, tells)| management::library(0, tells));
    let mut command = command(told.map_or(run.clone(), |(name, _)| run.replace(name, "")).as_str());
    if let Some(library) = &library {
        command.env("LD_LIBRARY_PATH", library.path());
    }
    let outcome = outcome(command);
    serde_json::from_str(&outcome.stdout)
        .unwrap_or_else(|error| panic!("gpucast {run}: {error}: {}", outcome.stderr))
}

/// The report of a profiled program.
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
fn exported(run: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("one.json");
    let options = run.replace("{exported}", &format!("--export '{}'", path.display()));
    let ran = crate::ncu::profiled("ncu-schema", "heat", &options);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
fn exported(run: &str) -> Value {
    panic!("nothing profiles programs here: {run}")
}

/// The documents that can be printed here.
fn documents() -> impl Iterator<Item = &'static Documented> {
    let has_exec = cfg!(all(target_os = "linux", target_arch = "x86_64"));
    let is_exported = |one: &Documented| one.shown_by[0].contains("{exported}");
    DOCUMENTS.iter().filter(move |document| has_exec || !is_exported(document))
}

/// The TOML file that a run writes.
fn saved(run: &str) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.toml");
    crate::gpucast::stdout(&run.replace("{file}", file.to_str().unwrap()));
    toml::from_str(&fs::read_to_string(file).unwrap()).unwrap()
}

fn made(one: &Documented) -> Value {
    let mut shape = Shape::default();
    for run in one.shown_by {
        let value = printed(run);
        assert_eq!(value["schema"], one.schema, "gpucast {run}");
        shape.learn(&value, false);
    }
    let mut schema = Map::new();
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("$id".to_owned(), json!(format!("urn:{}", one.schema.replace(['.', '/'], ":"))));
    schema.insert("title".to_owned(), json!(one.schema));
    schema.insert("description".to_owned(), json!(one.meaning));
    let Value::Object(rest) = shape.schema() else { panic!("a document is an object") };
    schema.extend(rest);
    schema["properties"]["schema"] = json!({ "const": one.schema });
    Value::Object(schema)
}

#[test]
fn schemas_are_those_of_the_documents() {
    let page = fs::read_to_string(folder().join("../codes.md")).unwrap();
    for one in documents() {
        let path = folder().join(file_name(one.schema));
        let text = format!("{}\n", serde_json::to_string_pretty(&made(one)).unwrap());
        if std::env::var_os("GPUCAST_UPDATE").is_some() {
            fs::create_dir_all(folder()).unwrap();
            fs::write(&path, &text).unwrap();
        }
        let committed = fs::read_to_string(&path).unwrap_or_default();
        assert!(committed == text, "{}: GPUCAST_UPDATE=1 rewrites it", path.display());
        assert!(page.contains(&format!("`{}`", one.schema)), "docs/codes.md lacks {}", one.schema);
    }
}

#[test]
fn other_documents_fit_their_schemas() {
    for one in documents() {
        let text = fs::read_to_string(folder().join(file_name(one.schema))).unwrap();
        let schema: Value = serde_json::from_str(&text).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        for run in one.shown_by.iter().chain(one.fits) {
            let value = printed(run);
            let errors: Vec<String> = validator
                .iter_errors(&value)
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "gpucast {run}:\n{}", errors.join("\n"));
        }
        // A schema that refuses nothing would say nothing.
        assert!(!validator.is_valid(&json!({ "schema": one.schema })), "{}", one.schema);
        assert!(!validator.is_valid(&json!({ "schema": "gpucast.other/1" })), "{}", one.schema);
    }
}

/// A profile is counts for a prediction: figures keep their kinds.
#[test]
fn predictions_read_what_profiles_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let direct = document(
        "predict sgemm --size small --gpu gtx-660 --model quantitative-roofline --machine rules --format json",
    );
    for ending in ["json", "csv"] {
        let path = folder.path().join(format!("counts.{ending}"));
        let path = path.display();
        crate::gpucast::stdout(&format!("profile sgemm --size small --machine rules -o {path}"));
        let read = document(&format!(
            "predict --from-metrics {path} --gpu gtx-660 --model quantitative-roofline --format json"
        ));
        assert_eq!(read["predictions"][0]["time_ms"], direct["predictions"][0]["time_ms"]);
        let kinds = |document: &Value| {
            let metrics = document["counts"][0]["metrics"].as_object().unwrap().clone();
            metrics
                .into_iter()
                .map(|(name, figure)| (name, figure["kind"].clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(kinds(&read), kinds(&direct), "{ending}");
        if ending == "json" {
            let model = "--model quantitative-roofline";
            let plain = document(&format!("predict {path} --gpu gtx-660 {model} --format json"));
            assert_eq!(plain, read);
            let both = gpucast(&format!("predict {path} sgemm --gpu gtx-660 {model}"));
            assert_eq!(both.status, 2);
            assert!(both.stderr.contains("which stands alone"), "{}", both.stderr);
        }
    }
    let lines = folder.path().join("lines.json");
    let lines = lines.display();
    crate::gpucast::stdout(&format!(
        "profile sgemm --size small --machine rules --by line -o {lines}"
    ));
    let refused = gpucast(&format!("predict --from-metrics {lines} --gpu gtx-660"));
    assert_eq!(refused.status, 1);
    assert!(refused.stderr.contains("a launch has no metrics by nvprof's"), "{}", refused.stderr);
}

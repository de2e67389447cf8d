//! Every entry is complete, and its parts agree with each other.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

use std::collections::{BTreeMap, BTreeSet};

use gpucast_corpus::generator::{GENERATORS, generator};
use gpucast_corpus::reference::{Argument, Inputs, Scalar, Values, reference};
use gpucast_corpus::{Entry, entries, find, published};
use toml::{Table, Value};

/// Both launch files of every entry.
fn launch_files() -> impl Iterator<Item = (&'static Entry, Table)> {
    entries().iter().flat_map(|entry| {
        [entry.launch, entry.launch_small].map(|text| {
            let file = text.parse().unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            (entry, file)
        })
    })
}

fn launches(file: &Table) -> impl Iterator<Item = &Table> {
    file["launch"].as_array().unwrap().iter().map(|launch| launch.as_table().unwrap())
}

fn launch(file: &Table) -> &Table {
    let mut launches = launches(file);
    let launch = launches.next().unwrap();
    assert!(launches.next().is_none(), "more than one launch");
    launch
}

fn text<'a>(table: &'a Table, key: &str) -> &'a str {
    table[key].as_str().unwrap()
}

fn triple(table: &Table, key: &str) -> [u32; 3] {
    let numbers: Vec<u32> = table[key]
        .as_array()
        .unwrap()
        .iter()
        .map(|number| number.as_integer().unwrap().try_into().unwrap())
        .collect();
    numbers.try_into().unwrap()
}

fn argument(value: &Value) -> Argument {
    if let Some(name) = value.as_str() {
        return Argument::Buffer(name.to_owned());
    }
    let (kind, value) = value.as_table().unwrap().iter().next().unwrap();
    let integer = || value.as_integer().unwrap();
    let float = || value.as_float().unwrap();
    Argument::Scalar(match kind.as_str() {
        "s32" => Scalar::S32(integer().try_into().unwrap()),
        "u32" => Scalar::U32(integer().try_into().unwrap()),
        "f32" => Scalar::F32(float() as f32),
        "f64" => Scalar::F64(float()),
        _ => panic!("unexpected scalar type {kind}"),
    })
}

#[test]
fn names_are_unique_and_found() {
    let names: BTreeSet<_> = entries().iter().map(|entry| entry.name).collect();
    assert_eq!(names.len(), entries().len());
    assert!(names.iter().all(|name| find(name).unwrap().name == *name));
    assert_eq!(find("sgem"), None);
}

#[test]
fn every_module_is_ptx_for_the_target_it_says() {
    for entry in entries() {
        assert!(!entry.modules.is_empty(), "{}", entry.name);
        for module in entry.modules {
            let line = |directive: &str| {
                module.ptx().lines().find_map(|line| line.strip_prefix(directive)).map(str::trim)
            };
            assert!(line(".version").is_some(), "{} {}", entry.name, module.file);
            assert_eq!(line(".target"), Some(module.target), "{}", entry.name);
            assert_eq!(module.file, format!("{}.ptx", module.target));
            assert_eq!(entry.module(module.file), Some(module));
            assert_eq!(entry.module(module.target), Some(module));
        }
    }
}

#[test]
fn launch_files_name_modules_kernels_buffers_and_references_that_exist() {
    for (entry, file) in launch_files() {
        let name = entry.name;
        assert!(entry.module(text(&file, "module")).is_some(), "{name}");
        assert!(entry.source.contains("extern \"C\""), "{name}");
        let buffers = file["buffers"].as_table().unwrap();
        for launch in launches(&file) {
            let kernel = text(launch, "kernel");
            for module in entry.modules {
                assert!(
                    module.ptx().contains(&format!(".visible .entry {kernel}(\n")),
                    "{name}: {kernel} is not in {}",
                    module.file
                );
            }
            for argument in launch["args"].as_array().unwrap() {
                let map = || argument.get("tensor_map")?.get("buffer")?.as_str();
                if let Some(buffer) = argument.as_str().or_else(map) {
                    assert!(buffers.contains_key(buffer), "{name}: {buffer}");
                }
            }
        }
        for expect in file["expect"].as_array().unwrap() {
            let expect = expect.as_table().unwrap();
            assert!(buffers.contains_key(text(expect, "buffer")), "{name}");
            assert!(entry.references.contains(&text(expect, "reference")), "{name}");
            assert!(expect["rtol"].is_float() && expect["atol"].is_float(), "{name}");
        }
        assert!(entry.references.iter().all(|name| reference(name).is_some()), "{name}");
    }
}

/// Files with parameters are not read here: whoever executes them asks their references.
#[test]
fn references_accept_the_small_launches() {
    for entry in entries() {
        let file: Table = entry.launch_small.parse().unwrap();
        if file.contains_key("parameters") {
            continue;
        }
        let buffers: BTreeMap<_, _> = file["buffers"]
            .as_table()
            .unwrap()
            .iter()
            .map(|(name, buffer)| {
                let buffer = buffer.as_table().unwrap();
                let len = usize::try_from(buffer["len"].as_integer().unwrap()).unwrap();
                let values = match text(buffer, "type") {
                    "s32" => Values::S32(vec![1; len]),
                    "u32" => Values::U32(vec![1; len]),
                    "f32" => Values::F32(vec![1.0; len]),
                    "f64" => Values::F64(vec![1.0; len]),
                    other => panic!("unexpected element type {other}"),
                };
                (name.clone(), values)
            })
            .collect();
        let launch = launch(&file);
        let args: Vec<_> = launch["args"].as_array().unwrap().iter().map(argument).collect();
        let inputs = Inputs {
            kernel: text(launch, "kernel"),
            grid: triple(launch, "grid"),
            block: triple(launch, "block"),
            repeat: 1,
            args: &args,
            buffers: &buffers,
        };
        for expect in file["expect"].as_array().unwrap() {
            let expect = expect.as_table().unwrap();
            let outputs = (reference(text(expect, "reference")).unwrap().run)(&inputs)
                .unwrap_or_else(|error| panic!("{}: {error}", entry.name));
            let name = text(expect, "buffer");
            assert_eq!(outputs[name].len(), buffers[name].len(), "{}", entry.name);
        }
    }
}

#[test]
fn published_metrics_are_toml_and_belong_to_an_entry() {
    let with_metrics: Vec<&Entry> =
        entries().iter().filter(|entry| entry.published.is_some()).collect();
    assert_eq!(with_metrics.len(), 12);
    for entry in with_metrics {
        let published: Table = entry.published.unwrap().parse().unwrap();
        assert!(published["metrics"].is_table(), "{}", entry.name);
        // The size at which the counts were taken is that of the launch file, and so is `repeat`.
        let file: Table = entry.launch.parse().unwrap();
        let repeat = launch(&file).get("repeat").and_then(Value::as_integer).unwrap_or(1);
        assert_eq!(published["invocations"].as_integer(), Some(repeat), "{}", entry.name);
    }
    let times: Table = published::TIMES.parse().unwrap();
    assert!(times["times"].as_array().is_some_and(|times| !times.is_empty()));
    let measured: Table = published::MEASURED.parse().unwrap();
    for time in measured["times"].as_array().unwrap() {
        let time = time.as_table().unwrap();
        assert!(find(text(time, "kernel")).is_some(), "{time}");
        assert!(measured["sources"].get(text(time, "source")).is_some(), "{time}");
    }
}

#[test]
fn published_figures_name_entries_and_quantities_once() {
    let mut seen = BTreeSet::new();
    for figures in published::FIGURES {
        let file: Table = figures.parse().unwrap();
        for figure in file["figures"].as_array().unwrap() {
            let figure = figure.as_table().unwrap();
            let kernel = text(figure, "kernel").to_owned();
            assert!(find(&kernel).is_some(), "there is no kernel {kernel}");
            assert!(!text(figure, "place").is_empty());
            assert!(figure["value"].is_integer() || figure["value"].is_float());
            assert!(seen.insert((kernel, text(figure, "quantity").to_owned())), "{figure}");
        }
    }
}

#[test]
fn launch_files_fill_buffers_by_generators_that_fit() {
    let mut used = BTreeSet::new();
    for (entry, file) in launch_files() {
        for (name, buffer) in file["buffers"].as_table().unwrap() {
            let init = buffer.get("init").and_then(|init| init.get("generator"));
            let Some(table) = init else { continue };
            let generator = generator(table["name"].as_str().unwrap()).unwrap();
            let shape: Vec<u64> = table["shape"]
                .as_array()
                .unwrap()
                .iter()
                .map(|number| number.as_integer().unwrap().try_into().unwrap())
                .collect();
            let len = usize::try_from(buffer["len"].as_integer().unwrap()).unwrap();
            let ty = generator.element_type.to_string();
            assert_eq!(buffer["type"].as_str(), Some(&*ty), "{} {name}", entry.name);
            (generator.check)(&shape, len).unwrap_or_else(|e| panic!("{} {name}: {e}", entry.name));
            used.insert(generator.name);
        }
    }
    let unused: Vec<&str> = GENERATORS
        .iter()
        .map(|generator| generator.name)
        .filter(|name| !used.contains(name))
        .collect();
    // Chases of pointers are kernels of the collection.
    assert_eq!(unused, ["chain"]);
}

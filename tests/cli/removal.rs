//! `gpucast kernels strip`: what stays is what it was, and what goes is gone.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::gpucast::{command, gpucast, is_nightly, json, outcome};
use crate::machine::ptxas;

/// Counts of one access by all warps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counts {
    executions: f64,
    requests: f64,
    bytes: f64,
    sectors: f64,
}

/// What an access of global memory looks like: type, strides of threads and blocks, the step of a
/// loop, and the elements that it touches, without the lines where it stands.
fn patterns(kernel: &str) -> Vec<serde_json::Value> {
    let profile = json(&format!("profile {kernel} --by access --machine none --format json"));
    let features = profile["launches"][0]["features"][0].clone();
    let mut found = features["accesses"].as_array().unwrap().clone();
    found.retain(|access| access["memory"] == "global");
    for access in &mut found {
        let access = access.as_object_mut().unwrap();
        access.retain(|name, _| !["ptx_lines", "cuda_lines", "machine"].contains(&name.as_str()));
    }
    found
}

/// The accesses of global memory, by their instructions up to the address: a store has another
/// value afterwards.
fn accesses(kernel: &str) -> BTreeMap<String, Counts> {
    let profile =
        json(&format!("profile {kernel} --by line --source ptx --machine rules --format json"));
    let mut found: BTreeMap<String, Counts> = BTreeMap::new();
    for line in profile["launches"][0]["lines"].as_array().unwrap() {
        let number = |name: &str| line[name].as_f64().unwrap();
        let text = line["ptx"].as_str().unwrap();
        if number("requests") == 0.0 || !text.contains(".global") {
            continue;
        }
        let counts = found.entry(text.split(']').next().unwrap().to_owned()).or_default();
        counts.executions += number("warp_executions");
        counts.requests += number("requests");
        counts.bytes += number("requested_bytes");
        counts.sectors += number("sectors");
    }
    found
}

/// Strips a kernel and returns the new launch file.
fn stripped(kernel: &str, options: &str, folder: &Path) -> Result<PathBuf, String> {
    let strip = gpucast(&format!("kernels strip {kernel} {options} -o '{}'", folder.display()));
    if strip.status != 0 {
        return Err(strip.stderr);
    }
    Ok(PathBuf::from(strip.stdout.lines().nth(1).unwrap()))
}

/// Twelve kernels of the corpus and four that NVRTC compiled, each with buffers that stay.
const KERNELS: [(&str, &str); 16] = [
    ("matmul-prefetch --size small", "--keep b"),
    ("matmul-direct --size small", "--keep a"),
    ("dg-direct --size small", "--drop matrix"),
    ("dg-prefetch-u --size small", "--keep u,result"),
    ("dg-prefetch-matrix-transposed --size small", "--keep u"),
    ("finite-differences-16 --size small", "--keep u"),
    ("finite-differences-18 --size small --arch sm_80", "--keep result"),
    ("vector-add --size small", "--drop a"),
    ("stream-triad --size small", ""),
    ("sgemm --size small --arch sm_80", "--keep a,b"),
    ("transpose --size small", ""),
    ("stencil-7pt --size small", ""),
    ("../../insight/advice/tests/stories/convolution.toml", ""),
    ("../../insight/advice/tests/kernels/uncoalesced-access.toml --kernel planted", ""),
    ("../../insight/advice/tests/kernels/untiled-loads.toml --kernel planted", ""),
    ("../../insight/advice/tests/stories/softmax.toml", ""),
];

#[test]
fn kept_accesses_have_the_counts_that_they_had() {
    let mut wrong = Vec::new();
    // Every other one in the gate.
    for (kernel, options) in KERNELS.into_iter().step_by(if is_nightly() { 1 } else { 2 }) {
        let folder = tempfile::tempdir().unwrap();
        let file = match stripped(kernel, options, folder.path()) {
            Ok(file) => file,
            Err(error) => {
                wrong.push(format!("{kernel} {options}: {error}"));
                continue;
            }
        };
        let before = accesses(kernel);
        let mut after = accesses(&format!("'{}'", file.display()));
        after.retain(|text, _| !text.contains("tgt_read_address"));
        if after.is_empty() {
            wrong.push(format!("{kernel} {options}: nothing stays"));
        }
        for (text, counts) in &after {
            if before.get(text) != Some(counts) {
                wrong.push(format!(
                    "{kernel} {options}: {text}: {:?}, {counts:?}",
                    before.get(text)
                ));
            }
        }
        // Without a choice all stay; with one, something goes.
        if options.is_empty() != (before.len() == after.len()) {
            wrong.push(format!("{kernel} {options}: {} of {} stay", after.len(), before.len()));
        }
        let (before, mut after) = (patterns(kernel), patterns(&format!("'{}'", file.display())));
        after.retain(|access| access["buffer"] != "tgt_read_dest");
        for access in after.iter().filter(|access| !before.contains(access)) {
            wrong.push(format!("{kernel} {options}: {access}\nis none of {before:#?}"));
        }
        let text = fs::read_to_string(file.with_extension("ptx")).unwrap();
        let run = gpucast(&format!("run '{}' --check memory", file.display()));
        if run.status != 0 {
            wrong.push(format!("{kernel} {options}: {}\n{text}", run.transcript()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Section 7.1.1: of the tiled product, the loads of b stay, and arithmetic, tiles and barriers go.
#[test]
fn the_example_of_the_paper_is_what_the_paper_shows() {
    let folder = tempfile::tempdir().unwrap();
    let file = stripped("matmul-prefetch --size small", "--drop a,c", folder.path()).unwrap();
    let text = fs::read_to_string(file.with_extension("ptx")).unwrap();
    let kernel = text.split_once(".entry matmul_prefetch").unwrap().1;
    let kernel = kernel.split_once(".entry").map_or(kernel, |(own, _)| own);
    for gone in ["fma", "shared", "bar.sync", "matmul_prefetch_param_2]"] {
        assert!(!kernel.contains(gone), "{gone} stays:\n{kernel}");
    }
    assert_eq!(kernel.matches("ld.global").count(), 1, "{kernel}");
    assert_eq!(kernel.matches("add.f32").count(), 1, "{kernel}");
    assert_eq!(kernel.matches("st.global").count(), 1, "{kernel}");
}

/// Every corpus kernel is stripped for Kepler and for Ampere, or it is said why not. In the gate
/// letters of a name say for which of both, and two kernels of three wait for the night.
#[test]
fn reasons_why_kernels_keep_their_work() {
    let list = json("corpus list --format json");
    let mut reasons: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for kernel in list["kernels"].as_array().unwrap() {
        let name = kernel["name"].as_str().unwrap();
        let targets = kernel["targets"].as_array().unwrap().iter();
        let targets: Vec<&str> = targets.map(|target| target.as_str().unwrap()).collect();
        let both = if targets.len() == 1 { [targets[0]; 2] } else { ["sm_35", "sm_80"] };
        let turn = name.bytes().map(usize::from).sum::<usize>() % 6;
        let one = both.get(turn).map_or(&[][..], std::slice::from_ref);
        for arch in if is_nightly() { &both[..] } else { one } {
            let folder = tempfile::tempdir().unwrap();
            let options = format!("--size small --arch {arch}");
            let reason = match stripped(&format!("{name} {options}"), "", folder.path()) {
                Ok(_) => continue,
                Err(error) => error.lines().next().unwrap().to_owned(),
            };
            reasons.entry(reason).or_default().push(format!("{name} {arch}"));
        }
    }
    let name = if is_nightly() { "strip-reasons" } else { "strip-reasons-of-some" };
    insta::assert_debug_snapshot!(name, reasons);
}

#[test]
fn faults_are_said_with_their_places() {
    for (name, arguments) in [
        ("strip-unknown-buffer", "kernels strip matmul-prefetch --size small --keep d"),
        ("strip-both", "kernels strip matmul-prefetch --size small --keep a --drop a"),
        ("strip-no-launch", "kernels strip saxpy.ptx"),
        ("strip-chip", "kernels strip reduction-f32 --size small"),
    ] {
        insta::assert_snapshot!(name, gpucast(arguments).transcript());
    }
}

/// `ptxas` takes the texts, and leaves the accesses in.
#[test]
fn ptxas_keeps_what_was_kept() {
    let Some(ptxas) = ptxas() else { return };
    for (kernel, options) in KERNELS {
        let folder = tempfile::tempdir().unwrap();
        let file = stripped(kernel, options, folder.path()).unwrap();
        let module = file.with_extension("ptx");
        // This assembler knows Kepler no more.
        let text = fs::read_to_string(&module).unwrap().replace(".target sm_35", ".target sm_52");
        fs::write(&module, &text).unwrap();
        let target = text.split_once(".target ").unwrap().1.split_whitespace().next().unwrap();
        let mut assemble = Command::new(&ptxas);
        assemble.arg(format!("-arch={target}")).args(["-o", "/dev/null"]).arg(&module);
        let assembled = assemble.output().unwrap();
        let errors = String::from_utf8_lossy(&assembled.stderr);
        assert!(assembled.status.success(), "{kernel}: {errors}\n{text}");
        // Its machine code has a load or store for each of the PTX's, as the rules have.
        let accesses = |back_end: &str| {
            let mut profile = command("profile --gpu a100 --format json");
            profile.arg(&file).args(back_end.split(' '));
            let profile = outcome(profile);
            let document: serde_json::Value = serde_json::from_str(&profile.stdout)
                .unwrap_or_else(|_| panic!("{kernel}: {}", profile.transcript()));
            document["launches"][0]["metrics"]["inst_compute_ld_st"]["value"].as_f64()
        };
        let by_rules = accesses("--machine rules");
        assert!(by_rules.is_some_and(|number| number > 0.0), "{kernel}: {by_rules:?}");
        // Loops that it copies may be counted more than once, and never less.
        let by_ptxas = accesses(&format!("--ptxas {}", ptxas.display()));
        assert!(by_ptxas >= by_rules, "{kernel} {options}: {by_ptxas:?} of {by_rules:?}");
    }
}

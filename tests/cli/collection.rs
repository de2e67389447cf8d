//! `gpucast kernels`: every generator's kernels execute, compute what they say, and are accepted by
//! `ptxas`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::gpucast::{command, gpucast, json, outcome, stdout};
use crate::machine::ptxas;

#[test]
fn the_list_in_every_format() {
    insta::assert_snapshot!("kernels-list", stdout("kernels list"));
    insta::assert_snapshot!("kernels-list-tensor-csv", stdout("kernels list tensor --format csv"));
    insta::assert_snapshot!(
        "kernels-show",
        stdout("kernels show barrier_pattern empty_knl --match intersection")
    );
    let list = json("kernels list --format json");
    assert!(list["generators"].as_array().unwrap().len() >= 20);
}

#[test]
fn what_cannot_be_made_is_said_with_a_way_out() {
    for (name, arguments) in [
        ("kernels-unknown-tag", "kernels list matmul_sk"),
        ("kernels-unknown-value", "kernels show matmul_sq prefetch:Yes"),
        ("kernels-several", "kernels show matmul_sq dtype:float32 --part ptx"),
        (
            "kernels-unfit",
            "kernels show matmul_sq dtype:float32 prefetch:False n:100 groups_fit:True --part ptx",
        ),
        (
            "kernels-old-target",
            "kernels show tensor_pattern product:int8_m16n8k32 --part ptx --target sm_70",
        ),
        ("kernels-target", "kernels list --match nearly"),
        (
            "kernels-none-fits",
            "kernels generate atomic_pattern operation:max dtype:float32 -o /nowhere",
        ),
    ] {
        insta::assert_snapshot!(name, gpucast(arguments).transcript());
    }
}

#[test]
fn files_that_were_changed_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let run = || {
        let mut command =
            command("kernels generate stream operation:copy dtype:float32 width:1 -o made");
        command.current_dir(folder.path());
        outcome(command)
    };
    let first = run();
    assert_eq!((first.status, &*first.stderr), (0, ""), "{}", first.transcript());
    assert_eq!(run().stdout, first.stdout, "the same files again are no fault");
    let path = folder.path().join(first.stdout.lines().next().unwrap());
    fs::write(&path, "mine").unwrap();
    assert_eq!(run().status, 1);
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
}

/// Writes the kernels of a generator at the least sizes, and returns their launch files. There are
/// none if the target is too old for all of them.
fn written(generator: &serde_json::Value, target: &str, folder: &Path) -> Vec<PathBuf> {
    let mut tags = vec![generator["name"].as_str().unwrap().to_owned()];
    for argument in generator["arguments"].as_array().unwrap() {
        let (name, allowed) = (argument["name"].as_str().unwrap(), &argument["allowed"]);
        let words: Vec<&str> = allowed.as_str().unwrap().split(' ').collect();
        let least = match words[..] {
            _ if name.starts_with("lid_stride") => continue,
            [least, "or", "more"] => least.parse::<u64>().unwrap(),
            ["multiples", "of", step, "from", least, "on"] => {
                least.parse::<u64>().unwrap().next_multiple_of(step.parse().unwrap())
            }
            _ => continue,
        };
        tags.push(format!("{name}:{least}"));
    }
    let path = folder.display();
    let tags = tags.join(" ");
    let made =
        gpucast(&format!("kernels generate {tags} --target {target} -o '{path}' --format json"));
    if made.stderr.contains("it needs sm_") {
        return Vec::new();
    }
    assert_eq!((made.status, made.stderr.as_str()), (0, ""), "{tags}");
    let made: serde_json::Value = serde_json::from_str(&made.stdout).unwrap();
    let kernels = made["kernels"].as_array().unwrap().iter();
    let files = kernels.flat_map(|kernel| kernel["files"].as_array().unwrap());
    let paths = files.map(|file| PathBuf::from(file.as_str().unwrap()));
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "toml")).collect()
}

fn generators() -> Vec<serde_json::Value> {
    json("kernels list --format json")["generators"].as_array().unwrap().clone()
}

#[test]
fn every_variant_executes_without_a_fault() {
    let mut executed = 0;
    for generator in generators() {
        let folder = tempfile::tempdir().unwrap();
        let files = written(&generator, "sm_80", folder.path());
        assert!(!files.is_empty(), "{}", generator["name"]);
        let mut run = command("run --format json");
        run.args(&files);
        let run = outcome(run);
        assert_eq!(run.status, 0, "{}: {}", generator["name"], run.stderr);
        executed += files.len();
    }
    assert!(executed > 150, "{executed} kernels");
}

/// A race would be a wrong kernel even where no result shows it.
#[test]
fn kernels_with_shared_memory_have_no_race() {
    for generator in generators() {
        let name = generator["name"].as_str().unwrap();
        let has_shared = ["lmem", "application"]
            .iter()
            .any(|tag| generator["tags"].as_array().unwrap().iter().any(|known| known == tag));
        if !has_shared {
            continue;
        }
        let folder = tempfile::tempdir().unwrap();
        for file in written(&generator, "sm_80", folder.path()).iter().take(6) {
            let checked = gpucast(&format!("run '{}' --check memory,race,sync", file.display()));
            assert_eq!(checked.status, 0, "{name}: {}", checked.transcript());
        }
    }
}

/// Values of a buffer of 32-bit floats.
fn values(path: &Path) -> Vec<f64> {
    let bytes = fs::read(path).unwrap();
    let float = |chunk: &[u8]| f64::from(f32::from_le_bytes(chunk.try_into().unwrap()));
    bytes.chunks_exact(4).map(float).collect()
}

/// Executes each kernel that tags choose, and hands its buffers to a check.
fn compared(tags: &str, buffers: &[&str], check: impl Fn(&str, &[Vec<f64>])) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    let made = json(&format!("kernels generate {tags} dtype:float32 -o '{path}' --format json"));
    let kernels = made["kernels"].as_array().unwrap();
    assert!(!kernels.is_empty(), "{tags}");
    for kernel in kernels {
        let file = kernel["files"][1].as_str().unwrap();
        let mut run = command("run");
        run.arg(file);
        let dumped = |name: &str| folder.path().join(format!("{name}.bin"));
        for name in buffers {
            run.arg("--dump").arg(format!("{name}={}", dumped(name).display()));
        }
        let run = outcome(run);
        assert_eq!(run.status, 0, "{file}: {}", run.transcript());
        let contents: Vec<Vec<f64>> = buffers.iter().map(|name| values(&dumped(name))).collect();
        check(file, &contents);
    }
}

fn near(file: &str, at: usize, found: f64, expected: f64) {
    let tolerance = 1e-5 * expected.abs().max(1.0);
    assert!((found - expected).abs() <= tolerance, "{file}[{at}]: {found}, not {expected}");
}

#[test]
fn matrix_products_are_products() {
    // 40 rows do not fit blocks of 16, so that the guards are met.
    for (n, fits) in [(32, "True"), (40, "False")] {
        let tags = format!("matmul_sq n:{n} groups_fit:{fits}");
        compared(&tags, &["a", "b", "c"], |file, buffers| {
            let [a, b, c] = buffers else { panic!("{file}") };
            for at in 0..n * n {
                let (i, j) = (at / n, at % n);
                let expected: f64 = (0..n).map(|k| a[i * n + k] * b[k * n + j]).sum();
                near(file, at, c[at], expected);
            }
        });
    }
}

/// What stays of a product without its work: each thread sums what it reads of one matrix.
#[test]
fn kept_loads_are_those_of_the_product() {
    let (n, tile) = (32, 16);
    for keep in ["a", "b"] {
        let tags = format!("matmul_sq_gmem n:{n} groups_fit:True keep:{keep}");
        compared(&tags, &[keep, "tgt_read_dest"], |file, buffers| {
            let [matrix, sums] = buffers else { panic!("{file}") };
            let is_tiled = file.contains("prefetch-True");
            for (at, &sum) in sums.iter().enumerate() {
                let (block, thread) = (at / (tile * tile), at % (tile * tile));
                let (y, x) = (thread / tile, thread % tile);
                let row = block / (n / tile) * tile + y;
                let column = block % (n / tile) * tile + x;
                // With tiles, a thread reads one element of each tile.
                let expected: f64 = (0..n)
                    .filter(|k| !is_tiled || k % tile == if keep == "a" { x } else { y })
                    .map(|k| if keep == "a" { matrix[row * n + k] } else { matrix[k * n + column] })
                    .sum();
                near(file, at, sum, expected);
            }
        });
    }
    insta::assert_snapshot!(
        "kernels-removed-cuda",
        gpucast(
            "kernels show dg_diff_gmem dtype:float32 prefetch:u transposed:False nelements:16384 \
             keep:u --part cuda"
        )
        .transcript()
    );
}

#[test]
fn dg_derivatives_are_sums_over_nodes() {
    let (matrices, nodes, elements) = (3, 32, 48);
    let tags = format!("dg_diff nmatrices:{matrices} nunit_nodes:{nodes} nelements:{elements}");
    compared(&tags, &["diff_mat", "u", "result"], |file, buffers| {
        let [matrix, u, result] = buffers else { panic!("{file}") };
        let is_transposed = file.contains("transposed-True");
        let place = |k: usize, i: usize| match is_transposed {
            true => i * elements + k,
            false => k * nodes + i,
        };
        for m in 0..matrices {
            for (k, i) in (0..elements).flat_map(|k| (0..nodes).map(move |i| (k, i))) {
                let row = (m * nodes + i) * nodes;
                let expected: f64 = (0..nodes).map(|j| matrix[row + j] * u[place(k, j)]).sum();
                let at = m * elements * nodes + place(k, i);
                near(file, at, result[at], expected);
            }
        }
    });
}

#[test]
fn finite_differences_and_transpositions_are_right() {
    let n = 112;
    compared(&format!("finite_diff n:{n}"), &["u", "result"], |file, buffers| {
        let [u, result] = buffers else { panic!("{file}") };
        let at = |i: usize, j: usize| u[i * (n + 2) + j];
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            let expected = at(i, j + 1) + at(i + 1, j) - 4.0 * at(i + 1, j + 1)
                + at(i + 1, j + 2)
                + at(i + 2, j + 1);
            near(file, i * n + j, result[i * n + j], expected);
        }
    });
    let n = 64;
    compared(&format!("transpose n:{n}"), &["in", "result"], |file, buffers| {
        let [source, result] = buffers else { panic!("{file}") };
        for at in 0..n * n {
            near(file, at, result[at], source[at % n * n + at / n]);
        }
    });
}

#[test]
fn stencils_in_three_dimensions_are_right() {
    let n = 64;
    compared(&format!("stencil_3d n:{n}"), &["u", "result"], |file, buffers| {
        let [u, result] = buffers else { panic!("{file}") };
        let at = |z: usize, y: usize, x: usize| u[(z * (n + 2) + y) * (n + 2) + x];
        for (point, &found) in result.iter().enumerate() {
            let (z, y, x) = (point / (n * n) + 1, point / n % n + 1, point % n + 1);
            let expected = at(z, y, x - 1)
                + at(z, y, x + 1)
                + at(z, y - 1, x)
                + at(z, y + 1, x)
                + at(z - 1, y, x)
                + at(z + 1, y, x)
                - 6.0 * at(z, y, x);
            near(file, point, found, expected);
        }
    });
}

#[test]
fn sums_of_blocks_are_sums() {
    for each in [1, 8] {
        let tags = format!("block_sum nelements:16384 lsize_0:256 each:{each}");
        compared(&tags, &["in", "result"], |file, buffers| {
            let [source, result] = buffers else { panic!("{file}") };
            assert_eq!(result.len(), 16384 / 256 / each, "{file}");
            for (block, own) in source.chunks(256 * each).enumerate() {
                let tolerance = 1e-3;
                let (found, expected) = (result[block], own.iter().sum::<f64>());
                assert!((found - expected).abs() < tolerance, "{file}: {found}, not {expected}");
            }
        });
    }
}

#[test]
fn sparse_products_are_products() {
    let (rows, entries) = (256, 5);
    let tags = format!("spmv_ell nrows:{rows} ncolumns:100 entries:{entries}");
    compared(&tags, &["values", "columns", "x", "y"], |file, buffers| {
        let [values, columns, x, y] = buffers else { panic!("{file}") };
        // Columns are whole numbers, which `values` reads as the bits of floats.
        let column = |at: usize| (columns[at] as f32).to_bits() as usize;
        let used: std::collections::BTreeSet<usize> = (0..rows * entries).map(column).collect();
        assert!(used.len() > 90 && used.last() < Some(&100), "{file}: {used:?}");
        for row in 0..rows {
            let places = (0..entries).map(|entry| entry * rows + row);
            let expected: f64 = places.map(|at| values[at] * x[column(at)]).sum();
            near(file, row, y[row], expected);
        }
    });
}

/// The oracle for the syntax that this program accepts.
#[test]
fn ptxas_accepts_every_variant() {
    let Some(ptxas) = ptxas() else { return };
    let mut refused = Vec::new();
    for target in ["sm_52", "sm_80", "sm_120"] {
        for generator in generators() {
            let folder = tempfile::tempdir().unwrap();
            for file in written(&generator, target, folder.path()) {
                let module = file.with_extension("ptx");
                let mut assemble = Command::new(&ptxas);
                assemble.arg(format!("-arch={target}")).arg(&module).args(["-o", "/dev/null"]);
                let assembled = assemble.output().unwrap();
                if !assembled.status.success() {
                    let errors = String::from_utf8_lossy(&assembled.stderr).into_owned();
                    refused.push(format!("{}: {errors}", module.display()));
                }
            }
        }
    }
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// A launch file with parameters is a generator of the user's own.
#[test]
fn own_launch_files_are_generators() {
    let template = "parametric/reduction.toml";
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made");
    let command = format!("kernels generate {template} n:1000,2048 blocks:2 -o {}", made.display());
    let files = stdout(&command);
    let names: Vec<&str> = files.lines().filter_map(|line| line.rsplit('/').next()).collect();
    insta::assert_snapshot!("kernels-own-files", names.join("\n"));
    let launch = fs::read_to_string(made.join("reduction-blocks-2-n-1000.toml")).unwrap();
    insta::assert_snapshot!("kernels-own-launch", launch);
    // The file counts what the template counts with these values.
    for n in [1000, 2048] {
        let own = made.join(format!("reduction-blocks-2-n-{n}.toml"));
        let options = "--machine none --format json";
        let own = json(&format!("profile {} {options}", own.display()));
        let given = format!("profile {template} --param n={n} --param blocks=2 {options}");
        assert_eq!(own["launches"], json(&given)["launches"], "n = {n}");
    }
    for (name, arguments) in [
        ("kernels-own-show", format!("kernels show {template} n:1024,2048")),
        ("kernels-own-list", format!("kernels list {template}")),
        ("kernels-own-unknown", format!("kernels show {template} rows:3")),
        ("kernels-own-value", format!("kernels show {template} n:many")),
        ("kernels-own-beside", format!("kernels show {template} flops")),
        ("kernels-own-none", "kernels show saxpy.toml".to_owned()),
    ] {
        insta::assert_snapshot!(name, gpucast(&arguments).transcript());
    }
}

/// Kernels of the user's own calibrate a model like those of the collection.
#[test]
fn own_launch_files_are_measured() {
    let template = "parametric/reduction.toml";
    let fitted = json(&format!(
        "calibrate cost --measure '{template} n:65536,262144 blocks:80' \
         --measure 'empty_knl ngroups:16' --on sm-simulation:titan-v --machine rules \
         --model 'p_load * f_mem_access_global_float32 + p_launch * f_sync_kernel_launch' \
         --format json"
    ));
    let samples = fitted["cost"]["samples"].as_array().unwrap();
    assert_eq!(samples.len(), 3, "{fitted}");
}

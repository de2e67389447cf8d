//! `gpucast counts`: formulas, and what they give beside executed counts.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_rational::BigRational;
use serde_json::Value;

use crate::gpucast::{gpucast, is_nightly, json, stdout};

const FEW: &str = "--machine none --metrics ptx_inst_executed,ptx_thread_inst_executed,\
                   flop_count_sp,flop_count_dp,global_load_sectors,global_store_sectors,\
                   global_update_sectors,shared_load_transactions";

fn text(arguments: &str) -> String {
    stdout(&format!("counts {arguments} {FEW}"))
}

#[test]
fn a_kernel_with_a_guard_as_text_and_csv() {
    let saxpy = "counts saxpy-n.toml --parametric n --machine rules";
    insta::assert_snapshot!("counts-saxpy", stdout(saxpy));
    insta::assert_snapshot!(
        "counts-saxpy-csv",
        stdout(&format!("{saxpy} --metrics inst_executed,gld_transactions --format csv"))
    );
}

#[test]
fn products_stencils_and_reductions() {
    insta::assert_snapshot!("counts-sgemm", text("parametric/sgemm.toml --parametric n,m"));
    insta::assert_snapshot!(
        "counts-stencil",
        text("parametric/stencil.toml --parametric n=32..512")
    );
    insta::assert_snapshot!(
        "counts-ell",
        text("parametric/ell.toml --parametric rows=128..:128,entries=1..64")
    );
    if is_nightly() {
        insta::assert_snapshot!(
            "counts-reduction",
            text("parametric/reduction.toml --parametric n")
        );
        insta::assert_snapshot!(
            "counts-transpose",
            text("parametric/transpose.toml --parametric width,height")
        );
    }
}

/// Rows that begin anywhere in a sector make a polynomial for each residue of the width.
#[test]
fn residues_have_formulas_of_their_own() {
    insta::assert_snapshot!(
        "counts-transpose-square",
        stdout(
            "counts parametric/transpose-square.toml --parametric n --machine none \
             --metrics global_store_sectors,shared_load"
        )
    );
}

#[test]
fn a_module_takes_sizes_in_its_options() {
    insta::assert_snapshot!(
        "counts-module",
        stdout(
            "counts saxpy.ptx --grid ${ceil(n/256)} --block 256 --arg u32:${n} --arg f32:2 \
             --arg buf:f32[${n}] --arg buf:f32[${n}] --parametric n=1..100000 --machine none \
             --metrics ptx_*"
        )
    );
}

/// Formulas at sizes of their own beside counts of everything executed, and what is read from a
/// document of them.
#[test]
fn formulas_give_what_executing_everything_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("counts.json");
    let cases: [(&str, &str, &[&[u64]]); 6] = [
        ("saxpy-n", "n", &[&[1], &[31], &[32], &[100_003]]),
        ("parametric/sgemm", "n,m", &[&[32, 32], &[96, 64], &[160, 224]]),
        ("parametric/stencil", "n", &[&[32], &[64], &[96]]),
        ("parametric/reduction", "n", &[&[1], &[992], &[993], &[1023], &[1024], &[77_777]]),
        (
            "parametric/transpose",
            "width,height",
            &[&[33, 1], &[77, 130], &[256, 19], &[12, 72], &[48, 35], &[130, 44], &[1000, 7]],
        ),
        ("parametric/transpose-square", "n", &[&[1], &[31], &[40], &[52], &[98], &[177], &[208]]),
    ];
    // These two take as long as all others.
    let long = ["parametric/transpose", "parametric/stencil"];
    let cases = cases.into_iter().filter(|(file, _, _)| is_nightly() || !long.contains(file));
    for (file, parameters, sizes) in cases {
        let text = stdout(&format!(
            "counts {file}.toml --parametric {parameters} --machine none --format json"
        ));
        std::fs::write(&path, &text).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let names: Vec<&str> = parameters.split(',').collect();
        for &sizes in sizes {
            let named: Vec<String> = names
                .iter()
                .zip(sizes)
                .map(|(name, size)| format!("--param {name}={size}"))
                .collect();
            let executed = json(&format!(
                "profile {file}.toml {} --machine none --caches none --counting full --format json",
                named.join(" ")
            ));
            let executed = &executed["launches"][0]["metrics"];
            let at: Vec<String> =
                names.iter().zip(sizes).map(|(name, size)| format!("{name}={size}")).collect();
            let at = at.join(",");
            let evaluated = json(&format!("counts {} --at {at} --format json", path.display()));
            for metric in evaluated["sizes"][0]["launches"][0]["metrics"].as_array().unwrap() {
                let name = metric["name"].as_str().unwrap();
                assert_eq!(metric["value"], executed[name]["value"], "{file} at {at}: {name}");
            }
            let sizes: BTreeMap<&str, u64> =
                names.iter().copied().zip(sizes.iter().copied()).collect();
            let list = |name: &str| document["launches"][0][name].as_array().unwrap().clone();
            let metrics = [list("metrics"), list("metrics_of_rows")].concat();
            assert!(metrics.len() > 60, "{file} has {} formulas", metrics.len());
            assert_eq!(list("without_formula"), [Value::Null; 0], "{file}");
            for metric in &metrics {
                let name = metric["name"].as_str().unwrap();
                let count = executed[name]["value"].as_u64();
                let count = count.unwrap_or_else(|| panic!("{file} at {sizes:?}: no {name}"));
                assert_eq!(
                    value(metric, &names, &sizes),
                    Some(BigRational::from_integer(count.into())),
                    "{file} at {sizes:?}: {name}"
                );
            }
        }
    }
}

/// Threads of blocks that have no element of their own are told apart by both sizes.
#[test]
fn edges_between_two_sizes_have_formulas() {
    let few = "--machine none --metrics ptx_inst_executed,ptx_thread_inst_executed";
    let sizes = "--parametric n=1..20000,blocks=1..64";
    let counts = format!("counts parametric/reduction.toml {sizes} {few}");
    if is_nightly() {
        insta::assert_snapshot!("counts-edges", stdout(&counts));
    }
    let document = json(&format!("{counts} --format json"));
    for (n, blocks) in [(1, 1), (100, 64), (2816, 11), (16_383, 64), (16_385, 64), (20_000, 3)] {
        let executed = json(&format!(
            "profile parametric/reduction.toml --param n={n} --param blocks={blocks} {few} \
             --caches none --counting full --format json"
        ));
        let sizes: BTreeMap<&str, u64> = [("n", n), ("blocks", blocks)].into();
        for metric in document["launches"][0]["metrics"].as_array().unwrap() {
            let name = metric["name"].as_str().unwrap();
            let count = executed["launches"][0]["metrics"][name]["value"].as_u64().unwrap();
            assert_eq!(
                value(metric, &["n", "blocks"], &sizes),
                Some(BigRational::from_integer(count.into())),
                "{name} at {sizes:?}"
            );
        }
    }
}

/// The number of points (i, j) with p ≤ i < n and p ≤ j < i + 1 is (n² + p² − 2np + n − p)/2
/// (Stevens and Klöckner 2020, section 5).
#[test]
fn points_of_a_triangle_have_the_formula_of_the_paper() {
    let text = stdout(
        "counts parametric/triangle.ptx --grid 1 --block 1 --arg u32:${n} --arg u32:${p} \
         --arg buf:f32[1] --parametric n=100..,p=1..64 --machine none --metrics flop_count_sp",
    );
    let formula = "(1/2)·n² + (1/2)·p² + (1/2)·n − n·p − (1/2)·p";
    let terms = |text: &str| -> std::collections::BTreeSet<String> {
        text.replace("− ", "+ −").split(" + ").map(|term| term.trim().to_owned()).collect()
    };
    let line = text.lines().find(|line| line.contains("flop_count_sp")).unwrap();
    let found = line.split_once("exact").unwrap().1.trim();
    assert_eq!(terms(found), terms(formula), "{text}");
}

/// The prefetching product performs 2n³ local loads and 2n³/16 local stores that the other does
/// not, and 16 times fewer global loads (Stevens and Klöckner 2020, section 8.3); each of 4 bytes.
#[test]
fn measurement_kernels_have_the_counts_of_the_paper() {
    let formulas = |prefetch: &str| -> BTreeMap<String, String> {
        let document = json(&format!(
            "counts --measure 'matmul_sq dtype:float32 lsize_0:16 lsize_1:16 groups_fit:True \
             prefetch:{prefetch}' --parametric n --machine none --format json --metrics \
             flop_count_sp,ptx_global_load_bytes,ptx_shared_load_bytes,ptx_shared_store_bytes"
        ));
        let metrics = document["launches"][0]["metrics"].as_array().unwrap();
        let formula = |metric: &Value| {
            let pieces = metric["pieces"].as_array().unwrap();
            assert_eq!(pieces.len(), 1, "{metric}");
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&metric["name"]), text(&pieces[0]["formula"]))
        };
        metrics.iter().map(formula).collect()
    };
    let direct = formulas("False");
    assert_eq!(direct["flop_count_sp"], "2·n³");
    assert_eq!(direct["ptx_global_load_bytes"], "8·n³");
    assert_eq!(direct["ptx_shared_load_bytes"], "0");
    let prefetch = formulas("True");
    assert_eq!(prefetch["flop_count_sp"], "2·n³");
    assert_eq!(prefetch["ptx_global_load_bytes"], "(1/2)·n³");
    assert_eq!(prefetch["ptx_shared_load_bytes"], "8·n³");
    assert_eq!(prefetch["ptx_shared_store_bytes"], "(1/2)·n³");
}

/// The value of a metric at some sizes, from the terms of its document.
fn value(metric: &Value, names: &[&str], sizes: &BTreeMap<&str, u64>) -> Option<BigRational> {
    let pieces = metric["pieces"].as_array().unwrap();
    let piece = pieces.iter().find(|piece| {
        names.iter().enumerate().all(|(at, name)| {
            let size = sizes[name];
            let last = piece["last"][at].as_u64().unwrap_or(u64::MAX);
            let is_of = |residue: &Value| {
                Some(size % residue["modulus"].as_u64().unwrap()) == residue["residue"].as_u64()
            };
            let alone = piece.get("residue").filter(|residue| residue.is_object());
            let residues = piece.get("residues").and_then(Value::as_array);
            let mut of_size =
                residues.into_iter().flatten().filter(|residue| residue["parameter"] == *name);
            let of_residue = alone.is_none_or(is_of) && of_size.all(is_of);
            (piece["first"][at].as_u64().unwrap()..=last).contains(&size) && of_residue
        })
    })?;
    let term = |term: &Value| {
        let coefficient: BigRational = term["coefficient"].as_str().unwrap().parse().unwrap();
        let factors = term["factors"].as_array().unwrap().iter().map(|factor| {
            let size = i128::from(sizes[factor["parameter"].as_str().unwrap()]);
            let times = factor.get("times").map_or(1, |name| sizes[name.as_str().unwrap()]);
            let sum = size * i128::from(times) + i128::from(factor["plus"].as_i64().unwrap());
            let by = i128::from(factor["divided_by"].as_i64().unwrap());
            // Rounded up, below zero too.
            let mut quotient = sum / by + i128::from(sum % by > 0);
            if let Some(most) = factor["at_most"].as_object() {
                let size = i128::from(sizes[most["parameter"].as_str().unwrap()]);
                quotient = quotient.min(i128::from(most["factor"].as_i64().unwrap()) * size);
            }
            BigInt::from(quotient).pow(factor["power"].as_u64().unwrap() as u32)
        });
        coefficient * BigRational::from_integer(factors.product())
    };
    Some(piece["terms"].as_array().unwrap().iter().map(term).sum())
}

/// Counts that the terms of a document say, by the definition of terms, and of everything executed.
#[test]
fn documents_give_counts_without_executing() {
    let path = "parametric/transpose-counts.json";
    let text = std::fs::read_to_string(crate::gpucast::inputs().join(path)).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let list = |name: &str| document["launches"][0][name].as_array().unwrap().clone();
    let formulas = [list("metrics"), list("metrics_of_rows")].concat();
    let evaluated = json(&format!(
        "counts {path} --at width=77,height=130 --at width=4..12:4,height=1000000007 --format json"
    ));
    let sizes = evaluated["sizes"].as_array().unwrap();
    let expected = [(77, 130), (4, 1_000_000_007), (8, 1_000_000_007), (12, 1_000_000_007)];
    assert_eq!(sizes.len(), expected.len());
    for (at, (width, height)) in sizes.iter().zip(expected) {
        assert_eq!(at["at"], serde_json::json!([width, height]));
        // The document says that no larger height than 1,048,577 was executed.
        assert_eq!(at["beyond_executed"], height > 1_048_577, "{at}");
        let metrics = at["launches"][0]["metrics"].as_array().unwrap();
        assert_eq!(metrics.len(), formulas.len());
        for metric in metrics {
            let formula =
                formulas.iter().find(|formula| formula["name"] == metric["name"]).unwrap();
            let named = BTreeMap::from([("width", width), ("height", height)]);
            let count = metric["value"].as_u64().unwrap();
            assert_eq!(
                value(formula, &["width", "height"], &named),
                Some(BigRational::from_integer(count.into())),
                "{metric} at {width} x {height}"
            );
        }
    }
    let executed = json(
        "profile parametric/transpose.toml --param width=77 --param height=130 --machine none \
         --caches none --counting full --format json",
    );
    for metric in sizes[0]["launches"][0]["metrics"].as_array().unwrap() {
        let name = metric["name"].as_str().unwrap();
        let count = &executed["launches"][0]["metrics"][name]["value"];
        assert_eq!(&metric["value"], count, "{name}");
    }
}

#[test]
fn counts_of_a_document_as_text_and_csv() {
    let at = "counts parametric/transpose-counts.json --at width=77,height=130 \
              --at width=8,height=16777216";
    insta::assert_snapshot!("counts-at", stdout(at));
    insta::assert_snapshot!("counts-at-csv", stdout(&format!("{at} --format csv")));
}

#[test]
fn sizes_that_a_document_cannot_count_say_why() {
    let document = "parametric/transpose-counts.json";
    let wrong = [
        ("size", format!("{document} --at width=0,height=1"), 2),
        ("parameter", format!("{document} --at width=1,depth=1"), 2),
        ("missing", format!("{document} --at width=1"), 2),
        ("large", format!("{document} --at width=1,height=2199023255552"), 2),
        ("many", format!("{document} --at width=1..5000,height=1..5000"), 2),
        ("launch", format!("{document} --at width=1,height=1 --grid 1"), 2),
        ("both", format!("{document} --at width=1,height=1 --parametric width"), 2),
        ("kernel", "saxpy-n.toml --at n=1".to_owned(), 1),
        ("metric", format!("{document} --at width=1,height=1 --metrics flop_count_sp"), 1),
        ("file", "nowhere.json --at n=1".to_owned(), 1),
    ];
    for (name, arguments, status) in wrong {
        let outcome = gpucast(&format!("counts {arguments}"));
        assert_eq!(outcome.status, status, "{arguments}: {}", outcome.stderr);
        assert_eq!(outcome.stdout, "", "{arguments}");
        insta::assert_snapshot!(format!("counts-at-wrong-{name}"), outcome.stderr);
    }
}

#[test]
fn what_has_no_formulas_says_why() {
    let wrong = [
        ("nothing", "sgemm --parametric n", 2),
        ("unused", "saxpy.ptx --grid 1 --block 32 --parametric n", 2),
        ("undeclared", "saxpy-n.toml --parametric m", 1),
        ("twice", "saxpy-n.toml --parametric n,n", 2),
        ("range", "saxpy-n.toml --parametric n=5..4", 2),
        ("never", "parametric/sgemm.toml --parametric n=33..:1,m", 1),
        ("choice", "--measure matmul_sq --parametric n", 2),
        ("axis", "--measure 'empty_knl ngroups:16' --parametric n", 2),
        ("launch", "--measure empty_knl --grid 1 --parametric n", 2),
    ];
    for (name, arguments, status) in wrong {
        let outcome = gpucast(&format!("counts {arguments}"));
        assert_eq!(outcome.status, status, "{arguments}: {}", outcome.stderr);
        insta::assert_snapshot!(format!("counts-wrong-{name}"), outcome.stderr);
    }
}

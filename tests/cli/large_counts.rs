//! Counts beyond 64 bits on the command line: written with all digits, and read back.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::gpucast::{Outcome, command, outcome};

/// Elements of the vectors: one for each thread of the first dimension of the grid but ten.
const ELEMENTS: u64 = 2_147_483_647 * 256 - 10;

const PTX: &str = ".version 8.0\n.target sm_80\n.address_size 64
    .visible .entry add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u64 n) {
    .reg .b32 %r<4>; .reg .b64 %d<9>; .reg .f32 %f<3>; .reg .pred %p;
    ld.param.u64 %d0, [a]; ld.param.u64 %d1, [b]; ld.param.u64 %d2, [c]; ld.param.u64 %d3, [n];
    mov.u32 %r0, %ctaid.x; mov.u32 %r2, %tid.x; mul.wide.u32 %d4, %r0, 256;
    cvt.u64.u32 %d5, %r2; add.u64 %d4, %d4, %d5; setp.ge.u64 %p, %d4, %d3; @%p ret;
    shl.b64 %d5, %d4, 2; add.u64 %d6, %d0, %d5; add.u64 %d7, %d1, %d5; add.u64 %d8, %d2, %d5;
    ld.global.f32 %f0, [%d6]; ld.global.f32 %f1, [%d7]; add.f32 %f2, %f0, %f1;
    st.global.f32 [%d8], %f2; ret; }
";

/// A folder with launch files of the vector addition, by name and grid.
fn folder(launches: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("m.ptx"), PTX).unwrap();
    let buffer = |name| format!("[buffers.{name}]\ntype = \"f32\"\nlen = {ELEMENTS}\n");
    let buffers = ["a", "b", "c"].map(buffer).concat();
    for (name, grid) in launches {
        let text = format!(
            "module = \"m.ptx\"\n{buffers}[[launch]]\nkernel = \"add\"\ngrid = {grid}\n\
             block = [256, 1, 1]\nargs = [\"a\", \"b\", \"c\", {{ u64 = {ELEMENTS} }}]\n"
        );
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

fn run(folder: &Path, arguments: &str) -> Outcome {
    let mut command = command(arguments);
    command.current_dir(folder);
    outcome(command)
}

/// The sum of the vectors, whose rows are repeated along the other dimensions.
const ADDITIONS: u128 = ELEMENTS as u128 * 65_535 * 65_535;

#[test]
fn counts_are_written_with_all_digits_and_predict_when_they_are_read() {
    let grid = "[2147483647, 65535, 65535]";
    let folder = folder(&[("a.toml", grid), ("b.toml", grid)]);
    let of = |arguments: &str| {
        let outcome = run(folder.path(), arguments);
        assert_eq!((outcome.status, outcome.stderr.as_str()), (0, ""), "{arguments}");
        outcome.stdout
    };
    let profile = "profile a.toml --caches none --machine none --gpu a100-sxm-40gb";
    let json = of(&format!("{profile} --format json"));
    let value = format!("\"value\": {ADDITIONS},");
    assert!(json.contains(&value), "{json}");
    let row = format!(",flop_count_sp_add,{ADDITIONS},operation,exact,ptx");
    assert!(of(&format!("{profile} --format csv")).contains(&row));
    // Documents of several kernels hold them, too.
    let both = of(&format!("{} --format json", profile.replace("a.toml", "a.toml b.toml")));
    assert_eq!(both.matches(&value).count(), 2 * json.matches(&value).count(), "{both}");

    // Models need the traffic of DRAM: here each sector comes from there, and goes there.
    let mut document = json;
    for (metric, like) in [
        ("dram_read_transactions", "global_load_sectors"),
        ("dram_write_transactions", "global_store_sectors"),
    ] {
        document = document.replace(
            &format!("\"{like}\": {{"),
            &format!("\"{metric}\": {}, \"{like}\": {{", figure(&document, like)),
        );
    }
    fs::write(folder.path().join("counts.json"), document).unwrap();
    let predict = "predict counts.json --gpu a100-sxm-40gb --model quantitative-roofline";
    let predicted: Value = serde_json::from_str(&of(&format!("{predict} --format json"))).unwrap();
    let time = predicted["predictions"][0]["time_ms"].as_f64().unwrap();
    // 12 bytes for each addition, at 1555 GB/s.
    let expected = 12.0 * ADDITIONS as f64 / 1555e6;
    assert!((0.99..1.5).contains(&(time / expected)), "{time} instead of {expected}");
    assert!(of(predict).contains("add"));
}

/// The object of a metric in a profile.
fn figure(document: &str, metric: &str) -> String {
    let start = document.find(&format!("\"{metric}\": {{")).unwrap();
    let object = document[start..].split_once(": ").unwrap().1;
    format!("{}}}", object.split_once('}').unwrap().0)
}

#[test]
fn a_grid_beyond_cuda_is_asked_for_and_noted() {
    let grid = "[2147483647, 4294967295, 70000]";
    let asked = format!("{grid}\nbeyond_cuda = true");
    let folder = folder(&[("refused.toml", grid), ("asked.toml", &asked)]);
    let options = "--caches none --machine none --gpu a100-sxm-40gb --metrics flop_count_sp_add";
    let refused = run(folder.path(), &format!("profile refused.toml {options}"));
    assert_eq!(refused.status, 1, "{}", refused.stderr);
    for part in ["grid size 4294967295 in y is not between 1 and 65535", "`beyond_cuda = true`"] {
        assert!(refused.stderr.contains(part), "{}", refused.stderr);
    }
    let counted = run(folder.path(), &format!("profile asked.toml {options} --format csv"));
    assert_eq!(counted.status, 0, "{}", counted.stderr);
    let additions = u128::from(ELEMENTS) * 4_294_967_295 * 70_000;
    assert!(counted.stdout.contains(&format!(",{additions},")), "{}", counted.stdout);
    let noted = run(folder.path(), &format!("profile asked.toml {options}"));
    assert!(noted.stderr.contains("note: add: the grid is larger"), "{}", noted.stderr);
    // Who asked for it is not told that a GPU refuses it.
    assert!(!noted.stdout.contains("refuses"), "{}", noted.stdout);
    let with_caches = run(folder.path(), "profile asked.toml --caches windows");
    assert_eq!(with_caches.status, 1, "{}", with_caches.stderr);
    assert!(with_caches.stderr.contains("has 2⁶⁴ or more"), "{}", with_caches.stderr);
}

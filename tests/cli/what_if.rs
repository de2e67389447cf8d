//! `predict --refine` and `predict --what-if`.

use crate::gpucast::{gpucast, json, stdout};

const KERNEL: &str = "predict cyclic-reduction --size small --machine rules";

/// Cyclic reduction conflicts and diverges; the quantitative roofline reads no conflicts, its
/// refinement does.
#[test]
fn each_what_if_is_shown_alone_and_all_together() {
    let text = stdout(&format!(
        "{KERNEL} --gpu gtx-480,gtx-960 --refine bank-conflicts \
         --what-if no-bank-conflicts,no-divergence,fma"
    ));
    let table = text.split("\nCounts").next().unwrap();
    insta::assert_snapshot!("what-if-text", table);
}

#[test]
fn what_ifs_are_part_of_json_and_csv() {
    let arguments = format!("{KERNEL} --gpu gtx-480 --what-if no-divergence,l2-hits=100%");
    let result = json(&format!("{arguments} --format json"));
    let views = result["what_if"].as_array().unwrap();
    let names: Vec<&str> = views.iter().map(|view| view["what_if"].as_str().unwrap()).collect();
    assert_eq!(names, ["no-divergence", "l2-hits=1", "no-divergence,l2-hits=1"]);
    let before = result["predictions"][0]["time_ms"].as_f64().unwrap();
    for view in views {
        let outcome = &view["outcomes"][0];
        let [after, speed_up] = ["time_ms", "speed_up"].map(|key| outcome[key].as_f64().unwrap());
        assert_eq!(outcome["before_ms"].as_f64(), Some(before));
        assert!((before / after - speed_up).abs() < 1e-12);
    }
    let csv = stdout(&format!("{arguments} --format csv"));
    let header = csv.lines().next().unwrap();
    assert!(header.contains("what_if,speed_up"), "{header}");
    assert_eq!(csv.lines().count(), 1 + 1 + 3);
    let columns = |line: &str| line.split(',').count() - 2 * line.matches('"').count() / 4;
    let widths: Vec<usize> = csv.lines().map(columns).collect();
    assert!(widths.iter().all(|&width| width == widths[0]), "{csv}");
}

#[test]
fn misspelt_changes_and_refinements_are_usage_errors() {
    for (name, arguments) in [
        ("what-if-unknown", "--what-if no-bank-conflict"),
        ("what-if-value", "--what-if occupancy=2"),
        ("what-if-twice", "--what-if l2-hits=0.1,l2-hits=0.2"),
        ("refine-unknown", "--refine bank-conflict"),
    ] {
        let outcome = gpucast(&format!("{KERNEL} --gpu gtx-480 {arguments}"));
        assert_eq!(outcome.status, 2);
        insta::assert_snapshot!(name, outcome.stderr);
    }
}

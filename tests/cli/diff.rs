//! `gpucast diff`.

use scraper::{Html, Selector};

use crate::gpucast::{gpucast, json, stdout};

const PAIR: &str = "diff transpose.toml transpose-padded.toml --gpu a100-sxm-40gb --machine rules";

#[test]
fn a_kernel_and_its_mended_version_stand_side_by_side() {
    insta::assert_snapshot!("diff-text", stdout(PAIR));
}

#[test]
fn a_difference_of_a_kernel_to_itself_is_none() {
    let same = json("diff saxpy.toml saxpy.toml --gpu gtx-660 --machine rules --format json");
    assert_eq!(same["schema"], "gpucast.difference/1");
    assert_eq!(same["totals"][0]["change"], 0.0);
    for count in same["launches"][0]["counts"].as_array().unwrap() {
        assert_eq!(count["before"], count["after"], "{count}");
    }
    for line in same["lines"][0].as_array().unwrap() {
        assert_eq!(line["before"], line["after"], "{line}");
    }
    let text = stdout("diff saxpy.toml saxpy.toml --gpu gtx-660 --machine rules");
    assert!(text.contains("Lines that differ\n  none"), "{text}");
}

#[test]
fn lines_face_each_other_with_their_costs() {
    let difference = json(&format!("{PAIR} --format json"));
    let lines = difference["lines"][0].as_array().unwrap();
    let passes = |side: &str| -> u64 {
        let sides = lines.iter().filter_map(|line| line.get(side));
        sides.map(|costs| costs["shared_passes"].as_u64().unwrap()).sum()
    };
    // A column of 32 rows meets one bank 32 times; with padding each of its own.
    assert!(passes("before") > 10 * passes("after"), "{}", passes("before"));
}

#[test]
fn a_slower_kernel_fails_only_beyond_the_limit() {
    let base = "saxpy-n.toml saxpy-n.toml --gpu gtx-660 --machine rules";
    assert_eq!(gpucast(&format!("diff {base} --fail-if slower:5%")).status, 0);
    let reversed = "diff transpose-padded.toml transpose.toml --gpu a100-sxm-40gb --machine rules \
                    --model hierarchical-roofline";
    insta::assert_snapshot!(
        "diff-slower",
        gpucast(&format!("{reversed} --fail-if slower:5%")).transcript()
    );
    assert_eq!(gpucast(&format!("{reversed} --fail-if slower:1000000%")).status, 0);
    insta::assert_snapshot!(
        "diff-errors",
        [
            gpucast(&format!("diff {base} --fail-if faster")).transcript(),
            gpucast("diff saxpy.toml nowhere.toml --gpu gtx-660").transcript(),
        ]
        .join("\n")
    );
}

#[test]
fn a_difference_as_a_page_is_whole() {
    let text = stdout(&format!("{PAIR} --format html"));
    let page = Html::parse_document(&text);
    assert!(page.errors.is_empty(), "{:?}", page.errors);
    let count = |css: &str| page.select(&Selector::parse(css).unwrap()).count();
    assert_eq!(count("table"), count("caption"));
    assert!(count("table.source tr.heat-2") > 0);
    assert_eq!(count("link, img, iframe"), 0);
}

/// A baseline of a launch file, in a folder of its own.
fn baseline(folder: &tempfile::TempDir, launch: &str) -> String {
    let path = folder.path().join("base.json").display().to_string();
    stdout(&format!("predict {launch} --gpu a100-sxm-40gb --machine rules -o {path}"));
    path
}

#[test]
fn a_document_stands_for_the_kernel_before() {
    let folder = tempfile::tempdir().unwrap();
    let base = baseline(&folder, "transpose.toml");
    let options = "--gpu a100-sxm-40gb --machine rules --format json";
    let by_document = json(&format!("diff {base} transpose-padded.toml {options}"));
    let by_kernel = json(&format!("{PAIR} --format json"));
    assert_eq!(by_document["launches"][0]["counts"], by_kernel["launches"][0]["counts"]);
    assert_eq!(by_document["totals"], by_kernel["totals"]);
    assert!(by_document["lines"].as_array().unwrap().is_empty());
    // A kernel that did not change is within every limit.
    let same = format!("diff {base} transpose.toml --gpu a100-sxm-40gb --machine rules");
    assert_eq!(gpucast(&format!("{same} --fail-if slower:0% --fail-if inst_executed")).status, 0);
    let page = stdout(&format!("{same} --format html"));
    assert!(Html::parse_document(&page).errors.is_empty());
}

#[test]
fn a_count_fails_beyond_its_limit() {
    let counts = json(&format!("{PAIR} --format json"))["launches"][0]["counts"].clone();
    let of = |name: &str| {
        let all = counts.as_array().unwrap();
        let count = all.iter().find(|count| count["metric"] == name).unwrap();
        (count["before"].as_f64().unwrap(), count["after"].as_f64().unwrap())
    };
    let reversed = "diff transpose-padded.toml transpose.toml --gpu a100-sxm-40gb --machine rules";
    let status =
        |pair: &str, condition: String| gpucast(&format!("{pair} --fail-if {condition}")).status;
    let (before, after) = of("shared_load_transactions");
    assert!(before > after, "padding saves passes: {before}, {after}");
    let name = "shared_load_transactions";
    // What the change takes away, its reverse adds.
    let growth = 100.0 * (before / after - 1.0);
    assert_eq!(status(reversed, format!("{name}:{}%", growth * 0.999)), 1);
    assert_eq!(status(reversed, format!("{name}:{}%", growth * 1.001)), 0);
    let fall = 100.0 * (after / before - 1.0);
    assert_eq!(status(PAIR, format!("{name}:{}%", fall * 0.999)), 1);
    assert_eq!(status(PAIR, format!("{name}:{}%", fall * 1.001)), 0);
    insta::assert_snapshot!(
        "diff-limits",
        gpucast(&format!("{reversed} --fail-if {name}:5% --fail-if slower:5% --format markdown"))
            .transcript()
    );
}

/// A limit that holds, one on a metric and one on the time that do not.
const LIMITS: &str =
    "--fail-if inst_executed:5% --fail-if shared_load_transactions:5% --fail-if slower:5%";

#[test]
fn broken_limits_are_findings_at_their_lines() {
    let reversed = "diff transpose-padded.toml transpose.toml --gpu a100-sxm-40gb --machine rules";
    for form in ["sarif", "junit", "github"] {
        let run = gpucast(&format!("{reversed} {LIMITS} --format {form}"));
        assert_eq!(run.status, 1);
        insta::assert_snapshot!(format!("diff-{form}"), run.stdout);
    }
    // The name of a file says the form.
    let folder = tempfile::tempdir().unwrap();
    for (name, begin) in [("a.sarif", "{\n  \"$schema\""), ("a.xml", "<?xml version")] {
        let path = folder.path().join(name);
        let run = gpucast(&format!("{reversed} {LIMITS} -o '{}'", path.display()));
        assert_eq!(run.status, 1);
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.starts_with(begin), "{text}");
    }
}

#[test]
fn limits_that_hold_are_cases_that_pass_and_no_findings() {
    let same = "diff saxpy.toml saxpy.toml --gpu gtx-660 --machine rules";
    let log = json(&format!("{same} --fail-if slower:5% --format sarif"));
    assert_eq!(log["runs"][0]["results"].as_array().unwrap().len(), 0);
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][0]["id"], "slower");
    let cases = stdout(&format!("{same} --fail-if slower:5% --format junit"));
    let cases = passing_cases(&cases);
    assert_eq!(cases, ["slower:5%"]);
    assert_eq!(passing_cases(&stdout(&format!("{same} --format junit"))), ["compared"]);
    assert_eq!(stdout(&format!("{same} --fail-if slower:5% --format github")), "");
}

/// The names of the test cases of a suite, all of which pass.
fn passing_cases(text: &str) -> Vec<String> {
    assert!(text.contains("failures=\"0\"") && !text.contains("<failure"), "{text}");
    let cases = text.split("<testcase name=\"").skip(1);
    cases.map(|rest| rest.split('"').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn what_is_no_baseline_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let base = baseline(&folder, "saxpy.toml");
    let cut =
        write("cut.json", "{\n  \"schema\": \"gpucast.predictions/1\",\n  \"counts\": [7]\n}\n");
    let other = write("other.json", "{ \"schema\": \"gpucast.run/1\" }");
    let empty = write("empty.json", "{ \"schema\": \"gpucast.predictions/1\" }");
    let options = "saxpy.toml --gpu a100-sxm-40gb --machine rules";
    let said =
        [&cut, &other, &empty].map(|path| gpucast(&format!("diff {path} {options}")).transcript());
    let unknown = gpucast(&format!("diff {base} {options} --fail-if inst_execute:1%"));
    let said = [said.join("\n"), unknown.transcript()].join("\n");
    insta::assert_snapshot!(
        "diff-baselines",
        said.replace(&folder.path().display().to_string(), "/base")
    );
}

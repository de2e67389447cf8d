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

//! `gpucast gpus`.

use crate::gpucast::{json, stdout};

#[test]
fn the_list_as_text_shows_what_tells_gpus_apart() {
    let list = stdout("gpus list");
    // The library grows; these seven are those of Konstantinidis 2017.
    let thesis: Vec<&str> = list
        .lines()
        .filter(|line| {
            ["name", "gtx-480", "gtx-660", "gtx-960", "gtx-1060", "tesla-m2050", "tesla-k20c"]
                .iter()
                .chain(&["r9-nano"])
                .any(|name| line.split_whitespace().next() == Some(name))
        })
        .collect();
    assert_eq!(thesis.len(), 8, "{list}");
    let squeezed: Vec<String> =
        thesis.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    insta::assert_snapshot!("gpus-list", squeezed.join("\n"));
}

#[test]
fn a_gpu_shows_every_figure_with_its_source() {
    insta::assert_snapshot!("gpus-show", stdout("gpus show gtx-660"));
    let shown = json("gpus show gtx-660 --format json");
    assert_eq!(shown["schema"], "gpucast.gpus/1");
    insta::assert_json_snapshot!("gpus-show-bandwidth", shown["gpus"][0]["memory_bandwidth"]);
}

#[test]
fn the_list_as_json_and_csv_holds_the_same_figures() {
    let list = json("gpus list --format json");
    assert_eq!(list["schema"], "gpucast.gpus/1");
    let gpus = list["gpus"].as_array().unwrap();
    let gpu = gpus.iter().find(|gpu| gpu["name"] == "gtx-480").unwrap();
    let bandwidth = gpu["memory_bandwidth"]["value"].as_f64().unwrap();
    let csv = stdout("gpus list --format csv");
    let row = csv.lines().find(|line| line.starts_with("gtx-480,memory_bandwidth,")).unwrap();
    assert!(row.starts_with(&format!("gtx-480,memory_bandwidth,{bandwidth},GB/s,benchmark,")));
}

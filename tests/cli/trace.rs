//! Timelines: their sums are those of predictions, and both forms say the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

use crate::gpucast::{gpucast, json, stdout};

const ON: &str = "--gpu h100-sxm --machine rules";

/// The file of a timeline that `arguments` ask for.
#[track_caller]
fn timeline(arguments: &str, name: &str) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    stdout(&format!("trace {arguments} {ON} -o '{}'", path.display()));
    std::fs::read(path).unwrap()
}

fn events(file: &[u8]) -> Vec<Value> {
    let document: Value = serde_json::from_slice(file).unwrap();
    document["traceEvents"].as_array().unwrap().clone()
}

fn is_slice_of(category: &str) -> impl Fn(&&Value) -> bool {
    move |event| event["ph"] == "X" && event["cat"] == category
}

fn clocks(event: &Value) -> f64 {
    event["args"]["clocks"].as_f64().unwrap()
}

#[test]
fn the_slots_of_a_timeline_are_those_of_the_prediction() {
    for (kernel, size) in [("sgemm", "small"), ("reduction-f32", "small"), ("histogram", "small")] {
        let events = events(&timeline(&format!("{kernel} --size {size}"), "t.json"));
        let mut slots: BTreeMap<&str, f64> = BTreeMap::new();
        for event in events.iter().filter(is_slice_of("slots")) {
            *slots.entry(event["name"].as_str().unwrap()).or_default() += clocks(event);
        }
        let whole: f64 = slots.values().sum();
        let predicted = json(&format!("predict {kernel} --size {size} {ON} --format json"));
        let predicted = predicted["predictions"][0]["intermediate"].as_object().unwrap();
        let states = predicted.iter().filter(|(name, _)| *name != "clocks");
        let mut compared = 0;
        for (state, share) in states {
            let share = share.as_f64().unwrap();
            let shown = 100.0 * slots.remove(state.as_str()).unwrap_or(0.0) / whole;
            // The clock of the last issue is a slot, and not part of the time.
            let difference = (share - shown).abs();
            assert!(difference <= 100.0 * 4.0 / whole, "{kernel} {state}: {share} and {shown}");
            compared += 1;
        }
        assert!(compared > 5 && slots.values().all(|clocks| *clocks < 1e-6), "{slots:?}");
    }
}

/// Each warp instruction that is counted is on a track, once.
#[test]
fn all_instructions_are_on_the_tracks_of_their_warps() {
    let events = events(&timeline("sgemm --size small", "t.json"));
    let issues = events.iter().filter(is_slice_of("issue")).count() as u64;
    let counted = json(&format!("profile sgemm --size small {ON} --format json"));
    let counted = &counted["launches"][0]["metrics"]["inst_executed"]["value"];
    // One SM has one of six CTAs that are alike.
    assert_eq!(Some(6 * issues), counted.as_u64(), "{counted}");
    // On a track, the next slice in a line begins where the one before ends.
    let mut ends: BTreeMap<u64, f64> = BTreeMap::new();
    for event in events.iter().filter(|event| event["cat"] == "stall" || event["cat"] == "issue") {
        let from = event["args"]["clock"].as_f64().unwrap();
        let length = if event["cat"] == "issue" { 1.0 } else { clocks(event) };
        let end = ends.insert(event["tid"].as_u64().unwrap(), from + length);
        assert!(end.is_none_or(|end| (end - from).abs() < 1e-6), "{event}");
    }
    assert_eq!(ends.len(), 32);
}

#[test]
fn the_critical_path_takes_the_time_of_the_launch() {
    let events = events(&timeline("reduction-f32 --size small", "t.json"));
    let path: f64 = events.iter().filter(is_slice_of("critical_path")).map(clocks).sum();
    let predicted = json(&format!("predict reduction-f32 --size small {ON} --format json"));
    let whole = predicted["predictions"][0]["intermediate"]["clocks"].as_f64().unwrap();
    assert!((path - whole).abs() <= 1.0, "{path} of {whole}");
}

/// A field of a protobuf message: its number, and its value if it is a number, else its bytes.
enum Field<'a> {
    Number(u64, u64),
    Bytes(u64, &'a [u8]),
}

/// The fields of a message, by the encoding that protobuf documents.
fn fields(mut bytes: &[u8]) -> Vec<Field<'_>> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = bytes.split_first().unwrap();
            *bytes = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let fixed = |bytes: &mut &[u8]| {
            let (head, rest) = bytes.split_first_chunk::<8>().unwrap();
            *bytes = rest;
            u64::from_le_bytes(*head)
        };
        fields.push(match key & 7 {
            0 => Field::Number(key >> 3, varint(&mut bytes)),
            1 => Field::Number(key >> 3, fixed(&mut bytes)),
            2 => {
                let length = varint(&mut bytes) as usize;
                let (head, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(key >> 3, head)
            }
            other => panic!("wire type {other}"),
        });
    }
    fields
}

fn messages(bytes: &[u8], number: u64) -> Vec<&[u8]> {
    let all = fields(bytes).into_iter();
    all.filter_map(|field| match field {
        Field::Bytes(at, bytes) if at == number => Some(bytes),
        _ => None,
    })
    .collect()
}

fn numbers(bytes: &[u8], number: u64) -> Vec<u64> {
    let all = fields(bytes).into_iter();
    all.filter_map(|field| match field {
        Field::Number(at, value) if at == number => Some(value),
        _ => None,
    })
    .collect()
}

/// Slices by track and name, in nanoseconds.
type Slices = BTreeMap<(u64, String), Vec<(u64, u64)>>;

/// The slices of Perfetto's form, and the ends of arrows. Numbers of fields are those of
/// `perfetto_trace.proto`.
fn of_perfetto(file: &[u8]) -> (Slices, BTreeSet<u64>) {
    let mut names: BTreeMap<u64, String> = BTreeMap::new();
    let mut open: BTreeMap<u64, Vec<(String, u64)>> = BTreeMap::new();
    let mut slices = Slices::new();
    let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
    for packet in messages(file, 1) {
        for interned in messages(packet, 12).iter().flat_map(|data| messages(data, 2)) {
            let name = String::from_utf8(messages(interned, 2)[0].to_vec()).unwrap();
            names.insert(numbers(interned, 1)[0], name);
        }
        for event in messages(packet, 11) {
            let (at, track) = (numbers(packet, 8)[0], numbers(event, 11)[0]);
            match numbers(event, 9)[0] {
                1 => {
                    let name = names[&numbers(event, 10)[0]].clone();
                    open.entry(track).or_default().push((name, at));
                    begun.extend(numbers(event, 47));
                    ended.extend(numbers(event, 48));
                }
                2 => {
                    let (name, from) = open.get_mut(&track).unwrap().pop().unwrap();
                    slices.entry((track, name)).or_default().push((from, at));
                }
                4 => {}
                other => panic!("an event of type {other}"),
            }
        }
    }
    assert!(open.values().all(Vec::is_empty));
    assert_eq!(begun, ended);
    slices.values_mut().for_each(|all| all.sort_unstable());
    (slices, begun)
}

#[test]
fn both_forms_have_the_same_slices_and_arrows() {
    let arguments = "sgemm --size small --clocks 300..2500";
    let (slices, arrows) = of_perfetto(&timeline(arguments, "t.pftrace"));
    let events = events(&timeline(arguments, "t.json"));
    let ns = |event: &Value, name: &str| (event[name].as_f64().unwrap() * 1e3).round() as u64;
    let mut expected = Slices::new();
    for event in events.iter().filter(|event| event["ph"] == "X") {
        let key = (event["tid"].as_u64().unwrap(), event["name"].as_str().unwrap().to_owned());
        let from = ns(event, "ts");
        expected.entry(key).or_default().push((from, from + ns(event, "dur")));
    }
    expected.values_mut().for_each(|all| all.sort_unstable());
    assert!(slices.len() > 100 && slices == expected);
    for kind in ["s", "f"] {
        let of_kind = events.iter().filter(|event| event["ph"] == kind);
        let numbers: BTreeSet<u64> = of_kind.map(|event| event["id"].as_u64().unwrap()).collect();
        assert_eq!(numbers, arrows);
    }
    assert!(arrows.len() > 100);
}

/// The slices of one warp, a line each.
fn of_warp(file: &[u8], warp: &str, most: usize) -> String {
    let events = events(file);
    let is_it = |event: &&Value| event["ph"] == "M" && event["args"]["name"] == warp;
    let track = &events.iter().find(is_it).unwrap()["tid"];
    let of_track = events.iter().filter(|event| event["tid"] == *track && event["ph"] != "M");
    let line = |event: &Value| {
        let [ts, dur] = ["ts", "dur"].map(|name| event[name].as_f64().unwrap_or(0.0));
        let (kind, name) = (event["ph"].as_str().unwrap(), event["name"].as_str().unwrap());
        format!("{kind} {ts:.3} {dur:.3} {name} {}", event["args"])
    };
    of_track.take(most).map(line).collect::<Vec<String>>().join("\n")
}

#[test]
fn a_warp_has_lines_with_what_it_waited_for_and_issued() {
    let file = timeline("vector-add --size small --ctas 0 --time-unit clocks", "t.json");
    insta::assert_snapshot!("trace-warp", of_warp(&file, "CTA 0 sub-core 1 warp 1", 40));
}

#[test]
fn what_cannot_be_shown_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.pftrace");
    let mut transcript = String::new();
    for arguments in [
        "sgemm --size small",
        "sgemm --size small --ctas 7,9-12",
        "sgemm --size small --clocks 900000..",
        "sgemm --size small --limit 10KB",
        "sgemm --size small --ctas 3-1",
        "sgemm --size small --clocks 5",
        "sgemm --size small --machine none",
        "sgemm --size small --caches none",
        "sor-red-black --size small",
        "sor-red-black --size small --launch 9",
        "sgemm --size small --gpu gtx-480",
        "sgemm --size small --gpu h100-sxm,a100",
    ] {
        let gpu = if arguments.contains("--gpu") { "" } else { "--gpu h100-sxm" };
        let machine = if arguments.contains("--machine") { "" } else { "--machine rules" };
        let run = gpucast(&format!("trace {arguments} {gpu} {machine} -o '{}'", path.display()));
        let shown = run.transcript().replace(&path.display().to_string(), "t.pftrace");
        transcript += &format!("$ gpucast trace {arguments}\n{shown}\n");
        assert_eq!(Path::exists(&path), run.status == 0, "{arguments}");
        let _ = std::fs::remove_file(&path);
    }
    insta::assert_snapshot!("trace-refusals", transcript);
}

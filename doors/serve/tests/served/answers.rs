//! Answers are the documents of the command line.

use std::fs;
use std::process::Command;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::server::{Server, clean, gpucast, saxpy, with};

/// A tool with a request, and the words of the command line for it.
fn questions() -> Vec<(&'static str, Value, &'static str)> {
    const LAUNCH: &str = "--grid 4 --block 256 --arg u32:1000 --arg f32:0.5 \
                          --arg buf:f32[1000]=iota --arg buf:f32[1000]=uniform(-1,1,7)";
    let launch = |words: &str| -> &'static str { format!("{words} kernel.ptx {LAUNCH}").leak() };
    let source = saxpy()["source"].clone();
    vec![
        ("compile", json!({ "source": source }), "check kernel.ptx"),
        ("check", saxpy(), launch("run --check all")),
        ("run", saxpy(), launch("run")),
        ("run", json!({ "corpus": "sgemm", "size": "small" }), "run sgemm --size small"),
        (
            "profile",
            with(saxpy(), json!({ "gpu": "a100", "by": "line" })),
            launch("profile --gpu a100 --by line"),
        ),
        (
            "predict",
            with(saxpy(), json!({ "gpu": ["a100", "h100-sxm"], "model": ["all"] })),
            launch("predict --gpu a100,h100-sxm --model all"),
        ),
        ("advise", with(saxpy(), json!({ "gpu": ["a100"] })), launch("advise --gpu a100")),
        (
            "judge",
            with(saxpy(), json!({ "reference": source, "gpu": "a100", "seeds": 1 })),
            launch("judge --reference reference.ptx --gpu a100 --seeds 1"),
        ),
        (
            "trace",
            with(saxpy(), json!({ "gpu": "a100", "ctas": "0", "clocks": "0..500" })),
            launch("trace --gpu a100 --ctas 0 --clocks 0..500 -o timeline.json"),
        ),
        ("explain", json!({ "word": "few-blocks" }), "explain few-blocks"),
    ]
}

/// What the command line says, in a folder with the files of the request.
fn printed(words: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = saxpy()["source"].as_str().unwrap().to_owned();
    for name in ["kernel.ptx", "reference.ptx"] {
        fs::write(folder.path().join(name), &source).unwrap();
    }
    let mut command: Command = clean(&gpucast());
    command.current_dir(folder.path()).args(words.split_whitespace()).args(["--format", "json"]);
    let output = command.output().unwrap();
    let timeline = folder.path().join("timeline.json");
    match timeline.is_file() {
        true => fs::read_to_string(timeline).unwrap(),
        false => String::from_utf8(output.stdout).unwrap(),
    }
}

#[test]
fn every_answer_is_the_document_of_the_command_line() {
    #[derive(serde::Deserialize)]
    struct Answer {
        tool: String,
        document: Box<RawValue>,
        errors: Vec<Value>,
    }
    let server = Server::start(&[]);
    for (tool, fields, words) in questions() {
        let reply = server.post(&format!("/v1/{tool}"), &fields);
        assert_eq!(reply.status, 200, "{tool}: {}", reply.body);
        let answer: Answer = serde_json::from_str(&reply.body).unwrap();
        assert_eq!((answer.tool.as_str(), answer.errors.len()), (tool, 0), "{}", reply.body);
        let expected = printed(words);
        assert!(!expected.is_empty(), "{words}");
        assert_eq!(answer.document.get(), expected.trim(), "{tool}");
    }
}

/// A kernel that is at fault has an answer: where, and why.
#[test]
fn faults_of_a_kernel_have_their_places() {
    let server = Server::start(&[]);
    let broken = saxpy()["source"].as_str().unwrap().replace("fma.rn.f32", "fma.rn.f33");
    let answer = server.ask("run", &with(saxpy(), json!({ "source": broken })));
    assert_eq!((answer["status"].as_i64(), &answer["document"]), (Some(1), &Value::Null));
    let place = &answer["errors"][0]["place"];
    assert_eq!(place["file"], "kernel.ptx", "{answer}");
    let line = broken.lines().position(|line| line.contains("f33")).unwrap() as u64 + 1;
    assert_eq!(place["line"], line, "{answer}");
    let answer = server.ask("predict", &json!({ "corpus": "sgemm", "gpu": ["a1000"] }));
    assert!(answer["errors"][0]["hint"].is_string(), "{answer}");
}

/// A check's findings and the fault that ended the run come together.
#[test]
fn findings_are_an_answer() {
    let server = Server::start(&[]);
    let args = json!(["u32:1000", "f32:0.5", "buf:f32[900]", "buf:f32[1000]"]);
    let answer = server.ask("check", &with(saxpy(), json!({ "args": args })));
    assert_eq!(answer["status"], 1);
    let findings = answer["document"]["launches"][0]["findings"].as_array().unwrap();
    assert!(!findings.is_empty(), "{answer}");
    assert!(answer["confinement"]["holds_limits"].is_boolean());
}

#[test]
fn pages_are_those_of_the_command_line() {
    let server = Server::start(&[]);
    for name in ["metrics", "advice", "codes", "checks", "glossary"] {
        let reply = server.get(&format!("/v1/resources/{name}"));
        assert_eq!(reply.status, 200, "{name}");
        let output = clean(&gpucast()).args(["explain", "--page", name]).output().unwrap();
        assert_eq!(reply.body.as_bytes(), output.stdout, "{name}");
    }
    assert!(server.get("/v1/resources/gpus").body.contains("h100-sxm"));
    assert_eq!(server.get("/v1/resources/gpus/a100").json()["schema"], "gpucast.gpus/1");
    for wrong in ["gpus/a1000", "gpus/--help", "gpus/../gpus", "gpus/x.toml"] {
        assert_eq!(server.get(&format!("/v1/resources/{wrong}")).status, 404, "{wrong}");
    }
    assert!(server.get("/v1/resources/skill").body.contains("When to believe"));
    assert_eq!(server.get("/v1/resources/secrets").status, 404);
}

/// Confined processes keep counts where the command line finds them.
#[test]
fn kept_counts_are_shared_with_the_command_line() {
    let kept = tempfile::tempdir().unwrap();
    let mut command = Server::command(&gpucast(), &[]);
    command.env("GPUCAST_CACHE", kept.path());
    let server = Server::begin(command);
    // Only what takes some time to count is kept.
    server.ask("profile", &json!({ "corpus": "sgemm", "gpu": "a100" }));
    assert_ne!(fs::read_dir(kept.path()).unwrap().count(), 0);
}

/// `gpucast serve` is the server beside the program, or a word on how to get it.
#[test]
fn the_program_starts_the_server_beside_it() {
    let output = clean(&gpucast()).args(["serve", "--version"]).output().unwrap();
    let version = String::from_utf8(output.stdout).unwrap();
    assert!(version.starts_with("gpucast serve "), "{version}");
    let folder = tempfile::tempdir().unwrap();
    let alone = folder.path().join("gpucast");
    fs::copy(gpucast(), &alone).unwrap();
    let output = clean(&alone).args(["serve", "--version"]).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("there is no gpucast-serve beside"), "{said}");
}

/// The page and the engine behind it are there where somebody has asked for them.
#[test]
fn the_classrooms_page_has_an_engine_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    fs::write(&page, "<title>a page</title>").unwrap();
    let server = Server::start(&[&format!("--page={}", page.display())]);
    let shown = server.request("GET", "/", "", "");
    assert_eq!((shown.status, shown.body.as_str()), (200, "<title>a page</title>"));
    let question = json!({ "tool": "kernels" }).to_string();
    let answer = server.post("/v1/classroom", &json!({ "request": question })).json();
    let names = &answer["document"]["document"]["kernels"];
    assert!(names.as_array().unwrap().iter().any(|kernel| kernel["name"] == "sgemm"), "{answer}");
    let without = Server::start(&[]);
    assert_eq!(without.get("/").status, 404);
    assert_eq!(without.post("/v1/classroom", &json!({ "request": question })).status, 404);
}

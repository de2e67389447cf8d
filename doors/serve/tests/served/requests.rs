//! Who may ask, and for what.

use std::fs;

use serde_json::{Value, json};

use crate::server::{Server, TOKEN, saxpy, with};

#[test]
fn nothing_is_answered_without_the_token() {
    let server = Server::start(&[]);
    let body = saxpy().to_string();
    for (method, path) in
        [("POST", "/v1/run"), ("POST", "/mcp"), ("GET", "/metrics"), ("GET", "/v1/resources/gpus")]
    {
        for token in ["", "wrong", &TOKEN[1..], &format!("{TOKEN}x")] {
            let reply = server.request(method, path, token, &body);
            assert_eq!(reply.status, 401, "{method} {path} {token}: {reply:?}");
        }
    }
    assert_eq!(server.request("GET", "/health", "", "").status, 200);
    assert_eq!(server.request("GET", "/openapi.json", "", "").status, 200);
}

#[test]
fn what_is_no_request_is_refused_with_a_reason() {
    let server = Server::start(&[]);
    let long = "x".repeat(7 << 20);
    for (path, body, status, reason) in [
        ("/v1/run", "{", 400, "request"),
        ("/v1/run", "", 400, "request"),
        ("/v1/run", "[]", 400, "request"),
        ("/v1/run", "{\"source\": \"\u{0}\"}", 400, "request"),
        ("/v1/run", "{}", 400, "request"),
        ("/v1/delete", "{}", 404, "unknown"),
        ("/v2", "{}", 404, "unknown"),
        ("/health", "{}", 405, "method"),
        ("/v1/run", &long, 413, "too-long"),
    ] {
        let reply = server.request("POST", path, TOKEN, body);
        assert_eq!(reply.status, status, "{path} {:.40}", reply.body);
        assert_eq!(reply.json()["reason"], reason, "{path}");
    }
}

/// Strings that are options, paths or several lines reach no command line.
#[test]
fn a_string_is_no_option() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("x");
    let option = format!("--output={}", target.display());
    for (tool, field) in [
        ("run", "kernel"),
        ("run", "grid"),
        ("run", "corpus"),
        ("profile", "gpu"),
        ("run", "arch"),
        ("explain", "word"),
        ("predict", "size"),
        ("run", "output"),
        ("run", "--output"),
    ] {
        let fields = if field == "corpus" || tool == "explain" { json!({}) } else { saxpy() };
        let reply = server.post(&format!("/v1/{tool}"), &with(fields, json!({ field: option })));
        assert_eq!(reply.status, 400, "{tool} {field}: {}", reply.body);
    }
    for (tool, field) in [("run", "args"), ("predict", "gpu"), ("run", "params")] {
        let fields = with(saxpy(), json!({ field: [option] }));
        let reply = server.post(&format!("/v1/{tool}"), &fields);
        assert_eq!(reply.status, 400, "{tool} {field}: {}", reply.body);
    }
    let file = json!({ "args": [format!("buf:f32[4]={}.npy", target.display())] });
    assert_eq!(server.post("/v1/run", &with(saxpy(), file)).status, 400);
    assert!(!target.exists());
}

/// Where the system holds files back, a launch file of a request reads none of the server's.
#[test]
fn a_launch_file_reads_nothing_of_the_server() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let secret = folder.path().join("secret.ptx");
    fs::write(&secret, saxpy()["source"].as_str().unwrap()).unwrap();
    let launch = format!(
        "module = {:?}\n[buffers.x]\ntype = \"f32\"\nlen = 32\n[[launch]]\nkernel = \"saxpy\"\n\
         grid = [1, 1, 1]\nblock = [32, 1, 1]\nargs = [{{ u32 = 32 }}, {{ f32 = 1.0 }}, \"x\", \"x\"]\n",
        secret.display()
    );
    let own = launch.replace(&secret.display().to_string(), "kernel.ptx");
    let source = saxpy()["source"].clone();
    let answer = server.ask("run", &json!({ "source": source, "launch": own }));
    assert_eq!(answer["status"], 0, "{answer}");
    let answer = server.ask("run", &json!({ "source": source, "launch": launch }));
    let expected = if answer["confinement"]["holds_files"] == true { 1 } else { 0 };
    assert_eq!(answer["status"], expected, "{answer}");
}

/// The schemas of the document refuse what the server refuses, and fit its answers.
#[test]
fn the_openapi_document_is_true() {
    let server = Server::start(&[]);
    let document = server.get("/openapi.json").json();
    let schema = |pointer: &str| {
        let mut schema = document.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")).clone();
        schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        jsonschema::validator_for(&schema).unwrap()
    };
    let of = |tool: &str| {
        let body = "post/requestBody/content/application~1json/schema";
        schema(&format!("/paths/~1v1~1{tool}/{body}"))
    };
    let answers = schema("/components/schemas/Answer");
    let refusals = schema("/components/schemas/Refusal");
    let requests: [(&str, Value); 10] = [
        ("run", saxpy()),
        ("run", json!({ "corpus": "sgemm", "size": "small" })),
        ("run", json!({ "corpus": "sgemm", "source": "x" })),
        ("run", json!({ "corpus": "../sgemm" })),
        ("run", with(saxpy(), json!({ "time_limit_s": 0 }))),
        ("run", with(saxpy(), json!({ "kernel": "--output=x" }))),
        ("predict", with(saxpy(), json!({ "gpu": "a100" }))),
        ("explain", json!({ "word": "sm_count" })),
        ("explain", json!({ "word": "-h" })),
        ("judge", json!({ "source": "x" })),
    ];
    for (tool, request) in requests {
        let reply = server.post(&format!("/v1/{tool}"), &request);
        assert_eq!(of(tool).is_valid(&request), reply.status == 200, "{tool} {request}: {reply:?}");
        let validator = if reply.status == 200 { &answers } else { &refusals };
        assert!(validator.is_valid(&reply.json()), "{}", reply.body);
    }
}

//! The Model Context Protocol: lines of JSON-RPC on the standard streams, and bodies over HTTP.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::server::{Server, TOKEN, clean, endless, gpucast, saxpy, with};

const TOOLS: [&str; 9] =
    ["compile", "check", "run", "profile", "predict", "advise", "judge", "trace", "explain"];

/// A client on the standard streams of a server.
struct Client {
    scratch: TempDir,
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Client {
    fn start() -> Self {
        let mut command = clean(Path::new(env!("CARGO_BIN_EXE_gpucast-serve")));
        command.arg("--mcp").arg("--program").arg(gpucast());
        let scratch = tempfile::tempdir().unwrap();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).env("TMPDIR", scratch.path());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut client = Self { scratch, child, input, output, last: 0 };
        let begun = client.call("initialize", initialize());
        assert_eq!(begun["result"]["serverInfo"]["name"], "gpucast", "{begun}");
        assert!(begun["result"]["instructions"].as_str().unwrap().contains("gpucast://skill"));
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{message}").unwrap();
        input.flush().unwrap();
    }

    /// Sends a request and returns its number.
    fn ask(&mut self, method: &str, parameters: Value) -> u64 {
        self.last += 1;
        let number = self.last;
        self.send(
            &json!({ "jsonrpc": "2.0", "id": number, "method": method, "params": parameters }),
        );
        number
    }

    fn reply(&mut self, number: u64) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.output.read_line(&mut line).unwrap(), 0, "the server has gone");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == number {
                return message;
            }
        }
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        let number = self.ask(method, parameters);
        self.reply(number)
    }

    fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let reply = self.call("tools/call", json!({ "name": name, "arguments": arguments }));
        reply["result"].clone()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn initialize() -> Value {
    json!({
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": { "name": "tests", "version": "1" },
    })
}

#[test]
fn every_tool_answers_with_a_document_and_a_text() {
    let mut client = Client::start();
    let listed = client.call("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, BTreeSet::from(TOOLS));
    for tool in tools {
        let schema = &tool["inputSchema"];
        assert_eq!((&schema["type"], schema.get("oneOf")), (&json!("object"), None));
        jsonschema::validator_for(schema).unwrap();
    }
    for name in TOOLS {
        let arguments = match name {
            "compile" => json!({ "source": saxpy()["source"] }),
            "explain" => json!({ "word": "few-blocks" }),
            "judge" => with(saxpy(), json!({ "reference": saxpy()["source"], "seeds": 1 })),
            "predict" | "advise" => with(saxpy(), json!({ "gpu": ["a100"] })),
            "trace" => with(saxpy(), json!({ "gpu": "a100", "ctas": "0", "clocks": "0..500" })),
            _ => saxpy(),
        };
        let result = client.tool(name, arguments);
        assert_eq!(result["isError"], false, "{name}: {result}");
        assert!(result["structuredContent"]["document"].is_object(), "{name}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(!text.is_empty() && !text.contains("null"), "{name}: {text}");
    }
}

#[test]
fn numbers_of_the_text_are_those_of_the_document() {
    let mut client = Client::start();
    let result = client.tool("predict", with(saxpy(), json!({ "gpu": ["a100"] })));
    let prediction = &result["structuredContent"]["document"]["predictions"][0];
    let text = result["content"][0]["text"].as_str().unwrap();
    let (time, _) = text.split_once(" ms by ").unwrap();
    let told: f64 = time.rsplit(' ').next().unwrap().parse().unwrap();
    // Four digits of it.
    let exact = prediction["time_ms"].as_f64().unwrap();
    assert!((told / exact - 1.0).abs() < 5e-4, "{text}\n{prediction}");
}

#[test]
fn what_is_wrong_is_a_result_that_an_agent_reads() {
    let mut client = Client::start();
    let refused = client.tool("run", with(saxpy(), json!({ "kernel": "--output=/etc/x" })));
    assert_eq!(
        (&refused["isError"], &refused["structuredContent"]["reason"]),
        (&json!(true), &json!("request"))
    );
    let broken = client
        .tool("run", json!({ "source": ".version 7.0\nnonsense", "grid": "1", "block": "1" }));
    assert_eq!(broken["isError"], true, "{broken}");
    assert!(broken["content"][0]["text"].as_str().unwrap().contains("kernel.ptx:"), "{broken}");
    let unknown = client.call("tools/call", json!({ "name": "delete", "arguments": {} }));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[test]
fn pages_can_be_read() {
    let mut client = Client::start();
    let listed = client.call("resources/list", json!({}));
    let pages = listed["result"]["resources"].as_array().unwrap();
    assert!(pages.len() >= 5, "{listed}");
    for page in pages {
        let read = client.call("resources/read", json!({ "uri": page["uri"] }));
        let text = read["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(text.len() > 500, "{read}");
    }
    let absent = client.call("resources/read", json!({ "uri": "file:///etc/passwd" }));
    assert!(absent["error"].is_object(), "{absent}");
}

/// A cancelled request ends its process, and the one behind it runs.
#[test]
fn a_cancelled_request_makes_room() {
    let mut client = Client::start();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let call = json!({ "name": "run", "arguments": endless() });
    let endless: Vec<u64> = (0..cores).map(|_| client.ask("tools/call", call.clone())).collect();
    let behind = client.ask("tools/call", json!({ "name": "run", "arguments": saxpy() }));
    for number in endless {
        client.send(&json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": number },
        }));
    }
    assert_eq!(client.reply(behind)["result"]["isError"], false);
}

#[test]
fn a_server_ends_when_its_client_goes() {
    let mut client = Client::start();
    client.ask("tools/call", json!({ "name": "run", "arguments": endless() }));
    client.input = None;
    assert!(client.child.wait().unwrap().success());
    assert_eq!(std::fs::read_dir(client.scratch.path()).unwrap().count(), 0);
}

#[test]
fn the_protocol_is_spoken_over_http_too() {
    let server = Server::start(&[]);
    let message = |method: &str, parameters: Value| json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": parameters });
    let begun = server.post("/mcp", &message("initialize", initialize())).json();
    assert_eq!(begun["result"]["serverInfo"]["name"], "gpucast", "{begun}");
    let call = message("tools/call", json!({ "name": "run", "arguments": saxpy() }));
    let result = server.post("/mcp", &call).json();
    assert_eq!(result["result"]["isError"], false, "{result}");
    let listed = server.post("/mcp", &message("tools/list", json!({}))).json();
    assert_eq!(listed["result"]["tools"].as_array().unwrap().len(), TOOLS.len());
    assert_eq!(server.request("POST", "/mcp", &TOKEN[1..], &call.to_string()).status, 401);
}

//! The OpenAPI document, from the table of tools.

use serde_json::{Map, Value, json};

use crate::answer::{Reason, SCHEMA};
use crate::resource::RESOURCES;
use crate::schema;
use crate::setup::Limits;
use crate::tool::{GPU, TOOLS, Tool};

/// Reasons why a page cannot be read.
const OF_PAGES: [Reason; 6] = [
    Reason::Unauthorized,
    Reason::Unknown,
    Reason::Method,
    Reason::Busy,
    Reason::Stopping,
    Reason::Server,
];

/// The document.
pub(crate) fn document(limits: &Limits) -> Value {
    let mut paths = Map::new();
    for tool in &TOOLS {
        paths.insert(format!("/v1/{}", tool.name), json!({ "post": of_tool(tool, limits) }));
    }
    for resource in &RESOURCES {
        let mut responses = refusals(&OF_PAGES);
        responses["200"] = json!({
            "description": "The page.",
            "content": { resource.media_type: { "schema": page(resource.media_type) } },
        });
        let get = json!({
            "operationId": format!("read_{}", resource.name),
            "summary": resource.title,
            "responses": responses,
        });
        paths.insert(format!("/v1/resources/{}", resource.name), json!({ "get": get }));
    }
    paths.insert("/v1/resources/gpus/{name}".to_owned(), json!({ "get": of_gpu() }));
    for (path, media_type, summary, security) in [
        ("/metrics", "text/plain; version=0.0.4", "Counters and gauges for Prometheus", true),
        ("/health", "application/json", "Whether the server is there", false),
    ] {
        let reasons: &[Reason] = match security {
            true => &[Reason::Unauthorized, Reason::Method],
            false => &[Reason::Method],
        };
        let mut responses = refusals(reasons);
        responses["200"] = json!({
            "description": summary,
            "content": { media_type: { "schema": page(media_type) } },
        });
        let mut get = json!({ "summary": summary, "responses": responses });
        if !security {
            get["security"] = json!([]);
        }
        paths.insert(path.to_owned(), json!({ "get": get }));
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "gpucast",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Compiles, checks, runs, counts, predicts and judges CUDA kernels \
                            without a GPU.",
            "license": { "name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Answer": answer(), "Refusal": refusal() },
        },
    })
}

fn of_gpu() -> Value {
    let mut responses = refusals(&OF_PAGES);
    responses["200"] = json!({
        "description": "The GPU.",
        "content": { "application/json": { "schema": page("application/json") } },
    });
    json!({
        "operationId": "read_gpu",
        "summary": "Every figure of a GPU, with its unit and source",
        "parameters": [{
            "name": "name", "in": "path", "required": true,
            "schema": { "type": "string", "pattern": GPU.form, "maxLength": GPU.longest },
        }],
        "responses": responses,
    })
}

fn page(media_type: &str) -> Value {
    match media_type {
        "application/json" => json!({ "type": "object" }),
        _ => json!({ "type": "string" }),
    }
}

fn of_tool(tool: &Tool, limits: &Limits) -> Value {
    let mut arguments = schema::of_arguments(tool, limits);
    if let Some(alternatives) = schema::alternatives(tool) {
        arguments.insert("oneOf".to_owned(), alternatives);
    }
    let mut responses = refusals(&Reason::OF_TOOLS);
    responses["200"] = json!({
        "description": "A run that came to its end, whatever the kernel is worth.",
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Answer" } } },
    });
    json!({
        "operationId": tool.name,
        "summary": tool.title,
        "description": tool.description,
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": arguments } },
        },
        "responses": responses,
    })
}

/// The responses for reasons; some have a status in common.
fn refusals(reasons: &[Reason]) -> Value {
    let mut responses = Map::new();
    for reason in reasons {
        let word = reason.word();
        let response = responses.entry(reason.status().to_string()).or_insert_with(|| {
            json!({
                "description": "",
                "content": {
                    "application/json": { "schema": { "$ref": "#/components/schemas/Refusal" } },
                },
            })
        });
        let before = response["description"].as_str().unwrap_or_default();
        let gap = if before.is_empty() { "" } else { ", " };
        response["description"] = json!(format!("{before}{gap}{word}"));
    }
    Value::Object(responses)
}

fn answer() -> Value {
    let error = json!({
        "type": "object",
        "required": ["message"],
        "properties": {
            "message": { "type": "string" },
            "place": {
                "type": "object",
                "required": ["file", "line", "column"],
                "properties": {
                    "file": { "type": "string" },
                    "line": { "type": "integer" },
                    "column": { "type": "integer" },
                },
            },
            "facts": { "type": "array", "items": { "type": "string" } },
            "hint": { "type": "string" },
            "command": { "type": "string" },
        },
    });
    json!({
        "type": "object",
        "required": [
            "schema", "tool", "status", "document", "errors", "confinement", "seconds",
            "is_second_try",
        ],
        "properties": {
            "schema": { "const": SCHEMA },
            "tool": { "enum": TOOLS.iter().map(|tool| tool.name).collect::<Vec<_>>() },
            "status": {
                "type": "integer",
                "description": "0 done, 1 the input is at fault, 2 wrong usage; of judge: 0 faster, \
                                10 wrong, 11 unsafe, 12 slower, 13 unsure.",
            },
            "document": {
                "type": ["object", "null"],
                "description": "What `gpucast` prints with --format json; its `schema` names it.",
            },
            "errors": { "type": "array", "items": error },
            "printed": { "type": "string" },
            "notes": { "type": "string" },
            "confinement": {
                "type": "object",
                "required": [
                    "time_limit_s", "memory_limit_bytes", "holds_limits", "holds_files",
                    "holds_network",
                ],
                "properties": {
                    "time_limit_s": { "type": "integer" },
                    "memory_limit_bytes": { "type": "integer" },
                    "holds_limits": { "type": "boolean" },
                    "holds_files": { "type": "boolean" },
                    "holds_network": { "type": "boolean" },
                },
            },
            "seconds": { "type": "number" },
            "is_second_try": { "type": "boolean" },
        },
    })
}

fn refusal() -> Value {
    json!({
        "type": "object",
        "required": ["schema", "reason", "message"],
        "properties": {
            "schema": { "const": "gpucast.refusal/1" },
            "reason": { "type": "string" },
            "message": { "type": "string" },
        },
    })
}

//! JSON schemas of requests, from the table of tools.

use serde_json::{Map, Value, json};

use crate::request::LONGEST_TEXT;
use crate::setup::Limits;
use crate::tool::{CORPUS, Form, MOST_TEXTS, Pattern, Subject, Tool, WORD};

/// The schema of a tool's arguments. Models' interfaces refuse alternatives at the top, so these
/// stand in `alternatives`.
pub(crate) fn of_arguments(tool: &Tool, limits: &Limits) -> Map<String, Value> {
    let mut properties = Map::new();
    for (name, schema) in of_subject(tool.subject) {
        properties.insert(name.to_owned(), schema);
    }
    for field in tool.options() {
        let mut schema = of_form(field.form);
        schema["description"] = json!(field.meaning);
        properties.insert(field.name.to_owned(), schema);
    }
    if tool.subject != Subject::Word {
        let seconds = limits.seconds;
        let meaning = format!("Seconds after which it is given up; {seconds} by default.");
        let schema = json!({
            "type": "integer", "minimum": 1, "maximum": seconds, "description": meaning,
        });
        properties.insert("time_limit_s".to_owned(), schema);
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    let required: &[&str] = match tool.subject {
        Subject::Module | Subject::Candidate => &["source"],
        Subject::Word => &["word"],
        Subject::Question => &["request"],
        Subject::Kernel => &[],
    };
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

/// What goes together and what does not, for readers that understand it.
pub(crate) fn alternatives(tool: &Tool) -> Option<Value> {
    let either = |text: &str, its: [&str; 2], corpus: &str| {
        let unwanted: Vec<Value> =
            [text].iter().chain(&its).map(|name| json!({ "required": [name] })).collect();
        json!([
            { "required": [text], "not": { "required": [corpus] } },
            { "required": [corpus], "not": { "anyOf": unwanted } },
        ])
    };
    match tool.subject {
        Subject::Kernel => Some(either("source", ["language", "launch"], "corpus")),
        Subject::Candidate => {
            let its = ["reference_language", "reference_launch"];
            Some(either("reference", its, "reference_corpus"))
        }
        Subject::Module | Subject::Word | Subject::Question => None,
    }
}

fn of_subject(subject: Subject) -> Vec<(&'static str, Value)> {
    let text = |meaning: &str| {
        json!({
            "type": "string", "minLength": 1, "maxLength": LONGEST_TEXT, "description": meaning,
        })
    };
    let language = || {
        json!({
            "type": "string", "enum": ["cuda", "ptx"],
            "description": "The language of the source; by default PTX if it has a .version line.",
        })
    };
    let corpus = || {
        let mut schema = of_form(Form::Text(CORPUS));
        schema["description"] =
            json!("A kernel that comes with the program, in place of a source: sgemm.");
        schema
    };
    let source = || ("source", text("The text of the kernel: CUDA C++ or PTX."));
    let launch = || {
        (
            "launch",
            text(
                "A launch file in TOML with buffers, launches and expectations. Its module is \
                 kernel.cu or kernel.ptx: the source.",
            ),
        )
    };
    match subject {
        Subject::Module => vec![source(), ("language", language())],
        Subject::Kernel => {
            vec![source(), ("language", language()), launch(), ("corpus", corpus())]
        }
        Subject::Candidate => vec![
            source(),
            ("language", language()),
            launch(),
            ("reference", text("The text of the kernel that is right.")),
            ("reference_language", language()),
            (
                "reference_launch",
                text("The reference's launch file. Its module is reference.cu or reference.ptx."),
            ),
            ("reference_corpus", corpus()),
        ],
        Subject::Question => vec![("request", json!({ "type": "string" }))],
        Subject::Word => {
            let mut word = of_form(Form::Text(WORD));
            word["description"] = json!("The word: few-blocks, gld_efficiency, sm_count, warp.");
            vec![("word", word)]
        }
    }
}

fn of_form(form: Form) -> Value {
    let text = |Pattern { form, longest }: Pattern| json!({ "type": "string", "pattern": form, "maxLength": longest });
    match form {
        Form::Text(pattern) => text(pattern),
        Form::Texts(pattern) | Form::List(pattern) => json!({
            "type": "array", "minItems": 1, "maxItems": MOST_TEXTS, "items": text(pattern),
        }),
        Form::Choice(choices) => json!({ "type": "string", "enum": choices }),
        Form::Whole { least, most } => {
            json!({ "type": "integer", "minimum": least, "maximum": most })
        }
        Form::Number => json!({ "type": "number", "minimum": 0 }),
        Form::Flag => json!({ "type": "boolean" }),
    }
}

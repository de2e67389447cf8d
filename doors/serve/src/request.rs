//! From the fields of a request to files and the words of a command line.
//!
//! Every string is checked against its field's pattern, and becomes the value of an option as
//! `--option=value`. The one word without an option is a name that the server chose, or one that
//! cannot begin with a dash.

use serde_json::{Map, Value};

use crate::answer::Refusal;
use crate::setup::Limits;
use crate::tool::{CORPUS, Field, Form, MOST_TEXTS, Pattern, Subject, Tool, WORD};

/// The file of a question.
const QUESTION: &str = "question.json";

/// The longest source or launch file, in bytes.
pub(crate) const LONGEST_TEXT: usize = 1 << 20;

/// A request that can be run.
#[derive(Debug, PartialEq)]
pub(crate) struct Request {
    /// Files of the scratch folder, with their texts.
    pub(crate) files: Vec<(&'static str, String)>,
    /// The command and its words.
    pub(crate) words: Vec<String>,
    /// Seconds that it has.
    pub(crate) seconds: u64,
}

/// The fields of a request, each taken once.
struct Fields(Map<String, Value>);

impl Fields {
    fn text(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        match self.0.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) if text.is_empty() => {
                Err(Refusal::request(format!("`{name}` is empty")))
            }
            Some(Value::String(text)) if text.len() > LONGEST_TEXT => {
                Err(Refusal::request(format!("`{name}` has more than {LONGEST_TEXT} bytes")))
            }
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Refusal::request(format!("`{name}` is no string"))),
        }
    }

    fn matching(&mut self, name: &str, pattern: Pattern) -> Result<Option<String>, Refusal> {
        let Some(value) = self.0.remove(name) else { return Ok(None) };
        checked(name, &value, pattern).map(Some)
    }
}

/// Reads the arguments of a tool.
pub(crate) fn read(
    tool: &Tool,
    arguments: Map<String, Value>,
    limits: &Limits,
) -> Result<Request, Refusal> {
    let mut fields = Fields(arguments);
    let mut files = Vec::new();
    let mut words = vec![tool.command.to_owned()];
    let seconds = match fields.0.remove("time_limit_s") {
        Some(_) if tool.subject == Subject::Word => return Err(unknown("time_limit_s", tool)),
        None => limits.seconds,
        Some(value) => whole("time_limit_s", &value, 1, limits.seconds)?,
    };
    let mut subject = subject(tool.subject, &mut fields, &mut files)?;
    for field in tool.options() {
        if let Some(value) = fields.0.remove(field.name) {
            options(field, &value, &mut words)?;
        }
    }
    if let Some(name) = fields.0.keys().next() {
        return Err(unknown(name, tool));
    }
    words.extend(tool.fixed.iter().map(|&word| word.to_owned()));
    if tool.subject != Subject::Question {
        words.push("--format=json".to_owned());
    }
    if tool.name == "check" && !words.iter().any(|word| word.starts_with("--check=")) {
        words.push("--check=all".to_owned());
    }
    words.append(&mut subject);
    Ok(Request { files, words, seconds })
}

fn unknown(name: &str, tool: &Tool) -> Refusal {
    Refusal::request(format!("`{}` has no field `{name}`", tool.name))
}

/// The words that name what a command is about.
fn subject(
    subject: Subject,
    fields: &mut Fields,
    files: &mut Vec<(&'static str, String)>,
) -> Result<Vec<String>, Refusal> {
    match subject {
        Subject::Word => {
            let word = fields.matching("word", WORD)?.ok_or_else(|| lacks("word"))?;
            Ok(vec!["--".to_owned(), word])
        }
        Subject::Question => {
            let request = fields.text("request")?.ok_or_else(|| lacks("request"))?;
            files.push((QUESTION, request));
            Ok(vec![QUESTION.to_owned()])
        }
        Subject::Module => Ok(vec![module(fields, files)?.ok_or_else(|| lacks("source"))?]),
        Subject::Kernel => {
            match (launched(fields, files, &OF_KERNEL)?, corpus(fields, "corpus")?) {
                (Some(file), None) => Ok(vec![file]),
                (None, Some(kernel)) => Ok(vec![kernel]),
                (None, None) => Err(Refusal::request("give `source` or `corpus`")),
                (Some(_), Some(_)) => Err(Refusal::request("give `source` or `corpus`, not both")),
            }
        }
        Subject::Candidate => {
            let candidate = launched(fields, files, &OF_KERNEL)?.ok_or_else(|| lacks("source"))?;
            let reference = launched(fields, files, &OF_REFERENCE)?;
            let reference = match (reference, corpus(fields, "reference_corpus")?) {
                (Some(reference), None) | (None, Some(reference)) => reference,
                (None, None) => {
                    return Err(Refusal::request("give `reference` or `reference_corpus`"));
                }
                (Some(_), Some(_)) => {
                    let both = "give `reference` or `reference_corpus`, not both";
                    return Err(Refusal::request(both));
                }
            };
            Ok(vec![format!("--reference={reference}"), candidate])
        }
    }
}

fn lacks(name: &str) -> Refusal {
    Refusal::request(format!("`{name}` is missing"))
}

fn corpus(fields: &mut Fields, name: &str) -> Result<Option<String>, Refusal> {
    fields.matching(name, CORPUS)
}

/// The fields of a source with its launch, and the names of their files.
struct Sources {
    source: &'static str,
    language: &'static str,
    launch: &'static str,
    cuda_file: &'static str,
    ptx_file: &'static str,
    launch_file: &'static str,
}

const OF_KERNEL: Sources = Sources {
    source: "source",
    language: "language",
    launch: "launch",
    cuda_file: "kernel.cu",
    ptx_file: "kernel.ptx",
    launch_file: "launch.toml",
};

const OF_REFERENCE: Sources = Sources {
    source: "reference",
    language: "reference_language",
    launch: "reference_launch",
    cuda_file: "reference.cu",
    ptx_file: "reference.ptx",
    launch_file: "reference.toml",
};

fn module(
    fields: &mut Fields,
    files: &mut Vec<(&'static str, String)>,
) -> Result<Option<String>, Refusal> {
    of_source(fields, files, &OF_KERNEL)
}

/// The file of a source.
fn of_source(
    fields: &mut Fields,
    files: &mut Vec<(&'static str, String)>,
    names: &Sources,
) -> Result<Option<String>, Refusal> {
    let language = fields.text(names.language)?;
    let Some(source) = fields.text(names.source)? else {
        return match language {
            None => Ok(None),
            Some(_) => Err(lacks(names.source)),
        };
    };
    let file = match language.as_deref() {
        Some("cuda") => names.cuda_file,
        Some("ptx") => names.ptx_file,
        Some(_) => {
            return Err(Refusal::request(format!("`{}` is cuda or ptx", names.language)));
        }
        None if is_ptx(&source) => names.ptx_file,
        None => names.cuda_file,
    };
    files.push((file, source));
    Ok(Some(file.to_owned()))
}

/// The file of a source, or that of its launch.
fn launched(
    fields: &mut Fields,
    files: &mut Vec<(&'static str, String)>,
    names: &Sources,
) -> Result<Option<String>, Refusal> {
    let source = of_source(fields, files, names)?;
    match (source, fields.text(names.launch)?) {
        (source, None) => Ok(source),
        (Some(_), Some(launch)) => {
            files.push((names.launch_file, launch));
            Ok(Some(names.launch_file.to_owned()))
        }
        (None, Some(_)) => Err(lacks(names.source)),
    }
}

/// PTX begins with its version; CUDA has no such line.
fn is_ptx(source: &str) -> bool {
    source.lines().any(|line| line.trim_start().starts_with(".version"))
}

/// Adds the options of a field.
fn options(field: &Field, value: &Value, words: &mut Vec<String>) -> Result<(), Refusal> {
    let Field { name, option, .. } = *field;
    match field.form {
        Form::Text(pattern) => {
            words.push(format!("--{option}={}", checked(name, value, pattern)?));
        }
        Form::Texts(pattern) => {
            for text in texts(name, value, pattern)? {
                words.push(format!("--{option}={text}"));
            }
        }
        Form::List(pattern) => {
            words.push(format!("--{option}={}", texts(name, value, pattern)?.join(",")));
        }
        Form::Choice(choices) => match value.as_str() {
            Some(choice) if choices.contains(&choice) => words.push(format!("--{option}={choice}")),
            _ => {
                let choices = choices.join(", ");
                return Err(Refusal::request(format!("`{name}` is none of {choices}")));
            }
        },
        Form::Whole { least, most } => {
            words.push(format!("--{option}={}", whole(name, value, least, most)?));
        }
        Form::Number => match value.as_f64() {
            Some(number) if number.is_finite() && number >= 0.0 => {
                words.push(format!("--{option}={number}"));
            }
            _ => {
                let wrong = format!("`{name}` is no number that is not negative");
                return Err(Refusal::request(wrong));
            }
        },
        Form::Flag => match value {
            Value::Bool(true) => words.push(format!("--{option}")),
            Value::Bool(false) => {}
            _ => return Err(Refusal::request(format!("`{name}` is neither true nor false"))),
        },
    }
    Ok(())
}

fn whole(name: &str, value: &Value, least: u64, most: u64) -> Result<u64, Refusal> {
    // A schema's integer may be written as 5.0.
    let of_fraction = value.as_f64().filter(|number| number.fract() == 0.0 && *number >= 0.0);
    let number = value.as_u64().or(of_fraction.map(|number| number as u64));
    number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
        Refusal::request(format!("`{name}` is no whole number from {least} to {most}"))
    })
}

fn checked(name: &str, value: &Value, pattern: Pattern) -> Result<String, Refusal> {
    let Some(text) = value.as_str() else {
        return Err(Refusal::request(format!("`{name}` is no string")));
    };
    match pattern.fits(text) {
        true => Ok(text.to_owned()),
        false => Err(Refusal::request(format!("`{name}` does not fit {}", pattern.form))),
    }
}

fn texts(name: &str, value: &Value, pattern: Pattern) -> Result<Vec<String>, Refusal> {
    match value.as_array() {
        Some(texts) if (1..=MOST_TEXTS).contains(&texts.len()) => {
            texts.iter().map(|text| checked(name, text, pattern)).collect()
        }
        _ => Err(Refusal::request(format!("`{name}` is no list of 1 to {MOST_TEXTS} strings"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::tool::TOOLS;

    fn read(tool: &str, arguments: Value) -> Result<Request, Refusal> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        super::read(Tool::named(tool).unwrap(), arguments, &Limits::default())
    }

    #[test]
    fn fields_become_options_with_their_values() {
        let request = read(
            "predict",
            json!({
                "source": "__global__ void k(float *x) {}", "grid": "8", "block": "16,16",
                "args": ["buf:f32[64]=uniform(-1,1,7)", "u32:7"], "gpu": ["a100", "h100-sxm"],
                "time_limit_s": 5,
            }),
        );
        let request = request.unwrap();
        assert_eq!(
            request.words.join(" "),
            "predict --gpu=a100,h100-sxm --grid=8 --block=16,16 \
             --arg=buf:f32[64]=uniform(-1,1,7) --arg=u32:7 --format=json kernel.cu"
        );
        assert_eq!(request.files[0].0, "kernel.cu");
        assert_eq!(request.seconds, 5);
    }

    #[test]
    fn a_text_with_a_version_line_is_ptx() {
        let source = "// made by hand\n.version 7.0\n.target sm_70\n";
        let of = |fields: Value| read("compile", fields).unwrap().files[0].0;
        assert_eq!(of(json!({ "source": source })), "kernel.ptx");
        assert_eq!(of(json!({ "source": source, "language": "cuda" })), "kernel.cu");
    }

    /// Whatever a string says, no word of the command line is an option that the table has not.
    #[test]
    fn no_string_becomes_an_option_or_a_path() {
        let evil = [
            "--output=/etc/x",
            "--output",
            "-o/etc/x",
            "-",
            "--",
            "a b --output=/x",
            "/etc/passwd",
            "../x",
            "a\n--output=x",
            "a\0b",
            "@file",
            "x.toml",
            "x.json",
            "",
        ];
        for tool in &TOOLS {
            let fields = tool.options().map(|field| field.name);
            for name in fields.chain(["corpus", "reference_corpus", "word"]) {
                for text in evil {
                    for value in [json!(text), json!([text])] {
                        let mut arguments = json!({ "source": "x", "reference": "x", "word": "x" });
                        if tool.subject == Subject::Word {
                            arguments = json!({});
                        }
                        arguments[name] = value;
                        let Ok(request) = read(tool.name, arguments) else { continue };
                        let options = tool.options().map(|field| field.option);
                        let known: Vec<&str> =
                            options.chain(["format", "reference", "limit", "output"]).collect();
                        for word in &request.words {
                            let option = word.strip_prefix("--").and_then(|w| w.split('=').next());
                            let is_known =
                                option.is_none_or(|o| o.is_empty() || known.contains(&o));
                            assert!(is_known, "{}: {name} = {text:?} gives {word:?}", tool.name);
                            assert!(!word.starts_with("-o"), "{word:?}");
                        }
                        let outputs = request.words.iter().filter(|w| w.contains("output"));
                        assert!(outputs.count() <= 1, "{name} = {text:?}: {:?}", request.words);
                    }
                }
            }
        }
    }

    #[test]
    fn what_a_tool_does_not_know_is_refused() {
        for (tool, arguments, message) in [
            ("compile", json!({ "source": "x", "grid": "1" }), "has no field `grid`"),
            ("compile", json!({}), "`source` is missing"),
            ("run", json!({}), "give `source` or `corpus`"),
            ("run", json!({ "source": "x", "corpus": "sgemm" }), "not both"),
            ("run", json!({ "corpus": "sgemm", "launch": "x" }), "`source` is missing"),
            ("run", json!({ "source": 5 }), "is no string"),
            ("run", json!({ "corpus": "sgemm", "time_limit_s": 0 }), "is no whole number"),
            ("run", json!({ "corpus": "sgemm", "time_limit_s": 1e9 }), "is no whole number"),
            ("run", json!({ "corpus": "./sgemm.toml" }), "does not fit"),
            ("judge", json!({ "source": "x" }), "give `reference`"),
            ("explain", json!({ "word": "--page" }), "does not fit"),
            ("profile", json!({ "corpus": "sgemm", "stalls": "yes" }), "neither true nor false"),
        ] {
            let refusal = read(tool, arguments.clone()).unwrap_err();
            assert!(refusal.message.contains(message), "{tool} {arguments}: {}", refusal.message);
        }
    }
}

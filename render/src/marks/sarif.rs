//! Marks as SARIF 2.1.0 (OASIS), which code hosts and editors show at their lines.

use std::fmt::Write as _;

use gpucast_forecast::Report;
use serde::Serialize;

use super::Mark;

/// A log with one run (section 3.13).
#[derive(Serialize)]
struct Log<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run<'a>; 1],
}

/// Section 3.14.
#[derive(Serialize)]
struct Run<'a> {
    tool: Tool,
    results: Vec<Finished<'a>>,
}

/// Section 3.18.
#[derive(Serialize)]
struct Tool {
    driver: Driver,
}

/// Section 3.19.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Driver {
    name: &'static str,
    semantic_version: &'static str,
    rules: Vec<Rule>,
}

/// What a finding may be of (section 3.49).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Rule {
    id: String,
    short_description: Message<String>,
}

/// Section 3.11.
#[derive(Serialize)]
struct Message<T> {
    text: T,
}

/// A result (section 3.27).
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Finished<'a> {
    rule_id: &'a str,
    level: &'static str,
    message: Message<&'a str>,
    locations: [Location; 1],
}

/// Section 3.28.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: PhysicalLocation,
}

/// Section 3.29.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: ArtifactLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    region: Option<Region>,
}

/// Section 3.4.
#[derive(Serialize)]
struct ArtifactLocation {
    uri: String,
}

/// Section 3.30.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
}

impl Rule {
    pub(crate) fn new(id: String, text: String) -> Self {
        Self { id, short_description: Message { text } }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Says more of it.
    pub(crate) fn add(&mut self, text: &str) {
        self.short_description.text += text;
    }
}

/// The log of some marks. Rules by which nothing was found may be among those that are named.
pub(crate) fn text(rules: Vec<Rule>, marks: &[Mark]) -> Result<String, Report> {
    let location = |mark: &Mark| Location {
        physical_location: PhysicalLocation {
            artifact_location: ArtifactLocation { uri: uri(&mark.file) },
            region: mark.line.map(|start_line| Region { start_line }),
        },
    };
    let results = marks.iter().map(|mark| Finished {
        rule_id: &mark.rule,
        level: "error",
        message: Message { text: &mark.message },
        locations: [location(mark)],
    });
    let driver = Driver { name: "gpucast", semantic_version: env!("CARGO_PKG_VERSION"), rules };
    crate::json::document(&Log {
        schema: "https://json.schemastore.org/sarif-2.1.0.json",
        version: "2.1.0",
        runs: [Run { tool: Tool { driver }, results: results.collect() }],
    })
}

/// A path as a reference (RFC 3986): relative as it is, absolute as that of a file.
fn uri(path: &str) -> String {
    let mut uri = match path.as_bytes() {
        [b'/', ..] => "file://".to_owned(),
        [_, b':', ..] => "file:///".to_owned(),
        _ => String::new(),
    };
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri("src/a b%.cu"), "src/a%20b%25.cu");
        assert_eq!(uri("/tmp/ä.cu"), "file:///tmp/%C3%A4.cu");
        assert_eq!(uri("C:/x.cu"), "file:///C%3A/x.cu");
    }
}

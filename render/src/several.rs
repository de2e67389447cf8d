//! Documents of several kernels as one.

use gpucast_forecast::Report;
use serde::Serialize;
use serde_json::value::RawValue;

use crate::Format;

/// The name and version of the JSON document.
pub const SCHEMA: &str = "gpucast.kernels/1";

/// A line break and the indentation of a document within the whole.
const INDENT: &str = "\n      ";

/// A kernel with its document.
pub struct Part {
    /// The kernel, as the command line or a pattern's meaning has it.
    pub kernel: String,
    /// The document of this kernel alone.
    pub document: String,
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    kernels: Vec<Entry<'a>>,
}

#[derive(Serialize)]
struct Entry<'a> {
    kernel: &'a str,
    /// As text: counts of 2⁶⁴ or more keep their digits.
    document: Box<RawValue>,
}

/// The documents as one; that of one kernel alone stays as it is.
///
/// Text stands one after the other, and so do tables under one header. JSON has each document
/// whole, under the name of its kernel.
///
/// # Errors
///
/// Tables with different columns have no header in common.
pub fn document(parts: Vec<Part>, format: Format) -> Result<String, Report> {
    if let [_] = parts.as_slice() {
        return Ok(parts.into_iter().map(|part| part.document).collect());
    }
    match format {
        Format::Text => {
            let texts: Vec<String> = parts.into_iter().map(|part| part.document).collect();
            Ok(texts.join("\n"))
        }
        Format::Json => {
            let kernels = parts.iter().map(entry).collect::<Result<Vec<Entry<'_>>, Report>>()?;
            super::json::document(&Document { schema: SCHEMA, kernels })
        }
        Format::Csv => table(&parts),
    }
}

fn entry(part: &Part) -> Result<Entry<'_>, Report> {
    // Strings of JSON have no line breaks, so that each begins a line of the document.
    let document = part.document.trim_end().replace('\n', INDENT);
    let document = RawValue::from_string(document)
        .map_err(|error| Report::new(format!("the document of {}: {error}", part.kernel)))?;
    Ok(Entry { kernel: &part.kernel, document })
}

/// The rows of all tables under the header of the first.
fn table(parts: &[Part]) -> Result<String, Report> {
    let mut text = String::new();
    let mut first: Option<(&str, &str)> = None;
    for part in parts {
        let (header, rows) = part.document.split_once('\n').unwrap_or((&part.document, ""));
        match first {
            None => {
                first = Some((&part.kernel, header));
                text += &part.document;
            }
            Some((_, same)) if same == header => text += rows,
            Some((kernel, _)) => {
                let message =
                    format!("the tables of {kernel} and {} differ in columns", part.kernel);
                return Err(
                    Report::new(message).hint("use --format json, or a call for each kernel")
                );
            }
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn part(kernel: &str, document: &str) -> Part {
        Part { kernel: kernel.to_owned(), document: document.to_owned() }
    }

    fn all(parts: &[(&str, &str)], format: Format) -> Result<String, String> {
        let parts = parts.iter().map(|(kernel, document)| part(kernel, document)).collect();
        document(parts, format).map_err(|report| report.message)
    }

    #[test]
    fn one_document_stays_as_it_is() {
        for format in [Format::Text, Format::Json, Format::Csv] {
            assert_eq!(all(&[("a", "anything\n")], format), Ok("anything\n".to_owned()));
        }
    }

    #[test]
    fn texts_and_tables_follow_each_other() {
        let parts = [("a", "x,y\n1,2\n"), ("b", "x,y\n3,4\n")];
        assert_eq!(all(&parts, Format::Csv), Ok("x,y\n1,2\n3,4\n".to_owned()));
        assert_eq!(all(&parts, Format::Text), Ok("x,y\n1,2\n\nx,y\n3,4\n".to_owned()));
    }

    #[test]
    fn tables_with_other_columns_are_refused() {
        let error = all(&[("a", "x\n1\n"), ("b", "y\n2\n")], Format::Csv);
        assert_eq!(error, Err("the tables of a and b differ in columns".to_owned()));
    }

    #[test]
    fn json_has_each_document_under_its_kernel() {
        let text = all(&[("a", "{\"n\":1}"), ("b", "{\"n\":2}")], Format::Json).unwrap();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["schema"], SCHEMA);
        assert_eq!(value["kernels"][1]["kernel"], "b");
        assert_eq!(value["kernels"][1]["document"]["n"], 2);
    }

    #[test]
    fn json_of_several_is_indented_as_a_whole_and_keeps_all_digits() {
        let own = crate::json::document(&[[u128::MAX, 1], [2, 3]]).unwrap();
        let text = all(&[("a", &own), ("b", "{\"x\":1.50}\n")], Format::Json).unwrap();
        let expected = [
            "{",
            "  \"schema\": \"gpucast.kernels/1\",",
            "  \"kernels\": [",
            "    {",
            "      \"kernel\": \"a\",",
            "      \"document\": [",
            "        [",
            "          340282366920938463463374607431768211455,",
            "          1",
            "        ],",
            "        [",
            "          2,",
            "          3",
            "        ]",
            "      ]",
            "    },",
            "    {",
            "      \"kernel\": \"b\",",
            "      \"document\": {\"x\":1.50}",
            "    }",
            "  ]",
            "}\n",
        ];
        assert_eq!(text, expected.join("\n"));
    }
}

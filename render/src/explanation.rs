//! The meaning of a word, from the pages that explain words.
//!
//! A page explains a word in a row of a table whose last column is its meaning, or in a section
//! that has the word as its heading.

use std::fmt::Write as _;

use gpucast_forecast::Report;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{TextOrJson, json};

/// The name and version of the JSON document.
pub const SCHEMA: &str = "gpucast.explanation/1";

/// Headers of last columns that have meanings.
const MEANINGS: [&str; 4] = ["meaning", "Meaning", "what is wrong", "finds"];

/// A page that explains words, as Markdown.
#[derive(Clone, Copy, Debug)]
pub struct Page {
    /// Its short name: `codes`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// A word that a page explains.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Meaning {
    /// The name of the page.
    pub page: &'static str,
    /// The heading above.
    pub section: String,
    /// The word and others that mean the same.
    pub names: Vec<String>,
    /// What the page says of it, by the headers of its columns; `text` for a section.
    pub facts: Map<String, Value>,
}

/// All that the pages explain, in their order.
pub fn meanings(pages: &[Page]) -> Vec<Meaning> {
    pages.iter().flat_map(of_page).collect()
}

/// What is said of a word. Case does not matter, nor do backticks.
pub fn of_word<'a>(meanings: &'a [Meaning], word: &str) -> Vec<&'a Meaning> {
    let word = word.trim_matches('`').to_lowercase();
    let is_named =
        |meaning: &&Meaning| meaning.names.iter().any(|name| name.to_lowercase() == word);
    meanings.iter().filter(is_named).collect()
}

fn of_page(page: &Page) -> Vec<Meaning> {
    let mut meanings = Vec::new();
    let mut section = String::new();
    let mut header: Vec<String> = Vec::new();
    for line in page.text.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            heading.trim().clone_into(&mut section);
        }
        let cells = cells(line);
        match (&cells[..], header.is_empty()) {
            ([], _) => header.clear(),
            (_, true) => header = cells,
            ([first, ..], false) if first.starts_with("---") => {}
            (_, false) => meanings.extend(of_row(page, &section, &header, &cells)),
        }
    }
    meanings.extend(sections(page));
    meanings
}

/// The cells of a line of a table; none of another line.
fn cells(line: &str) -> Vec<String> {
    let Some(row) = line.trim().strip_prefix('|').and_then(|row| row.strip_suffix('|')) else {
        return Vec::new();
    };
    // A bar with a backslash is part of a cell.
    let row = row.replace("\\|", "\u{0}");
    row.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect()
}

fn of_row(page: &Page, section: &str, header: &[String], cells: &[String]) -> Option<Meaning> {
    if !header.last().is_some_and(|last| MEANINGS.contains(&last.as_str())) {
        return None;
    }
    let named = |column: usize| cells.get(column).map_or(Vec::new(), |cell| quoted(cell));
    let mut names = named(0);
    if header.get(1).is_some_and(|second| second == "Nsight Compute") {
        names.extend(named(1));
    }
    // A glossary has its words without quotes: `thread, lane, warp`.
    if names.is_empty() {
        names.extend(cells.first()?.split(", ").map(|name| name.trim().to_owned()));
    }
    let facts = header.iter().zip(cells).skip(1);
    let facts = facts
        .filter(|(_, cell)| !cell.is_empty())
        .map(|(header, cell)| (header.to_lowercase(), Value::from(cell.replace("<br>", ", "))));
    Some(Meaning { page: page.name, section: section.to_owned(), names, facts: facts.collect() })
}

/// The words in backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Sections whose heading is a code, as those of the rules of advice are.
fn sections(page: &Page) -> Vec<Meaning> {
    let sections = page.text.split("\n## ").skip(1);
    let sections = sections.filter_map(|section| {
        let (heading, text) = section.split_once('\n')?;
        let is_code = heading.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        is_code.then(|| Meaning {
            page: page.name,
            section: heading.to_owned(),
            names: vec![heading.to_owned()],
            facts: Map::from_iter([("text".to_owned(), Value::from(text.trim()))]),
        })
    });
    sections.collect()
}

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    word: &'a str,
    meanings: &'a [&'a Meaning],
}

/// The meanings of a word.
///
/// # Errors
///
/// A value that JSON does not have.
pub fn document(word: &str, meanings: &[&Meaning], format: TextOrJson) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(text(meanings)),
        TextOrJson::Json => json::document(&Document { schema: SCHEMA, word, meanings }),
    }
}

fn text(meanings: &[&Meaning]) -> String {
    let mut text = String::new();
    for (index, meaning) in meanings.iter().enumerate() {
        let gap = if index > 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}{} ({})", meaning.names.join(", "), meaning.page);
        for (name, fact) in &meaning.facts {
            let fact = fact.as_str().unwrap_or_default();
            let _ = match name.as_str() {
                "text" => writeln!(text, "\n{fact}"),
                name if MEANINGS.contains(&name) => writeln!(text, "  {fact}"),
                name => writeln!(text, "  {name}: {fact}"),
            };
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: Page = Page {
        name: "codes",
        text: "# Codes\n\n## Some\n\n| code | meaning |\n|---|---|\n| `few` | Too few. |\n\n\
               | figure | value |\n|---|---|\n| `none` | 3 |\n\n\
               | Metric | Nsight Compute | Meaning |\n|---|---|---|\n\
               | `loads` *(ours)* | `a.sum`<br>`b.sum` | loads of x \\| y |\n\n\
               ## slow-code\n\nIt is slow.\n\n## A title\n\nText.\n",
    };

    #[test]
    fn rows_and_sections_explain_words_and_other_tables_do_not() {
        let all = meanings(&[PAGE]);
        let names: Vec<&str> = all.iter().map(|one| one.names[0].as_str()).collect();
        assert_eq!(names, ["few", "loads", "slow-code"]);
        assert_eq!(all[0].section, "Some");
    }

    #[test]
    fn a_word_is_found_by_each_of_its_names() {
        let all = meanings(&[PAGE]);
        for word in ["loads", "LOADS", "`a.sum`", "b.sum"] {
            let found = of_word(&all, word);
            assert_eq!(found.len(), 1, "{word}");
            assert_eq!(found[0].facts["meaning"], "loads of x | y");
        }
        assert!(of_word(&all, "none").is_empty());
        assert_eq!(of_word(&all, "slow-code")[0].facts["text"], "It is slow.");
    }
}

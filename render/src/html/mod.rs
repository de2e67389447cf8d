//! What all pages share: the frame, tables, and regions that scroll.
//!
//! Maud escapes every value; [`PreEscaped`] marks the style sheets, the script and the pictures.

use maud::{DOCTYPE, Markup, PreEscaped, html};

const STYLE: &str = include_str!("page.css");

/// Switches, sorting, searching and values on demand; a page is whole without it.
const SCRIPT: &str = include_str!("page.js");

/// A page: one file that refers to nothing outside.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// The words at the top.
    pub(crate) heading: &'a str,
    /// What follows the heading.
    pub(crate) lead: Markup,
    /// The way through the page, which stays in view.
    pub(crate) contents: Option<Markup>,
    /// Styles beside those of all pages.
    pub(crate) style: &'a str,
    pub(crate) main: Markup,
    /// The command that makes the page.
    pub(crate) command: &'a str,
}

impl Page<'_> {
    /// The whole file.
    pub(crate) fn document(self) -> String {
        let page = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    title { (self.title) }
                    style { (PreEscaped(STYLE)) (PreEscaped(self.style)) }
                }
                body {
                    a.skip href="#main" { "Skip to the results" }
                    div.frame[self.contents.is_some()] {
                        @if let Some(contents) = &self.contents {
                            nav.contents aria-label="Contents" { (contents) }
                        }
                        div.page {
                            header {
                                h1 { (self.heading) }
                                (self.lead)
                            }
                            main id="main" { (self.main) }
                            footer { "Made by " code { (self.command) } }
                        }
                    }
                    script { (PreEscaped(SCRIPT)) }
                }
            }
        };
        page.into_string()
    }
}

/// What a reader of screens says for a region.
#[derive(Clone, Copy)]
pub(crate) enum Label<'a> {
    /// These words.
    Words(&'a str),
    /// The words of the elements with these identifiers.
    Elements(&'a str),
}

/// A region that scrolls by itself, by the keyboard too.
pub(crate) fn region(class: &str, label: Label<'_>, content: Markup) -> Markup {
    let (words, elements) = match label {
        Label::Words(words) => (Some(words), None),
        Label::Elements(elements) => (None, Some(elements)),
    };
    html! {
        div class=(class) tabindex="0" role="region" aria-label=[words] aria-labelledby=[elements] {
            (content)
        }
    }
}

/// The heading of a column.
#[derive(Clone)]
pub(crate) struct Column<'a> {
    title: &'a str,
    class: Option<&'a str>,
}

/// A column of words.
pub(crate) fn words(title: &str) -> Column<'_> {
    Column { title, class: None }
}

/// A column of numbers.
pub(crate) fn numbers(title: &str) -> Column<'_> {
    Column { title, class: Some("number") }
}

/// A column of a class.
pub(crate) fn classed<'a>(title: &'a str, class: &'a str) -> Column<'a> {
    Column { title, class: Some(class) }
}

/// A table; `rows` are the elements of its body.
#[derive(Default)]
pub(crate) struct Table<'a> {
    pub(crate) class: Option<&'a str>,
    pub(crate) id: Option<&'a str>,
    pub(crate) caption: &'a str,
    pub(crate) columns: Vec<Column<'a>>,
    pub(crate) rows: Markup,
}

impl Table<'_> {
    /// The element.
    pub(crate) fn markup(self) -> Markup {
        html! {
            table class=[self.class] id=[self.id] {
                caption { (self.caption) }
                thead {
                    tr {
                        @for column in &self.columns {
                            th scope="col" class=[column.class] { (column.title) }
                        }
                    }
                }
                tbody { (self.rows) }
            }
        }
    }
}

/// A cell for people, sorted by another value.
pub(crate) fn sorted(text: &str, by: f64) -> Markup {
    html! { td.number data-sort=(by) { (text) } }
}

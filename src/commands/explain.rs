//! `gpucast explain`: what a code, a metric or a field means, from the pages of the documentation.

use clap::ValueEnum as _;
use gpucast_render::explanation::{self, Page};

use crate::cli::explain::{Explain, PageChoice};
use crate::failure::{Failure, Report, suggest};
use crate::output::Output;

fn page(choice: PageChoice) -> Page {
    let (name, text) = match choice {
        PageChoice::Codes => ("codes", include_str!("../../docs/codes.md")),
        PageChoice::Metrics => ("metrics", include_str!("../../docs/metrics.md")),
        PageChoice::Advice => ("advice", include_str!("../../docs/advice.md")),
        PageChoice::Checks => ("checks", include_str!("../../docs/sanitiser.md")),
        PageChoice::Gpus => ("gpus", include_str!("../../docs/evidence/gpus.md")),
        PageChoice::Glossary => ("glossary", include_str!("../../docs/glossary.md")),
    };
    Page { name, text }
}

pub(crate) fn run(arguments: &Explain) -> Result<(), Failure> {
    let mut output = Output::open(None)?;
    if let Some(choice) = arguments.page {
        return output.write(page(choice).text);
    }
    let word = arguments.word.as_deref().unwrap_or_default();
    let pages: Vec<Page> = PageChoice::value_variants().iter().copied().map(page).collect();
    let all = explanation::meanings(&pages);
    let found = explanation::of_word(&all, word);
    if found.is_empty() {
        let known = all.iter().flat_map(|meaning| &meaning.names).map(String::as_str);
        let report = Report::new(format!("no page explains `{word}`"));
        return Err(report.maybe_hint(suggest(word, known)).into());
    }
    output.write(&explanation::document(word, &found, arguments.format)?)
}

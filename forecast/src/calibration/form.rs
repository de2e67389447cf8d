//! A cost model whose parameters are to be found.

use std::collections::BTreeMap;

use gpucast_model::cost_model::Formula;

use crate::choice::cost_model;
use crate::failure::{Failure, SourceText};

/// A cost model without its parameters.
#[derive(Clone, Debug)]
pub struct CostForm {
    /// The expression as its user wrote it.
    pub text: String,
    /// Named expressions that it uses.
    pub terms: BTreeMap<String, String>,
    /// The expression with its terms.
    pub formula: Formula,
}

impl CostForm {
    /// The model `text` with the named expressions of the model `like`, or else the model `like`.
    ///
    /// # Errors
    ///
    /// If `like` is no cost model, or `text` no formula.
    pub fn new(text: Option<&str>, like: Option<&str>) -> Result<Self, Failure> {
        let mut terms = BTreeMap::new();
        if let Some(name) = like {
            let (file, _) = cost_model::file(name)?;
            if text.is_none() {
                return Ok(Self { text: file.text, terms: file.terms, formula: file.formula });
            }
            terms = file.terms;
        }
        let text = text.unwrap_or_default().to_owned();
        let terms = used(&text, &terms);
        let formula = Formula::parse(&text, &terms).map_err(|error| {
            let source = SourceText::new("--model", text.as_str());
            source.report(error.range, error.message).maybe_hint(error.hint)
        })?;
        Ok(Self { text, terms, formula })
    }
}

/// The expressions that a model names, and those that they name. The parameters of the others have
/// nothing to be calibrated by.
fn used(model: &str, terms: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut used = BTreeMap::new();
    let mut texts = vec![model];
    while let Some(text) = texts.pop() {
        for word in text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
            if let Some(term) = terms.get(word)
                && used.insert(word.to_owned(), term.clone()).is_none()
            {
                texts.push(term);
            }
        }
    }
    used
}

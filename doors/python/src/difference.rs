//! Two predictions side by side, as `gpucast diff` shows them.

use gpucast_forecast::difference::{Condition, Difference, Figures, read_baseline};
use gpucast_forecast::{Failure, Report, SourceText};
use gpucast_render::difference::{self as rendered, DifferenceFormat, Side};
use pyo3::prelude::*;

use crate::failure;

/// A side of a difference: its name, and the document that `predict` writes.
type Document = (String, String);

/// A broken limit: as it was written, and what happened.
type Broken = (String, String);

fn figures((name, text): &Document) -> Result<Figures, Failure> {
    let source = SourceText::new(name.as_str(), text.as_str());
    let [figures] = <[Figures; 1]>::try_from(read_baseline(&source)?).map_err(|several| {
        Failure::Usage(Report::new(format!("{name} is about {} kernels", several.len())))
    })?;
    Ok(figures)
}

/// Compares two predictions, and holds the one after to `limits`. Gives the difference as JSON, as
/// text and as Markdown, and the broken limits.
#[pyfunction]
pub(crate) fn diff(
    py: Python<'_>,
    before: Document,
    after: Document,
    limits: Vec<String>,
) -> PyResult<([String; 3], Vec<Broken>)> {
    let compared = || -> Result<_, Failure> {
        let wrong = |limit: &str, error: String| {
            Failure::Usage(Report::new(format!("`{limit}` is no limit: {error}")))
        };
        let read = |limit: &String| limit.parse().map_err(|error| wrong(limit, error));
        let conditions = limits.iter().map(read).collect::<Result<Vec<Condition>, _>>()?;
        let sides = [figures(&before)?, figures(&after)?];
        let difference = Difference::of(&sides[0], &sides[1])?;
        let check = |condition: &Condition| {
            let broken = condition.broken_by(&sides[1], Some(&difference))?;
            Ok(rendered::Checked { condition: condition.clone(), broken })
        };
        let checked = conditions.iter().map(check).collect::<Result<Vec<_>, Report>>()?;
        let side = |name| Side { name, run: None };
        let named = [side(&before.0), side(&after.0)];
        let written = |format| rendered::document(&difference, &named, &checked, format);
        let documents = [
            written(DifferenceFormat::Json)?,
            written(DifferenceFormat::Text)?,
            written(DifferenceFormat::Markdown)?,
        ];
        let broken = checked.iter().flat_map(|condition| {
            condition
                .broken
                .iter()
                .map(|broken| (condition.condition.to_string(), broken.sentence.clone()))
        });
        Ok((documents, broken.collect()))
    };
    compared().map_err(|error| failure::raised(py, error))
}

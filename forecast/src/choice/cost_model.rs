//! Cost models and the names that their features use, from the command line.

use std::collections::BTreeMap;
use std::path::Path;

use gpucast_model::cost_model::{BUILT_IN, CostModelFile, CostModels, Names};

use crate::failure::{Failure, Report, SourceText, suggest};
use crate::input::module_text;

/// Reads the model files; `None` if there are none.
pub fn read(files: &[String], names: Names) -> Result<Option<CostModels>, Failure> {
    let mut models = CostModels { files: Vec::new(), names };
    for name in files {
        let (file, source) = file(name)?;
        if let Some(other) = models.files.iter().find(|other| other.gpu == file.gpu) {
            let message = format!("{}: there is another cost model for {}", source.name, other.gpu);
            return Err(Report::new(message).into());
        }
        models.files.push(file);
    }
    Ok((!files.is_empty()).then_some(models))
}

/// Reads one model file, or a model that comes with the program.
pub fn file(name: &str) -> Result<(CostModelFile, SourceText), Report> {
    let built_in = BUILT_IN.iter().find(|(known, _)| *known == name);
    let source = match built_in {
        Some((name, text)) => SourceText::new(*name, *text),
        // A word without a dot or slash was meant to be a name.
        None if !Path::new(name).exists() && !name.contains(['.', '/', '\\']) => {
            let known = BUILT_IN.iter().map(|(name, _)| *name);
            let report = Report::new(format!("there is no cost model and no file named `{name}`"));
            return Err(report.maybe_hint(suggest(name, known)));
        }
        None => module_text::read_text(Path::new(name))?,
    };
    let file = CostModelFile::from_toml(&source.text).map_err(|error| {
        source.report(error.range.clone(), error.message.clone()).maybe_hint(error.hint)
    })?;
    Ok((file, source))
}

/// Reads sizes, `n=2048`, and tags, `aLD=a:load`: the meanings of names in features.
///
/// # Errors
///
/// [`Failure::Usage`] names the first text that is neither.
pub fn read_names(sizes: &[String], tags: &[String]) -> Result<Names, Failure> {
    let mut read = Names { sizes: numbers("--let", sizes)?, tags: BTreeMap::new() };
    for text in tags {
        let parts = text.split_once('=').filter(|(name, buffer)| {
            let direction = buffer.split_once(':').map_or("load", |(_, direction)| direction);
            !name.is_empty() && matches!(direction, "load" | "store" | "update")
        });
        let Some((name, buffer)) = parts else {
            let report = Report::new(format!("--tag {text} says not what a tag means"));
            return Err(Failure::Usage(report.hint("write --tag aLD=a:load")));
        };
        read.tags.insert(name.to_owned(), buffer.to_owned());
    }
    Ok(read)
}

/// Reads `NAME=VALUE` of an option.
pub fn numbers(option: &str, texts: &[String]) -> Result<BTreeMap<String, f64>, Failure> {
    let read = |text: &String| {
        let (name, value) = text.split_once('=')?;
        let value: f64 = value.trim().parse().ok()?;
        (value.is_finite() && !name.trim().is_empty()).then(|| (name.trim().to_owned(), value))
    };
    texts
        .iter()
        .map(|text| {
            read(text).ok_or_else(|| {
                let report = Report::new(format!("`{text}` is not a name and its value"));
                Failure::Usage(report.hint(format!("write {option} n=2048")))
            })
        })
        .collect()
}

//! Measured times of other tuners' files.

use std::collections::BTreeMap;
use std::path::Path;

use super::kernel_tuner::{self, Entry};
use super::{Space, ktt};
use crate::failure::Report;
use crate::input::module_text;

/// The times of a file of Kernel Tuner or KTT in milliseconds, by the configurations' keys.
///
/// # Errors
///
/// If the file cannot be read, is neither, or is of another space.
pub fn measured(path: &Path, space: &Space) -> Result<BTreeMap<String, f64>, Report> {
    let text = module_text::read_text(path)?;
    if let Ok(document) = serde_json::from_str(&text.text)
        && ktt::is_one(&document)
    {
        return ktt::read(&text.name, &document, space);
    }
    let file = kernel_tuner::read(&text.name, &text.text, space)?;
    let time = |(key, entry): (String, Entry)| Some((key, entry.time_ms?));
    Ok(file.entries.into_iter().filter_map(time).collect())
}

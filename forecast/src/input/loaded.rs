//! Modules that have been read.

use gpucast_ptx_frontend::Module;

use crate::failure::{Report, SourceText};

/// A module that has been read, with its text.
#[non_exhaustive]
pub struct Loaded {
    /// The text.
    pub source: SourceText,
    /// The module that it says.
    pub module: Module,
}

/// Parses a module; the reports are all that is wrong with it.
pub fn load(source: &SourceText) -> Result<Loaded, Vec<Report>> {
    match gpucast_ptx_frontend::load(&source.text) {
        Ok(module) => Ok(Loaded { source: source.clone(), module }),
        Err(diagnostics) => Err(diagnostics
            .into_iter()
            .map(|diagnostic| {
                source
                    .report(diagnostic.span.range(), diagnostic.message)
                    .maybe_hint(diagnostic.hint)
            })
            .collect()),
    }
}

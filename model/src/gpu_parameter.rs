//! Fields of GPUs under the symbols of papers.

/// A field of a GPU that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuParameter {
    /// The field of its file.
    pub field: &'static str,
    /// Its symbol in the model's paper.
    pub symbol: &'static str,
}

impl GpuParameter {
    pub(crate) const fn new(field: &'static str, symbol: &'static str) -> Self {
        Self { field, symbol }
    }
}

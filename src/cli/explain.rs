//! `gpucast explain`: its options.

use clap::{Args, ValueEnum};
use gpucast_render::TextOrJson;

use super::words;

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// A code, a rule of advice, a metric, a field of a GPU, or a word of the glossary
    ///
    /// Codes are those of errors, warnings and findings. Metrics have nvprof's and Nsight Compute's
    /// names.
    #[arg(value_name = "WORD", required_unless_present = "page")]
    pub(crate) word: Option<String>,

    /// Print a page as Markdown instead
    #[arg(long, value_name = "PAGE", conflicts_with_all = ["word", "format"])]
    pub(crate) page: Option<PageChoice>,

    /// The form of the result
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
    pub(crate) format: TextOrJson,
}

/// A page that explains words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PageChoice {
    /// Codes of errors and warnings, and JSON documents
    Codes,
    /// Metrics, with their kinds and vendors' names
    Metrics,
    /// Rules of advice: why something is slow, and how to fix it
    Advice,
    /// Checks of a run, and how a kernel is judged
    Checks,
    /// Fields of GPUs and their rules
    Gpus,
    /// Words of the field
    Glossary,
}

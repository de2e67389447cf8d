//! What is predicted with what: the options that the commands of predictions share.

use clap::Args;

/// The GPUs that are predicted.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct GpuOptions {
    /// GPUs by name or TOML file, or all; repeat it, or separate them by commas
    #[arg(long, value_name = "GPU", value_delimiter = ',', required = true)]
    pub(crate) gpu: Vec<String>,
}

/// The models that predict. Commands with another default say so by `mut_arg`.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct ModelOptions {
    /// Models, separated by commas, or all: then a model that lacks an input says so instead of
    /// ending the command
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "quantitative-roofline"
    )]
    pub(crate) model: Vec<String>,
}

/// Refinements of the thesis's model.
#[derive(Debug, Args)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct RefineOptions {
    /// Add the model refined by the thesis's own proposals, separated by commas: separate-integers,
    /// wide-shared, bank-conflicts, constant-serialisation, divergence, launch-overhead,
    /// cache-bandwidth, or all
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) refine: Vec<String>,
}

//! Options with which the program is started by itself or by `gpucast serve`. No help shows them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::confine::Limits;

/// The process of somebody else's input.
#[derive(Debug, Args)]
pub(crate) struct ConfinedOptions {
    /// The one folder in which the process writes; it gives up what it does not need
    #[arg(id = "confined", long = "confined", global = true, hide = true, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,

    /// Seconds that it has
    #[arg(long = "confined-seconds", global = true, hide = true, default_value = "120")]
    confined_seconds: u64,

    /// Bytes that a run may take
    #[arg(long = "confined-bytes", global = true, hide = true, default_value = "4294967296")]
    confined_bytes: u64,

    /// How errors look on the standard error
    #[allow(dead_code, reason = "`Early` has read it; here it is only allowed to be there")]
    #[arg(long, global = true, hide = true, default_value = "text")]
    error_format: ErrorFormat,
}

/// How errors look on the standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ErrorFormat {
    /// Sentences for people
    #[default]
    Text,
    /// A line of JSON for each
    Json,
}

impl ConfinedOptions {
    pub(crate) fn limits(&self) -> Limits {
        Limits { seconds: self.confined_seconds, bytes: self.confined_bytes }
    }
}

//! Options of `trust`.

use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Files that you have looked at [default: the gpucast.toml of this folder or above]
    #[arg(value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// List the trusted files, and whether they were changed since
    #[arg(long, conflicts_with_all = ["files", "remove"])]
    pub(crate) list: bool,

    /// Trust the files no more
    #[arg(long)]
    pub(crate) remove: bool,
}

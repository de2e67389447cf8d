//! `gpucast serve`: its options are those of another program.

use std::ffi::OsString;

use clap::Args;

#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Serve {
    /// The options of gpucast-serve
    #[arg(value_name = "OPTION", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) options: Vec<OsString>,
}

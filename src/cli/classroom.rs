//! `gpucast classroom`: its options. The server gives them.

use std::path::PathBuf;

use clap::Args;
use gpucast_toolchain::compiler::Choice;

#[derive(Debug, Args)]
pub(crate) struct Classroom {
    /// The file of a question, in JSON
    #[arg(value_name = "FILE")]
    pub(crate) question: PathBuf,

    /// Seconds that the answer may take
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) time_limit: u64,

    /// Bytes of a kernel's memory
    #[arg(long, value_name = "BYTES", default_value = "4294967296")]
    pub(crate) memory_limit: u64,

    /// The CUDA compiler
    #[arg(long, value_name = "COMPILER")]
    pub(crate) cuda_compiler: Option<Choice>,
}

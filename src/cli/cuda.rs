//! How CUDA source becomes PTX: the options that every command with a KERNEL shares.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use gpucast_forecast::compiler;
use gpucast_toolchain::compiler::{Choice, Installed};

use crate::interrupt;

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "CUDA source")]
pub(crate) struct CudaOptions {
    /// Define a macro; repeat for more
    #[arg(short = 'D', long, value_name = "NAME[=VALUE]")]
    pub(crate) define: Vec<String>,

    /// A folder of headers, besides the source's own and CUDA's; repeat for more
    #[arg(short = 'I', long, value_name = "FOLDER")]
    pub(crate) include: Vec<PathBuf>,

    /// The version of C++ [default: the compiler's, c++17]
    #[arg(long, value_name = "VERSION")]
    pub(crate) std: Option<String>,

    /// The compiler: nvrtc, nvcc, clang, or the path of one [default: the first that is found in
    /// Python packages, CUDA installations and PATH]
    #[arg(long, value_name = "COMPILER")]
    pub(crate) cuda_compiler: Option<Choice>,

    /// An option for the compiler in its own words, as --nvcc-option=--use_fast_math; repeat for
    /// more. Words after -- are such options, too
    #[arg(long, visible_alias = "nvrtc-option", value_name = "OPTION", allow_hyphen_values = true)]
    pub(crate) nvcc_option: Vec<String>,

    /// Options for the compiler
    #[arg(last = true, hide = true, value_name = "OPTIONS")]
    pub(crate) of_compiler: Vec<String>,
}

impl From<&CudaOptions> for compiler::CudaOptions {
    fn from(options: &CudaOptions) -> Self {
        Self {
            defines: options.define.clone(),
            parameters: Vec::new(),
            includes: options.include.clone(),
            standard: options.std.clone(),
            extra: options.nvcc_option.iter().chain(&options.of_compiler).cloned().collect(),
            instances: Vec::new(),
            target: None,
            suggested: None,
            compiler: Some(Arc::new(Installed::new(
                options.cuda_compiler.clone(),
                interrupt::stop(),
            ))),
        }
    }
}

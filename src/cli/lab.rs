//! Options of `lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use gpucast_lab::Language;
use gpucast_render::TextOrJson;
use gpucast_render::lab::GradeFormat;

use super::cuda::CudaOptions;
use super::words;

/// What exit statuses of a check mean.
const OF_A_CHECK: &str = "Exit status: 0 if nothing is left to do, 1 if something is, or if the \
                          submission cannot be read.";
/// What exit statuses of grades mean.
const OF_GRADES: &str = "Exit status: 0 if all submissions were checked, whatever their points, 1 if \
                         one could not be.";

#[derive(Debug, Subcommand)]
pub(crate) enum Lab {
    /// List the tasks
    List {
        /// The language of titles and reasons
        #[arg(long, value_name = "LANGUAGE", default_value = "en", value_parser = words::language())]
        language: Language,

        /// The form of the result
        #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
        format: TextOrJson,
    },
    /// Write a task's lesson, kernel and launch into a folder
    Start {
        /// A task: its name, a part of it, its number, or a folder that `lab new` wrote
        #[arg(value_name = "TASK")]
        task: String,

        /// The folder, which is made [default: the task's name]
        #[arg(value_name = "FOLDER")]
        folder: Option<PathBuf>,

        /// The language of the lesson; a task that lacks it is told as its author wrote it
        #[arg(long, value_name = "LANGUAGE", default_value = "en", value_parser = words::language())]
        language: Language,

        /// Write the kernel in Python, for Numba, instead of CUDA
        #[arg(long)]
        numba: bool,
    },
    /// Say what is right, what is wrong, and which targets are open
    ///
    /// Results are compared with the solution's at all sizes of the task, under all checks: stray
    /// accesses, races, barriers, values that nobody wrote. Then targets are measured. A kernel in
    /// Python is compiled by Numba, which executes its file; the PTX stays beside it.
    #[command(after_help = OF_A_CHECK)]
    Check(Box<Check>),
    /// Grade the submissions of a class: a row each, with points and the first reason
    ///
    /// Half of the points are for results, by sizes. The other half are for targets, if results are
    /// right at all sizes. Of a kernel in Python, the PTX that a check left beside it is graded. Of
    /// what the page saved, each kernel that a student has changed is graded anew.
    #[command(after_help = OF_GRADES)]
    Grade(Box<Grade>),
    /// Write a task of your own to change: text, sizes, targets, start code, solution
    New {
        /// The folder, which is made
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Check {
    /// A folder that `lab start` wrote, or a kernel's file
    #[arg(value_name = "SUBMISSION", default_value = ".")]
    pub(crate) submission: PathBuf,

    #[command(flatten)]
    pub(crate) by: By,

    /// The language of verdicts and targets; what is wrong with a kernel is told in English
    #[arg(long, help_heading = "Output", value_name = "LANGUAGE", default_value = "en", value_parser = words::language())]
    pub(crate) language: Language,

    /// The form of the result
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "text", value_parser = words::text_or_json())]
    pub(crate) format: TextOrJson,

    /// Write the result to a file; a name that ends in json means --format json
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Grade {
    /// A folder of submissions: folders that `lab start` wrote, files NAME.cu, or files NAME.json
    /// that the page saved
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,

    #[command(flatten)]
    pub(crate) by: By,

    /// The language of headings and targets; what is wrong with a kernel is told in English
    #[arg(long, help_heading = "Output", value_name = "LANGUAGE", default_value = "en", value_parser = words::language())]
    pub(crate) language: Language,

    /// The form of the result
    #[arg(long, help_heading = "Output", value_name = "FORMAT", default_value = "text", value_parser = words::grade_format())]
    pub(crate) format: GradeFormat,

    /// Write the result to a file; its name may say the form: x.csv, x.json, x.md
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// By what submissions are checked.
#[derive(Debug, Args)]
pub(crate) struct By {
    /// The task [default: the one that the submission's folder names]
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,

    /// The GPU of targets, by name or TOML file
    #[arg(long, value_name = "GPU", default_value = "h100-sxm")]
    pub(crate) gpu: String,

    /// Seconds that one submission may take
    #[arg(long, help_heading = "Limits", value_name = "SECONDS", default_value = "60", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) time_limit: u64,

    #[command(flatten)]
    pub(crate) cuda: CudaOptions,
}

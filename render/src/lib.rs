//! What the forecast shows: profiles, predictions, sweeps, findings and reports for people and for
//! programs.
//!
//! ```text
//! gpucast_forecast (counts, predictions, tables) ──► text, JSON, CSV, Parquet
//!                                               ├──► pictures ──► gpucast_plot ──► SVG, PNG
//!                                               └──► report (one HTML file)
//! ```
//!
//! Every function returns a text, bytes or a [`Scene`](gpucast_plot::Scene). The crate knows no
//! command line, reads no environment and no file, and prints nothing. The program, a notebook and
//! a host runtime therefore show the same things.
//!
//! | module | shows |
//! |---|---|
//! | [`prediction`], [`comparison`], [`difference`] | predicted times |
//! | [`sensitivity`], [`sweep`], [`tuning`] | predicted times of many points |
//! | [`advice`] | what to change |
//! | [`judgement`] | a candidate beside a reference |
//! | [`lab`] | tasks for classes, checked submissions, grades |
//! | [`profile`], [`metric`] | counts |
//! | [`counts`] | counts as formulas |
//! | [`run`], [`findings`] | results of an execution, and of its checks |
//! | [`program`] | launches of a host program |
//! | [`ncu`] | pages of Nsight Compute about a host program |
//! | [`mod@bench`] | speeds of the executor |
//! | [`check`] | needs of kernels that nobody executed |
//! | [`gpu`] | figures of GPUs |
//! | [`collection`], [`corpus`] | measurement kernels, and kernels of publications |
//! | [`measured`], [`calibration`] | measured parameters of a GPU, fitted ones of a model |
//! | [`diagnostic`] | faults of the input, with the text that they are in |
//! | [`explanation`] | what a code, a metric or a field means |
//! | [`marks`] | findings at their lines, for other programs |
//! | [`pictures`], [`report`] | all of it, drawn |
//! | [`timeline`], [`steps`] | a simulated launch over time, and a warp step by step |
//! | [`several`] | documents of several kernels as one |
//! | [`table`], [`csv`], [`json`], [`control`] | the forms that these share |
//!
//! A page's pictures are those of the light theme. A style sheet made from both themes recolours
//! them on dark screens, which is why every ink has a colour of its own. Maud checks elements while
//! the program is compiled, and takes a fifth of the time of a reader of template files.

pub mod advice;
pub mod bench;
pub mod calibration;
pub mod check;
pub mod collection;
pub mod comparison;
pub mod control;
pub mod corpus;
pub mod counts;
pub mod counts_at;
pub mod csv;
pub mod diagnostic;
pub mod difference;
pub mod explanation;
mod fastest;
pub mod findings;
mod format;
pub mod gpu;
mod html;
pub mod json;
pub mod judgement;
pub mod lab;
pub mod marks;
pub mod measured;
pub mod measured_kernels;
pub mod metric;
pub mod ncu;
#[cfg(feature = "parquet")]
mod parquet;
pub mod pictures;
pub mod prediction;
pub mod profile;
pub mod program;
pub mod report;
pub mod run;
pub mod sensitivity;
pub mod several;
pub mod steps;
pub mod sweep;
pub mod table;
pub mod timeline;
pub mod tuning;

pub use format::{Format, TextOrJson};

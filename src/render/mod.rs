//! Everything that is written: results on the standard output or into a file, complaints and
//! progress on the standard error. Nothing else in the program prints.

pub(crate) mod check;
pub(crate) mod comparison;
pub(crate) mod control;
pub(crate) mod csv;
pub(crate) mod diagnostic;
pub(crate) mod findings;
pub(crate) mod json;
pub(crate) mod metric;
pub(crate) mod output;
#[cfg(feature = "parquet")]
mod parquet;
pub(crate) mod prediction;
pub(crate) mod printed;
pub(crate) mod profile;
pub(crate) mod program;
pub(crate) mod progress;
pub(crate) mod rows;
pub(crate) mod run;
pub(crate) mod sensitivity;
pub(crate) mod sweep;
pub(crate) mod table;
pub(crate) mod terminal;

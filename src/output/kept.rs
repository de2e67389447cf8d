//! Where counts are kept from run to run.

use std::path::Path;
use std::time::UNIX_EPOCH;

use gpucast_forecast::run::kept::KeptCounts;
use gpucast_toolchain::assembler::cache;

use crate::cli::ExecutionOptions;
use crate::code;

/// The counts of earlier runs, unless all are to be made anew: because the user says so, or wants
/// to know how long that takes.
pub(super) fn counts(options: &ExecutionOptions) -> Option<KeptCounts> {
    if options.no_cache || options.execution_time {
        return None;
    }
    let build = build(&code::file()?)?;
    Some(KeptCounts::new(cache::folder()?, build))
}

/// Names this program as it was built: a program that was built anew has another time or size.
fn build(program: &Path) -> Option<String> {
    let facts = program.metadata().ok()?;
    let built = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(format!("{} {} {}", env!("GPUCAST_VERSION"), built.as_nanos(), facts.len()))
}

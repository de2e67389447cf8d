//! The GPU of commands that are told none.

use crate::output::diagnostic;
use crate::output::manner::{self, Verbosity};

/// The GPU where nobody names one.
const USUAL: &str = "h100-sxm";
/// Names of GPUs for commands that are told none, separated by commas.
const VARIABLE: &str = "GPUCAST_GPU";

/// The GPUs that are given, or else usual ones, of which a note tells.
pub(super) fn or_usual(given: &[String]) -> Vec<String> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let of_environment = std::env::var(VARIABLE).unwrap_or_default();
    let split = of_environment.split(',').map(str::trim).filter(|name| !name.is_empty());
    let mut names: Vec<String> = split.map(str::to_owned).collect();
    if names.is_empty() {
        names.push(USUAL.to_owned());
    }
    if manner::verbosity() != Verbosity::Quiet {
        diagnostic::note(&format!(
            "no GPU is given, so this is about {}; --gpu, {VARIABLE} or the defaults of a \
             gpucast.toml name another",
            names.join(", ")
        ));
    }
    names
}

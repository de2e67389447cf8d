//! The clock of the SMs.

use super::Parameter;
use crate::bench;
use crate::told::CLOCK;

pub(super) const ALL: &[Parameter] = &[Parameter::field(
    CLOCK,
    "MHz",
    "additions of one warp that wait for each other; machine code says how many clocks each takes",
    bench::clock,
)];

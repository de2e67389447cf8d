//! The clock that a long load leaves, where somebody published it.
//!
//! A time stands at one clock of the SMs. Under a long load of arithmetic a board reaches its power
//! limit, and the clock gives way. What binds the time tells whether the SMs' clock matters: work
//! on DRAM and waiting for latency take no more time at a lower one.

use serde::Serialize;

use crate::bound::Bound;
use crate::conformal::TimeClass;
use crate::gpu::Gpu;
use crate::inputs::optional;
use crate::text::duration;

/// The clock that a long load leaves, and the time there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sustained {
    /// Clock of the SMs, in megahertz.
    pub clock_mhz: f64,
    /// The time at that clock if all of it follows the clock, in milliseconds.
    pub time_at_most_ms: f64,
    /// What gives the clock: a field of the GPU.
    pub by: &'static str,
}

impl Sustained {
    /// The clock and the time there, in words that follow the time's own clock.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { clock_mhz, time_at_most_ms, .. } = self;
        format!(
            "a long load like this leaves {clock_mhz:.0} MHz, where it takes at most {}",
            duration(*time_at_most_ms)
        )
    }

    /// The published clock below the GPU's own, if the SMs' clock binds the time.
    #[must_use]
    pub(crate) fn published(
        (time_ms, bound): (f64, Bound),
        class: Option<TimeClass>,
        gpu: &Gpu,
    ) -> Option<Self> {
        let own = optional!(gpu.sp_clock)?;
        let ordinary = optional!(gpu.sustained_clock).map(|clock| (clock, "sustained_clock"));
        let tensor =
            optional!(gpu.sustained_tensor_clock).map(|clock| (clock, "sustained_tensor_clock"));
        let (clock_mhz, by) = match load(bound, class)? {
            Load::Ordinary => ordinary,
            Load::Tensor => {
                ordinary.into_iter().chain(tensor).min_by(|(a, _), (b, _)| a.total_cmp(b))
            }
        }?;
        let time_at_most_ms = time_ms * own / clock_mhz;
        (clock_mhz < own).then_some(Self { clock_mhz, time_at_most_ms, by })
    }
}

/// Work that takes longer at a lower clock of the SMs.
enum Load {
    Ordinary,
    Tensor,
}

/// The work that binds a time, if it follows the clock of the SMs. Models without a class of times
/// have their bound.
fn load(bound: Bound, class: Option<TimeClass>) -> Option<Load> {
    match (class, bound) {
        (Some(TimeClass::Tensor), _) => Some(Load::Tensor),
        (Some(TimeClass::Issue | TimeClass::FirstLevel), _)
        | (None, Bound::Compute | Bound::Shared | Bound::L1) => Some(Load::Ordinary),
        (Some(TimeClass::L2 | TimeClass::Dram | TimeClass::Latency | TimeClass::Launch), _)
        | (None, Bound::Memory | Bound::L2 | Bound::Overhead) => None,
    }
}

//! The clock that a long load leaves, where somebody published it or the GPU has a power model.
//!
//! A time stands at one clock of the SMs. Under a long load of arithmetic a board reaches its power
//! limit, and the clock gives way. What binds the time tells whether the SMs' clock matters: work
//! on DRAM and waiting for latency take no more time at a lower one.

use std::convert::Infallible;

use serde::Serialize;

use crate::bound::Bound;
use crate::conformal::TimeClass;
use crate::energy::{Limited, Load, clock_within};
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

    /// The clock below the GPU's own that is published, or that the board's power limit leaves by
    /// the energy of this load, whichever is less; none if the SMs' clock does not bind the time,
    /// or if a user sets the limit, which decides the clock then.
    #[must_use]
    pub(crate) fn of(
        (time_ms, bound): (f64, Bound),
        class: Option<TimeClass>,
        load: Option<&Load>,
        gpu: &Gpu,
    ) -> Option<Self> {
        let kind = kind(bound, class).filter(|_| gpu.set_power_limit().is_none())?;
        let least = |a: Self, b: Self| if b.clock_mhz < a.clock_mhz { b } else { a };
        let known = [
            Self::published(time_ms, kind, gpu),
            load.and_then(|load| Self::by_power(time_ms, load, gpu)),
        ];
        known.into_iter().flatten().reduce(least)
    }

    /// The clock that the board's power limit leaves, if all of the time follows the clock.
    fn by_power(time_ms: f64, load: &Load, gpu: &Gpu) -> Option<Self> {
        let (limit_w, clock_mhz) = (optional!(gpu.power_limit)?, optional!(gpu.sp_clock)?);
        let time_at = |clock: f64| Ok::<_, Infallible>(time_ms * clock_mhz / clock);
        let own = Limited { clock_mhz, time_ms };
        let Limited { clock_mhz, time_ms: time_at_most_ms } =
            clock_within(load, limit_w, own, time_at).ok()??;
        Some(Self { clock_mhz, time_at_most_ms, by: "power_limit" })
    }

    /// The published clock below the GPU's own.
    fn published(time_ms: f64, kind: LoadKind, gpu: &Gpu) -> Option<Self> {
        let own = optional!(gpu.sp_clock)?;
        let ordinary = optional!(gpu.sustained_clock).map(|clock| (clock, "sustained_clock"));
        let tensor =
            optional!(gpu.sustained_tensor_clock).map(|clock| (clock, "sustained_tensor_clock"));
        let (clock_mhz, by) = match kind {
            LoadKind::Ordinary => ordinary,
            LoadKind::Tensor => {
                ordinary.into_iter().chain(tensor).min_by(|(a, _), (b, _)| a.total_cmp(b))
            }
        }?;
        let time_at_most_ms = time_ms * own / clock_mhz;
        (clock_mhz < own).then_some(Self { clock_mhz, time_at_most_ms, by })
    }
}

/// Work that takes longer at a lower clock of the SMs.
enum LoadKind {
    Ordinary,
    Tensor,
}

/// The work that binds a time, if it follows the clock of the SMs. Models without a class of times
/// have their bound.
fn kind(bound: Bound, class: Option<TimeClass>) -> Option<LoadKind> {
    match (class, bound) {
        (Some(TimeClass::Tensor), _) => Some(LoadKind::Tensor),
        (Some(TimeClass::Issue | TimeClass::FirstLevel), _)
        | (None, Bound::Compute | Bound::Shared | Bound::L1) => Some(LoadKind::Ordinary),
        (Some(TimeClass::L2 | TimeClass::Dram | TimeClass::Latency | TimeClass::Launch), _)
        | (None, Bound::Memory | Bound::L2 | Bound::Overhead) => None,
    }
}

//! The energy of a kernel, its power, and the clock that a limit of the power leaves.
//!
//! P = idle + SMs with work × their power + Σ events × energy / time. Events are counts of the
//! profile. Energies are fields of the GPU from microbenchmarks, for one clock of the SMs. At
//! another clock all that happens in SMs, caches and the network between them goes with the square
//! of the voltage. Device memory has a voltage of its own and keeps its energy.
//!
//! | file | holds |
//! |---|---|
//! | `events` | the events that take energy, with the fields of their energies |
//! | `voltage` | the voltage at a clock |
//! | `load` | what a launch asks of the board, and its power at a clock |
//! | `limit` | the highest clock within a limit |
//!
//! A GPU without `idle_power`, or whose generation has no energies, has no power model: nothing is
//! said of its energy. `docs/evidence/energy.md` compares with published watts.

mod events;
mod limit;
mod load;
mod voltage;

use gpucast_counters::KernelProfile;
use serde::Serialize;

use crate::gpu::Gpu;

pub(crate) use limit::{Limited, clock_within};
pub(crate) use load::Load;

/// The energy of all invocations, by what takes it. Every figure is `estimated`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Energy {
    /// All of it, in joules.
    pub joules: f64,
    /// The power while the kernel runs, in watts.
    pub watts: f64,
    /// Floating-point and tensor operations for each joule; none where there are no operations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operations_per_joule: Option<f64>,
    /// What the energy goes to, in the order of the equation.
    pub parts: Vec<EnergyPart>,
    /// How well the figures are known.
    pub kind: &'static str,
}

/// What a part of the energy goes to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EnergyPart {
    /// The board, the SMs, or a kind of event.
    pub of: &'static str,
    /// Its energy, in joules.
    pub joules: f64,
}

impl Energy {
    /// The energy of a profile's invocations on `blocks` blocks each, which take `time_ms`; `None`
    /// without a power model or the counts that it reads.
    #[must_use]
    pub fn of(
        profile: &KernelProfile,
        blocks: Option<u128>,
        gpu: &Gpu,
        time_ms: f64,
    ) -> Option<Self> {
        Some(Load::of(profile, blocks, gpu)?.energy(gpu.number("sp_clock")?, time_ms))
    }

    /// The energy in words.
    #[must_use]
    pub fn text(&self) -> String {
        let Self { joules, watts, operations_per_joule, .. } = self;
        let each = operations_per_joule.map_or_else(String::new, |operations| {
            format!(", {:.1} pJ an operation", 1e12 / operations)
        });
        format!("{} at {watts:.0} W{each} (estimated)", in_joules(*joules))
    }
}

impl Gpu {
    /// The first field that its power model lacks; `None` if it has one.
    #[must_use]
    pub fn lacks_for_power(&self) -> Option<&'static str> {
        let energies = events::KINDS.iter().map(|kind| kind.field);
        let mut needed = ["idle_power", "sm_count", "energy_clock"].into_iter().chain(energies);
        needed.find(|field| self.number(field).is_none())
    }
}

/// Joules with three digits in the unit that suits them.
#[must_use]
pub fn in_joules(joules: f64) -> String {
    let (value, unit) = match joules {
        much if much >= 1.0 => (much, "J"),
        some if some >= 1e-3 => (some * 1e3, "mJ"),
        little => (little * 1e6, "µJ"),
    };
    let decimals = match value {
        v if v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

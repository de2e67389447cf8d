//! What a launch asks of a board, and its power at a clock.

use gpucast_counters::KernelProfile;

use super::events::{KINDS, operations};
use super::voltage::Voltage;
use super::{Energy, EnergyPart};
use crate::gpu::Gpu;
use crate::inputs::optional;

const JOULES: f64 = 1e-12;

/// The work of a launch as a board's power sees it.
pub(crate) struct Load {
    /// Watts of the board without work at the clock of the energies, and at the least voltage.
    idle_w: (f64, f64),
    /// Watts of the SMs with work, at the clock of the energies.
    sms_w: f64,
    /// Joules of each kind of event at the clock of the energies; true where they follow voltage.
    events: Vec<(&'static str, f64, bool)>,
    operations: f64,
    voltage: Voltage,
}

impl Load {
    /// The load of a profile's invocations; `None` without a power model or the counts for it.
    pub(crate) fn of(profile: &KernelProfile, blocks: Option<u128>, gpu: &Gpu) -> Option<Self> {
        let idle = optional!(gpu.idle_power)?;
        let sms = optional!(gpu.sm_count)? as f64;
        let with_work = blocks.map_or(sms, |blocks| sms.min(blocks as f64));
        let event = |kind: &super::events::Kind| {
            let energy = gpu.number(kind.field)? * JOULES;
            Some((kind.of, kind.count(profile)? * energy, kind.follows_voltage))
        };
        Some(Self {
            idle_w: (idle, optional!(gpu.idle_power_floor).unwrap_or(idle)),
            sms_w: optional!(gpu.sm_power).unwrap_or_default() * with_work,
            events: KINDS.iter().map(event).collect::<Option<_>>()?,
            operations: operations(profile),
            voltage: Voltage::of(gpu)?,
        })
    }

    /// Watts of the board without work.
    fn idle_w(&self, squared: f64) -> f64 {
        let (idle, floor) = self.idle_w;
        let least = self.voltage.least_squared();
        match 1.0 - least {
            range if range > 0.0 => floor + (idle - floor) * (squared - least) / range,
            _ => idle,
        }
    }

    /// The energy at a clock of the SMs at which all invocations take `time_ms`.
    pub(crate) fn energy(&self, clock_mhz: f64, time_ms: f64) -> Energy {
        let (seconds, squared) = (time_ms / 1e3, self.voltage.squared_at(clock_mhz));
        let part = |of, joules| EnergyPart { of, joules };
        let mut parts = vec![
            part("idle board", self.idle_w(squared) * seconds),
            part("SMs with work", self.sms_w * squared * seconds),
        ];
        parts.extend(self.events.iter().map(|&(of, joules, follows_voltage)| {
            part(of, if follows_voltage { joules * squared } else { joules })
        }));
        parts.retain(|part| part.joules > 0.0);
        let joules: f64 = parts.iter().map(|part| part.joules).sum();
        let operations_per_joule = (self.operations > 0.0).then(|| self.operations / joules);
        Energy { joules, watts: joules / seconds, operations_per_joule, parts, kind: "estimated" }
    }

    /// The power at a clock of the SMs at which all invocations take `time_ms`, in watts.
    pub(crate) fn watts(&self, clock_mhz: f64, time_ms: f64) -> f64 {
        self.energy(clock_mhz, time_ms).watts
    }
}

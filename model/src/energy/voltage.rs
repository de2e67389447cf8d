//! The voltage of the SMs at a clock.

use crate::gpu::Gpu;
use crate::inputs::optional;

/// The voltage over that at the clock for which energies are given: level up to a clock, and on
/// a straight line from there.
pub(super) struct Voltage {
    reference_mhz: f64,
    /// The share that is left, and the clock up to which it is; none where nobody published it.
    floor: Option<(f64, f64)>,
}

impl Voltage {
    /// The voltage of a GPU, if its energies have a clock.
    pub(super) fn of(gpu: &Gpu) -> Option<Self> {
        let share = optional!(gpu.voltage_floor).map(|percent| percent / 100.0);
        Some(Self {
            reference_mhz: optional!(gpu.energy_clock)?,
            floor: share.zip(optional!(gpu.voltage_floor_clock)),
        })
    }

    /// The square of the voltage at a clock, over that of the energies.
    pub(super) fn squared_at(&self, clock_mhz: f64) -> f64 {
        let Some((floor, until)) = self.floor else { return 1.0 };
        let rise =
            (clock_mhz - until).max(0.0) / (self.reference_mhz - until).max(f64::MIN_POSITIVE);
        let voltage = floor + (1.0 - floor) * rise;
        voltage * voltage
    }

    /// The least square of the voltage.
    pub(super) fn least_squared(&self) -> f64 {
        self.squared_at(0.0)
    }
}

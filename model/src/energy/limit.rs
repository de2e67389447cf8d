//! The highest clock at which a load stays within a limit of power.

use super::load::Load;

/// Clocks of NVIDIA's GPUs stand this far apart, as their lists of supported clocks show.
const STEP_MHZ: f64 = 15.0;

/// The least of those lists from Volta to Ada. No limit brings a clock below it.
const LEAST_MHZ: f64 = 210.0;

/// Times that are asked for at most. A time that is a constant and a part that follows the clock
/// needs two.
const MOST_TIMES: usize = 5;

/// The clock that a limit leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Limited {
    /// The clock in megahertz.
    pub(crate) clock_mhz: f64,
    /// The time there, in milliseconds.
    pub(crate) time_ms: f64,
}

/// A time that is a constant and a part that follows the clock.
#[derive(Clone, Copy)]
struct Times {
    constant_ms: f64,
    /// Milliseconds at one megahertz.
    clocks: f64,
}

impl Times {
    fn at(self, clock_mhz: f64) -> f64 {
        self.constant_ms + self.clocks / clock_mhz
    }

    /// The times through two points; all of it follows the clock where they tell nothing else.
    fn through(a: Limited, b: Limited) -> Self {
        let clocks = (b.time_ms - a.time_ms) / (1.0 / b.clock_mhz - 1.0 / a.clock_mhz);
        let most = a.time_ms * a.clock_mhz;
        let clocks = if clocks.is_finite() { clocks.clamp(0.0, most) } else { most };
        Self { constant_ms: a.time_ms - clocks / a.clock_mhz, clocks }
    }
}

/// The clock within `limit_w` below `own`; `None` if `own` is within. `time_at` gives the time at
/// a clock; the first guess is that all of the time follows the clock.
pub(crate) fn clock_within<E>(
    load: &Load,
    limit_w: f64,
    own: Limited,
    mut time_at: impl FnMut(f64) -> Result<f64, E>,
) -> Result<Option<Limited>, E> {
    if load.watts(own.clock_mhz, own.time_ms) <= limit_w {
        return Ok(None);
    }
    let mut times = Times { constant_ms: 0.0, clocks: own.time_ms * own.clock_mhz };
    let mut before: Option<Limited> = None;
    for _ in 0..MOST_TIMES {
        let clock_mhz = highest(load, limit_w, own.clock_mhz, times);
        if before.is_some_and(|before| before.clock_mhz == clock_mhz) {
            break;
        }
        let now = Limited { clock_mhz, time_ms: time_at(clock_mhz)? };
        times = Times::through(own, now);
        before = Some(now);
    }
    Ok(before)
}

/// The highest step below `own_mhz` at which the power of such times is within the limit, or the
/// least one. Power grows with the clock.
fn highest(load: &Load, limit_w: f64, own_mhz: f64, times: Times) -> f64 {
    let steps = ((own_mhz - LEAST_MHZ) / STEP_MHZ).ceil().max(1.0) as u32;
    let clock = |step: u32| LEAST_MHZ + STEP_MHZ * f64::from(step);
    let within =
        (0..steps).rev().find(|&step| load.watts(clock(step), times.at(clock(step))) <= limit_w);
    clock(within.unwrap_or_default()).min(own_mhz)
}

//! The conditions of a measurement: clocks, temperature and power, before and after each figure.

/// The state of a device at a moment. A driver need not tell all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct State {
    /// Clock of the SMs in MHz.
    pub sm_clock_mhz: Option<f64>,
    /// Clock of the memory in MHz.
    pub memory_clock_mhz: Option<f64>,
    /// Bits of the reasons why the clocks are not higher; see [`reasons`].
    pub throttle_reasons: Option<u64>,
    /// Temperature in degrees Celsius.
    pub temperature_celsius: Option<f64>,
    /// Power in watts.
    pub power_watts: Option<f64>,
}

/// The state of a device before and after the kernels of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Group {
    /// The field of the figure.
    pub field: &'static str,
    /// The state before its first kernel.
    pub before: State,
    /// The state after its last kernel.
    pub after: State,
}

/// Reasons by their bits (NVML, `nvmlClocksEventReasons`).
const REASONS: [(u64, &str); 9] = [
    (0x1, "gpu-idle"),
    (0x2, "applications-clocks-setting"),
    (0x4, "software-power-cap"),
    (0x8, "hardware-slowdown"),
    (0x10, "sync-boost"),
    (0x20, "software-thermal-slowdown"),
    (0x40, "hardware-thermal-slowdown"),
    (0x80, "hardware-power-brake-slowdown"),
    (0x100, "display-clock-setting"),
];

/// The names of the reasons in a set of bits. Bits without a name stand as a number.
#[must_use]
pub fn reasons(bits: u64) -> Vec<String> {
    let named = REASONS.iter().filter(|(bit, _)| bits & bit != 0);
    let mut names: Vec<String> = named.map(|(_, name)| (*name).to_owned()).collect();
    let known = REASONS.iter().fold(0, |all, (bit, _)| all | bit);
    if bits & !known != 0 {
        names.push(format!("{:#x}", bits & !known));
    }
    names
}

/// The lowest and the highest of a clock, in MHz.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

/// The share by which a clock may change during a measurement.
const STEADY: f64 = 0.01;

/// The range of a clock that changed by more than 1 % during a measurement; `None` where it did
/// not, or where the driver does not tell it.
///
/// The first state of all does not count: a GPU without work lowers its clocks.
#[must_use]
pub fn unsteady(groups: &[Group], clock: fn(&State) -> Option<f64>) -> Option<Range> {
    let states = groups.iter().flat_map(|group| [&group.before, &group.after]).skip(1);
    let range = states.filter_map(clock).fold(None, |range: Option<Range>, clock| match range {
        None => Some(Range { low: clock, high: clock }),
        Some(Range { low, high }) => Some(Range { low: low.min(clock), high: high.max(clock) }),
    })?;
    (range.high > range.low * (1.0 + STEADY)).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_unsteady_beyond_a_hundredth_of_its_lowest_value() {
        let state = |sm| State { sm_clock_mhz: Some(sm), ..State::default() };
        let check = |clocks: &[[f64; 2]], expected: Option<[f64; 2]>| {
            let group = |&[before, after]: &[f64; 2]| Group {
                field: "x",
                before: state(before),
                after: state(after),
            };
            let groups: Vec<Group> = clocks.iter().map(group).collect();
            let found = unsteady(&groups, |state| state.sm_clock_mhz);
            assert_eq!(found, expected.map(|[low, high]| Range { low, high }), "{clocks:?}");
            assert_eq!(unsteady(&groups, |state| state.memory_clock_mhz), None);
        };
        check(&[], None);
        check(&[[210.0, 1980.0]], None);
        check(&[[210.0, 1980.0], [1980.0, 1965.0]], None);
        check(&[[210.0, 1980.0], [1980.0, 1950.0]], Some([1950.0, 1980.0]));
        check(&[[1980.0, 1980.0], [1000.0, 1980.0]], Some([1000.0, 1980.0]));
    }

    #[test]
    fn each_reason_has_its_bit_and_the_others_stand_as_a_number() {
        let check = |bits, expected: &[&str]| assert_eq!(reasons(bits), expected, "{bits:#x}");
        check(0, &[]);
        check(0x44, &["software-power-cap", "hardware-thermal-slowdown"]);
        check(0x1_0001, &["gpu-idle", "0x10000"]);
    }
}

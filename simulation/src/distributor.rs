//! When the GPU starts the CTAs of an SM.
//!
//! A GPU starts one CTA after the other, those in the place of others included. So each SM has a
//! share of the starts: one in `interval` clocks. All SMs ask at once when a launch begins. Later
//! they ask at clocks of their own. A share that was not used is then left for later, up to a
//! residency of them: CTAs that end together are replaced together.

use crate::parameters::Parameters;

/// The starts of one SM.
pub(crate) struct Distributor {
    /// Clocks between the starts on one SM, while all SMs ask for them.
    interval: f64,
    /// Clocks by which a start may come before its share.
    ahead: f64,
    /// The clock of the next share.
    due: f64,
}

impl Distributor {
    /// For a launch whose CTAs are on `active` SMs, each of which holds `resident` at a time.
    pub(crate) fn new(parameters: &Parameters, active: f64, resident: u64) -> Self {
        let costs = parameters.launch;
        let interval = costs.cta_launch_interval * active;
        let ahead = interval * resident.saturating_sub(1) as f64;
        Self { interval, ahead, due: costs.launch_start + ahead }
    }

    /// The clock at which a CTA starts whose place is free from the clock `at` on.
    pub(crate) fn start(&mut self, at: f64) -> f64 {
        let at = at.max(self.due - self.ahead);
        self.due = self.due.max(at) + self.interval;
        at
    }
}

#[cfg(test)]
mod tests {
    use super::Distributor;

    /// Four places, and a share every ten clocks from clock 100 on.
    fn distributor() -> Distributor {
        Distributor { interval: 10.0, ahead: 30.0, due: 130.0 }
    }

    #[test]
    fn the_first_ctas_start_one_after_the_other() {
        let mut distributor = distributor();
        let starts: Vec<f64> = (0..4).map(|_| distributor.start(100.0)).collect();
        assert_eq!(starts, [100.0, 110.0, 120.0, 130.0]);
    }

    #[test]
    fn ctas_that_end_together_are_replaced_together_after_a_time_of_rest() {
        let mut distributor = distributor();
        for _ in 0..4 {
            distributor.start(100.0);
        }
        let starts: Vec<f64> = (0..5).map(|_| distributor.start(500.0)).collect();
        assert_eq!(starts, [500.0, 500.0, 500.0, 500.0, 510.0]);
    }

    #[test]
    fn no_places_are_filled_faster_than_the_share() {
        let mut distributor = distributor();
        let last = (0..1000).map(|_| distributor.start(100.0)).last();
        assert_eq!(last, Some(100.0 + 999.0 * 10.0));
    }
}

//! Loops that the assembler unrolled, and the rounds of each version of a loop's body.
//!
//! A loop that was unrolled `k` times and the code for the remaining rounds hold the same lines. So
//! only the sum `k · unrolled + remaining` is known. A thread takes the version of most rounds as
//! often as whole rounds allow, then the next one, until none is left. If the mean number of rounds
//! per visit is no whole number, visits differ. Then the rounds that remain after the version of
//! `k` rounds are assumed to be anything from 0 to `k - 1` equally often.

use super::system::{Outcome, System};
use super::{Network, Observation, Version};

/// Below this a fraction of a round is an error of rounding.
const ROUNDING: f64 = 1e-6;

impl Network {
    /// Divides rounds between versions until no line says any more. `observations` come in order of
    /// their reliability.
    pub(super) fn share_out_versions(&self, system: &mut System, observations: &[&Observation]) {
        let mut refused = vec![false; observations.len()];
        loop {
            let mut changed = false;
            for (number, observation) in observations.iter().enumerate() {
                while !refused[number] {
                    match self.share_out_largest(system, observation) {
                        Some(Outcome::Added) => changed = true,
                        Some(Outcome::Known | Outcome::Refused) | None => refused[number] = true,
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Gives the largest version that is still open its rounds; `None` if there is none.
    fn share_out_largest(&self, system: &mut System, line: &Observation) -> Option<Outcome> {
        let visits = line.visits? as f64;
        let (open, known): (Vec<Version>, Vec<Version>) =
            self.versions(line).partition(|version| !system.is_determined(&version.form));
        let largest = open.iter().reduce(|most, one| match one.copies > most.copies {
            true => one,
            false => most,
        })?;
        let rounds = largest.copies;
        if rounds <= 1.0 || open.iter().filter(|version| version.copies == rounds).count() > 1 {
            return None;
        }
        let known: f64 =
            known.iter().map(|version| version.copies * system.value(&version.form)).sum();
        let total = line.lanes as f64 / visits;
        let left = ((line.lanes as f64 - known) / visits).max(0.0);
        let is_even = (total - total.round()).abs() < ROUNDING;
        let times = match is_even {
            true => (left / rounds + ROUNDING).floor(),
            // The mean of the remainders is half of the greatest one.
            false => ((left - (rounds - 1.0) / 2.0) / rounds).max(0.0),
        };
        let range = system.range_of(&largest.form);
        let wanted = (times * visits).round().clamp(range.least.max(0.0), range.most.max(0.0));
        Some(system.demand(&largest.form, wanted.round()))
    }
}

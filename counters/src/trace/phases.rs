//! Numbers for the phases of a CTA's mbarriers: which arrivals, copies and waits belong together.

use std::collections::HashMap;

use gpucast_interpreter::{CtaStart, MbarrierStep, MbarrierUse};

/// The mbarriers of a CTA, as its events show them.
///
/// Arrivals by other CTAs of a cluster are not heard. Where they end a phase, it ends here when a
/// warp passes it twice by one instruction, or arrives twice.
#[derive(Clone, Debug, Default)]
pub(super) struct PhaseLog {
    has_others: bool,
    objects: HashMap<u64, Object>,
    phases: u32,
}

/// An mbarrier object.
#[derive(Clone, Debug, Default)]
struct Object {
    /// The number of the phase that is not complete, if anything belongs to it yet.
    current: Option<u32>,
    /// That of the last complete one.
    last: Option<u32>,
    /// The warps and instructions that arrived at the current phase, or passed the last one. Kept
    /// in clusters only.
    arrived: Vec<(u32, u32)>,
    passed: Vec<(u32, u32)>,
}

impl Object {
    fn complete(&mut self) {
        self.last = self.current.take();
        self.arrived.clear();
        self.passed.clear();
    }
}

impl PhaseLog {
    pub(super) fn new(start: &CtaStart) -> Self {
        Self { has_others: start.ctas_per_cluster > 1, ..Self::default() }
    }

    /// The phase that a step belongs to, if it arrives, tells of bytes or has waited.
    pub(super) fn step(&mut self, step: &MbarrierUse<'_>) -> Option<u32> {
        let lane = step.mask.trailing_zeros() as usize;
        let address = *step.addresses.get(lane)?;
        let object = self.objects.entry(address).or_default();
        let who = (step.warp, step.instruction);
        let phase = match step.step {
            MbarrierStep::Define => {
                object.complete();
                object.last = None;
                return None;
            }
            MbarrierStep::Arrive | MbarrierStep::CompleteBytes => {
                // The ranges of one copy follow each other.
                let is_arrival = step.step == MbarrierStep::Arrive;
                if self.has_others && is_arrival {
                    if object.arrived.contains(&who) {
                        object.complete();
                    }
                    object.arrived.push(who);
                }
                Some(*object.current.get_or_insert_with(|| next(&mut self.phases)))
            }
            MbarrierStep::Expect | MbarrierStep::Completed => None,
            MbarrierStep::Passed => {
                if self.has_others {
                    if object.passed.contains(&who) {
                        object.complete();
                    }
                    object.passed.push(who);
                }
                object.last
            }
        };
        if step.completes != 0 {
            object.complete();
        }
        phase
    }
}

fn next(phases: &mut u32) -> u32 {
    *phases += 1;
    *phases - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(ctas_per_cluster: u32) -> PhaseLog {
        PhaseLog::new(&CtaStart { cta: 0, ctaid: [0; 3], rank: 0, ctas_per_cluster })
    }

    fn step(
        log: &mut PhaseLog,
        instruction: u32,
        step: MbarrierStep,
        completes: bool,
    ) -> Option<u32> {
        log.step(&MbarrierUse {
            instruction,
            warp: 0,
            mask: 1,
            step,
            completes: u32::from(completes),
            addresses: &[64; 32],
        })
    }

    #[test]
    fn a_wait_belongs_to_the_phase_that_ended_last() {
        use MbarrierStep::{Arrive, CompleteBytes, Completed, Define, Passed};
        let mut log = log(1);
        assert_eq!(step(&mut log, 0, Define, false), None);
        // A phase before the first one counts as complete.
        assert_eq!(step(&mut log, 1, Passed, false), None);
        assert_eq!(step(&mut log, 2, Arrive, false), Some(0));
        assert_eq!(step(&mut log, 3, CompleteBytes, false), Some(0));
        assert_eq!(step(&mut log, 3, Completed, true), None);
        assert_eq!(step(&mut log, 2, Arrive, false), Some(1));
        assert_eq!(step(&mut log, 1, Passed, false), Some(0));
        assert_eq!(step(&mut log, 3, CompleteBytes, false), Some(1));
        assert_eq!(step(&mut log, 3, Completed, true), None);
        assert_eq!(step(&mut log, 1, Passed, false), Some(1));
    }

    #[test]
    fn a_phase_that_another_cta_ends_ends_with_the_second_wait() {
        use MbarrierStep::{Arrive, Passed};
        let mut log = log(2);
        assert_eq!(step(&mut log, 2, Arrive, false), Some(0));
        assert_eq!(step(&mut log, 1, Passed, false), None);
        assert_eq!(step(&mut log, 2, Arrive, false), Some(1));
        assert_eq!(step(&mut log, 1, Passed, false), Some(0));
    }
}

//! Numbers for the phases of a CTA's mbarriers and named barriers: which arrivals, copies and waits
//! belong together.

use std::collections::HashMap;

use gpucast_interpreter::{Arrival, CtaStart, MbarrierStep, MbarrierUse, Release};

/// The mbarriers of a CTA, as its events show them.
///
/// Arrivals by other CTAs of a cluster are not heard. Where they end a phase, it ends here when a
/// warp passes it twice by one instruction, or arrives twice.
#[derive(Clone, Debug, Default)]
pub(super) struct PhaseLog {
    has_others: bool,
    objects: HashMap<u64, Object>,
    meetings: HashMap<u32, Meeting>,
    phases: u32,
}

/// The arrivals at a named barrier that it waits for with those to come.
#[derive(Clone, Debug, Default)]
struct Meeting {
    phase: u32,
    /// The warps that have arrived.
    warps: Vec<u32>,
    /// True if it says for how many threads it is.
    is_counted: bool,
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

    /// The phase of a named barrier that a warp arrives at; none at `__syncthreads`.
    pub(super) fn arrive(&mut self, arrival: &Arrival) -> Option<u32> {
        if arrival.barrier == 0 && arrival.threads.is_none() {
            return None;
        }
        let Self { meetings, phases, .. } = self;
        let meeting = meetings.entry(arrival.barrier).or_default();
        if meeting.warps.is_empty() {
            meeting.phase = next(phases);
        }
        // Parts of a warp come one by one, and count together.
        if !meeting.warps.contains(&arrival.warp) {
            meeting.warps.push(arrival.warp);
        }
        meeting.is_counted = arrival.threads.is_some();
        let warps = arrival.threads.map(|threads| threads.div_ceil(32));
        if warps.is_some_and(|warps| meeting.warps.len() as u32 >= warps) {
            meeting.warps.clear();
        }
        Some(meeting.phase)
    }

    /// A barrier opens. Without a count that may be because the warps that lack have exited.
    pub(super) fn release(&mut self, release: &Release<'_>) {
        if let Some(meeting) = self.meetings.get_mut(&release.barrier)
            && !meeting.is_counted
        {
            meeting.warps.clear();
        }
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

    #[test]
    fn warps_that_meet_at_a_name_share_a_phase() {
        let mut log = log(1);
        let mut arrive = |warp, barrier, threads| arrive(&mut log, warp, barrier, threads);
        // `__syncthreads`
        assert_eq!(arrive(0, 0, None), None);
        // Two pairs, which take turns.
        assert_eq!(arrive(0, 1, Some(64)), Some(0));
        assert_eq!(arrive(2, 2, Some(64)), Some(1));
        assert_eq!(arrive(1, 1, Some(64)), Some(0));
        assert_eq!(arrive(1, 1, Some(64)), Some(2));
        assert_eq!(arrive(3, 2, Some(64)), Some(1));
        assert_eq!(arrive(0, 1, Some(64)), Some(2));
        // Halves of a warp.
        assert_eq!(arrive(0, 0, Some(64)), Some(3));
        assert_eq!(arrive(0, 0, Some(64)), Some(3));
        assert_eq!(arrive(1, 0, Some(64)), Some(3));
        assert_eq!(arrive(1, 0, Some(64)), Some(4));
    }

    #[test]
    fn a_name_without_a_count_is_for_the_warps_that_have_not_exited() {
        let mut log = log(1);
        // Of four warps one has exited.
        for phase in 0..2 {
            for warp in 0..3 {
                assert_eq!(arrive(&mut log, warp, 3, None), Some(phase));
            }
            let (waited, guarded_lanes) = (&[(0, 1), (1, 1), (2, 1)], &[]);
            log.release(&Release {
                barrier: 3,
                instruction: 0,
                waited,
                whole: true,
                guarded_lanes,
            });
        }
    }

    fn arrive(log: &mut PhaseLog, warp: u32, barrier: u32, threads: Option<u32>) -> Option<u32> {
        let (mask, waits) = (u32::MAX, true);
        log.arrive(&Arrival { instruction: 0, warp, barrier, mask, waits, threads })
    }
}

//! Accesses that a launch left out, where the user wants a program to go on behind a fault.

use std::collections::BTreeMap;

use gpucast_forecast::fault_report;
use gpucast_forecast::run::execute::Loaded;
use gpucast_interpreter::fault::FaultSite;
use gpucast_interpreter::{
    Access, BadAccess, CtaStart, Fault, FaultKind, Further, Observer, Program, Recorder,
};

/// The accesses of one instruction that were left out.
#[derive(Debug)]
struct LeftOut {
    /// The first one, with its CTA and thread.
    kind: FaultKind,
    cta: [u32; 3],
    thread: u32,
    count: u64,
}

/// Accesses that were left out, by their instructions.
type ByInstruction = BTreeMap<u32, LeftOut>;

/// Hears of the accesses of a launch that are out of bounds, misaligned, or stores to read-only
/// memory. Loads give zero then, and stores do nothing.
#[derive(Debug, Default)]
pub(crate) struct BadAccesses {
    found: ByInstruction,
}

/// Those of one CTA.
#[derive(Debug, Default)]
pub(crate) struct OfCta {
    cta: [u32; 3],
    found: ByInstruction,
}

/// A fault that did not end its launch.
pub(crate) struct Passed {
    /// The first access.
    pub(crate) fault: Fault,
    /// Its report in words.
    pub(crate) text: String,
    /// Accesses of its instruction that were left out.
    pub(crate) count: u64,
}

impl BadAccesses {
    /// Returns true if there was none.
    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The faults of a launch of `program`, one for each instruction.
    pub(crate) fn passed(
        self,
        program: &Program,
        block: [u32; 3],
        loaded: Option<&Loaded>,
    ) -> Vec<Passed> {
        let passed = |(instruction, first): (u32, LeftOut)| {
            let site =
                program.instructions().get(instruction as usize).map(|instruction| FaultSite {
                    span: instruction.instruction.span,
                    location: instruction.instruction.location,
                });
            let fault = Fault {
                kind: first.kind,
                kernel: program.kernel().to_owned(),
                instruction: site,
                cta: first.cta,
                thread: Some(coordinates(first.thread, block)),
            };
            let text = match loaded {
                Some(loaded) => fault_report(&fault, loaded).to_string(),
                None => fault.to_string(),
            };
            Passed { fault, text, count: first.count }
        };
        self.found.into_iter().map(passed).collect()
    }
}

/// The coordinates of a thread of a CTA by its number.
fn coordinates(thread: u32, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let (x, y) = (x.max(1), y.max(1));
    [thread % x, thread / x % y, thread / x / y]
}

impl Observer for BadAccesses {
    type Recorder = OfCta;

    fn recorder(&self, _program: &Program) -> OfCta {
        OfCta::default()
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut OfCta]) {
        for recorder in recorders {
            for (instruction, one) in std::mem::take(&mut recorder.found) {
                match self.found.get_mut(&instruction) {
                    Some(first) => first.count += one.count,
                    None => drop(self.found.insert(instruction, one)),
                }
            }
        }
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut OfCta]) {
        self.collect(first_cta, recorders);
    }

    fn fresh(&self) -> Self {
        Self::default()
    }
}

impl Recorder for OfCta {
    fn first_access(&mut self, _slot: u32, _access: &Access<'_>) -> Further {
        Further::Number
    }

    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, _access: &Access<'_>) {}

    fn start(&mut self, start: &CtaStart) {
        self.cta = start.ctaid;
    }

    fn bad_access(&mut self, bad: &BadAccess<'_>) {
        let (cta, thread) = (self.cta, 32 * bad.warp + bad.lane);
        let first = || LeftOut { kind: bad.kind.clone(), cta, thread, count: 0 };
        self.found.entry(bad.instruction).or_insert_with(first).count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_the_coordinates_of_their_block() {
        assert_eq!(coordinates(37, [8, 4, 2]), [5, 0, 1]);
        assert_eq!(coordinates(31, [8, 4, 2]), [7, 3, 0]);
        assert_eq!(coordinates(3, [0, 0, 0]), [0, 0, 3]);
    }
}

//! The order in which a launch's warps issue, kept for runs of other parameters.
//!
//! A scheduler takes the warp that is ready first. So a tiny change of a rate lets other warps go
//! first, their requests meet at the servers in another order, and the time moves by some percent
//! in either direction. In one order of issue, a clock is the latest of some clocks before it plus
//! a service time. So it moves little with each service time, and in the same direction.
//!
//! A run keeps its order: for each issue the warp. Runs of the same launch on nearly the same GPU
//! follow it. Each issue waits for the warp that the order names, and requests come to the servers
//! in that order. A run that follows its own order is the same run.

use std::cell::RefCell;
use std::rc::Rc;

use crate::limits::Limits;
use crate::observer::{Issue, Observer};
use crate::parameters::{Parameters, Scheduler};

/// The order of all issues of a simulated launch: a byte for each, and one where another SM goes
/// on.
#[derive(Clone, Debug, PartialEq)]
pub struct Order {
    frame: Frame,
    /// About how many clocks a CTA of each class takes, by which CTAs are dealt to SMs.
    lengths: Vec<f64>,
    steps: Vec<u8>,
}

/// Places of warps are below this number; the bytes from it on name an SM.
const SM: u8 = 0xF0;

/// What runs of one order have in common besides the launch.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    /// CTAs that an SM holds.
    resident: u64,
    sm_count: u32,
    sub_partitions: u32,
    issue_width: u32,
    scheduler: Scheduler,
    limits: Limits,
}

impl Frame {
    pub(crate) fn of(resident: u64, parameters: &Parameters, limits: Limits) -> Self {
        Self {
            resident,
            sm_count: parameters.sm_count,
            sub_partitions: parameters.issue.sub_partitions,
            issue_width: parameters.issue.issue_width,
            scheduler: parameters.issue.warp_scheduler,
            limits,
        }
    }
}

/// The next issue of an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// The SM's number among those that are simulated.
    pub(crate) sm: usize,
    /// The place of the warp on it.
    pub(crate) warp: u32,
}

impl Order {
    /// True if a run of a frame may follow.
    pub(crate) fn suits(&self, frame: &Frame) -> bool {
        self.frame == *frame
    }

    /// About how many clocks a CTA of each class takes.
    pub(crate) fn lengths(&self) -> &[f64] {
        &self.lengths
    }

    /// All issues.
    pub(crate) fn steps(&self) -> impl Iterator<Item = Step> + '_ {
        let mut sm = 0;
        self.steps.iter().filter_map(move |&byte| match byte {
            warp @ 0..SM => Some(Step { sm, warp: warp.into() }),
            other => {
                sm = usize::from(other - SM);
                None
            }
        })
    }

    /// Bytes that it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.steps.len() + size_of_val(&*self.lengths)
    }
}

/// An order that is being written by all SMs of a run.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    steps: Vec<u8>,
    sm: u32,
    /// True if a place or an SM had no byte.
    is_beyond: bool,
}

impl Writer {
    fn push(&mut self, sm: u32, warp: u32) {
        if sm > u32::from(u8::MAX - SM) || warp >= SM.into() {
            self.is_beyond = true;
            return;
        }
        if sm != self.sm {
            self.sm = sm;
            self.steps.push(SM + sm as u8);
        }
        self.steps.push(warp as u8);
    }

    /// The order, unless the launch has more SMs or warps than there are names.
    pub(crate) fn finish(self, frame: Frame, lengths: Vec<f64>) -> Option<Order> {
        (!self.is_beyond).then_some(Order { frame, lengths, steps: self.steps })
    }
}

/// Writes the issues of one SM into the order of all.
#[derive(Debug)]
pub(crate) struct Listener {
    sm: u32,
    writer: Rc<RefCell<Writer>>,
}

impl Listener {
    pub(crate) fn new(sm: u32, writer: &Rc<RefCell<Writer>>) -> Self {
        Self { sm, writer: Rc::clone(writer) }
    }
}

impl Observer for Listener {
    const WATCHES: bool = false;
    type Tag = ();

    #[inline]
    fn issues(&mut self, issue: Issue) {
        self.writer.borrow_mut().push(self.sm, issue.warp);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(steps: &[(u32, u32)]) -> Option<Vec<(usize, u32)>> {
        let mut writer = Writer::default();
        for &(sm, warp) in steps {
            writer.push(sm, warp);
        }
        let frame = Frame {
            resident: 1,
            sm_count: 1,
            sub_partitions: 4,
            issue_width: 1,
            scheduler: Scheduler::GreedyThenOldest,
            limits: Limits::default(),
        };
        let order = writer.finish(frame, Vec::new())?;
        Some(order.steps().map(|step| (step.sm, step.warp)).collect())
    }

    #[test]
    fn steps_are_read_as_they_were_written() {
        let steps = [(0, 3), (0, 239), (7, 0), (7, 1), (0, 1), (15, 63)];
        let read = written(&steps).unwrap();
        assert!(read.iter().map(|&(sm, warp)| (sm as u32, warp)).eq(steps));
        assert_eq!(written(&[]), Some(Vec::new()));
    }

    #[test]
    fn what_has_no_byte_makes_no_order() {
        assert_eq!(written(&[(0, 240)]), None);
        assert_eq!(written(&[(16, 0)]), None);
    }
}

//! The work of both sides: elements that must move, and operations.
//!
//! A candidate whose results are right while it reads less of an input, or computes much less or in
//! a narrower type, may be better, or may have found inputs on which it need not do its work. The
//! judge cannot tell, and says so.

use gpucast_counters::metric;

use crate::footprint::{Footprint, Used};
use crate::time::Predicted;

/// The work of both sides at the given size.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// Bytes of distinct elements by buffer, where they are known.
    pub moved: Vec<Moved>,
    /// Operations by type; those that neither side does are left out.
    pub operations: Vec<Operations>,
    /// What the candidate leaves out.
    pub skipped: Vec<Skipped>,
}

/// Bytes of a buffer's distinct elements that are read and written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The buffer.
    pub buffer: String,
    /// True if the reference does not write it.
    pub is_input: bool,
    /// The reference's.
    pub reference: Bytes,
    /// The candidate's.
    pub candidate: Bytes,
}

/// Bytes that are read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Read.
    pub read: u64,
    /// Written.
    pub written: u64,
}

impl Bytes {
    fn of(used: Used, element: u64) -> Self {
        Self { read: element * used.read, written: element * used.written }
    }
}

/// Operations of a type.
#[derive(Clone, Debug, PartialEq)]
pub struct Operations {
    /// The metric.
    pub metric: &'static str,
    /// The reference's.
    pub reference: f64,
    /// The candidate's.
    pub candidate: f64,
}

/// Work that the candidate does not do.
#[derive(Clone, Debug, PartialEq)]
pub enum Skipped {
    /// It reads fewer elements of an input.
    Reads {
        /// The input.
        buffer: String,
        /// The bytes that the reference reads.
        reference: u64,
        /// The bytes that the candidate reads.
        candidate: u64,
    },
    /// It does less than half of the operations.
    Operations {
        /// The reference's.
        reference: f64,
        /// The candidate's.
        candidate: f64,
    },
    /// It computes in a type that the reference does not use.
    NarrowType {
        /// The metric of the type.
        metric: &'static str,
    },
}

/// Operations on numbers of floating point, from wide types to narrow ones.
const OPERATIONS: [&str; 8] = [
    metric!("flop_count_dp"),
    metric!("flop_count_sp"),
    metric!("flop_count_hp"),
    metric!("tensor_op_count_fp64"),
    metric!("tensor_op_count_tf32"),
    metric!("tensor_op_count_fp16"),
    metric!("tensor_op_count_bf16"),
    metric!("tensor_op_count_fp8"),
];

/// Types of less than 32 bits of which a candidate needs a reason.
const NARROW: [&str; 5] = [
    metric!("flop_count_hp"),
    metric!("tensor_op_count_tf32"),
    metric!("tensor_op_count_fp16"),
    metric!("tensor_op_count_bf16"),
    metric!("tensor_op_count_fp8"),
];

/// A candidate that does a smaller share of the reference's operations is named.
const LEAST_SHARE: f64 = 0.5;

/// A buffer of both sides, with what each did with it.
pub(crate) struct Shared<'a> {
    pub(crate) buffer: &'a str,
    pub(crate) element: u64,
    pub(crate) is_input: bool,
    pub(crate) reference: usize,
    pub(crate) candidate: usize,
}

impl Work {
    /// What moves.
    pub(crate) fn moved(shared: &[Shared<'_>], footprints: [&Footprint; 2]) -> Self {
        let mut work = Self::default();
        for one in shared {
            let [reference, candidate] = footprints;
            let used = (reference.used(one.reference), candidate.used(one.candidate));
            let (Some(reference), Some(candidate)) = used else { continue };
            let bytes = |used| Bytes::of(used, one.element);
            let (reference, candidate) = (bytes(reference), bytes(candidate));
            let buffer = one.buffer.to_owned();
            if one.is_input && candidate.read < reference.read {
                let (buffer, reference, candidate) =
                    (buffer.clone(), reference.read, candidate.read);
                work.skipped.push(Skipped::Reads { buffer, reference, candidate });
            }
            work.moved.push(Moved { buffer, is_input: one.is_input, reference, candidate });
        }
        work
    }

    /// Adds the operations that were counted.
    pub(crate) fn add_operations(&mut self, reference: &Predicted<'_>, candidate: &Predicted<'_>) {
        let of = |metric| Operations {
            metric,
            reference: reference.operations(metric),
            candidate: candidate.operations(metric),
        };
        let all = OPERATIONS.into_iter().map(of);
        self.operations = all.filter(|one| one.reference + one.candidate > 0.0).collect();
        let sum = |side: fn(&Operations) -> f64| self.operations.iter().map(side).sum::<f64>();
        let (reference, candidate) = (sum(|one| one.reference), sum(|one| one.candidate));
        if candidate < LEAST_SHARE * reference {
            self.skipped.push(Skipped::Operations { reference, candidate });
        }
        let narrow = self.operations.iter().filter(|one| {
            NARROW.contains(&one.metric) && one.reference == 0.0 && one.candidate > 0.0
        });
        let narrow = narrow.map(|one| Skipped::NarrowType { metric: one.metric });
        self.skipped.extend(narrow);
    }
}

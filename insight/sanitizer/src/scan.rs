//! A short look for hazards in shared memory, for launches that nobody asked to check.
//!
//! Warps take turns here that a GPU's do not. A kernel that relies on an order which no barrier
//! makes may therefore give other results than on a GPU, although it breaks no rule that shows.
//! [`HazardScan`] looks at one cluster and stops looking after some accesses. It is told of no
//! values, so it may watch a slice of a program, which computes no more than addresses need.

use std::sync::Arc;

use gpucast_interpreter::{Launch, Observer, Program};
use gpucast_ptx_frontend::types::StateSpace;

use crate::checks::Check;
use crate::device::DeviceShadow;
use crate::finding::{Between, Finding, Hazard, Kind};
use crate::recorder::CtaChecker;
use crate::{Checks, Sanitizer};

/// Accesses to shared memory of a CTA, by warps, after which the scan has seen enough: several
/// rounds of the loops that fill and read tiles, and some hundredths of a second.
const ENOUGH_ACCESSES: u32 = 1 << 13;

/// Looks for reads and writes of shared memory by different warps that nothing orders.
#[derive(Debug)]
pub struct HazardScan(Sanitizer);

impl HazardScan {
    /// For a launch of `program`.
    #[must_use]
    pub fn new(program: &Program, launch: &Launch) -> Self {
        let checks = Checks::from_iter([Check::Race]);
        let device = Arc::new(DeviceShadow::new(Vec::new()));
        Self(Sanitizer::limited(program, launch, checks, &device, ENOUGH_ACCESSES))
    }

    /// Returns true if warps of a launch may meet in shared memory at all.
    #[must_use]
    pub fn is_worthwhile(program: &Program, launch: &Launch) -> bool {
        let has_memory = launch.dynamic_shared_bytes > 0 || program.static_shared_bytes() > 0;
        has_memory && launch.threads_per_cta() > 32
    }

    /// The hazards that were seen, in order of the text.
    ///
    /// Two writes are left out: without values nobody knows whether they differ. So are lanes of
    /// one warp, which go in step here as they do on a GPU that has not let them part.
    #[must_use]
    pub fn finish(self) -> Vec<Finding> {
        let mut findings = self.0.finish(None).findings;
        findings.retain(|finding| {
            let in_shared = |finding: &Finding| {
                let place = finding.example.place.as_ref();
                place.is_some_and(|place| place.space == StateSpace::Shared)
            };
            match finding.kind {
                Kind::Race(Hazard::WriteAfterWrite, _)
                | Kind::Race(_, Between::Lanes | Between::OneInstruction) => false,
                Kind::Race(..) => in_shared(finding),
                _ => false,
            }
        });
        findings
    }
}

impl Observer for HazardScan {
    type Recorder = CtaChecker;

    fn recorder(&self, program: &Program) -> CtaChecker {
        self.0.recorder(program)
    }

    fn wave(&self) -> usize {
        self.0.wave()
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut CtaChecker]) {
        self.0.collect(first_cta, recorders);
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut CtaChecker]) {
        self.0.collect_failed(first_cta, recorders);
    }

    fn fresh(&self) -> Self {
        Self(self.0.fresh())
    }
}

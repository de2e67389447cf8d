//! A judgement, as data.

use std::collections::BTreeMap;

use gpucast_forecast::Report;
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::input::expectation::Comparison;
use gpucast_forecast::run::check::CheckedLaunch;
use gpucast_forecast::run::execute::Loaded;
use gpucast_sanitizer::Finding;

use gpucast_advice::Item;
use gpucast_model::conformal::COVERAGE;

use crate::footprint::Conflict;
use crate::inputs::Variation;
use crate::time::{Decided, Times};
use crate::tolerance::Tolerance;
use crate::work::Work;

/// The answer in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// It does not compile, does not end, or its results differ from the reference's.
    Wrong,
    /// Its results are the reference's, and it does what a GPU punishes in another run.
    Unsafe,
    /// It is right, and takes longer.
    Slower,
    /// It is right, and takes less time.
    Faster,
    /// It is right as far as was tried, and nothing decides whether it is faster.
    Unsure,
}

impl Verdict {
    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wrong => "wrong",
            Self::Unsafe => "unsafe",
            Self::Slower => "slower",
            Self::Faster => "faster",
            Self::Unsure => "unsure",
        }
    }
}

/// A candidate beside a reference.
#[non_exhaustive]
pub struct Judgement {
    /// The candidate's name.
    pub candidate: String,
    /// The reference's name.
    pub reference: String,
    /// The answer.
    pub verdict: Verdict,
    /// What proves a fault, the first occurrence of each.
    pub evidence: Vec<Evidence>,
    /// The runs that were compared.
    pub cases: Vec<Case>,
    /// Sizes and inputs that were not tried, with reasons.
    pub left_out: Vec<LeftOut>,
    /// True if the time was over before all sizes and inputs were tried. Such a candidate is never
    /// said to be faster.
    pub is_cut_short: bool,
    /// The buffers that were compared, with their tolerances in the first run.
    pub outputs: Vec<Output>,
    /// The work of both sides, if the candidate is right and safe.
    pub work: Option<Work>,
    /// The predicted times of both sides, if the candidate is right and safe and a GPU is given.
    pub times: Option<Times>,
    /// What to change of the candidate first.
    pub advice: Option<Item>,
    /// What held the candidate back, if it was judged in a process of its own.
    pub confinement: Option<Confinement>,
    /// The candidate's module and its CUDA files, for the places of findings.
    pub code: Option<Code>,
}

/// The code of a candidate.
pub struct Code {
    /// Its module.
    pub loaded: Loaded,
    /// The CUDA files that the module names.
    pub files: BTreeMap<u32, CudaFile>,
}

/// The limits of a process in which a candidate was compiled and ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confinement {
    /// Seconds after which it ends.
    pub seconds: u64,
    /// Bytes of memory that a run may take.
    pub bytes: u64,
    /// True if the system holds it to these limits.
    pub holds_limits: bool,
    /// True if the system lets it read and write no files but those that it needs.
    pub holds_files: bool,
    /// True if the system lets it open no connections.
    pub holds_network: bool,
}

/// One run of both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The size, as `n=1001`; empty for a problem without parameters.
    pub size: String,
    /// The inputs.
    pub inputs: Variation,
    /// True if the candidate's results were the reference's.
    pub agrees: bool,
}

/// Something that was not tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// What: a size, or the inputs of a buffer.
    pub what: String,
    /// Why.
    pub because: String,
}

/// A buffer that was compared.
#[derive(Clone, Debug, PartialEq)]
pub struct Output {
    /// Its name.
    pub buffer: String,
    /// Its tolerance.
    pub tolerance: Tolerance,
}

/// Something that is wrong with the candidate.
pub struct Evidence {
    /// The size and the inputs at which it shows; `None` before anything runs.
    pub at: Option<(String, Variation)>,
    /// The fault.
    pub fault: Fault,
}

/// A fault of a candidate.
pub enum Fault {
    /// It does not compile, or cannot be parsed.
    Code(Vec<Report>),
    /// It cannot be launched at a size at which the reference can.
    Launch(Vec<Report>),
    /// It comes to a fault.
    Run(Vec<Report>),
    /// It takes many times as long as the reference, or as it may.
    PastLimit,
    /// Results differ.
    Differs {
        /// The buffer.
        buffer: String,
        /// The tolerance.
        tolerance: Tolerance,
        /// What differs.
        comparison: Comparison,
        /// True if the same inputs in fresh memory give the right results: the candidate keeps
        /// something from run to run.
        is_kept: bool,
    },
    /// A buffer changes that the reference leaves as it is.
    Changes {
        /// The buffer.
        buffer: String,
        /// What differs.
        comparison: Comparison,
    },
    /// Findings of the sanitizer that the reference does not have.
    Findings(Vec<CheckedLaunch>),
    /// Several CTAs use an element that one of them writes, and nothing orders them.
    Conflict {
        /// The two accesses.
        conflict: Conflict,
        /// The buffer's name.
        buffer: String,
    },
}

impl Fault {
    /// The verdict that follows.
    #[must_use]
    pub const fn verdict(&self) -> Verdict {
        match self {
            Self::Code(_)
            | Self::Launch(_)
            | Self::Run(_)
            | Self::PastLimit
            | Self::Differs { .. }
            | Self::Changes { .. } => Verdict::Wrong,
            Self::Findings(_) | Self::Conflict { .. } => Verdict::Unsafe,
        }
    }

    /// A name for programs.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Code(_) => "does-not-compile",
            Self::Launch(_) => "cannot-launch",
            Self::Run(_) => "fault",
            Self::PastLimit => "past-limit",
            Self::Differs { is_kept: false, .. } => "results-differ",
            Self::Differs { is_kept: true, .. } => "results-kept",
            Self::Changes { .. } => "input-changed",
            Self::Findings(_) => "finding",
            Self::Conflict { .. } => "unordered-blocks",
        }
    }
}

impl Judgement {
    /// Of a candidate that was ended from outside, while it was read, ran or was predicted.
    #[must_use]
    pub fn past_limit(candidate: &str, reference: &str) -> Self {
        let mut judgement = Self::new(candidate, reference);
        judgement.evidence.push(Evidence { at: None, fault: Fault::PastLimit });
        judgement.conclude();
        judgement
    }

    /// Before anything has run.
    pub(crate) fn new(candidate: &str, reference: &str) -> Self {
        Self {
            candidate: candidate.to_owned(),
            reference: reference.to_owned(),
            verdict: Verdict::Unsure,
            evidence: Vec::new(),
            cases: Vec::new(),
            left_out: Vec::new(),
            is_cut_short: false,
            outputs: Vec::new(),
            work: None,
            times: None,
            advice: None,
            confinement: None,
            code: None,
        }
    }

    /// Adds what is new of some evidence.
    pub(crate) fn add(&mut self, mut new: Evidence) {
        match &mut new.fault {
            Fault::Findings(launches) => {
                for launch in launches.iter_mut() {
                    launch.findings.findings.retain(|finding| !self.knows(finding));
                }
                launches.retain(|launch| !launch.findings.findings.is_empty());
                if launches.is_empty() {
                    return;
                }
            }
            Fault::Conflict { conflict, .. } => {
                let is_known = |known: &Evidence| {
                    matches!(&known.fault, Fault::Conflict { conflict: other, .. }
                        if (&other.write, &other.other) == (&conflict.write, &conflict.other))
                };
                if self.evidence.iter().any(is_known) {
                    return;
                }
            }
            Fault::Code(_)
            | Fault::Launch(_)
            | Fault::Run(_)
            | Fault::PastLimit
            | Fault::Differs { .. }
            | Fault::Changes { .. } => {}
        }
        self.evidence.push(new);
    }

    fn knows(&self, finding: &Finding) -> bool {
        let launches = self.evidence.iter().filter_map(|evidence| match &evidence.fault {
            Fault::Findings(launches) => Some(launches),
            _ => None,
        });
        let mut known = launches.flatten().flat_map(|launch| &launch.findings.findings);
        known.any(|known| {
            (known.kind, &known.example.party.site) == (finding.kind, &finding.example.party.site)
        })
    }

    /// The verdict of what has been found.
    pub(crate) fn conclude(&mut self) {
        let worst = self.evidence.iter().map(|evidence| evidence.fault.verdict()).min();
        let of_time = || self.of_time(self.times.as_ref().map(Times::decided));
        self.verdict = worst.unwrap_or_else(of_time);
    }

    /// The verdict about a candidate without a fault.
    fn of_time(&self, decided: Option<Decided>) -> Verdict {
        let skips = self.work.as_ref().is_some_and(|work| !work.skipped.is_empty());
        match decided {
            Some(Decided::Slower) => Verdict::Slower,
            Some(Decided::Faster) if !skips && !self.is_cut_short => Verdict::Faster,
            Some(Decided::Faster | Decided::Neither) | None => Verdict::Unsure,
        }
    }

    /// The probability that a verdict about time is right, as far as measured times tell: that of
    /// an interval and of all that lies beyond one of its ends. Other verdicts have none: what is
    /// shown by a run needs none, and nothing decides what is unsure.
    #[must_use]
    pub fn confidence(&self) -> Option<f64> {
        match self.verdict {
            Verdict::Slower | Verdict::Faster => Some((1.0 + COVERAGE) / 2.0),
            Verdict::Wrong | Verdict::Unsafe | Verdict::Unsure => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_faster_who_was_not_tried_to_the_end() {
        let mut judgement = Judgement::new("fast", "slow");
        assert_eq!(judgement.of_time(Some(Decided::Faster)), Verdict::Faster);
        judgement.is_cut_short = true;
        assert_eq!(judgement.of_time(Some(Decided::Faster)), Verdict::Unsure);
        assert_eq!(judgement.of_time(Some(Decided::Slower)), Verdict::Slower);
    }
}

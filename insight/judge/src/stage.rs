//! Both sides at one size: runs with the same inputs, and what they show.

use std::path::Path;
use std::time::Instant;

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::ElementType;
use gpucast_forecast::input::expectation::{Comparison, compare};
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::execute::{self, Loaded};
use gpucast_forecast::{Failure, Report};
use gpucast_interpreter::{DeviceMemory, Options};
use gpucast_sanitizer::Kind;

use crate::inputs::{self, Variation};
use crate::interface::{self, Pair};
use crate::judgement::{Fault, Output};
use crate::side::Opened;
use crate::tolerance::{self, Tolerance};
use crate::trial::{self, End, Ran};
use crate::{Expected, Phase, Request};

/// Candidate and reference at one size.
pub(crate) struct Stage<'a> {
    request: &'a Request<'a>,
    pub(crate) reference: Opened,
    pub(crate) candidate: Opened,
    pub(crate) pairs: Vec<Pair>,
    /// The candidate's memory, in which it runs again and again.
    memory: DeviceMemory,
    /// Which buffers the reference writes, once it has run.
    pub(crate) written: Vec<bool>,
    /// Values that buffers of the reference have with the given inputs.
    expected: Vec<(usize, Vec<u8>)>,
}

/// What a run of the reference left behind.
pub(crate) struct Answer {
    pub(crate) ran: Ran,
    memory: DeviceMemory,
    pub(crate) contents: Vec<Vec<u8>>,
    /// Thread-instructions of all launches.
    instructions: u128,
    seconds: f64,
}

/// What a run of the candidate showed.
pub(crate) struct Shown {
    pub(crate) faults: Vec<Fault>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) ran: Ran,
    /// True if it was given up because the time of the whole judgement was over.
    pub(crate) is_out_of_time: bool,
}

impl Shown {
    /// Returns true if the results were those of the reference.
    pub(crate) fn agrees(&self) -> bool {
        self.ran.end == End::Finished
            && self.faults.iter().all(|fault| fault.verdict() != crate::Verdict::Wrong)
    }
}

/// How many times the instructions of the reference a candidate may execute, and how many it may
/// in any case.
const MOST_TIMES_INSTRUCTIONS: u128 = 64;
const LEAST_BUDGET: u128 = 1 << 19;

/// A candidate that was given up for time has run past the limit if it took so many times as long
/// as the reference; otherwise the limit was too short for both.
const MOST_TIMES_LONGER: f64 = 10.0;

impl<'a> Stage<'a> {
    pub(crate) fn new(
        request: &'a Request<'a>,
        reference: Opened,
        mut candidate: Opened,
    ) -> Result<Self, Report> {
        let pairs = interface::matched(&reference.plan, &candidate.plan)?;
        for pair in &pairs {
            // What the host fills is the reference's launch to say.
            let theirs = &reference.plan.buffers[pair.reference];
            let own = &mut candidate.plan.buffers[pair.candidate];
            if theirs.pointers.is_empty() && own.pointers.is_empty() {
                own.init = match theirs.init {
                    Init::Unstated => Init::Unstated,
                    _ => Init::Zero,
                };
            }
        }
        let memory = execute::memory(&candidate.plan, &candidate.loaded)?;
        let written = vec![true; reference.plan.buffers.len()];
        let expected = expected(request, &reference.plan)?;
        Ok(Self { request, reference, candidate, pairs, memory, written, expected })
    }

    /// Runs the reference in memory of its own.
    pub(crate) fn answer(&mut self, variation: Variation) -> Result<Answer, Failure> {
        (self.request.phase)(Phase::Reference);
        let reference = &self.reference;
        let mut memory = execute::memory(&reference.plan, &reference.loaded)?;
        let contents = (0..reference.plan.buffers.len())
            .map(|index| inputs::contents(&reference.plan, index, variation, self.written[index]))
            .collect::<Result<Vec<Vec<u8>>, Report>>()?;
        for (buffer, bytes) in reference.plan.buffers.iter().zip(&contents) {
            if buffer.pointers.is_empty()
                && let Some(place) = memory.bytes_mut(&buffer.name)
            {
                place.copy_from_slice(bytes);
            }
        }
        if self.request.reference.is_none() {
            let (ran, seconds, instructions) = (Ran::nothing(), 0.0, u128::MAX >> 32);
            return Ok(Answer { ran, memory, contents, instructions, seconds });
        }
        let plan = varied(&reference.plan, variation);
        let started = Instant::now();
        let (options, supervisor) = (&self.request.options, self.request.supervisor);
        let ran = trial::run(&plan, &reference.loaded, &mut memory, options, supervisor)?;
        let seconds = started.elapsed().as_secs_f64();
        if variation == Variation::Given && ran.end == End::Finished {
            for (index, written) in self.written.iter_mut().enumerate() {
                *written = match ran.footprint.used(index) {
                    Some(used) => used.written > 0,
                    // A large one is compared as a whole.
                    None => memory.bytes(&plan.buffers[index].name) != Some(&*contents[index]),
                };
            }
        }
        let instructions = ran.thread_instructions;
        Ok(Answer { ran, memory, contents, instructions, seconds })
    }

    /// Runs the candidate in the memory that its earlier runs have left, with the inputs of an
    /// answer.
    pub(crate) fn try_candidate(
        &mut self,
        variation: Variation,
        answer: &Answer,
    ) -> Result<Shown, Failure> {
        (self.request.phase)(Phase::Candidate);
        let plan = varied(&self.candidate.plan, variation);
        let with = With { request: self.request, plan: &plan, loaded: &self.candidate.loaded };
        let (ran, seconds) =
            with.run(&mut self.memory, &self.pairs, &self.reference.plan, answer)?;
        let is_late = ran.end == End::OutOfTime;
        let is_past_limit = ran.end == End::PastLimit
            || is_late && seconds > MOST_TIMES_LONGER * answer.seconds.max(0.1);
        let mut faults = self.safety(&ran, &answer.ran);
        let mut outputs = Vec::new();
        match &ran.end {
            End::Finished => {
                let (mut differing, mut compared) = self.compared(&self.memory, answer)?;
                if variation == Variation::Given {
                    self.compare_expected(&mut differing, &mut compared);
                }
                outputs = compared;
                faults.splice(..0, differing);
            }
            End::Fault(reports) => faults.insert(0, Fault::Run(reports.clone())),
            End::Explained => {}
            End::PastLimit | End::OutOfTime if is_past_limit => faults.insert(0, Fault::PastLimit),
            End::PastLimit | End::OutOfTime => {}
        }
        Ok(Shown { faults, outputs, ran, is_out_of_time: is_late && !is_past_limit })
    }

    /// Returns true if the candidate's results are right with the same inputs in fresh memory.
    pub(crate) fn is_right_alone(
        &self,
        variation: Variation,
        answer: &Answer,
    ) -> Result<bool, Failure> {
        let plan = varied(&self.candidate.plan, variation);
        let with = With { request: self.request, plan: &plan, loaded: &self.candidate.loaded };
        let mut memory = execute::memory(&plan, &self.candidate.loaded)?;
        let (ran, _) = with.run(&mut memory, &self.pairs, &self.reference.plan, answer)?;
        Ok(ran.end == End::Finished && self.compared(&memory, answer)?.0.is_empty())
    }

    /// Which buffers the reference writes as a whole; one that is too large to know counts.
    pub(crate) fn is_complete(&self, answer: &Answer) -> Vec<bool> {
        let buffers = self.reference.plan.buffers.iter().enumerate();
        let complete = buffers.map(|(index, buffer)| {
            answer.ran.footprint.used(index).is_none_or(|used| used.written == buffer.len as u64)
        });
        complete.collect()
    }

    /// The buffers whose contents are the answer, as places in the reference's plan.
    pub(crate) fn outputs(&self) -> Result<Vec<usize>, Report> {
        if self.request.reference.is_none() {
            return Ok(Vec::new());
        }
        let plan = &self.reference.plan;
        let named = self.request.outputs.iter().map(|name| {
            let place = plan.buffers.iter().position(|buffer| buffer.name == *name);
            place.ok_or_else(|| {
                let known = plan.buffers.iter().map(|buffer| buffer.name.as_str());
                let report = Report::new(format!("the reference has no buffer `{name}`"));
                report.maybe_hint(gpucast_forecast::failure::suggest(name, known))
            })
        });
        let mut outputs = named.collect::<Result<Vec<usize>, Report>>()?;
        if outputs.is_empty() {
            outputs = plan.expectations.iter().map(|expectation| expectation.buffer).collect();
        }
        let states_them = !outputs.is_empty();
        if !states_them {
            outputs = (0..plan.buffers.len()).filter(|&index| self.written[index]).collect();
        }
        let is_matched = |index: &usize| self.pairs.iter().any(|pair| pair.reference == *index);
        match outputs.iter().find(|index| !is_matched(index)) {
            None => Ok(outputs),
            Some(&missing) => {
                let name = &plan.buffers[missing].name;
                let message =
                    format!("the candidate has no buffer `{name}`, which the reference writes");
                Err(Report::new(message).hint("name the buffers that are results: --result NAME"))
            }
        }
    }

    /// Buffers of the reference whose contents are the same in all runs.
    pub(crate) fn unvaried(&self) -> Vec<&str> {
        let buffers = self.reference.plan.buffers.iter().enumerate();
        let fixed = buffers.filter(|(index, buffer)| {
            buffer.init != Init::Unstated
                && !(self.written[*index] && matches!(buffer.init, Init::Zero))
                && !inputs::is_varied(buffer, self.written[*index])
        });
        fixed.map(|(_, buffer)| buffer.name.as_str()).collect()
    }

    /// Returns true if some input differs from run to run.
    pub(crate) fn varies(&self) -> bool {
        let mut buffers = self.reference.plan.buffers.iter().enumerate();
        buffers.any(|(index, buffer)| inputs::is_varied(buffer, self.written[index]))
    }

    /// The results that differ, and all that were compared.
    fn compared(
        &self,
        memory: &DeviceMemory,
        answer: &Answer,
    ) -> Result<(Vec<Fault>, Vec<Output>), Report> {
        let (reference, candidate) = (&self.reference.plan, &self.candidate.plan);
        let outputs = self.outputs()?;
        let (mut faults, mut compared) = (Vec::new(), Vec::new());
        for pair in &self.pairs {
            let (theirs, own) =
                (&reference.buffers[pair.reference], &candidate.buffers[pair.candidate]);
            if !theirs.pointers.is_empty() || !own.pointers.is_empty() {
                continue;
            }
            let got = memory.bytes(&own.name).unwrap_or_default();
            let want = answer.memory.bytes(&theirs.name).unwrap_or_default();
            let buffer = theirs.name.clone();
            if outputs.contains(&pair.reference) {
                let tolerance =
                    tolerance::of(reference, pair.reference, want, self.request.tolerances);
                compared.push(Output { buffer: buffer.clone(), tolerance });
                if let Some(comparison) = difference(theirs.ty, got, want, tolerance) {
                    faults.push(Fault::Differs { buffer, tolerance, comparison, is_kept: false });
                }
            } else if !self.written[pair.reference]
                && let Some(comparison) = difference(theirs.ty, got, want, Tolerance::EXACT)
            {
                faults.push(Fault::Changes { buffer, comparison });
            }
        }
        Ok((faults, compared))
    }

    /// Adds buffers that have expected values.
    fn compare_expected(&self, differing: &mut Vec<Fault>, compared: &mut Vec<Output>) {
        let (reference, candidate) = (&self.reference.plan, &self.candidate.plan);
        for (index, want) in &self.expected {
            let Some(pair) = self.pairs.iter().find(|pair| pair.reference == *index) else {
                continue;
            };
            let theirs = &reference.buffers[*index];
            let got = self.memory.bytes(&candidate.buffers[pair.candidate].name);
            let tolerance = tolerance::of(reference, *index, want, self.request.tolerances);
            let buffer = theirs.name.clone();
            compared.push(Output { buffer: buffer.clone(), tolerance });
            if let Some(comparison) =
                difference(theirs.ty, got.unwrap_or_default(), want, tolerance)
            {
                differing.push(Fault::Differs { buffer, tolerance, comparison, is_kept: false });
            }
        }
    }

    /// The findings that the reference does not have in the same run.
    fn safety(&self, ran: &Ran, of_reference: &Ran) -> Vec<Fault> {
        let kinds = |ran: &Ran| -> Vec<Kind> {
            let all = ran.checked.iter().flat_map(|launch| &launch.findings.findings);
            all.map(|finding| finding.kind).collect()
        };
        let excused = kinds(of_reference);
        let mut checked = Vec::new();
        for launch in &ran.checked {
            let mut findings = launch.findings.clone();
            findings.findings.retain(|finding| !excused.contains(&finding.kind));
            if !findings.findings.is_empty() {
                checked.push(launch.with(findings));
            }
        }
        let mut faults = Vec::new();
        if !checked.is_empty() {
            faults.push(Fault::Findings(checked));
        }
        if of_reference.footprint.conflicts().next().is_none() {
            faults.extend(ran.footprint.conflicts().map(|conflict| Fault::Conflict {
                buffer: self.candidate.plan.buffers[conflict.buffer].name.clone(),
                conflict: conflict.clone(),
            }));
        }
        faults
    }
}

/// The expected values of buffers, from their files.
fn expected(request: &Request<'_>, plan: &Plan) -> Result<Vec<(usize, Vec<u8>)>, Report> {
    let read = |Expected { buffer: name, file }: &Expected| {
        let Some(index) = plan.buffers.iter().position(|buffer| buffer.name == *name) else {
            let known = plan.buffers.iter().map(|buffer| buffer.name.as_str());
            let report = Report::new(format!("there is no buffer `{name}`"));
            return Err(report.maybe_hint(gpucast_forecast::failure::suggest(name, known)));
        };
        let buffer = &plan.buffers[index];
        let mut bytes = vec![0; buffer.bytes() as usize];
        let filled = Init::File(file.clone()).fill(buffer.ty, &mut bytes, Path::new(""));
        filled.map_err(|error| Report::new(error.to_string()))?;
        Ok((index, bytes))
    };
    request.expected.iter().map(read).collect()
}

/// A plan with the scalars of a run.
fn varied(plan: &Plan, variation: Variation) -> Plan {
    let mut plan = plan.clone();
    inputs::vary_scalars(&mut plan, variation);
    plan
}

/// A candidate that is about to run.
struct With<'a> {
    request: &'a Request<'a>,
    plan: &'a Plan,
    loaded: &'a Loaded,
}

impl With<'_> {
    /// Fills the buffers that the candidate alone has as its launch states it, which the host does
    /// before each run. Those that nobody fills keep what the last run left.
    fn refill(&self, memory: &mut DeviceMemory, pairs: &[Pair]) -> Result<(), Report> {
        for (index, buffer) in self.plan.buffers.iter().enumerate() {
            let is_shared = pairs.iter().any(|pair| pair.candidate == index);
            if is_shared || buffer.init == Init::Unstated || !buffer.pointers.is_empty() {
                continue;
            }
            let Some(bytes) = memory.bytes_mut(&buffer.name) else { continue };
            bytes.fill(0);
            let filled = buffer.init.fill(buffer.ty, bytes, &self.plan.folder);
            filled.map_err(|error| Report::new(error.to_string()).at(&buffer.anchor))?;
        }
        Ok(())
    }

    /// Runs it with the inputs of an answer. Returns the seconds that it took, too.
    fn run(
        &self,
        memory: &mut DeviceMemory,
        pairs: &[Pair],
        reference: &Plan,
        answer: &Answer,
    ) -> Result<(Ran, f64), Failure> {
        for pair in pairs {
            let own = &self.plan.buffers[pair.candidate];
            let theirs = &reference.buffers[pair.reference];
            if own.pointers.is_empty()
                && theirs.pointers.is_empty()
                && let Some(place) = memory.bytes_mut(&own.name)
            {
                place.copy_from_slice(&answer.contents[pair.reference]);
            }
        }
        self.refill(memory, pairs)?;
        let budget = MOST_TIMES_INSTRUCTIONS * (answer.instructions / 32) + LEAST_BUDGET;
        let most = self.request.options.instruction_budget;
        let budget = u64::try_from(budget).unwrap_or(u64::MAX).min(most);
        let options = Options { instruction_budget: budget, ..self.request.options };
        let started = Instant::now();
        let ran = trial::run(self.plan, self.loaded, memory, &options, self.request.supervisor)?;
        Ok((ran, started.elapsed().as_secs_f64()))
    }
}

fn difference(
    ty: ElementType,
    got: &[u8],
    want: &[u8],
    tolerance: Tolerance,
) -> Option<Comparison> {
    // Most buffers are the same to the last bit.
    if got == want {
        return None;
    }
    let comparison = compare(ty, got, want, tolerance.rtol, tolerance.atol);
    (comparison.mismatches > 0).then_some(comparison)
}

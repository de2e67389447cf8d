//! Sizes and inputs one after the other, until something is wrong.

use gpucast_forecast::failure::suggest;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::kernel_argument::ReadFailure;
use gpucast_forecast::{Failure, Report};

use crate::footprint::Footprint;
use crate::inputs::Variation;
use crate::judgement::{Case, Evidence, Fault, Judgement, LeftOut, Verdict};
use crate::side::NotOpened;
use crate::sizes::{self, Size};
use crate::stage::{Answer, Stage};
use crate::trial::End;
use crate::{Phase, Request};

/// Thread-instructions of a run beyond which odd sizes are tried with one kind of inputs.
const LARGE: u128 = 1 << 24;

/// The given size, and what both sides did there with the given inputs.
pub(crate) struct Compared<'a> {
    pub(crate) stage: Stage<'a>,
    pub(crate) answer: Answer,
    pub(crate) footprint: Footprint,
}

/// Runs both sides at all sizes. Returns the given size, unless the candidate's code is at fault.
pub(crate) fn compare<'a>(
    request: &'a Request<'a>,
    judgement: &mut Judgement,
) -> Result<Option<Compared<'a>>, ReadFailure> {
    let scope = Scope::of(request)?;
    let given = Size::given(&scope.given);
    let reference = request.given_by().open(&scope.taken(scope.of_reference.as_ref(), &given))?;
    (request.phase)(Phase::Candidate);
    let parameters = scope.taken(scope.of_candidate.as_ref(), &given);
    let candidate = match request.candidate.open_beside(&parameters, &reference.plan) {
        Ok(candidate) => candidate,
        Err(NotOpened::Code(reports)) => {
            judgement.evidence.push(Evidence { at: None, fault: Fault::Code(reports) });
            return Ok(None);
        }
        Err(NotOpened::Request(failure)) => return Err(failure),
    };
    let mut stage = Stage::new(request, reference, candidate).map_err(Failure::from)?;
    let mut runs = Runs { request, judgement, footprint: None };
    let answer = runs.answer_given(&mut stage)?;
    stage.outputs().map_err(Failure::from)?;
    if request.reference.is_none() {
        runs.try_one(&mut stage, &given, Variation::Given, &answer)?;
        runs.leave_out(
            "other inputs and sizes".to_owned(),
            "expected values are of the given ones",
        );
        let footprint = runs.footprint.unwrap_or_default();
        return Ok(Some(Compared { stage, answer, footprint }));
    }
    for name in stage.unvaried() {
        let what = format!("other contents of buffer {name}");
        let because = "its contents are no random numbers, and may be indices".to_owned();
        runs.judgement.left_out.push(LeftOut { what, because });
    }
    let is_right = runs.try_given(&mut stage, &given, &answer)?;
    if is_right && request.tries_odd_sizes {
        let complete = stage.is_complete(&answer);
        for size in scope.odd_sizes(runs.judgement) {
            if !runs.try_odd(&scope, &size, &stage.written, &complete)? {
                break;
            }
        }
    }
    let footprint = runs.footprint.unwrap_or_default();
    Ok(Some(Compared { stage, answer, footprint }))
}

/// The parameters of both sides.
struct Scope {
    given: Parameters,
    /// Those that a side declares; `None` for a module, which takes any.
    of_reference: Option<Parameters>,
    of_candidate: Option<Parameters>,
    reference: String,
    candidate: String,
}

impl Scope {
    fn of(request: &Request<'_>) -> Result<Self, Failure> {
        let asked = request.parameters;
        let of_reference = request.given_by().parameters()?;
        let of_candidate = request.candidate.parameters()?;
        let mut given = Parameters::new();
        given.extend(of_candidate.iter().flatten().map(owned));
        given.extend(of_reference.iter().flatten().map(owned));
        let is_any = of_candidate.is_none() || of_reference.is_none();
        for (name, &value) in asked {
            if !is_any && !given.contains_key(name) {
                let message = format!("neither side has a parameter `{name}`");
                let known = given.keys().map(String::as_str);
                return Err(Report::new(message).maybe_hint(suggest(name, known)).into());
            }
            given.insert(name.clone(), value);
        }
        let (reference, candidate) =
            (request.reference_name().to_owned(), request.candidate.input.clone());
        Ok(Self { given, of_reference, of_candidate, reference, candidate })
    }

    /// The parameters of a size that a side takes.
    fn taken(&self, declared: Option<&Parameters>, size: &Size) -> Parameters {
        let is_taken = |name: &str| declared.is_none_or(|declared| declared.contains_key(name));
        size.parameters.iter().filter(|(name, _)| is_taken(name)).map(owned).collect()
    }

    /// The odd sizes. What keeps a parameter from having them is left out.
    fn odd_sizes(&self, judgement: &mut Judgement) -> Vec<Size> {
        let is_size = |name: &&String| sizes::is_size(self.given[*name]);
        let is_shared = |name: &&String| {
            self.of_candidate.as_ref().is_none_or(|declared| declared.contains_key(*name))
        };
        let is_of_reference = |name: &&String| {
            self.of_reference.as_ref().is_none_or(|declared| declared.contains_key(*name))
        };
        let all = self.given.keys().filter(is_of_reference).filter(is_size);
        let (names, alone): (Vec<&String>, Vec<&String>) = all.partition(is_shared);
        judgement.left_out.extend(alone.iter().map(|name| LeftOut {
            what: format!("other values of {name}"),
            because: format!("{} has no parameter of this name", self.candidate),
        }));
        if names.is_empty() && alone.is_empty() {
            judgement.left_out.push(LeftOut {
                what: "other sizes".to_owned(),
                because: format!("{} has no parameters", self.reference),
            });
        }
        let names: Vec<&str> = names.into_iter().map(String::as_str).collect();
        sizes::odd(&self.given, &names)
    }
}

/// Runs of both sides, and the judgement that they make.
struct Runs<'a, 'j> {
    request: &'a Request<'a>,
    judgement: &'j mut Judgement,
    /// That of the candidate's first run.
    footprint: Option<Footprint>,
}

impl<'a> Runs<'a, '_> {
    /// The reference with the given inputs, which must run to its end.
    fn answer_given(&mut self, stage: &mut Stage<'a>) -> Result<Answer, Failure> {
        let answer = stage.answer(Variation::Given)?;
        let name = self.request.reference_name();
        let report = match &answer.ran.end {
            End::Finished => return Ok(answer),
            End::Fault(reports) => return Err(reports.clone().into()),
            End::Explained => Report::new(format!("the reference {name} comes to a fault"))
                .hint("`gpucast run --check all` shows it"),
            End::PastLimit | End::OutOfTime => {
                Report::new(format!("the reference {name} runs past the limit"))
                    .hint("choose a smaller size, or raise --time-limit")
            }
        };
        Err(report.into())
    }

    /// All inputs at the given size. Returns false if the candidate is wrong.
    fn try_given(
        &mut self,
        stage: &mut Stage<'a>,
        size: &Size,
        first: &Answer,
    ) -> Result<bool, Failure> {
        if !self.try_one(stage, size, Variation::Given, first)? {
            return Ok(false);
        }
        let seeds = u64::from(self.request.seeds);
        let mut inputs: Vec<Variation> = (1..seeds).map(Variation::Seed).collect();
        if stage.varies() {
            inputs.push(Variation::Sparse(seeds));
        }
        for variation in inputs {
            let answer = stage.answer(variation)?;
            match answer.ran.end {
                End::Finished => {}
                End::OutOfTime => {
                    self.cut_short(variation.text());
                    continue;
                }
                End::Fault(_) | End::Explained | End::PastLimit => {
                    let because = "the reference does not run to its end with them";
                    self.leave_out(variation.text(), because);
                    continue;
                }
            }
            if !self.try_one(stage, size, variation, &answer)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// An odd size. Returns false if the candidate is wrong there.
    fn try_odd(
        &mut self,
        scope: &Scope,
        size: &Size,
        written: &[bool],
        complete: &[bool],
    ) -> Result<bool, Failure> {
        let request = self.request;
        (request.phase)(Phase::Reference);
        let parameters = scope.taken(scope.of_reference.as_ref(), size);
        let reference = match request.given_by().open(&parameters) {
            Ok(reference) => reference,
            Err(NotOpened::Code(reports)) => {
                self.leave_out(size.name.clone(), &Failure::Input(reports).in_one_line()?);
                return Ok(true);
            }
            Err(NotOpened::Request(failure)) => {
                self.leave_out(size.name.clone(), &Failure::from(failure).in_one_line()?);
                return Ok(true);
            }
        };
        (request.phase)(Phase::Candidate);
        let parameters = scope.taken(scope.of_candidate.as_ref(), size);
        let opened = request.candidate.open_beside(&parameters, &reference.plan);
        let staged = match opened {
            Ok(candidate) => {
                Stage::new(request, reference, candidate).map_err(|report| vec![report])
            }
            Err(NotOpened::Code(reports)) => Err(reports),
            Err(NotOpened::Request(failure)) => match Failure::from(failure) {
                Failure::Input(reports) => Err(reports),
                Failure::Usage(report) => Err(vec![report]),
                failure @ (Failure::Explained | Failure::Stopped) => return Err(failure),
            },
        };
        let mut stage = match staged {
            Ok(stage) => stage,
            Err(reports) => {
                let at = Some((size.name.clone(), Variation::Given));
                self.judgement.evidence.push(Evidence { at, fault: Fault::Launch(reports) });
                return Ok(false);
            }
        };
        stage.written = written.to_vec();
        for variation in [Variation::Seed(1), Variation::Sparse(2)] {
            let answer = stage.answer(variation)?;
            let fewer =
                || stage.is_complete(&answer).iter().zip(complete).any(|(now, was)| *was && !now);
            if matches!(answer.ran.end, End::OutOfTime | End::PastLimit) {
                self.cut_short(size.name.clone());
                return Ok(true);
            }
            let because = if !answer.ran.is_clean() {
                Some("the reference has findings there")
            } else if fewer() {
                Some("the reference leaves part of its results unwritten there")
            } else {
                None
            };
            if let Some(because) = because {
                self.leave_out(size.name.clone(), because);
                return Ok(true);
            }
            if !self.try_one(&mut stage, size, variation, &answer)? {
                return Ok(false);
            }
            if answer.ran.thread_instructions > LARGE {
                break;
            }
        }
        Ok(true)
    }

    /// A run of the candidate. Returns false if it is wrong.
    fn try_one(
        &mut self,
        stage: &mut Stage<'a>,
        size: &Size,
        variation: Variation,
        answer: &Answer,
    ) -> Result<bool, Failure> {
        let shown = stage.try_candidate(variation, answer)?;
        if shown.is_out_of_time {
            self.cut_short(format!("{} {}", size.name, variation.text()));
            return Ok(true);
        }
        let agrees = shown.agrees();
        let mut faults = shown.faults;
        let is_first = self.footprint.is_none();
        if !agrees && !is_first {
            self.mark_kept(stage, variation, answer, &mut faults)?;
        }
        let ended = shown.ran.end == End::Finished;
        self.footprint.get_or_insert(shown.ran.footprint);
        if self.judgement.outputs.is_empty() {
            self.judgement.outputs = shown.outputs;
        }
        self.judgement.cases.push(Case { size: size.name.clone(), inputs: variation, agrees });
        let is_wrong = faults.iter().any(|fault| fault.verdict() == Verdict::Wrong);
        for fault in faults {
            let at = Some((size.name.clone(), variation));
            self.judgement.add(Evidence { at, fault });
        }
        Ok(!is_wrong && ended)
    }

    /// Says of wrong results whether they come from an earlier run.
    fn mark_kept(
        &self,
        stage: &Stage<'a>,
        variation: Variation,
        answer: &Answer,
        faults: &mut [Fault],
    ) -> Result<(), Failure> {
        let differs = |fault: &Fault| matches!(fault, Fault::Differs { .. });
        if !faults.iter().any(differs) || !stage.is_right_alone(variation, answer)? {
            return Ok(());
        }
        for fault in faults {
            if let Fault::Differs { is_kept, .. } = fault {
                *is_kept = true;
            }
        }
        Ok(())
    }

    /// Leaves out what there is no time for.
    fn cut_short(&mut self, what: String) {
        self.judgement.is_cut_short = true;
        self.leave_out(what, "the time is over");
    }

    fn leave_out(&mut self, what: String, because: &str) {
        self.judgement.left_out.push(LeftOut { what, because: because.to_owned() });
    }
}

fn owned((name, &value): (&String, &f64)) -> (String, f64) {
    (name.clone(), value)
}

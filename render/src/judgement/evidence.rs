//! Faults of a candidate in words, each with its file and line.

use std::fmt;
use std::sync::Arc;

use gpucast_forecast::input::expectation::{Comparison, Mismatch};
use gpucast_forecast::{Report, number};
use gpucast_judge::judgement::{Code, Evidence, Fault, Judgement};
use gpucast_judge::tolerance::Tolerance;
use gpucast_sanitizer::Site;

use crate::findings;
use crate::run::short;

/// A fault in words.
pub(crate) struct Told {
    /// A name for programs: that of the fault, or of a finding.
    pub(crate) code: &'static str,
    /// A sentence without a full stop.
    pub(crate) message: String,
    pub(crate) facts: Vec<String>,
    pub(crate) hint: Option<String>,
    pub(crate) place: Option<Place>,
}

/// A line of a file.
pub(crate) struct Place {
    pub(crate) file: String,
    /// From 1 on.
    pub(crate) line: u32,
    /// The code there.
    pub(crate) code: Quotable,
}

/// A line with the text that it stands in: that of a place, or its PTX where there is no CUDA file.
pub(crate) struct Quotable {
    pub(crate) file: String,
    /// From 1 on.
    pub(crate) line: u32,
    text: Arc<str>,
}

impl Quotable {
    /// The line and its neighbours, each with its number.
    pub(crate) fn around(&self, neighbours: u32) -> Vec<(u32, &str)> {
        let first = self.line.saturating_sub(neighbours).max(1);
        let numbers = first..=self.line.saturating_add(neighbours);
        numbers.zip(self.text.lines().skip(first as usize - 1)).collect()
    }
}

impl Place {
    fn new(file: &str, line: u32, text: Arc<str>) -> Self {
        let code = Quotable { file: file.to_owned(), line, text };
        Self { file: file.to_owned(), line, code }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

impl Told {
    fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), facts: Vec::new(), hint: None, place: None }
    }

    fn of_report(code: &'static str, report: &Report) -> Self {
        let place = report.anchor.as_ref().map(|anchor| {
            let line = u32::try_from(anchor.position().0).unwrap_or(u32::MAX);
            Place::new(&anchor.source.name, line, Arc::clone(&anchor.source.text))
        });
        let (facts, hint) = (report.facts.clone(), report.hint.clone());
        Self { facts, hint, place, ..Self::new(code, report.message.clone()) }
    }
}

/// A fault in words: one for each report or finding.
pub(crate) fn told(evidence: &Evidence, judgement: &Judgement) -> Vec<Told> {
    let code = evidence.fault.code();
    let reports = |reports: &[Report]| -> Vec<Told> {
        reports.iter().map(|report| Told::of_report(code, report)).collect()
    };
    match &evidence.fault {
        Fault::Code(of) | Fault::Launch(of) | Fault::Run(of) => reports(of),
        Fault::PastLimit => vec![Told {
            hint: Some("look for a loop that does not end; --time-limit allows more".to_owned()),
            ..Told::new(code, "ran past the limit")
        }],
        Fault::Differs { buffer, tolerance, comparison, is_kept } => {
            let mut told = Told::new(code, differs(buffer, comparison));
            told.facts = mismatches(buffer, comparison);
            let Tolerance { rtol, atol } = *tolerance;
            let (rtol, atol) = (short(rtol), short(atol));
            told.facts.push(format!("tolerance: rtol {rtol}, atol {atol}"));
            told.hint = is_kept.then(|| {
                "the same inputs in fresh memory give the right results: something is kept from \
                 an earlier run"
                    .to_owned()
            });
            vec![told]
        }
        Fault::Changes { buffer, comparison } => {
            let elements = number::count(comparison.mismatches as u64);
            let message =
                format!("{elements} elements of {buffer} change, which the reference leaves");
            vec![Told { facts: mismatches(buffer, comparison), ..Told::new(code, message) }]
        }
        Fault::Findings(launches) => launches
            .iter()
            .flat_map(|launch| {
                launch
                    .findings
                    .findings
                    .iter()
                    .map(|finding| finding_told(finding, launch, judgement))
            })
            .collect(),
        Fault::Conflict { conflict, buffer } => {
            let other = if conflict.other_writes { "written" } else { "read" };
            let message = format!(
                "an element of {buffer} is written by one block and {other} by another one, and \
                 nothing orders them"
            );
            let mut told = Told::new(code, message);
            told.facts.push(format!("{buffer}[{}] is the first", conflict.element));
            told.place = place(conflict.write.as_ref(), judgement);
            if let Some(place) = place(conflict.other.as_ref(), judgement) {
                told.facts.push(format!("the other access: {place}"));
            }
            told.hint = Some("use an atomic, or give each block elements of its own".to_owned());
            vec![told]
        }
    }
}

fn finding_told(
    finding: &gpucast_sanitizer::Finding,
    launch: &gpucast_forecast::run::check::CheckedLaunch,
    judgement: &Judgement,
) -> Told {
    let Some(Code { loaded, .. }) = &judgement.code else {
        return Told::new(finding.kind.name(), "a finding of the sanitizer");
    };
    let report = findings::report(finding, &launch.kernel, loaded);
    let place = place(finding.example.party.site.as_ref(), judgement);
    Told { place, ..Told::of_report(finding.kind.name(), &report) }
}

/// The file and line of an instruction: those of CUDA where the module names them.
fn place(site: Option<&Site>, judgement: &Judgement) -> Option<Place> {
    let (site, code) = (site?, judgement.code.as_ref()?);
    let source = &code.loaded.source;
    let of_ptx = Place::new(&source.name, site.line, Arc::clone(&source.text));
    let own = site.location.and_then(|location| code.loaded.module.own_place(location));
    let of_cuda = own.filter(|own| own.line > 0);
    let Some((own, file)) = of_cuda.and_then(|own| Some((own, code.files.get(&own.file)?))) else {
        return Some(of_ptx);
    };
    Some(match &file.lines {
        Some(lines) => Place::new(&file.name, own.line, lines.join("\n").into()),
        None => Place { file: file.name.clone(), line: own.line, ..of_ptx },
    })
}

fn differs(buffer: &str, comparison: &Comparison) -> String {
    let (differing, all) = (comparison.mismatches, comparison.elements);
    let (differing, all) = (number::count(differing as u64), number::count(all as u64));
    format!("{differing} of {all} elements of {buffer} are not what they should be")
}

fn mismatches(buffer: &str, comparison: &Comparison) -> Vec<String> {
    let first = comparison.first.iter().take(3);
    let line = |Mismatch { index, got, want }: &Mismatch| {
        format!("{buffer}[{index}]: got {got}, want {want}")
    };
    first.map(line).collect()
}

//! Candidates with a planted fault, and honest ones: none of the first is accepted, and none of the
//! second refused.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

mod faults;
mod honest;
mod kernels;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_forecast::choice::count_on::CountOn;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::choice::model_choice::Models;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::launch_template::LaunchTemplate;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{MachineChoice, MachineSettings};
use gpucast_forecast::{Alone, LaunchOptions};
use gpucast_interpreter::Options;
use gpucast_judge::time::Decided;
use gpucast_judge::tolerance::Overrides;
use gpucast_judge::work::Skipped;
use gpucast_judge::{Forecast, Judgement, Request, Side, Verdict, judge};

use gpucast_model::AskedTiming;

use crate::kernels::Task;

/// A candidate of a task.
pub(crate) struct Candidate {
    pub(crate) task: Task,
    /// What it does, in a few words.
    pub(crate) name: &'static str,
    /// The kind of fault; of an honest one, what differs.
    pub(crate) kind: &'static str,
    /// Variables of the module.
    pub(crate) variables: &'static str,
    pub(crate) body: String,
    /// Grid and block, where they are not the reference's.
    pub(crate) shape: Option<(&'static str, &'static str)>,
}

/// A folder that goes with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("gpucast-judge-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> String {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path.display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn judged(folder: &Folder, candidate: &Candidate) -> Judgement {
    judged_by(folder, candidate, None)
}

fn judged_by(folder: &Folder, candidate: &Candidate, forecast: Option<Forecast<'_>>) -> Judgement {
    let Candidate { task, variables, body, shape, .. } = candidate;
    let module = kernels::module(task, "", task.body);
    folder.file(&format!("{}.ptx", task.name), &module);
    let launch = format!("module = \"{}.ptx\"\n{}", task.name, task.launch);
    let reference = folder.file(&format!("{}.toml", task.name), &launch);
    let input = folder.file("candidate.ptx", &kernels::module(task, variables, body));
    let template = LaunchTemplate {
        grid: shape.map(|(grid, _)| grid.to_owned()),
        block: shape.map(|(_, block)| block.to_owned()),
        options: LaunchOptions::default(),
        ..LaunchTemplate::default()
    };
    let side = |input, template| Side { input, template, size: None };
    let (candidate, reference) =
        (side(input, template), side(reference, LaunchTemplate::default()));
    let request = Request {
        candidate: &candidate,
        reference: Some(&reference),
        expected: &[],
        parameters: &Parameters::new(),
        seeds: 3,
        tries_odd_sizes: true,
        outputs: &[],
        tolerances: Overrides::default(),
        options: Options::default(),
        forecast,
        phase: &|_| {},
        source_root: None::<&Path>,
        supervisor: &Alone,
    };
    judge(&request).unwrap_or_else(|failure| panic!("{}: {failure}", candidate.input))
}

/// Verdicts of candidates, each with the codes of its evidence.
fn verdicts(name: &str, candidates: &[Candidate]) -> Vec<(Verdict, String)> {
    let folder = Folder::new(name);
    let verdict = |candidate: &Candidate| {
        let judgement = judged(&folder, candidate);
        let mut codes: Vec<&str> =
            judgement.evidence.iter().map(|evidence| evidence.fault.code()).collect();
        codes.dedup();
        (judgement.verdict, codes.join(", "))
    };
    candidates.iter().map(verdict).collect()
}

#[test]
fn no_planted_fault_is_accepted_and_no_honest_candidate_is_refused() {
    let (faults, honest) = (faults::all(), honest::all());
    let of_faults = verdicts("faults", &faults);
    let of_honest = verdicts("honest", &honest);
    let is_refused = |verdict: Verdict| matches!(verdict, Verdict::Wrong | Verdict::Unsafe);
    let accepted: Vec<String> = faults
        .iter()
        .zip(&of_faults)
        .filter(|(_, (verdict, _))| !is_refused(*verdict))
        .map(|(candidate, _)| format!("{}: {}", candidate.task.name, candidate.name))
        .collect();
    let refused: Vec<String> = honest
        .iter()
        .zip(&of_honest)
        .filter(|(_, (verdict, _))| is_refused(*verdict))
        .map(|(candidate, (_, codes))| {
            format!("{}: {} ({codes})", candidate.task.name, candidate.name)
        })
        .collect();
    assert!(accepted.is_empty(), "accepted: {accepted:#?}\nrefused: {refused:#?}");
    assert!(refused.is_empty(), "refused: {refused:#?}");
    page::check((&faults, &of_faults), (&honest, &of_honest));
}

/// A task whose reference reads b and makes nothing of it, and a candidate that does not read it,
/// is right, and much shorter.
fn skipping() -> Candidate {
    let fma = "fma.rn.f32 %f4, %f1, %f2, %f3;";
    let loop_of_64 = "mul.f32 %f4, %f1, %f2; fma.rn.f32 %f4, %f3, 0f00000000, %f4; mov.u32 %r10, 0;
        AGAIN: fma.rn.f32 %f5, %f2, %f3, %f5; add.u32 %r10, %r10, 1;
        setp.lt.u32 %p2, %r10, 6400; @%p2 bra AGAIN;
        fma.rn.f32 %f4, %f5, 0f00000000, %f4;";
    let body: &'static str = Box::leak(
        kernels::MAP
            .body
            .replacen(fma, loop_of_64, 1)
            .replacen("setp.ge", "mov.f32 %f5, 0f00000000; setp.ge", 1)
            .into_boxed_str(),
    );
    let task = Task { name: "skipping", body, ..kernels::MAP };
    let own = kernels::MAP.body.replacen("ld.global.f32 %f3, [%rd6];", "", 1);
    let own = own.replacen(fma, "mul.f32 %f4, %f1, %f2;", 1);
    let (name, kind, variables, shape) = ("reads no b", "skipped work", "", None);
    Candidate { task, name, kind, variables, body: own, shape }
}

#[test]
fn a_candidate_that_skips_work_and_is_right_is_named_and_never_called_faster() {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, "a100").unwrap();
    let models = Models::read(&[], &[]).unwrap();
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let counts = Counts { machine, ..Counts::default() };
    let forecast = Forecast {
        gpu: &gpu,
        models: &models,
        count_on: &CountOn::Target,
        counts: &counts,
        timing: AskedTiming::default(),
    };
    let folder = Folder::new("skipping");
    let judgement = judged_by(&folder, &skipping(), Some(forecast));
    let work = judgement.work.as_ref().unwrap();
    let [Skipped::Reads { buffer, reference: 1024, candidate: 0 }, Skipped::Operations { .. }] =
        work.skipped.as_slice()
    else {
        panic!("{:?}", work.skipped);
    };
    assert_eq!(buffer, "b");
    let times = judgement.times.as_ref().unwrap();
    assert_eq!(times.decided(), Decided::Faster, "{times:?}");
    assert_eq!((judgement.verdict, judgement.confidence()), (Verdict::Unsure, None));
}

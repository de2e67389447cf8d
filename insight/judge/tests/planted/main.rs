//! Candidates with a planted fault, and honest ones: none of the first is accepted, and none of the
//! second refused.

mod faults;
mod honest;
mod kernels;
mod page;

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_forecast::Alone;
use gpucast_forecast::LaunchOptions;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::launch_template::LaunchTemplate;
use gpucast_interpreter::Options;
use gpucast_judge::tolerance::Overrides;
use gpucast_judge::{Judgement, Request, Side, Verdict, judge};

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
        reference: &reference,
        parameters: &Parameters::new(),
        seeds: 3,
        tries_odd_sizes: true,
        outputs: &[],
        tolerances: Overrides::default(),
        options: Options::default(),
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

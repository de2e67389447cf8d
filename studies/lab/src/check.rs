//! What became of a submission.

use std::path::Path;
use std::time::Instant;

use gpucast_forecast::compiler;
use gpucast_forecast::input::kernel_argument::ReadFailure;
use gpucast_forecast::input::launch_template::LaunchTemplate;
use gpucast_forecast::run::kernel::Kernel;
use gpucast_forecast::run::sources::{Counts, Source};
use gpucast_forecast::settings::LaunchOptions;
use gpucast_forecast::{Failure, Report, SourceText, Supervisor};
use gpucast_interpreter::Options;
use gpucast_judge::sizes::Size;
use gpucast_judge::{Judgement, Request, Side, Verdict, tolerance};
use gpucast_model::{Gpu, Model};

use crate::language::Language;
use crate::launch::Launch;
use crate::python;
use crate::submission::Submission;
use crate::task::{Limit, Target, Task, files};

/// By what submissions are checked.
pub struct Checking<'a> {
    /// The task.
    pub task: &'a Task,
    /// The GPU of targets.
    pub gpu: &'a Gpu,
    /// How CUDA source is compiled, and which project names kernels.
    pub launch: &'a LaunchOptions,
    /// Settings by which launches are counted for targets.
    pub counts: Counts,
    /// Limits of each launch, and the moment at which all of it ends.
    pub options: Options,
    /// Hears of progress and can end it.
    pub supervisor: &'a dyn Supervisor,
}

/// A submission that was checked.
pub struct Checked {
    /// Whose it is.
    pub name: String,
    /// The task.
    pub task: String,
    /// The language of the targets' reasons.
    pub language: Language,
    /// What is worth a word, such as changes that count for nothing.
    pub notes: Vec<String>,
    /// The sizes, with their judgements. Code that does not compile has one.
    pub cases: Vec<Case>,
    /// The targets, if all cases are right; `None` otherwise.
    pub targets: Option<Vec<Measured>>,
    /// The predicted time of submission and solution in milliseconds, if targets were measured.
    pub times_ms: Option<[f64; 2]>,
    /// The number of sizes, also of those that were not tried.
    pub sizes: usize,
    /// The number of targets, also where none was measured.
    pub asked: usize,
}

/// A submission of a class, and what became of it.
pub struct Graded {
    /// Whose it is.
    pub name: String,
    /// The task.
    pub task: String,
    /// The result, or why it could not be checked.
    pub outcome: Result<Checked, Vec<Report>>,
}

impl Graded {
    /// A submission that names no task by which it could be checked.
    #[must_use]
    pub fn refused(submission: &Submission, why: Report) -> Self {
        let (name, task) = (submission.name.clone(), submission.task.clone().unwrap_or_default());
        Self { name, task, outcome: Err(vec![why]) }
    }
}

/// A size.
pub struct Case {
    /// Its values, as `n=1000`.
    pub size: String,
    /// What is wrong at it.
    pub judgement: Judgement,
}

/// A target with what was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The target.
    pub target: Target,
    /// The value: of a metric, or a time as a multiple of the solution's. `None` of a mean over
    /// nothing, such as bank conflicts of a kernel without shared memory.
    pub value: Option<f64>,
}

/// The points of a submission that is done.
pub const ALL_POINTS: u32 = 100;

impl Case {
    /// Returns true if results are right in all runs, and nothing was found.
    #[must_use]
    pub fn is_right(&self) -> bool {
        let Judgement { verdict, cases, is_cut_short, .. } = &self.judgement;
        let is_at_fault = matches!(verdict, Verdict::Wrong | Verdict::Unsafe);
        !is_at_fault && !is_cut_short && !cases.is_empty()
    }
}

impl Measured {
    /// Returns true if the target is met.
    #[must_use]
    pub fn is_met(&self) -> bool {
        let limit = match self.target {
            Target::Metric { limit, .. } => limit,
            Target::Time { times } => Limit::AtMost(times),
        };
        match self.value {
            Some(value) => limit.holds(value),
            // Where nothing happens, nothing happens too often.
            None => matches!(limit, Limit::AtMost(_)),
        }
    }
}

impl Checked {
    /// The number of sizes at which it is right.
    #[must_use]
    pub fn right(&self) -> usize {
        self.cases.iter().filter(|case| case.is_right()).count()
    }

    /// The number of targets that are met.
    #[must_use]
    pub fn met(&self) -> usize {
        self.targets.iter().flatten().filter(|target| target.is_met()).count()
    }

    /// Returns true if nothing is left to do.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.targets.as_ref().is_some_and(|targets| targets.iter().all(Measured::is_met))
    }

    /// Half of the points are for results, by sizes. The other half are for targets, and for being
    /// right at all sizes where there are none.
    #[must_use]
    pub fn points(&self) -> u32 {
        let share = |part: usize, all: usize| {
            (u64::from(ALL_POINTS / 2) * part as u64).checked_div(all as u64)
        };
        let results = share(self.right(), self.sizes).unwrap_or(0);
        let targets = self.targets.as_ref().map_or(0, |targets| {
            share(self.met(), targets.len()).unwrap_or(u64::from(ALL_POINTS / 2))
        });
        (results + targets) as u32
    }
}

impl Checking<'_> {
    /// Checks a submission.
    ///
    /// # Errors
    ///
    /// What is wrong with the task, [`Failure::Stopped`] if the supervisor says so, and files that
    /// cannot be read or written. What is wrong with the submission is the result.
    pub fn check(&self, submission: &Submission) -> Result<Checked, Failure> {
        let folder = tempfile::Builder::new().prefix("gpucast-lab-").tempdir();
        let folder =
            folder.map_err(|error| Report::file("write", &std::env::temp_dir(), &error))?;
        let mut notes = Vec::new();
        let candidate = self.candidate(submission, folder.path(), &mut notes)?;
        let reference = self.reference(folder.path(), Writing::of(&submission.kernel)?)?;
        let mut checked = Checked {
            name: submission.name.clone(),
            task: self.task.name.clone(),
            language: self.task.language,
            notes,
            cases: Vec::new(),
            targets: None,
            times_ms: None,
            sizes: self.task.cases.len(),
            asked: self.task.targets.len(),
        };
        for parameters in &self.task.cases {
            let judgement = gpucast_judge::judge(&Request {
                candidate: &candidate,
                reference: Some(&reference),
                expected: &[],
                parameters,
                seeds: SEEDS,
                tries_odd_sizes: false,
                outputs: &[],
                tolerances: tolerance::Overrides::default(),
                options: self.options,
                forecast: None,
                phase: &|_| {},
                source_root: None,
                supervisor: self.supervisor,
            });
            let judgement = judgement.map_err(failure)?;
            let (does_compile, is_cut_short) = (judgement.code.is_some(), judgement.is_cut_short);
            checked.cases.push(Case { size: Size::given(parameters).name, judgement });
            if is_cut_short || self.is_late() {
                let (tried, all) = (checked.cases.len(), checked.sizes);
                checked.notes.push(format!("the time was over at size {tried} of {all}"));
                break;
            }
            if !does_compile {
                break;
            }
        }
        if checked.right() == checked.sizes {
            self.measure(&candidate, &reference, &mut checked)?;
        }
        Ok(checked)
    }

    /// Checks a submission of a class. One that cannot be read does not keep others from a grade.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] if the supervisor says so, and wrong usage.
    pub fn grade(&self, submission: &Submission) -> Result<Graded, Failure> {
        let outcome = match self.check(submission) {
            Ok(checked) => Ok(checked),
            Err(Failure::Input(reports)) => Err(reports),
            Err(failure @ (Failure::Usage(_) | Failure::Explained | Failure::Stopped)) => {
                return Err(failure);
            }
        };
        let (name, task) = (submission.name.clone(), self.task.name.clone());
        Ok(Graded { name, task, outcome })
    }

    fn is_late(&self) -> bool {
        self.options.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Measures the targets of a submission that is right.
    fn measure(
        &self,
        candidate: &Side,
        reference: &Side,
        checked: &mut Checked,
    ) -> Result<(), Failure> {
        let sources = self.sources(candidate)?;
        let times = [self.time_ms(&sources)?, self.time_ms(&self.sources(reference)?)?];
        let value = |target: &Target| match target {
            Target::Time { .. } => Some(times[0] / times[1]),
            Target::Metric { metric, .. } => value_of(metric, &sources),
        };
        let targets = self.task.targets.iter();
        let measured = |target: &Target| Measured { target: target.clone(), value: value(target) };
        checked.targets = Some(targets.map(measured).collect());
        checked.times_ms = Some(times);
        Ok(())
    }

    fn sources(&self, side: &Side) -> Result<Vec<Source>, Failure> {
        let mut launch = side.template.options.clone();
        launch.param.extend(self.task.measured.clone());
        let kernel = Kernel::open(&side.input, &launch).map_err(failure)?;
        let needs = <dyn Model>::default_for(self.gpu).needs();
        let counts = Counts { needs, ..self.counts.clone() };
        kernel.count_with(self.gpu, &counts, self.supervisor)
    }

    /// The predicted time of all launches.
    fn time_ms(&self, sources: &[Source]) -> Result<f64, Failure> {
        let model = <dyn Model>::default_for(self.gpu);
        let times = sources.iter().map(|source| {
            model
                .time_ms(&source.profile, self.gpu, &source.conditions)
                .map_err(|error| Report::new(format!("{}: {error}", self.task.name)).into())
        });
        times.sum()
    }

    /// The submission in the task's launch.
    fn candidate(
        &self,
        submission: &Submission,
        folder: &Path,
        notes: &mut Vec<String>,
    ) -> Result<Side, Failure> {
        let mut launch = Launch::of(&self.text(files::LAUNCH, &self.task.launch))?;
        let is_python = python::is_python(&submission.kernel);
        if is_python {
            launch = launch.for_numba()?;
        }
        if let Some(path) = &submission.launch {
            let text = std::fs::read_to_string(path);
            let text = text.map_err(|error| Report::file("read", path, &error))?;
            let own = Launch::of(&SourceText::new(path.display().to_string(), text))?;
            if launch.take(&own, &self.task.may_change) {
                notes.push(format!("{} has changes that count for nothing", path.display()));
            }
        }
        let kernel = match is_python {
            true => python::kept(&submission.kernel)?,
            false => submission.kernel.clone(),
        };
        let kernel = std::path::absolute(kernel);
        let kernel = kernel.map_err(|error| Report::file("read", &submission.kernel, &error))?;
        self.side(&folder.join("candidate.toml"), &launch, &kernel)
    }

    /// The solution. Times are compared as one compiler makes both, where the task allows it.
    fn reference(&self, folder: &Path, writing: Writing) -> Result<Side, Failure> {
        let solution = &self.task.solution;
        let numbas = solution.numba.as_ref().filter(|_| writing == Writing::Python);
        let (name, text) = match (numbas, &solution.ptx, &solution.cuda) {
            (Some(ptx), ..) => (files::REFERENCE_OF_NUMBA, ptx),
            (_, _, Some(cuda)) if writing == Writing::Cuda => (files::SOLUTION, cuda),
            (_, Some(ptx), _) => (files::REFERENCE, ptx),
            (_, None, Some(cuda)) => (files::SOLUTION, cuda),
            (_, None, None) => {
                return Err(Report::new(format!("{} has no solution", self.task.name)).into());
            }
        };
        let module = folder.join(name);
        std::fs::write(&module, text).map_err(|error| Report::file("write", &module, &error))?;
        let launch = match &solution.launch {
            Some(launch) => self.text(files::SOLUTION_LAUNCH, launch),
            None => self.text(files::LAUNCH, &self.task.launch),
        };
        let mut launch = Launch::of(&launch)?;
        if numbas.is_some() {
            launch = launch.for_numba()?;
        }
        self.side(&folder.join("reference.toml"), &launch, &module)
    }

    fn text(&self, file: &str, text: &str) -> SourceText {
        SourceText::new(format!("{}/{file}", self.task.name), text)
    }

    /// Writes a launch file and returns what opens it.
    fn side(&self, path: &Path, launch: &Launch, module: &Path) -> Result<Side, Failure> {
        let text = launch.with_module(&module.display().to_string());
        std::fs::write(path, text).map_err(|error| Report::file("write", path, &error))?;
        let options = self.launch.clone();
        let template = LaunchTemplate { options, ..LaunchTemplate::default() };
        Ok(Side { input: path.display().to_string(), template, size: None })
    }
}

/// In what a submission is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writing {
    Cuda,
    Ptx,
    Python,
}

impl Writing {
    fn of(kernel: &Path) -> Result<Self, Report> {
        if python::is_python(kernel) {
            return Ok(Self::Python);
        }
        let text = std::fs::read_to_string(kernel);
        let text = text.map_err(|error| Report::file("read", kernel, &error))?;
        Ok(if compiler::is_cuda(kernel, &text) { Self::Cuda } else { Self::Ptx })
    }
}

/// A metric of the one launch, or the sum over several.
fn value_of(metric: &str, sources: &[Source]) -> Option<f64> {
    let values = sources.iter().filter_map(|source| source.profile.metrics.get(metric));
    values.map(|metric| metric.value.as_f64()).reduce(|a, b| a + b)
}

/// Runs with different inputs at each size.
const SEEDS: u32 = 2;

/// A module that has no launch is no submission of a task: its launch file is the task's.
fn failure(failure: ReadFailure) -> Failure {
    failure.into()
}

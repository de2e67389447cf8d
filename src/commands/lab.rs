//! `gpucast lab`: tasks for classes, their checks and grades.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::CudaOptions;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{
    CacheChoice, ExecutionSettings, LaunchOptions, MachineChoice, MachineSettings,
};
use gpucast_interpreter::Options;
use gpucast_lab::{Checked, Checking, Submission, Task, hand_out, submission, tasks};
use gpucast_model::Gpu;
use gpucast_render::{TextOrJson, lab};

use crate::cli::lab::{By, Check, Grade, Lab};
use crate::failure::{Failure, Report, suggest};
use crate::output::{Output, Terminal, diagnostic};
use crate::project;

/// The task of ours that a teacher's first one is made of.
const EXAMPLE: &str = "03-coalescing";

pub(crate) fn run(command: Lab) -> Result<(), Failure> {
    match command {
        Lab::List { format } => list(format),
        Lab::Start { task, folder } => start(&task, folder),
        Lab::Check(arguments) => check(&arguments),
        Lab::Grade(arguments) => grade(&arguments),
        Lab::New { folder } => {
            hand_out::to_teacher(&task(EXAMPLE)?, &folder)?;
            diagnostic::note(&format!("wrote a task to change into {}", folder.display()));
            Ok(())
        }
    }
}

fn list(format: TextOrJson) -> Result<(), Failure> {
    let all = tasks::names().filter_map(tasks::find).collect::<Result<Vec<Task>, Report>>()?;
    Output::open(None)?.write(&lab::list(&all, format)?)
}

fn start(name: &str, folder: Option<PathBuf>) -> Result<(), Failure> {
    let task = task(name)?;
    let folder = folder.unwrap_or_else(|| PathBuf::from(&task.name));
    hand_out::to_student(&task, &folder)?;
    diagnostic::note(&format!("wrote lesson, kernel and launch into {}", folder.display()));
    Ok(())
}

/// A task of ours, or that of a folder.
fn task(name: &str) -> Result<Task, Failure> {
    if let Some(task) = tasks::find(name) {
        return Ok(task?);
    }
    let folder = Path::new(name);
    if folder.is_dir() {
        return Ok(Task::open(folder)?);
    }
    let report = Report::new(format!("there is no task `{name}`"));
    let words = tasks::names().flat_map(|name| name.split_once('-'));
    let hint = suggest(name, tasks::names().chain(words.map(|(_, word)| word)));
    let list = "`gpucast lab list` shows the tasks".to_owned();
    Err(report.maybe_hint(hint.or(Some(list))).into())
}

/// The task that an option names, or else a submission.
fn task_of(by: &By, submission: &Submission) -> Result<Task, Failure> {
    match by.task.as_ref().or(submission.task.as_ref()) {
        Some(name) => task(name),
        None => {
            let kernel = submission.kernel.display();
            Err(Report::new(format!("nothing says which task {kernel} belongs to"))
                .hint("name it: --task coalescing")
                .into())
        }
    }
}

fn check(arguments: &Check) -> Result<(), Failure> {
    let submission = Submission::at(&arguments.submission)?;
    let task = task_of(&arguments.by, &submission)?;
    let gpu = gpu(&arguments.by)?;
    let mut output = Output::open(arguments.output.clone())?;
    let terminal = Terminal::of_worker(None)?;
    let checked = checked(&arguments.by, &task, &gpu, &submission, &terminal)?;
    output.write(&lab::checked(&checked, arguments.format)?)?;
    if checked.is_done() { Ok(()) } else { Err(Failure::Said) }
}

fn grade(arguments: &Grade) -> Result<(), Failure> {
    let (submissions, others) = submission::of_class(&arguments.folder)?;
    for other in &others {
        diagnostic::note(&format!("{} is no submission", other.display()));
    }
    // What is cheap to refuse is refused before anything is executed.
    let all = submissions.iter().map(|submission| task_of(&arguments.by, submission));
    let all = all.collect::<Result<Vec<Task>, Failure>>()?;
    let gpu = gpu(&arguments.by)?;
    let mut output = Output::open(arguments.output.clone())?;
    let terminal = Terminal::of_worker(None)?;
    let class = submissions
        .iter()
        .zip(&all)
        .map(|(submission, task)| checked(&arguments.by, task, &gpu, submission, &terminal));
    let class = class.collect::<Result<Vec<Checked>, Failure>>()?;
    output.write(&lab::grades(&class, arguments.format)?)
}

fn gpu(by: &By) -> Result<Gpu, Failure> {
    Ok(gpu_argument::find(&gpu_argument::library()?, &by.gpu)?)
}

fn checked(
    by: &By,
    task: &Task,
    gpu: &Gpu,
    submission: &Submission,
    terminal: &Terminal,
) -> Result<Checked, Failure> {
    let mut cuda = CudaOptions::from(&by.cuda);
    cuda.suggest_for(std::slice::from_ref(gpu));
    let launch = LaunchOptions { cuda, project: project::current(), ..LaunchOptions::default() };
    let deadline = Instant::now().checked_add(Duration::from_secs(by.time_limit));
    let options = Options { deadline, ..Options::default() };
    let caches = CacheChoice::Auto;
    let execution = ExecutionSettings { options, caches, ..ExecutionSettings::default() };
    // A grade does not depend on the tools of the machine.
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let counts = Counts { machine, execution, ..Counts::default() };
    let checking =
        Checking { task, gpu, launch: &launch, counts: &counts, options, supervisor: terminal };
    Ok(checking.check(submission)?)
}

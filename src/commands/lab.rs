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
use gpucast_lab::python::{self, Signature};
use gpucast_lab::submission::Class;
use gpucast_lab::{Checking, Graded, Language, Submission, Task, hand_out, tasks};
use gpucast_model::Gpu;
use gpucast_render::{TextOrJson, lab};
use gpucast_toolchain::compiler::PythonKernel;

use crate::cli::lab::{By, Check, Grade, Lab};
use crate::failure::{Failure, Report, suggest};
use crate::output::manner::{self, Verbosity};
use crate::output::{Output, Terminal, diagnostic};
use crate::{interrupt, project};

/// The task of ours that a teacher's first one is made of.
const EXAMPLE: &str = "03-coalescing";
/// What a kernel in Python is compiled for where the GPU says nothing.
const USUAL_CAPABILITY: &str = "8.0";

pub(crate) fn run(command: Lab) -> Result<(), Failure> {
    match command {
        Lab::List { language, format } => list(language, format),
        Lab::Start { task, folder, language, numba } => {
            let task = self::task(&task)?.told_in(language);
            let folder = folder.unwrap_or_else(|| PathBuf::from(&task.name));
            match numba {
                false => hand_out::to_student(&task, &folder)?,
                true => hand_out::to_student_in_python(&task, &folder)?,
            }
            tell(&format!("wrote lesson, kernel and launch into {}", folder.display()));
            Ok(())
        }
        Lab::Check(arguments) => check(&arguments),
        Lab::Grade(arguments) => grade(&arguments),
        Lab::New { folder } => {
            hand_out::to_teacher(&task(EXAMPLE)?, &folder)?;
            tell(&format!("wrote a task to change into {}", folder.display()));
            Ok(())
        }
    }
}

/// Tells what a person wants to know who has not asked for silence.
fn tell(text: &str) {
    if manner::verbosity() != Verbosity::Quiet {
        diagnostic::note(text);
    }
}

fn list(language: Language, format: TextOrJson) -> Result<(), Failure> {
    let all = tasks::names().filter_map(tasks::find).collect::<Result<Vec<Task>, Report>>()?;
    let all: Vec<Task> = all.into_iter().map(|task| task.told_in(language)).collect();
    Output::open(None)?.write(&lab::list(&all, format)?)
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
    let name = by.task.as_ref().or(submission.task.as_ref());
    name.map_or_else(|| Err(unnamed(submission).into()), |name| task(name))
}

/// The same of a submission that somebody else wrote, which names no folder to take a task from.
fn task_to_grade(asked: Option<&Task>, submission: &Submission) -> Result<Task, Report> {
    if let Some(asked) = asked {
        return Ok(asked.clone());
    }
    let name = submission.task.as_deref().ok_or_else(|| unnamed(submission))?;
    let unknown = || {
        Report::new(format!("{} is of a task `{name}`, which is none of ours", submission.name))
            .hint("name it: --task FOLDER")
    };
    tasks::find(name).ok_or_else(unknown)?
}

fn unnamed(submission: &Submission) -> Report {
    let kernel = submission.kernel.display();
    Report::new(format!("nothing says which task {kernel} belongs to"))
        .hint("name it: --task coalescing")
}

fn check(arguments: &Check) -> Result<(), Failure> {
    let submission = Submission::at(&arguments.submission)?;
    let task = task_of(&arguments.by, &submission)?.told_in(arguments.language);
    let gpu = gpu(&arguments.by)?;
    if python::is_python(&submission.kernel) {
        compile(&submission.kernel, &task, &gpu)?;
    }
    let mut output = Output::open(arguments.output.clone())?;
    let terminal = Terminal::of_worker(None)?;
    let launch = launch(&arguments.by, &gpu);
    let checked = checking(&arguments.by, (&task, &gpu, &launch), &terminal).check(&submission)?;
    output.write(&lab::checked(&checked, arguments.format)?)?;
    if checked.is_done() { Ok(()) } else { Err(Failure::Said) }
}

/// Compiles a kernel in Python, and keeps its PTX beside it.
fn compile(source: &Path, task: &Task, gpu: &Gpu) -> Result<(), Failure> {
    let Signature { kernel, types } = python::signature(task)?;
    let file = std::path::absolute(source);
    let file = file.map_err(|error| Report::file("read", source, &error))?;
    let capability = gpu.compute_capability.as_ref().map(|figure| figure.value.to_string());
    let capability = capability.unwrap_or_else(|| USUAL_CAPABILITY.to_owned());
    let (name, types, capability) = (kernel.as_str(), types.as_slice(), capability.as_str());
    let ptx = PythonKernel { file: &file, name, types, capability }.compile(&interrupt::stop())?;
    Ok(python::keep(source, &ptx)?)
}

fn grade(arguments: &Grade) -> Result<(), Failure> {
    let asked = arguments.by.task.as_deref().map(task).transpose()?;
    let class = Class::of(&arguments.folder, asked.as_ref().map(|task| task.name.as_str()))?;
    for other in &class.others {
        tell(&format!("{} is no submission", other.display()));
    }
    let gpu = gpu(&arguments.by)?;
    let mut output = Output::open(arguments.output.clone())?;
    let terminal = Terminal::of_worker(None)?;
    let launch = launch(&arguments.by, &gpu);
    let graded = class.submissions.iter().map(|submission| {
        match task_to_grade(asked.as_ref(), submission) {
            Ok(task) => {
                let task = task.told_in(arguments.language);
                checking(&arguments.by, (&task, &gpu, &launch), &terminal).grade(submission)
            }
            // A submission without a task keeps no other from a grade.
            Err(report) => Ok(Graded::refused(submission, report)),
        }
    });
    let graded = graded.collect::<Result<Vec<Graded>, _>>()?;
    output.write(&lab::grades(&graded, arguments.language, arguments.format)?)?;
    match graded.iter().filter(|one| one.outcome.is_err()).count() {
        0 => Ok(()),
        unread => {
            let message = format!("{unread} of {} submissions could not be checked", graded.len());
            let hint = match graded.iter().any(|one| one.task.is_empty()) {
                true => "the last column says why; `--task coalescing` names the task of all",
                false => "the last column says why",
            };
            Err(Report::new(message).hint(hint).into())
        }
    }
}

fn gpu(by: &By) -> Result<Gpu, Failure> {
    Ok(gpu_argument::find(&gpu_argument::library()?, &by.gpu)?)
}

/// How submissions are compiled: each text once, whatever the number of sizes.
fn launch(by: &By, gpu: &Gpu) -> LaunchOptions {
    let mut cuda = CudaOptions::from(&by.cuda).remembering();
    cuda.suggest_for(std::slice::from_ref(gpu));
    LaunchOptions { cuda, project: project::current(), ..LaunchOptions::default() }
}

/// By what one submission is checked. Its time begins now.
fn checking<'a>(
    by: &By,
    (task, gpu, launch): (&'a Task, &'a Gpu, &'a LaunchOptions),
    terminal: &'a Terminal,
) -> Checking<'a> {
    let deadline = Instant::now().checked_add(Duration::from_secs(by.time_limit));
    let options = Options { deadline, ..Options::default() };
    let caches = CacheChoice::Auto;
    let execution = ExecutionSettings { options, caches, ..ExecutionSettings::default() };
    // A grade does not depend on the tools of the machine.
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let counts = Counts { machine, execution, ..Counts::default() };
    Checking { task, gpu, launch, counts, options, supervisor: terminal }
}

//! Tasks for classes, and checks of submissions.

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::settings::LaunchOptions;
use gpucast_forecast::{Failure, Report, Supervisor};
use gpucast_lab::hand_out::in_words;
use gpucast_lab::task::Target;
use gpucast_lab::{Checking, Language, Submission, Task, tasks as all};
use gpucast_render::{TextOrJson, lab};
use serde_json::{Map, Value, json};

use super::document;
use crate::Engine;
use crate::place;
use crate::request::LabCheck;

/// The GPU of targets where none is named, as `gpucast lab` has it.
const USUAL_GPU: &str = "h100-sxm";

pub(super) fn tasks() -> Result<String, Failure> {
    let tasks = all::names().filter_map(all::find).collect::<Result<Vec<Task>, Report>>()?;
    let told = |task: Task| {
        let target = |target: &Target| in_words(target, task.language);
        json!({
            "title": task.title,
            "lesson": task.lesson,
            "hints": task.hints,
            "targets": task.targets.iter().map(target).collect::<Vec<String>>(),
        })
    };
    let task = |task: &Task| {
        let keys = task.may_change.iter().map(|key| key.name());
        let languages = Language::ALL
            .iter()
            .map(|&language| (language.code().to_owned(), told(task.clone().told_in(language))));
        json!({
            "name": task.name,
            "told": languages.collect::<Map<String, Value>>(),
            "may_change": keys.collect::<Vec<&str>>(),
            "cases": task.cases,
            "measured": task.measured,
            "launch": task.launch,
            "start": task.start,
            "solution": { "cuda": task.solution.cuda, "launch": task.solution.launch },
        })
    };
    document(&json!({
        "schema": "gpucast.page-tasks/1",
        "tasks": tasks.iter().map(task).collect::<Vec<Value>>(),
    }))
}

pub(super) fn check(
    engine: &Engine,
    submitted: &LabCheck,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    let task = all::find(&submitted.task)
        .ok_or_else(|| Report::new(format!("there is no task `{}`", submitted.task)))??;
    let gpu = gpu_argument::find(&engine.library, submitted.gpu.as_deref().unwrap_or(USUAL_GPU))?;
    let folder = place::folder()?;
    if let Some(cuda) = &submitted.cuda {
        place::write_cuda(folder.path(), cuda)?;
    }
    let is_ptx = submitted.source.contains(".version");
    let kernel = folder.path().join(if is_ptx { "kernel.ptx" } else { "kernel.cu" });
    let kernel = place::write(&kernel, &submitted.source)?;
    let launch = submitted.launch.as_ref();
    let launch = launch.map(|text| place::write(&folder.path().join("launch.toml"), text));
    let submission =
        Submission { name: "page".to_owned(), kernel, launch: launch.transpose()?, task: None };
    let mut options = LaunchOptions::default();
    if let Some(compiler) = &engine.compiler {
        options.cuda.compiler = Some(std::sync::Arc::clone(compiler));
        options.cuda = options.cuda.remembering();
    }
    options.cuda.suggest_for(std::slice::from_ref(&gpu));
    let counts = engine.limits.counts();
    let limits = engine.limits.options();
    let checking =
        Checking { task: &task, gpu: &gpu, launch: &options, counts, options: limits, supervisor };
    let checked = checking.check(&submission)?;
    Ok(lab::checked(&checked, TextOrJson::Json)?)
}

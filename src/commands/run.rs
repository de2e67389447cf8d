//! `gpucast run`: execute, check the expectations, dump buffers.

use std::path::PathBuf;

use gpucast_buffers::files::{self, FileError};
use gpucast_forecast::Supervisor as _;
use gpucast_forecast::input::cuda_source;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::check::Check;
use gpucast_forecast::run::execute::Unwatched;
use gpucast_forecast::run::expected::{Compared, Expected};
use gpucast_forecast::run::{execute, module};
use gpucast_forecast::settings::ExecutionSettings;
use gpucast_render::findings::{self, Extent};
use gpucast_render::marks::{self, Looked, Mark, MarkFormat};
use gpucast_render::run::{self, Launched};
use gpucast_render::several::{self, Part};
use gpucast_render::{Format, TextOrJson};
use gpucast_sanitizer::Sanitizer;

use crate::cli::{CacheChoice, CountingChoice, ExecutionOptions, Run, RunFormat};
use crate::failure::{Failure, Report, suggest};
use crate::output::{Output, Terminal, keep_inputs};

pub(crate) fn run(arguments: Run) -> Result<(), Failure> {
    let ExecutionOptions { counting, ctas, caches, .. } = arguments.execution;
    if counting != CountingChoice::Auto || ctas.is_some() || caches != CacheChoice::Auto {
        let report = Report::new("`run` computes everything and counts nothing");
        let hint = "leave --counting, --ctas and --caches out, or use `gpucast profile`";
        return Err(Failure::Usage(report.hint(hint)));
    }
    // A kernel that cannot be read is refused before another one is executed.
    let plans = arguments.kernel.plans(&(&arguments.kernel.launch).into())?;
    if let ([_, _, ..], [dump, ..]) = (plans.as_slice(), arguments.dump.as_slice()) {
        let report =
            Report::new(format!("--dump {dump} is about one kernel, and there are several"));
        return Err(Failure::Usage(report.hint("run the kernels one by one")));
    }
    let (format, marks) = match arguments.format {
        RunFormat::Text => (Format::Text, None),
        RunFormat::Json => (Format::Json, None),
        RunFormat::Sarif => (Format::Json, Some(MarkFormat::Sarif)),
        RunFormat::Github => (Format::Text, Some(MarkFormat::Github)),
        RunFormat::Junit => (Format::Text, Some(MarkFormat::Junit)),
    };
    let terminal = Terminal::new(&arguments.execution, format)?;
    let dumps = match plans.as_slice() {
        [(_, plan)] => dumps(plan, &arguments.dump)?,
        _ => Vec::new(),
    };
    let mut output = Output::open(arguments.output.clone())?;
    let number = plans.len();
    let mut parts = Vec::new();
    let mut looked = Vec::new();
    let (mut is_clean, mut failure) = (true, None);
    for (index, (kernel, plan)) in plans.into_iter().enumerate() {
        if number > 1 {
            terminal.part(index, number);
        }
        let ran = one((&arguments, &kernel), &plan, &dumps, &terminal)?;
        parts.push(Part { kernel: kernel.clone(), document: ran.document });
        looked.push(Looked { at: kernel, titles: ran.titles, marks: ran.marks });
        is_clean &= ran.is_clean;
        failure = ran.failure;
        if failure.is_some() {
            break;
        }
    }
    let document = match marks {
        Some(marks) => marks::document(&looked, marks)?,
        None => several::document(parts, format)?,
    };
    output.write(&document)?;
    match failure {
        Some(failure) => Err(failure),
        None if is_clean => Ok(()),
        None => Err(Failure::Said),
    }
}

/// What came of a kernel.
struct Ran {
    document: String,
    /// What was looked for and found, for forms that show nothing else.
    titles: Vec<String>,
    marks: Vec<Mark>,
    /// True if nothing was found, and all results are as expected.
    is_clean: bool,
    /// The end of a checked run. The findings until then may explain it.
    failure: Option<Failure>,
}

/// Runs one kernel.
fn one(
    (arguments, kernel): (&Run, &str),
    plan: &Plan,
    dumps: &[(usize, PathBuf)],
    terminal: &Terminal,
) -> Result<Ran, Failure> {
    let format = match arguments.format {
        RunFormat::Json => TextOrJson::Json,
        RunFormat::Text | RunFormat::Sarif | RunFormat::Github | RunFormat::Junit => {
            TextOrJson::Text
        }
    };
    plan.note.iter().for_each(|note| terminal.note(note));
    let loaded = module::load(plan)?;
    let mut memory = execute::memory(plan, &loaded)?;
    let expected = Expected::of(plan, &memory);
    let mut options = ExecutionSettings::from(&arguments.execution).options;
    options.async_timing = arguments.async_timing.unwrap_or_default();
    let (finished, found) = match arguments.check {
        None => {
            let mut nothing = Unwatched::default();
            execute::execute(plan, &loaded, &mut memory, &options, terminal, &mut nothing)?;
            (nothing.finished, None)
        }
        Some(checks) => {
            options = Sanitizer::options(checks, options);
            let mut watch = Check::new(checks, plan, &memory);
            let outcome =
                execute::execute(plan, &loaded, &mut memory, &options, terminal, &mut watch);
            if let Err(failure) = outcome {
                let checked = &watch.checked;
                let document =
                    findings::document(checked, &loaded, checks, Extent::EndedEarly, format)?;
                let files = cuda_source::files(plan, &loaded.module, None);
                let mut marks = findings::marks(checked, &loaded, &files);
                let mut titles: Vec<String> = findings::titles(checks).collect();
                let failure = Failure::from(failure);
                // A fault that a finding explains is no second one.
                if let Failure::Input(reports) = &failure {
                    titles.push(run::TO_ITS_END.to_owned());
                    marks.extend(reports.iter().map(|report| run::fault(report, kernel)));
                }
                let failure = Some(failure);
                return Ok(Ran { document, titles, marks, is_clean: false, failure });
            }
            (watch.finished, Some((checks, watch.checked)))
        }
    };
    for (buffer, path) in dumps {
        let buffer = &plan.buffers[*buffer];
        let bytes = memory.bytes(&buffer.name).unwrap_or_default();
        files::write(path, buffer.ty, bytes).map_err(|error| Report::new(error.to_string()))?;
    }
    let wants_timing = arguments.execution.execution_time || arguments.timing;
    let launched: Vec<Launched> = plan
        .launches
        .iter()
        .zip(finished)
        .map(|(launch, (timing, ordered_because))| Launched {
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            invocations: launch.repeat,
            ordered_because,
            timing: wants_timing.then_some(timing),
        })
        .collect();
    let compared = expected.compared(&memory)?;
    let agrees = compared.iter().all(Compared::agrees);
    let mut marks = run::marks(&compared, kernel);
    let mut titles: Vec<String> =
        run::titles(&compared).chain([run::TO_ITS_END.to_owned()]).collect();
    let (document, is_clean) = match &found {
        None => (run::document(&launched, &compared, format)?, true),
        Some((checks, found)) => {
            let files = cuda_source::files(plan, &loaded.module, None);
            marks.extend(findings::marks(found, &loaded, &files));
            let checks = *checks;
            titles.extend(findings::titles(checks));
            let told = findings::document(found, &loaded, checks, Extent::Complete, format)?;
            let document = match format {
                TextOrJson::Text => run::document(&launched, &compared, format)? + &told,
                // In JSON the findings are the result.
                TextOrJson::Json => told,
            };
            (document, found.iter().all(|launch| launch.findings.findings.is_empty()))
        }
    };
    Ok(Ran { document, titles, marks, is_clean: is_clean && agrees, failure: None })
}

/// `BUFFER=FILE` as buffer indices and paths.
fn dumps(plan: &Plan, arguments: &[String]) -> Result<Vec<(usize, PathBuf)>, Failure> {
    let dump = |argument: &String| {
        let Some((name, path)) = argument.split_once('=') else {
            return Err(Failure::Usage(
                Report::new(format!("--dump {argument} names no file"))
                    .hint("write --dump BUFFER=FILE.npy or --dump BUFFER=FILE.bin"),
            ));
        };
        let Some(index) = plan.buffers.iter().position(|buffer| buffer.name == name) else {
            let known = plan.buffers.iter().map(|buffer| buffer.name.as_str());
            return Err(Report::new(format!("there is no buffer `{name}` to dump"))
                .maybe_hint(suggest(name, known))
                .into());
        };
        let path = PathBuf::from(path);
        keep_inputs(&path)?;
        files::check_writable(&path, plan.buffers[index].ty).map_err(|error| {
            let report = Report::new(error.to_string());
            match error {
                FileError::Io { .. } => report.into(),
                _ => Failure::Usage(report),
            }
        })?;
        Ok((index, path))
    };
    arguments.iter().map(dump).collect()
}

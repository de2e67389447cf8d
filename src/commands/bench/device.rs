//! `gpucast bench --device`: the parameters of a GPU, measured.

use gpucast_forecast::Supervisor as _;
use gpucast_forecast::choice::gpu_argument;
use gpucast_measure::conditions::{self, Group, Range, State};
use gpucast_measure::gpu_file::Impossible;
use gpucast_measure::parameters::{DOUBTFUL, all};
use gpucast_measure::{Bench, Device as _, MeasureError, Measured, Parameter, Trials, gpu_file};
use gpucast_render::Format;
use gpucast_render::measured::{Document, LeftOut, Measurement};
use gpucast_toolchain::driver;

use crate::cli::bench;
use crate::failure::{Failure, Report};
use crate::output::{Output, Terminal, diagnostic};

pub(super) fn run(arguments: &bench::Bench) -> Result<(), Failure> {
    let options = &arguments.device;
    let library = gpu_argument::library()?;
    let compared = options.compare.as_deref();
    let compared = compared.map(|name| gpu_argument::find(&library, name)).transpose()?;
    let parameters = chosen(&options.only)?;
    // Files that cannot be written are better found before the measurement than after it.
    let mut output = Output::open(arguments.output.output.clone())?;
    let file = |path: &Option<_>| path.clone().map(|path| Output::open(Some(path))).transpose();
    let (saved, raw) = (file(&options.save)?, file(&options.raw)?);
    let terminal = Terminal::without_notes(&arguments.execution)?;
    let mut device = driver::Gpu::open(options.device.unwrap_or(0))
        .map_err(|error| Report::new(error.to_string()))?;
    if let Some(reason) = device.without_clocks() {
        diagnostic::note(&reason.to_string());
    }
    let facts = device.facts().clone();
    let trials = Trials { warm_up: options.warm_up, timed: options.trials.get() };
    let mut bench = Bench::new(&mut device, trials);
    let mut measured = Vec::new();
    let mut left_out = Vec::new();
    for (index, parameter) in parameters.iter().enumerate() {
        terminal.part(index, parameters.len());
        let field = parameter.field;
        match parameter.measured(&mut bench) {
            Ok(one) => measured.push(one),
            Err(error @ MeasureError::Device(_)) => {
                return Err(Report::new(format!("{field}: {error}")).into());
            }
            Err(error) => left_out.push(LeftOut { field, reason: error.to_string() }),
        }
    }
    let impossible = gpu_file::take_impossible(&facts, &mut measured);
    for Impossible { measured: one, reason } in
        impossible.map_err(|error| Report::new(error.to_string()))?
    {
        let field = one.parameter.field;
        diagnostic::warning(&format!("{field} is left out: {reason}"));
        left_out.push(LeftOut { field, reason });
    }
    let clock_mhz = bench.clock_mhz().map_err(|error| Report::new(error.to_string()))?;
    let measurement = Measurement {
        facts: &facts,
        clock_mhz,
        trials,
        compared: compared.as_ref(),
        measured: &measured,
        left_out: &left_out,
    };
    warn_of_clocks(bench.groups());
    warn_of_doubts(&measured);
    if let Some(mut raw) = raw {
        raw.write(
            &Document::new(&measurement).with_raw_data(bench.runs(), bench.groups()).as_json()?,
        )?;
    }
    let name = options.name.clone().unwrap_or_else(|| gpu_file::name_of(&facts.name));
    let text = gpu_file::text(&name, &facts, &measured);
    gpu_file::gpu(&text).map_err(|error| Report::new(error.to_string()))?;
    if let Some(mut saved) = saved {
        saved.write(&text)?;
    }
    let document = Document::new(&measurement);
    output.write(&match arguments.output.format {
        Format::Json => document.as_json()?,
        Format::Csv => document.as_csv()?,
        Format::Text if compared.is_some() => document.as_text(),
        Format::Text => text + &document.left_out_as_comments(),
    })?;
    Ok(())
}

/// The parameters of the fields that `--only` names, or all.
fn chosen(only: &[String]) -> Result<Vec<&'static Parameter>, Failure> {
    let find = |field: &String| {
        all().find(|parameter| parameter.field == field).ok_or_else(|| {
            let known: Vec<&str> = all().map(|parameter| parameter.field).collect();
            let report = Report::new(format!("`{field}` is not measured"));
            Failure::Usage(report.hint(format!("these are: {}", known.join(", "))))
        })
    };
    match only {
        [] => Ok(all().collect()),
        only => only.iter().map(find).collect(),
    }
}

/// Warns of figures that a GPU contradicted before.
fn warn_of_doubts(measured: &[Measured]) {
    let fields = measured.iter().map(|figure| figure.parameter.field);
    let doubtful: Vec<&str> = fields.filter(|field| DOUBTFUL.contains(field)).collect();
    if !doubtful.is_empty() {
        diagnostic::warning(&format!(
            "compilers change the kernels of {}; on an H200 these figures were wrong",
            doubtful.join(", ")
        ));
    }
}

/// A clock in MHz, if the state tells it.
type Clock = fn(&State) -> Option<f64>;

/// Warns of clocks that changed during the measurement.
fn warn_of_clocks(groups: &[Group]) {
    let clocks: [(&str, Clock); 2] =
        [("SMs", |state| state.sm_clock_mhz), ("memory", |state| state.memory_clock_mhz)];
    for (what, clock) in clocks {
        let Some(Range { low, high }) = conditions::unsteady(groups, clock) else { continue };
        let bits = groups.iter().filter_map(|group| group.after.throttle_reasons);
        let reasons = conditions::reasons(bits.fold(0, |all, one| all | one));
        let because = match reasons.is_empty() {
            true => String::new(),
            false => format!(" ({})", reasons.join(", ")),
        };
        diagnostic::warning(&format!(
            "the clock of the {what} changed between {low:.0} and {high:.0} MHz during the \
             measurement{because}; `nvidia-smi -lgc` locks it"
        ));
    }
}

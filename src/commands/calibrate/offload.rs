//! `gpucast calibrate offload`: transfers and execution of an offloaded kernel.

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::calibration::SCHEMA;
use gpucast_forecast::input::{module_text, samples};
use gpucast_forecast::number;
use gpucast_model::offload::{Calibration, CalibrationError, discrepancy};
use gpucast_model::regression::RegressionError;
use gpucast_render::table::{Align, aligned};
use gpucast_render::{TextOrJson, json};
use serde::Serialize;

use crate::cli::CalibrateOffload;
use crate::failure::{Failure, Report};
use crate::output::Output;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    model: &'static str,
    /// The GPU that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<String>,
    offload: &'a Calibration,
}

pub(super) fn run(arguments: &CalibrateOffload) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    let gpu =
        arguments.gpu.as_deref().map(|name| gpu_argument::find(&library, name)).transpose()?;
    let gpu = gpu.map(|gpu| gpu.name);
    let source = module_text::read_text(&arguments.samples)?;
    let read = samples::offload(&source)?;
    let calibration = Calibration::new(&read, arguments.every.into(), arguments.confidence)
        .map_err(|error| {
            Report::new(format!("{}: {error}", source.name)).maybe_hint(hint(&error))
        })?;
    let text = match arguments.format {
        TextOrJson::Text => describe(&calibration),
        TextOrJson::Json => json::document(&Document {
            schema: SCHEMA,
            model: "offload",
            gpu,
            offload: &calibration,
        })?,
    };
    Output::open(arguments.output.clone())?.write(&text)
}

fn hint(error: &CalibrationError) -> Option<String> {
    let CalibrationError::Regression { error, .. } = error else { return None };
    Some(match error {
        RegressionError::TooFewSamples { .. } => {
            "give more samples, or fit to all of them with --every 1".to_owned()
        }
        RegressionError::Dependent { .. } => {
            "transfers and work must vary, each in its own way if \
                                              only time_s is given"
                .to_owned()
        }
        RegressionError::NotFinite { .. } => return None,
    })
}

/// The fitted model as a table, and how well it does.
fn describe(calibration: &Calibration) -> String {
    let percent = number::percent(calibration.confidence);
    let header =
        ["", "rate", "", &format!("{percent} interval"), "β", &format!("{percent} interval"), "R²"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let steps = [("dispatch", 1e9, "GB/s"), ("execute", 1e9, "GFLOPS"), ("collect", 1e9, "GB/s")];
    let range = |low: f64, high: f64| format!("{} … {}", number::real(low), number::real(high));
    for (at, (step, scale, unit)) in steps.into_iter().enumerate() {
        let rate = calibration.rates[at];
        let interval = rate.interval.map_or("-".to_owned(), |(low, high)| match high.is_finite() {
            true => range(low / scale, high / scale),
            false => format!("at least {}", number::real(low / scale)),
        });
        let [constant, constant_interval, r_squared] = match calibration.steps {
            Some(steps) => milliseconds(
                steps[at].constant.value,
                steps[at].constant.interval,
                steps[at].r_squared,
            ),
            None => ["-", "-", "-"].map(str::to_owned),
        };
        rows.push(vec![
            step.to_owned(),
            number::real(rate.value / scale),
            unit.to_owned(),
            interval,
            constant,
            constant_interval,
            r_squared,
        ]);
    }
    let [constant, interval, r_squared] = milliseconds(
        calibration.constant.value,
        calibration.constant.interval,
        calibration.r_squared,
    );
    rows.push(vec![
        "total".to_owned(),
        String::new(),
        String::new(),
        String::new(),
        constant,
        interval,
        r_squared,
    ]);
    use Align::{Left, Right};
    let table = aligned(2, &[Left, Right, Left, Left, Right, Left, Right], &rows);
    format!(
        "offload: T = W_dispatch / bandwidth + W_exec / speed + W_collect / bandwidth + β\n\
         Velho et al. 2013, equations 1 to 4\n\n{table}\n\
         Fitted to {} samples, evaluated on {}: the worst error is {}, the mean {} (eq. 5 and 6).\n",
        calibration.fitted,
        calibration.evaluated,
        number::percent(discrepancy(calibration.worst_error)),
        number::percent(discrepancy(calibration.mean_error)),
    )
}

/// A constant with its interval in milliseconds, and R².
fn milliseconds(value: f64, interval: Option<(f64, f64)>, r_squared: f64) -> [String; 3] {
    let ms = |seconds: f64| number::real(seconds * 1e3);
    let interval =
        interval.map_or("-".to_owned(), |(low, high)| format!("{} … {}", ms(low), ms(high)));
    [format!("{} ms", ms(value)), interval, format!("{r_squared:.6}")]
}

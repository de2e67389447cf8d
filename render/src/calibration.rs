//! Calibrations of models: parameters with their errors, and samples.

use std::collections::BTreeMap;

use gpucast_forecast::calibration::{CostForm, Made};
use gpucast_forecast::input::calibration::SCHEMA;
use gpucast_forecast::{Report, number};
use gpucast_model::Gpu;
use gpucast_model::cost_model::{Calibration, Formula};
use gpucast_model::offload::{self, discrepancy};
use serde::Serialize;

use crate::collection::reasons;
use crate::table::{Align, aligned, wrapped};
use crate::{TextOrJson, json};

/// The parameters of a cost model, and their origin.
#[derive(Clone, Copy, Debug)]
pub struct CostView<'a> {
    /// The GPU for which they hold.
    pub gpu: &'a Gpu,
    /// The model without them.
    pub form: &'a CostForm,
    /// The parameters.
    pub calibration: &'a Calibration,
    /// The measurement kernels, where the samples are theirs.
    pub made: Option<&'a Made>,
}

#[derive(Serialize)]
struct CostDocument<'a> {
    schema: &'static str,
    model: &'static str,
    gpu: &'a str,
    expression: &'a str,
    terms: &'a BTreeMap<String, String>,
    /// The measurement kernels, where the samples are theirs.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured: Option<&'a Made>,
    cost: &'a Calibration,
    negative: Vec<&'a str>,
}

#[derive(Serialize)]
struct OffloadDocument<'a> {
    schema: &'static str,
    model: &'static str,
    /// The GPU that was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    gpu: Option<&'a str>,
    offload: &'a offload::Calibration,
}

/// The parameters of a cost model.
///
/// # Errors
///
/// If a value cannot be written as JSON.
pub fn cost_document(view: CostView<'_>, format: TextOrJson) -> Result<String, Report> {
    let CostView { gpu, form, calibration, made } = view;
    match format {
        TextOrJson::Text => {
            Ok(made.map(described).unwrap_or_default() + &cost(gpu, form, calibration))
        }
        TextOrJson::Json => json::document(&CostDocument {
            schema: SCHEMA,
            model: "cost-model",
            gpu: &gpu.name,
            expression: &form.text,
            terms: &form.terms,
            measured: made,
            negative: calibration.negative().map(|negative| negative.name.as_str()).collect(),
            cost: calibration,
        }),
    }
}

/// The parameters of an offloaded kernel's transfers and execution on a GPU, if it is known.
///
/// # Errors
///
/// If a value cannot be written as JSON.
pub fn offload_document(
    calibration: &offload::Calibration,
    gpu: Option<&str>,
    format: TextOrJson,
) -> Result<String, Report> {
    match format {
        TextOrJson::Text => Ok(offload(calibration)),
        TextOrJson::Json => json::document(&OffloadDocument {
            schema: SCHEMA,
            model: "offload",
            gpu,
            offload: calibration,
        }),
    }
}

/// How many kernels were measured and left out, and why.
fn described(made: &Made) -> String {
    let Made { model, gpu, kernels, left_out, excluded, .. } = made;
    let word = if *kernels == 1 { "kernel" } else { "kernels" };
    let mut text = format!("{kernels} measurement {word}, timed by {model} for {gpu}.\n");
    if let Some(excluded) = excluded.filter(|&excluded| excluded > 0) {
        text += &format!("{excluded} trials were left out as anomalous.\n");
    }
    text += &reasons(left_out.iter().map(|row| row.reason.as_str()));
    text.push('\n');
    text
}

/// Samples that are shown one by one; the JSON has all.
const MOST_SAMPLES: usize = 40;

/// The parameters and samples of a cost model as tables.
fn cost(gpu: &Gpu, form: &CostForm, calibration: &Calibration) -> String {
    use Align::{Left, Right};
    let percent = number::percent(calibration.confidence);
    let margin = format!("± {percent}");
    let header = ["parameter", "value", "standard error", "", &margin, "unit"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    for parameter in &calibration.parameters {
        let relative = parameter.standard_error.map_or_else(String::new, |error| {
            format!("({})", number::percent((error / parameter.value).abs()))
        });
        let error = |error: Option<f64>| {
            error.map_or_else(|| "not determined".to_owned(), |error| format!("{error:.2e}"))
        };
        rows.push(vec![
            parameter.name.clone(),
            format!("{:.4e}", parameter.value),
            error(parameter.standard_error),
            relative,
            error(parameter.margin),
            unit(&form.formula, &parameter.name),
        ]);
    }
    let mut text = wrapped("cost-model: ", 12, 96, &form.text);
    for (name, term) in &form.terms {
        text += &wrapped(&format!("{name} = "), 12, 96, term);
    }
    text += &format!("Stevens and Klöckner 2020, section 7.2, on {}\n\n", gpu.name);
    text += &aligned(2, &[Left, Right, Right, Right, Right, Left], &rows);
    text += &format!(
        "\nResidual {} with {} degrees of freedom (scaled: {}); {}.\n\
         Relative errors: geometric mean {}, mean {}, worst {}.\n",
        number::real(calibration.residual),
        calibration.degrees_of_freedom,
        calibration.scale.name(),
        calibration.termination,
        number::percent(calibration.geometric_mean_error),
        number::percent(calibration.mean_error),
        number::percent(calibration.worst_error),
    );
    for parameter in calibration.negative() {
        let sentence = format!(
            "{} is negative: no work makes a kernel faster (section 4), so the model or the \
             samples do not explain the times.",
            parameter.name
        );
        text += &wrapped("Warning: ", 9, 96, &sentence);
    }
    let mut rows = vec![["sample", "measured", "modelled", "error"].map(str::to_owned).to_vec()];
    for sample in calibration.samples.iter().take(MOST_SAMPLES) {
        rows.push(vec![
            sample.name.clone(),
            format!("{:.4e} s", sample.measured),
            format!("{:.4e} s", sample.modelled),
            number::percent(sample.error),
        ]);
    }
    text.push('\n');
    text += &aligned(2, &[Left, Right, Right, Right], &rows);
    if let Some(more) = calibration.samples.len().checked_sub(MOST_SAMPLES).filter(|&more| more > 0)
    {
        text += &format!("  and {more} more\n");
    }
    text
}

/// The unit of a parameter that is the cost of a feature; others have none that could be told.
fn unit(formula: &Formula, name: &str) -> String {
    let Some(place) = formula.parameters().iter().position(|parameter| parameter == name) else {
        return String::new();
    };
    let (parameters, features) = (formula.parameters().len(), formula.features().len());
    let costs = formula.costs(&vec![1.0; parameters], &vec![1.0; features]);
    let Some(cost) = costs.iter().find(|cost| cost.parameters == [place]) else {
        return String::new();
    };
    let counted = cost.features.iter().filter_map(|&at| formula.features().get(at));
    let counted: Vec<String> = counted.map(ToString::to_string).collect();
    format!("s per {}", counted.join(" * "))
}

/// The fitted model of an offloaded kernel as a table, and how well it does.
fn offload(calibration: &offload::Calibration) -> String {
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

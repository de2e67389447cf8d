//! Calibrations of models as text: parameters with their errors, and samples.

use std::collections::BTreeMap;

use gpucast_forecast::number;
use gpucast_model::Gpu;
use gpucast_model::cost_model::{Calibration, Formula};
use gpucast_model::offload::{self, discrepancy};

use crate::table::{Align, aligned, wrapped};

/// A cost model without its parameters.
#[derive(Clone, Copy, Debug)]
pub struct CostForm<'a> {
    /// The expression as its user wrote it.
    pub text: &'a str,
    /// Named expressions that it uses.
    pub terms: &'a BTreeMap<String, String>,
    /// The expression with its terms.
    pub formula: &'a Formula,
}

/// Samples that are shown one by one; the JSON has all.
const MOST_SAMPLES: usize = 40;

/// The parameters and samples of a cost model as tables.
pub fn cost(gpu: &Gpu, form: CostForm<'_>, calibration: &Calibration) -> String {
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
            unit(form.formula, &parameter.name),
        ]);
    }
    let mut text = wrapped("cost-model: ", 12, 96, form.text);
    for (name, term) in form.terms {
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
    let Some(place) = formula.parameters().iter().position(|one| one == name) else {
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
pub fn offload(calibration: &offload::Calibration) -> String {
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

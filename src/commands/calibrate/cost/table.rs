//! A calibration as text: its parameters with their errors, and its samples.

use gpucast_forecast::number;
use gpucast_model::Gpu;
use gpucast_model::cost_model::{Calibration, Formula};
use gpucast_render::table::{Align, aligned, wrapped};

use super::Form;

/// Samples that are shown one by one; the JSON has all.
const MOST_SAMPLES: usize = 40;

/// The parameters and samples as tables.
pub(super) fn describe(gpu: &Gpu, form: &Form, calibration: &Calibration) -> String {
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

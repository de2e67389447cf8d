//! The table of `nvprof --csv --metrics …`: one row for each kernel and metric.

use super::{Choice, Device, Launch, MODELLED_DEVICE, quoted};
use crate::definitions::{Definition, Nvprof, definitions};
use crate::metric::Number;

const HEADER: [&str; 8] =
    ["Device", "Kernel", "Invocations", "Metric Name", "Metric Description", "Min", "Max", "Avg"];

/// One kernel with all its launches, which nvprof does not tell apart.
struct Kernel<'a> {
    name: &'a str,
    launches: Vec<&'a Launch<'a>>,
}

/// Writes the metrics that nvprof has, in its format. A real nvprof also prints banner lines, but
/// to its standard error; so the table is the whole output.
///
/// Events are no part of it: nvprof has a table of their own for them.
#[must_use]
pub fn nvprof_csv(launches: &[Launch<'_>], device: Device<'_>, choice: Choice<'_>) -> String {
    let mut kernels: Vec<Kernel<'_>> = Vec::new();
    for launch in launches {
        match kernels.iter_mut().find(|kernel| kernel.name == launch.kernel) {
            Some(kernel) => kernel.launches.push(launch),
            None => kernels.push(Kernel { name: launch.kernel, launches: vec![launch] }),
        }
    }
    let device = format!("{} {MODELLED_DEVICE} (0)", device.name);
    let mut text = HEADER.map(quoted).join(",");
    text.push('\n');
    for kernel in &kernels {
        for definition in definitions() {
            let Nvprof::Metric(description) = definition.nvprof else { continue };
            let Some(row) = choice(definition).then(|| kernel.summary(definition)).flatten() else {
                continue;
            };
            let words = [&device, kernel.name].map(quoted).join(",");
            let names = [definition.name, description].map(quoted).join(",");
            let [least, greatest, mean] = [row.least, row.greatest, row.mean].map(|number| {
                // Counts are whole in nvprof's tables, even means.
                printed(number, definition.unit)
            });
            text += &format!("{words},{},{names},{least},{greatest},{mean}\n", row.invocations);
        }
    }
    text
}

/// A metric over all launches of a kernel.
struct Summary {
    invocations: u64,
    least: Number,
    greatest: Number,
    mean: Number,
}

impl Kernel<'_> {
    /// `None` if some launch has no value.
    fn summary(&self, definition: &Definition) -> Option<Summary> {
        let name = definition.name;
        let mut summary: Option<Summary> = None;
        let mut sum = 0.0;
        for launch in &self.launches {
            let mean = launch.mean.get(name)?.value;
            let (least, greatest) = launch.ranges.get(name).copied().unwrap_or((mean, mean));
            sum += mean.as_f64() * launch.invocations as f64;
            summary = Some(match summary {
                // A mean of one launch keeps every digit of a count.
                None => Summary { invocations: launch.invocations, least, greatest, mean },
                Some(all) => {
                    let invocations = all.invocations + launch.invocations;
                    Summary {
                        invocations,
                        least: if least.as_f64() < all.least.as_f64() { least } else { all.least },
                        greatest: if greatest.as_f64() > all.greatest.as_f64() {
                            greatest
                        } else {
                            all.greatest
                        },
                        mean: Number::Real(sum / invocations as f64),
                    }
                }
            });
        }
        summary
    }
}

/// Six decimals for ratios, with a percent sign for percentages; whole numbers for counts.
fn printed(number: Number, unit: &str) -> String {
    match (unit, number) {
        ("percent", number) => format!("{:.6}%", number.as_f64()),
        (unit, number) if unit == "ratio" || unit.contains('/') => {
            format!("{:.6}", number.as_f64())
        }
        (_, Number::Count(count)) => count.to_string(),
        (_, Number::Real(real)) => format!("{real:.0}"),
    }
}

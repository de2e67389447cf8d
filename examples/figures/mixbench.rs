//! Figures 5.5 to 5.7: the roofline that the model predicts for mixbench.

use gpucast_model::{Gpu, GpuLibrary};
use gpucast_plot::axis::Kind;
use gpucast_plot::pictures::curves::{Curve, Curves, Stroke};
use gpucast_plot::{Theme, svg};

use crate::page::{Line, Page};
use crate::{GPUS, Result, picture, predict};

/// Compute iterations of the members of the family.
const ITERATIONS: [u32; 9] = [0, 1, 2, 4, 8, 16, 32, 64, 128];

/// Predicted points of one GPU: operations/byte and GFLOPS.
type Points = Vec<(f64, f64)>;

pub(crate) fn figures(page: &mut Page) -> Result<()> {
    let gpus = GPUS.join(",");
    let mut points: [Points; 6] = Default::default();
    for iterations in ITERATIONS {
        let kernel = format!("mixbench-f32-{iterations}");
        let predictions = predict(&[
            &kernel,
            "--machine",
            "rules",
            "--gpu",
            &gpus,
            "--model",
            "quantitative-roofline",
        ])?;
        for (curve, prediction) in points.iter_mut().zip(&predictions) {
            let value = |group: &str, name: &str| {
                prediction[group][name].as_f64().ok_or_else(|| format!("{kernel} has no {name}"))
            };
            let operations = value("parameters", "W_comp")?;
            let intensity = operations / value("parameters", "W_traf")?;
            curve.push((intensity, value("intermediate", "T_predicted")?));
        }
    }
    page.section(
        "Figures 5.5 to 5.7: mixbench in single precision",
        "Solid lines are the corpus's mixbench kernels. They are executed here for each number of multiply-adds, \
         counted as on a GTX 480 by the rules, and predicted for six GPUs. Broken lines are the rooflines of table 3.1. The\n\
         thesis draws its predictions beside measurements, of which it prints no numbers. Two things can be held against \
         its text. Left of the ridge the curve follows the measured bandwidth. Right of it the plateau\n\
         approaches the measured T_SP of table 5.2 from below, as far as other instructions than multiply-adds allow.",
    );
    let library = GpuLibrary::builtin()?;
    for (number, pair) in GPUS.chunks(2).enumerate() {
        let file = format!("figure-5-{}.svg", 5 + number);
        let mut curves = Vec::new();
        for (series, name) in pair.iter().enumerate() {
            let gpu = library.as_written(name)?;
            let points = points[2 * number + series].clone();
            let (first, last) = (points[0].0, points[points.len() - 1].0);
            curves.push(Curve {
                name: format!("data sheet, {name}"),
                points: roof(gpu, first, last)?,
                stroke: Stroke::Reference,
                series,
            });
            curves.push(Curve { name: (*name).to_owned(), points, stroke: Stroke::Marked, series });
        }
        let picture_of = Curves {
            title: format!("Figure 5.{}: mixbench on {} and {}", 5 + number, pair[0], pair[1]),
            subtitle: "Predicted throughput in single precision, counts from executing the PTX"
                .to_owned(),
            x: "operational intensity (operations/byte)".to_owned(),
            y: "throughput (GFLOPS)".to_owned(),
            scales: (Kind::Logarithmic, Kind::Logarithmic),
            curves,
            notes: Vec::new(),
        };
        std::fs::write(picture(&file), svg::write(&picture_of.scene()?, Theme::Light)?)?;
        page.picture(&file, &format!("Throughput of mixbench on {} and {}", pair[0], pair[1]));
    }
    let mut lines = Vec::new();
    for (name, points) in GPUS.iter().zip(&points) {
        let gpu = library.as_written(name)?;
        let bandwidth = gpu.memory_bandwidth.as_ref().ok_or("no bandwidth")?.value.0;
        let peak = gpu.sp_throughput.as_ref().ok_or("no throughput")?.value.0;
        let (first, last) = (points[0], points[points.len() - 1]);
        lines.push(Line {
            quantity: format!("{name}: bandwidth at {:.2} operations/byte, B_mem", first.0),
            place: "table 5.2",
            stated: bandwidth,
            ours: first.1 / first.0,
            decimals: 2,
            unit: "GB/s",
        });
        lines.push(Line {
            quantity: format!("{name}: plateau at {:.0} operations/byte, T_SP", last.0),
            place: "table 5.2",
            stated: peak,
            ours: last.1,
            decimals: 2,
            unit: "GFLOPS",
        });
    }
    page.table(&lines);
    Ok(())
}

/// The roofline of the data sheet.
fn roof(gpu: &Gpu, first: f64, last: f64) -> Result<Points> {
    let bandwidth = gpu.peak_memory_bandwidth.as_ref().ok_or("no bandwidth")?.value.0;
    let peak = gpu.peak_sp_throughput.as_ref().ok_or("no throughput")?.value.0;
    Ok(vec![(first, first * bandwidth), (peak / bandwidth, peak), (last, peak)])
}

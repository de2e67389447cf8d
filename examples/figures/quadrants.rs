//! Figures 3.5, 4.4, 4.6 and 5.4: quadrant splits.

use gpucast_model::GpuLibrary;
use gpucast_plot::axis::Kind;
use gpucast_plot::pictures::quadrant_split::{Device, Peak, QuadrantSplit};
use gpucast_plot::{Theme, svg};
use serde_json::Value;

use crate::page::{Line, Page};
use crate::{GPUS, Result, picture, plot, predict};

/// Operations for each byte of LBMHD, the Lattice-Boltzmann code of Williams et al. 2009.
const LBMHD: f64 = 1.07;

/// LBMHD on four GPUs and a CPU, by data sheets.
pub(crate) fn figure_3_5(page: &mut Page) -> Result<()> {
    let library = GpuLibrary::builtin()?;
    let mut devices = vec![device("Xeon E7-8857 v2", 85.0, 288.0)];
    for (gpu, name) in [
        ("tesla-m2050", "Tesla S2050, one GPU"),
        ("tesla-k20c", "Tesla K20c"),
        ("gtx-480", "GTX 480"),
        ("gtx-titan-x", "GTX Titan X"),
    ] {
        let gpu = library.get(gpu)?;
        let bandwidth = gpu.peak_memory_bandwidth.as_ref().ok_or("no bandwidth")?.value.0;
        let throughput = gpu.peak_dp_throughput.as_ref().ok_or("no throughput")?.value.0;
        devices.push(device(name, bandwidth, throughput));
    }
    let split = QuadrantSplit {
        title: "Figure 3.5: LBMHD on four GPUs and a CPU".to_owned(),
        subtitle: "Double precision by data sheets; dashed lines lead to what the roofline allows"
            .to_owned(),
        kernel: "LBMHD".to_owned(),
        intensity: LBMHD,
        devices: devices.clone(),
        scale: Kind::Linear,
        notes: Vec::new(),
    };
    std::fs::write(picture("figure-3-5.svg"), svg::write(&split.scene()?, Theme::Light)?)?;
    page.section(
        "Figure 3.5: LBMHD",
        "The thesis gives the figure's GPUs by tables 3.1 and says which side of the half-line each lies \
         on. It prints neither the kernel's intensity nor\nthe CPU's name there. Taken here are 1.07 \
         operations/byte, the Xeon of figure 2.3 and the Titan X of our library. Williams et al. (2009) give two \
         intensities for LBMHD, and this is the greater one.\nWith 0.70 the GTX 480, at 0.949, would be \
         memory-bound, against the text. All five lie where the text says: the Xeon and both Teslas are \
         memory-bound, the GTX 480 and the Titan X compute-bound.",
    );
    page.picture("figure-3-5.svg", "Quadrant split of LBMHD with five devices");
    let stated = [("2.1", 3.388), ("table 3.1", 3.473), ("table 3.1", 5.644), ("table 3.1", 0.949)];
    let lines: Vec<Line> = devices
        .iter()
        .zip(stated)
        .map(|(device, (place, stated))| Line {
            quantity: format!("{}: throughput / bandwidth", device.name),
            place,
            stated,
            ours: device.peak.gflops / device.peak.gbps,
            decimals: 3,
            unit: "operations/byte",
        })
        .collect();
    page.table(&lines);
    Ok(())
}

fn device(name: &str, gbps: f64, gflops: f64) -> Device {
    Device {
        name: name.to_owned(),
        peak: Peak { gbps, gflops },
        theoretical: None,
        adjustments: Vec::new(),
        measured_gflops: None,
    }
}

fn real(prediction: &Value, group: &str, name: &str) -> Result<f64> {
    prediction[group][name].as_f64().ok_or_else(|| format!("no {name}").into())
}

/// What both figures of one GPU state.
struct Values {
    intensity: f64,
    mix: f64,
    instruction_efficiency: f64,
    peak: f64,
    adjusted: f64,
    predicted: f64,
    measured: f64,
    time_ms: f64,
    operations: f64,
}

fn values(metrics: &str) -> Result<Values> {
    let predictions = predict(&["--from-metrics", metrics, "--gpu", "gtx-660"])?;
    let one = predictions.first().ok_or("no prediction")?;
    let operations = real(one, "parameters", "W_comp")?;
    let measured_ms = one["published"]["measured_ms"].as_f64().ok_or("no measured time")?;
    Ok(Values {
        intensity: operations / real(one, "parameters", "W_traf")?,
        mix: real(one, "parameters", "E_mix")?,
        instruction_efficiency: real(one, "intermediate", "E_instr")?,
        peak: real(one, "intermediate", "T_op")?,
        adjusted: real(one, "intermediate", "T_op_adjusted")?,
        predicted: real(one, "intermediate", "T_predicted")?,
        measured: operations / measured_ms / 1e6,
        time_ms: one["time_ms"].as_f64().ok_or("no time")?,
        operations,
    })
}

fn line(
    quantity: &str,
    place: &'static str,
    (stated, ours): (f64, f64),
    (decimals, unit): (usize, &'static str),
) -> Line {
    Line { quantity: quantity.to_owned(), place, stated, ours, decimals, unit }
}

/// Red/black SOR on a GTX 660.
pub(crate) fn figure_4_4(page: &mut Page) -> Result<()> {
    let metrics = "corpus/published/sor.toml";
    let title = "Figure 4.4: red/black SOR on a GTX 660";
    let arguments =
        ["quadrant-split", "--from-metrics", metrics, "--gpu", "gtx-660", "--title", title];
    plot("figure-4-4.svg", &arguments)?;
    let v = values(metrics)?;
    page.section(
        "Figure 4.4: red/black SOR on a GTX 660",
        "`gpucast plot quadrant-split --from-metrics corpus/published/sor.toml --gpu gtx-660 -o split.svg`, \
         counts of table 4.4. By the data sheet the kernel would be\nmemory-bound; after both efficiencies it is \
         compute-bound, and the cross of the measurement hides the prediction.",
    );
    page.picture("figure-4-4.svg", "Quadrant split of red/black SOR on a GTX 660");
    page.table(&[
        line("O_krn", "4.3", (0.3, v.intensity), (1, "operations/byte")),
        line(
            "roofline of the data sheet",
            "4.3: exceeds 43",
            (43.0, 144.0 * v.intensity),
            (0, "GFLOPS"),
        ),
        line("T_DP", "table 4.6", (89.70, v.peak), (2, "GFLOPS")),
        line("E_mix", "table 4.5", (57.69, 100.0 * v.mix), (2, "%")),
        line("E_instr", "4.3", (55.89, 100.0 * v.instruction_efficiency), (2, "%")),
        line("T'_op", "4.3", (28.92, v.adjusted), (2, "GFLOPS")),
        line("T_predicted", "4.3", (28.92, v.predicted), (2, "GFLOPS")),
        line("measured", "4.3", (28.88, v.measured), (2, "GFLOPS")),
    ]);
    Ok(())
}

/// SGEMM on a GTX 660.
pub(crate) fn figure_4_6(page: &mut Page) -> Result<()> {
    let metrics = "corpus/published/sgemm.toml";
    let title = "Figure 4.6: SGEMM on a GTX 660";
    let arguments =
        ["quadrant-split", "--from-metrics", metrics, "--gpu", "gtx-660", "--title", title];
    plot("figure-4-6.svg", &arguments)?;
    let v = values(metrics)?;
    page.section(
        "Figure 4.6: SGEMM on a GTX 660",
        "`gpucast plot quadrant-split --from-metrics corpus/published/sgemm.toml --gpu gtx-660 -o split.svg`, \
         counts of table 4.9. Nine tenths of the peak are lost to loads and\nstores.",
    );
    page.picture("figure-4-6.svg", "Quadrant split of SGEMM on a GTX 660");
    page.table(&[
        line("O_krn", "4.4", (24.81, v.intensity), (2, "operations/byte")),
        line(
            "bandwidth at the data sheet's peak",
            "4.4: ≈ 80",
            (80.0, 1983.0 / v.intensity),
            (0, "GB/s"),
        ),
        line("time at the data sheet's peak", "4.4", (0.52, v.operations / 1983e6), (2, "ms")),
        line("E_instr", "4.4", (10.45, 100.0 * v.instruction_efficiency), (2, "%")),
        line("T'_op", "4.4", (202.80, v.adjusted), (2, "GFLOPS")),
        line("predicted time", "4.4", (5.17, v.time_ms), (2, "ms")),
        line("measured", "4.4", (169.11, v.measured), (2, "GFLOPS")),
    ]);
    let note = "\nSection 5.2.3 says that the time at the data sheet's peak is less than 0.53 ms; it is 0.5288.";
    page.section_text(note);
    Ok(())
}

/// Red/black SOR on six GPUs.
pub(crate) fn figure_5_4(page: &mut Page) -> Result<()> {
    let gpus = GPUS.join(",");
    let metrics = "corpus/published/sor.toml";
    let title = "Figure 5.4: red/black SOR on six GPUs";
    plot(
        "figure-5-4.svg",
        &["quadrant-split", "--from-metrics", metrics, "--gpu", &gpus, "--title", title],
    )?;
    page.section(
        "Figure 5.4: red/black SOR on six GPUs",
        "`gpucast plot quadrant-split --from-metrics corpus/published/sor.toml --gpu \
         gtx-480,gtx-660,gtx-960,gtx-1060,tesla-m2050,tesla-k20c -o split.svg`. Points are GPUs after both\n\
         efficiencies. The GTX 660 alone lies below the half-line; the GTX 480 lies just above.",
    );
    page.picture("figure-5-4.svg", "Quadrant split of red/black SOR with six GPUs");
    // Table 5.7.
    let stated = [
        (51.07, 0.31, 49.31),
        (28.92, 0.25, 28.92),
        (37.10, 0.43, 26.07),
        (60.80, 0.38, 48.79),
        (55.12, 0.51, 32.43),
        (91.13, 0.60, 45.80),
    ];
    let mut lines = Vec::new();
    let predictions = predict(&["--from-metrics", metrics, "--gpu", &gpus])?;
    for ((gpu, prediction), (adjusted, balance, predicted)) in
        GPUS.iter().zip(&predictions).zip(stated)
    {
        let value = |name| real(prediction, "intermediate", name);
        for (name, stated, symbol, unit) in [
            ("T'_op", adjusted, "T_op_adjusted", "GFLOPS"),
            ("O_dev", balance, "O_dev", "operations/byte"),
            ("T_predicted", predicted, "T_predicted", "GFLOPS"),
        ] {
            let quantity = format!("{gpu}: {name}");
            lines.push(line(&quantity, "table 5.7", (stated, value(symbol)?), (2, unit)));
        }
    }
    page.table(&lines);
    Ok(())
}

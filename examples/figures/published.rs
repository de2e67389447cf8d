//! The README's first picture: published times on GPUs of today beside those of the default model.

use gpucast_plot::pictures::errors::{Errors, Row};
use gpucast_plot::{Theme, svg};
use serde_json::Value;

use crate::{Result, gpucast, picture};

/// GPUs from Ampere on, the oldest that are still rented and sold.
const TODAY: [&str; 7] = [
    "a100-pcie-40gb",
    "a100-sxm-80gb",
    "h100-sxm",
    "rtx-3080",
    "rtx-3090",
    "rtx-a6000",
    "rtx-4090",
];

/// Draws every time of `corpus/published/measured.toml` on one of them.
pub(crate) fn pictures() -> Result<()> {
    let document = gpucast(&["compare", "--published", "--machine", "rules", "--format", "json"])?;
    let document: Value = serde_json::from_str(&document)?;
    let rows = document["rows"].as_array().ok_or("no rows")?;
    let mut rows: Vec<Row> = rows.iter().filter_map(row).collect();
    rows.sort_by_key(|row| TODAY.iter().position(|gpu| *gpu == row.group));
    let errors = Errors {
        title: "Time of a kernel, predicted without a GPU and measured on it".to_owned(),
        subtitle:
            "Every published time of a kernel of the corpus on a GPU since 2020, predicted by \
                   sm-simulation"
                .to_owned(),
        series: vec!["machine instructions by rules".to_owned()],
        rows,
        notes: Vec::new(),
    };
    let scene = errors.scene()?;
    for (suffix, theme) in [("", Theme::Light), ("-dark", Theme::Dark)] {
        let path = picture(&format!("predicted-and-measured{suffix}.svg"));
        std::fs::write(path, svg::write(&scene, theme)?)?;
    }
    Ok(())
}

/// A time on a GPU of today by its default model.
fn row(row: &Value) -> Option<Row> {
    let gpu = row["gpu"].as_str().filter(|gpu| TODAY.contains(gpu))?;
    (row["model"].as_str() == Some("sm-simulation")).then_some(())?;
    // Sizes of a kernel stand behind its name.
    let kernel = row["kernel"].as_str()?.split(" (").next()?;
    Some(Row {
        group: gpu.to_owned(),
        name: kernel.to_owned(),
        measured_ms: row["measured_ms"].as_f64()?,
        predicted_ms: vec![Some(row["predicted_ms"].as_f64()?)],
    })
}

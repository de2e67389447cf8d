//! Draws the figures of Konstantinidis 2017 anew from our data, and the pictures of the README and
//! of docs/pictures.md; writes docs/evidence/figures.md with the thesis's numbers beside ours.
//!
//! Usage: cargo build --release && cargo run --release --example figures
//!
//! Runs the program that was built, so that every picture is one that a user can draw.

mod mixbench;
mod page;
mod published;
mod quadrants;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The GPUs of Konstantinidis 2017, tables 3.1 and 5.2.
const GPUS: [&str; 6] = ["gtx-480", "gtx-660", "gtx-960", "gtx-1060", "tesla-m2050", "tesla-k20c"];

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn picture(name: &str) -> PathBuf {
    root().join("docs/pictures").join(name)
}

/// Runs the program; its standard output.
fn gpucast(arguments: &[&str]) -> Result<String> {
    let program = root().join("target/release/gpucast");
    let output = Command::new(program).current_dir(root()).args(arguments).output()?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(format!("gpucast {}: {complaint}", arguments.join(" ")).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Draws a picture with `gpucast plot`.
fn plot(name: &str, arguments: &[&str]) -> Result<()> {
    let path = picture(name);
    let path = path.to_str().ok_or("the path is no text")?;
    let mut all = vec!["plot"];
    all.extend(arguments);
    all.extend(["-o", path]);
    gpucast(&all).map(drop)
}

/// The predictions of `gpucast predict`.
fn predict(arguments: &[&str]) -> Result<Vec<serde_json::Value>> {
    let mut all = vec!["predict"];
    all.extend(arguments);
    all.extend(["--format", "json"]);
    let mut document: serde_json::Value = serde_json::from_str(&gpucast(&all)?)?;
    match document["predictions"].take() {
        serde_json::Value::Array(predictions) => Ok(predictions),
        _ => Err("no predictions".into()),
    }
}

fn main() -> Result<()> {
    published::pictures()?;
    let mut page = page::Page::new();
    quadrants::figure_3_5(&mut page)?;
    quadrants::figure_4_4(&mut page)?;
    quadrants::figure_4_6(&mut page)?;
    quadrants::figure_5_4(&mut page)?;
    mixbench::figures(&mut page)?;
    std::fs::write(root().join("docs/evidence/figures.md"), page.text())?;

    let kernels = ["sgemm", "sor-red-black", "lmsor"];
    for theme in ["light", "dark"] {
        let suffix = if theme == "dark" { "-dark" } else { "" };
        let mut arguments = vec!["roofline"];
        arguments.extend(kernels);
        arguments.extend(["--machine", "rules", "--gpu", "h100-sxm", "--theme", theme]);
        plot(&format!("roofline{suffix}.svg"), &arguments)?;
    }
    let mut arguments = vec!["breakdown"];
    arguments.extend(kernels);
    arguments.extend(["--machine", "rules", "--gpu", "a100,h100,rtx-4090"]);
    plot("breakdown.svg", &arguments)?;
    let mut arguments = vec!["mix"];
    arguments.extend(kernels);
    arguments.extend(["histogram", "transpose", "--machine", "rules"]);
    plot("mix.svg", &arguments)?;
    let store = ["access", "transpose-direct-16", "--size", "small", "--gpu", "h100-sxm"];
    plot("access.svg", &store)?;
    let column = ["banks", "transpose-unpadded-16", "--size", "small", "--gpu", "h100-sxm"];
    plot("banks.svg", &column)?;
    plot(
        "timeline.svg",
        &["timeline", "transpose", "--size", "small", "--gpu", "h100-sxm", "--machine", "rules"],
    )?;
    plot("divergence.svg", &["divergence", "block-sums-sequential", "--size", "small"])
}

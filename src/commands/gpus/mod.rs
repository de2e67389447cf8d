//! `gpucast gpus`: the parameter library.

mod derive;
mod diff;
mod import;
mod list;

use gpucast_forecast::choice::gpu_argument;
use gpucast_model::Gpu;
use gpucast_render::gpu::fields;
use gpucast_render::table::{Align, aligned};
use gpucast_render::{TextOrJson, json};
use serde::Serialize;

use crate::cli::Gpus;
use crate::failure::Failure;
use crate::output::Output;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    gpus: Vec<&'a Gpu>,
}

pub(crate) fn run(command: Gpus) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    match command {
        Gpus::List { words, output } => list::run(&library, &words, output),
        Gpus::Show { gpu, set, format } => {
            let gpu = gpu_argument::changed(&gpu_argument::find(&library, &gpu)?, &set)?;
            Output::open(None)?.write(&match format {
                TextOrJson::Text => show(&gpu),
                TextOrJson::Json => json::document(&Document { schema: SCHEMA, gpus: vec![&gpu] })?,
            })
        }
        Gpus::Derive(arguments) => derive::run(&library, *arguments),
        Gpus::Import(arguments) => import::run(arguments),
        Gpus::Diff { one, other, output } => {
            let one = gpu_argument::find(&library, &one)?;
            let other = gpu_argument::find(&library, &other)?;
            diff::run(&one, &other, output)
        }
    }
}

const SCHEMA: &str = "gpucast.gpus/1";

fn show(gpu: &Gpu) -> String {
    let rows: Vec<Vec<String>> = fields(gpu)
        .into_iter()
        .map(|field| {
            let source = format!("{}: {}", field.source_kind, field.source);
            vec![field.name, field.value, field.unit, source]
        })
        .collect();
    let table = aligned(2, &[Align::Left, Align::Right, Align::Left, Align::Left], &rows);
    let aliases = match gpu.aliases.as_slice() {
        [] => String::new(),
        names => format!(", also {}", names.join(", ")),
    };
    format!("{} ({}{aliases})\n\n{table}", gpu.display_name, gpu.name)
}

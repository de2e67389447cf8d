//! `gpucast gpus`: the parameter library.

mod derive;
mod import;
mod list;

use gpucast_forecast::choice::gpu_argument;
use gpucast_render::TextOrJson;
use gpucast_render::gpu as shown;

use crate::cli::Gpus;
use crate::failure::{Failure, Report};
use crate::output::Output;

pub(crate) fn run(command: Gpus) -> Result<(), Failure> {
    let library = gpu_argument::library()?;
    match command {
        Gpus::List { words, output } => list::run(&library, &words, output),
        Gpus::Show { gpu, set, format, output } => {
            let gpu = gpu_argument::changed(&gpu_argument::find(&library, &gpu)?, &set)?;
            Output::open(output)?.write(&match format {
                TextOrJson::Text => shown::description(&gpu),
                TextOrJson::Json => shown::document(&[&gpu])?,
            })
        }
        Gpus::Fields { words, output } => {
            let text = shown::readers(&words, output.format)?;
            let nothing = || {
                Report::new(format!("no field of a GPU has the words `{}`", words.join(" ")))
                    .hint("`gpucast gpus fields` lists all")
            };
            Output::open(output.output)?.write(&text.ok_or_else(nothing)?)
        }
        Gpus::Derive(arguments) => derive::run(&library, *arguments),
        Gpus::Import(arguments) => import::run(arguments),
        Gpus::Diff { one, other, output } => {
            let one = gpu_argument::find(&library, &one)?;
            let other = gpu_argument::find(&library, &other)?;
            let text = shown::differences(&one, &other, output.format)?;
            Output::open(output.output)?.write(&text)
        }
    }
}

//! Generators of the user's own: launch files whose parameters are the arguments.

use std::fs;
use std::path::Path;

use gpucast_collection::{Request, Target};
use gpucast_forecast::input::template::{Template, TemplateKernel};
use gpucast_render::collection::{self, MadeKernel};

use super::write_new;
use crate::cli::kernels::{Generate, KernelPart};
use crate::failure::{Failure, Report};

/// The kernels of the template that tags name; `None` if they name none.
///
/// # Errors
///
/// A template beside tags of generators, and what [`Template`] refuses.
pub(in crate::commands) fn kernels(request: &Request) -> Result<Option<Chosen>, Report> {
    let is_file = |tag: &&String| Path::new(tag).extension().is_some_and(|it| it == "toml");
    let Some(path) = request.generators.iter().find(is_file) else { return Ok(None) };
    if let Some(other) = request.generators.iter().find(|tag| *tag != path) {
        let report = Report::new(format!("{path} is a launch file, beside the tag `{other}`"));
        return Err(report.hint("a launch file has no tags but its parameters: n:1024,2048"));
    }
    let template = Template::open(Path::new(path))?;
    let kernels = template.kernels(&request.variants)?;
    Ok(Some(Chosen { template, kernels }))
}

/// A template, and its kernels that tags chose.
pub(in crate::commands) struct Chosen {
    template: Template,
    pub(in crate::commands) kernels: Vec<TemplateKernel>,
}

impl Chosen {
    /// The template's name.
    pub(super) fn name(&self) -> String {
        self.template.name()
    }

    /// The text that is asked for.
    ///
    /// # Errors
    ///
    /// A text of several kernels, and one that launch files do not have.
    pub(super) fn shown(&self, part: KernelPart, target: Target) -> Result<String, Failure> {
        if part == KernelPart::Summary {
            let Self { template, kernels } = self;
            let (name, parameters) = (template.name(), template.parameters());
            return Ok(collection::template_summary(&name, parameters, kernels.len()));
        }
        let [kernel] = &self.kernels[..] else {
            let message = format!("these tags choose {} kernels", self.kernels.len());
            let report = Report::new(message);
            return Err(report.hint("give one value for each parameter").into());
        };
        let module = format!("{}.ptx", kernel.file_name());
        let texts = kernel.texts(&module, Some(&target.to_string()))?;
        match part {
            KernelPart::Ptx | KernelPart::Summary => Ok(texts.ptx),
            KernelPart::Launch => Ok(texts.launch),
            KernelPart::Cuda => Err(without_source().into()),
        }
    }

    /// Writes the kernels with their launch files.
    ///
    /// # Errors
    ///
    /// Kernels that all cannot be made, and files that cannot be written.
    pub(super) fn generate(&self, arguments: &Generate) -> Result<Vec<MadeKernel>, Failure> {
        if arguments.cuda {
            return Err(without_source().into());
        }
        let folder = &arguments.output;
        fs::create_dir_all(folder).map_err(|error| Report::file("make", folder, &error))?;
        let arch = arguments.target.to_string();
        let mut kernels = Vec::new();
        for kernel in &self.kernels {
            let name = kernel.file_name();
            let texts = kernel.texts(&format!("{name}.ptx"), Some(&arch))?;
            let plan = kernel.plan(Some(&arch))?;
            let mut files = Vec::new();
            for (ending, text) in [("ptx", &texts.ptx), ("toml", &texts.launch)] {
                let path = folder.join(format!("{name}.{ending}"));
                write_new(&path, text)?;
                files.push(path);
            }
            let values = kernel.values().iter();
            let first = plan.launches.first();
            kernels.push(MadeKernel {
                generator: kernel.template().name(),
                variant: values.map(|(name, value)| (name.clone(), value.to_string())).collect(),
                grid: first.map_or([0; 3], |launch| launch.grid),
                block: first.map_or([0; 3], |launch| launch.block),
                files,
            });
        }
        Ok(kernels)
    }
}

fn without_source() -> Report {
    Report::new("a launch file's module is taken as it is").hint("leave out --cuda")
}

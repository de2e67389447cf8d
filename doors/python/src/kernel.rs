//! A kernel with its launch, read and parsed once.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::ElementType;
use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::Argument;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::{CudaOptions, is_cuda};
use gpucast_forecast::input::cuda_source::{self, CudaFile};
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::input::kernel_name;
use gpucast_forecast::input::plan::{Plan, Symbol};
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::module;
use gpucast_forecast::settings::Size;
use gpucast_forecast::{Anchor, Failure, LaunchOptions, Report, SourceText};
use gpucast_ptx_frontend::module::Formal;
use gpucast_toolchain::compiler::{Choice, Installed};
use pyo3::prelude::*;

use crate::settings::{Settings, chosen};
use crate::supervision::{Supervision, supervised};

/// A launch: attributes of `gpucast._kernel.Launch`.
#[derive(FromPyObject)]
pub(crate) struct Launch {
    kernel: Option<String>,
    grid: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    cluster: Option<[u32; 3]>,
    shared_bytes: Option<u32>,
    /// Arguments in the notation of the command line.
    notation: Vec<String>,
    arch: Option<String>,
    size: Option<String>,
    parameters: Vec<(String, f64)>,
    /// Variables of the module with their first contents.
    symbols: Vec<(String, Vec<u8>)>,
    l2: Option<String>,
    defines: Vec<String>,
    includes: Vec<PathBuf>,
    standard: Option<String>,
    compiler: Option<String>,
    /// GPUs whose oldest architecture CUDA is compiled for.
    gpus: Vec<String>,
    /// Where else source files of the module may be.
    source_root: Option<PathBuf>,
}

/// The words for sizes of corpus kernels.
pub(crate) const SIZES: [(&str, Size); 2] = [("small", Size::Small), ("paper", Size::Paper)];

impl Launch {
    /// The same as the command line's options.
    fn options(
        &self,
        settings: &Settings,
        supervision: &Supervision,
    ) -> Result<LaunchOptions, Failure> {
        let mut cuda = CudaOptions {
            defines: self.defines.clone(),
            includes: self.includes.clone(),
            standard: self.standard.clone(),
            ..CudaOptions::default()
        };
        if !self.gpus.is_empty() {
            cuda.suggest_for(&gpu_argument::find_all(crate::gpus::library()?, &self.gpus)?);
        }
        let choice = self.compiler.as_deref().map(Choice::from);
        let compiler = Installed::new(choice, supervision.stop());
        cuda.compiler = Some(Arc::new(compiler.with_packages(settings.packages.clone())));
        let size = self.size.as_deref().map(|size| chosen("size", size, &SIZES)).transpose()?;
        Ok(LaunchOptions {
            kernel: self.kernel.clone(),
            grid: self.grid,
            block: self.block,
            cluster: self.cluster,
            shared_bytes: self.shared_bytes,
            arg: self.notation.iter().cloned().map(Argument::from).collect(),
            arch: self.arch.clone(),
            size,
            l2: self.l2.as_deref().map(|l2| chosen("l2", l2, &L2Contents::NAMED)).transpose()?,
            param: self.parameters.clone(),
            cuda,
            ..LaunchOptions::default()
        })
    }
}

/// A variable that is filled before the launch.
fn symbol((name, contents): &(String, Vec<u8>)) -> Symbol {
    let source = SourceText::new("symbols", name.clone());
    Symbol {
        name: name.clone(),
        ty: ElementType::U8,
        len: Some(contents.len()),
        init: Init::Bytes(Arc::from(contents.as_slice())),
        anchor: Anchor { source, range: 0..name.len() },
    }
}

/// A kernel with its launch. The arrays of a launch are no part of it.
#[pyclass(frozen, module = "gpucast._gpucast")]
pub(crate) struct Kernel {
    pub(crate) plan: Plan,
    pub(crate) loaded: Arc<Loaded>,
    /// CUDA of a text that is no file.
    source: Option<SourceText>,
    source_root: Option<PathBuf>,
}

impl Kernel {
    fn new(mut plan: Plan, source: Option<SourceText>, launch: &Launch) -> Result<Self, Failure> {
        plan.symbols.extend(launch.symbols.iter().map(symbol));
        let loaded = Arc::new(module::load(&plan)?);
        Ok(Self { plan, loaded, source, source_root: launch.source_root.clone() })
    }

    /// The source files that the module names, with their lines where they are known.
    pub(crate) fn files(&self) -> std::collections::BTreeMap<u32, CudaFile> {
        let module = &self.loaded.module;
        let mut files = cuda_source::files(&self.plan, module, self.source_root.as_deref());
        if let Some(source) = &self.source {
            let own =
                files.values_mut().filter(|file| Path::new(&file.name).ends_with(&*source.name));
            own.for_each(|file| {
                file.lines = Some(source.text.lines().map(cuda_source::printable).collect());
            });
        }
        files
    }
}

/// A kernel parameter: name, type in the PTX, bytes, alignment, and true if it is an array.
type Parameter = (String, &'static str, u64, u32, bool);

#[pymethods]
impl Kernel {
    /// The KERNEL of the command line: a corpus name, a launch file, or a file with device code.
    #[staticmethod]
    fn open(
        py: Python<'_>,
        argument: &str,
        launch: Launch,
        settings: Settings,
    ) -> PyResult<(Self, Vec<String>)> {
        let read = supervised(py, &settings, |supervision| {
            let options = launch.options(&settings, supervision)?;
            let plan = kernel_argument::read(argument, &options)?;
            Self::new(plan, None, &launch)
        })?;
        Ok((read.value, read.notes))
    }

    /// A text of PTX or CUDA, which errors call `name`.
    #[staticmethod]
    fn of_text(
        py: Python<'_>,
        name: &str,
        text: &str,
        launch: Launch,
        settings: Settings,
    ) -> PyResult<(Self, Vec<String>)> {
        let read = supervised(py, &settings, |supervision| {
            let mut options = launch.options(&settings, supervision)?;
            if !is_cuda(Path::new(name), text) {
                let plan = kernel_argument::of_text(Path::new(name), text, &options)?;
                return Self::new(plan, None, &launch);
            }
            let source = SourceText::new(name, text);
            let cuda = std::mem::take(&mut options.cuda);
            let target = options.arch.take().map(|arch| {
                arch.parse().map_err(|_| {
                    let message = format!("`{arch}` is no architecture");
                    Failure::Usage(Report::new(message).hint("write arch=\"sm_80\""))
                })
            });
            let cuda = CudaOptions { target: target.transpose()?, ..cuda };
            let compiler = cuda.compiler.clone();
            let compiler = compiler.ok_or_else(|| Report::new("there is no compiler"))?;
            let compiled = compiler.compile(&source, &cuda)?;
            let note = format!("{name}: compiled by {} for {}", compiled.by, compiled.target);
            let name = format!("{name} (its PTX)");
            let mut plan = kernel_argument::of_text(Path::new(&name), &compiled.ptx, &options)?;
            let warnings = compiled.warnings.iter().fold(note, |all, one| format!("{all}; {one}"));
            plan.note = Some(warnings);
            Self::new(plan, Some(source), &launch)
        })?;
        Ok((read.value, read.notes))
    }

    /// The parameters of the first launch's kernel.
    #[getter]
    fn parameters(&self) -> Vec<Parameter> {
        let module = &self.loaded.module;
        let Some(launch) = self.plan.launches.first() else { return Vec::new() };
        let function = module.functions.iter().find(|function| function.name == launch.kernel);
        let formals = function.map(|function| function.params.as_slice()).unwrap_or_default();
        let variables = formals.iter().filter_map(|formal| match formal {
            Formal::Variable(id) => module.variables.get(id.index()),
            _ => None,
        });
        let described = variables.map(|variable| {
            let is_array = !variable.dimensions.is_empty() || variable.vector > 1;
            let (ty, bytes) = (variable.ty.text(), variable.size_bytes);
            (variable.name.clone(), ty, bytes, variable.align, is_array)
        });
        described.collect()
    }

    /// The kernels that the module defines, as they are written in the source.
    #[getter]
    fn kernels(&self) -> Vec<String> {
        let names = kernel_name::kernels(&self.loaded.source.text);
        names.into_iter().map(kernel_name::readable).collect()
    }

    /// The kernel of the first launch.
    #[getter]
    fn name(&self) -> Option<String> {
        self.plan.launches.first().map(|launch| kernel_name::readable(&launch.kernel))
    }

    /// The PTX.
    #[getter]
    fn ptx(&self) -> String {
        self.loaded.source.text.to_string()
    }
}

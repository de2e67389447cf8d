//! The two sides: what is judged, and what it is judged by. Each can be opened at any size.

use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::kernel_argument::{self, ReadFailure};
use gpucast_forecast::input::launch_template::LaunchTemplate;
use gpucast_forecast::input::plan::Plan;
use gpucast_forecast::run::execute::Loaded;
use gpucast_forecast::run::module;
use gpucast_forecast::settings::Size;
use gpucast_forecast::{Failure, Report};
use gpucast_interpreter::Program;

/// A kernel with its launch, in which sizes are open.
#[derive(Clone, Debug)]
pub struct Side {
    /// The kernel: what every command takes.
    pub input: String,
    /// Its launch.
    pub template: LaunchTemplate,
    /// The problem size of a corpus kernel.
    pub size: Option<Size>,
}

/// A side at one size.
pub struct Opened {
    /// The launches with their buffers.
    pub plan: Plan,
    /// The module.
    pub loaded: Loaded,
}

/// Reason why a side has no launches.
#[derive(Debug)]
pub enum NotOpened {
    /// The code is at fault: what its compiler or its parser says, with places.
    Code(Vec<Report>),
    /// The request is.
    Request(ReadFailure),
}

impl<T: Into<Failure>> From<T> for NotOpened {
    fn from(failure: T) -> Self {
        Self::of(ReadFailure::Failure(failure.into()))
    }
}

impl From<NotOpened> for ReadFailure {
    fn from(failure: NotOpened) -> Self {
        match failure {
            NotOpened::Code(reports) => Failure::Input(reports).into(),
            NotOpened::Request(failure) => failure,
        }
    }
}

impl NotOpened {
    /// Tells reports about code from others by the text that they point at: launches stand in
    /// launch files and on command lines.
    fn of(failure: ReadFailure) -> Self {
        match failure {
            ReadFailure::Failure(Failure::Input(reports)) if reports.iter().any(is_about_code) => {
                Self::Code(reports)
            }
            other => Self::Request(other),
        }
    }
}

fn is_about_code(report: &Report) -> bool {
    let ends = |name: &str| [".cu", ".cuh", ".ptx", ".h"].iter().any(|end| name.ends_with(end));
    report.anchor.as_ref().is_some_and(|anchor| ends(&anchor.source.name))
}

impl Side {
    /// The parameters that it declares, with their usual values; `None` for a module, which takes
    /// any.
    ///
    /// # Errors
    ///
    /// If its launch file cannot be read.
    pub fn parameters(&self) -> Result<Option<Parameters>, Failure> {
        kernel_argument::parameters(&self.input, &self.template.options)
    }

    /// The side at a size.
    ///
    /// # Errors
    ///
    /// What is wrong with its code or its launch.
    pub fn open(&self, parameters: &Parameters) -> Result<Opened, NotOpened> {
        let options = self.template.clone().at(&self.input, self.size, parameters.clone())?;
        opened(kernel_argument::read(&self.input, &options).map_err(NotOpened::of)?)
    }

    /// The side at a size, in the launch of a reference where it is a module without arguments of
    /// its own.
    ///
    /// # Errors
    ///
    /// What is wrong with its code or its launch, and a reference of several launches.
    pub fn open_beside(
        &self,
        parameters: &Parameters,
        reference: &Plan,
    ) -> Result<Opened, NotOpened> {
        if self.parameters()?.is_some() || !self.template.arguments.is_empty() {
            return self.open(parameters);
        }
        let [launch] = reference.launches.as_slice() else {
            let launches = reference.launches.len();
            let message = format!(
                "the reference has {launches} launches, and {} is a module with none",
                self.input
            );
            return Err(Report::new(message).hint("give the candidate a launch file").into());
        };
        let mut options = self.template.clone().at(&self.input, self.size, parameters.clone())?;
        let is_own_shape = options.grid.is_some() || options.block.is_some();
        options.grid.get_or_insert(launch.grid);
        options.block.get_or_insert(launch.block);
        if !is_own_shape {
            options.cluster = options.cluster.or(launch.cluster);
            options.shared_bytes.get_or_insert(launch.shared_bytes);
        }
        let read = match kernel_argument::read(&self.input, &options) {
            // Of several kernels, that of the reference's name is meant.
            Err(ReadFailure::Unlaunched(_)) if options.kernel.is_none() => {
                options.kernel = Some(launch.kernel.clone());
                kernel_argument::read(&self.input, &options)
            }
            read => read,
        };
        let mut plan = read.map_err(NotOpened::of)?;
        plan.buffers.clone_from(&reference.buffers);
        plan.textures.clone_from(&reference.textures);
        plan.folder.clone_from(&reference.folder);
        (plan.l2, plan.timing) = (reference.l2, reference.timing);
        for own in &mut plan.launches {
            own.arguments.clone_from(&launch.arguments);
            own.places.arguments.clone_from(&launch.places.arguments);
            own.repeat = launch.repeat;
        }
        opened(plan)
    }
}

/// Parses the module of a plan, and compares its kernels' parameters with the arguments.
fn opened(plan: Plan) -> Result<Opened, NotOpened> {
    let loaded = module::load(&plan)?;
    for launch in &plan.launches {
        // Whatever else is wrong with the kernel is told when it is executed.
        let Ok(program) = Program::new(&loaded.module, &loaded.source.text, &launch.kernel) else {
            continue;
        };
        let (takes, given) = (program.parameters().len(), launch.arguments.len());
        if takes != given {
            let message = format!(
                "kernel {} of {} takes {takes} arguments, and its launch gives {given}",
                launch.kernel, loaded.source.name
            );
            let report = Report::new(message).at(&launch.kernel_anchor);
            return Err(report
                .hint("a candidate with other parameters needs a launch file")
                .into());
        }
    }
    Ok(Opened { plan, loaded })
}

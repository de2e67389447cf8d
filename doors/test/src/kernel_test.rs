//! A test in words: the kernel, its launch, and what is to hold.

use gpucast_forecast::settings::MachineChoice;
use gpucast_forecast::{Argument, LaunchOptions};
use gpucast_judge::tolerance::Overrides;

use crate::buffers::Buffers;

/// Does on the CPU what the kernel is to do.
pub(crate) type Reference<'a> = Box<dyn FnOnce(&mut Buffers) + 'a>;

/// A kernel with its launch and what is to hold. Nothing runs before [`KernelTest::run`].
///
/// Each method is a word of `#[kernel_test]`, too.
#[must_use = "a test that is not run holds nothing"]
pub struct KernelTest<'a> {
    pub(crate) file: String,
    pub(crate) launch: LaunchOptions,
    pub(crate) reference: Option<Reference<'a>>,
    pub(crate) tolerances: Overrides,
    pub(crate) checks: String,
    pub(crate) gpu: String,
    pub(crate) machine: MachineChoice,
    pub(crate) limits: Vec<String>,
}

/// A number of blocks or threads: of `x`, of `x` and `y`, or of all three axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent([u32; 3]);

impl From<u32> for Extent {
    fn from(x: u32) -> Self {
        Self([x, 1, 1])
    }
}

impl From<[u32; 2]> for Extent {
    fn from([x, y]: [u32; 2]) -> Self {
        Self([x, y, 1])
    }
}

impl From<[u32; 3]> for Extent {
    fn from(axes: [u32; 3]) -> Self {
        Self(axes)
    }
}

impl<'a> KernelTest<'a> {
    /// A kernel of a file: PTX, CUDA, a launch file, or a binary with PTX inside. Cargo runs tests
    /// in the folder of their package, where relative paths begin.
    pub fn new(file: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            launch: LaunchOptions::default(),
            reference: None,
            tolerances: Overrides::default(),
            checks: "all".to_owned(),
            gpu: "h100-sxm".to_owned(),
            machine: MachineChoice::Auto,
            limits: Vec::new(),
        }
    }

    /// The kernel's name, where the file has several.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.launch.kernel = Some(name.into());
        self
    }

    /// The blocks of the grid.
    pub fn grid(mut self, blocks: impl Into<Extent>) -> Self {
        self.launch.grid = Some(blocks.into().0);
        self
    }

    /// The threads of a block.
    pub fn block(mut self, threads: impl Into<Extent>) -> Self {
        self.launch.block = Some(threads.into().0);
        self
    }

    /// The dynamic shared memory of a block, in bytes.
    pub fn shared_bytes(mut self, bytes: u32) -> Self {
        self.launch.shared_bytes = Some(bytes);
        self
    }

    /// The next argument: a number, a vector of a buffer's elements, or a buffer such as
    /// `Argument::f32_buffer(n).uniform(-1.0, 1.0, 7)`.
    pub fn argument(mut self, argument: impl Into<Argument>) -> Self {
        self.launch = self.launch.argument(argument);
        self
    }

    /// A macro for CUDA source: `NAME` or `NAME=VALUE`.
    pub fn define(mut self, definition: impl Into<String>) -> Self {
        self.launch.cuda.defines.push(definition.into());
        self
    }

    /// Changes anything else of the launch: a cluster, parameters of a launch file, the compiler.
    pub fn options(mut self, change: impl FnOnce(&mut LaunchOptions)) -> Self {
        change(&mut self.launch);
        self
    }

    /// What the kernel is to compute: a function that does the same to the buffers. All of them are
    /// then compared, but those that nobody fills and the function leaves alone.
    pub fn expect(mut self, reference: impl FnOnce(&mut Buffers) + 'a) -> Self {
        self.reference = Some(Box::new(reference));
        self
    }

    /// The relative tolerance of floating-point results. By default it is 1e-10 for f64, 1e-4 for
    /// f32, 5e-3 for f16 and 4e-2 for bf16; integers are exact.
    pub fn rtol(mut self, tolerance: f64) -> Self {
        self.tolerances.rtol = Some(tolerance);
        self
    }

    /// The absolute tolerance of floating-point results. By default it is a part of the relative
    /// one, times the root mean square of the expected values.
    pub fn atol(mut self, tolerance: f64) -> Self {
        self.tolerances.atol = Some(tolerance);
        self
    }

    /// The checks of the run, with commas between them: `memory`, `race`, `init`, `sync`, or `all`
    /// of them, which is the default.
    pub fn checks(mut self, names: impl Into<String>) -> Self {
        self.checks = names.into();
        self
    }

    /// The GPUs that limits are about, by name or TOML file, with commas between them. By default
    /// it is `h100-sxm`.
    pub fn gpu(mut self, names: impl Into<String>) -> Self {
        self.gpu = names.into();
        self
    }

    /// What says which machine instructions there are. By default it is `ptxas` where that is
    /// found, which moves predicted times from one computer to another; rules are the same on all.
    pub fn machine(mut self, choice: MachineChoice) -> Self {
        self.machine = choice;
        self
    }

    /// A limit of a metric, or of the predicted time of all launches: `inst_executed <= 4096`,
    /// `branch_efficiency >= 90`, `time <= 120us`.
    pub fn limit(mut self, limit: impl Into<String>) -> Self {
        self.limits.push(limit.into());
        self
    }
}

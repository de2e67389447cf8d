//! What the tests share.

use std::path::Path;

use gpucast_forecast::run::execute::{self, Executed, Watch};
use gpucast_forecast::run::module;
use gpucast_forecast::{Failure, Kernel, LaunchOptions, Supervisor};
use gpucast_interpreter::{DeviceMemory, Launch, NoObserver, Options, Program};

/// Watches nothing.
struct Nothing;

impl Watch for Nothing {
    type Observer = NoObserver;

    fn begin(&mut self, _program: &Program, _launch: &Launch) -> NoObserver {
        NoObserver
    }

    fn end(
        &mut self,
        _observer: NoObserver,
        _program: &Program,
        _memory: &DeviceMemory,
    ) -> Result<(), Failure> {
        Ok(())
    }

    fn launched(&mut self, _executed: Executed<'_>) {}
}

/// Executes a kernel and returns what is then in memory.
pub(crate) fn execute(
    kernel: &Kernel,
    supervisor: &dyn Supervisor,
) -> Result<DeviceMemory, Failure> {
    let plan = kernel.plan();
    let loaded = module::load(plan)?;
    let mut memory = execute::memory(plan, &loaded)?;
    execute::execute(plan, &loaded, &mut memory, &Options::default(), supervisor, &mut Nothing)?;
    Ok(memory)
}

/// Opens a launch file of this text beside `kernel.ptx` with that text.
pub(crate) fn launch_file(
    ptx: &str,
    text: &str,
    options: &LaunchOptions,
) -> Result<Kernel, Failure> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("kernel.ptx"), ptx).unwrap();
    open(&folder.path().join("launch.toml"), text, options)
}

fn open(path: &Path, text: &str, options: &LaunchOptions) -> Result<Kernel, Failure> {
    std::fs::write(path, format!("module = \"kernel.ptx\"\n{text}")).unwrap();
    Kernel::open(path.to_str().unwrap(), options)
}

/// The elements of a buffer.
pub(crate) fn floats(memory: &DeviceMemory, name: &str) -> Vec<f32> {
    let bytes = memory.bytes(name).unwrap();
    bytes.chunks_exact(4).map(|it| f32::from_le_bytes(it.try_into().unwrap())).collect()
}

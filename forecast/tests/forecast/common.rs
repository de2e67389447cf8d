//! What the tests share.

use std::path::Path;

use gpucast_corpus::Entry;
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::execute::{self, Executed, Watch};
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::settings::{CacheChoice, RungChoice};
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions, Supervisor};
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

/// Counts each launch of a kernel as a GPU does, without machine instructions.
pub(crate) fn counted(kernel: &Kernel, gpu: &str, caches: CacheChoice) -> Vec<Counted> {
    counted_with(kernel, gpu, caches, Extras::default(), &Alone)
}

/// The same with other counts, and somebody who hears of it.
pub(crate) fn counted_with(
    kernel: &Kernel,
    gpu: &str,
    caches: CacheChoice,
    extras: Extras,
    supervisor: &dyn Supervisor,
) -> Vec<Counted> {
    let library = gpu_argument::library().unwrap();
    let gpu = gpu_argument::find(&library, gpu).unwrap();
    let device = gpu_argument::device_model(&gpu).unwrap();
    let loaded = module::load(kernel.plan()).unwrap();
    let (machine, rung, sample) = (&Machine::none(), RungChoice::Auto, None);
    let counting = Counting { device, machine, extras, rung, sample, caches, supervisor };
    counting::count(kernel.plan(), &loaded, &Options::default(), &counting).unwrap()
}

/// Each thread reads one word of `in` and writes one of `out`.
pub(crate) const COPY: &str = ".version 7.8\n.target sm_80\n.address_size 64\n
.visible .entry copy(.param .u64 in, .param .u64 out) {
    .reg .b64 %d<5>; .reg .b32 %r<5>;
    ld.param.u64 %d0, [in]; ld.param.u64 %d1, [out];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
    mad.lo.u32 %r3, %r1, %r2, %r0;
    mul.wide.u32 %d2, %r3, 4; add.s64 %d3, %d0, %d2; add.s64 %d4, %d1, %d2;
    ld.global.u32 %r4, [%d3]; st.global.u32 [%d4], %r4;
    ret;
}
";

/// True if everything is tried at once: `GPUCAST_NIGHTLY`.
pub(crate) fn is_nightly() -> bool {
    std::env::var_os("GPUCAST_NIGHTLY").is_some()
}

/// The kernels of the corpus that a test takes: in the gate one in `share`, from the `first` one
/// on, so that tests which try related things share the corpus. At night all.
pub(crate) fn corpus_part(first: usize, share: usize) -> impl Iterator<Item = &'static Entry> {
    let (first, share) = if is_nightly() { (0, 1) } else { (first, share) };
    gpucast_corpus::entries().iter().skip(first).step_by(share)
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
    Ok(Kernel::open(path.to_str().unwrap(), options)?)
}

/// The elements of a buffer.
pub(crate) fn floats(memory: &DeviceMemory, name: &str) -> Vec<f32> {
    let bytes = memory.bytes(name).unwrap();
    bytes.chunks_exact(4).map(|it| f32::from_le_bytes(it.try_into().unwrap())).collect()
}

//! Launches of host programs: counted by classes of CTAs, and executed.

use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::Alone;
use gpucast_forecast::failure::SourceText;
use gpucast_forecast::run::counting::{Counted, Counting, Extras, HostLaunch, stand_in};
use gpucast_forecast::run::execute;
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::settings::{CacheChoice, RungChoice};
use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, ModuleInstance, NoObserver, Options, Program, Silent,
};
use gpucast_model::{GpuLibrary, Needs};
use gpucast_ptx_frontend::module::VariableId;

/// `out[i] = factor + i`, each of them added to `total` where `i` is below `n`.
const TEXT: &str = "
.version 7.8
.target sm_80
.address_size 64
.const .align 4 .u32 factor = 3;
.global .align 4 .u32 total;
.visible .entry fill(.param .u64 out, .param .u32 n) {
    .reg .b64 %d<3>; .reg .b32 %r<6>; .reg .pred %p;
    ld.param.u64 %d0, [out]; ld.param.u32 %r5, [n];
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mad.lo.u32 %r0, %r1, 64, %r0;
    setp.ge.u32 %p, %r0, %r5; @%p ret;
    ld.const.u32 %r2, [factor]; add.u32 %r2, %r2, %r0;
    mul.wide.u32 %d1, %r0, 4; add.s64 %d0, %d0, %d1; st.global.u32 [%d0], %r2;
    red.global.add.u32 [total], 1;
    ret;
}
.visible .entry follow(.param .u64 out, .param .u32 n) {
    .reg .b64 %d<3>; .reg .b32 %r<3>;
    ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; add.s64 %d1, %d0, %d1;
    ld.global.u32 %r1, [%d1]; mul.wide.u32 %d1, %r1, 4; add.s64 %d1, %d0, %d1;
    ld.global.u32 %r1, [%d1];
    ret;
}";

const N: u32 = 6_390;

/// A module in the memory of a host program.
struct Host {
    memory: DeviceMemory,
    instance: ModuleInstance,
    out: u64,
}

impl Host {
    fn new(loaded: &execute::Loaded) -> Self {
        let mut memory = DeviceMemory::new();
        let out = memory.allocate("out", 4 * u64::from(N)).unwrap();
        // A module of the same names that another part of the program has loaded.
        ModuleInstance::load(&loaded.module, &mut memory).unwrap();
        let instance = ModuleInstance::load(&loaded.module, &mut memory).unwrap();
        Self { memory, instance, out }
    }

    /// Counts a launch of 100 CTAs, by classes if that `is_asked` for.
    fn count(&mut self, loaded: &execute::Loaded, is_asked: bool) -> Counted {
        let program = Program::new(&loaded.module, &loaded.source.text, "fill").unwrap();
        let program = program.in_instance(&self.instance);
        let stand_in = stand_in(loaded, &program).filter(|_| is_asked);
        assert_eq!(stand_in.is_some(), is_asked);
        let launch = Launch {
            grid: [100, 1, 1],
            block: [64, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![Argument::Address(self.out), Argument::Bytes(N.to_le_bytes().to_vec())],
        };
        let launch = HostLaunch {
            program: &program,
            stand_in: stand_in.as_ref(),
            launch: &launch,
            options: &Options::default(),
            host: &Silent,
            found: L2Contents::default(),
        };
        let gpu = GpuLibrary::builtin().unwrap().get("a100-sxm-80gb").unwrap();
        let counting = Counting {
            device: gpu.device_model().unwrap(),
            machine: &Machine::none(),
            extras: Extras::of(Needs::STAGES),
            rung: RungChoice::Auto,
            sample: None,
            caches: CacheChoice::Auto,
            supervisor: &Alone,
        };
        let beside = &mut None::<NoObserver>;
        launch.count(&mut self.memory, &counting, &mut None, beside).unwrap()
    }
}

fn loaded() -> execute::Loaded {
    execute::load(&SourceText::new("fill.ptx", TEXT)).unwrap()
}

/// One CTA stands for others, and the launch has its effect once.
#[test]
fn a_launch_by_classes_counts_and_leaves_what_one_of_all_ctas_does() {
    let loaded = loaded();
    let [mut by_classes, mut of_all] = [(); 2].map(|()| Host::new(&loaded));
    let counted = by_classes.count(&loaded, true);
    assert_eq!(counted.counted_by.rung, Rung::Classes);
    let all = of_all.count(&loaded, false);
    assert_eq!(all.counted_by.rung, Rung::Full);
    assert_eq!(counted.profile, all.profile);
    let total = loaded.module.variables.iter().position(|variable| variable.name == "total");
    for mut host in [by_classes, of_all] {
        let words: Vec<u8> = (0..N).flat_map(|at| (3 + at).to_le_bytes()).collect();
        assert!(host.memory.slice(host.out, 4 * u64::from(N)) == Some(&words[..]));
        let total = host.instance.address(VariableId(total.unwrap() as u32)).unwrap();
        assert_eq!(host.memory.slice_mut(total, 4).unwrap(), N.to_le_bytes());
    }
}

/// Whose addresses come from memory has to be executed.
#[test]
fn a_kernel_that_reads_its_addresses_has_no_stand_in() {
    let loaded = loaded();
    let program = Program::new(&loaded.module, &loaded.source.text, "follow").unwrap();
    assert!(stand_in(&loaded, &program).is_none());
}

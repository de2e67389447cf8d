//! The steps of a warp: as many as its blocks have instructions, with the values that these
//! compute.

use gpucast_forecast::run::module;
use gpucast_forecast::run::warp_steps::{self, MOST_STEPS, WarpSteps};
use gpucast_forecast::run::warp_way::{self, WarpChoice};
use gpucast_forecast::settings::Size;
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions};
use gpucast_interpreter::{Options, RegisterValues};

use crate::common::launch_file;

fn choice(cta: u32, warp: u32) -> WarpChoice {
    let steps = 0..MOST_STEPS;
    WarpChoice { launch: 0, cta: [cta, 0, 0], warp, execution: 0, steps }
}

fn record(kernel: &Kernel, choice: &WarpChoice) -> Result<WarpSteps, Failure> {
    let loaded = module::load(kernel.plan())?;
    warp_steps::record(kernel.plan(), &loaded, choice, &Options::default(), &Alone)
}

fn launched(body: &str) -> Kernel {
    let ptx = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n{body}\n}}\n"
    );
    let launch = "[buffers.p]\ntype = \"u32\"\nlen = 64\ninit = \"iota\"\n[[launch]]\nkernel = \"k\"\n\
                  grid = [2, 1, 1]\nblock = [32, 1, 1]\nargs = [\"p\"]\n";
    launch_file(&ptx, launch, &LaunchOptions::default()).unwrap()
}

/// The last values of a register.
fn last(steps: &WarpSteps, name: &str) -> RegisterValues {
    let at = steps.registers.iter().position(|register| register.name == name).unwrap() as u32;
    let mut writes = steps.steps.iter().flat_map(|step| &step.writes);
    writes.rfind(|(register, _)| *register == at).unwrap().1.clone()
}

/// Events of blocks, which counts rest on, know nothing of steps.
#[test]
fn steps_are_the_instructions_of_the_blocks_on_the_way() {
    let kernels = ["vector-add", "reduction-f32", "transpose-tiled", "histogram", "scan", "sgemm"];
    let names = gpucast_corpus::entries().iter().map(|entry| entry.name);
    let known: Vec<&str> = names.filter(|name| kernels.contains(name)).collect();
    assert!(known.len() >= 3, "{known:?}");
    for name in known {
        let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
        let kernel = Kernel::open(name, &options).unwrap();
        let loaded = module::load(kernel.plan()).unwrap();
        let choice = choice(0, 0);
        let steps = record(&kernel, &choice).unwrap();
        let options = Options::default();
        let way = warp_way::follow(kernel.plan(), &loaded, &choice, &options, &Alone).unwrap();
        assert!(steps.has_ended && steps.faults.is_empty(), "{name}");
        assert_eq!(steps.all_steps * 32, way.slots.all, "{name}");
        let used: u64 = steps.steps.iter().map(|step| u64::from(step.lanes.count_ones())).sum();
        if steps.all_steps <= MOST_STEPS {
            assert_eq!(used, way.slots.used, "{name}");
        }
    }
}

#[test]
fn registers_have_the_values_that_instructions_write() {
    let steps = record(
        &launched(
            ".reg .u32 %r<9>; .reg .u64 %d<4>; .reg .pred %q; .reg .v2 .u32 %v;
             ld.param.u64 %d0, [p];
             mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;
             mad.lo.u32 %r2, %r1, 32, %r0;
             mul.wide.u32 %d1, %r2, 4; add.u64 %d2, %d0, %d1;
             ld.global.u32 %r3, [%d2];
             setp.ge.u32 %q, %r0, 8;
             @%q add.u32 %r3, %r3, 100;
             @%q bra JOIN;
             shl.b32 %r4, %r3, 2;
             JOIN: mov.u32 %r5, 7;
             mov.v2.u32 %v, {%r0, %r5};
             st.global.u32 [%d2], %r3;
             ret;",
        ),
        &choice(1, 0),
    );
    let steps = steps.unwrap();
    let each =
        |of: &dyn Fn(u32) -> u32| RegisterValues::Bits32(std::array::from_fn(|at| of(at as u32)));
    assert_eq!(last(&steps, "%r2"), each(&|lane| 32 + lane));
    assert_eq!(last(&steps, "%r5"), each(&|_| 7));
    assert_eq!(last(&steps, "%v.x"), each(&|lane| lane));
    assert_eq!(last(&steps, "%q"), RegisterValues::Predicate(!0xff));
    assert_eq!(last(&steps, "%r3"), each(&|lane| 32 + lane + if lane >= 8 { 100 } else { 0 }));
    let text = |at: u32| steps.instructions[at as usize].text.as_str();
    let of = |words: &str| {
        let found: Vec<_> =
            steps.steps.iter().filter(|step| text(step.instruction).contains(words)).collect();
        assert_eq!(found.len(), 1, "{words}");
        found[0]
    };
    // A guard holds lanes back, and a branch takes them another way.
    assert_eq!((of("add.u32 %r3").lanes, of("add.u32 %r3").executing), (!0, !0xff));
    assert_eq!((of("shl.b32").lanes, of("shl.b32").executing), (0xff, 0xff));
    assert_eq!(of("mov.u32 %r5").lanes, !0);
    let store = &of("st.global").accesses[0];
    let buffer = steps.objects.iter().find(|object| object.name == "p").unwrap();
    assert_eq!(store.lanes().nth(3), Some((3, buffer.address + 4 * 35)));
}

#[test]
fn a_part_of_the_steps_begins_where_it_is_asked_to() {
    let kernel = launched(
        ".reg .u32 %r<3>; .reg .pred %q; mov.u32 %r0, 0;
         LOOP: add.u32 %r0, %r0, 1; setp.lt.u32 %q, %r0, 50; @%q bra LOOP; ret;",
    );
    let all = record(&kernel, &choice(0, 0)).unwrap();
    assert_eq!(all.all_steps, 1 + 3 * 50 + 1);
    let part = record(&kernel, &WarpChoice { steps: 10..20, ..choice(0, 0) }).unwrap();
    assert_eq!((part.all_steps, part.steps.len()), (all.all_steps, 10));
    assert_eq!(part.steps[..9], all.steps[10..19]);
    let many = WarpChoice { steps: 0..MOST_STEPS + 1, ..choice(0, 0) };
    assert!(record(&kernel, &many).is_err());
    assert!(record(&kernel, &choice(2, 0)).is_err() && record(&kernel, &choice(0, 1)).is_err());
}

#[test]
fn a_fault_ends_the_steps_and_is_told() {
    let kernel = launched(
        ".reg .u64 %d<3>; .reg .u32 %r<2>; mov.u32 %r0, 5; ld.param.u64 %d0, [p];
         add.u64 %d1, %d0, 4096; ld.global.u32 %r1, [%d1]; ret;",
    );
    let steps = record(&kernel, &choice(0, 0)).unwrap();
    assert!(!steps.has_ended);
    assert_eq!(steps.all_steps, 4);
    assert!(steps.faults[0].message.contains("out-of-bounds"), "{}", steps.faults[0].message);
    // The second CTA has not begun.
    assert!(record(&kernel, &choice(1, 0)).is_err());
}

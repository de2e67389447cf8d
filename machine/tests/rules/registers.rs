//! Registers that are estimated from live values, against those that `ptxas` 12.9 gives a thread.
//! `tests/ptxas/registers.py` writes them.

use std::fmt::Write as _;

use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::table::BaseTable;
use gpucast_counters::{ComputeCapability, DeviceModel, RegisterRange, ThreadRegisters};
use gpucast_interpreter::Program;
use gpucast_machine::rules::{Compiled, RegisterDemand};

use crate::{HOLDOUT, text_of};

const PTXAS: &str = include_str!("../ptxas/registers.ptxas");

/// An SM of 65,536 registers, of which a thread has up to 255.
fn device() -> DeviceModel {
    let l2 = DeviceModel::GTX_480.l2_geometry();
    DeviceModel::for_capability(ComputeCapability::new(8, 0), 108, l2).unwrap()
}

/// What decides the registers of a kernel, for a target.
struct Demand {
    of_kernel: RegisterDemand,
    code_words: u32,
}

impl Demand {
    fn new(text: &str, kernel: &str, target: &str) -> Self {
        let module = gpucast_ptx_frontend::load(text).unwrap();
        let program = Program::new(&module, text, kernel).unwrap();
        let target: Architecture = target.parse().unwrap();
        let code_words = Compiled::new(target, &program, &BaseTable::default()).live_words();
        Self { of_kernel: RegisterDemand::new(&module, kernel).unwrap(), code_words }
    }

    fn registers(&self) -> ThreadRegisters {
        self.of_kernel.on(&device(), self.code_words)
    }
}

/// The estimate and the registers of each kernel.
fn pairs() -> Vec<(ThreadRegisters, u32)> {
    let (mut text, mut target) = (String::new(), "");
    let mut pairs = Vec::new();
    for line in PTXAS.lines() {
        match line.strip_prefix("  ") {
            None => {
                let path;
                (path, target) = line.split_once(' ').unwrap();
                text = match path.strip_prefix("machine/tests/ptxas/holdout/") {
                    Some(name) => HOLDOUT[name].clone(),
                    None => text_of(&format!("../{path}")),
                };
            }
            Some(kernel) => {
                let (name, registers) = kernel.split_once(' ').unwrap();
                let demand = Demand::new(&text, name, target);
                pairs.push((demand.registers(), registers.parse().unwrap()));
            }
        }
    }
    pairs
}

#[test]
fn the_registers_of_ptxas_lie_in_the_range_of_nineteen_kernels_of_twenty() {
    let pairs = pairs();
    assert!(pairs.len() > 200);
    let inside = |(estimate, registers): &&(ThreadRegisters, u32)| {
        let RegisterRange { least, most } = estimate.estimated.unwrap();
        (least..=most).contains(registers)
    };
    let share = |least: u32| {
        let those: Vec<_> = pairs.iter().filter(|(one, _)| one.count >= least).collect();
        let held = those.iter().copied().filter(inside).count();
        100 * held / those.len()
    };
    assert!(share(0) >= 95, "{} %", share(0));
    assert!(share(24) >= 95, "{} %", share(24));
    assert!(share(33) >= 90, "{} %", share(33));
    // What refuses a launch is never too much where registers are many.
    let mut large = pairs.iter().filter(|(one, _)| one.count >= 24);
    assert!(large.all(|(one, registers)| one.estimated.unwrap().least <= *registers));
    let mut beyond: Vec<i64> =
        pairs.iter().map(|(one, registers)| i64::from(*registers) - i64::from(one.count)).collect();
    beyond.sort_unstable();
    assert!(beyond[beyond.len() / 2].abs() <= 1, "{}", beyond[beyond.len() / 2]);
}

/// A kernel of sm_80 that loads `words` values and adds them up; if it keeps them, it stores each
/// with the sum.
fn loading(words: u32, keeps: bool, directives: &str) -> Demand {
    let mut text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {directives} {{\n\
         .reg .b64 %d; .reg .b32 %t; .reg .b32 %r<{words}>;\nld.param.u64 %d, [p];\nmov.u32 %t, 0;\n"
    );
    for at in 0..words {
        writeln!(text, "ld.global.b32 %r{at}, [%d+{}];", 4 * at).unwrap();
    }
    for at in 0..words {
        writeln!(text, "add.s32 %t, %t, %r{at};").unwrap();
    }
    for at in (0..words).filter(|_| keeps) {
        writeln!(text, "add.s32 %r{at}, %t, %r{at};\nst.global.b32 [%d+{}], %r{at};", 4 * at)
            .unwrap();
    }
    text += "st.global.b32 [%d], %t;\nret;\n}\n";
    Demand::new(&text, "k", "sm_80")
}

/// `ptxas` 12.9 gives 48, 56, 80 and 128 registers to those that keep 38 to 98 values, and 30 to
/// those that only add them up: it does not load all at once.
#[test]
fn values_that_are_needed_later_take_registers_and_others_do_not() {
    for (words, registers) in [(38, 48), (48, 56), (72, 80), (98, 128)] {
        let RegisterRange { least, most } = loading(words, true, "").registers().estimated.unwrap();
        assert!((least..=most).contains(&registers), "{words}: {least} to {most}");
        assert!(least > registers / 2, "{words}: {least}");
        let RegisterRange { least, most } =
            loading(words, false, "").registers().estimated.unwrap();
        assert!((least..=most).contains(&30) && most < 64, "{words}: {least} to {most}");
    }
}

#[test]
fn what_a_kernel_states_wins_over_its_live_values() {
    let registers = |directives: &str| loading(98, true, directives).registers();
    let free = registers("");
    let RegisterRange { least, most } = free.estimated.unwrap();
    assert_eq!(free.spilled, 0);
    let stated = |count: u32| ThreadRegisters {
        count,
        estimated: Some(RegisterRange { least: least.min(count), most: count }),
        spilled: least.saturating_sub(count),
    };
    assert_eq!(registers(".maxnreg 40"), stated(40));
    assert!(registers(".maxnreg 40").spilled > 20);
    // 65,536 registers of 1,024 threads, and of three CTAs of 256.
    assert_eq!(registers(".maxntid 1024, 1, 1"), stated(64));
    assert_eq!(registers(".maxntid 256, 1, 1").estimated, Some(RegisterRange { least, most }));
    assert_eq!(registers(".maxntid 256, 1, 1 .minnctapersm 3"), stated(80));
    assert_eq!(registers(".maxntid 32, 8, 1 .minnctapersm 3 .maxnreg 72"), stated(72));
    // No thread has more than 255.
    assert_eq!(loading(400, true, "").registers().count, 255);
    assert!(loading(400, true, "").registers().spilled > 0);
}

#[test]
fn a_thread_whose_registers_are_stated_spills_what_it_needs_beyond() {
    let with = |keeps: bool, count: u32| {
        let Demand { of_kernel, code_words } = loading(98, keeps, "");
        of_kernel.with(count, code_words)
    };
    assert_eq!(with(true, 128), ThreadRegisters { count: 128, estimated: None, spilled: 0 });
    assert!(with(true, 32).spilled > 30);
    // It loads a few values at a time.
    assert_eq!(with(false, 32).spilled, 0);
}

#[test]
fn a_kernel_takes_the_registers_of_the_function_that_needs_most() {
    let text = ".version 7.8\n.target sm_80\n.address_size 64\n\
        .func (.reg .b32 %out) f(.reg .b64 %a) { .reg .b64 %d<3>;\n\
        ld.global.b64 %d0, [%a]; ld.global.b64 %d1, [%a+8]; ld.global.b64 %d2, [%a+16];\n\
        add.s64 %d0, %d0, %d1; add.s64 %d0, %d0, %d2; cvt.u32.u64 %out, %d0; ret; }\n\
        .visible .entry k(.param .u64 p) { .reg .b64 %d; .reg .b32 %r;\n\
        ld.param.u64 %d, [p]; call (%r), f, (%d); st.global.b32 [%d], %r; ret; }\n";
    let module = gpucast_ptx_frontend::load(text).unwrap();
    assert_eq!(RegisterDemand::new(&module, "k").unwrap().live_words, 6);
    assert_eq!(RegisterDemand::new(&module, "f"), None);
}

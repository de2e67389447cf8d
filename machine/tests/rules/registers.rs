//! Registers that are estimated from live values, against those that `ptxas` 12.9 gives a thread.
//! `tests/ptxas/registers.py` writes them.

use std::fmt::Write as _;

use gpucast_counters::{ComputeCapability, DeviceModel, RegisterRange, ThreadRegisters};
use gpucast_machine::rules::RegisterDemand;

use crate::{HOLDOUT, text_of};

const PTXAS: &str = include_str!("../ptxas/registers.ptxas");

/// An SM of 65,536 registers, of which a thread has up to 255.
fn device() -> DeviceModel {
    let l2 = DeviceModel::GTX_480.l2_geometry();
    DeviceModel::for_capability(ComputeCapability::new(8, 0), 108, l2).unwrap()
}

/// The estimate and the registers of each kernel.
fn pairs() -> Vec<(ThreadRegisters, u32)> {
    let mut module = None;
    let mut pairs = Vec::new();
    for line in PTXAS.lines() {
        match line.strip_prefix("  ") {
            None => {
                let path = line.split(' ').next().unwrap();
                let text = match path.strip_prefix("machine/tests/ptxas/holdout/") {
                    Some(name) => HOLDOUT[name].clone(),
                    None => text_of(&format!("../{path}")),
                };
                module = Some(gpucast_ptx_frontend::load(&text).unwrap());
            }
            Some(kernel) => {
                let (name, registers) = kernel.split_once(' ').unwrap();
                let demand = RegisterDemand::new(module.as_ref().unwrap(), name).unwrap();
                pairs.push((demand.on(&device()), registers.parse().unwrap()));
            }
        }
    }
    pairs
}

#[test]
fn the_registers_of_ptxas_lie_in_the_range_of_nine_kernels_of_ten() {
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
    assert!(share(16) >= 90, "{} %", share(16));
    assert!(share(32) >= 85, "{} %", share(32));
    // The median of the deviations is small: nothing is added to live words.
    let mut beyond: Vec<i64> = pairs
        .iter()
        .filter(|(estimate, _)| estimate.count >= 16)
        .map(|(estimate, registers)| i64::from(*registers) - i64::from(estimate.count))
        .collect();
    beyond.sort_unstable();
    assert!(beyond[beyond.len() / 2].abs() <= 2, "{}", beyond[beyond.len() / 2]);
}

/// A kernel that holds `words` values at the same time: it loads all, and then adds them up.
fn holding(words: u32, directives: &str) -> RegisterDemand {
    let mut text = format!(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {directives} {{\n\
         .reg .b64 %d; .reg .b32 %r<{words}>;\nld.param.u64 %d, [p];\n"
    );
    for at in 0..words {
        writeln!(text, "ld.global.b32 %r{at}, [%d+{}];", 4 * at).unwrap();
    }
    for at in 1..words {
        writeln!(text, "add.s32 %r0, %r0, %r{at};").unwrap();
    }
    text += "st.global.b32 [%d], %r0;\nret;\n}\n";
    RegisterDemand::new(&gpucast_ptx_frontend::load(&text).unwrap(), "k").unwrap()
}

#[test]
fn what_a_kernel_states_wins_over_its_live_values() {
    let count = |directives: &str| holding(98, directives).on(&device());
    // 98 words and the address.
    let range = RegisterRange { least: 66, most: 133 };
    assert_eq!(count(""), ThreadRegisters { count: 100, estimated: Some(range) });
    let stated =
        ThreadRegisters { count: 40, estimated: Some(RegisterRange { least: 40, most: 40 }) };
    assert_eq!(count(".maxnreg 40"), stated);
    // 65,536 registers of 1,024 threads, and of three CTAs of 256.
    assert_eq!(count(".maxntid 1024, 1, 1").count, 64);
    assert_eq!(count(".maxntid 256, 1, 1").estimated, Some(range));
    assert_eq!(count(".maxntid 256, 1, 1 .minnctapersm 3").count, 80);
    assert_eq!(count(".maxntid 32, 8, 1 .minnctapersm 3 .maxnreg 72").count, 72);
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

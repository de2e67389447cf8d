//! The pipes that execute machine instructions, under Nsight Compute's names.

use gpucast_machine::unit_class;
use gpucast_simulation::code::Class;

use super::Profiled;
use super::cycles::Simulated;

/// The pipe of a class of instructions; none for those that only have to be issued.
fn pipe(class: Class) -> Option<&'static str> {
    Some(match class {
        Class::Fp32 | Class::IntegerMultiply | Class::WideMultiply => "fma",
        Class::Integer | Class::Compare | Class::Shift => "alu",
        Class::Fp16 => "fp16",
        Class::Fp64 => "fp64",
        Class::Special | Class::Conversion | Class::WideConversion => "xu",
        Class::Memory | Class::Shuffle => "lsu",
        Class::Texture => "tex",
        Class::Branch => "cbu",
        Class::Uniform => "uniform",
        Class::Tensor | Class::Other => return None,
    })
}

/// The pipe that a name means: `fp32` is the `fma` pipe of architectures whose products of integers
/// go another way.
fn meant(name: &str) -> &str {
    match name {
        "fp32" => "fma",
        name => name,
    }
}

/// Warp instructions of each class; none without machine code.
fn executed(launch: &Profiled<'_>) -> Option<Vec<(Class, u128)>> {
    let machine = launch.counts.machine.as_ref()?;
    let row = |(mnemonic, count): (&str, u128)| Some((unit_class(mnemonic)?, count));
    let rows = machine.rows.iter().map(|row| (&*row.mnemonic, row.warp_executions));
    Some(rows.filter_map(row).collect())
}

/// Warp instructions that a pipe executes; none without machine code.
pub(super) fn instructions(launch: &Profiled<'_>, name: &str) -> Option<u128> {
    let rows = executed(launch)?;
    let is_meant = |class: Class| pipe(class) == Some(meant(name));
    let count = rows.iter().filter(|(class, _)| is_meant(*class)).map(|(_, count)| count).sum();
    Some(count)
}

/// Warp instructions that a pipe of an SM takes in a clock at most.
pub(super) fn peak_per_sm(simulated: &Simulated, name: &str) -> Option<f64> {
    let classes = Class::ALL.into_iter().filter(|class| pipe(*class) == Some(meant(name)));
    // Classes of a pipe differ in rate; the fastest says what it can do.
    classes.map(|class| rate(simulated, class)).max_by(f64::total_cmp).filter(|rate| *rate > 0.0)
}

/// Instructions of a class that an SM begins in a clock.
fn rate(simulated: &Simulated, class: Class) -> f64 {
    let parameters = &simulated.parameters;
    let unit = parameters.units[class as usize];
    let sub_cores = if unit.is_shared { 1.0 } else { simulated.schedulers() };
    let units = if unit.other.is_some() { 2.0 } else { 1.0 };
    match unit.interval > 0.0 {
        true => units * sub_cores / unit.interval,
        false => 0.0,
    }
}

/// Clocks that each pipe of an SM works for a launch, as a mean over SMs; every instruction takes
/// as long as its class does.
pub(super) fn busy(
    launch: &Profiled<'_>,
    simulated: &Simulated,
    sms: f64,
) -> Vec<(&'static str, f64)> {
    let mut pipes: Vec<(&'static str, f64)> = Vec::new();
    for (class, count) in executed(launch).unwrap_or_default() {
        let (Some(name), rate) = (pipe(class), rate(simulated, class)) else { continue };
        if rate <= 0.0 {
            continue;
        }
        let clocks = count as f64 / rate / sms;
        match pipes.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += clocks,
            None => pipes.push((name, clocks)),
        }
    }
    pipes
}

//! The machine code that the rules arrange for a kernel, with its scheduling fields.
//!
//! ```text
//! cargo run --release -p gpucast-machine --example machine_schedule -- \
//!     corpus/kernels/sgemm/sm_80.ptx sgemm sm_80
//! ```
//!
//! First come the most words that are live at once. A line has the clocks to the next instruction,
//! the barrier that is signalled, the barriers that are waited for, the mnemonic, its class and its
//! PTX line.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::table::BaseTable;
use gpucast_counters::trace::LaunchTrace;
use gpucast_interpreter::Program;
use gpucast_machine::rules::Compiled;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, kernel, target] = arguments.as_slice() else {
        return Err("usage: machine_schedule MODULE.ptx KERNEL TARGET".into());
    };
    let text = std::fs::read_to_string(module)?;
    let loaded = gpucast_ptx_frontend::load(&text).map_err(|_| "the module has errors")?;
    let program = Program::new(&loaded, &text, kernel)?;
    let target: Architecture = target.parse()?;
    let table = BaseTable { rows: Vec::new() };
    let compiled = Compiled::new(target, &program, &table);
    println!("{} live words", compiled.live_words());
    let launch = compiled.schedule(&LaunchTrace::default());
    for (index, block) in launch.code.blocks.iter().enumerate() {
        println!("block {index}");
        for place in block.start as usize..block.end as usize {
            let instruction = &launch.code.instructions[place];
            let control = &instruction.control;
            let barrier = control
                .write_barrier
                .map_or("-".to_owned(), |write_barrier| write_barrier.to_string());
            let waits: Vec<String> = (0..64)
                .filter(|barrier| control.wait_mask >> barrier & 1 == 1)
                .map(|barrier| barrier.to_string())
                .collect();
            let line = instruction
                .ptx
                .and_then(|ptx| program.instructions().get(ptx as usize))
                .map_or(0, |instruction| instruction.line);
            println!(
                "  S{:02} W{barrier:>2} B[{}] {:8} {:?} {line}",
                control.stall,
                waits.join(","),
                instruction.mnemonic,
                instruction.class
            );
        }
    }
    Ok(())
}

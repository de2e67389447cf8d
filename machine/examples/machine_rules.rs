//! Machine instructions by the rules, from a module and the counts of a launch.
//!
//! ```text
//! gpucast profile sgemm --by line --format csv -o sgemm.csv
//! cargo run --release -p gpucast-machine --example machine_rules -- \
//!     corpus/kernels/sgemm/sm_35.ptx sgemm sgemm.csv sm_20 sm_50 [--lines]
//! ```
//!
//! `--lines` prints every machine instruction with its PTX line; `--ranges` prints the counts in
//! the form of `machine/tests/ptxas`.

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::{BTreeMap, HashMap};
use std::error::Error;

use gpucast_counters::machine::MachineProfile;
use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::table::{BaseTable, Description, Row};
use gpucast_interpreter::Program;
use gpucast_machine::rules::translate;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let by_line = arguments.iter().any(|argument| argument == "--lines");
    let mut plain = arguments.iter().filter(|argument| !argument.starts_with("--"));
    let usage = "usage: machine_rules MODULE.ptx KERNEL COUNTS.csv TARGET… [--lines]";
    let (Some(module), Some(kernel), Some(counts)) = (plain.next(), plain.next(), plain.next())
    else {
        return Err(usage.into());
    };
    let text = std::fs::read_to_string(module)?;
    let loaded = gpucast_ptx_frontend::load(&text).map_err(|_| "the module has errors")?;
    let program = Program::new(&loaded, &text, kernel)?;
    let table = table(&program, kernel, &std::fs::read_to_string(counts)?)?;
    if arguments.iter().any(|argument| argument == "--ranges") {
        print_ranges(&table);
    }
    for target in plain {
        let target: Architecture = target.parse()?;
        let profile = translate(target, &program, &table);
        if by_line { print_lines(&program, &profile) } else { print_totals(&profile) }
    }
    Ok(())
}

/// The base table of a profile by line.
fn table(program: &Program, kernel: &str, csv: &str) -> Result<BaseTable, Box<dyn Error>> {
    let mut counts: HashMap<u32, [u128; 3]> = HashMap::new();
    let mut reader = csv::Reader::from_reader(csv.as_bytes());
    for record in reader.deserialize() {
        let record: HashMap<String, String> = record?;
        let of = |column: &str| record.get(column).map(String::as_str).unwrap_or_default();
        if of("kernel") == kernel {
            let number = |column| of(column).parse::<u128>();
            let executions = ["warp_executions", "issued_lanes", "thread_executions"].map(number);
            let [warps, lanes, threads] = executions;
            counts.insert(number("ptx_line")? as u32, [warps?, lanes?, threads?]);
        }
    }
    let row = |(index, instruction)| {
        let description = Description::of(instruction);
        let [warps, lanes, threads] = counts.get(&description.line).copied().unwrap_or_default();
        Row {
            instruction: index,
            description,
            warp_executions: warps,
            issued_lanes: lanes,
            thread_executions: threads,
            branch: None,
            memory: Vec::new(),
            products: Vec::new(),
        }
    };
    Ok(BaseTable { rows: (0..).zip(program.instructions()).map(row).collect() })
}

/// Lines that follow each other with the same counts, as `first last warps threads`.
fn print_ranges(table: &BaseTable) {
    let mut ranges: Vec<(u32, u32, u128, u128)> = Vec::new();
    for row in &table.rows {
        let (line, warps, threads) =
            (row.description.line, row.warp_executions, row.thread_executions);
        match ranges.last_mut() {
            Some(last) if (last.2, last.3) == (warps, threads) => last.1 = line,
            _ => ranges.push((line, line, warps, threads)),
        }
    }
    for (first, last, warps, threads) in ranges {
        println!("{first} {last} {warps} {threads}");
    }
}

fn print_totals(profile: &MachineProfile) {
    let mut threads: BTreeMap<String, u128> = BTreeMap::new();
    for row in &profile.rows {
        *threads.entry(format!("{:?}", row.class)).or_default() += row.thread_executions;
        if let Some(flops) = row.flops {
            let name = format!("flop:{:?}:{:?}", flops.precision, flops.kind);
            *threads.entry(name).or_default() +=
                row.thread_executions * u128::from(flops.per_thread);
        }
    }
    let warps: u128 = profile.rows.iter().map(|row| row.warp_executions).sum();
    let threads: Vec<String> =
        threads.iter().map(|(class, count)| format!("{class}={count}")).collect();
    println!("{} warps={warps} {}", profile.target, threads.join(" "));
}

fn print_lines(program: &Program, profile: &MachineProfile) {
    for row in &profile.rows {
        let line = row
            .instruction
            .and_then(|index| program.instructions().get(index as usize))
            .map_or(0, |instruction| instruction.line);
        println!(
            "{}\t{line}\t{}\t{}\t{}",
            profile.target, row.mnemonic, row.warp_executions, row.thread_executions
        );
    }
}

//! Counts kernels by both back ends: `ptxas`, whose cubins are given, and the rules.
//!
//! ```text
//! compare_back_ends COUNTS PTX_FOLDER CUBIN_FOLDER TARGET...
//! ```
//!
//! `COUNTS` is a file like `holdout.counts` in `tests/ptxas/holdout.tar`. A header `[kernel file]`
//! names a PTX file of the folder, `[name family kernel]` the file `family/sm_35.ptx`. The cubin of
//! a PTX file is `FILE.TARGET.cubin` (`family.TARGET.cubin`), made from what the example
//! `with_lines` writes. A line of the output is `target kernel ptxas rules kind`, with executions
//! by warps.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::error::Error;
use std::fs;
use std::path::Path;

use gpucast_counters::machine::MachineProfile;
use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::table::{BaseTable, Description, Row};
use gpucast_interpreter::Program;
use gpucast_machine::ptxas::{attribute, prepare};
use gpucast_machine::rules::translate;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [counts, sources, cubins, targets @ ..] = &arguments[..] else {
        return Err("usage: compare_back_ends COUNTS PTX_FOLDER CUBIN_FOLDER TARGET...".into());
    };
    let counts = fs::read_to_string(counts)?;
    for section in counts.split("\n[") {
        let (header, ranges) = section.split_once('\n').ok_or("a header without counts")?;
        let words: Vec<&str> = header.trim_matches(['[', ']']).split(' ').collect();
        let (kernel, source, stem) = match words[..] {
            [kernel, file] => (kernel, format!("{file}.ptx"), file),
            [_, family, kernel] => (kernel, format!("{family}/sm_35.ptx"), family),
            _ => return Err(format!("not a header: {header}").into()),
        };
        let text = fs::read_to_string(Path::new(sources).join(source))?;
        let module = gpucast_ptx_frontend::load(&text).map_err(|_| "the PTX cannot be read")?;
        let program = Program::new(&module, &text, kernel)?;
        let prepared = prepare(&text).map_err(|_| "the PTX cannot be read")?;
        let table = table(&program, ranges)?;
        for target in targets {
            let Ok(image) = fs::read(Path::new(cubins).join(format!("{stem}.{target}.cubin")))
            else {
                continue;
            };
            let rules = warps(&translate(target.parse::<Architecture>()?, &program, &table));
            match attribute(&image, "", &prepared, &program, &table) {
                Ok(profile) => {
                    let ptxas = warps(&profile);
                    println!("{target} {} {ptxas} {rules} {:?}", words[0], profile.kind);
                    for note in profile.notes.iter().filter(|note| note.contains("is counted")) {
                        println!("# {target} {}: {note}", words[0]);
                    }
                }
                Err(error) => println!("{target} {} 0 {rules} {error}", words[0]),
            }
        }
    }
    Ok(())
}

/// Counts by ranges of lines: first, last, executions by warps, lanes if they differ, threads.
fn table(program: &Program, text: &str) -> Result<BaseTable, Box<dyn Error>> {
    let mut ranges: Vec<Vec<u128>> = Vec::new();
    for line in text.lines() {
        ranges.push(line.split(' ').map(str::parse).collect::<Result<_, _>>()?);
    }
    let row = |(instruction, one)| {
        let description = Description::of(one);
        let line = u128::from(description.line);
        let range = ranges.iter().find(|range| (range[0]..=range[1]).contains(&line));
        let [warp_executions, issued_lanes, thread_executions] =
            match *range.map_or(&[][..], |range| &range[2..]) {
                [warps, lanes, threads] => [warps, lanes, threads],
                [warps, threads] => [warps, threads, threads],
                _ => [0; 3],
            };
        Row {
            instruction,
            description,
            warp_executions,
            issued_lanes,
            thread_executions,
            branch: None,
            memory: Vec::new(),
            products: Vec::new(),
        }
    };
    Ok(BaseTable { rows: (0..).zip(program.instructions()).map(row).collect() })
}

fn warps(profile: &MachineProfile) -> u128 {
    profile.rows.iter().map(|row| row.warp_executions).sum()
}

//! No kernel makes the checks panic: micro-kernels of every instruction are damaged line by line,
//! and what still loads runs under all checks with a small budget.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "helpers of tests may fail loudly, like the tests"
)]

use std::path::Path;
use std::sync::Arc;

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, Options, Program, RunError, Silent, run,
};
use gpucast_sanitizer::{Buffer, Checks, DeviceShadow, Sanitizer};

#[path = "../../../../interpreter/tests/cases/mod.rs"]
mod cases;

/// A small generator (xorshift64*), so that every run damages the same lines.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % limit.max(1) as u64) as usize
    }
}

/// Run every kernel of a text, if it has a meaning, under all checks; how many ran, and how many
/// findings there were.
fn check(text: &str) -> (usize, usize) {
    let (mut ran, mut found) = (0, 0);
    let Ok(module) = gpucast_ptx_frontend::load(text) else { return (0, 0) };
    for kernel in Program::kernels(&module) {
        let Ok(program) = Program::new(&module, text, kernel) else { continue };
        let mut memory = DeviceMemory::new();
        let mut buffers = Vec::new();
        let mut arguments = Vec::new();
        for (index, parameter) in program.parameters().iter().enumerate() {
            arguments.push(if parameter.bytes == 8 && !parameter.is_array {
                let name = format!("buffer {index}");
                let address = memory.allocate(&name, 4096).unwrap();
                let initialised = index != 0;
                buffers.push(Buffer { name, address, bytes: 4096, initialised });
                Argument::Bytes(address.to_le_bytes().to_vec())
            } else {
                Argument::Bytes(vec![index as u8 + 1; parameter.bytes as usize])
            });
        }
        let launch = Launch {
            grid: [2, 1, 1],
            block: [40, 1, 1],
            cluster: None,
            dynamic_shared_bytes: 256,
            arguments,
        };
        let checks = Checks::all();
        let options = Options { instruction_budget: 4000, ..Options::default() };
        let options = Sanitizer::options(checks, options);
        let device = Arc::new(DeviceShadow::new(buffers));
        let mut sanitizer = Sanitizer::new(&program, &launch, checks, &device);
        let outcome = run(&program, &launch, &mut memory, &mut sanitizer, &options, &Silent);
        let fault = match &outcome {
            Err(RunError::Fault(fault)) => Some(&**fault),
            _ => None,
        };
        found += sanitizer.finish(fault).findings.len();
        ran += 1;
    }
    (ran, found)
}

#[test]
fn damaged_kernels_are_checked_without_a_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interpreter/tests/instructions");
    let mut paths: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let (mut ran, mut found) = (0, 0);
    for path in paths {
        let text = cases::expanded(&std::fs::read_to_string(&path).unwrap());
        let starts: Vec<usize> = text.match_indices(".visible .entry").map(|(at, _)| at).collect();
        let head = &text[..starts.first().copied().unwrap_or(0)];
        for _ in 0..30 {
            let index = random.below(starts.len());
            let Some(&start) = starts.get(index) else { continue };
            let end = starts.get(index + 1).copied().unwrap_or(text.len());
            let mut lines: Vec<&str> = text[start..end].lines().collect();
            for _ in 0..=random.below(2) {
                let (at, from) = (random.below(lines.len()), random.below(lines.len()));
                match random.below(3) {
                    0 => lines[at] = "",
                    1 => lines[at] = lines[from],
                    _ => lines.swap(at, from),
                }
            }
            let (one_ran, one_found) = check(&format!("{head}{}", lines.join("\n")));
            ran += one_ran;
            found += one_found;
        }
    }
    assert!(ran > 100 && found > 100, "{ran} kernels ran, with {found} findings");
}

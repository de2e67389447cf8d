//! What must hold for any kernel at all. The fuzz target of `fuzz/` and a short deterministic run
//! of the tests share this function.

use gpucast_interpreter::{Argument, DeviceMemory, Launch, NoObserver, Options, Program, run};
use gpucast_ptx_frontend::load;

/// Longer texts take longer and find nothing else.
const LONGEST_TEXT: usize = 32 << 10;
/// Kernels of one text that are executed.
const MOST_KERNELS: usize = 4;
/// Module variables above this size are not allocated.
const MOST_BYTES: u64 = 1 << 20;
/// Bytes of each buffer that a parameter may point to.
const BUFFER_BYTES: u64 = 4096;

/// Lowering refuses or executes; execution ends in a result or a fault.
pub(crate) fn execute(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(&data[..data.len().min(LONGEST_TEXT)]) else { return };
    let Ok(module) = load(text) else { return };
    if module.variables.iter().any(|variable| variable.size_bytes > MOST_BYTES) {
        return;
    }
    for kernel in Program::kernels(&module).take(MOST_KERNELS) {
        let Ok(program) = Program::new(&module, text, kernel) else { continue };
        let mut memory = DeviceMemory::new();
        let mut arguments = Vec::new();
        for (index, parameter) in program.parameters().iter().take(64).enumerate() {
            arguments.push(if parameter.bytes == 8 && !parameter.is_array {
                let name = format!("buffer {index}");
                let address = memory.allocate(&name, BUFFER_BYTES).unwrap_or_default();
                let bytes = memory.bytes_mut(&name).unwrap_or_default();
                for (at, byte) in bytes.iter_mut().enumerate() {
                    *byte = (at * (index + 3)) as u8;
                }
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
        let options = Options { instruction_budget: 4000, ..Options::default() };
        let outcome = run(
            &program,
            &launch,
            &mut memory,
            &mut NoObserver,
            &options,
            &gpucast_interpreter::Silent,
        );
        // Faults are results; their texts must not panic either.
        if let Err(error) = outcome {
            let _ = error.to_string();
        }
    }
}

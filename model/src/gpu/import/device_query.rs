//! The CUDA sample `deviceQuery`, in the wordings of CUDA 5 to 13.

use super::{Draft, ImportError, ImportProblem, at_line, at_start, leading_number, lines, number};
use crate::gpu::quantity::Raw;
use crate::gpu::source::Source;

const BY: &str = "deviceQuery";

pub(super) fn read(
    text: &str,
    device: Option<usize>,
    draft: &mut Draft<'_>,
) -> Result<(), ImportError> {
    let devices: Vec<(usize, &str)> =
        lines(text).filter_map(|(line, content)| Some((line, device_name(content)?))).collect();
    let count = devices.len();
    if count == 0 {
        return Err(at_start(ImportProblem::Missing { what: "line `Device 0: \"…\"`" }));
    }
    let chosen = device.unwrap_or(0);
    let &(first, name) = devices
        .get(chosen)
        .ok_or_else(|| at_start(ImportProblem::NoDevice { device: chosen, count }))?;
    let end = devices.get(chosen + 1).map_or(usize::MAX, |(line, _)| *line);
    if count > 1 && device.is_none() {
        draft.note(format!("the text lists {count} devices; this is device 0, {name}"));
    }
    draft.named(name);
    let mut memory_clock = None;
    let mut ecc = false;
    for (line, content) in lines(text).skip(first).take_while(|(line, _)| *line < end) {
        read_line(line, content, draft, (&mut memory_clock, &mut ecc))?;
    }
    if draft.gpu.sm_count.is_none() {
        return Err(at_line(first, ImportProblem::Missing { what: "line with `Multiprocessors`" }));
    }
    if let (Some((line, clock)), Some(bits)) = (memory_clock, draft.gpu.number("memory_bus_width"))
    {
        let source = Source::Derived(
            format!(
                "two transfers in each clock of {clock} MHz on {bits} bits, printed by {BY}: {}",
                draft.origin
            )
            .into(),
        );
        let bandwidth = 2.0 * clock * bits / 8.0 / 1e3;
        draft.set("peak_memory_bandwidth", Raw::Number(bandwidth), source, line)?;
    }
    if ecc {
        draft.note("ECC is on; with GDDR5 it takes bandwidth: `memory_type` \"GDDR5 with ECC\"");
    }
    Ok(())
}

fn device_name(line: &str) -> Option<&str> {
    let (index, name) = line.strip_prefix("Device ")?.split_once(": \"")?;
    index.parse::<usize>().ok()?;
    name.strip_suffix('"')
}

fn read_line(
    line: usize,
    content: &str,
    draft: &mut Draft<'_>,
    (memory_clock, ecc): (&mut Option<(usize, f64)>, &mut bool),
) -> Result<(), ImportError> {
    let printed = draft.printed(BY);
    // `(10) Multiprocessors, (128) CUDA Cores/MP:     1280 CUDA Cores`, with `x` for the comma in
    // older versions.
    if content.contains("Multiprocessors") && content.contains("CUDA Cores/MP") {
        let sms = content.trim_start().strip_prefix('(').unwrap_or_default();
        draft.set("sm_count", Raw::Number(number(sms, line)?), printed.clone(), line)?;
        if let Some((_, cores)) = content.split_once(':') {
            draft.set("sp_count", Raw::Number(number(cores, line)?), printed, line)?;
        }
        return Ok(());
    }
    let Some((label, value)) = content.split_once(':') else { return Ok(()) };
    let value = value.trim();
    let (field, factor) = match label.trim() {
        "CUDA Capability Major/Minor version number" => {
            return draft.set("compute_capability", Raw::Text(value), printed, line);
        }
        // `6078 MBytes (6373572608 bytes)`
        "Total amount of global memory" => {
            let bytes = value.split_once('(').and_then(|(_, bytes)| leading_number(bytes));
            let bytes = bytes.map_or_else(|| Ok(1_048_576.0 * number(value, line)?), Ok)?;
            return draft.set("memory_size", Raw::Number(bytes), printed, line);
        }
        "Memory Clock rate" => {
            *memory_clock = Some((line, number(value, line)?));
            return Ok(());
        }
        "Device has ECC support" => {
            *ecc = value == "Enabled";
            return Ok(());
        }
        "GPU Max Clock rate" | "GPU Clock rate" => ("sp_clock", 1.0),
        "Memory Bus Width" => ("memory_bus_width", 1.0),
        "L2 Cache Size" => ("l2_size", 1.0),
        "Total shared memory per multiprocessor" => ("shared_memory_per_sm", 1.0),
        "Total number of registers available per block" => ("max_registers_per_block", 1.0),
        "Warp size" => ("warp_size", 1.0),
        "Maximum number of threads per multiprocessor" => ("max_threads_per_sm", 1.0),
        "Maximum number of threads per block" => ("max_threads_per_block", 1.0),
        _ => return Ok(()),
    };
    draft.set(field, Raw::Number(factor * number(value, line)?), printed, line)
}

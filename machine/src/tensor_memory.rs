//! The instructions of tensor memory (`tcgen05`) as a simulation of time sees them.

use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::module::{Instruction, Operand};
use gpucast_simulation::code::{TensorFormat, TensorMemoryAction, TensorProduct};

/// The action of a PTX instruction on tensor memory, if it has one. `queue` is that of its
/// requests.
pub(crate) fn action(instruction: &Instruction, queue: Option<u32>) -> Option<TensorMemoryAction> {
    use Opcode as O;
    Some(match instruction.opcode {
        O::Tcgen05Mma | O::Tcgen05MmaSp | O::Tcgen05MmaWs | O::Tcgen05MmaWsSp => {
            TensorMemoryAction::Multiply(product(instruction, queue)?)
        }
        O::Tcgen05Cp => TensorMemoryAction::Copy { queue },
        O::Tcgen05Commit => TensorMemoryAction::Commit { queue },
        O::Tcgen05Ld
        | O::Tcgen05LdRed
        | O::Tcgen05LdSpcompress
        | O::Tcgen05LdRedSpcompress
        | O::Tcgen05St => TensorMemoryAction::Transfer {
            bytes: bytes_of_warp(instruction),
            writes: instruction.opcode == O::Tcgen05St,
        },
        O::Tcgen05WaitLd | O::Tcgen05WaitSt => TensorMemoryAction::AwaitTransfers,
        _ => return None,
    })
}

fn has(instruction: &Instruction, modifier: Modifier) -> bool {
    instruction.modifiers.contains(&modifier)
}

fn product(instruction: &Instruction, queue: Option<u32>) -> Option<TensorProduct> {
    // Elements of 32 bytes: a row of A as it is stored.
    let kinds = [
        (Modifier::KindTf32, TensorFormat::Tf32, 8),
        (Modifier::KindF16, TensorFormat::HalfInSingle, 16),
        (Modifier::KindTi16, TensorFormat::HalfInSingle, 16),
        (Modifier::KindF8f6f4, TensorFormat::Fp8, 32),
        (Modifier::KindMxf8f6f4, TensorFormat::Fp8, 32),
        (Modifier::KindI8, TensorFormat::Int8, 32),
        (Modifier::KindMxf4, TensorFormat::ScaledFp4, 64),
        (Modifier::KindMxf4nvf4, TensorFormat::ScaledFp4, 64),
    ];
    let (_, format, depth) = kinds.into_iter().find(|(kind, ..)| has(instruction, *kind))?;
    Some(TensorProduct {
        format,
        depth,
        reads_a: !matches!(instruction.operands.get(1), Some(Operand::Address(_))),
        sms: if has(instruction, Modifier::CtaGroup2) { 2 } else { 1 },
        queue,
    })
}

/// Bytes that a warp moves: lanes × bits × repetitions, as the modifiers say.
fn bytes_of_warp(instruction: &Instruction) -> u32 {
    let mut bits = 0;
    let mut repetitions = 1;
    for modifier in &instruction.modifiers {
        let text = modifier.text();
        if let Some(times) = text.strip_prefix('x').and_then(|times| times.parse::<u32>().ok()) {
            repetitions = times;
        } else if let Some((lanes, of_lane)) = text.split_once('x') {
            // `16x32bx2` takes two halves of the lanes.
            let (of_lane, halves) = match of_lane.strip_suffix("x2") {
                Some(of_lane) => (of_lane, 2),
                None => (of_lane, 1),
            };
            let of_lane = of_lane.strip_suffix('b').and_then(|bits| bits.parse::<u32>().ok());
            if let (Ok(lanes), Some(of_lane)) = (lanes.parse::<u32>(), of_lane) {
                bits = lanes * of_lane * halves;
            }
        }
    }
    bits / 8 * repetitions
}

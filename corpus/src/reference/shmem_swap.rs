//! The sum of six slots that swapping does not change (Konstantinidis 2017, listing A.4).
//! Argument: the result, one vector a thread. All numbers are whole and small, so f32 is exact.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// Offsets that the kernel adds to the thread's number in each of its slots.
const SLOT_OFFSETS: [u32; 6] = [0, 1, 3, 7, 13, 17];
/// Offsets that it adds in each component of a vector.
const COMPONENT_OFFSETS: [u32; 4] = [0, 11, 19, 23];

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let components = match inputs.kernel {
        "shmem_swap_float" => 1,
        "shmem_swap_float2" => 2,
        "shmem_swap_float4" => 4,
        _ => {
            return Err(ReferenceError::UnknownKernel {
                kernel: inputs.kernel.to_owned(),
                known: "shmem_swap_float, shmem_swap_float2, shmem_swap_float4",
            });
        }
    };
    if inputs.grid[1..] != [1, 1] || inputs.block[1..] != [1, 1] {
        return Err(unsupported("grid and block have one dimension".to_owned()));
    }
    let out = inputs.buffer::<f32>(0)?;
    out.at_least(inputs.threads_x().saturating_mul(components))?;

    let mut sums = out.elements.to_vec();
    if inputs.runs() {
        let threads = (0..inputs.grid[0]).flat_map(|_| 0..inputs.block[0]);
        for (vector, thread) in sums.chunks_exact_mut(components).zip(threads) {
            for (sum, component) in vector.iter_mut().zip(COMPONENT_OFFSETS) {
                *sum = SLOT_OFFSETS.iter().map(|slot| (thread + slot + component) as f32).sum();
            }
        }
    }
    Ok(out.replaced_by(sums))
}

//! The sum of the first n elements, added to the total. Arguments: data, total, n.
//!
//! f32 is summed in f64 and rounded once; u32 wraps around and is exact.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let threads = inputs.block[0];
    if !threads.is_multiple_of(32) || threads > 1024 {
        return Err(unsupported(format!(
            "blocks of {threads} threads are not 1 to 32 whole warps"
        )));
    }
    match inputs.kernel {
        "reduce_f32" => {
            let (data, total) = (inputs.buffer::<f32>(0)?, inputs.buffer::<f32>(1)?);
            let n = inputs.scalar::<u32>(2)? as usize;
            data.at_least(n)?;
            total.exactly(1)?;
            let sum: f64 = data.elements.iter().take(n).copied().map(f64::from).sum();
            let sum = f64::from(total.elements[0]) + f64::from(inputs.repeat) * sum;
            Ok(total.replaced_by(vec![sum as f32]))
        }
        "reduce_u32" => {
            let (data, total) = (inputs.buffer::<u32>(0)?, inputs.buffer::<u32>(1)?);
            let n = inputs.scalar::<u32>(2)? as usize;
            data.at_least(n)?;
            total.exactly(1)?;
            let sum = data.elements.iter().take(n).fold(0_u32, |sum, &x| sum.wrapping_add(x));
            let sum = total.elements[0].wrapping_add(sum.wrapping_mul(inputs.repeat));
            Ok(total.replaced_by(vec![sum]))
        }
        _ => Err(ReferenceError::UnknownKernel {
            kernel: inputs.kernel.to_owned(),
            known: "reduce_f32, reduce_u32",
        }),
    }
}

//! c = a + b for the first n elements that have a thread. Arguments: a, b, c, n. Exact: one
//! rounding.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::Inputs;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let a = inputs.buffer::<f32>(0)?;
    let b = inputs.buffer::<f32>(1)?;
    let c = inputs.buffer::<f32>(2)?;
    let n = (inputs.scalar::<u32>(3)? as usize).min(inputs.threads_x());
    for buffer in [a, b, c] {
        buffer.at_least(n)?;
    }

    let mut sums = c.elements.to_vec();
    if inputs.runs() {
        for ((sum, a), b) in sums.iter_mut().zip(a.elements).zip(b.elements).take(n) {
            *sum = a + b;
        }
    }
    Ok(c.replaced_by(sums))
}

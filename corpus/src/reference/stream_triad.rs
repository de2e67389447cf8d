//! a = b + scalar c. Arguments: a, b, c, scalar. A multiply-add rounds once, so exact.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::Inputs;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let a = inputs.buffer::<f64>(0)?;
    let b = inputs.buffer::<f64>(1)?;
    let c = inputs.buffer::<f64>(2)?;
    let scalar = inputs.scalar::<f64>(3)?;
    for buffer in [a, b, c] {
        buffer.exactly(inputs.threads_x())?;
    }
    if !inputs.runs() {
        return Ok(a.replaced_by(a.elements.to_vec()));
    }
    let pairs = b.elements.iter().zip(c.elements);
    Ok(a.replaced_by(pairs.map(|(b, c)| scalar.mul_add(*c, *b)).collect()))
}

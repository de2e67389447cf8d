//! The first buffer becomes the second. Arguments: out, in, then extents whose product is the
//! number of elements; without any, every thread of the grid copies one. Exact.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Argument, Inputs, unsupported};
use super::values::{Element, ElementType, Values};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    match element_type(inputs) {
        Some(ElementType::F64) => copied::<f64>(inputs),
        Some(ElementType::U32) => copied::<u32>(inputs),
        // Errors name the type that most kernels copy.
        _ => copied::<f32>(inputs),
    }
}

/// The type of the first argument's elements.
fn element_type(inputs: &Inputs<'_>) -> Option<ElementType> {
    match inputs.args.first()? {
        Argument::Buffer(name) => inputs.buffers.get(name).map(Values::element_type),
        Argument::Scalar(_) => None,
    }
}

fn copied<T: Element>(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let out = inputs.buffer::<T>(0)?;
    let source = inputs.buffer::<T>(1)?;
    let threads = inputs.threads_x().saturating_mul(inputs.threads_y());
    let mut count = 1_usize;
    for position in 2..inputs.args.len() {
        count = count.saturating_mul(inputs.size(position)?);
    }
    if inputs.args.len() == 2 {
        count = threads;
    }
    let in_strides = inputs.kernel.ends_with("_in_strides");
    if threads == 0 || (!in_strides && threads != count) {
        return Err(unsupported(format!("{threads} threads do not copy {count} elements")));
    }
    out.exactly(count)?;
    source.exactly(count)?;
    let elements = if inputs.runs() { source.elements } else { out.elements };
    Ok(out.replaced_by(elements.to_vec()))
}

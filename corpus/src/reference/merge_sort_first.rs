//! Every four numbers in ascending order. Arguments: unsorted, sorted, the number of numbers.
//! Exact.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let unsorted = inputs.buffer::<f32>(0)?;
    let sorted = inputs.buffer::<f32>(1)?;
    let numbers = inputs.size(2)?;
    if inputs.threads_x() < numbers / 4 || numbers % 4 != 0 {
        return Err(unsupported(format!("{} threads for {numbers} numbers", inputs.threads_x())));
    }
    unsorted.exactly(numbers)?;
    sorted.exactly(numbers)?;

    let mut fours = sorted.elements.to_vec();
    if inputs.runs() {
        fours.copy_from_slice(unsorted.elements);
        for four in fours.chunks_exact_mut(4) {
            four.sort_by(f32::total_cmp);
        }
    }
    Ok(sorted.replaced_by(fours))
}

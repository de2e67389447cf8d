//! Counts how many of the first n samples from [0, 1) fall into each of 256 bins. Arguments:
//! samples, bins, n. Exact: scaling by 256 does not round. Samples outside go to the first and last
//! bin.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::Inputs;

const BINS: usize = 256;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let samples = inputs.buffer::<f32>(0)?;
    let bins = inputs.buffer::<u32>(1)?;
    let n = inputs.scalar::<u32>(2)? as usize;
    samples.at_least(n)?;
    bins.at_least(BINS)?;

    let mut counts = bins.elements.to_vec();
    for sample in samples.elements.iter().take(n) {
        // The conversion saturates, and takes NaN to 0, here as on a GPU.
        let bin = (sample * BINS as f32) as usize;
        let count = &mut counts[bin.min(BINS - 1)];
        *count = count.wrapping_add(inputs.repeat);
    }
    Ok(bins.replaced_by(counts))
}

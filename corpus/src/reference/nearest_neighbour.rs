//! Distances from one place, in f64. Arguments: latitude and longitude of each record, distances,
//! the number of records, latitude and longitude of the place.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let places = inputs.buffer::<f32>(0)?;
    let distances = inputs.buffer::<f32>(1)?;
    let records = inputs.size(2)?;
    let latitude = f64::from(inputs.scalar::<f32>(3)?);
    let longitude = f64::from(inputs.scalar::<f32>(4)?);
    let threads = inputs.threads_x().saturating_mul(inputs.grid[1] as usize);
    if threads < records {
        return Err(unsupported(format!("{threads} threads for {records} records")));
    }
    places.exactly(records.saturating_mul(2))?;
    distances.exactly(records)?;

    let mut results = distances.elements.to_vec();
    if inputs.runs() {
        for (place, result) in places.elements.chunks_exact(2).zip(&mut results) {
            let north = latitude - f64::from(place[0]);
            *result = north.hypot(longitude - f64::from(place[1])) as f32;
        }
    }
    Ok(distances.replaced_by(results))
}

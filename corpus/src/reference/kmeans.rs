//! The two kernels of Rodinia's k-means.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// The most centres that the module holds, and the features of each.
const MOST_CENTRES: usize = 5;
const FEATURES: usize = 34;

/// Points by features become features by points. Arguments: by point, by feature, points, features.
/// Exact.
pub(super) fn invert_mapping(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let by_point = inputs.buffer::<f32>(0)?;
    let by_feature = inputs.buffer::<f32>(1)?;
    let points = inputs.size(2)?;
    let features = inputs.size(3)?;
    covers(inputs.threads_x(), points)?;
    by_point.exactly(points.saturating_mul(features))?;
    by_feature.exactly(points.saturating_mul(features))?;

    let mut inverted = by_feature.elements.to_vec();
    if inputs.runs() && features > 0 {
        for (point, row) in by_point.elements.chunks_exact(features).enumerate() {
            for (feature, value) in row.iter().enumerate() {
                inverted[feature * points + point] = *value;
            }
        }
    }
    Ok(by_feature.replaced_by(inverted))
}

/// The nearest of a few centres to each point, distances in f64. Arguments: features by points, the
/// nearest centres, points, features, centres.
pub(super) fn point(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let by_feature = inputs.buffer::<f32>(0)?;
    let nearest = inputs.buffer::<i32>(1)?;
    let points = inputs.size(2)?;
    let features = inputs.size(3)?;
    let centres = inputs.size(4)?;
    covers(inputs.threads_x().saturating_mul(inputs.grid[1] as usize), points)?;
    if features > FEATURES || centres > MOST_CENTRES || inputs.block[1..] != [1, 1] {
        return Err(unsupported(format!(
            "{centres} centres of {features} features in blocks of {:?}",
            inputs.block,
        )));
    }
    by_feature.exactly(points.saturating_mul(features))?;
    nearest.exactly(points)?;

    let mut best = nearest.elements.to_vec();
    if inputs.runs() {
        for (point, best) in best.iter_mut().enumerate() {
            let distance = |one: usize| {
                let squares = (0..features).map(|feature| {
                    let value = by_feature.elements[feature * points + point];
                    (f64::from(value) - centre(one, feature)).powi(2)
                });
                squares.sum::<f64>()
            };
            let least = (0..centres).min_by(|a, b| distance(*a).total_cmp(&distance(*b)));
            *best = least.map_or(-1, |least| least as i32);
        }
    }
    Ok(nearest.replaced_by(best))
}

/// A centre's feature, in tenths.
fn centre(one: usize, feature: usize) -> f64 {
    let tenths = (one + 1) * (2 * feature + 3) % 11;
    f64::from(tenths as f32 / 10.0)
}

fn covers(threads: usize, points: usize) -> Result<(), ReferenceError> {
    if threads >= points {
        Ok(())
    } else {
        Err(unsupported(format!("{threads} threads for {points} points")))
    }
}

//! The GPUs of a sweep: each of them with every combination of changed fields.

use std::sync::Arc;

use gpucast_model::{Basis, Gpu};
use rayon::iter::{IntoParallelIterator as _, ParallelIterator as _};

use super::Cell;
use super::axis::{Axis, Value};

/// A GPU of the grid.
pub struct Point {
    /// The name of the GPU that was changed.
    pub name: Arc<str>,
    /// The GPU that was changed, as it was.
    pub base: Arc<Gpu>,
    /// The swept fields as they are here.
    pub labels: Vec<Cell>,
    /// The GPU, or why there can be none like it.
    pub gpu: Result<Gpu, String>,
}

/// Each GPU with every combination of values, the last axis changing fastest.
pub fn points(gpus: &[Gpu], axes: &[Axis]) -> Vec<Point> {
    let combinations = combinations(axes);
    let bases: Vec<(Arc<Gpu>, Basis)> =
        gpus.iter().map(|gpu| (Arc::new(gpu.clone()), Basis::of(gpu))).collect();
    (0..bases.len() * combinations.len())
        .into_par_iter()
        .map(|at| {
            let (gpu, basis) = &bases[at / combinations.len()];
            point(gpu, basis, axes, &combinations[at % combinations.len()])
        })
        .collect()
}

/// Returns the number of points, or `None` if there are too many to count.
pub fn number_of_points(gpus: usize, axes: &[Axis]) -> Option<usize> {
    axes.iter().try_fold(gpus, |points, axis| points.checked_mul(axis.values.len()))
}

/// Every choice of one value from each axis.
pub fn combinations(axes: &[Axis]) -> Vec<Vec<&Value>> {
    axes.iter().fold(vec![Vec::new()], |shorter, axis| {
        shorter
            .iter()
            .flat_map(|values| {
                axis.values.iter().map(move |value| {
                    let mut longer: Vec<&Value> = values.clone();
                    longer.push(value);
                    longer
                })
            })
            .collect()
    })
}

fn point(gpu: &Arc<Gpu>, basis: &Basis, axes: &[Axis], values: &[&Value]) -> Point {
    let (name, base) = (Arc::from(gpu.name.as_str()), Arc::clone(gpu));
    if axes.is_empty() {
        return Point { name, base, labels: Vec::new(), gpu: Ok(Gpu::clone(gpu)) };
    }
    let changes: Vec<(&str, &str)> =
        axes.iter().zip(values).map(|(axis, value)| (axis.name.as_str(), &*value.text)).collect();
    let changed = basis.with_overrides(&changes).map_err(|error| error.to_string());
    let label = |(axis, value): (&Axis, &&Value)| match &changed {
        // The number that the field has, whichever way it was written.
        Ok(gpu) => match gpu.number(&axis.name) {
            Some(number) => Cell::Real(number),
            None => Cell::text(&value.text),
        },
        // A factor has no value here.
        Err(_) => match value.text.parse::<f64>() {
            Ok(number) => Cell::Real(number),
            Err(_) => Cell::text(&value.text),
        },
    };
    let labels = axes.iter().zip(values).map(label).collect();
    Point { name, base, labels, gpu: changed }
}

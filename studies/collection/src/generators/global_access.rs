//! Loads of global memory by a pattern of strides (Stevens and Klöckner 2020, section 7.1.2,
//! "Global memory access").

use super::pattern::{
    self, GROUPS_FIT, LID_STRIDE_0, LID_STRIDE_1, LSIZE_0, LSIZE_1, NELEMENTS, Pattern,
};
use crate::Generator;
use crate::language::{Builder, Contents, Kernel};
use crate::variant::{Axis, Unfit, Variant};

/// Accesses by strides.
pub(super) const GENERATOR: Generator = Generator {
    name: "gmem_pattern",
    tags: &["gmem", "memory"],
    summary: "A sum of elements of several arrays, by one pattern of strides",
    axes: &[
        Axis::words("dtype", "type of the elements", &["float32", "float64"]),
        LSIZE_0,
        LSIZE_1,
        GROUPS_FIT,
        LID_STRIDE_0,
        LID_STRIDE_1,
        NELEMENTS,
        Axis::numbers("n_arrays", "arrays that are read", &[1, 2, 3, 4, 6, 8], &[1, 2, 4]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let ty = pattern::dtype(variant)?;
    let pattern = Pattern::of(variant)?;
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    let arrays: Vec<_> = (0..variant.number("n_arrays")?)
        .map(|at| kernel.input(&format!("in{at}"), ty, pattern.len, Contents::Uniform(at)))
        .collect();
    let result = kernel.output("result", ty, pattern.len);
    let at = pattern.index(&mut kernel);
    let mut loaded = Vec::new();
    for (one, array) in arrays.iter().enumerate() {
        loaded.push(kernel.load(&format!("x{one}"), array, at.clone()));
    }
    if let Some(sum) = loaded.into_iter().reduce(|sum, value| sum + value) {
        kernel.store(&result, at, sum);
    }
    Ok(kernel.launched(pattern.grid, pattern.block))
}

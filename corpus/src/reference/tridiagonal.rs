//! The last unknown of every tridiagonal system, by Gaussian elimination from the first equation to
//! the last in f64, where the kernels reduce cyclically. Arguments: lower, diagonal, upper, right,
//! last.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let equations: usize = inputs
        .kernel
        .strip_prefix("cyclic_reduction")
        .and_then(|rest| rest.rsplit_once('_'))
        .and_then(|(_, equations)| equations.parse().ok())
        .ok_or_else(|| ReferenceError::UnknownKernel {
            kernel: inputs.kernel.to_owned(),
            known: "cyclic_reduction_<equations>, cyclic_reduction_nbc_<equations>, \
                    cyclic_reduction_nbc_32_<equations>, cyclic_reduction_regrouped_<equations>, \
                    cyclic_reduction_regrouped_32_<equations>",
        })?;
    if !equations.is_power_of_two() || equations < 2 {
        return Err(unsupported(format!("{equations} is not a power of two above 1")));
    }
    let threads = u32::try_from(equations / 2)
        .map_err(|_| unsupported(format!("no block has {} threads", equations / 2)))?;
    inputs.block_is([threads, 1, 1])?;
    let systems = inputs.grid[0] as usize;
    let lower = inputs.buffer::<f32>(0)?;
    let diagonal = inputs.buffer::<f32>(1)?;
    let upper = inputs.buffer::<f32>(2)?;
    let right = inputs.buffer::<f32>(3)?;
    let last = inputs.buffer::<f32>(4)?;
    for buffer in [lower, diagonal, upper, right] {
        buffer.exactly(systems.saturating_mul(equations))?;
    }
    last.exactly(systems)?;
    if !inputs.runs() {
        return Ok(last.replaced_by(last.elements.to_vec()));
    }

    let solution = (0..systems).map(|system| {
        // The equation before, solved for its unknown: x[i - 1] = constant - factor * x[i].
        let (mut factor, mut constant) = (0.0, 0.0);
        for i in system * equations..(system + 1) * equations {
            let [lower, diagonal, upper, right] =
                [lower, diagonal, upper, right].map(|buffer| f64::from(buffer.elements[i]));
            let pivot = diagonal - lower * factor;
            factor = upper / pivot;
            constant = (right - lower * constant) / pivot;
        }
        constant as f32
    });
    Ok(last.replaced_by(solution.collect()))
}

//! result[m, k, i] = sum over j of matrix[m, i, j] u[k, j] (Stevens and Kloeckner 2020, section
//! 8.4), summed in f64 and rounded once. Arguments: matrix, u, result, elements, nodes.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

const TILE: u32 = 16;
const MATRICES: usize = 3;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let transposed = match inputs.kernel {
        "dg_direct" | "dg_prefetch_u" | "dg_prefetch_matrix" => false,
        "dg_prefetch_matrix_transposed" => true,
        _ => {
            return Err(ReferenceError::UnknownKernel {
                kernel: inputs.kernel.to_owned(),
                known: "dg_direct, dg_prefetch_u, dg_prefetch_matrix, \
                        dg_prefetch_matrix_transposed",
            });
        }
    };
    let matrix = inputs.buffer::<f32>(0)?;
    let u = inputs.buffer::<f32>(1)?;
    let result = inputs.buffer::<f32>(2)?;
    let elements = inputs.size(3)?;
    let nodes = inputs.size(4)?;
    inputs.block_is([TILE, TILE, 1])?;
    if inputs.threads_x() != elements || inputs.threads_y() != nodes {
        return Err(unsupported(format!(
            "{} x {} threads do not cover {elements} elements of {nodes} nodes",
            inputs.threads_x(),
            inputs.threads_y(),
        )));
    }
    let unknowns = elements.saturating_mul(nodes);
    matrix.exactly(MATRICES.saturating_mul(nodes).saturating_mul(nodes))?;
    u.exactly(unknowns)?;
    result.exactly(MATRICES.saturating_mul(unknowns))?;

    let mut derivatives = result.elements.to_vec();
    if inputs.runs() {
        let place = |k: usize, i: usize| {
            if transposed { i * elements + k } else { k * nodes + i }
        };
        let mut own = vec![0.0; nodes];
        for k in 0..elements {
            for (j, own) in own.iter_mut().enumerate() {
                *own = f64::from(u.elements[place(k, j)]);
            }
            for (row, coefficients) in matrix.elements.chunks_exact(nodes.max(1)).enumerate() {
                let products =
                    coefficients.iter().zip(&own).map(|(&matrix, own)| f64::from(matrix) * own);
                let (m, i) = (row / nodes, row % nodes);
                derivatives[m * unknowns + place(k, i)] = products.sum::<f64>() as f32;
            }
        }
    }
    Ok(result.replaced_by(derivatives))
}

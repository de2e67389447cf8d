//! A red-black relaxation with variable coefficients, in f64. Arguments: x, out, right, inverse,
//! the coefficients of the faces in i, j and k, for `gsrb_fp` the mask, then scale and dim.
//!
//! The mask is not read: which points are relaxed follows from their colour.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};
use super::padded_box::PaddedBox;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    // Points of a row that a block's row of 32 threads works on, and where the scalars begin.
    let (width, scalars) = match inputs.kernel {
        "gsrb_fp" => (32, 8),
        "gsrb_branch" => (32, 7),
        "gsrb_stride2" => (64, 7),
        _ => {
            return Err(ReferenceError::UnknownKernel {
                kernel: inputs.kernel.to_owned(),
                known: "gsrb_fp, gsrb_branch, gsrb_stride2",
            });
        }
    };
    let x = inputs.buffer::<f64>(0)?;
    let out = inputs.buffer::<f64>(1)?;
    let right = inputs.buffer::<f64>(2)?;
    let inverse = inputs.buffer::<f64>(3)?;
    let faces = [inputs.buffer::<f64>(4)?, inputs.buffer::<f64>(5)?, inputs.buffer::<f64>(6)?];
    let scale = inputs.scalar::<f64>(scalars)?;
    let dim = inputs.size(scalars + 1)?;
    inputs.block_is([32, 4, 1])?;
    let [blocks_x, blocks_y, blocks_z] = inputs.grid.map(|blocks| blocks as usize);
    let groups = dim / 8;
    if dim == 0
        || !dim.is_multiple_of(64)
        || blocks_x * width != dim
        || blocks_y * 4 != dim
        || !blocks_z.is_multiple_of(groups)
    {
        return Err(unsupported(format!(
            "{blocks_x} x {blocks_y} x {blocks_z} blocks do not cover boxes of {dim}^3 points"
        )));
    }
    let shape = PaddedBox::new(dim)?;
    for buffer in [x, out, right, inverse, faces[0], faces[1], faces[2]] {
        buffer.exactly(shape.len.saturating_mul(blocks_z / groups))?;
    }

    let mut relaxed = out.elements.to_vec();
    if inputs.runs() {
        for first in (0..relaxed.len()).step_by(shape.len) {
            for ([i, j, k], place) in shape.points() {
                let point = first + place;
                let here = x.elements[point];
                relaxed[point] = if (i + j + k).is_multiple_of(2) {
                    // Flow through the faces, each between a point and the one before.
                    let flow: f64 = faces
                        .iter()
                        .zip([1, shape.row, shape.plane])
                        .map(|(face, distance)| {
                            let (before, behind) = (point - distance, point + distance);
                            face.elements[point] * (x.elements[before] - here)
                                + face.elements[behind] * (x.elements[behind] - here)
                        })
                        .sum();
                    here + inverse.elements[point] * (right.elements[point] + scale * flow)
                } else {
                    here
                };
            }
        }
    }
    Ok(out.replaced_by(relaxed))
}

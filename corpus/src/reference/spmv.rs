//! y = A x for a sparse matrix, summed in f64 and rounded once. Arguments: values, columns, x, y,
//! rows (of blocks), entries (blocks) in a row.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// Rows and columns of a block.
const BLOCK: usize = 3;

/// Storage format of a kernel's matrix and vectors.
struct Format {
    /// Rows and columns of a block.
    block: usize,
    /// True if the elements of a vector's blocks lie side by side.
    interleaved: bool,
}

impl Format {
    fn of_kernel(kernel: &str) -> Result<Self, ReferenceError> {
        match kernel {
            "spmv_ell" => Ok(Self { block: 1, interleaved: false }),
            "spmv_bell_im" => Ok(Self { block: BLOCK, interleaved: false }),
            "spmv_bell_imiv" => Ok(Self { block: BLOCK, interleaved: true }),
            _ => Err(ReferenceError::UnknownKernel {
                kernel: kernel.to_owned(),
                known: "spmv_ell, spmv_bell_im, spmv_bell_imiv",
            }),
        }
    }

    /// Returns the place of row or column `index` of the matrix in a vector of `blocks` blocks.
    fn place(&self, index: usize, blocks: usize) -> usize {
        if self.interleaved { index % self.block * blocks + index / self.block } else { index }
    }
}

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let format = Format::of_kernel(inputs.kernel)?;
    let values = inputs.buffer::<f32>(0)?;
    let columns = inputs.buffer::<i32>(1)?;
    let x = inputs.buffer::<f32>(2)?;
    let y = inputs.buffer::<f32>(3)?;
    let block_rows = inputs.size(4)?;
    let blocks = inputs.size(5)?;
    let rows = block_rows.saturating_mul(format.block);
    columns.exactly(block_rows.saturating_mul(blocks))?;
    values.exactly(rows.saturating_mul(blocks).saturating_mul(format.block))?;
    x.exactly(rows)?;
    y.exactly(rows)?;
    if inputs.threads_x() < block_rows {
        return Err(unsupported(format!(
            "{} threads do not cover {block_rows} rows",
            inputs.threads_x()
        )));
    }
    if !inputs.runs() {
        return Ok(y.replaced_by(y.elements.to_vec()));
    }

    let mut product = y.elements.to_vec();
    for row in 0..rows {
        let mut sum = 0.0;
        for k in 0..blocks {
            let column = columns.elements[k * block_rows + row / format.block];
            let column = usize::try_from(column)
                .ok()
                .filter(|&column| column < block_rows)
                .ok_or_else(|| unsupported(format!("there is no column {column}")))?;
            for j in 0..format.block {
                let entry = row % format.block * format.block + j;
                let place = (k * format.block * format.block + entry) * block_rows;
                let value = values.elements[place + row / format.block];
                let element = x.elements[format.place(column * format.block + j, block_rows)];
                sum += f64::from(value) * f64::from(element);
            }
        }
        product[format.place(row, block_rows)] = sum as f32;
    }
    Ok(y.replaced_by(product))
}

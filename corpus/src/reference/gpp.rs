//! Sums over g of conj(m[n, g']) m[n, g] epsilon[g', g] pole[g', g] / (w[n] - pole[g', g]), in f64.
//! Arguments: m, epsilon, pole, w, sums, count, stride. Complex numbers are pairs of f64.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

type Complex = (f64, f64);

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let frequencies: usize = inputs
        .kernel
        .strip_prefix("gpp_nw")
        .map(|rest| rest.strip_suffix("_no_fma").unwrap_or(rest))
        .and_then(|frequencies| frequencies.parse().ok())
        .filter(|frequencies| (1..=6).contains(frequencies))
        .ok_or_else(|| ReferenceError::UnknownKernel {
            kernel: inputs.kernel.to_owned(),
            known: "gpp_nw1 ... gpp_nw6, gpp_nw6_no_fma",
        })?;
    let m = inputs.buffer::<f64>(0)?;
    let epsilon = inputs.buffer::<f64>(1)?;
    let pole = inputs.buffer::<f64>(2)?;
    let w = inputs.buffer::<f64>(3)?;
    let sums = inputs.buffer::<f64>(4)?;
    let count = inputs.size(5)?;
    let stride = inputs.size(6)?;
    inputs.block_is([256, 1, 1])?;
    let [bands, columns] = [inputs.grid[0], inputs.grid[1]].map(|blocks| blocks as usize);
    if stride == 0 || !count.is_multiple_of(stride) || columns > count {
        return Err(unsupported(format!(
            "{count} elements cannot be taken for {columns} columns with stride {stride}"
        )));
    }
    let complex = |numbers: usize| numbers.saturating_mul(2);
    m.exactly(complex(bands.saturating_mul(count)))?;
    epsilon.exactly(complex(columns.saturating_mul(count)))?;
    pole.exactly(complex(columns.saturating_mul(count)))?;
    w.exactly(bands.saturating_mul(frequencies))?;
    sums.exactly(complex(bands.saturating_mul(columns).saturating_mul(frequencies)))?;
    if !inputs.runs() {
        return Ok(sums.replaced_by(sums.elements.to_vec()));
    }

    let number = |numbers: &[f64], index: usize| (numbers[2 * index], numbers[2 * index + 1]);
    let mut results = Vec::with_capacity(sums.elements.len());
    for band in 0..bands {
        for column in 0..columns {
            let left = conjugate(number(m.elements, band * count + column));
            let mut own = [(0.0, 0.0); 6];
            for g in 0..count {
                let place = column * count + g;
                let factor = times(
                    times(left, number(m.elements, band * count + g)),
                    number(epsilon.elements, place),
                );
                let pole = number(pole.elements, place);
                let of_band = &w.elements[band * frequencies..][..frequencies];
                for (sum, &w) in own.iter_mut().zip(of_band) {
                    let term = times(factor, quotient(pole, (w - pole.0, -pole.1)));
                    *sum = (sum.0 + term.0, sum.1 + term.1);
                }
            }
            results
                .extend(own[..frequencies].iter().flat_map(|&(real, imaginary)| [real, imaginary]));
        }
    }
    Ok(sums.replaced_by(results))
}

fn conjugate(a: Complex) -> Complex {
    (a.0, -a.1)
}

fn times(a: Complex, b: Complex) -> Complex {
    (a.0 * b.0 - a.1 * b.1, a.0 * b.1 + a.1 * b.0)
}

fn quotient(a: Complex, b: Complex) -> Complex {
    let norm = b.0 * b.0 + b.1 * b.1;
    let product = times(a, conjugate(b));
    (product.0 / norm, product.1 / norm)
}

//! Kernels of language models that treat elements by themselves or with some beside them, in f64
//! and rounded once.

use half::bf16;

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// x / (1 + e⁻ˣ)
fn silu(x: f64) -> f64 {
    x / (1.0 + (-x).exp())
}

/// `silu-and-multiply`: y = silu(a) b, where a row of X is all a, then all b. Arguments: X, Y,
/// length.
pub(super) fn silu_and_multiply(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let (x, y) = (inputs.buffer::<bf16>(0)?, inputs.buffer::<bf16>(1)?);
    let length = inputs.size(2)?;
    if length == 0 || !y.elements.len().is_multiple_of(length) {
        let elements = y.elements.len();
        return Err(unsupported(format!("{elements} elements are no rows of {length}")));
    }
    x.exactly(y.elements.len().saturating_mul(2))?;
    let of_row = |row: &[bf16]| {
        let (a, b) = row.split_at(length);
        let product = |(a, b): (&bf16, &bf16)| bf16::from_f64(silu(a.to_f64()) * b.to_f64());
        a.iter().zip(b).map(product).collect::<Vec<_>>()
    };
    Ok(y.replaced_by(x.elements.chunks_exact(2 * length).flat_map(of_row).collect()))
}

/// `rotary`: elements i and i + 64 of each head turn by the angle of the token's position.
/// Arguments: X, which is changed, cosines and sines of 64 angles a position, positions, heads.
pub(super) fn rotary(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    const HALF: usize = 64;
    let x = inputs.buffer::<bf16>(0)?;
    let (cosines, sines) = (inputs.buffer::<f32>(1)?, inputs.buffer::<f32>(2)?);
    let (positions, heads) = (inputs.buffer::<i32>(3)?, inputs.size(4)?);
    let of_token = heads.saturating_mul(2 * HALF);
    x.exactly(positions.elements.len().saturating_mul(of_token))?;
    let mut elements = x.elements.to_vec();
    if of_token == 0 {
        return Ok(x.replaced_by(elements));
    }
    for (token, position) in elements.chunks_exact_mut(of_token).zip(positions.elements) {
        let first = usize::try_from(*position).ok().and_then(|position| position.checked_mul(HALF));
        let angles = first.and_then(|first| {
            let all = first..first.checked_add(HALF)?;
            Some((cosines.elements.get(all.clone())?, sines.elements.get(all)?))
        });
        let (cosines, sines) =
            angles.ok_or_else(|| unsupported(format!("there are no angles of {position}")))?;
        for head in token.chunks_exact_mut(2 * HALF) {
            let (left, right) = head.split_at_mut(HALF);
            for (at, (left, right)) in left.iter_mut().zip(right).enumerate() {
                let (cosine, sine) = (f64::from(cosines[at]), f64::from(sines[at]));
                let (a, b) = (left.to_f64(), right.to_f64());
                *left = bf16::from_f64(a * cosine - b * sine);
                *right = bf16::from_f64(b * cosine + a * sine);
            }
        }
    }
    Ok(x.replaced_by(elements))
}

/// `causal-convolution`: y = silu(bias + Σ w x) over an element and the three before it, for each
/// channel. Arguments: X, four weights a channel, biases, Y, length.
pub(super) fn causal_convolution(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    const WIDTH: usize = 4;
    let (x, y) = (inputs.buffer::<bf16>(0)?, inputs.buffer::<bf16>(3)?);
    let (weights, biases) = (inputs.buffer::<f32>(1)?, inputs.buffer::<f32>(2)?);
    let (length, channels) = (inputs.size(4)?, biases.elements.len());
    weights.exactly(channels.saturating_mul(WIDTH))?;
    y.exactly(x.elements.len())?;
    if length == 0 || channels == 0 || !x.elements.len().is_multiple_of(length * channels) {
        let elements = x.elements.len();
        return Err(unsupported(format!("{elements} elements are no {channels} channels")));
    }
    let mut elements = Vec::with_capacity(x.elements.len());
    for (row, signal) in x.elements.chunks_exact(length).enumerate() {
        let channel = row % channels;
        let weights = &weights.elements[channel * WIDTH..][..WIDTH];
        for at in 0..length {
            let before = |weight: usize| (at + weight + 1).checked_sub(WIDTH);
            let terms = weights.iter().enumerate().filter_map(|(weight, factor)| {
                Some(f64::from(*factor) * signal[before(weight)?].to_f64())
            });
            let sum = f64::from(biases.elements[channel]) + terms.sum::<f64>();
            elements.push(bf16::from_f64(silu(sum)));
        }
    }
    Ok(y.replaced_by(elements))
}

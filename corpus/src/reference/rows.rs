//! Kernels that make something of each row of a matrix, in f64 and rounded once.

use half::bf16;

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

/// The lengths of rows, which must be of `length`.
fn whole_rows(elements: usize, length: usize) -> Result<(), ReferenceError> {
    if length > 0 && elements.is_multiple_of(length) {
        return Ok(());
    }
    Err(unsupported(format!("{elements} elements are no rows of {length}")))
}

/// `softmax`: y = eˣ over the row's sum. Arguments: X, Y, rows, length.
pub(super) fn softmax(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let (x, y) = (inputs.buffer::<f32>(0)?, inputs.buffer::<f32>(1)?);
    let length = inputs.size(3)?;
    x.exactly(inputs.size(2)?.saturating_mul(length))?;
    whole_rows(x.elements.len(), length)?;
    y.exactly(x.elements.len())?;
    let of_row = |row: &[f32]| {
        let greatest = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let powers: Vec<f64> =
            row.iter().map(|x| (f64::from(*x) - f64::from(greatest)).exp()).collect();
        let total: f64 = powers.iter().sum();
        powers.into_iter().map(move |power| (power / total) as f32)
    };
    Ok(y.replaced_by(x.elements.chunks_exact(length).flat_map(of_row).collect()))
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    values.sum::<f64>() / count
}

/// `layer-norm`: (x − mean) / √(variance + ε), times a weight and plus a bias for each column.
/// Arguments: X, weights, biases, Y, length, ε.
pub(super) fn layer_norm(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let [x, weight, bias, y] = [0, 1, 2, 3].map(|position| inputs.buffer::<bf16>(position));
    let (x, weight, bias, y) = (x?, weight?, bias?, y?);
    let (length, epsilon) = (inputs.size(4)?, f64::from(inputs.scalar::<f32>(5)?));
    whole_rows(x.elements.len(), length)?;
    weight.exactly(length)?;
    bias.exactly(length)?;
    y.exactly(x.elements.len())?;
    let of_row = |row: &[bf16]| {
        let centre = mean(row.iter().map(|x| x.to_f64()));
        let variance = mean(row.iter().map(|x| (x.to_f64() - centre).powi(2)));
        let columns = row.iter().zip(weight.elements).zip(bias.elements);
        let normal = |((x, weight), bias): ((&bf16, &bf16), &bf16)| {
            let normal = (x.to_f64() - centre) / (variance + epsilon).sqrt();
            bf16::from_f64(normal * weight.to_f64() + bias.to_f64())
        };
        columns.map(normal).collect::<Vec<_>>()
    };
    Ok(y.replaced_by(x.elements.chunks_exact(length).flat_map(of_row).collect()))
}

/// `rms-norm`: the residual becomes r = residual + x, and y = r / √(mean of r² + ε) times a weight
/// for each column. Arguments: X, residual, weights, Y, length, ε.
pub(super) fn rms_norm(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let [x, residual, weight, y] = [0, 1, 2, 3].map(|position| inputs.buffer::<bf16>(position));
    let (x, residual, weight, y) = (x?, residual?, weight?, y?);
    let (length, epsilon) = (inputs.size(4)?, f64::from(inputs.scalar::<f32>(5)?));
    whole_rows(x.elements.len(), length)?;
    weight.exactly(length)?;
    residual.exactly(x.elements.len())?;
    y.exactly(x.elements.len())?;
    let sums: Vec<bf16> = residual
        .elements
        .iter()
        .zip(x.elements)
        .map(|(residual, x)| bf16::from_f64(residual.to_f64() + x.to_f64()))
        .collect();
    let of_row = |row: &[bf16]| {
        let square = mean(row.iter().map(|sum| sum.to_f64().powi(2)));
        let columns = row.iter().zip(weight.elements);
        let normal = |(sum, weight): (&bf16, &bf16)| {
            bf16::from_f64(sum.to_f64() / (square + epsilon).sqrt() * weight.to_f64())
        };
        columns.map(normal).collect::<Vec<_>>()
    };
    let mut outputs = y.replaced_by(sums.chunks_exact(length).flat_map(of_row).collect());
    outputs.extend(residual.replaced_by(sums));
    Ok(outputs)
}

/// `top-k`: the eight greatest numbers of each row, greatest first, and their columns; of equal
/// ones the first. Arguments: X, numbers, columns and, last, the length.
pub(super) fn top_k(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    const K: usize = 8;
    let (x, numbers) = (inputs.buffer::<f32>(0)?, inputs.buffer::<f32>(1)?);
    let columns = inputs.buffer::<i32>(2)?;
    let length = inputs.size(inputs.args.len().saturating_sub(1))?;
    if length < K {
        return Err(unsupported(format!("rows of {length} have no {K} greatest numbers")));
    }
    whole_rows(x.elements.len(), length)?;
    let rows = x.elements.len() / length;
    numbers.exactly(rows.saturating_mul(K))?;
    columns.exactly(rows.saturating_mul(K))?;
    let of_row = |row: &[f32]| {
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&one, &other| row[other].total_cmp(&row[one]));
        order.into_iter().take(K).map(|column| (row[column], column as i32)).collect::<Vec<_>>()
    };
    let (of_numbers, of_columns) = x.elements.chunks_exact(length).flat_map(of_row).unzip();
    let mut outputs = numbers.replaced_by(of_numbers);
    outputs.extend(columns.replaced_by(of_columns));
    Ok(outputs)
}

/// The value of a code of e4m3 without a sign.
fn e4m3(code: u8) -> f64 {
    let (exponent, mantissa) = (i32::from(code >> 3), f64::from(code & 7) / 8.0);
    match exponent {
        0 => mantissa * 2.0_f64.powi(-6),
        _ => (1.0 + mantissa) * 2.0_f64.powi(exponent - 7),
    }
}

/// The greatest code of e4m3, which stands for 448.
const GREATEST: u8 = 0x7e;

/// `fp8-quantisation`: each row over its scale, which is its greatest magnitude over 448, as e4m3.
/// Arguments: X, Y, scales, length.
pub(super) fn fp8_quantisation(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let (x, y) = (inputs.buffer::<bf16>(0)?, inputs.buffer::<u8>(1)?);
    let (scales, length) = (inputs.buffer::<f32>(2)?, inputs.size(3)?);
    whole_rows(x.elements.len(), length)?;
    y.exactly(x.elements.len())?;
    scales.exactly(x.elements.len() / length)?;
    let values: Vec<f64> = (0..=GREATEST).map(e4m3).collect();
    let code = |value: f64| {
        let magnitude = value.abs();
        let above = values.partition_point(|&one| one < magnitude).min(values.len() - 1);
        let below = above.saturating_sub(1);
        let (up, down) = (values[above] - magnitude, magnitude - values[below]);
        // Halfway the even one is taken.
        let is_up = up < down || up == down && above.is_multiple_of(2);
        let nearest = if is_up { above } else { below } as u8;
        nearest | u8::from(value.is_sign_negative()) << 7
    };
    let of_row = |row: &[bf16]| {
        let greatest = row.iter().map(|x| x.to_f64().abs()).fold(0.0, f64::max);
        let scale = greatest / 448.0;
        let codes = row.iter().map(|x| code(if scale > 0.0 { x.to_f64() / scale } else { 0.0 }));
        (scale as f32, codes.collect::<Vec<_>>())
    };
    let (of_rows, codes): (Vec<f32>, Vec<Vec<u8>>) =
        x.elements.chunks_exact(length).map(of_row).unzip();
    let mut outputs = y.replaced_by(codes.concat());
    outputs.extend(scales.replaced_by(of_rows));
    Ok(outputs)
}

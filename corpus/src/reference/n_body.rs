//! One step of n bodies under gravity, in f64. Arguments: new positions, positions and velocities
//! with four numbers a body (x, y, z, mass), n, time step, damping.
//!
//! A body is drawn to every other body by that one's mass over the softened distance cubed. This is
//! equation 2 of Nyland, Harris and Prins (2007) with G = 1. The body then moves with its new
//! velocity.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

const SOFTENING: f64 = 0.1;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let moved = inputs.buffer::<f32>(0)?;
    let positions = inputs.buffer::<f32>(1)?;
    let velocities = inputs.buffer::<f32>(2)?;
    let n = inputs.size(3)?;
    let time_step = f64::from(inputs.scalar::<f32>(4)?);
    let damping = f64::from(inputs.scalar::<f32>(5)?);
    inputs.block_is([256, 1, 1])?;
    if inputs.threads_x() != n || inputs.repeat > 1 {
        return Err(unsupported(format!(
            "{} threads for one step of {n} bodies",
            inputs.threads_x()
        )));
    }
    for buffer in [moved, positions, velocities] {
        buffer.exactly(n.saturating_mul(4))?;
    }

    let mut new_positions = moved.elements.to_vec();
    let mut new_velocities = velocities.elements.to_vec();
    if inputs.runs() {
        let bodies: Vec<[f64; 4]> = fours(positions.elements);
        let before = fours(velocities.elements);
        let after = new_positions.chunks_exact_mut(4).zip(new_velocities.chunks_exact_mut(4));
        for ((body, velocity), (to, speed)) in bodies.iter().zip(before).zip(after) {
            let pull = acceleration(body, &bodies);
            for axis in 0..3 {
                let next = (velocity[axis] + pull[axis] * time_step) * damping;
                speed[axis] = next as f32;
                to[axis] = (body[axis] + next * time_step) as f32;
            }
            to[3] = body[3] as f32;
        }
    }
    let mut outputs = moved.replaced_by(new_positions);
    outputs.extend(velocities.replaced_by(new_velocities));
    Ok(outputs)
}

fn fours(numbers: &[f32]) -> Vec<[f64; 4]> {
    numbers.chunks_exact(4).map(|four| [0, 1, 2, 3].map(|i| f64::from(four[i]))).collect()
}

fn acceleration(body: &[f64; 4], bodies: &[[f64; 4]]) -> [f64; 3] {
    let mut sum = [0.0; 3];
    for other in bodies {
        let apart = [0, 1, 2].map(|axis| other[axis] - body[axis]);
        let squared =
            apart.iter().map(|distance| distance * distance).sum::<f64>() + SOFTENING * SOFTENING;
        let scale = other[3] / (squared * squared.sqrt());
        for axis in 0..3 {
            sum[axis] += apart[axis] * scale;
        }
    }
    sum
}

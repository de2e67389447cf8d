//! A Runge-Kutta stage of Rodinia's CFD solver, in f64. Arguments: the stage, elements, old
//! variables, variables, steps, fluxes.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

const STAGES: i32 = 3;
const VARIABLES: usize = 5;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let stage = inputs.scalar::<i32>(0)?;
    let elements = inputs.size(1)?;
    let old = inputs.buffer::<f32>(2)?;
    let new = inputs.buffer::<f32>(3)?;
    let steps = inputs.buffer::<f32>(4)?;
    let fluxes = inputs.buffer::<f32>(5)?;
    if inputs.threads_x() != elements || !(0..STAGES).contains(&stage) {
        return Err(unsupported(format!(
            "{} threads for stage {stage} of {elements} elements",
            inputs.threads_x(),
        )));
    }
    for buffer in [old, new, fluxes] {
        buffer.exactly(elements.saturating_mul(VARIABLES))?;
    }
    steps.exactly(elements)?;

    let mut variables = new.elements.to_vec();
    if inputs.runs() {
        let share = f64::from(STAGES + 1 - stage);
        for (place, variable) in variables.iter_mut().enumerate() {
            let step = f64::from(steps.elements[place % elements]) / share;
            let flux = f64::from(fluxes.elements[place]);
            *variable = (f64::from(old.elements[place]) + step * flux) as f32;
        }
    }
    Ok(new.replaced_by(variables))
}

//! A step of Rodinia's Hotspot3D, in f64. Arguments: power, old and new temperatures, the power's
//! weight, cells in x and y, layers. Then follow the weights of the neighbours in the east, west,
//! north and south, above and below, and the cell's own.
//!
//! The ambient temperature counts with the weight of the neighbour above; a cell at an edge is its
//! own neighbour there.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};

const AMBIENT: f64 = 80.0;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let power = inputs.buffer::<f32>(0)?;
    let old = inputs.buffer::<f32>(1)?;
    let new = inputs.buffer::<f32>(2)?;
    let weight = |position| inputs.scalar::<f32>(position).map(f64::from);
    let of_power = weight(3)?;
    let size = [inputs.size(4)?, inputs.size(5)?, inputs.size(6)?];
    let [east, west, north, south] = [weight(7)?, weight(8)?, weight(9)?, weight(10)?];
    let [above, below, own] = [weight(11)?, weight(12)?, weight(13)?];
    let [nx, ny, nz] = size;
    if [inputs.threads_x(), inputs.threads_y()] != [nx, ny] || nz < 2 {
        return Err(unsupported(format!(
            "{} x {} threads for {nz} layers of {nx} x {ny} cells",
            inputs.threads_x(),
            inputs.threads_y(),
        )));
    }
    let cells = nx.saturating_mul(ny).saturating_mul(nz);
    for buffer in [power, old, new] {
        buffer.exactly(cells)?;
    }

    let mut temperatures = new.elements.to_vec();
    if inputs.runs() {
        for (cell, temperature) in temperatures.iter_mut().enumerate() {
            let place = [cell % nx, cell / nx % ny, cell / (nx * ny)];
            let distance = [1, nx, nx * ny];
            let at = |cell: usize| f64::from(old.elements[cell]);
            let before = |axis: usize| at(cell - if place[axis] > 0 { distance[axis] } else { 0 });
            let behind = |axis: usize| {
                at(cell + if place[axis] + 1 < size[axis] { distance[axis] } else { 0 })
            };
            *temperature = (own * at(cell)
                + west * before(0)
                + east * behind(0)
                + north * before(1)
                + south * behind(1)
                + below * before(2)
                + above * (behind(2) + AMBIENT)
                + of_power * f64::from(power.elements[cell])) as f32;
        }
    }
    Ok(new.replaced_by(temperatures))
}

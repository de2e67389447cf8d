//! Red passes of LMSOR (Konstantinidis 2017, eq. 5.9 - 5.11). Arguments: red, black, and f', g'
//! and omega at the red points, then w.

use super::Outputs;
use super::coloured_grid::ColouredGrid;
use super::error::ReferenceError;
use super::inputs::Inputs;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let grid =
        ColouredGrid::of_kernel(inputs, "lmsor_red_", "lmsor_red_<rows>x<columns>", [32, 8, 1])?;
    let red = inputs.buffer::<f64>(0)?;
    let black = inputs.buffer::<f64>(1)?;
    let f = inputs.buffer::<f64>(2)?;
    let g = inputs.buffer::<f64>(3)?;
    let omega = inputs.buffer::<f64>(4)?;
    let w = inputs.scalar::<f64>(5)?;
    for buffer in [red, black, f, g, omega] {
        buffer.exactly(grid.len)?;
    }

    let mut u = red.elements.to_vec();
    for _ in 0..inputs.repeat {
        for (i, j) in grid.red_points() {
            let neighbour = |i, j| black.elements[grid.index(i, j)];
            let own = grid.index(i, j);
            let (f, g, omega) = (f.elements[own], g.elements[own], omega.elements[own]);
            let jacobi = w * (1.0 + f) * neighbour(i - 1, j)
                + w * (1.0 - f) * neighbour(i + 1, j)
                + w * (1.0 - g) * neighbour(i, j + 1)
                + w * (1.0 + g) * neighbour(i, j - 1);
            u[own] = (1.0 - omega) * u[own] + omega * jacobi;
        }
    }
    Ok(red.replaced_by(u))
}

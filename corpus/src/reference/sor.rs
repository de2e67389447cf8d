//! Red passes of SOR (Konstantinidis 2017, eq. 5.2). Arguments: red, black.
//!
//! A red point depends on itself and its black neighbours only, so the order does not matter.

use super::Outputs;
use super::coloured_grid::ColouredGrid;
use super::error::ReferenceError;
use super::inputs::Inputs;

/// The relaxation factor that is compiled into the kernel.
const OMEGA: f64 = 1.9;

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let grid =
        ColouredGrid::of_kernel(inputs, "sor_red_", "sor_red_<rows>x<columns>", [128, 4, 1])?;
    let red = inputs.buffer::<f64>(0)?;
    let black = inputs.buffer::<f64>(1)?;
    red.exactly(grid.len)?;
    black.exactly(grid.len)?;

    let mut u = red.elements.to_vec();
    for _ in 0..inputs.repeat {
        for (i, j) in grid.red_points() {
            let neighbour = |i, j| black.elements[grid.index(i, j)];
            let sum = neighbour(i - 1, j)
                + neighbour(i + 1, j)
                + neighbour(i, j - 1)
                + neighbour(i, j + 1);
            let own = &mut u[grid.index(i, j)];
            *own = (1.0 - OMEGA) * *own + OMEGA * sum / 4.0;
        }
    }
    Ok(red.replaced_by(u))
}

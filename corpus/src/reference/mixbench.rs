//! The mixbench family (Konstantinidis 2017, listing A.1). Arguments: seed, data.
//!
//! The kernel writes only where a sum of products is -1, which the launch files of the corpus never
//! reach. The multiply-adds of f64 are rounded twice here and once on a GPU; that could matter only
//! where a sum lies within a rounding error of -1.

use super::Outputs;
use super::error::ReferenceError;
use super::inputs::{Inputs, unsupported};
use super::values::Element;

const KNOWN: &str = "mixbench_f32_i<n>, mixbench_f64_i<n>, mixbench_s32_i<n>";

const BLOCK: usize = 256;
const GRANULARITY: usize = 8;
const FUSION_DEGREE: usize = 4;

/// The kernel's operations on its element type.
trait Number: Element + PartialEq {
    const ZERO: Self;
    const MINUS_ONE: Self;
    /// `a * b + c`.
    fn multiply_add(a: Self, b: Self, c: Self) -> Self;
}

impl Number for f32 {
    const ZERO: Self = 0.0;
    const MINUS_ONE: Self = -1.0;
    fn multiply_add(a: Self, b: Self, c: Self) -> Self {
        (f64::from(a) * f64::from(b) + f64::from(c)) as f32
    }
}

impl Number for f64 {
    const ZERO: Self = 0.0;
    const MINUS_ONE: Self = -1.0;
    fn multiply_add(a: Self, b: Self, c: Self) -> Self {
        a * b + c
    }
}

impl Number for i32 {
    const ZERO: Self = 0;
    const MINUS_ONE: Self = -1;
    fn multiply_add(a: Self, b: Self, c: Self) -> Self {
        a.wrapping_mul(b).wrapping_add(c)
    }
}

pub(super) fn run(inputs: &Inputs<'_>) -> Result<Outputs, ReferenceError> {
    let unknown =
        || ReferenceError::UnknownKernel { kernel: inputs.kernel.to_owned(), known: KNOWN };
    let (family, iterations) = inputs.kernel.split_once("_i").ok_or_else(unknown)?;
    let iterations = iterations.parse().map_err(|_| unknown())?;
    match family {
        "mixbench_f32" => run_typed::<f32>(inputs, iterations),
        "mixbench_f64" => run_typed::<f64>(inputs, iterations),
        "mixbench_s32" => run_typed::<i32>(inputs, iterations),
        _ => Err(unknown()),
    }
}

fn run_typed<T: Number>(inputs: &Inputs<'_>, iterations: u32) -> Result<Outputs, ReferenceError> {
    let seed = inputs.scalar::<T>(0)?;
    let data = inputs.buffer::<T>(1)?;
    inputs.block_is([BLOCK as u32, 1, 1])?;
    if inputs.grid[1..] != [1, 1] {
        return Err(unsupported(format!("the grid {:?} has more than one dimension", inputs.grid)));
    }
    let touched = (inputs.grid[0] as usize).saturating_mul(BLOCK * GRANULARITY * FUSION_DEGREE);
    data.at_least(touched)?;

    let mut elements = data.elements.to_vec();
    for _ in 0..inputs.repeat {
        if !pass(&mut elements[..touched], seed, iterations) {
            break;
        }
    }
    Ok(data.replaced_by(elements))
}

/// Makes one launch. Returns true if it changed anything. A block reads 8 runs of 256 elements at a
/// time, and its threads take one element of each run.
fn pass<T: Number>(elements: &mut [T], seed: T, iterations: u32) -> bool {
    let mut changed = false;
    for runs in elements.chunks_exact_mut(BLOCK * GRANULARITY) {
        for thread in 0..BLOCK {
            let mut own: [T; GRANULARITY] = std::array::from_fn(|j| runs[thread + j * BLOCK]);
            for _ in 0..iterations {
                own = own.map(|x| T::multiply_add(x, x, seed));
            }
            let sum = own
                .chunks_exact(2)
                .fold(T::ZERO, |sum, pair| T::multiply_add(pair[0], pair[1], sum));
            if sum == T::MINUS_ONE {
                runs[thread] = sum;
                changed = true;
            }
        }
    }
    changed
}

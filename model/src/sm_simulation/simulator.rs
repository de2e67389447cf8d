//! Who simulates a launch: the simulation, or a memory of what it found before.

use std::fmt::Debug;
use std::sync::Arc;

use gpucast_simulation::launch::Launch;
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::{Limits, Outcome, simulate, simulate_clocks};

/// Gives the results of simulations. A result depends on the arguments alone.
pub trait Simulator: Debug + Send + Sync {
    /// The result of a launch of which an SM holds `resident` CTAs at a time.
    fn outcome(&self, launch: &Arc<Launch>, resident: u32, parameters: &Parameters) -> Outcome;

    /// The clocks of that result alone.
    fn clocks(&self, launch: &Arc<Launch>, resident: u32, parameters: &Parameters) -> f64;
}

/// Simulates each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anew;

impl Simulator for Anew {
    fn outcome(&self, launch: &Arc<Launch>, resident: u32, parameters: &Parameters) -> Outcome {
        simulate(launch, resident, parameters, Limits::default())
    }

    fn clocks(&self, launch: &Arc<Launch>, resident: u32, parameters: &Parameters) -> f64 {
        simulate_clocks(launch, resident, parameters, Limits::default())
    }
}

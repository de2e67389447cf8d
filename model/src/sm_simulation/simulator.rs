//! Who simulates a launch: the simulation, or a memory of what it found before.

use std::fmt::Debug;
use std::sync::Arc;

use gpucast_simulation::launch::Launch;
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::{
    Limits, Order, Outcome, simulate, simulate_clocks, simulate_clocks_in_order, simulate_in_order,
};

use super::Orders;

/// What is to be simulated.
#[derive(Clone, Copy, Debug)]
pub struct Simulation<'a> {
    /// The launch.
    pub launch: &'a Arc<Launch>,
    /// CTAs of it that an SM holds at a time.
    pub resident: u32,
    /// The GPU.
    pub parameters: &'a Parameters,
    /// The orders of issue that it follows; its own if there are none.
    pub orders: Option<&'a Orders>,
}

/// Gives the results of simulations. A result depends on the arguments alone.
pub trait Simulator: Debug + Send + Sync {
    /// The result of a simulation.
    fn outcome(&self, simulation: Simulation<'_>) -> Outcome;

    /// The clocks of that result alone.
    fn clocks(&self, simulation: Simulation<'_>) -> f64;
}

/// Simulates each time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Anew;

impl Simulator for Anew {
    fn outcome(&self, simulation: Simulation<'_>) -> Outcome {
        let Simulation { launch, resident, parameters, orders } = simulation;
        let limits = Limits::default();
        let order = orders.and_then(|orders| orders.of(launch, resident, parameters));
        let in_order =
            |order: Arc<Order>| simulate_in_order(&order, launch, resident, parameters, limits);
        order.and_then(in_order).unwrap_or_else(|| simulate(launch, resident, parameters, limits))
    }

    fn clocks(&self, simulation: Simulation<'_>) -> f64 {
        let Simulation { launch, resident, parameters, orders } = simulation;
        let limits = Limits::default();
        let order = orders.and_then(|orders| orders.of(launch, resident, parameters));
        let in_order = |order: Arc<Order>| {
            simulate_clocks_in_order(&order, launch, resident, parameters, limits)
        };
        order
            .and_then(in_order)
            .unwrap_or_else(|| simulate_clocks(launch, resident, parameters, limits))
    }
}

//! The orders of issue on one GPU, which simulations of nearly the same GPUs follow.
//!
//! Times of GPUs that differ by a rate are compared, and a scheduler's choices would make noise of
//! them (`simulation/src/order.rs`). The GPU that they come from has its own order, so that its
//! time is that of a prediction. An order follows from a launch and this GPU. So it is the same
//! whoever asks for it, and one that is no longer kept is made again.
//!
//! A GPU that differs much has an order of its own, too: warps would wait for others that are no
//! longer in front of them.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use gpucast_simulation::launch::Launch;
use gpucast_simulation::parameters::Parameters;
use gpucast_simulation::{Limits, Order, order_of_issue};

use crate::gpu::Gpu;
use crate::reads::SIMULATED;

/// Bytes of orders that are kept. The latest is kept in any case; it has at most 10 MB.
const MOST_BYTES: usize = 32 << 20;

/// Nearly the same GPUs differ in each figure by this factor at most. At 4/3, times in the order of
/// the other GPU are within 4 % of those in their own, which is the noise of the latter.
const NEARLY: f64 = 4.0 / 3.0;

/// The orders of launches on one GPU.
#[derive(Debug)]
pub struct Orders {
    gpu: Gpu,
    parameters: Parameters,
    kept: Mutex<Vec<Kept>>,
}

/// An order that somebody makes once; none if it cannot be written down.
type Made = Arc<OnceLock<Option<Arc<Order>>>>;

#[derive(Debug)]
struct Kept {
    /// A weak pointer keeps the address from being given to another launch.
    launch: Weak<Launch>,
    resident: u32,
    made: Made,
}

impl Kept {
    fn bytes(&self) -> usize {
        self.made.get().and_then(Option::as_ref).map_or(0, |order| order.bytes())
    }
}

impl Orders {
    /// Those of a GPU, if it can be simulated.
    #[must_use]
    pub fn of_gpu(gpu: &Gpu) -> Option<Arc<Self>> {
        let parameters = gpu.sm_parameters().ok()?;
        Some(Arc::new(Self { gpu: gpu.clone(), parameters, kept: Mutex::default() }))
    }

    /// These orders if simulations of a GPU may follow them. Under a limit of the power each kernel
    /// has a clock of its own, and so an order.
    pub(crate) fn held_for(&self, gpu: &Gpu) -> Option<&Self> {
        let is_near = |field: &&str| match (self.gpu.number(field), gpu.number(field)) {
            (Some(one), Some(other)) => one.max(other) <= NEARLY * one.min(other),
            (one, other) => one.is_none() && other.is_none(),
        };
        let is_limited = [&self.gpu, gpu].iter().any(|gpu| gpu.set_power_limit().is_some());
        (!is_limited && SIMULATED.iter().all(is_near)).then_some(self)
    }

    /// The parameters of the GPU that has these orders.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The order of a launch of which an SM holds `resident` CTAs at a time, for a GPU with other
    /// parameters; none for the GPU itself, which needs none, and where there is none.
    #[must_use]
    pub fn of(
        &self,
        launch: &Arc<Launch>,
        resident: u32,
        parameters: &Parameters,
    ) -> Option<Arc<Order>> {
        if *parameters == self.parameters {
            return None;
        }
        let made = self.place(launch, resident);
        let make = || {
            let order = order_of_issue(launch, resident, &self.parameters, Limits::default());
            order.map(Arc::new)
        };
        let order = made.get_or_init(make).clone();
        self.forget_oldest();
        order
    }

    /// Where the order of a launch is kept.
    fn place(&self, launch: &Arc<Launch>, resident: u32) -> Made {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            |one: &&Kept| one.launch.as_ptr() == Arc::as_ptr(launch) && one.resident == resident;
        if let Some(one) = kept.iter().find(is_it) {
            return Arc::clone(&one.made);
        }
        let made = Made::default();
        let launch = Arc::downgrade(launch);
        kept.push(Kept { launch, resident, made: Arc::clone(&made) });
        made
    }

    fn forget_oldest(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        while kept.len() > 1 && kept.iter().map(Kept::bytes).sum::<usize>() > MOST_BYTES {
            kept.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use gpucast_simulation::code::{Class, Control};
    use gpucast_simulation::launch::WarpTrace;
    use gpucast_simulation::writer::Writer;

    use super::*;
    use crate::gpu::GpuLibrary;

    fn gpu() -> Gpu {
        GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap()
    }

    fn launch() -> Arc<Launch> {
        let mut writer = Writer::default();
        writer.op("FADD", Class::Fp32, Control::after(4)).end_block().exit();
        Arc::new(Launch::of_equal_ctas(writer.finish(), vec![WarpTrace::of_loop(3, &[])], 4))
    }

    #[test]
    fn orders_hold_for_gpus_that_differ_little() {
        let orders = Orders::of_gpu(&gpu()).unwrap();
        let holds = |field, value| {
            let changed = gpu().with_override(field, value).unwrap();
            orders.held_for(&changed).is_some()
        };
        assert!(orders.held_for(&gpu()).is_some());
        for (value, expected) in [("0.76x", true), ("1.33x", true), ("0.7x", false), ("2x", false)]
        {
            assert_eq!(holds("memory_bandwidth", value), expected, "{value}");
            assert_eq!(holds("sp_clock", value), expected, "{value}");
        }
        assert!(!holds("power_limit", "1x"));
    }

    #[test]
    fn an_order_is_made_once_and_none_for_the_gpu_itself() {
        let orders = Orders::of_gpu(&gpu()).unwrap();
        let slower = gpu().with_override("memory_bandwidth", "0.9x").unwrap();
        let (launch, slower) = (launch(), slower.sm_parameters().unwrap());
        assert!(orders.of(&launch, 2, orders.parameters()).is_none());
        let first = orders.of(&launch, 2, &slower).unwrap();
        assert!(Arc::ptr_eq(&first, &orders.of(&launch, 2, &slower).unwrap()));
        assert!(!Arc::ptr_eq(&first, &orders.of(&launch, 3, &slower).unwrap()));
    }
}

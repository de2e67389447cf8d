//! Work of the SMs' data paths, which shared memory and the first-level cache have in common.

use gpucast_simulation::code::{AccessKind, Action, MemoryAccess, Space};
use gpucast_simulation::launch::{CtaClass, Launch, Request, WarpTrace};
use gpucast_simulation::parameters::LoadStore;

/// Clocks that the data paths of all SMs together work for accesses of a launch to shared memory.
///
/// Accesses are those of the machine code: where the compiler joins neighbouring words, the metrics
/// of PTX accesses count more passes.
pub(super) fn shared_clocks(launch: &Launch, parameters: &LoadStore) -> f64 {
    clocks(launch, |space, access, request| match space {
        Space::Shared => parameters.shared_clocks(access, request),
        _ => 0.0,
    })
}

/// Clocks that the data paths of all SMs together need at least for the loads and stores of a
/// launch. Atomics are left out, since lanes of one address may be joined before they get there.
pub(crate) fn data_path_clocks(launch: &Launch, parameters: &LoadStore) -> f64 {
    clocks(launch, |space, access, request| match (access.kind, space) {
        (AccessKind::Atomic | AccessKind::Reduction, _) | (_, Space::Constant) => 0.0,
        (_, Space::Shared) => parameters.shared_clocks(access, request),
        (_, Space::Global | Space::Local | Space::Generic) => {
            parameters.global_clocks(access, request)
        }
    })
}

/// The sum over all accesses of a launch of the clocks that each takes.
fn clocks(launch: &Launch, of_access: impl Fn(Space, &MemoryAccess, &Request) -> f64) -> f64 {
    let accesses = accesses(launch);
    let of_request = |access: &MemoryAccess, request: &Request| {
        let space = if access.space == Space::Generic { request.space } else { access.space };
        if request.lanes > 0 { of_access(space, access, request) } else { 0.0 }
    };
    let of_warp = |warp: &WarpTrace| -> f64 {
        let queues = accesses.iter().zip(&warp.requests);
        let of_queue = |(access, requests): (&Option<MemoryAccess>, &Vec<Request>)| -> f64 {
            let Some(access) = access else { return 0.0 };
            requests.iter().map(|request| of_request(access, request)).sum()
        };
        queues.map(of_queue).sum::<f64>() * beyond_the_record(launch, warp)
    };
    let of_class = |class: &CtaClass| -> f64 {
        let warps = class.samples.iter().flat_map(|sample| &sample.warps);
        class.scale * warps.map(of_warp).sum::<f64>() / class.samples.len().max(1) as f64
    };
    let of_classes: Vec<f64> = launch.classes.iter().map(of_class).collect();
    let of_run = |class: u32| of_classes.get(class as usize).copied().unwrap_or_default();
    launch.order.iter().map(|run| run.ctas as f64 * of_run(run.class)).sum()
}

/// An access of each queue; `None` where no instruction takes its requests.
fn accesses(launch: &Launch) -> Vec<Option<MemoryAccess>> {
    let mut accesses = vec![None; launch.code.queues as usize];
    for instruction in &launch.code.instructions {
        if let Action::Access(access) = instruction.action
            && let Some(queue) = access.queue
            && let Some(of_queue) = accesses.get_mut(queue as usize)
        {
            of_queue.get_or_insert(access);
        }
    }
    accesses
}

/// Instructions of a warp over those of its record, which may be cut.
fn beyond_the_record(launch: &Launch, warp: &WarpTrace) -> f64 {
    if warp.left_out_instructions == 0 {
        return 1.0;
    }
    let recorded: u64 =
        warp.path.iter().map(|&block| launch.code.range(block as usize).len() as u64).sum();
    1.0 + warp.left_out_instructions as f64 / recorded.max(1) as f64
}

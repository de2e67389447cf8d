//! Atomics whose values a warp adds up before one lane takes them to memory.

use std::collections::HashMap;

use gpucast_simulation::Combining;
use gpucast_simulation::code::{Action, Code, MemoryAccess};

use super::super::listing::Listing;
use super::super::updates::Update;

/// The queues of requests that fewer lanes make than the PTX says.
pub(super) fn combining(listing: &Listing<'_>, code: &Code) -> HashMap<u32, Combining> {
    let mut kinds: HashMap<u32, Vec<Update>> = HashMap::new();
    for (&index, &update) in &listing.updates {
        let action = code.instructions.get(index).map(|instruction| instruction.action);
        if let Some(Action::Access(MemoryAccess { queue: Some(queue), .. })) = action {
            kinds.entry(queue).or_default().push(update);
        }
    }
    let of_queue = |(queue, updates): (u32, Vec<Update>)| Some((queue, combined(&updates)?));
    kinds.into_iter().filter_map(of_queue).collect()
}

/// An atomic that was written twice asks if the whole warp is there: one lane updates then.
fn combined(updates: &[Update]) -> Option<Combining> {
    let has = |kind: Update| updates.contains(&kind);
    match (has(Update::OneLane), has(Update::EachLane), has(Update::Counted)) {
        (true, false, _) => Some(Combining::Elected),
        (true, true, _) => Some(Combining::WholeWarp),
        (false, false, true) => Some(Combining::Counted),
        (false, _, _) => None,
    }
}

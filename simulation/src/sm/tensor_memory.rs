//! Tensor memory: products and copies that queue for the tensor core of the SM, and transfers to
//! and from registers.
//!
//! ```text
//! warp ─ product, copy ─► queue ─► tensor core of the SM ─► commit ─► phase of an mbarrier
//! warp ─ transfer ─► way of the sub-core ─► registers
//! ```

use std::collections::VecDeque;

use super::scoreboard::Event;
use super::{Effect, Sm};
use crate::clock::clock_at;
use crate::code::TensorMemoryAction;
use crate::launch::Request;
use crate::observer::{Observer, Resource, Work};
use crate::products::ProductClocks;
use crate::states::State;

/// The tensor core of an SM, for products whose sums are in tensor memory.
#[derive(Clone, Debug, Default)]
pub(super) struct TensorCore {
    free: f64,
    /// The clocks at which the latest products and copies leave the queue.
    leaving: VecDeque<u64>,
}

impl<O: Observer> Sm<'_, O> {
    /// Performs an instruction of tensor memory.
    pub(super) fn tensor_memory(
        &mut self,
        place: u32,
        action: TensorMemoryAction,
        clock: u64,
        effect: &mut Effect<O::Tag>,
    ) {
        match action {
            TensorMemoryAction::Multiply(product) => {
                if let Some(request) = self.next_request(place, product.queue) {
                    let clocks = self.parameters.product_clocks(&product, &request);
                    self.queue_for_tensor_core(place, clocks, clock, effect);
                }
            }
            TensorMemoryAction::Copy { queue } => {
                if let Some(request) = self.next_request(place, queue) {
                    let clocks = self.parameters.tensor_copy_clocks(&request);
                    self.queue_for_tensor_core(place, clocks, clock, effect);
                }
            }
            TensorMemoryAction::Commit { queue } => {
                if let Some(request) = self.next_request(place, queue) {
                    let cta = self.warps[place as usize].cta;
                    let last = self.ctas[cta as usize].products;
                    let none = Event::of(State::Products, clock, clock, self.issuing);
                    let event = if last.done > clock { last } else { none };
                    self.tell_phase(cta, request.beside, event);
                }
            }
            TensorMemoryAction::Transfer { .. } => {
                let warp = &mut self.warps[place as usize];
                if effect.way.result.done > warp.transferred.done {
                    warp.transferred = effect.way.result;
                }
            }
            TensorMemoryAction::AwaitTransfers => {
                let warp = &mut self.warps[place as usize];
                warp.awaited = warp.transferred;
                effect.resume = warp.transferred.done.max(clock);
            }
        }
    }

    fn next_request(&mut self, place: u32, queue: Option<u32>) -> Option<Request> {
        let warp = &mut self.warps[place as usize];
        let request = *warp.next_request(queue, self.queues.shared())?;
        (request.lanes > 0).then_some(request)
    }

    /// Puts a product or a copy behind those before it. The queue has an end.
    fn queue_for_tensor_core(
        &mut self,
        place: u32,
        clocks: ProductClocks,
        clock: u64,
        effect: &mut Effect<O::Tag>,
    ) {
        let most = self.parameters.tensor.tensor_queue.max(1) as usize;
        let core = &mut self.tensor_core;
        let begun = core.free.max(clock as f64);
        core.free = begun + clocks.interval;
        core.leaving.push_back(clock_at(begun));
        while core.leaving.len() > most + 1 {
            core.leaving.pop_front();
        }
        let has_room_at =
            if core.leaving.len() > most { core.leaving.front().copied().unwrap_or(0) } else { 0 };
        let end = clock_at(begun + clocks.latency);
        let done = Event::of(State::Products, clock, end, self.issuing);
        self.observer.works(Work {
            resource: Resource::TensorCore,
            copies: 1,
            from: begun,
            until: begun + clocks.interval,
        });
        let warp = &mut self.warps[place as usize];
        if has_room_at > clock {
            effect.resume = effect.resume.max(has_room_at);
            warp.awaited = Event::of(State::Products, clock, has_room_at, self.issuing);
        }
        let products = &mut self.ctas[warp.cta as usize].products;
        if done.done > products.done {
            *products = done;
        }
    }
}

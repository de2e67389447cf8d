//! The barriers of a warp: events that later instructions wait for.

use std::collections::VecDeque;

use crate::states::State;

/// What an event that a barrier announces waits for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event<T> {
    /// The clock at which it has happened.
    pub(super) done: u64,
    /// Clocks from issue to `done`.
    pub(super) span: f64,
    /// Clocks of the span behind other accesses: in the load-store path, at the L2, at DRAM.
    pub(super) waits: [f64; 3],
    /// The state of a warp that waits for the rest of the span.
    pub(super) latency: Option<State>,
    /// The instruction that brings it about.
    pub(super) by: T,
}

impl<T> Event<T> {
    /// A wait in one state from one clock to another.
    pub(super) fn of(state: State, from: u64, done: u64, by: T) -> Self {
        let span = done.saturating_sub(from) as f64;
        Self { done, span, waits: [0.0; 3], latency: Some(state), by }
    }

    /// Divides clocks that a warp waited for it among states.
    pub(super) fn divide(&self, clocks: f64, mut add: impl FnMut(State, f64)) {
        let rest = self.latency.unwrap_or(State::ShortScoreboard);
        if self.span <= 0.0 {
            return add(rest, clocks);
        }
        let states = [State::LoadStoreQueue, State::L2Queue, State::DramQueue];
        let mut left = clocks;
        for (state, wait) in states.into_iter().zip(self.waits) {
            let share = clocks * (wait / self.span).clamp(0.0, 1.0);
            let share = share.min(left);
            if share > 0.0 {
                add(state, share);
                left -= share;
            }
        }
        if left > 0.0 {
            add(rest, left);
        }
    }
}

/// The barriers of one warp.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard<T> {
    /// The latest event of each barrier.
    latest: Vec<Event<T>>,
    /// All outstanding events of barriers that are waited for by number.
    counted: Vec<VecDeque<Done<T>>>,
}

/// The clock at which something has happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Done<T> {
    pub(super) clock: u64,
    /// The instruction that brings it about.
    pub(super) by: T,
}

impl<T: Copy + Default> Scoreboard<T> {
    pub(super) fn reset(&mut self, barriers: usize) {
        self.latest.clear();
        self.latest.resize(barriers, Event::default());
        for queue in &mut self.counted {
            queue.clear();
        }
    }

    /// Raises a barrier until an event.
    pub(super) fn raise(&mut self, barrier: u8, event: Event<T>, is_counted: bool) {
        let index = usize::from(barrier & 63);
        if let Some(latest) = self.latest.get_mut(index)
            && event.done >= latest.done
        {
            *latest = event;
        }
        if is_counted {
            if self.counted.len() <= index {
                self.counted.resize(index + 1, VecDeque::new());
            }
            self.counted[index].push_back(Done { clock: event.done, by: event.by });
        }
    }

    /// The event that barriers of a mask wait for longest.
    pub(super) fn last_of(&self, mut mask: u64) -> Event<T> {
        let mut last = Event::default();
        while mask != 0 {
            let barrier = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            if let Some(event) = self.latest.get(barrier)
                && event.done > last.done
            {
                last = *event;
            }
        }
        last
    }

    /// The event after which at most `pending` of a barrier's events are outstanding. Events happen
    /// in the order they were announced in.
    pub(super) fn await_all_but(&mut self, barrier: u8, pending: usize) -> Event<T> {
        let index = usize::from(barrier & 63);
        let Some(latest) = self.latest.get(index).copied() else { return Event::default() };
        let Some(queue) = self.counted.get_mut(index) else { return latest };
        let (mut done, mut by) = (0, T::default());
        while queue.len() > pending {
            if let Some(event) = queue.pop_front()
                && event.clock >= done
            {
                (done, by) = (event.clock, event.by);
            }
        }
        Event { done, by, ..latest }
    }
}

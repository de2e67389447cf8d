//! Who watches a simulation: nobody, or a recorder.
//!
//! An SM tells its observer all that it decides, and the observer decides nothing. The loop is
//! compiled once for each observer. For `()`, which watches nothing, all of it is gone.

use std::fmt::Debug;

use crate::clock::time_of;
use crate::parameters::Unit;
use crate::states::State;

/// Watches one SM.
pub(crate) trait Observer {
    /// True if somebody watches. Otherwise nothing is computed for it.
    const WATCHES: bool;

    /// What an event knows of the instruction that brings it about.
    type Tag: Copy + Default + Debug;

    /// A CTA takes a place of the SM.
    fn cta_starts(&mut self, _start: CtaStart) {}

    /// A warp takes a place of the SM, behind the start of its CTA.
    fn warp_starts(&mut self, _start: WarpStart) {}

    /// A warp was in a state. It is told of the clocks since the warp's last issue, the last ones
    /// first, and then of the issue.
    fn warp_spends(&mut self, _warp: u32, _spent: Spent<Self::Tag>) {}

    /// The issue slots of the sub-core that is about to issue went to a state. It is told of all
    /// since the last issue, in any order.
    fn slots_go_to(&mut self, _spent: Spent<()>) {}

    /// The slots that were told are those of a sub-core that issues no more.
    fn sub_core_ends(&mut self, _sub_core: usize) {}

    /// An instruction issues. Returns the tag of all that it brings about.
    fn issues(&mut self, _issue: Issue) -> Self::Tag {
        Self::Tag::default()
    }

    /// A part of the machine is at work for the instruction that issues.
    fn works(&mut self, _work: Work) {}

    /// A warp has issued its last instruction.
    fn warp_ends(&mut self, _warp: u32, _clock: u64) {}

    /// The SM's last CTA has ended, and the launch has, at `end`. If the L2 takes stores behind the
    /// last issue, the last store is told.
    fn sm_ends(&mut self, _ctas_ended: f64, _end: f64, _last_store: Option<Self::Tag>) {}
}

impl Observer for () {
    const WATCHES: bool = false;
    type Tag = ();
}

impl Spent<()> {
    /// Whole clocks in one state, which waits for nobody.
    pub(crate) fn new(state: State, from: u64, until: u64) -> Self {
        Self { state, from: time_of(from), until: time_of(until), by: () }
    }
}

/// The start of a CTA.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CtaStart {
    /// Its place on the SM.
    pub(crate) place: u32,
    pub(crate) class: u32,
    /// The recorded CTA of the class that stands for it.
    pub(crate) sample: u32,
    pub(crate) clock: u64,
}

/// The start of a warp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WarpStart {
    /// Its place on the SM.
    pub(crate) place: u32,
    /// The place of its CTA.
    pub(crate) cta: u32,
    /// Its number in the CTA.
    pub(crate) number: u32,
    pub(crate) sub_core: u32,
    pub(crate) clock: u64,
}

/// Clocks in one state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spent<T> {
    pub(crate) state: State,
    pub(crate) from: f64,
    pub(crate) until: f64,
    /// The instruction that the state waits for, if it waits for one.
    pub(crate) by: T,
}

/// The issue of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Issue {
    /// The place of its warp on the SM.
    pub(crate) warp: u32,
    pub(crate) sub_core: u32,
    /// Its number in the code.
    pub(crate) instruction: u32,
    /// Its unit, if it takes one.
    pub(crate) unit: Option<Unit>,
    /// True if it takes a place in the sub-core's queue for the load-store path.
    pub(crate) is_queued: bool,
    pub(crate) clock: u64,
}

/// Clocks in which a part of the machine is at work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) resource: Resource,
    /// Parts of the kind that work side by side.
    pub(crate) copies: u32,
    pub(crate) from: f64,
    pub(crate) until: f64,
}

/// A part of the machine whose use changes over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A unit of the sub-cores, or one that they share.
    Unit(Unit),
    /// The tensor core of the SM, for products in tensor memory.
    TensorCore,
    /// The queues of the sub-cores in front of the load-store path.
    LoadStoreQueue,
    /// The data path of the first-level cache and shared memory.
    DataPath,
    /// Accesses that missed the first-level cache and wait for data.
    Misses,
    /// The L2.
    L2,
    /// DRAM.
    Dram,
}

impl Resource {
    /// Number of resources.
    pub const COUNT: usize = Unit::COUNT + 6;

    /// Every resource: the units, and what follows behind them.
    pub fn all() -> impl Iterator<Item = Self> {
        let others = [
            Self::TensorCore,
            Self::LoadStoreQueue,
            Self::DataPath,
            Self::Misses,
            Self::L2,
            Self::Dram,
        ];
        Unit::ALL.into_iter().map(Self::Unit).chain(others)
    }

    /// Its place among all.
    #[must_use]
    pub const fn place(self) -> usize {
        match self {
            Self::Unit(unit) => unit as usize,
            Self::TensorCore => Unit::COUNT,
            Self::LoadStoreQueue => Unit::COUNT + 1,
            Self::DataPath => Unit::COUNT + 2,
            Self::Misses => Unit::COUNT + 3,
            Self::L2 => Unit::COUNT + 4,
            Self::Dram => Unit::COUNT + 5,
        }
    }

    /// True if its use is a number of accesses, and not a share of the time.
    #[must_use]
    pub const fn is_a_number(self) -> bool {
        matches!(self, Self::LoadStoreQueue | Self::Misses)
    }

    /// In words.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Unit(unit) => unit.text(),
            Self::TensorCore => "tensor core of the SM",
            Self::LoadStoreQueue => "load-store queues",
            Self::DataPath => "L1 and shared-memory path",
            Self::Misses => "misses under way",
            Self::L2 => "L2",
            Self::Dram => "DRAM",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_resource_has_a_place_of_its_own() {
        let places: Vec<usize> = Resource::all().map(Resource::place).collect();
        assert_eq!(places, (0..Resource::COUNT).collect::<Vec<_>>());
    }
}

//! Bulk copies out of shared memory that are made when somebody waits for them.
//!
//! As a rule such a copy is done when it is issued. [`AsyncTiming`](crate::AsyncTiming) may ask for
//! the latest time that a GPU may take: shared memory is read when the copy's thread waits for its
//! group, with `.read` or without, or else when the CTA ends. A program that writes to the memory
//! before then stores what it has written there.

use std::collections::VecDeque;

use super::access::AccessFault;
use super::bulk_copy::{self, Range};
use super::ending::Issuer;
use super::tensor_copy::{self, Copied};
use super::warp::{Context, Warp, WarpFault};
use crate::program::asynchronous::TensorOp;

/// Copies of a warp that are held back; the oldest one is made before there are more.
const MOST_STORES: usize = 1 << 12;

/// A copy that has been issued and checked.
pub(super) struct LateStore {
    issuer: Issuer,
    /// The number of groups that its thread had committed before.
    group: u32,
    store: Store,
}

/// The copy, with the index of its operation in the program's table.
pub(super) enum Store {
    Range { op: u32, range: Range },
    Tensor { op: u32, copied: Copied },
}

/// The copies of a warp that are held back, in order of issue.
#[derive(Default)]
pub(super) struct LateStores {
    stores: VecDeque<LateStore>,
    /// Groups that each lane has committed.
    committed: [u32; 32],
}

impl std::fmt::Debug for LateStores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LateStores").field("stores", &self.stores.len()).finish_non_exhaustive()
    }
}

impl LateStores {
    /// Forgets everything, for a CTA that begins.
    pub(super) fn clear(&mut self) {
        if !self.stores.is_empty() {
            self.stores.clear();
        }
        self.committed = [0; 32];
    }

    /// The lanes of `mask` commit their copies so far as a group.
    pub(super) fn commit(&mut self, mask: u32) {
        for lane in (0..32).filter(|lane| mask >> lane & 1 != 0) {
            self.committed[lane] = self.committed[lane].wrapping_add(1);
        }
    }

    /// Takes the copies of the lanes of `mask` but for those of the latest `left` groups, and of no
    /// group yet.
    fn take(&mut self, mask: u32, left: u32) -> Vec<LateStore> {
        let committed = self.committed;
        let is_waited_for = |store: &LateStore| {
            let lane = store.issuer.lane & 31;
            let since = committed[lane as usize].wrapping_sub(store.group);
            mask >> lane & 1 != 0 && since > left
        };
        let (taken, kept): (Vec<_>, Vec<_>) = self.stores.drain(..).partition(is_waited_for);
        self.stores = kept.into();
        taken
    }
}

impl Store {
    /// Reads shared memory and writes.
    fn perform(&self, context: &Context<'_>, issuer: Issuer) -> Result<(), AccessFault> {
        let tables = &context.program.tables;
        match self {
            Self::Range { op, range } => {
                let bulk = &tables.bulk_ops[*op as usize];
                bulk_copy::perform(bulk, &context.memories, range, issuer)
            }
            Self::Tensor { op, copied } => match &tables.tensor_ops[*op as usize] {
                TensorOp::Copy(copy) => tensor_copy::store_tensor(&context.memories, copy, copied),
                TensorOp::Replace { .. } => Ok(()),
            },
        }
    }
}

impl Warp {
    /// Holds a copy back, whose addresses were checked.
    pub(super) fn hold_store(
        &mut self,
        context: &Context<'_>,
        issuer: Issuer,
        store: Store,
    ) -> Result<(), AccessFault> {
        let group = self.late_stores.committed[issuer.lane as usize & 31];
        let stores = &mut self.late_stores.stores;
        let oldest = if stores.len() >= MOST_STORES { stores.pop_front() } else { None };
        stores.push_back(LateStore { issuer, group, store });
        oldest.map_or(Ok(()), |oldest| oldest.store.perform(context, oldest.issuer))
    }

    /// Makes the copies that the lanes of `mask` wait for; see [`LateStores::take`].
    pub(super) fn wait_for_stores(
        &mut self,
        context: &Context<'_>,
        mask: u32,
        left: u32,
    ) -> Result<(), WarpFault> {
        if self.late_stores.stores.is_empty() {
            return Ok(());
        }
        self.late_stores.take(mask, left).iter().try_for_each(|late_store| late_store.end(context))
    }

    /// Makes all copies that are left when the CTA ends.
    pub(super) fn end_stores(&mut self, context: &Context<'_>) -> Result<(), WarpFault> {
        let mut left = std::mem::take(&mut self.late_stores.stores);
        left.drain(..).try_for_each(|store| store.end(context))
    }
}

impl LateStore {
    fn end(&self, context: &Context<'_>) -> Result<(), WarpFault> {
        self.store.perform(context, self.issuer).map_err(|fault| fault.at(self.issuer.pc))
    }
}

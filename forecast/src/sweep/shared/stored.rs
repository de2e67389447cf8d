//! The counts that a store has of a plan's items, as far as they are whole.

use std::collections::{BTreeMap, BTreeSet};

use super::counts::{self, COUNTS, Outcome};
use super::plan::Item;
use crate::failure::Failure;
use crate::store::Store;

/// The objects of counts in a store. Each is read once by one that asks whether it is whole.
pub(super) struct Stored<'a> {
    store: &'a dyn Store,
    /// The names that the store lists.
    listed: BTreeSet<String>,
    /// What was read: true for those that are whole.
    whole: BTreeMap<String, bool>,
}

impl<'a> Stored<'a> {
    /// What a store lists now.
    pub(super) fn list(store: &'a dyn Store) -> Result<Self, Failure> {
        let mut stored = Self { store, listed: BTreeSet::new(), whole: BTreeMap::new() };
        stored.list_again()?;
        Ok(stored)
    }

    /// Lists what is there now. What was whole is taken to stay so; what was damaged is read again.
    pub(super) fn list_again(&mut self) -> Result<(), Failure> {
        self.listed = self.store.list(COUNTS)?.into_iter().collect();
        self.whole.retain(|_, is_whole| *is_whole);
        Ok(())
    }

    /// The number of objects that are listed.
    pub(super) fn len(&self) -> usize {
        self.listed.len()
    }

    /// Names under which the store lists counts of an item, whole or not.
    pub(super) fn names<'i>(&'i self, item: &'i Item<'_>) -> impl Iterator<Item = &'i String> {
        item.names.iter().filter(|name| self.listed.contains(*name))
    }

    /// True if one of an item's objects is whole.
    pub(super) fn has(&mut self, item: &Item<'_>) -> Result<bool, Failure> {
        let names: Vec<&String> =
            item.names.iter().filter(|name| self.listed.contains(*name)).collect();
        for name in names {
            let is_whole = match self.whole.get(name) {
                Some(&known) => known,
                None => {
                    let is_whole = read(self.store, name)?.is_some();
                    self.whole.insert(name.clone(), is_whole);
                    is_whole
                }
            };
            if is_whole {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The counts under a name; `None` if there are none, or they are damaged.
pub(super) fn read(store: &dyn Store, name: &str) -> Result<Option<Outcome>, Failure> {
    let object = store.get(&counts::object(name))?;
    Ok(object.and_then(|bytes| counts::read(name, &bytes)))
}

//! The buffers that variables of a program lead to.

use std::collections::BTreeSet;

use super::super::values::roots::Roots;

/// A set of buffers of device memory, by their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Buffers {
    /// All buffers, known or not.
    all: bool,
    some: BTreeSet<usize>,
}

impl Buffers {
    /// Every buffer.
    pub(crate) fn all() -> Self {
        Self { all: true, some: BTreeSet::new() }
    }

    /// Returns true if the buffer at `index` is one of them.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.all || self.some.contains(&index)
    }

    /// Adds others. Returns true if that changes anything.
    pub fn add(&mut self, others: &Self) -> bool {
        let before = (self.all, self.some.len());
        self.all |= others.all;
        self.some.extend(&others.some);
        before != (self.all, self.some.len())
    }

    pub(crate) fn is_empty(&self) -> bool {
        !self.all && self.some.is_empty()
    }

    /// Returns true if a buffer may be in both.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self.all, other.all) {
            (true, _) => !other.is_empty(),
            (_, true) => !self.is_empty(),
            (false, false) => !self.some.is_disjoint(&other.some),
        }
    }
}

/// The buffers that each variable of a program leads to in one launch.
#[derive(Clone, Debug)]
pub struct Reach {
    /// By the variables' indices; `None` if it may be any buffer.
    pub(crate) of_variable: Vec<Option<Vec<usize>>>,
}

impl Reach {
    /// The buffers that an address may lie in which is made of the variables of `roots`.
    pub(super) fn of(&self, roots: Roots) -> Buffers {
        if roots.may_be_anything() {
            return Buffers::all();
        }
        let mut buffers = BTreeSet::new();
        for variable in roots.variables() {
            match self.of_variable.get(variable) {
                Some(Some(found)) => buffers.extend(found),
                _ => return Buffers::all(),
            }
        }
        // Made of numbers alone: the halves of an address, for instance.
        if buffers.is_empty() && !roots.may_be_elsewhere() {
            return Buffers::all();
        }
        Buffers { all: false, some: buffers }
    }
}

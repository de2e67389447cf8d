//! Sums by row: of the instructions of a program, and of single requests.
//!
//! Requests of a few CTAs have rows of their own, so that the level that served each is known
//! ([`crate::trace`]). Such a row has one request or a few; a table with a place for each would be
//! large and empty. So what happens to single requests is a list.

use std::ops::AddAssign;

use super::warp_request::FIRST_SINGLE_ROW;
use crate::sparse::SparseRows;

/// Sums by row.
#[derive(Clone, Debug)]
pub(crate) struct RowSums<T> {
    instructions: SparseRows<T>,
    /// Summands of rows from [`FIRST_SINGLE_ROW`] on; a row may have several.
    singles: Vec<(u32, T)>,
}

impl<T> Default for RowSums<T>
where
    T: Default,
{
    fn default() -> Self {
        Self { instructions: SparseRows::new(0), singles: Vec::new() }
    }
}

impl<T: AddAssign + Copy + Default> RowSums<T> {
    #[inline]
    pub(crate) fn add(&mut self, row: u32, summand: T) {
        match self.instructions.find(row) {
            Some(sum) => *sum += summand,
            None => self.add_to_new(row, summand),
        }
    }

    #[cold]
    fn add_to_new(&mut self, row: u32, summand: T) {
        if row < FIRST_SINGLE_ROW {
            *self.instructions.row(row) += summand;
        } else {
            self.singles.push((row, summand));
        }
    }

    /// Rows with what was added to them; rows of single requests may come several times.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.instructions.iter().chain(self.singles.iter().map(|(row, summand)| (*row, summand)))
    }

    /// Forgets every row.
    pub(crate) fn clear(&mut self) {
        self.instructions.clear();
        self.singles = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn rows_of_either_kind_have_their_sums() {
        let mut sums = RowSums::<u64>::default();
        for round in 1..3 {
            let rows = [2, FIRST_SINGLE_ROW, 7, 2, FIRST_SINGLE_ROW + 1, FIRST_SINGLE_ROW];
            rows.iter().zip(1..).for_each(|(&row, summand)| sums.add(row, round * summand));
            let mut all = BTreeMap::new();
            sums.iter().for_each(|(row, sum)| *all.entry(row).or_insert(0) += sum);
            let expected = [(2, 5), (7, 3), (FIRST_SINGLE_ROW, 8), (FIRST_SINGLE_ROW + 1, 5)];
            assert_eq!(all, expected.map(|(row, sum)| (row, round * sum)).into());
            sums.clear();
            assert_eq!(sums.iter().count(), 0);
        }
    }
}

//! Rows for the few instructions that have any, found by index without hashing.

/// Marks a key that has no row.
const NONE: u32 = u32::MAX;

/// A map from small integers to rows, made for adding to rows in an inner loop and for
/// emptying it again and again.
#[derive(Clone, Debug)]
pub(crate) struct SparseRows<T> {
    row_of: Vec<u32>,
    rows: Vec<(u32, T)>,
}

impl<T: Default> SparseRows<T> {
    /// No rows; keys lie below `keys`.
    pub(crate) fn new(keys: usize) -> Self {
        Self { row_of: vec![NONE; keys], rows: Vec::new() }
    }

    /// The row of `key`, made if it is not there.
    #[inline]
    pub(crate) fn row(&mut self, key: u32) -> &mut T {
        let row = self.row_of.get(key as usize).copied().unwrap_or(NONE);
        let row = if row == NONE { self.insert(key) } else { row };
        &mut self.rows[row as usize].1
    }

    /// The row of `key`, if it is there, to look at.
    pub(crate) fn get(&self, key: u32) -> Option<&T> {
        let row = self.row_of.get(key as usize).copied().unwrap_or(NONE);
        self.rows.get(row as usize).map(|(_, row)| row)
    }

    /// The row of `key`, if it is there.
    #[inline]
    pub(crate) fn find(&mut self, key: u32) -> Option<&mut T> {
        let row = self.row_of.get(key as usize).copied().unwrap_or(NONE);
        self.rows.get_mut(row as usize).map(|(_, row)| row)
    }

    #[cold]
    fn insert(&mut self, key: u32) -> u32 {
        let row = self.rows.len() as u32;
        if key as usize >= self.row_of.len() {
            self.row_of.resize(key as usize + 1, NONE);
        }
        self.row_of[key as usize] = row;
        self.rows.push((key, T::default()));
        row
    }

    /// Rows with their keys, in order of first use.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.rows.iter().map(|(key, row)| (*key, row))
    }

    /// Takes over the rows of others, in time proportional to the number of both.
    pub(crate) fn copy_from(&mut self, others: &Self)
    where
        T: Copy,
    {
        self.clear();
        for &(key, row) in &others.rows {
            *self.row(key) = row;
        }
    }

    /// Returns true if both have the same rows in the same order.
    pub(crate) fn has_same_rows(&self, others: &Self) -> bool
    where
        T: PartialEq,
    {
        self.rows == others.rows
    }

    /// Forgets every row, in time proportional to their number.
    pub(crate) fn clear(&mut self) {
        for (key, _) in self.rows.drain(..) {
            self.row_of[key as usize] = NONE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_made_on_demand_and_forgotten() {
        let mut rows = SparseRows::<u64>::new(4);
        *rows.row(3) += 5;
        *rows.row(1) += 1;
        *rows.row(3) += 5;
        *rows.row(9) += 2;
        assert_eq!(rows.iter().collect::<Vec<_>>(), [(3, &10), (1, &1), (9, &2)]);
        assert_eq!([1, 2, 99].map(|key| rows.find(key).copied()), [Some(1), None, None]);
        rows.clear();
        assert_eq!(rows.iter().count(), 0);
        assert_eq!(*rows.row(3), 0);
    }
}

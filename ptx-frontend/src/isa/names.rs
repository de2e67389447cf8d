//! A small hash table from names to indices.
//!
//! Every mnemonic and modifier of a source text goes through one of these. So it is a flat
//! open-addressing table with a multiplicative hash instead of the standard map.

/// Names by hash; a name may stand for several indices.
pub(crate) struct Names {
    /// `(name, indices)`; the empty name marks a free slot. The length is a power of two.
    slots: Vec<(&'static str, Vec<u16>)>,
}

impl Names {
    /// A table in which each name maps to its positions in `names`.
    pub(crate) fn new<I>(names: I) -> Self
    where
        I: ExactSizeIterator<Item = &'static str>,
    {
        let size = (names.len() * 4).next_power_of_two().max(4);
        let mut table = Self { slots: vec![("", Vec::new()); size] };
        for (index, name) in names.enumerate() {
            let slot = table.slot(name);
            table.slots[slot].0 = name;
            table.slots[slot].1.push(index as u16);
        }
        table
    }

    /// Every index of `name`.
    pub(crate) fn get_all(&self, name: &str) -> &[u16] {
        &self.slots[self.slot(name)].1
    }

    /// The first index of `name`.
    pub(crate) fn get(&self, name: &str) -> Option<u16> {
        self.get_all(name).first().copied()
    }

    /// Returns the slot where `name` stands or would stand; the table is never more than a quarter
    /// full.
    fn slot(&self, name: &str) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = hash(name.as_bytes()) as usize & mask;
        while !self.slots[at].0.is_empty() && self.slots[at].0 != name {
            at = (at + 1) & mask;
        }
        at
    }
}

/// FNV-1a with a final fold; names are short.
fn hash(bytes: &[u8]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for &byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^ (hash >> 29)
}

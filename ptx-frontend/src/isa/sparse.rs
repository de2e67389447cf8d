//! Register counts of the instructions on structured sparsity (manual of ISA 9.4, tables 37, 39 and
//! 60), and the sizes that go together.

use super::{Modifier, Opcode};

/// Registers of one instruction's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseVectors {
    /// Elements in dense order.
    pub dense: usize,
    /// The elements that are stored.
    pub stored: usize,
    /// Registers of the metadata: the places of the stored elements in the dense order.
    pub metadata: usize,
}

/// The lengths of the vectors of `spcompress`, `spdecompress` and the loads that compress; `None`
/// for other instructions.
///
/// # Errors
///
/// Returns the fault of the sizes.
pub fn sparse_vectors(
    opcode: Opcode,
    modifiers: &[Modifier],
) -> Option<Result<SparseVectors, &'static str>> {
    let repeat =
        modifiers.iter().find_map(|modifier| modifier.text().strip_prefix('x')?.parse().ok())?;
    match opcode {
        // One element is a register of 32 bits; every second one is kept.
        Opcode::Tcgen05LdSpcompress | Opcode::Tcgen05LdRedSpcompress => Some(Ok(SparseVectors {
            dense: repeat,
            stored: repeat / 2,
            metadata: usize::div_ceil(repeat, 32),
        })),
        Opcode::Spcompress | Opcode::Spdecompress => {
            let has = |modifier| modifiers.contains(&modifier);
            let index = if has(Modifier::IndexB2) { 2 } else { 4 };
            let element = if has(Modifier::B8) { 8 } else { 16 };
            let (stored, dense) = modifiers.iter().find_map(|modifier| {
                let (stored, dense) = modifier.text().strip_prefix("sp::")?.split_once(':')?;
                Some((stored.parse::<usize>().ok()?, dense.parse::<usize>().ok()?))
            })?;
            Some(if opcode == Opcode::Spcompress {
                sized(SparseVectors {
                    dense: 2 * repeat,
                    stored: repeat,
                    metadata: usize::div_ceil(repeat * index, element),
                })
            } else {
                decompressed(repeat, index, element, stored, dense)
            })
        }
        _ => None,
    }
}

fn decompressed(
    repeat: usize,
    index: usize,
    element: usize,
    stored: usize,
    dense: usize,
) -> Result<SparseVectors, &'static str> {
    let bits = dense * element * repeat;
    if stored * element > 32 {
        return Err("the stored elements of one group take more than 32 bits");
    }
    if 1 << index < dense {
        return Err("an index of `.b2` reaches only four elements");
    }
    if !(32..=128 * 32).contains(&bits) {
        return Err("the dense elements take from 32 bits to 128 registers");
    }
    sized(SparseVectors {
        dense: bits.div_ceil(32),
        stored: (stored * element * repeat).div_ceil(32),
        metadata: (stored * index * repeat).div_ceil(32),
    })
}

fn sized(vectors: SparseVectors) -> Result<SparseVectors, &'static str> {
    match vectors.dense + vectors.stored + vectors.metadata {
        0..=253 => Ok(vectors),
        _ => Err("the vectors together have more than 253 registers"),
    }
}

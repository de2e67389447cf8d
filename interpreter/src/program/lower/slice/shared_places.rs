//! Two places in shared memory: tiles, and the words beside them.
//!
//! Bulk copies and `stmatrix` write tiles, and so do stores of what products have made. Products
//! and other copies read them. What decides in a kernel with tiles are words that threads store and
//! load: an order of tiles, the address of columns of tensor memory. As one place, such a word
//! would have every tile moved and every product computed that ends in one.
//!
//! That is a guess as the reading of global addresses is one. The engine notes where a write to
//! shared memory moves nothing. A load that needs what lies there ends the launch in
//! [`FaultKind::NotComputed`](crate::FaultKind::NotComputed), and the caller takes slices of one
//! place ([`Slicer::together`](super::Slicer::together)).

use gpucast_ptx_frontend::isa::Opcode as O;

use super::super::values::flow::{Flow, ValuePlace};
use crate::program::StaticInstruction;

/// The nodes of shared memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct SharedPlaces {
    /// What threads write.
    pub(super) words: u32,
    /// What copies, matrix stores and stores of products write.
    pub(super) tiles: u32,
}

/// The nodes of registers whose values come from products of matrices.
pub(super) struct OfProducts {
    nodes: Vec<bool>,
}

impl OfProducts {
    /// Follows results of products from register to register. `count` is the number of nodes.
    pub(super) fn new(instructions: &[StaticInstruction], flows: &[Flow], count: usize) -> Self {
        let mut of_products = Self { nodes: vec![false; count] };
        loop {
            let mut changed = false;
            for (flow, item) in flows.iter().zip(instructions) {
                if !makes_products(item.instruction.opcode) && !of_products.any(&flow.from) {
                    continue;
                }
                for &node in flow.to.iter().filter(|&&node| !ValuePlace::is_number(node)) {
                    changed |= !std::mem::replace(&mut of_products.nodes[node as usize], true);
                }
            }
            if !changed {
                return of_products;
            }
        }
    }

    fn any(&self, nodes: &[u32]) -> bool {
        nodes.iter().any(|&node| self.nodes.get(node as usize) == Some(&true))
    }
}

fn makes_products(opcode: O) -> bool {
    matches!(
        opcode,
        O::Mma
            | O::MmaSp
            | O::MmaSpOrderedMetadata
            | O::WmmaMma
            | O::WgmmaMmaAsync
            | O::WgmmaMmaAsyncSp
            | O::Tcgen05Ld
            | O::Tcgen05LdRed
    )
}

impl SharedPlaces {
    /// Puts the destinations of an instruction where they belong.
    pub(super) fn written(self, opcode: O, of_products: &OfProducts, from: &[u32], to: &mut [u32]) {
        let by_copy = matches!(opcode, O::CpAsyncBulk | O::CpAsyncBulkTensor | O::Stmatrix);
        if by_copy || opcode == O::St && of_products.any(from) {
            to.iter_mut().filter(|node| **node == self.words).for_each(|node| *node = self.tiles);
        }
    }

    /// Adds tiles to the sources of an instruction that may read some.
    pub(super) fn read(self, opcode: O, from: &mut Vec<u32>) {
        let by_words = matches!(opcode, O::Ld | O::Ldu | O::Atom | O::Red);
        if !by_words && from.contains(&self.words) {
            from.push(self.tiles);
        }
    }
}

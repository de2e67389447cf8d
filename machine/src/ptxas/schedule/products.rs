//! The matrix products that machine instructions make.
//!
//! An instruction for a product of a warp has the line of its PTX instruction. `ptxas` gives those
//! for products of warpgroups the lines of instructions beside them, such as the ones that make
//! descriptors. Such an instruction stands for the nearest product of a warpgroup. Those of one
//! shape and format share all multiply-adds of the launch that have it, so none is lost.

use std::collections::HashMap;

use gpucast_counters::tensor::tensor_operations;
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::Instruction as PtxInstruction;
use gpucast_ptx_frontend::types::ScalarType;
use gpucast_simulation::code::{Class, TensorFormat};

use super::super::listing::Listing;
use crate::unit_class::unit_class;

/// The work of one execution of a machine instruction that multiplies matrices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Product {
    /// Multiply-adds of a warp.
    pub(super) multiply_adds: u32,
    /// The format of the factors.
    pub(super) format: TensorFormat,
}

/// A product that the PTX states.
#[derive(Clone, Copy, Debug)]
struct Stated {
    ptx: u32,
    /// Multiply-adds of a warp.
    per_warp: f64,
    format: TensorFormat,
    /// Executions by warps.
    executions: f64,
    /// True if a warpgroup makes it, beside its warps.
    is_beside: bool,
}

impl Stated {
    fn is_like(&self, other: &Self) -> bool {
        (self.per_warp, self.format, self.is_beside)
            == (other.per_warp, other.format, other.is_beside)
    }
}

/// A machine instruction that multiplies.
#[derive(Clone, Copy, Debug)]
struct Found {
    index: usize,
    /// The PTX instruction that its line belongs to.
    line: u32,
    /// Executions by warps.
    executions: u64,
    /// True if it is one of a warpgroup.
    is_beside: bool,
}

/// Returns true if a machine instruction multiplies matrices.
pub(super) fn multiplies(listing: &Listing<'_>, index: usize) -> bool {
    let mnemonic = listing.code.instructions[index].decoded.mnemonic;
    unit_class(mnemonic) == Some(Class::Tensor)
}

/// Returns true if it does so for a warpgroup.
pub(super) fn is_beside(listing: &Listing<'_>, index: usize) -> bool {
    listing.code.instructions[index].decoded.mnemonic.ends_with("GMMA")
}

/// The products of the machine instructions of a listing, by their indices.
pub(super) fn products(listing: &Listing<'_>, executions: &[u64]) -> HashMap<usize, Product> {
    let stated = |ptx: u32| {
        let instruction = listing.instruction(ptx);
        let opcode = instruction.opcode;
        Some(Stated {
            ptx,
            per_warp: tensor_operations(instruction)?.per_warp as f64 / 2.0,
            format: format(instruction)?,
            executions: listing.counts.get(&ptx).map_or(0, |row| row.warp_executions) as f64,
            is_beside: matches!(opcode, Opcode::WgmmaMmaAsync | Opcode::WgmmaMmaAsyncSp),
        })
    };
    let stated: Vec<Stated> =
        (0..listing.program.instructions().len() as u32).filter_map(stated).collect();
    let mut found = Vec::new();
    for (block, &executions) in listing.code.blocks.iter().zip(executions) {
        for index in block.instructions.clone().filter(|&index| multiplies(listing, index)) {
            if let Some(line) = listing.ptx[index] {
                found.push(Found { index, line, executions, is_beside: is_beside(listing, index) });
            }
        }
    }
    shared_out(&stated, &found)
}

/// Shares the stated products, by ascending PTX instruction, out to the instructions that were
/// found.
fn shared_out(stated: &[Stated], found: &[Found]) -> HashMap<usize, Product> {
    let meant = |one: &Found| {
        let own = stated.iter().find(|stated| stated.ptx == one.line);
        let beside = stated.iter().filter(|stated| stated.is_beside && one.is_beside);
        own.or_else(|| beside.min_by_key(|stated| stated.ptx.abs_diff(one.line)))
    };
    // Products of warps belong to their own instructions, those of warpgroups to all that are like.
    let shares = |one: &Stated, other: &Stated| match one.is_beside {
        true => one.is_like(other),
        false => one.ptx == other.ptx,
    };
    let pairs: Vec<(&Found, &Stated)> =
        found.iter().filter_map(|instruction| Some((instruction, meant(instruction)?))).collect();
    let product = |&(one, of): &(&Found, &Stated)| {
        let together = pairs.iter().filter(|(_, other)| shares(of, other));
        let (executions, instructions) = together
            .fold((0, 0), |(executions, count), (one, _)| (executions + one.executions, count + 1));
        let wanted = stated.iter().filter(|other| shares(of, other));
        let multiply_adds = match executions {
            // Where nothing ran, each instruction is taken to be a part of one product.
            0 => wanted.map(|wanted| wanted.per_warp).sum::<f64>() / f64::from(instructions.max(1)),
            executions => {
                wanted.map(|wanted| wanted.per_warp * wanted.executions).sum::<f64>()
                    / executions as f64
            }
        };
        let multiply_adds = multiply_adds.round() as u32;
        (one.index, Product { multiply_adds, format: of.format })
    };
    pairs.iter().map(product).collect()
}

/// The format that decides a matrix product's rate.
fn format(instruction: &PtxInstruction) -> Option<TensorFormat> {
    use gpucast_counters::tensor::TensorFormat as F;
    // The type of D comes first.
    let in_half = instruction.types().next() == Some(ScalarType::F16);
    let operations = tensor_operations(instruction)?;
    Some(match operations.format {
        F::Fp64 => TensorFormat::Fp64,
        F::Tf32 => TensorFormat::Tf32,
        F::Bf16 | F::Fp16 if in_half => TensorFormat::HalfInHalf,
        F::Bf16 | F::Fp16 => TensorFormat::HalfInSingle,
        F::Fp8 => TensorFormat::Fp8,
        F::Fp6OrFp4 => TensorFormat::Fp6OrFp4,
        // `tcgen05.mma` alone has them, and is no multiplication of a warp.
        F::Int16 => return None,
        F::Int8 => TensorFormat::Int8,
        F::Int4 => TensorFormat::Int4,
        F::Int1 => TensorFormat::Int1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stated(ptx: u32, per_warp: f64, executions: f64, is_beside: bool) -> Stated {
        Stated { ptx, per_warp, format: TensorFormat::HalfInSingle, executions, is_beside }
    }

    fn multiply_adds(stated: &[Stated], found: &[Found]) -> Vec<Option<u32>> {
        let products = shared_out(stated, found);
        found
            .iter()
            .map(|instruction| {
                products.get(&instruction.index).map(|product| product.multiply_adds)
            })
            .collect()
    }

    #[test]
    fn a_product_of_a_warp_is_divided_among_the_instructions_of_its_line() {
        let found = |index, line| Found { index, line, executions: 10, is_beside: false };
        let products = [stated(3, 2048.0, 10.0, false), stated(7, 2048.0, 20.0, false)];
        let found = [found(0, 3), found(1, 3), found(2, 7), found(3, 5)];
        // Both parts of the first, the second twice as often, and none without a line of its own.
        let expected = [Some(1024), Some(1024), Some(4096), None];
        assert_eq!(multiply_adds(&products, &found), expected);
    }

    #[test]
    fn products_of_warpgroups_keep_their_work_whatever_their_lines_are() {
        let found = |index, line, executions| Found { index, line, executions, is_beside: true };
        // A first round, then a loop of 15, with a product of 64 x 256 x 16 by four warps each.
        let of_warp = 64.0 * 256.0 * 16.0 / 4.0;
        let products = [stated(10, of_warp, 8.0, true), stated(30, of_warp, 120.0, true)];
        // The loop is unrolled three times, and no line is that of a product.
        let lines = [found(0, 9, 8), found(1, 28, 40), found(2, 2, 40), found(3, 33, 40)];
        let expected = [Some(of_warp as u32); 4];
        assert_eq!(multiply_adds(&products, &lines), expected);
        // Of two shapes each goes to the instructions that are near.
        let small = of_warp / 4.0;
        let products = [stated(10, small, 8.0, true), stated(30, of_warp, 120.0, true)];
        let lines = [found(0, 9, 8), found(1, 28, 120)];
        assert_eq!(multiply_adds(&products, &lines), [Some(small as u32), Some(of_warp as u32)]);
    }
}

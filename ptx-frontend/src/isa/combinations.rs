//! Modifiers that exclude or demand each other, whatever row they stand in.
//!
//! Rows list the words for each place; a few rules would multiply them. They are written here once,
//! as the assembler states them.

use super::{Modifier, Opcode};

/// One rule.
struct Rule {
    opcodes: &'static [Opcode],
    /// The rule holds where one of these stands.
    of: &'static [Modifier],
    demand: Demand,
}

enum Demand {
    /// None of these stands beside it.
    Without(&'static [Modifier]),
    /// One of these stands beside it.
    With(&'static [Modifier]),
}

use Demand::{With, Without};
use Modifier as M;
use Opcode as O;

const ORDERS: &[M] = &[M::Relaxed, M::Acquire, M::Release];
const SCOPES: &[M] = &[M::Cta, M::Cluster, M::Gpu, M::Sys];
const CONSTANTS: &[M] = &[M::Const, M::Param, M::ParamEntry, M::ParamFunc];
const NOT_SHAREABLE: &[M] = &[M::Const, M::Local, M::Param, M::ParamEntry, M::ParamFunc];
const NOT_GLOBAL: &[M] = &[
    M::Const,
    M::Local,
    M::Param,
    M::ParamEntry,
    M::ParamFunc,
    M::Shared,
    M::SharedCta,
    M::SharedCluster,
];
/// The modifiers that steer the caches behind global memory.
const CACHES: &[M] = &[
    M::L1EvictNormal,
    M::L1EvictUnchanged,
    M::L1EvictFirst,
    M::L1EvictLast,
    M::L1NoAllocate,
    M::L2EvictNormal,
    M::L2EvictFirst,
    M::L2EvictLast,
    M::L2CacheHint,
    M::L2Size64B,
    M::L2Size128B,
    M::L2Size256B,
    M::Unified,
];
/// Instructions whose order and scope come together or not at all.
const ORDERED: &[O] = &[
    O::MbarrierExpectTx,
    O::MbarrierCompleteTx,
    O::MbarrierArrive,
    O::MbarrierArriveDrop,
    O::MbarrierTestWait,
    O::MbarrierTryWait,
    O::MultimemLdReduce,
    O::MultimemSt,
    O::MultimemRed,
    O::CpReduceAsyncBulk,
    O::MultimemCpReduceAsyncBulk,
];
/// Instructions on tensor maps, parts of which their operands can replace.
const ON_TENSOR_MAPS: &[O] = &[
    O::CpAsyncBulkTensor,
    O::CpReduceAsyncBulkTensor,
    O::CpAsyncBulkPrefetchTensor,
    O::ApplypriorityAsyncBulkTensor,
    O::FabricTryGetTensor,
    O::FabricTryPutTensor,
    O::FabricTryRedTensor,
];
const OTHER_THAN_TILES: &[M] = &[
    M::TileGather4,
    M::TileScatter4,
    M::Im2col,
    M::Im2colW,
    M::Im2colW128,
    M::Im2colNoOffs,
    M::Im2colNoOffsW,
];

const RULES: &[Rule] = &[
    Rule { opcodes: &[O::Ld, O::St], of: CACHES, demand: Without(NOT_GLOBAL) },
    Rule { opcodes: &[O::Ld, O::St], of: &[M::Volatile], demand: Without(CONSTANTS) },
    Rule { opcodes: &[O::Ld, O::St], of: ORDERS, demand: Without(NOT_SHAREABLE) },
    Rule { opcodes: ORDERED, of: ORDERS, demand: With(SCOPES) },
    Rule { opcodes: ORDERED, of: SCOPES, demand: With(ORDERS) },
    Rule { opcodes: &[O::RedAsync, O::StAsync], of: &[M::Mmio], demand: Without(&[M::Gpu]) },
    Rule {
        opcodes: &[O::MultimemLdReduce],
        of: &[M::AccF32, M::AccF16],
        demand: Without(&[M::Min, M::Max]),
    },
    Rule {
        opcodes: ON_TENSOR_MAPS,
        of: &[M::D1, M::D2],
        demand: Without(&[M::Im2col, M::Im2colW, M::Im2colW128, M::Im2colNoOffs, M::Im2colNoOffsW]),
    },
    // Sizes and strides are replaced together with the address, in tiles, and strides where there
    // are any.
    Rule {
        opcodes: ON_TENSOR_MAPS,
        of: &[M::OverrideGlobalDim, M::OverrideGlobalDimStride],
        demand: With(&[M::OverrideGlobalAddress]),
    },
    Rule {
        opcodes: ON_TENSOR_MAPS,
        of: &[M::OverrideGlobalDim, M::OverrideGlobalDimStride],
        demand: Without(OTHER_THAN_TILES),
    },
    Rule {
        opcodes: ON_TENSOR_MAPS,
        of: &[M::OverrideGlobalDim, M::OverrideGlobalDimStride],
        demand: Without(&[M::MulticastCluster, M::MulticastCluster16b]),
    },
    Rule {
        opcodes: ON_TENSOR_MAPS,
        of: &[M::OverrideGlobalDim],
        demand: Without(&[M::D2, M::D3, M::D4, M::D5]),
    },
    Rule { opcodes: ON_TENSOR_MAPS, of: &[M::OverrideGlobalDimStride], demand: Without(&[M::D1]) },
    Rule {
        opcodes: &[
            O::CpAsyncBulkTensor,
            O::CpAsyncBulkPrefetchTensor,
            O::ApplypriorityAsyncBulkTensor,
        ],
        of: &[M::TileGather4, M::TileScatter4],
        demand: Without(&[M::D1, M::D3, M::D4, M::D5]),
    },
    // Whole numbers have neither a sign to drop nor a NaN.
    Rule { opcodes: &[O::Tcgen05LdRed], of: &[M::Abs, M::Nan], demand: Without(&[M::U32, M::S32]) },
    // A collector buffer does not keep rows of A that are shifted.
    Rule {
        opcodes: &[O::Tcgen05Mma, O::Tcgen05MmaSp],
        of: &[M::Ashift],
        demand: Without(&[M::CollectorAUse, M::CollectorAFill]),
    },
    // Surfaces are read and written by 128 bits at most.
    Rule { opcodes: &[O::Suld, O::Sust], of: &[M::V4], demand: Without(&[M::B64]) },
    // A thread has at most 128 registers of a transfer.
    Rule {
        opcodes: &[O::Tcgen05Ld, O::Tcgen05St],
        of: &[M::T16x128b],
        demand: Without(&[M::X128]),
    },
    Rule {
        opcodes: &[O::Tcgen05Ld, O::Tcgen05St],
        of: &[M::T16x256b],
        demand: Without(&[M::X64, M::X128]),
    },
];

/// Two modifiers that do not go together, or one that lacks a companion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// Both stand there.
    Together(Modifier, Modifier),
    /// One of these must stand beside it.
    Lacks(Modifier, &'static [Modifier]),
}

/// The first rule that an instruction breaks.
#[must_use]
pub fn clash(opcode: Opcode, modifiers: &[Modifier]) -> Option<Clash> {
    RULES.iter().filter(|rule| rule.opcodes.contains(&opcode)).find_map(|rule| {
        let of = *modifiers.iter().find(|modifier| rule.of.contains(modifier))?;
        match rule.demand {
            Without(others) => {
                let other = modifiers.iter().find(|modifier| others.contains(modifier))?;
                Some(Clash::Together(of, *other))
            }
            With(others) if modifiers.iter().any(|modifier| others.contains(modifier)) => None,
            With(others) => Some(Clash::Lacks(of, others)),
        }
    })
}

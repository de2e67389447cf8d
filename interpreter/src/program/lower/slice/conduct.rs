//! The parts of an instruction that remain where nothing needs its values.

use gpucast_ptx_frontend::isa::{Effect, Opcode as O, opcode_facts};
use gpucast_ptx_frontend::module::Instruction;

/// The effect of an instruction beside the values that it moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conduct {
    /// None: it works on registers alone.
    Value,
    /// Lanes of the warp come together for it.
    Exchange,
    /// All lanes of the warp come together to multiply or transpose matrices.
    Product,
    /// It accesses memory: its addresses are checked and told.
    Access,
    /// Control, synchronisation and everything else, which is executed in any case.
    Always,
}

impl Conduct {
    /// The conduct of an instruction. One that neither works on registers alone nor is listed is
    /// executed in any case.
    pub(crate) fn of(instruction: &Instruction) -> Self {
        match instruction.opcode {
            O::Shfl | O::Vote | O::Match | O::Redux => Self::Exchange,
            // Products with block scales check the registers that select these.
            O::Mma if instruction.types().count() > 4 => Self::Always,
            // Products of sparse matrices, which are not listed, check the metadata.
            O::WmmaMma | O::Mma | O::Movmatrix | O::WgmmaMmaAsync => Self::Product,
            O::Ld
            | O::Ldu
            | O::MultimemLdReduce
            | O::St
            | O::MultimemSt
            | O::Atom
            | O::Red
            | O::MultimemRed
            | O::WmmaLoad
            | O::WmmaStore
            | O::Ldmatrix
            | O::Stmatrix
            | O::CpAsync
            | O::CpAsyncBulk
            | O::CpReduceAsyncBulk
            | O::CpAsyncBulkTensor
            | O::CpReduceAsyncBulkTensor
            | O::StBulk
            | O::Tex
            | O::Tld4
            | O::Suld
            | O::Sust
            | O::Sured
            | O::Tcgen05Ld
            | O::Tcgen05LdRed
            | O::Tcgen05LdSpcompress
            | O::Tcgen05LdRedSpcompress
            | O::Tcgen05St
            | O::Tcgen05Cp
            | O::Tcgen05Shift
            | O::Tcgen05Mma
            | O::Tcgen05MmaWs => Self::Access,
            // They ask for what the host has made, which no kernel changes.
            O::Txq | O::Suq | O::Istypep => Self::Value,
            // They check descriptors and indices.
            O::Spcompress | O::Spdecompress => Self::Always,
            // They read answers of instructions that are always executed.
            O::MbarrierPendingCount | O::ClusterlaunchcontrolQueryCancel => Self::Always,
            O::Activemask => Self::Value,
            other => match opcode_facts(other).effect {
                Effect::Value | Effect::Carry => Self::Value,
                Effect::Observation | Effect::Read | Effect::Lasting => Self::Always,
            },
        }
    }
}

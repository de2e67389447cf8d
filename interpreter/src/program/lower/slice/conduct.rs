//! The parts of an instruction that remain where nothing needs its values.

use gpucast_ptx_frontend::isa::Opcode as O;
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
    /// The conduct of an instruction. One that is not listed is executed in any case.
    pub(crate) fn of(instruction: &Instruction) -> Self {
        match instruction.opcode {
            O::Add
            | O::Sub
            | O::Mul
            | O::Mad
            | O::Mul24
            | O::Mad24
            | O::Clmad
            | O::Sad
            | O::Div
            | O::Rem
            | O::Abs
            | O::Neg
            | O::Min
            | O::Max
            | O::Popc
            | O::Clz
            | O::Bfind
            | O::Fns
            | O::Brev
            | O::Bfe
            | O::Bfi
            | O::Szext
            | O::Bmsk
            | O::Dp4a
            | O::Dp2a
            | O::Addc
            | O::Subc
            | O::Madc
            | O::Copysign
            | O::Fma
            | O::Rcp
            | O::Sqrt
            | O::Rsqrt
            | O::Sin
            | O::Cos
            | O::Lg2
            | O::Ex2
            | O::Tanh
            | O::Selp
            | O::Slct
            | O::And
            | O::Or
            | O::Xor
            | O::Not
            | O::Cnot
            | O::Lop3
            | O::Shf
            | O::Shl
            | O::Shr
            | O::Prmt
            | O::Testp
            | O::Setp
            | O::Set
            | O::Cvt
            | O::CvtPack
            | O::Createpolicy
            | O::Mov
            | O::Cvta
            | O::Isspacep
            | O::Activemask
            | O::Mapa
            | O::Getctarank
            | O::Vadd
            | O::Vsub
            | O::Vabsdiff
            | O::Vmin
            | O::Vmax
            | O::Vshl
            | O::Vshr
            | O::Vset
            | O::Vmad
            | O::Vadd2
            | O::Vsub2
            | O::Vavrg2
            | O::Vabsdiff2
            | O::Vmin2
            | O::Vmax2
            | O::Vset2
            | O::Vadd4
            | O::Vsub4
            | O::Vavrg4
            | O::Vabsdiff4
            | O::Vmin4
            | O::Vmax4
            | O::Vset4 => Self::Value,
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
            | O::StBulk => Self::Access,
            _ => Self::Always,
        }
    }
}

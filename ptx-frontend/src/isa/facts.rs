//! The facts of a mnemonic that hold for all its modifiers: one row per mnemonic.
//!
//! Counting classes depend on types too and stand in the instruction table; the facts here do not.
//! Classification for the models, floating-point operations, dead code and the names of machine
//! instructions all read this table. The table is a `match` without a default, so that a new
//! mnemonic has to be thought about.
//!
//! Rows of throughput are those of the table "Throughput of Native Arithmetic Instructions" of the
//! CUDA C++ Programming Guide. `ptxas` 12.9 removes an instruction whose results nobody reads in
//! every row here that is no [`Effect::Lasting`] (tried for sm_50, sm_80 and sm_90).

use super::Opcode;

/// The effect of an instruction besides writing its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing, and its operands alone decide the results.
    Value,
    /// Nothing, but the carry flag takes part, and may be a result.
    Carry,
    /// Nothing, but the results depend on other lanes or on the machine's state.
    Observation,
    /// Nothing, but the results depend on memory.
    Read,
    /// Something that lasts: memory, barriers, control.
    Lasting,
}

/// The row of the vendor's table that an integer instruction belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntegerRow {
    /// "32-bit integer add, extended-precision add, subtract".
    Add,
    /// "32-bit integer multiply, multiply-add".
    Multiply,
    /// Quotients, which are sequences of instructions, most of them products.
    Divide,
    /// "Compare, minimum, maximum".
    Compare,
    /// "32-bit integer shift", funnel shifts.
    Shift,
    /// "32-bit bitwise AND, OR, XOR".
    Logic,
    /// "32-bit bit-field extract, insert", and masks and sign extensions of fields.
    BitField,
    /// "Count of leading zeros, most significant bit", "population count" and "bit reverse".
    BitCount,
    /// "Sum of absolute difference", and absolute values.
    Absolute,
    /// "SIMD video instructions".
    Simd,
}

/// The kind of result that a floating-point instruction computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FloatRow {
    /// Additions and subtractions.
    Sum,
    /// Multiplications.
    Product,
    /// Multiply-adds.
    MultiplyAdd,
    /// Comparisons, minima, maxima and tests.
    Compare,
    /// Signs, which additions can change on the way.
    Sign,
    /// Reciprocals, roots and transcendentals.
    Special,
    /// Quotients: a reciprocal and more, which profilers do not count as operations.
    Quotient,
}

/// The row of a mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpcodeFacts {
    /// The effect besides writing its results.
    pub effect: Effect,
    /// Its row if it works on integers; `None` if it never does.
    pub integer: Option<IntegerRow>,
    /// Its row if it works on floating-point numbers; `None` if it never does.
    pub float: Option<FloatRow>,
    /// The machine instruction that does it, if there is one, as the vendor's disassembler names
    /// it.
    pub machine: &'static str,
}

macro_rules! facts {
    (@row -) => { None };
    (@row $row:expr) => { Some($row) };
    ($($($opcode:ident)+ => $effect:ident, [$($integer:tt)+], [$($float:tt)+], $machine:literal;)+) => {
        /// The facts of a mnemonic.
        #[must_use]
        pub const fn opcode_facts(opcode: Opcode) -> OpcodeFacts {
            use FloatRow as F;
            use IntegerRow as I;
            match opcode {
                $($(Opcode::$opcode)|+ => OpcodeFacts {
                    effect: Effect::$effect,
                    integer: facts!(@row $($integer)+),
                    float: facts!(@row $($float)+),
                    machine: $machine,
                },)+
            }
        }
    };
}

facts! {
    // Integer and floating-point arithmetic.
    Add Sub            => Value,       [I::Add],      [F::Sum],         "IADD";
    Addc Subc          => Carry, [I::Add],      [-],              "IADD";
    Mul                => Value,       [I::Multiply], [F::Product],     "IMUL";
    Mad                => Value,       [I::Multiply], [F::MultiplyAdd], "IMAD";
    Madc               => Carry, [I::Multiply], [-],              "IMAD";
    Mul24              => Value,       [I::Multiply], [-],              "IMUL";
    Mad24              => Value,       [I::Multiply], [-],              "IMAD";
    Clmad              => Value,       [I::Multiply], [-],              "CLMAD";
    Dp4a Dp2a          => Value,       [I::Multiply], [-],              "IDP";
    Sad                => Value,       [I::Absolute], [-],              "VABSDIFF";
    Abs                => Value,       [I::Absolute], [F::Sign],        "IABS";
    Neg                => Value,       [I::Add],      [F::Sign],        "IADD";
    Div                => Value,       [I::Divide],   [F::Quotient],    "IMAD";
    Rem                => Value,       [I::Divide],   [-],              "IMAD";
    Min Max            => Value,       [I::Compare],  [F::Compare],     "IMNMX";
    Popc               => Value,       [I::BitCount], [-],              "POPC";
    Clz Bfind          => Value,       [I::BitCount], [-],              "FLO";
    Fns                => Value,       [I::BitCount], [-],              "POPC";
    Brev               => Value,       [I::BitCount], [-],              "BREV";
    Bfe                => Value,       [I::BitField], [-],              "BFE";
    Bfi                => Value,       [I::BitField], [-],              "BFI";
    Szext              => Value,       [I::BitField], [-],              "SGXT";
    Bmsk               => Value,       [I::BitField], [-],              "BMSK";
    Testp              => Value,       [-],           [F::Compare],     "FSETP";
    Copysign           => Value,       [-],           [F::Sign],        "LOP3";
    Fma                => Value,       [-],           [F::MultiplyAdd], "FFMA";
    Rcp Sqrt Rsqrt     => Value,       [-],           [F::Special],     "MUFU";
    Sin Cos            => Value,       [-],           [F::Special],     "MUFU";
    Lg2 Ex2 Tanh       => Value,       [-],           [F::Special],     "MUFU";
    // Comparison and selection.
    Set                => Value,       [I::Compare],  [F::Compare],     "ISET";
    Setp               => Value,       [I::Compare],  [F::Compare],     "ISETP";
    Selp               => Value,       [-],           [-],              "SEL";
    Slct               => Value,       [-],           [-],              "ICMP";
    // Logic and shifts.
    And Or Xor Not     => Value,       [I::Logic],    [-],              "LOP";
    Cnot Lop3          => Value,       [I::Logic],    [-],              "LOP3";
    Shf                => Value,       [I::Shift],    [-],              "SHF";
    Shl                => Value,       [I::Shift],    [-],              "SHL";
    Shr                => Value,       [I::Shift],    [-],              "SHR";
    // Movement and conversion.
    Mov                => Value,       [-],           [-],              "MOV";
    Prmt               => Value,       [-],           [-],              "PRMT";
    Isspacep           => Value,       [-],           [-],              "QSPC";
    Cvta               => Value,       [-],           [-],              "IADD";
    Cvt                => Value,       [-],           [-],              "F2F";
    CvtPack            => Value,       [-],           [-],              "I2IP";
    Mapa Getctarank    => Value,       [-],           [-],              "PRMT";
    Createpolicy       => Value,       [-],           [-],              "MOV";
    Shfl               => Observation, [-],           [-],              "SHFL";
    // Memory.
    Ld Ldu             => Read,        [-],           [-],              "LD";
    St                 => Lasting,     [-],           [-],              "ST";
    StAsync            => Lasting,     [-],           [-],              "STAS";
    StBulk             => Lasting,     [-],           [-],              "UMEMSETS";
    MultimemLdReduce   => Lasting,     [-],           [-],              "LDGMC";
    MultimemSt         => Lasting,     [-],           [-],              "STG";
    MultimemRed        => Lasting,     [-],           [-],              "RED";
    MultimemStAsync    => Lasting,     [-],           [-],              "STAS";
    MultimemRedAsync   => Lasting,     [-],           [-],              "REDAS";
    MultimemCpAsyncBulk MultimemCpReduceAsyncBulk
                       => Lasting,     [-],           [-],              "UBLKRED";
    Prefetch Prefetchu Applypriority Discard
                       => Lasting,     [-],           [-],              "CCTL";
    ApplypriorityAsyncBulk ApplypriorityAsyncBulkTensor
                       => Lasting,     [-],           [-],              "UTMACCTL";
    CpAsync            => Lasting,     [-],           [-],              "LDGSTS";
    CpAsyncCommitGroup => Lasting,     [-],           [-],              "LDGDEPBAR";
    CpAsyncWaitGroup CpAsyncWaitAll
                       => Lasting,     [-],           [-],              "DEPBAR";
    CpAsyncMbarrierArrive
                       => Lasting,     [-],           [-],              "ARRIVES";
    CpAsyncBulk        => Lasting,     [-],           [-],              "UBLKCP";
    CpReduceAsyncBulk  => Lasting,     [-],           [-],              "UBLKRED";
    CpAsyncBulkPrefetch => Lasting,    [-],           [-],              "UBLKPF";
    CpAsyncBulkTensor  => Lasting,     [-],           [-],              "UTMALDG";
    CpReduceAsyncBulkTensor => Lasting, [-],          [-],              "UTMAREDG";
    CpAsyncBulkPrefetchTensor => Lasting, [-],        [-],              "UTMAPF";
    CpAsyncBulkCommitGroup => Lasting, [-],           [-],              "UTMACMDFLUSH";
    CpAsyncBulkWaitGroup => Lasting,   [-],           [-],              "DEPBAR";
    TensormapReplace   => Lasting,     [-],           [-],              "ST";
    TensormapCpFenceproxy => Lasting,  [-],           [-],              "UTMACCTL";
    Spcompress Spdecompress
                       => Lasting,     [-],           [-],              "PRMT";
    FabricTryGet FabricTryPut FabricTryRed FabricTryPullred FabricTryAtom FabricTryGetTensor
    FabricTryPutTensor FabricTryRedTensor FabricSubmit FabricSubmitCommitGroup FabricWait
                       => Lasting,     [-],           [-],              "UBLKCP";
    Atom               => Lasting,     [-],           [-],              "ATOM";
    Red                => Lasting,     [-],           [-],              "RED";
    RedAsync           => Lasting,     [-],           [-],              "REDAS";
    // Textures and surfaces.
    Tex                => Read,        [-],           [-],              "TEX";
    Tld4               => Read,        [-],           [-],              "TLD4";
    Txq Suq Istypep    => Read,        [-],           [-],              "TXQ";
    Suld               => Read,        [-],           [-],              "SULD";
    Sust               => Lasting,     [-],           [-],              "SUST";
    Sured              => Lasting,     [-],           [-],              "SURED";
    // Control and synchronisation.
    Bra                => Lasting,     [-],           [-],              "BRA";
    BrxIdx             => Lasting,     [-],           [-],              "BRX";
    Call               => Lasting,     [-],           [-],              "CALL";
    Ret                => Lasting,     [-],           [-],              "RET";
    Exit               => Lasting,     [-],           [-],              "EXIT";
    Bar Barrier        => Lasting,     [-],           [-],              "BAR";
    BarWarp            => Lasting,     [-],           [-],              "WARPSYNC";
    BarrierCluster     => Lasting,     [-],           [-],              "UCGABAR_WAIT";
    Membar Fence       => Lasting,     [-],           [-],              "MEMBAR";
    Vote Activemask    => Observation, [-],           [-],              "VOTE";
    Match              => Observation, [-],           [-],              "MATCH";
    Redux              => Observation, [-],           [-],              "REDUX";
    Elect              => Observation, [-],           [-],              "ELECT";
    Griddepcontrol     => Lasting,     [-],           [-],              "ACQBULK";
    MbarrierInit MbarrierInval MbarrierExpectTx MbarrierCompleteTx MbarrierArrive
    MbarrierArriveDrop MbarrierTestWait MbarrierTryWait MbarrierCheckLayout
                       => Lasting,     [-],           [-],              "SYNCS";
    MbarrierPendingCount => Value,     [-],           [-],              "SHF";
    ClusterlaunchcontrolTryCancel
                       => Lasting,     [-],           [-],              "UGETNEXTWORKID";
    ClusterlaunchcontrolQueryCancel
                       => Value,       [-],           [-],              "SHF";
    // Matrices.
    WmmaLoad Ldmatrix  => Read,        [-],           [-],              "LDSM";
    WmmaStore Stmatrix => Lasting,     [-],           [-],              "STSM";
    WmmaMma Mma MmaSp MmaSpOrderedMetadata
                       => Observation, [-],           [-],              "HMMA";
    Movmatrix          => Observation, [-],           [-],              "MOVM";
    WgmmaMmaAsync WgmmaMmaAsyncSp
                       => Lasting,     [-],           [-],              "HGMMA";
    WgmmaFence WgmmaCommitGroup WgmmaWaitGroup
                       => Lasting,     [-],           [-],              "WARPGROUP";
    Tcgen05Alloc Tcgen05Dealloc Tcgen05RelinquishAllocPermit
                       => Lasting,     [-],           [-],              "UTCATOMSWS";
    Tcgen05Ld Tcgen05LdRed Tcgen05LdSpcompress Tcgen05LdRedSpcompress
                       => Lasting,     [-],           [-],              "LDTM";
    Tcgen05St          => Lasting,     [-],           [-],              "STTM";
    Tcgen05WaitLd Tcgen05WaitSt Tcgen05FenceBeforeThreadSync Tcgen05FenceAfterThreadSync
                       => Lasting,     [-],           [-],              "FENCE";
    Tcgen05Cp          => Lasting,     [-],           [-],              "UTCCP";
    Tcgen05Shift       => Lasting,     [-],           [-],              "UTCSHIFT";
    Tcgen05Mma Tcgen05MmaSp Tcgen05MmaWs Tcgen05MmaWsSp
                       => Lasting,     [-],           [-],              "UTCHMMA";
    Tcgen05Commit      => Lasting,     [-],           [-],              "UTCBAR";
    // The stack.
    Stacksave Stackrestore
                       => Lasting,     [-],           [-],              "MOV";
    Alloca             => Lasting,     [-],           [-],              "IADD";
    // Video.
    Vadd Vsub          => Value,       [I::Add],      [-],              "VADD";
    Vabsdiff           => Value,       [I::Absolute], [-],              "VABSDIFF";
    Vmin Vmax          => Value,       [I::Compare],  [-],              "VMNMX";
    Vshl               => Value,       [I::Shift],    [-],              "VSHL";
    Vshr               => Value,       [I::Shift],    [-],              "VSHR";
    Vmad               => Value,       [I::Multiply], [-],              "VMAD";
    Vset               => Value,       [I::Compare],  [-],              "VSET";
    Vadd2 Vsub2        => Value,       [I::Simd],     [-],              "VADD2";
    Vavrg2             => Value,       [I::Simd],     [-],              "VAVRG2";
    Vabsdiff2          => Value,       [I::Simd],     [-],              "VABSDIFF2";
    Vmin2 Vmax2        => Value,       [I::Simd],     [-],              "VMNMX2";
    Vset2              => Value,       [I::Simd],     [-],              "VSET2";
    Vadd4 Vsub4        => Value,       [I::Simd],     [-],              "VADD4";
    Vavrg4             => Value,       [I::Simd],     [-],              "VAVRG4";
    Vabsdiff4          => Value,       [I::Simd],     [-],              "VABSDIFF4";
    Vmin4 Vmax4        => Value,       [I::Simd],     [-],              "VMNMX4";
    Vset4              => Value,       [I::Simd],     [-],              "VSET4";
    // Miscellaneous.
    Brkpt Trap         => Lasting,     [-],           [-],              "BPT";
    Nanosleep          => Lasting,     [-],           [-],              "NANOSLEEP";
    Pmevent TraceMark  => Lasting,     [-],           [-],              "PMTRIG";
    Setmaxnreg         => Lasting,     [-],           [-],              "USETMAXREG";
}

#[cfg(test)]
mod tests {
    use crate::isa::{InstructionClass, forms_of};

    use super::*;

    /// A mnemonic has a row exactly where some form of it is of a class that asks for one.
    #[test]
    fn rows_are_there_where_a_form_asks_for_one_and_nowhere_else() {
        use InstructionClass as C;
        for &opcode in Opcode::ALL {
            let has = |class| forms_of(opcode).any(|(_, form)| form.class == class);
            let facts = opcode_facts(opcode);
            assert_eq!(facts.integer.is_some(), has(C::Integer), "{opcode}");
            let is_float = has(C::Fp16) || has(C::Fp32) || has(C::Fp64);
            assert_eq!(facts.float.is_some(), is_float, "{opcode}");
        }
    }
}

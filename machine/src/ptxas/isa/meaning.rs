//! The meaning of mnemonics for a profiler: class, operations, access to memory.
//!
//! Classes follow the groups of the instruction set reference in NVIDIA's "CUDA Binary Utilities".
//! If a group of that reference holds several classes, nvprof's definitions of its `inst_*` metrics
//! decide. Computations on integers are `Integer`; moves, selections, predicates, barriers and
//! fences are `Misc`. Instructions of the uniform datapath have the class of their counterparts.
//! Constants that they fetch are operands (`Misc`). `LDC` is not, because the reference lists it
//! with loads. nvprof's `inst_compute_ld_st` has no space in its definition, so `LDC` is one of
//! them. `ldst_executed` names its spaces, and constant memory is not among them.
//!
//! Instructions of the uniform datapath are executed once for a warp and for no thread. Counters of
//! an RTX 2080 Ti say so (public tuning data of a Coulomb kernel, 210 variants). The counts by
//! threads of integer, control and other instructions are those of the lanes' instructions alone,
//! to the digit. The warps' count holds both. Where a `BSSY` and a `BSYNC` run once each, one of
//! them is among the control instructions and one among the others. We take `BSSY` for the latter,
//! as it only writes a barrier register.

use std::collections::HashMap;
use std::sync::OnceLock;

use gpucast_counters::operation::{FlopKind, Flops, Precision};
use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::types::StateSpace;

/// The meaning of a mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meaning {
    /// The class that a profiler counts it as.
    pub(crate) class: InstructionClass,
    /// Its floating-point operations.
    pub(crate) flops: Option<Flops>,
    /// The space (`None`: generic) and kind of its access.
    pub(crate) access: Option<(Option<StateSpace>, AccessKind)>,
}

impl Meaning {
    /// Returns true if an instruction of this mnemonic works on the uniform datapath.
    pub(in super::super) fn is_uniform(&self, mnemonic: &str) -> bool {
        let computes = matches!(
            self.class,
            C::Integer | C::Misc | C::BitConvert | C::Fp16 | C::Fp32 | C::Fp64
        );
        let is_asynchronous = ["UTC", "UTM", "UCGABAR", "UGETNEXT", "UVIRT", "USTGR", "UREDGR"];
        mnemonic.starts_with('U')
            && computes
            && !is_asynchronous.iter().any(|prefix| mnemonic.starts_with(prefix))
            || mnemonic == "LDCU"
    }
}

/// The meaning of a mnemonic without its modifiers; every mnemonic of the opcode tables has one.
pub(crate) fn meaning(mnemonic: &str) -> Option<Meaning> {
    static MEANINGS: OnceLock<HashMap<&str, Meaning>> = OnceLock::new();
    MEANINGS.get_or_init(collect).get(mnemonic).copied()
}

fn collect() -> HashMap<&'static str, Meaning> {
    let mut meanings = HashMap::new();
    for (class, mnemonics) in CLASSES {
        for mnemonic in mnemonics.split_whitespace() {
            meanings.insert(mnemonic, Meaning { class: *class, flops: None, access: None });
        }
    }
    for &(mnemonics, precision, kind, per_thread) in FLOPS {
        for mnemonic in mnemonics.split_whitespace() {
            if let Some(meaning) = meanings.get_mut(mnemonic) {
                meaning.flops = Some(Flops { precision, kind, per_thread });
            }
        }
    }
    for &(mnemonics, space, kind) in ACCESSES {
        for mnemonic in mnemonics.split_whitespace() {
            if let Some(meaning) = meanings.get_mut(mnemonic) {
                meaning.access = Some((space, kind));
            }
        }
    }
    meanings
}

use InstructionClass as C;

/// Mnemonics by class, Kepler to Blackwell.
const CLASSES: &[(InstructionClass, &str)] = &[
    (C::Fp16, "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I HSET2 HSETP2 HMNMX2"),
    (
        C::Fp32,
        "FADD FADD32I FFMA FFMA32I FMUL FMUL32I FMNMX FMNMX3 FSET FSETP FCMP FSEL FSWZ \
         FSWZADD FCHK RRO MUFU IPA FADD2 FMUL2 FFMA2 FHADD FHFMA",
    ),
    (C::Fp64, "DADD DFMA DMUL DMNMX DSET DSETP"),
    (
        C::Integer,
        "IADD IADD32I IADD3 IMAD IMAD32I IMADSP IMUL IMUL32I ISAD ISCADD ISCADD32I ISET ISETP \
         IMNMX ICMP IABS IDP BFE BFI FLO POPC BREV BMSK SGXT LEA LOP LOP32I LOP3 SHF SHL SHR \
         XMAD CLMAD VABSDIFF VABSDIFF4 VADD VMAD VMNMX VSET VSETP VSHL VSHR VADD2 VADD4 VAVRG2 VAVRG4 \
         VMNMX2 VMNMX4 VSET2 VSET4 VABSDIFF2 VIADD VIADDMNMX VIMNMX VIMNMX3 \
         UIADD3 UIMAD UISETP ULEA ULOP3 USHF UFLO UPOPC UBREV UBMSK USGXT UVIMNMX",
    ),
    (C::BitConvert, "F2F F2I F2IP F2FP I2F I2I I2IP I2FP FRND UF2I UI2F UI2FP"),
    (
        C::LoadStore,
        "LD LDC LDG LDL LDS LDSM LDSLK ST STG STL STS STSM STSUL STAS ATOM ATOMG ATOMS RED \
         REDG REDAS CCTL CCTLL CCTLT LDGSTS UBLKCP UBLKPF UBLKRED \
         LDTM STTM UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL LDGMC UMEMSETS QSPC",
    ),
    (
        C::Control,
        "BRA BRX JMP JMX JCAL CAL CALL RET EXIT BRK BREAK CONT SSY SYNC PBK PCNT PRET PEXIT \
         LONGJMP PLONGJMP BSYNC BMOV WARPSYNC YIELD KILL KIL NANOSLEEP RPCMOV RTT BPT \
         SAM RAM IDE ACQBULK ENDCOLLECTIVE PREEXIT",
    ),
    (C::InterThread, "SHFL VOTE VOTEU MATCH REDUX CREDUX ELECT MOVM"),
    (
        C::Texture,
        "TEX TEXS TLD TLD4 TLD4S TLDS TMML TXD TXQ TXA SULD SULDGA SUST SUSTGA \
         SUATOM SURED SUEAU SUBFM SUCLAMP",
    ),
    (
        C::Tensor,
        "HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA \
         UTCHMMA UTCIMMA UTCQMMA UTCOMMA",
    ),
    (
        C::Misc,
        "MOV MOV32I SEL PRMT P2R R2P S2R S2UR CS2R CS2UR CSET CSETP PSET PSETP PLOP3 LEPC \
         GETLMEMBASE SETLMEMBASE GETCRSPTR SETCRSPTR B2R R2B BAR DEPBAR LDGDEPBAR MEMBAR TEXDEPBAR \
         BSSY ERRBAR FENCE ARRIVES SYNCS NOP PMTRIG AL2P ALD AST OUT PIXLD ISBERD STP R2UR UMOV \
         USEL UPRMT UP2UR UR2UP UPLOP3 ULDC LDCU USTGR UREDGR UGETNEXTWORKID WARPGROUP \
         UTMACMDFLUSH USETMAXREG CGAERRBAR UCGABAR_ARV UCGABAR_WAIT \
         UVIRTCOUNT UTCATOMSWS UTCSHIFT UTCCP UTCBAR",
    ),
];

use FlopKind::{Add, Fma, Mul, Special};
use Precision::{Double, Half, Single};

/// Floating-point operations of a thread. Packed instructions count both halves, whatever part
/// of the result is used: the hardware's counters do not look at operands.
const FLOPS: &[(&str, Precision, FlopKind, u64)] = &[
    ("FADD FADD32I FSWZADD FHADD", Single, Add, 1),
    ("FMUL FMUL32I", Single, Mul, 1),
    ("FFMA FFMA32I FHFMA", Single, Fma, 1),
    ("FADD2", Single, Add, 2),
    ("FMUL2", Single, Mul, 2),
    ("FFMA2", Single, Fma, 2),
    ("MUFU", Single, Special, 1),
    ("DADD", Double, Add, 1),
    ("DMUL", Double, Mul, 1),
    ("DFMA", Double, Fma, 1),
    ("HADD2 HADD2_32I", Half, Add, 2),
    ("HMUL2 HMUL2_32I", Half, Mul, 2),
    ("HFMA2 HFMA2_32I", Half, Fma, 2),
];

use AccessKind::{Atomic, Load, Reduction, Store};
use StateSpace::{Const, Global, Local, Shared};

/// Accesses to memory whose size a lane's instruction states.
const ACCESSES: &[(&str, Option<StateSpace>, AccessKind)] = &[
    ("LD", None, Load),
    ("ST", None, Store),
    ("ATOM", None, Atomic),
    ("RED", None, Reduction),
    ("LDG LDGSTS LDGMC", Some(Global), Load),
    ("STG", Some(Global), Store),
    ("ATOMG", Some(Global), Atomic),
    ("REDG", Some(Global), Reduction),
    ("LDS LDSLK LDSM", Some(Shared), Load),
    ("STS STSUL STSM", Some(Shared), Store),
    ("ATOMS", Some(Shared), Atomic),
    ("LDL", Some(Local), Load),
    ("STL", Some(Local), Store),
    ("LDC", Some(Const), Load),
];

/// Every mnemonic that has a meaning.
#[cfg(test)]
pub(in super::super) fn meant() -> Vec<&'static str> {
    collect().into_keys().collect()
}

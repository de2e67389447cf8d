//! The unit that executes a machine instruction, by its mnemonic.
//!
//! There are three sources. Since Volta the range of an opcode tells: from 0x100 on an instruction
//! has no fixed latency. The CUDA C++ Programming Guide has the table of throughputs (section
//! "Arithmetic Instructions"). For Maxwell there are the types of maxas's grammar.

use std::collections::HashMap;
use std::sync::OnceLock;

use gpucast_simulation::code::Class;

/// Mnemonics by class, Kepler to Blackwell.
const CLASSES: &[(Class, &str)] = &[
    (
        Class::Fp32,
        "FADD FADD32I FFMA FFMA32I FMUL FMUL32I FSWZ FSWZADD FADD2 FMUL2 FFMA2 FHADD FHFMA",
    ),
    (Class::Fp16, "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I HSET2 HSETP2"),
    (Class::Fp64, "DADD DFMA DMUL DMNMX DSET DSETP"),
    (
        Class::Integer,
        "IADD IADD32I IADD3 ISAD ISCADD ISCADD32I IABS LEA LOP LOP32I LOP3 VIADD SGXT BMSK XMAD \
         MOV MOV32I SEL FSEL PRMT P2R R2P CSET CSETP PSET PSETP PLOP3 VOTE \
         VABSDIFF VABSDIFF2 VABSDIFF4 VADD VADD2 VADD4 VAVRG2 VAVRG4 \
         I2IP I2FP F2IP F2FP",
    ),
    (
        Class::Compare,
        "FMNMX FMNMX3 FSET FSETP FCMP ICMP IMNMX ISET ISETP HMNMX2 VIMNMX VIMNMX3 VIADDMNMX \
         VMNMX VMNMX2 VMNMX4 VSET VSET2 VSET4 VSETP",
    ),
    (Class::Shift, "SHF SHL SHR BFE BFI VSHL VSHR"),
    (Class::IntegerMultiply, "IMAD IMAD32I IMADSP IMUL IMUL32I IDP VMAD CLMAD"),
    (Class::Special, "MUFU RRO FCHK IPA"),
    (Class::Conversion, "F2F F2I I2F I2I FRND POPC FLO BREV"),
    (Class::Shuffle, "SHFL MATCH REDUX CREDUX MOVM"),
    (
        Class::Tensor,
        "HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA BGMMA QGMMA UTCHMMA UTCIMMA UTCQMMA UTCOMMA",
    ),
    (
        Class::Memory,
        "LD LDC LDG LDL LDS LDSM LDSLK LDGMC LDCU ST STG STL STS STSM STSUL STAS ATOM ATOMG ATOMS \
         RED REDG REDAS LDGSTS CCTL CCTLL CCTLT QSPC SYNCS ARRIVES LDTM STTM ALD AST ISBERD STP \
         UBLKCP UBLKPF UBLKRED UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UMEMSETS USTGR UREDGR",
    ),
    (
        Class::Texture,
        "TEX TEXS TLD TLD4 TLD4S TLDS TMML TXD TXQ TXA SULD SULDGA SUST SUSTGA SUATOM SURED SUEAU \
         SUBFM SUCLAMP",
    ),
    (
        Class::Branch,
        "BRA BRX JMP JMX JCAL CAL CALL RET EXIT BRK BREAK CONT SSY SYNC PBK PCNT PRET PEXIT \
         LONGJMP PLONGJMP BSSY BSYNC BMOV WARPSYNC YIELD KILL KIL NANOSLEEP RPCMOV RTT BPT SAM RAM \
         IDE ENDCOLLECTIVE",
    ),
    (
        Class::Uniform,
        "UIADD3 UIMAD UISETP ULEA ULOP3 USHF UFLO UPOPC UBREV UBMSK USGXT UVIMNMX UF2I UI2F UI2FP \
         UMOV USEL UPRMT UP2UR UR2UP UPLOP3 ULDC R2UR S2UR CS2UR VOTEU ELECT",
    ),
    (
        Class::Other,
        "NOP PMTRIG S2R CS2R B2R R2B LEPC AL2P OUT BAR DEPBAR LDGDEPBAR TEXDEPBAR MEMBAR ERRBAR \
         CGAERRBAR FENCE WARPGROUP ACQBULK PREEXIT GETLMEMBASE SETLMEMBASE GETCRSPTR SETCRSPTR \
         UGETNEXTWORKID UTMACMDFLUSH USETMAXREG UCGABAR_ARV UCGABAR_WAIT UVIRTCOUNT UTCATOMSWS \
         UTCSHIFT UTCCP UTCBAR PIXLD",
    ),
];

/// The class of a mnemonic without modifiers. Every mnemonic of the opcode tables has one.
/// `None` if it is no machine instruction.
///
/// Modifiers can tell more: `IMAD.WIDE` is a [`Class::WideMultiply`], and a conversion of 64 bits a
/// [`Class::WideConversion`].
#[must_use]
pub fn unit_class(mnemonic: &str) -> Option<Class> {
    static BY_MNEMONIC: OnceLock<HashMap<&str, Class>> = OnceLock::new();
    let by_mnemonic = BY_MNEMONIC.get_or_init(|| {
        let of_class = |&(class, mnemonics): &(Class, &'static str)| {
            mnemonics.split_whitespace().map(move |mnemonic| (mnemonic, class))
        };
        CLASSES.iter().flat_map(of_class).collect()
    });
    by_mnemonic.get(mnemonic).copied()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::ptxas::mnemonics;

    #[test]
    fn every_mnemonic_has_one_class_and_every_class_is_of_mnemonics() {
        let known: BTreeSet<&str> = mnemonics().collect();
        let mut listed = BTreeSet::new();
        for mnemonic in CLASSES.iter().flat_map(|(_, mnemonics)| mnemonics.split_whitespace()) {
            assert!(listed.insert(mnemonic), "{mnemonic} is listed twice");
        }
        let missing: Vec<_> = known.difference(&listed).collect();
        assert!(missing.is_empty(), "{missing:?} have no class");
        let unused: Vec<_> = listed.difference(&known).collect();
        assert!(unused.is_empty(), "{unused:?} are in no table of opcodes");
        // Those of wide operands come from the encoding.
        let of_encoding = [Class::WideMultiply, Class::WideConversion];
        for class in Class::ALL {
            let is_listed = CLASSES.iter().any(|&(one, _)| one == class);
            assert_ne!(is_listed, of_encoding.contains(&class), "{class:?}");
        }
    }

    #[test]
    fn units_are_those_of_the_vendor_s_tables() {
        for (name, class) in [
            ("FFMA", Class::Fp32),
            ("HFMA2", Class::Fp16),
            ("DSETP", Class::Fp64),
            ("IADD3", Class::Integer),
            ("LDG", Class::Memory),
            ("LDSM", Class::Memory),
            ("SHFL", Class::Shuffle),
            ("HMMA", Class::Tensor),
            ("BSYNC", Class::Branch),
            ("ULDC", Class::Uniform),
            ("F2F", Class::Conversion),
            ("TEX", Class::Texture),
            ("BAR", Class::Other),
        ] {
            assert_eq!(unit_class(name), Some(class), "{name}");
        }
        assert_eq!(unit_class("FROB"), None);
    }
}

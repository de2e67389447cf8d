//! The units that execute machine instructions, by mnemonic.
//!
//! Groups follow the throughput table of NVIDIA's "CUDA C++ Programming Guide" and the tables of
//! instructions in "CUDA Binary Utilities". Instructions that the assembler waits for by a barrier
//! because another unit than the scheduler's own runs them (`S2R`, `POPC`, conversions) are
//! conversions here: all of them run at a quarter of the rate or less.

use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_simulation::code::Class;

use crate::ptxas::meaning;

/// The class of a mnemonic without modifiers; `None` if it is no machine instruction.
///
/// Modifiers can tell more: `IMAD.WIDE` is a [`Class::WideMultiply`], and a conversion of 64 bits a
/// [`Class::WideConversion`].
#[must_use]
pub fn unit_class(mnemonic: &str) -> Option<Class> {
    let meaning = meaning(mnemonic)?;
    let row = TABLE.iter().find(|(_, names)| names.split_whitespace().any(|one| one == mnemonic));
    Some(row.map_or(of_profiler_class(meaning.class), |(class, _)| *class))
}

/// Mnemonics whose unit their class for profilers does not tell.
const TABLE: &[(Class, &str)] = &[
    (Class::IntegerMultiply, "IMAD IMAD32I IMADSP IMUL IMUL32I XMAD IDP CLMAD VMAD"),
    (Class::Shift, "SHF SHL SHR BFE BFI BMSK SGXT VSHL VSHR"),
    (
        Class::Compare,
        "ISET ISETP IMNMX ICMP VIMNMX VIMNMX3 VIADDMNMX FMNMX FMNMX3 FSET FSETP FCMP VMNMX VSET \
         VSETP VMNMX2 VMNMX4 VSET2 VSET4 CSET CSETP",
    ),
    (Class::Integer, "FSEL FSWZ"),
    (Class::Special, "MUFU RRO FCHK IPA"),
    (Class::Conversion, "POPC FLO BREV S2R CS2UR S2UR B2R R2B"),
    (Class::Integer, "MOV MOV32I SEL PRMT P2R R2P CS2R PSET PSETP PLOP3 LEPC I2IP"),
    (Class::Memory, "SYNCS"),
    (Class::Branch, "BSSY"),
    (
        Class::Uniform,
        "UIADD3 UIMAD UISETP ULEA ULOP3 USHF UFLO UPOPC UBREV UBMSK USGXT UVIMNMX UMOV USEL UPRMT \
         UP2UR UR2UP UPLOP3 ULDC LDCU UF2I UI2F UI2FP R2UR VOTEU",
    ),
];

/// The class of instructions that no row names.
const fn of_profiler_class(class: InstructionClass) -> Class {
    use InstructionClass as C;
    match class {
        C::Fp16 => Class::Fp16,
        C::Fp32 => Class::Fp32,
        C::Fp64 => Class::Fp64,
        C::Integer => Class::Integer,
        C::BitConvert => Class::Conversion,
        C::LoadStore => Class::Memory,
        C::Control => Class::Branch,
        C::InterThread => Class::Shuffle,
        C::Texture => Class::Texture,
        C::Tensor => Class::Tensor,
        C::Misc => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_names_machine_instructions_and_each_once() {
        let mut seen = Vec::new();
        for (class, names) in TABLE {
            for name in names.split_whitespace() {
                assert_eq!(unit_class(name), Some(*class), "{name}");
                assert!(!seen.contains(&name), "{name} stands twice");
                seen.push(name);
            }
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

//! The registers that an instruction reads, as far as its encoding is known.

use super::{Decoder, Encoding, Word, bits};

/// The places of an instruction's operands.
enum Operands {
    /// The first and, if it is a register, the second one.
    Two,
    /// A third one besides.
    Three,
    /// The second one only.
    Second,
    /// An address.
    Address,
    /// An address, and data in the place of the second operand (before Volta of the result).
    Store,
}

impl Operands {
    fn of(mnemonic: &str) -> Option<Self> {
        match mnemonic {
            "FFMA" | "DFMA" | "IMAD" | "XMAD" | "IADD3" | "LOP3" | "HFMA2" | "SHF" | "LEA"
            | "PRMT" => Some(Self::Three),
            "FADD" | "FMUL" | "DADD" | "DMUL" | "HADD2" | "HMUL2" | "IADD" | "FMNMX" | "IMNMX"
            | "FSETP" | "DSETP" | "ISETP" | "FSEL" | "SEL" | "LOP" | "SHL" | "SHR" | "ISCADD" => {
                Some(Self::Two)
            }
            "MOV" | "I2F" | "F2I" | "F2F" | "I2I" | "POPC" | "FLO" => Some(Self::Second),
            "STL" | "STS" | "STG" | "ST" => Some(Self::Store),
            "LDL" | "LDS" | "LDG" | "LD" => Some(Self::Address),
            _ => None,
        }
    }
}

impl Decoder {
    /// The registers that an instruction reads, each the first of its operand. Those of
    /// instructions that are not listed here are not known.
    pub(in super::super) fn read_registers(self, mnemonic: &str, word: Word) -> [Option<u8>; 3] {
        let Some(operands) = Operands::of(mnemonic) else { return [None; 3] };
        let register = |first| Some(bits(word.bits, first, 8) as u8);
        let (first, third, result) = match self.encoding {
            Encoding::Kepler => return [None; 3],
            Encoding::Maxwell => (8, 39, 0),
            Encoding::Volta { .. } => (24, 64, 32),
        };
        let second = match self.encoding {
            Encoding::Kepler | Encoding::Maxwell => {
                register(20).filter(|_| bits(word.bits, 60, 4) == 5)
            }
            Encoding::Volta { .. } => register(32).filter(|_| bits(word.bits, 9, 3) == 1),
        };
        match operands {
            Operands::Two => [register(first), second, None],
            Operands::Three => [register(first), second, register(third)],
            Operands::Second => [second, None, None],
            Operands::Address => [register(first), None, None],
            Operands::Store => [register(first), register(result), None],
        }
    }

    /// The register that a store takes its data from.
    pub(in super::super) fn stored_register(self, word: Word) -> Option<u8> {
        let first = match self.encoding {
            Encoding::Kepler => return None,
            Encoding::Maxwell => 0,
            Encoding::Volta { .. } => 32,
        };
        Some(bits(word.bits, first, 8) as u8)
    }

    /// The literal in the address of a load or store.
    pub(in super::super) fn address_offset(self, word: Word) -> Option<u64> {
        match self.encoding {
            Encoding::Kepler => None,
            Encoding::Maxwell => Some(bits(word.bits, 20, 24)),
            Encoding::Volta { .. } => Some(bits(word.bits, 40, 24)),
        }
    }
}

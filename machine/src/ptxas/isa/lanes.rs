//! The lanes that an instruction is for: guards, comparisons with the number of the lane, and
//! instructions that count lanes.

use super::{Decoder, Encoding, Word, bits};

/// A comparison of integers (`ISETP`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Comparison {
    /// The predicate that is true if the comparison holds, and the one that is true if not.
    pub(in super::super) predicates: [u8; 2],
    /// True if it asks for equality.
    pub(in super::super) asks_equality: bool,
    /// The registers that it compares; `None` for operands of other kinds.
    pub(in super::super) registers: [Option<u8>; 2],
}

/// The code of "equal" in a comparison.
const EQUAL: u64 = 2;
/// The special register that holds the number of the lane.
const LANE_NUMBER: u64 = 0;

impl Decoder {
    /// The word at a byte offset of a section's code.
    pub(in super::super) fn word_at(self, code: &[u8], offset: u64) -> Option<Word> {
        let size = match self.encoding {
            Encoding::Kepler | Encoding::Maxwell => 8,
            Encoding::Volta { .. } => 16,
        };
        let first = usize::try_from(offset).ok()?;
        let bytes = code.get(first..first.checked_add(size)?)?;
        let bits = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u128::from(byte));
        Some(Word { offset, bits })
    }

    /// The predicate that must be true for an instruction to take effect; `None` if it has none or
    /// must be false.
    pub(in super::super) fn demanded_predicate(self, word: Word) -> Option<u8> {
        let (predicate, negated) = match self.encoding {
            Encoding::Kepler => return None,
            Encoding::Maxwell => (bits(word.bits, 16, 3), bits(word.bits, 19, 1)),
            Encoding::Volta { .. } => (bits(word.bits, 12, 3), bits(word.bits, 15, 1)),
        };
        (predicate != 7 && negated == 0).then_some(predicate as u8)
    }

    /// The comparison that an instruction makes, if it is one of integers.
    pub(in super::super) fn comparison(self, mnemonic: &str, word: Word) -> Option<Comparison> {
        let field = |first, count| bits(word.bits, first, count);
        let register = |first| Some(field(first, 8) as u8);
        if mnemonic != "ISETP" {
            return None;
        }
        match self.encoding {
            Encoding::Kepler => None,
            Encoding::Maxwell => Some(Comparison {
                predicates: [field(3, 3) as u8, field(0, 3) as u8],
                asks_equality: field(49, 3) == EQUAL,
                registers: [register(8), register(20).filter(|_| field(56, 8) == 0x5b)],
            }),
            Encoding::Volta { .. } => Some(Comparison {
                predicates: [field(81, 3) as u8, field(84, 3) as u8],
                asks_equality: field(76, 3) == EQUAL,
                registers: [register(24), register(32).filter(|_| field(9, 3) == 1)],
            }),
        }
    }

    /// The register that an instruction writes first, as far as its encoding has a place for it.
    pub(in super::super) fn written_register(self, mnemonic: &str, word: Word) -> Option<u8> {
        if writes_no_register(mnemonic) {
            return None;
        }
        match self.encoding {
            Encoding::Kepler => None,
            Encoding::Maxwell => Some(bits(word.bits, 0, 8) as u8),
            Encoding::Volta { .. } => Some(bits(word.bits, 16, 8) as u8),
        }
    }

    /// Returns true if an instruction reads the number of the lane (`S2R … SR_LANEID`).
    pub(in super::super) fn reads_lane_number(self, mnemonic: &str, word: Word) -> bool {
        mnemonic == "S2R"
            && match self.encoding {
                Encoding::Kepler => false,
                Encoding::Maxwell => bits(word.bits, 20, 8) == LANE_NUMBER,
                Encoding::Volta { .. } => bits(word.bits, 72, 8) == LANE_NUMBER,
            }
    }

    /// Returns true if an instruction adds the number of lanes at each address (`ATOMS.POPC.INC`),
    /// a form of `ATOMS` since capability 8.0.
    pub(in super::super) fn counts_lanes(self, mnemonic: &str, word: Word) -> bool {
        mnemonic == "ATOMS"
            && matches!(self.encoding, Encoding::Volta { .. })
            && bits(word.bits, 0, 12) == 0xf8c
    }
}

/// Returns true if an instruction has other fields in the place of its result.
fn writes_no_register(mnemonic: &str) -> bool {
    // Instructions of the uniform datapath write registers of their own.
    let is_uniform = mnemonic.starts_with('U') || matches!(mnemonic, "VOTEU" | "R2UR" | "REDUX");
    let sets_predicates = mnemonic.ends_with("SETP") || mnemonic == "PLOP3";
    let is_store = mnemonic.starts_with("ST") || matches!(mnemonic, "RED" | "REDG" | "LDGSTS");
    let controls = [
        "BRA",
        "BRX",
        "BSSY",
        "BSYNC",
        "BAR",
        "CALL",
        "CAL",
        "EXIT",
        "NOP",
        "RET",
        "SSY",
        "SYNC",
        "YIELD",
        "WARPSYNC",
        "MEMBAR",
        "ERRBAR",
        "DEPBAR",
        "CCTL",
        "LDGDEPBAR",
    ];
    is_uniform || sets_predicates || is_store || controls.contains(&mnemonic)
}

#[cfg(test)]
mod tests {
    use gpucast_ptx_frontend::container::Target;

    use super::*;

    fn decoder(sm: u32) -> Decoder {
        Decoder::of(Target { sm, suffix: None }).unwrap()
    }

    fn word(high: u64, low: u64) -> Word {
        Word { offset: 0, bits: u128::from(high) << 64 | u128::from(low) }
    }

    /// Words and their meaning are those of `nvdisasm -hex`.
    #[test]
    fn comparisons_with_the_number_of_the_lane_are_found() {
        let volta = decoder(80);
        // `S2R R2, SR_LANEID`, `S2R R2, SR_TID.X`.
        let lane = word(0x000e_2200_0000_0000, 0x0000_0000_0002_7919);
        assert!(volta.reads_lane_number("S2R", lane));
        assert_eq!(volta.written_register("S2R", lane), Some(2));
        let thread = word(0x000e_2200_0000_2100, 0x0000_0000_0002_7919);
        assert!(!volta.reads_lane_number("S2R", thread));
        // `ISETP.EQ.U32.AND P0, PT, R2, UR4, PT`.
        let equal = word(0x001f_e200_0bf0_2070, 0x0000_0004_0200_7c0c);
        let expected =
            Comparison { predicates: [0, 7], asks_equality: true, registers: [Some(2), None] };
        assert_eq!(volta.comparison("ISETP", equal), Some(expected));
        assert_eq!(volta.written_register("ISETP", equal), None);
        // `ISETP.GT.U32.AND P0, PT, R0, 0x5, PT`.
        let greater = word(0x004f_da00_03f0_4070, 0x0000_0005_0000_780c);
        assert!(!volta.comparison("ISETP", greater).unwrap().asks_equality);
        // `@P0 RED.E.ADD.STRONG.GPU [R2.64], R5`, `@!P0 ATOMG.E.ADD … R9, [R4.64], R7`.
        let one = word(0x000f_e200_0c10_e186, 0x0000_0005_0200_098e);
        assert_eq!(volta.demanded_predicate(one), Some(0));
        let others = word(0x0041_6200_081e_e1c4, 0x0000_0007_0409_89a8);
        assert_eq!(volta.demanded_predicate(others), None);
        // sm_52: `ISETP.EQ.U32.AND P0, PT, R2, R3, PT`, `S2R R3, SR_LANEID`.
        let maxwell = decoder(52);
        let equal = word(0, 0x5b64_0380_0037_0207);
        let expected =
            Comparison { predicates: [0, 7], asks_equality: true, registers: [Some(2), Some(3)] };
        assert_eq!(maxwell.comparison("ISETP", equal), Some(expected));
        assert!(maxwell.reads_lane_number("S2R", word(0, 0xf0c8_0000_0007_0003)));
        assert!(!maxwell.reads_lane_number("S2R", word(0, 0xf0c8_0000_0217_0000)));
    }

    #[test]
    fn increments_that_count_lanes_are_told_from_others() {
        // `ATOMS.POPC.INC.32 RZ, [R0+URZ]`, `ATOMS.INC RZ, [RZ], R0`.
        let counted = word(0x000f_e200_0d00_003f, 0x0000_0000_00ff_7f8c);
        assert!(decoder(80).counts_lanes("ATOMS", counted));
        let plain = word(0x000f_e200_0180_0000, 0x0000_0000_ffff_738c);
        assert!(!decoder(80).counts_lanes("ATOMS", plain));
    }
}

//! The constant that an instruction reads, as an operand or by a load with a literal address.

use gpucast_simulation::code::Constant;

use super::{Decoder, Encoding, Word, bits};

/// The register that reads as zero.
const ZERO_REGISTER: u64 = 255;

impl Decoder {
    /// The constant that an instruction with this mnemonic reads. `None` if it reads none, or one
    /// whose place is known only when it runs.
    pub(in super::super) fn constant(self, mnemonic: &str, word: Word) -> Option<Constant> {
        match self.encoding {
            // Nothing is scheduled by this encoding's code.
            Encoding::Kepler => None,
            Encoding::Maxwell => of_maxwell(mnemonic, word.bits),
            Encoding::Volta { .. } => of_volta(mnemonic, word.bits),
        }
    }
}

/// The second or the third operand may be a constant: bits 20–33 are its word, 34–38 its bank. The
/// forms of half-precision arithmetic with a constant are not known here.
fn of_maxwell(mnemonic: &str, raw: u128) -> Option<Constant> {
    if mnemonic == "LDC" {
        let is_literal = bits(raw, 8, 8) == ZERO_REGISTER;
        let (bank, offset) = (bits(raw, 36, 5) as u32, bits(raw, 20, 16) as u32);
        return is_literal.then_some(Constant { bank, offset });
    }
    // `LOP3` has an opcode of its own with a constant.
    let is_constant = matches!(bits(raw, 56, 8), 0x02 | 0x48..=0x4f | 0x51..=0x53);
    let (bank, offset) = (bits(raw, 34, 5) as u32, 4 * bits(raw, 20, 14) as u32);
    is_constant.then_some(Constant { bank, offset })
}

/// Opcodes from here on are those of memory, of control and of the warp as a whole, whose forms are
/// others.
const FIRST_WITHOUT_OPERANDS: u64 = 0x118;

/// The form says that the second or the third operand is a constant: bits 38–53 are its offset,
/// 54–58 its bank.
fn of_volta(mnemonic: &str, raw: u128) -> Option<Constant> {
    let (opcode, form) = (bits(raw, 0, 9), bits(raw, 9, 3));
    let is_literal = match mnemonic {
        "LDC" | "LDCU" => bits(raw, 24, 8) == ZERO_REGISTER,
        // With bit 91 the bank is a register's.
        _ => opcode < FIRST_WITHOUT_OPERANDS && matches!(form, 3 | 5) && bits(raw, 91, 1) == 0,
    };
    let first = if mnemonic == "LDCU" { 37 } else { 38 };
    let (bank, offset) = (bits(raw, 54, 5) as u32, bits(raw, first, 16) as u32);
    is_literal.then_some(Constant { bank, offset })
}

#[cfg(test)]
mod tests {
    use gpucast_ptx_frontend::container::Target;

    use super::*;

    fn constant(sm: u32, high: u64, low: u64) -> Option<(u32, u32)> {
        let word = Word { offset: 0, bits: u128::from(high) << 64 | u128::from(low) };
        let decoder = Decoder::of(Target { sm, suffix: None }).unwrap();
        let mnemonic = decoder.decode(word).unwrap().mnemonic;
        decoder.constant(mnemonic, word).map(|constant| (constant.bank, constant.offset))
    }

    /// Words and their meaning are those of `nvdisasm -hex`.
    #[test]
    fn constants_of_volta_and_later_are_those_of_the_vendors_disassembler() {
        for (text, sm, high, low, expected) in [
            ("MOV R6, c[0x0][0x178]", 86, 0x000fe40000000f00, 0x00005e0000067a02, Some((0, 0x178))),
            (
                "IMAD R0, R0, c[0x0][0x0], R3",
                86,
                0x001fca00078e0203,
                0x0000000000007a24,
                Some((0, 0)),
            ),
            (
                "IMAD.WIDE R2, R0, R11, c[0x0][0x168]",
                86,
                0x000fcc00078e020b,
                0x00005a0000027625,
                Some((0, 0x168)),
            ),
            (
                "ULDC.64 UR4, c[0x0][0x118]",
                86,
                0x000fc60000000a00,
                0x0000460000047ab9,
                Some((0, 0x118)),
            ),
            (
                "FFMA R4, R2, R7, c[0x3][0x14]",
                86,
                0x004fe20000000007,
                0x00c0050002047623,
                Some((3, 0x14)),
            ),
            (
                "DFMA R4, R4, R6, c[0x0][0x178]",
                86,
                0x0010640000000006,
                0x00005e000404762b,
                Some((0, 0x178)),
            ),
            ("LDC R5, c[0x3][R8]", 86, 0x000e220000000800, 0x00c0000008057b82, None),
            ("LDC R11, c[0x3][0x14]", 100, 0x000eb00000000800, 0x00c00500ff0b7b82, Some((3, 0x14))),
            (
                "LDCU.64 UR4, c[0x0][0x358]",
                100,
                0x000e620008000a00,
                0x00006b00ff0477ac,
                Some((0, 0x358)),
            ),
            ("LDG.E R2, desc[UR4][R2.64]", 100, 0x002ea2000c1e1900, 0x0000000402027981, None),
            // Its form has the bits of one with a constant.
            ("BAR.SYNC 0x0", 86, 0x000fec0000000000, 0x0000000000007b1d, None),
        ] {
            assert_eq!(constant(sm, high, low), expected, "{text}");
        }
    }

    /// `ptxas` 12.9 made the words of a kernel whose parameters begin at 0x140: two pointers, a
    /// number, a structure at 0x158 and a number at 0x178. A variable is in bank 3.
    #[test]
    fn constants_of_maxwell_are_where_the_parameters_are() {
        for (text, low, expected) in [
            ("the stack pointer", 0x4c98078000870001, Some((0, 0x20))),
            ("the threads of a CTA", 0x4f107f8000270003, Some((0, 8))),
            ("a number in a comparison", 0x4b6d038005470007, Some((0, 0x150))),
            ("half of a pointer in a sum", 0x4c10080005370b05, Some((0, 0x14c))),
            ("a number in a logical operation", 0x4c47040005970000, Some((0, 0x164))),
            ("a number in a minimum", 0x4c21038005970000, Some((0, 0x164))),
            ("the variable in a multiply-add", 0x5180010c00570402, Some((3, 0x14))),
            ("a double as the third operand", 0x5370040005670202, Some((0, 0x158))),
            ("the variable with an index", 0xef94003000070a03, None),
            ("a product of registers", 0x5b30011800370000, None),
            ("a load", 0xeed4200000070404, None),
            ("nothing to do", 0x50b0000000070f00, None),
        ] {
            assert_eq!(constant(52, 0, low), expected, "{text}");
        }
    }
}

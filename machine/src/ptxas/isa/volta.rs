//! sm_70 … sm_121: 128-bit instructions.
//!
//! ```text
//! bits 0–8 opcode · 9–11 form of the operands · 12–15 guard · 16–71 registers and immediates
//! 72–90 modifiers and predicates · 91 uniform operand · 105–125 scheduling
//! ```
//!
//! A form of operands does not change the kind of an instruction, with the exceptions that name
//! one.

use super::{Decoded, Flow, Guard, Region, Word, access_bytes, bits, displaced, guard, signed};

/// The condition, beside the opcode, under which a row applies.
#[derive(Clone, Copy)]
enum When {
    Always,
    /// From this architecture on.
    Since(u32),
    /// Up to this one.
    Until(u32),
    /// In this form of the operands, from this architecture on.
    Form(u64, u32),
    /// With this bit set.
    Bit(u32),
}

use When::{Always, Bit, Form, Since, Until};

/// Opcode, condition, mnemonic. Of the rows of an opcode the first one that applies counts.
const OPCODES: &[(u16, When, &str)] = &[
    (0x000, Always, "NOP"),
    (0x001, Always, "PMTRIG"),
    (0x002, Always, "MOV"),
    (0x003, Always, "P2R"),
    (0x004, Always, "R2P"),
    (0x005, Always, "CS2R"),
    (0x006, Always, "VOTE"),
    (0x007, Always, "SEL"),
    (0x008, Always, "FSEL"),
    (0x009, Always, "FMNMX"),
    (0x00a, Always, "FSET"),
    (0x00b, Always, "FSETP"),
    (0x00c, Always, "ISETP"),
    (0x00f, Since(90), "VIMNMX3"),
    (0x010, Always, "IADD3"),
    (0x011, Always, "LEA"),
    (0x012, Always, "LOP3"),
    (0x013, Always, "IABS"),
    (0x014, Always, "VABSDIFF"),
    (0x015, Always, "VABSDIFF4"),
    (0x016, Always, "PRMT"),
    (0x017, Always, "IMNMX"),
    (0x019, Always, "SHF"),
    (0x01a, Always, "SGXT"),
    (0x01b, Always, "BMSK"),
    (0x01c, Always, "PLOP3"),
    (0x01f, Always, "PLOP3"),
    (0x020, Always, "FMUL"),
    (0x021, Bit(81), "FHADD"),
    (0x021, Always, "FADD"),
    (0x022, Always, "FSWZADD"),
    (0x023, Bit(81), "FHFMA"),
    (0x023, Always, "FFMA"),
    (0x024, Always, "IMAD"),
    (0x025, Always, "IMAD"),
    (0x026, Always, "IDP"),
    (0x027, Always, "IMAD"),
    (0x028, Always, "DMUL"),
    (0x029, Always, "DADD"),
    (0x02a, Always, "DSETP"),
    (0x02b, Always, "DFMA"),
    (0x02c, Always, "CLMAD"),
    (0x02d, Since(90), "PREEXIT"),
    (0x02e, Since(90), "ACQBULK"),
    (0x02f, Since(90), "ELECT"),
    (0x030, Always, "HADD2"),
    (0x031, Always, "HFMA2"),
    (0x032, Always, "HMUL2"),
    (0x033, Always, "HSET2"),
    (0x034, Always, "HSETP2"),
    (0x035, Since(100), "IADD"),
    (0x035, Always, "HFMA2"),
    (0x036, Since(90), "VIADD"),
    (0x036, Always, "HMMA"),
    (0x037, Always, "IMMA"),
    (0x038, Always, "I2I"),
    (0x039, Always, "I2IP"),
    (0x03a, Always, "MOVM"),
    (0x03b, Always, "LDSM"),
    (0x03c, Always, "HMMA"),
    (0x03d, Always, "BMMA"),
    (0x03e, Always, "F2FP"),
    (0x03f, Always, "DMMA"),
    (0x040, Always, "HMNMX2"),
    (0x043, Always, "F2IP"),
    (0x044, Since(90), "STSM"),
    (0x045, Always, "I2FP"),
    (0x046, Since(90), "VIADDMNMX"),
    (0x048, Since(90), "VIMNMX"),
    (0x049, Since(100), "FFMA2"),
    (0x04a, Bit(91), "UVIMNMX"),
    (0x04a, Since(100), "FMUL2"),
    (0x04b, Since(100), "FADD2"),
    (0x04c, Since(100), "UVIRTCOUNT"),
    (0x05a, Since(100), "UI2F"),
    (0x05c, Since(100), "UF2I"),
    (0x05e, Since(100), "UI2FP"),
    (0x076, Since(100), "FMNMX3"),
    (0x07a, Since(100), "QMMA"),
    (0x07f, Since(100), "OMMA"),
    (0x082, Always, "UMOV"),
    (0x083, Always, "UP2UR"),
    (0x084, Always, "UR2UP"),
    (0x086, Always, "VOTEU"),
    (0x087, Always, "USEL"),
    (0x08c, Always, "UISETP"),
    (0x090, Always, "UIADD3"),
    (0x091, Always, "ULEA"),
    (0x092, Always, "ULOP3"),
    (0x096, Always, "UPRMT"),
    (0x097, Always, "UIADD3"),
    (0x099, Always, "USHF"),
    (0x09a, Always, "USGXT"),
    (0x09b, Always, "UBMSK"),
    (0x09c, Always, "UPLOP3"),
    (0x0a4, Always, "UIMAD"),
    (0x0a5, Always, "UIMAD"),
    (0x0b9, Always, "ULDC"),
    // From an address in a uniform register.
    (0x0bb, Always, "ULDC"),
    (0x0bd, Always, "UFLO"),
    (0x0be, Always, "UBREV"),
    (0x0bf, Always, "UPOPC"),
    (0x0ca, Always, "R2UR"),
    (0x0cb, Always, "CS2UR"),
    (0x0cc, Since(100), "CREDUX"),
    (0x100, Always, "FLO"),
    (0x101, Always, "BREV"),
    (0x102, Always, "FCHK"),
    (0x104, Always, "F2F"),
    (0x105, Always, "F2I"),
    (0x106, Always, "I2F"),
    (0x107, Always, "FRND"),
    (0x108, Always, "MUFU"),
    (0x109, Always, "POPC"),
    (0x110, Always, "F2F"),
    (0x111, Always, "F2I"),
    (0x112, Always, "I2F"),
    (0x113, Always, "FRND"),
    (0x118, Always, "NOP"),
    (0x119, Always, "S2R"),
    (0x11a, Always, "DEPBAR"),
    (0x11b, Since(90), "ENDCOLLECTIVE"),
    (0x11c, Always, "B2R"),
    (0x11d, Always, "BAR"),
    (0x11e, Always, "R2B"),
    (0x140, Since(100), "CCTL"),
    (0x141, Always, "BSYNC"),
    (0x142, Always, "BREAK"),
    (0x143, Always, "CALL"),
    (0x144, Always, "CALL"),
    (0x145, Always, "BSSY"),
    (0x146, Always, "YIELD"),
    (0x147, Always, "BRA"),
    (0x148, Always, "WARPSYNC"),
    (0x149, Always, "BRX"),
    (0x14a, Always, "JMP"),
    (0x14b, Always, "KILL"),
    (0x14c, Always, "JMX"),
    (0x14d, Always, "EXIT"),
    (0x14e, Always, "LEPC"),
    (0x14f, Always, "RTT"),
    (0x150, Always, "RET"),
    (0x152, Always, "RPCMOV"),
    (0x153, Always, "RPCMOV"),
    (0x155, Always, "BMOV"),
    (0x156, Always, "BMOV"),
    (0x15c, Always, "BPT"),
    (0x15d, Always, "NANOSLEEP"),
    (0x160, Always, "TEX"),
    (0x161, Always, "TEX"),
    (0x163, Always, "TLD4"),
    (0x164, Always, "TLD4"),
    (0x166, Always, "TLD"),
    (0x167, Always, "TLD"),
    (0x16c, Always, "TXD"),
    (0x16d, Always, "TXD"),
    (0x177, Since(100), "USTGR"),
    (0x178, Since(100), "UREDGR"),
    (0x17e, Since(100), "LDG"),
    (0x17f, Since(100), "STG"),
    (0x180, Always, "LD"),
    (0x181, Always, "LDG"),
    (0x182, Always, "LDC"),
    (0x183, Always, "LDL"),
    (0x184, Always, "LDS"),
    (0x185, Always, "ST"),
    (0x186, Always, "STG"),
    (0x187, Always, "STL"),
    (0x188, Always, "STS"),
    (0x189, Always, "SHFL"),
    (0x18a, Always, "ATOM"),
    (0x18b, Always, "ATOM"),
    (0x18c, Always, "ATOMS"),
    (0x18d, Always, "ATOMS"),
    (0x18e, Until(89), "RED"),
    (0x18e, Always, "REDG"),
    (0x18f, Always, "CCTL"),
    (0x190, Always, "CCTLL"),
    (0x192, Always, "MEMBAR"),
    (0x199, Always, "SULD"),
    (0x19a, Always, "SULD"),
    (0x19b, Always, "SUST"),
    (0x19c, Always, "SUST"),
    (0x19d, Always, "SUST"),
    (0x19e, Always, "SUST"),
    (0x19f, Always, "SURED"),
    (0x1a0, Always, "SURED"),
    (0x1a1, Always, "MATCH"),
    (0x1a2, Always, "ATOM"),
    (0x1a3, Always, "ATOMG"),
    (0x1a4, Since(90), "LDGMC"),
    (0x1a5, Since(90), "LDGMC"),
    (0x1a6, Until(89), "RED"),
    (0x1a6, Always, "REDG"),
    (0x1a7, Since(90), "SYNCS"),
    (0x1a8, Always, "ATOMG"),
    (0x1a9, Always, "ATOMG"),
    (0x1aa, Always, "QSPC"),
    (0x1ab, Form(2, 90), "CGAERRBAR"),
    (0x1ab, Always, "ERRBAR"),
    (0x1ac, Since(100), "LDCU"),
    (0x1ae, Always, "LDGSTS"),
    (0x1af, Always, "LDGDEPBAR"),
    (0x1b0, Always, "ARRIVES"),
    (0x1b1, Since(90), "SYNCS"),
    (0x1b2, Since(90), "SYNCS"),
    (0x1b4, Since(90), "UTMALDG"),
    (0x1b5, Since(90), "UTMASTG"),
    (0x1b6, Since(90), "UTMAREDG"),
    (0x1b7, Since(90), "UTMACMDFLUSH"),
    (0x1b8, Since(90), "UTMAPF"),
    (0x1b9, Since(90), "UTMACCTL"),
    (0x1ba, Since(90), "UBLKCP"),
    (0x1bb, Since(90), "UBLKRED"),
    (0x1bc, Since(90), "UBLKPF"),
    (0x1bd, Since(90), "STAS"),
    (0x1be, Since(90), "REDAS"),
    (0x1c2, Always, "R2UR"),
    (0x1c3, Always, "S2UR"),
    (0x1c4, Always, "REDUX"),
    (0x1c5, Since(90), "WARPGROUP"),
    (0x1c6, Since(90), "FENCE"),
    (0x1c7, Form(6, 90), "UCGABAR_WAIT"),
    (0x1c7, Since(90), "UCGABAR_ARV"),
    (0x1c8, Since(90), "USETMAXREG"),
    (0x1ca, Since(100), "UGETNEXTWORKID"),
    (0x1cb, Since(100), "UMEMSETS"),
    (0x1e3, Since(100), "UTCATOMSWS"),
    (0x1e6, Since(100), "UTCSHIFT"),
    (0x1e7, Since(100), "UTCCP"),
    (0x1e9, Since(100), "UTCBAR"),
    (0x1ea, Bit(73), "UTCQMMA"),
    (0x1ea, Bit(72), "UTCIMMA"),
    (0x1ea, Bit(63), "UTCOMMA"),
    (0x1ea, Since(100), "UTCHMMA"),
    (0x1ed, Since(100), "STTM"),
    (0x1ee, Since(100), "LDTM"),
    (0x1f0, Since(90), "HGMMA"),
    (0x1f1, Since(90), "IGMMA"),
    (0x1f2, Since(90), "BGMMA"),
    (0x1f3, Since(90), "QGMMA"),
];

fn mnemonic(word: u128, sm: u32) -> Option<&'static str> {
    let opcode = bits(word, 0, 9) as u16;
    let first = OPCODES.partition_point(|&(one, ..)| one < opcode);
    let rows = OPCODES[first..].iter().take_while(|&&(one, ..)| one == opcode);
    let applies = |when: When| match when {
        Always => true,
        Since(least) => sm >= least,
        Until(most) => sm <= most,
        Form(form, least) => sm >= least && bits(word, 9, 3) == form,
        Bit(bit) => bits(word, bit, 1) == 1,
    };
    rows.copied().find(|&(_, when, _)| applies(when)).map(|(_, _, mnemonic)| mnemonic)
}

/// The bits that are no operands.
pub(super) const fn shape(word: u128) -> u64 {
    bits(word, 0, 12) | bits(word, 72, 9) << 12
}

/// The mnemonic whose opcode is nearest to that of an unknown instruction, on this architecture.
pub(super) fn neighbour(word: u128, sm: u32) -> Option<&'static str> {
    let opcode = bits(word, 0, 9) as u16;
    let applies = |when: When| match when {
        Always | Bit(_) => true,
        Since(least) | Form(_, least) => sm >= least,
        Until(most) => sm <= most,
    };
    let known = OPCODES.iter().filter(|&&(_, when, _)| applies(when));
    known.min_by_key(|&&(one, ..)| one.abs_diff(opcode)).map(|&(_, _, mnemonic)| mnemonic)
}

pub(super) fn decode(word: Word, sm: u32) -> Option<Decoded> {
    let Word { offset, bits: raw } = word;
    let mnemonic = mnemonic(raw, sm)?;
    let guard = match bits(raw, 0, 9) {
        // Padding of zeros has no guard either.
        0 => Guard::Always,
        _ => guard(bits(raw, 12, 3), bits(raw, 15, 1)),
    };
    let next = offset + 16;
    // Branches have a second predicate, which is true if the first one alone decides.
    let second = bits(raw, 87, 4) != 7;
    // Distances count words of four bytes. Since sm_90 the lowest byte of a branch's stands apart.
    let words = signed(raw, 34, 48);
    let distance = match sm {
        ..90 => 4 * words,
        _ => 4 * (words << 8 | bits(raw, 16, 8) as i64),
    };
    let relative = || Some(displaced(next, distance));
    let barrier = || bits(raw, 16, 4) as u8;
    let (flow, otherwise) = match mnemonic {
        // Branches that look at the warp instead of a predicate (`.DIV`, `.CONV`, `.U`).
        "BRA" => (Flow::Branch(relative()), bits(raw, 32, 2) != 0 || bits(raw, 91, 1) != 0),
        "JMP" => (Flow::Branch(None), false),
        "BRX" | "JMX" => (Flow::Indirect, false),
        // Opcode 0x144 is relative, 0x143 absolute; a form of each takes a register.
        "CALL" if bits(raw, 0, 12) == 0x944 => (Flow::Call(relative()), false),
        "CALL" => (Flow::Call(None), false),
        "RET" => (Flow::Return, false),
        "EXIT" | "KILL" => (Flow::Exit, false),
        "BSSY" => {
            (Flow::Push(Region::Join(barrier()), displaced(next, 4 * signed(raw, 34, 30))), false)
        }
        "BSYNC" => (Flow::Pop(Region::Join(barrier())), false),
        _ => (Flow::Next, false),
    };
    let conditional = guard != Guard::Always || (second && flow != Flow::Next) || otherwise;
    let sized =
        matches!(mnemonic, "LD" | "LDG" | "LDC" | "LDL" | "LDS" | "ST" | "STG" | "STL" | "STS");
    let bytes = match bits(raw, 0, 9) {
        // `.ENL2.256`: two registers of 128 bits.
        0x17e | 0x17f => Some(32),
        _ if sized => access_bytes(bits(raw, 73, 3)),
        _ => None,
    };
    Some(Decoded {
        mnemonic,
        guard,
        flow,
        conditional,
        shape: shape(raw),
        bytes,
        assumed: None,
        is_half_of_double: mnemonic == "MUFU" && matches!(bits(raw, 74, 4), 6 | 7),
    })
}

/// Every mnemonic of the table.
#[cfg(test)]
pub(super) fn mnemonics() -> impl Iterator<Item = &'static str> {
    OPCODES.iter().map(|&(_, _, mnemonic)| mnemonic)
}

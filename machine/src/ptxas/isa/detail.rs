//! Fields besides the opcode that decide what an instruction waits for and which unit executes it.

use gpucast_simulation::code::FenceScope;

use super::{Decoder, Encoding, Word, access_bytes, bits};

/// The register that reads as zero.
const ZERO_REGISTER: u64 = 255;

/// The way in which warps meet at a barrier of their CTA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Meeting {
    /// The warp waits (`BAR.SYNC`, `BAR.RED`).
    Wait,
    /// The warp goes on (`BAR.ARV`).
    Arrive,
}

/// What the fields of an instruction say, by its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Detail {
    /// Nothing that is asked for.
    None,
    /// A multiplication has a result of 64 bits, or a conversion an operand of as many.
    Wide,
    /// An access.
    Address {
        /// All lanes share the address: no register of the lanes is part of it.
        is_uniform: bool,
        /// Bytes of one lane, where counting does not need them.
        bytes: Option<u32>,
    },
    /// A barrier of the CTA.
    Barrier(Meeting),
    /// Waits until a counter is low enough, and until others are zero.
    Counter {
        /// The counter; `None` if only `zero` counts.
        counter: Option<u8>,
        /// The most that it may be.
        most: u8,
        /// A bit for each counter that must be zero.
        zero: u64,
    },
    /// Multiplies matrices for a warpgroup, beside its warps.
    Product {
        /// True if a group of products ends with it.
        ends_group: bool,
    },
    /// Waits for asynchronous products, all but the latest ones.
    Products {
        /// Groups that may be outstanding.
        pending: u8,
    },
    /// Asks if a phase of an mbarrier is over.
    Phase,
    /// A fence.
    Fence(FenceScope),
}

impl Decoder {
    /// The detail of an instruction with this mnemonic.
    pub(in super::super) fn detail(self, mnemonic: &str, word: Word) -> Detail {
        match self.encoding {
            // Nothing is scheduled by this encoding's code.
            Encoding::Kepler => Detail::None,
            Encoding::Maxwell => of_maxwell(mnemonic, word.bits),
            Encoding::Volta { .. } => of_volta(mnemonic, word.bits),
        }
    }
}

fn of_maxwell(mnemonic: &str, raw: u128) -> Detail {
    // Sizes are 8, 16, 32 and 64 bits.
    let is_wide = || bits(raw, 8, 2) == 3 || bits(raw, 10, 2) == 3;
    match mnemonic {
        "F2F" | "F2I" | "I2F" | "I2I" if is_wide() => Detail::Wide,
        "LD" | "LDG" | "LDS" | "LDL" | "LDC" | "ST" | "STG" | "STS" | "STL" | "ATOM" | "ATOMS"
        | "RED" => Detail::Address { is_uniform: bits(raw, 8, 8) == ZERO_REGISTER, bytes: None },
        "BAR" => {
            Detail::Barrier(if bits(raw, 32, 3) == 1 { Meeting::Arrive } else { Meeting::Wait })
        }
        "DEPBAR" => Detail::Counter {
            counter: (bits(raw, 29, 1) == 1).then(|| bits(raw, 26, 3) as u8),
            most: bits(raw, 20, 6) as u8,
            zero: bits(raw, 0, 6),
        },
        "MEMBAR" => Detail::Fence(match bits(raw, 8, 2) {
            0 => FenceScope::Cta,
            1 => FenceScope::Gpu,
            _ => FenceScope::System,
        }),
        _ => Detail::None,
    }
}

fn of_volta(mnemonic: &str, raw: u128) -> Detail {
    let opcode = bits(raw, 0, 9);
    let address = |bytes| Detail::Address { is_uniform: bits(raw, 24, 8) == ZERO_REGISTER, bytes };
    match mnemonic {
        // `IMAD.WIDE` and `IMAD.HI`.
        "IMAD" if matches!(opcode, 0x025 | 0x027) => Detail::Wide,
        "F2F" | "F2I" | "I2F" | "FRND" if opcode >= 0x110 => Detail::Wide,
        "LDGSTS" => address(access_bytes(bits(raw, 73, 3))),
        // One, two or four matrices of eight rows, of which a lane holds a word each.
        "LDSM" | "STSM" => address(Some(4 << bits(raw, 72, 2).min(2))),
        "LD" | "LDG" | "LDS" | "LDL" | "LDC" | "ST" | "STG" | "STS" | "STL" | "ATOM" | "ATOMG"
        | "ATOMS" | "RED" | "REDG" | "LDGMC" | "STAS" | "REDAS" => address(None),
        // Bulk copies and constants of the uniform datapath have no address of a lane.
        "LDCU" | "UBLKCP" | "UBLKRED" | "UBLKPF" | "UTMALDG" | "UTMASTG" | "UTMAREDG"
        | "UTMAPF" => Detail::Address { is_uniform: true, bytes: None },
        "BAR" => {
            Detail::Barrier(if bits(raw, 77, 3) == 1 { Meeting::Arrive } else { Meeting::Wait })
        }
        "DEPBAR" => Detail::Counter {
            counter: (bits(raw, 47, 1) == 1).then(|| bits(raw, 44, 3) as u8),
            most: bits(raw, 38, 6) as u8,
            zero: bits(raw, 32, 6),
        },
        // `WARPGROUP.DEPBAR` has the flag of `DEPBAR`; the number stands elsewhere.
        "WARPGROUP" if bits(raw, 47, 1) == 1 => {
            Detail::Products { pending: bits(raw, 72, 3) as u8 }
        }
        // The group that it ends (`gsb0`); 7 is none.
        _ if mnemonic.ends_with("GMMA") => Detail::Product { ends_group: bits(raw, 84, 3) != 7 },
        // `SYNCS.PHASECHK` is a form of its own, with a predicate as its result.
        "SYNCS" if bits(raw, 0, 12) == 0x5a7 => Detail::Phase,
        "MEMBAR" => Detail::Fence(match bits(raw, 76, 3) {
            0 => FenceScope::Cta,
            1 | 2 => FenceScope::Gpu,
            _ => FenceScope::System,
        }),
        _ => Detail::None,
    }
}

#[cfg(test)]
mod tests {
    use gpucast_ptx_frontend::container::Target;

    use super::*;

    fn detail(sm: u32, mnemonic: &str, high: u64, low: u64) -> Detail {
        let bits = u128::from(high) << 64 | u128::from(low);
        let target = Target { sm, suffix: None };
        Decoder::of(target).unwrap().detail(mnemonic, Word { offset: 0, bits })
    }

    /// Words and their meaning are those of `nvdisasm -hex`.
    #[test]
    fn fields_of_volta_and_later_mean_what_the_vendors_disassembler_says() {
        use Detail as D;
        let uniform = |bytes| D::Address { is_uniform: true, bytes };
        let of_lanes = |bytes| D::Address { is_uniform: false, bytes };
        for (text, mnemonic, high, low, expected) in [
            (
                "BAR.SYNC 0x0",
                "BAR",
                0x000fec0000010000,
                0x0000000000007b1d,
                D::Barrier(Meeting::Wait),
            ),
            (
                "BAR.ARV 0x1, 0x40",
                "BAR",
                0x000fec0000002000,
                0x0041000000007b1d,
                D::Barrier(Meeting::Arrive),
            ),
            (
                "BAR.RED.POPC 0x0, P0",
                "BAR",
                0x000fec0000014000,
                0x0000000000007b1d,
                D::Barrier(Meeting::Wait),
            ),
            (
                "DEPBAR.LE SB0, 0x2",
                "DEPBAR",
                0x000fc80000000000,
                0x000080800000791a,
                D::Counter { counter: Some(0), most: 2, zero: 0 },
            ),
            (
                "WARPGROUP.DEPBAR.LE gsb0, 0x3",
                "WARPGROUP",
                0x000fc40000010300,
                0x00008000000079c5,
                D::Products { pending: 3 },
            ),
            (
                "HGMMA.64x128x16.F32.BF16 R88, gdesc[UR8], R88",
                "HGMMA",
                0x000fe20008701858,
                0x01e00000085879f0,
                D::Product { ends_group: false },
            ),
            (
                "HGMMA.64x128x16.F32.BF16 R88, gdesc[UR8], R88, gsb0",
                "HGMMA",
                0x000fe20008001858,
                0x01e00000085879f0,
                D::Product { ends_group: true },
            ),
            ("WARPGROUP.ARRIVE", "WARPGROUP", 0x000fcc0000000000, 0x00000000000079c5, D::None),
            (
                "SYNCS.PHASECHK.TRANS64.TRYWAIT",
                "SYNCS",
                0x000f220008000149,
                0x000000ffff0075a7,
                D::Phase,
            ),
            ("SYNCS.ARRIVE.TRANS64", "SYNCS", 0x0085e20008000009, 0x00000000ffff79a7, D::None),
            ("SYNCS.EXCH.64", "SYNCS", 0x0004e40008000100, 0x00000006093f75b2, D::None),
            (
                "MEMBAR.SC.CTA",
                "MEMBAR",
                0x000fec0000000000,
                0x0000000000007992,
                D::Fence(FenceScope::Cta),
            ),
            (
                "MEMBAR.SC.GPU",
                "MEMBAR",
                0x000fec0000002000,
                0x0000000000007992,
                D::Fence(FenceScope::Gpu),
            ),
            (
                "MEMBAR.SC.SYS",
                "MEMBAR",
                0x000fec0000003000,
                0x0000000000007992,
                D::Fence(FenceScope::System),
            ),
            (
                "LDGSTS.E.BYPASS.128 [R5], [R2.64]",
                "LDGSTS",
                0x0003e8000b901c44,
                0x0000000002057fae,
                of_lanes(Some(16)),
            ),
            (
                "LDGSTS.E [R5+0x40], [R2.64+0x40]",
                "LDGSTS",
                0x0004e8000b921844,
                0x0004004002057fae,
                of_lanes(Some(4)),
            ),
            (
                "LDGSTS.E.64 [R5+0x60], [R2.64+0x60]",
                "LDGSTS",
                0x0003e8000b921a44,
                0x0006006002057fae,
                of_lanes(Some(8)),
            ),
            (
                "LDSM.16.M88 R8, [R13]",
                "LDSM",
                0x000fe80000000000,
                0x000000000d08783b,
                of_lanes(Some(4)),
            ),
            (
                "LDSM.16.M88.4 R4, [R13+0x10]",
                "LDSM",
                0x000e620000000200,
                0x000010000d04783b,
                of_lanes(Some(16)),
            ),
            ("LDS R0, [UR4+0x8]", "LDS", 0x000ea40008000800, 0x00000804ff007984, uniform(None)),
            ("LDS R7, [R5]", "LDS", 0x000ee20000000800, 0x0000000005077984, of_lanes(None)),
            ("I2F.F64.U32 R4, R0", "I2F", 0x008ea40000201800, 0x0000000000047312, D::Wide),
            ("F2I.TRUNC.NTZ R7, R4", "F2I", 0x004ea4000020f100, 0x0000000400077305, D::None),
            (
                "IMAD.WIDE.U32 R2, R7, R2, c[0x0][0x160]",
                "IMAD",
                0x042fe200078e0002,
                0x0000580007027625,
                D::Wide,
            ),
            ("IMAD.HI.U32 R4, R0, R7, RZ", "IMAD", 0x000fe200078e00ff, 0x0000000700047227, D::Wide),
            (
                "IMAD R7, R4, c[0x0][0x168], R7",
                "IMAD",
                0x008fca00078e0207,
                0x00005a0004077a24,
                D::None,
            ),
        ] {
            assert_eq!(detail(90, mnemonic, high, low), expected, "{text}");
        }
    }

    /// Bits as the public assembler maxas writes them.
    #[test]
    fn fields_of_maxwell_mean_what_an_assembler_writes() {
        let arrive = Detail::Barrier(Meeting::Arrive);
        assert_eq!(detail(52, "BAR", 0, 0xf0a8_0000_0000_0000 | 1 << 32), arrive);
        let wait = Detail::Barrier(Meeting::Wait);
        assert_eq!(detail(52, "BAR", 0, 0xf0a8_0000_0000_0000 | 2 << 32), wait);
        let counter = Detail::Counter { counter: Some(5), most: 1, zero: 0 };
        let depbar = 0xf0f0_0000_0000_0000_u64;
        assert_eq!(detail(52, "DEPBAR", 0, depbar | 1 << 29 | 5 << 26 | 1 << 20), counter);
        let zero = Detail::Counter { counter: None, most: 0, zero: 0b100 };
        assert_eq!(detail(52, "DEPBAR", 0, depbar | 0b100), zero);
        let fence = Detail::Fence(FenceScope::Gpu);
        assert_eq!(detail(52, "MEMBAR", 0, 0xef98_0000_0000_0100), fence);
        // F2F.F32.F64, and F2F.F16.F32.
        assert_eq!(detail(52, "F2F", 0, 0x5ca8_0000_0000_0000 | 3 << 10 | 2 << 8), Detail::Wide);
        assert_eq!(detail(52, "F2F", 0, 0x5ca8_0000_0000_0000 | 2 << 10 | 1 << 8), Detail::None);
    }
}

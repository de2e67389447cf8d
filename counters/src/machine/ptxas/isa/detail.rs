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
        | "RED" => {
            Detail::Address { is_uniform: bits(raw, 8, 8) == ZERO_REGISTER, bytes: None }
        }
        "BAR" => Detail::Barrier(if bits(raw, 32, 3) == 1 { Meeting::Arrive } else { Meeting::Wait }),
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
    let address =
        |bytes| Detail::Address { is_uniform: bits(raw, 24, 8) == ZERO_REGISTER, bytes };
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
        "LDCU" | "UBLKCP" | "UBLKRED" | "UBLKPF" | "UTMALDG" | "UTMASTG" | "UTMAREDG" | "UTMAPF" => {
            Detail::Address { is_uniform: true, bytes: None }
        }
        "BAR" => Detail::Barrier(if bits(raw, 77, 3) == 1 { Meeting::Arrive } else { Meeting::Wait }),
        "DEPBAR" => Detail::Counter {
            counter: (bits(raw, 47, 1) == 1).then(|| bits(raw, 44, 3) as u8),
            most: bits(raw, 38, 6) as u8,
            zero: bits(raw, 32, 6),
        },
        // `WARPGROUP.DEPBAR` has the flag of `DEPBAR`; the number stands elsewhere.
        "WARPGROUP" if bits(raw, 47, 1) == 1 => {
            Detail::Products { pending: bits(raw, 72, 3) as u8 }
        }
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

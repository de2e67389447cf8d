//! The scheduling fields of instructions.
//!
//! ```text
//! bits 0–3 stall · 4 zero if the warp yields · 5–7 write barrier · 8–10 read barrier (7: none)
//! 11–16 barriers to wait for · 17–20 operands to keep for reuse
//! ```
//!
//! sm_50 … sm_62 have three such fields in the word before three instructions. Since sm_70 they are
//! bits 105–125 of the instruction. Four public decoders agree on them: those of maxas, turingas,
//! CuAssembler, and of Huerta et al. (MICRO 2025). Fields of sm_35 and sm_37 have eight bits and no
//! barriers: there the hardware finds out which operands are not there yet.

use gpucast_simulation::code::Control;

use super::{Decoder, Encoding, bits};

/// Bits of one instruction's fields.
const WIDTH: u32 = 21;

impl Decoder {
    /// The scheduling fields of each of [`Decoder::words`]; `None` if the encoding has no barriers.
    pub(in super::super) fn controls(self, code: &[u8]) -> Option<Vec<Control>> {
        match self.encoding {
            Encoding::Kepler => None,
            Encoding::Maxwell => Some(code.chunks(32).flat_map(of_group).collect()),
            Encoding::Volta { .. } => {
                let words = self.words(code).into_iter();
                Some(words.map(|word| control(bits(word.bits, 105, WIDTH))).collect())
            }
        }
    }
}

/// The fields of the instructions behind the first word of a group.
fn of_group(group: &[u8]) -> impl Iterator<Item = Control> {
    let mut words = group
        .chunks_exact(8)
        .map(|bytes| bytes.iter().rev().fold(0, |word, &byte| word << 8 | u128::from(byte)));
    let fields = words.next().unwrap_or_default();
    (0..).zip(words).map(move |(index, _)| control(bits(fields, WIDTH * index, WIDTH)))
}

fn control(fields: u64) -> Control {
    let field = |first: u32, count: u32| (fields >> first & ((1 << count) - 1)) as u8;
    let barrier = |first| Some(field(first, 3)).filter(|&barrier| barrier != 7);
    Control {
        stall: field(0, 4),
        yields: field(4, 1) == 0,
        write_barrier: barrier(5),
        read_barrier: barrier(8),
        wait_mask: u64::from(field(11, 6)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_those_that_an_assembler_writes() {
        // `B--2---:R1:W0:-:S04` in the notation of CuAssembler.
        let fields = 4 | 1 << 4 | 1 << 8 | 0b00_0100 << 11;
        let expected = Control {
            stall: 4,
            yields: false,
            write_barrier: Some(0),
            read_barrier: Some(1),
            wait_mask: 0b100,
        };
        assert_eq!(control(fields), expected);
        // `B------:R-:W-:Y:S15`, with an operand kept.
        let none = Control { stall: 15, yields: true, ..Control::NEXT };
        assert_eq!(control(15 | 7 << 5 | 7 << 8 | 1 << 17), none);
    }

    #[test]
    fn a_group_that_ends_early_has_the_fields_of_its_instructions_only() {
        let mut group = vec![0; 24];
        group[..8].copy_from_slice(&(2_u64 | 3 << WIDTH | 4 << (2 * WIDTH)).to_le_bytes());
        let stalls: Vec<u8> = of_group(&group).map(|control| control.stall).collect();
        assert_eq!(stalls, [2, 3]);
        assert_eq!(of_group(&[]).count(), 0);
    }
}

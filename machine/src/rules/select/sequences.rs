//! Instructions that some generations have and others replace by several: video instructions,
//! single bits of words, saturation.
//!
//! The sequences are those of a kernel with nothing but the instruction: `ptxas` 11.8 for sm_35,
//! 12.9 for sm_50, sm_75, sm_80 and sm_90.

use gpucast_ptx_frontend::isa::{Modifier, Opcode, opcode_facts};
use gpucast_ptx_frontend::types::ScalarType;

use super::super::family::{Family, Video};
use super::super::graph::Op;
use super::{Selected, Selection};

/// Names and counts.
type Sequence = &'static [(&'static str, u32)];

/// An instruction of bytes, halves or words, for machines that have none for it.
struct VideoRow {
    opcodes: &'static [Opcode],
    /// On Maxwell and Pascal; empty if they have the instruction.
    maxwell: Sequence,
    /// On Volta and later; empty if they have the instruction.
    volta: Sequence,
}

macro_rules! video {
    ($($($opcode:ident)+ => [$($m:literal $m_count:literal),*] [$($v:literal $v_count:literal),*];)+) => {
        &[$(VideoRow {
            opcodes: &[$(Opcode::$opcode),+],
            maxwell: &[$(($m, $m_count)),*],
            volta: &[$(($v, $v_count)),*],
        }),+]
    };
}

#[rustfmt::skip]
const VIDEO: &[VideoRow] = video! {
    Vadd Vsub   => [] ["PRMT" 2, "IADD3" 1];
    Vabsdiff    => [] ["PRMT" 2, "ISETP" 1, "IADD3" 1, "IMAD" 2];
    Vmin Vmax   => [] ["PRMT" 2, "ISETP" 2, "SEL" 1];
    Vshl        => [] ["PRMT" 2, "ISETP" 2, "SEL" 1, "SHF" 1];
    Vshr        => [] ["PRMT" 2, "LOP3" 1, "SHF" 1];
    Vmad        => [] ["PRMT" 2, "IMAD" 1];
    Vset        => [] ["PRMT" 2, "ISETP" 3, "SEL" 3];
    Vadd2 Vsub2 => ["IADD" 2, "LOP3" 2] ["IADD3" 2, "LOP3" 2];
    Vavrg2      => ["IADD" 1, "LOP3" 2, "SHR" 1] ["IADD3" 1, "LOP3" 2, "SHF" 1];
    Vabsdiff2   => ["I2I" 2, "IADD" 2, "LEA" 1, "PRMT" 7, "SHR" 1]
                   ["IABS" 2, "IADD3" 2, "LEA" 1, "PRMT" 7, "SHF" 1];
    Vmin2 Vmax2 => ["IMNMX" 2, "LOP3" 5] ["IMNMX" 2, "LOP3" 5];
    Vset2       => ["ISET" 2, "LOP3" 2, "PRMT" 7, "SHR" 2]
                   ["ISETP" 2, "LOP3" 2, "PRMT" 7, "SEL" 2, "SHF" 2];
    Vadd4 Vsub4 => ["IADD" 1, "LOP3" 4] ["IADD3" 1, "LOP3" 4];
    Vavrg4      => ["IADD" 8, "ISETP" 4, "PRMT" 15, "SHR" 4]
                   ["IADD3" 4, "IMAD" 4, "ISETP" 4, "PRMT" 15, "SHF" 4];
    Vmin4 Vmax4 => ["IMNMX" 4, "PRMT" 15] ["IMNMX" 4, "PRMT" 15];
    Vset4       => ["ISET" 4, "LOP3" 4, "PRMT" 15] ["ISETP" 4, "LOP3" 4, "PRMT" 15, "SEL" 4];
};

/// The search for the n-th bit, which no generation has.
const NTH_BIT: Sequence = &[
    ("POPC", 4),
    ("ISETP", 8),
    ("SHF", 7),
    ("SGXT", 4),
    ("IMAD", 11),
    ("IADD3", 6),
    ("LOP3", 2),
    ("BREV", 1),
    ("SEL", 3),
    ("PRMT", 2),
    ("PLOP3", 2),
    ("BRA", 5),
];
/// The same where bit fields are an instruction.
const NTH_BIT_OF_FIELDS: Sequence = &[
    ("POPC", 4),
    ("ISETP", 8),
    ("BFE", 7),
    ("IADD", 12),
    ("LOP", 2),
    ("SHL", 2),
    ("SEL", 3),
    ("PSETP", 2),
    ("MOV", 8),
    ("BRK", 2),
];

/// The instructions of an operation that only some generations have; `None` of others.
pub(super) fn expand(op: &Op<'_>, family: &Family) -> Option<Selection> {
    let machine = opcode_facts(op.opcode).machine;
    let before_volta = family.sets_numbers;
    Some(match op.opcode {
        Opcode::Fns => select(if before_volta { NTH_BIT_OF_FIELDS } else { NTH_BIT }),
        Opcode::Mad24 if before_volta => select(&[("BFE", 2), ("IMAD", 1)]),
        Opcode::Mad24 => select(&[("PRMT", 2), ("IMAD", 1)]),
        Opcode::Brev if before_volta => select(&[("BFE", 1)]),
        Opcode::Abs if before_volta && op.ty == ScalarType::S32 => select(&[("I2I", 1)]),
        Opcode::Sad if !family.lop3 => select(&[("ISAD", 1)]),
        Opcode::Cnot if before_volta && op.ty.bits() <= 32 => select(&[("ISET", 1), ("IADD", 1)]),
        Opcode::Cnot if op.ty.bits() <= 32 => select(&[("ISETP", 1), ("SEL", 1), ("IADD3", 1)]),
        Opcode::Add | Opcode::Sub
            if op.ty == ScalarType::S32 && op.has(Modifier::Sat) && !before_volta =>
        {
            select(&[("IADD3", 1), ("PLOP3", 2), ("SEL", 2)])
        }
        opcode => {
            let row = VIDEO.iter().find(|row| row.opcodes.contains(&opcode))?;
            let sequence = match family.video {
                Video::Simd => &[],
                Video::Scalar => row.maxwell,
                Video::None => row.volta,
            };
            if sequence.is_empty() {
                return Some(select(&[(machine, 1)]));
            }
            let mut selection = select(sequence);
            saturate_and_merge(op, &mut selection);
            selection
        }
    })
}

/// Saturation, and the operation with a third operand, if a video instruction is no instruction.
fn saturate_and_merge(op: &Op<'_>, selection: &mut Selection) {
    if op.has(Modifier::Sat) {
        selection.extend(select(&[
            ("ISETP", 2),
            ("LEA", 1),
            ("LOP3", 1),
            ("SEL", 1),
            ("SHF", 2),
            ("IMAD", 1),
        ]));
    }
    // A sum takes a third number for nothing.
    let is_sum = matches!(op.opcode, Opcode::Vadd | Opcode::Vsub);
    if op.has(Modifier::Add) && !is_sum {
        selection.push(Selected::new("IADD3", 1));
    } else if op.has(Modifier::Min) || op.has(Modifier::Max) {
        selection.push(Selected::new("IMNMX", 1));
    }
}

fn select(sequence: &[(&'static str, u32)]) -> Selection {
    sequence.iter().map(|&(mnemonic, count)| Selected::new(mnemonic, count)).collect()
}

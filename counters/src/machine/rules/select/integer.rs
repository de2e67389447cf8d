//! Integer arithmetic, comparisons, logic and shifts.

use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use smallvec::smallvec;

use super::super::family::{Family, Multiplier};
use super::super::graph::{Arg, Op, Part};
use super::{Selected, Selection};

pub(super) fn select(op: &Op<'_>, family: &Family, class: InstructionClass) -> Selection {
    use Opcode as O;
    let wide = op.ty.bits() == 64;
    let words = op.ty.bits().div_ceil(32);
    let of = |mnemonic, count| smallvec![Selected::new(mnemonic, class, count)];
    match op.opcode {
        O::Add | O::Sub | O::Addc | O::Subc | O::Neg | O::Not if words > 1 => {
            of(if family.iadd3 { "IADD3" } else { "IADD" }, words)
        }
        O::Add | O::Sub => of(if op.args.len() > 2 { "IADD3" } else { "IADD" }, 1),
        O::Mul | O::Mad | O::Madc => product(op, family),
        O::And | O::Or | O::Xor | O::Cnot if wide => of(logic(family), 2),
        O::And | O::Or | O::Xor | O::Not => of(logic(family), 1),
        O::Lop3 if !family.lop3 => of("LOP", 2),
        O::Lop3 => of("LOP3", 1),
        O::Shl | O::Shr if wide => of("SHF", shift_64(op, family)),
        O::Shl => of("SHL", 1),
        O::Shr => of("SHR", 1),
        O::Setp | O::Set if wide => of("ISETP", 2),
        O::Setp => of("ISETP", 1),
        O::Set => of("ISET", 1),
        O::Selp | O::Slct if wide => of("SEL", 2),
        O::Selp => of("SEL", 1),
        O::Min | O::Max if wide => {
            smallvec![Selected::new("ISETP", class, 2), Selected::new("SEL", class, 2)]
        }
        O::Min | O::Max => of("IMNMX", family.integer_minimum),
        other => of(name(other), words),
    }
}

/// The machine's name of an operation that is one instruction a word.
fn name(opcode: Opcode) -> &'static str {
    use Opcode as O;
    match opcode {
        O::Neg => "IADD",
        O::Abs => "IABS",
        O::Popc => "POPC",
        O::Clz | O::Bfind => "FLO",
        O::Brev => "BREV",
        O::Bfe => "BFE",
        O::Bfi => "BFI",
        O::Shf => "SHF",
        O::Szext => "SGXT",
        O::Bmsk => "BMSK",
        O::Sad => "VABSDIFF",
        O::Dp4a | O::Dp2a => "IDP",
        O::Slct => "ICMP",
        other => other.text(),
    }
}

fn logic(family: &Family) -> &'static str {
    if family.lop3 { "LOP3" } else { "LOP" }
}

/// Shifts of 64 bits by a literal take two instructions, by a register three or four.
fn shift_64(op: &Op<'_>, family: &Family) -> u32 {
    let literal = matches!(op.args.get(1), Some(Arg::Constant(_)));
    match (literal, family.multiplier) {
        (true, _) | (false, Multiplier::Xmad | Multiplier::ImadWide) => 2,
        (false, Multiplier::Imad) => 4,
    }
}

/// What kind of factor a product has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Factor {
    PowerOfTwo,
    /// A literal of 16 bits.
    Short,
    Any,
}

fn factor(op: &Op<'_>) -> Factor {
    let literal = op.args.iter().take(2).find_map(|arg| match arg {
        Arg::Constant(value) => Some(*value),
        _ => None,
    });
    match literal {
        Some(value) if value.is_power_of_two() => Factor::PowerOfTwo,
        Some(value) if value <= 0xffff => Factor::Short,
        _ => Factor::Any,
    }
}

/// Products, and products with a sum.
fn product(op: &Op<'_>, family: &Family) -> Selection {
    let adds = op.opcode != Opcode::Mul;
    let of = |mnemonic, count| smallvec![Selected::integer(mnemonic, count)];
    let factor = factor(op);
    let wide = op.ty.bits() == 64;
    match (op.part, family.multiplier) {
        (Part::Low, Multiplier::Imad | Multiplier::ImadWide) if !wide => {
            if factor == Factor::PowerOfTwo { of("LEA", 1) } else { of("IMAD", 1) }
        }
        (Part::Low, Multiplier::Xmad) if !wide => match factor {
            Factor::PowerOfTwo => of("ISCADD", 1),
            Factor::Short => of("XMAD", 2),
            Factor::Any => of("XMAD", 3),
        },
        // The low half of a 64-bit product: three partial products.
        (Part::Low, _) if factor == Factor::PowerOfTwo => of("LEA", if adds { 2 } else { 3 }),
        (Part::Low, Multiplier::ImadWide) => of("IMAD", 4),
        (Part::Low, Multiplier::Imad) => of("IMAD", 5),
        (Part::Low, Multiplier::Xmad) => of("XMAD", if adds { 16 } else { 14 }),
        (Part::High, Multiplier::Xmad) if !wide => of("XMAD", 5),
        (Part::High, _) if !wide => of("IMAD", 1),
        (Part::High, Multiplier::ImadWide) => of("IMAD", 9),
        (Part::High, Multiplier::Imad) => of("IMAD", 12),
        (Part::High, Multiplier::Xmad) => of("XMAD", 40),
        (Part::Wide, Multiplier::ImadWide) => of("IMAD", 1),
        (Part::Wide, Multiplier::Imad) => of("IMAD", 2),
        (Part::Wide, Multiplier::Xmad) => match (factor, adds) {
            (Factor::PowerOfTwo, false) => of("SHL", 2),
            (Factor::PowerOfTwo, true) => of("ISCADD", 3),
            (Factor::Short, false) => of("XMAD", 4),
            (Factor::Short, true) => of("XMAD", 6),
            (Factor::Any, false) => of("XMAD", 8),
            (Factor::Any, true) => of("XMAD", 10),
        },
    }
}

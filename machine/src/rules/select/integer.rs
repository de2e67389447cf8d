//! Integer arithmetic, comparisons, logic and shifts.

use gpucast_ptx_frontend::isa::{Opcode, opcode_facts};
use smallvec::smallvec;

use super::super::family::{Family, Multiplier};
use super::super::graph::{Arg, Graph, Op, Part};
use super::{Selected, Selection};

pub(super) fn select(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> Selection {
    use Opcode as O;
    let wide = op.ty.bits() == 64;
    let words = op.ty.bits().div_ceil(32);
    let of = |mnemonic, count| smallvec![Selected::new(mnemonic, count)];
    match op.opcode {
        O::Add | O::Sub | O::Addc | O::Subc | O::Neg | O::Not if words > 1 => {
            of(if family.iadd3 { "IADD3" } else { "IADD" }, words)
        }
        O::Add | O::Sub => of(if op.args.len() > 2 { "IADD3" } else { "IADD" }, 1),
        O::Mul | O::Mad | O::Madc => product(op, family),
        O::And | O::Or | O::Xor if wide => of(logic(family), halves_to_compute(graph, op)),
        O::Cnot if wide => of(logic(family), 2),
        O::And | O::Or | O::Xor | O::Not => of(logic(family), 1),
        O::Lop3 if !family.lop3 => of("LOP", 2),
        O::Lop3 => of("LOP3", 1),
        O::Shl | O::Shr if wide => of("SHF", shift_64(graph, op, family)),
        O::Min | O::Max if wide => {
            smallvec![Selected::new("ISETP", 2), Selected::new("SEL", 2)]
        }
        O::Min | O::Max => of("IMNMX", family.integer_minimum),
        other => of(opcode_facts(other).machine, words),
    }
}

fn logic(family: &Family) -> &'static str {
    if family.lop3 { "LOP3" } else { "LOP" }
}

/// Shifts of 64 bits by a literal take an instruction for each half that is neither zero nor a
/// copy. Shifts by a register take two to four.
fn shift_64(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> u32 {
    let signed = op.opcode == Opcode::Shr && op.ty.is_signed();
    let halves = match op.args.as_slice() {
        [_, Arg::Constant(32)] => u32::from(signed),
        [_, Arg::Constant(33..)] => 1 + u32::from(signed && !op.low_half_only),
        [arg, Arg::Constant(_)] if op.opcode == Opcode::Shr && !signed => {
            // Zeros move in from above.
            2 - u32::from(op.low_half_only || zero_halves(graph, *arg, DEPTH)[1])
        }
        [_, Arg::Constant(_)] => 2,
        _ if family.multiplier == Multiplier::Imad => 4,
        _ => 2,
    };
    if op.low_half_only { halves.min(1) } else { halves }
}

/// The depth, in operations, to which zeros are looked for.
const DEPTH: u32 = 4;

/// Halves of a 64-bit logic operation that are neither zero nor those of one argument.
fn halves_to_compute(graph: &Graph<'_>, op: &Op<'_>) -> u32 {
    let [left, right] = op.args.as_slice() else { return 2 };
    let zeros = [zero_halves(graph, *left, DEPTH), zero_halves(graph, *right, DEPTH)];
    let is_computed = |half: usize| {
        let is_known = |arg: &Arg| match arg {
            // All ones: of `and` a copy.
            Arg::Constant(value) => {
                op.opcode == Opcode::And && !(*value >> (32 * half)) as u32 == 0
            }
            _ => false,
        };
        !zeros[0][half] && !zeros[1][half] && !is_known(left) && !is_known(right)
    };
    u32::from(is_computed(0)) + u32::from(is_computed(1) && !op.low_half_only)
}

/// For each half of a 64-bit argument, true if it is known to be zero; the lower half comes first.
fn zero_halves(graph: &Graph<'_>, arg: Arg, depth: u32) -> [bool; 2] {
    if let Arg::Constant(value) = arg {
        return [value as u32 == 0, value >> 32 == 0];
    }
    let Some(index) = graph.value_of(arg).filter(|_| depth > 0) else { return [false; 2] };
    let op = graph.op(index);
    let of = |arg: &Arg| zero_halves(graph, *arg, depth - 1);
    match (op.opcode, op.args.as_slice()) {
        (Opcode::Cvt, _) => {
            let mut types = op.source.types();
            let (to, from) = (types.next(), types.next());
            let extended = to.is_some_and(|to| to.bits() == 64)
                && from.is_some_and(|from| from.bits() <= 32 && !from.is_signed());
            [false, extended]
        }
        (Opcode::Shr, [arg, Arg::Constant(by)]) if op.ty.bits() == 64 => {
            [false, !op.ty.is_signed() && (*by >= 32 || of(arg)[1])]
        }
        (Opcode::Shl, [_, Arg::Constant(by)]) if op.ty.bits() == 64 => [*by >= 32, false],
        (Opcode::And, [left, right]) if op.ty.bits() == 64 => {
            let (left, right) = (of(left), of(right));
            [left[0] || right[0], left[1] || right[1]]
        }
        (Opcode::Or | Opcode::Xor, [left, right]) if op.ty.bits() == 64 => {
            let (left, right) = (of(left), of(right));
            [left[0] && right[0], left[1] && right[1]]
        }
        _ => [false; 2],
    }
}

/// The kind of factor that a product has.
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
    let of = |mnemonic, count| smallvec![Selected::new(mnemonic, count)];
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
        (Part::Low, Multiplier::Xmad) => of("XMAD", if adds { 17 } else { 15 }),
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

//! Constants that the assembler holds against a range.

use super::{Misfit, misfit};
use crate::isa::{Modifier, Opcode, OperandShape};
use Allowed::{Between, Multiple, OneOf, UpTo};
use Opcode as O;

/// The allowed values of a constant.
#[derive(Clone, Copy)]
enum Allowed {
    /// From zero to this.
    UpTo(i128),
    /// From the first to the second.
    Between(i128, i128),
    /// One of these.
    OneOf(&'static [i128]),
    /// A multiple of this, from zero on.
    Multiple(i128),
}

/// A place for a constant, and the values that may stand there.
struct Row {
    opcodes: &'static [Opcode],
    /// A modifier that must stand there.
    modifier: Option<Modifier>,
    /// The operand's name in the table of forms.
    operand: &'static str,
    /// Meaning of the operand, in a sentence for people.
    meaning: &'static str,
    allowed: Allowed,
}

const BARRIERS: &[Opcode] = &[O::Bar, O::Barrier];

const ROWS: &[Row] = &[
    row(BARRIERS, "a", "the barrier's number", UpTo(15)),
    row(BARRIERS, "b", "the number of threads at the barrier", Multiple(32)),
    row(&[O::Bfe], "b", "the position of the bit field", UpTo(255)),
    row(&[O::Bfe], "c", "the length of the bit field", UpTo(255)),
    row(&[O::Bfi], "c", "the position of the bit field", UpTo(255)),
    row(&[O::Bfi], "e", "the length of the bit field", UpTo(255)),
    with(Modifier::Cg, row(&[O::CpAsync], "size", "the size of a copy past the L1", OneOf(&[16]))),
    row(&[O::CpAsync], "size", "the size of the copy", OneOf(&[4, 8, 16])),
    row(&[O::CpAsync], "source", "the number of bytes read", UpTo(16)),
    row(&[O::Applypriority, O::Discard], "size", "the size", OneOf(&[128])),
    row(&[O::MbarrierInit], "count", "the number of arrivals", Between(1, (1 << 20) - 1)),
    with(Modifier::Mask, row(&[O::Pmevent], "a", "the mask of events", UpTo(65_535))),
    row(&[O::Pmevent], "a", "the event's number", UpTo(15)),
    row(
        &[O::MbarrierTestWait, O::MbarrierTryWait],
        "phase",
        "the parity of the phase",
        OneOf(&[0, 1]),
    ),
    row(&[O::Fence, O::TensormapCpFenceproxy], "size", "the size", OneOf(&[128])),
    row(&[O::TraceMark], "a", "the mark's number", UpTo(4095)),
    row(&[O::FabricTryPullred], "membermask", "the mask of lanes", OneOf(&[0xFFFF_FFFF, -1])),
    row(&[O::StBulk], "size", "the number of bytes", Multiple(8)),
    row(&[O::StBulk], "init", "the value of each byte", OneOf(&[0])),
];

const fn row(
    opcodes: &'static [Opcode],
    operand: &'static str,
    meaning: &'static str,
    allowed: Allowed,
) -> Row {
    Row { opcodes, modifier: None, operand, meaning, allowed }
}

/// The row holds where a modifier stands.
const fn with(modifier: Modifier, row: Row) -> Row {
    Row { modifier: Some(modifier), ..row }
}

/// Checks that an integer constant is in the range of its place.
pub(super) fn in_range(
    opcode: Opcode,
    modifiers: &[Modifier],
    shape: &OperandShape,
    value: i128,
) -> Result<(), Misfit> {
    let holds = |row: &&Row| {
        row.opcodes.contains(&opcode)
            && row.operand == shape.name
            && row.modifier.is_none_or(|modifier| modifiers.contains(&modifier))
    };
    let Some(row) = ROWS.iter().find(holds) else { return Ok(()) };
    let (fits, wanted) = match row.allowed {
        UpTo(most) => ((0..=most).contains(&value), format!("from 0 to {most}")),
        Between(least, most) => {
            ((least..=most).contains(&value), format!("from {least} to {most}"))
        }
        Multiple(unit) => (value >= 0 && value % unit == 0, format!("a multiple of {unit}")),
        OneOf(values) => {
            let list: Vec<String> = values.iter().map(ToString::to_string).collect();
            (values.contains(&value), list.join(" or "))
        }
    };
    if fits {
        Ok(())
    } else {
        Err(misfit(format!("{} must be {wanted}, not {value}", row.meaning)))
    }
}

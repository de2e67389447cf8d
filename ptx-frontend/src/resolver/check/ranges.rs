//! Constants that the assembler holds against a range.

use super::{Misfit, misfit};
use crate::isa::{Modifier, Opcode, OperandShape};
use Allowed::{Between, Multiple, OneOf, UpTo};
use Opcode as O;

/// What a constant may be.
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

/// Mnemonics, a modifier that must stand there or nothing, the operand's name in the row, and
/// what it may be.
type Row = (&'static [Opcode], Option<Modifier>, &'static str, Allowed);

const BARRIERS: &[Opcode] = &[O::Bar, O::Barrier];

const ROWS: &[Row] = &[
    (BARRIERS, None, "a", UpTo(15)),
    (BARRIERS, None, "b", Multiple(32)),
    (&[O::Bfe], None, "b", UpTo(255)),
    (&[O::Bfe, O::Bfi], None, "c", UpTo(255)),
    (&[O::Bfi], None, "e", UpTo(255)),
    (&[O::CpAsync], Some(Modifier::Cg), "size", OneOf(&[16])),
    (&[O::CpAsync], None, "size", OneOf(&[4, 8, 16])),
    (&[O::CpAsync], None, "source", UpTo(16)),
    (&[O::Applypriority, O::Discard], None, "size", OneOf(&[128])),
    (&[O::MbarrierInit], None, "count", Between(1, (1 << 20) - 1)),
    (&[O::Pmevent], Some(Modifier::Mask), "a", UpTo(65_535)),
    (&[O::Pmevent], None, "a", UpTo(15)),
    (&[O::MbarrierTestWait, O::MbarrierTryWait], None, "phase", OneOf(&[0, 1])),
    (&[O::Fence], None, "size", OneOf(&[128])),
    (&[O::TensormapCpFenceproxy], None, "size", OneOf(&[128])),
    (&[O::TraceMark], None, "a", UpTo(4095)),
    (&[O::FabricTryPullred], None, "membermask", OneOf(&[0xFFFF_FFFF, -1])),
    (&[O::StBulk], None, "size", Multiple(8)),
    (&[O::StBulk], None, "init", OneOf(&[0])),
];

/// Whether an integer constant is in the range of its place.
pub(super) fn in_range(
    opcode: Opcode,
    modifiers: &[Modifier],
    shape: &OperandShape,
    value: i128,
) -> Result<(), Misfit> {
    let holds = |row: &&Row| {
        row.0.contains(&opcode)
            && row.2 == shape.name
            && row.1.is_none_or(|modifier| modifiers.contains(&modifier))
    };
    let Some((.., allowed)) = ROWS.iter().find(holds) else { return Ok(()) };
    let (fits, wanted) = match *allowed {
        UpTo(most) => ((0..=most).contains(&value), format!("is a number from 0 to {most}")),
        Between(least, most) => {
            ((least..=most).contains(&value), format!("is a number from {least} to {most}"))
        }
        Multiple(unit) => (value >= 0 && value % unit == 0, format!("is a multiple of {unit}")),
        OneOf(values) => {
            let list: Vec<String> = values.iter().map(ToString::to_string).collect();
            (values.contains(&value), format!("is {}", list.join(" or ")))
        }
    };
    if fits { Ok(()) } else { Err(misfit(format!("`{}` {wanted}, not {value}", shape.name))) }
}

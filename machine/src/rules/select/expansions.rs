//! Operations that the machine has no instruction for, and their expansions.
//!
//! The counts are those of the instructions that run when the fast path is taken. Quotients and
//! roots of ordinary numbers leave out the call of the slow path, but not the instructions that
//! bring its lanes together again (`SSY`; `BSSY` and `BSYNC`). They were read from the machine code
//! of a kernel with nothing but the operation: `ptxas` 11.8 for sm_35 (Kepler), 12.9 for sm_50
//! (Maxwell and Pascal) and sm_80 (Volta and later). Fermi has Kepler's counts, except where a
//! column of its own gives those that the instruction counts of a GTX 480 require (Konstantinidis
//! 2017, table 5.16). There, quotients and reciprocals run Kepler's slow path, without the check
//! that leads around it.

use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::types::ScalarType;

use super::super::family::{Expansions, Family};
use super::super::graph::{Arg, Graph, Op, Part};
use super::{Selected, Selection};

/// The number of instructions of each kind.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    integer: u32,
    fp32: u32,
    fp64: u32,
    /// Multiply-adds among the arithmetic of the operation's own format.
    multiply_adds: u32,
    /// Products among it.
    products: u32,
    /// Products and sums that bring numbers too small or large for a `MUFU` into its range and
    /// back. They are guarded, so that no thread executes them for ordinary numbers.
    scalings: u32,
    /// Sums among it.
    sums: u32,
    /// `MUFU`.
    special: u32,
    convert: u32,
    control: u32,
    misc: u32,
}

/// The condition that sets one row of the table apart from others of the same mnemonic and type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Always,
    /// This modifier is there.
    With(Modifier),
    /// The second argument is a literal.
    Literal,
}

/// A row: the operation, and its steps by generation.
struct Expansion {
    opcode: Opcode,
    ty: &'static [ScalarType],
    when: When,
    /// The steps on Fermi, if they are not Kepler's.
    fermi: Option<Steps>,
    kepler: Steps,
    maxwell: Steps,
    volta: Steps,
}

impl Expansion {
    const fn steps(&self, column: Expansions) -> &Steps {
        match (column, &self.fermi) {
            (Expansions::Fermi, Some(fermi)) => fermi,
            (Expansions::Fermi, None) | (Expansions::Kepler, _) => &self.kepler,
            (Expansions::Maxwell, _) => &self.maxwell,
            (Expansions::Volta, _) => &self.volta,
        }
    }
}

const NONE: Steps = Steps {
    integer: 0,
    fp32: 0,
    fp64: 0,
    multiply_adds: 0,
    products: 0,
    scalings: 0,
    sums: 0,
    special: 0,
    convert: 0,
    control: 0,
    misc: 0,
};

macro_rules! steps {
    ($($field:ident $count:literal),*) => { Steps { $($field: $count,)* ..NONE } };
}

macro_rules! expansions {
    (@fermi) => { None };
    (@fermi { $($f:tt)* }) => { Some(steps!($($f)*)) };
    ($($opcode:ident $ty:ident $when:expr =>
        $(fermi $fermi:tt)? { $($k:tt)* } { $($m:tt)* } { $($v:tt)* })*) => {
        &[$(Expansion {
            opcode: Opcode::$opcode,
            ty: $ty,
            when: $when,
            fermi: expansions!(@fermi $($fermi)?),
            kepler: steps!($($k)*),
            maxwell: steps!($($m)*),
            volta: steps!($($v)*),
        }),*]
    };
}

const F32: &[ScalarType] = &[ScalarType::F32];
const F64: &[ScalarType] = &[ScalarType::F64];
const S16: &[ScalarType] = &[ScalarType::S16, ScalarType::U16];
const S32: &[ScalarType] = &[ScalarType::S32];
const U32: &[ScalarType] = &[ScalarType::U32];
const S64: &[ScalarType] = &[ScalarType::S64];
const U64: &[ScalarType] = &[ScalarType::U64];
const B32: &[ScalarType] = &[ScalarType::B32, ScalarType::U32, ScalarType::S32];
const B64: &[ScalarType] = &[ScalarType::B64, ScalarType::U64, ScalarType::S64];
const FTZ: When = When::With(Modifier::Ftz);
const APPROX: When = When::With(Modifier::Approx);
const FULL: When = When::With(Modifier::Full);
const ALWAYS: When = When::Always;
const LITERAL: When = When::Literal;

/// The first row that fits counts. `MUFU`s of a quotient are no special functions that anybody
/// asked for, but profilers count them so.
#[rustfmt::skip]
const TABLE: &[Expansion] = expansions! {
    // Quotients by a literal are not turned into products by `ptxas`; compilers do so before.
    Div S32 LITERAL =>
        { integer 13, convert 3, special 1 }
        { integer 25, convert 3, special 1, misc 1 } { integer 13, convert 2, special 1, misc 2 }
    Div U32 LITERAL =>
        { integer 10, convert 2, special 1 }
        { integer 22, convert 2, special 1, misc 1 } { integer 10, convert 2, special 1, misc 1 }
    Rem S32 LITERAL =>
        { integer 11, convert 3, special 1 }
        { integer 25, convert 3, special 1, misc 1 } { integer 13, convert 2, special 1, misc 2 }
    Rem U32 LITERAL =>
        { integer 9, convert 2, special 1 }
        { integer 21, convert 2, special 1, misc 1 } { integer 9, convert 2, special 1, misc 1 }
    Div S32 ALWAYS =>
        { integer 15, convert 4, special 1 }
        { integer 28, convert 5, special 1 } { integer 17, convert 2, special 1, misc 4 }
    Div U32 ALWAYS =>
        { integer 12, convert 2, special 1 }
        { integer 26, convert 2, special 1, misc 1 } { integer 12, convert 2, special 1, misc 3 }
    Rem S32 ALWAYS =>
        { integer 13, convert 4, special 1 }
        { integer 26, convert 5, special 1 } { integer 17, convert 2, special 1, misc 2 }
    Rem U32 ALWAYS =>
        { integer 11, convert 2, special 1 }
        { integer 25, convert 2, special 1, misc 1 } { integer 11, convert 2, special 1, misc 3 }
    // A subroutine; its path depends on the size of the numbers.
    Div S64 ALWAYS =>
        { integer 67, convert 2, special 1, control 2, misc 8 }
        { integer 180, convert 2, special 1, control 2 } { integer 76, convert 2, special 1, control 2, misc 7 }
    Div U64 ALWAYS =>
        { integer 54, convert 2, special 1, control 2, misc 8 }
        { integer 167, convert 2, special 1, control 2 } { integer 60, convert 2, special 1, control 2, misc 7 }
    Rem S64 ALWAYS =>
        { integer 64, convert 2, special 1, control 2, misc 6 }
        { integer 176, convert 2, special 1, control 2 } { integer 72, convert 2, special 1, control 2, misc 7 }
    Rem U64 ALWAYS =>
        { integer 52, convert 2, special 1, control 2, misc 6 }
        { integer 163, convert 2, special 1, control 2 } { integer 56, convert 2, special 1, control 2, misc 7 }
    Div S16 ALWAYS =>
        { integer 5, fp32 2, products 3, special 1, convert 3, control 2, misc 2 }
        { integer 5, fp32 2, products 3, special 1, convert 3, control 2, misc 2 } { integer 3, fp32 4, products 3, special 1, convert 3, control 2, misc 5 }
    Rem S16 ALWAYS =>
        { integer 7, fp32 2, products 3, special 1, convert 3, control 2, misc 2 }
        { integer 7, fp32 2, products 3, special 1, convert 3, control 2, misc 2 } { integer 5, fp32 4, products 3, special 1, convert 3, control 2, misc 5 }

    Div F32 When::With(Modifier::Rn) =>
        fermi { multiply_adds 8, special 1, integer 8, control 4, misc 1 } { fp32 1, multiply_adds 5, special 1, control 1, misc 1 }
        { fp32 1, multiply_adds 5, special 1, control 2 } { fp32 1, multiply_adds 5, special 1, control 3 }
    Div F32 FULL =>
        { fp32 2, products 1, scalings 4, special 1 }
        { fp32 2, products 1, scalings 4, special 1 } { fp32 2, products 1, scalings 4, special 1 }
    Div F32 APPROX =>
        { fp32 1, products 1, scalings 2, special 1 }
        { fp32 1, products 1, scalings 2, special 1 } { fp32 1, products 1, scalings 2, special 1 }
    Div F64 ALWAYS =>
        { fp32 3, multiply_adds 7, products 1, special 1, control 2 }
        { fp32 3, multiply_adds 7, products 1, special 1, control 2, integer 1, misc 2 } { fp32 3, multiply_adds 7, products 1, special 1, control 3, misc 1 }
    Rcp F32 FTZ =>
        { special 1 }
        { special 1 } { special 1 }
    Rcp F32 APPROX =>
        { fp32 2, products 2, integer 2, special 1, misc 1 }
        { fp32 2, products 2, integer 2, special 1, misc 1 } { fp32 4, products 2, special 1, misc 1 }
    Rcp F32 ALWAYS =>
        fermi { multiply_adds 2, special 1, integer 3, control 4 } { sums 1, multiply_adds 2, integer 3, special 1, control 2 }
        { sums 1, multiply_adds 2, integer 3, special 1, control 2 } { sums 1, multiply_adds 2, integer 3, special 1, control 3 }
    Rcp F64 ALWAYS =>
        { fp32 1, multiply_adds 5, integer 1, special 1, control 1, misc 1 }
        { fp32 1, multiply_adds 5, integer 1, special 1, control 2 } { fp32 1, multiply_adds 5, integer 1, special 1, control 3 }
    // `rsqrt` and `rcp` of it before Pascal.
    Sqrt F32 FTZ =>
        { special 2 }
        { special 2 } { special 1 }
    Sqrt F32 APPROX =>
        { fp32 1, scalings 2, special 2 }
        { fp32 1, scalings 2, special 2 } { fp32 1, scalings 2, special 1 }
    Sqrt F32 ALWAYS =>
        fermi { multiply_adds 2, products 2, special 1, integer 2, control 4, misc 2 } { multiply_adds 2, products 2, integer 2, special 1, control 2 }
        { multiply_adds 2, products 2, integer 2, special 1, control 2 } { multiply_adds 2, products 2, integer 2, special 1, control 3 }
    Sqrt F64 ALWAYS =>
        { multiply_adds 5, products 3, integer 3, special 1, control 1, misc 3 }
        { multiply_adds 5, products 3, integer 3, special 1, control 2, misc 3 } { multiply_adds 5, products 3, integer 3, special 1, control 3, misc 3 }
    Rsqrt F32 FTZ =>
        { special 1 }
        { special 1 } { special 1 }
    Rsqrt F32 ALWAYS =>
        { fp32 1, scalings 2, special 1 }
        { fp32 1, scalings 2, special 1 } { fp32 1, scalings 2, special 1 }
    Rsqrt F64 ALWAYS =>
        { multiply_adds 3, products 2, integer 2, special 1, control 1, misc 3 }
        { multiply_adds 3, products 2, integer 2, special 1, control 2, misc 3 } { multiply_adds 3, products 2, integer 2, special 1, control 3, misc 3 }
    // `RRO` reduces the range before Volta, a product afterwards.
    Sin F32 ALWAYS =>
        { fp32 1, special 1 }
        { fp32 1, special 1 } { products 1, special 1 }
    Cos F32 ALWAYS =>
        { fp32 1, special 1 }
        { fp32 1, special 1 } { products 1, special 1 }
    Ex2 F32 FTZ =>
        { fp32 1, special 1 }
        { fp32 1, special 1 } { special 1 }
    Ex2 F32 ALWAYS =>
        { fp32 2, scalings 2, special 1 }
        { fp32 2, scalings 2, special 1 } { fp32 1, scalings 2, special 1 }
    Lg2 F32 FTZ =>
        { special 1 }
        { special 1 } { special 1 }
    Lg2 F32 ALWAYS =>
        { fp32 1, scalings 2, special 1 }
        { fp32 1, scalings 2, special 1 } { fp32 1, scalings 2, special 1 }

    Popc B64 ALWAYS =>
        { integer 3 }
        { integer 3 } { integer 3 }
    Clz B32 ALWAYS =>
        { integer 2 }
        { integer 2 } { integer 2 }
    Clz B64 ALWAYS =>
        { integer 4, misc 1 }
        { integer 4 } { integer 5, misc 1 }
    // One instruction on Maxwell, a shift and a mask or permutation since Volta.
    Bfe B32 LITERAL =>
        { integer 1 }
        { integer 1 } { integer 2 }
    Bfe B32 ALWAYS =>
        { integer 2 }
        { integer 2 } { integer 2, misc 3 }
    Bfi B32 ALWAYS =>
        { integer 1 }
        { integer 1 } { integer 2 }
    Mul24 B32 ALWAYS =>
        { integer 3 }
        { integer 5 } { integer 1, misc 2 }
    Min F64 ALWAYS =>
        { fp64 1 }
        { fp64 1 } { fp32 1, fp64 1, integer 2, misc 3 }
    Max F64 ALWAYS =>
        { fp64 1 }
        { fp64 1 } { fp32 1, fp64 1, integer 2, misc 3 }
    Abs S64 ALWAYS =>
        { fp32 1, integer 2, convert 1, misc 2 }
        { integer 6 } { integer 5 }
    Min S64 ALWAYS =>
        { integer 2 }
        { integer 2 } { integer 4 }
    Max S64 ALWAYS =>
        { integer 2 }
        { integer 2 } { integer 4 }
    Min U64 ALWAYS =>
        { integer 2 }
        { integer 2 } { integer 4 }
    Max U64 ALWAYS =>
        { integer 2 }
        { integer 2 } { integer 4 }
};

/// The instructions of an operation that the table expands, `None` if it is none of those.
pub(super) fn expand(graph: &Graph<'_>, op: &Op<'_>, family: &Family) -> Option<Selection> {
    if op.part != Part::Low {
        return None;
    }
    if divides_again(graph, op) {
        return Some(selection(op, &steps!(products 1, scalings 2)));
    }
    if reduces_again(graph, op) {
        return Some(selection(op, &steps!(special 1)));
    }
    let literal = matches!(op.args.get(1), Some(Arg::Constant(_)));
    let fits = |row: &&Expansion| {
        row.opcode == op.opcode
            && row.ty.contains(&op.ty)
            && match row.when {
                When::Always => true,
                When::With(modifier) => op.has(modifier),
                When::Literal => literal,
            }
    };
    let row = TABLE.iter().find(fits)?;
    Some(selection(op, row.steps(family.expansions)))
}

/// Returns true if an earlier quotient of the same block left the scaled reciprocal of an
/// approximate quotient's divisor.
fn divides_again(graph: &Graph<'_>, op: &Op<'_>) -> bool {
    let Some(Arg::Register(divisor)) = op.args.get(1) else { return false };
    let approximate = |op: &Op<'_>| {
        op.opcode == Opcode::Div
            && op.ty == ScalarType::F32
            && op.guard.is_none()
            && (op.has(Modifier::Full) || op.has(Modifier::Approx))
            && op.args.get(1) == Some(&Arg::Register(*divisor))
    };
    approximate(op)
        && graph.value(*divisor).is_some()
        && graph.uses(*divisor).iter().any(|&user| {
            let other = graph.op(user);
            other.block == op.block
                && other.is_live()
                && other.source.span.start < op.source.span.start
                && approximate(other)
        })
}

/// Returns true if the range of an angle has been reduced for an earlier sine or cosine of the same
/// block.
fn reduces_again(graph: &Graph<'_>, op: &Op<'_>) -> bool {
    let turns = |op: &Op<'_>| matches!(op.opcode, Opcode::Sin | Opcode::Cos) && op.guard.is_none();
    let [Arg::Register(angle)] = op.args.as_slice() else { return false };
    turns(op)
        && graph.value(*angle).is_some()
        && graph.uses(*angle).iter().any(|&user| {
            let other = graph.op(user);
            other.block == op.block
                && other.is_live()
                && other.source.span.start < op.source.span.start
                && turns(other)
        })
}

fn selection(op: &Op<'_>, steps: &Steps) -> Selection {
    let own =
        if op.ty == ScalarType::F64 { ["DFMA", "DMUL", "DADD"] } else { ["FFMA", "FMUL", "FADD"] };
    let all = [
        Selected::new("IADD3", steps.integer),
        Selected::new("FSETP", steps.fp32),
        Selected::new("DSETP", steps.fp64),
        Selected::new(own[0], steps.multiply_adds),
        Selected::new(own[1], steps.products),
        Selected::new(own[2], steps.sums),
        Selected { is_idle: true, ..Selected::new(own[1], steps.scalings) },
        Selected::new("MUFU", steps.special),
        Selected::new("F2F", steps.convert),
        Selected::new("BRA", steps.control),
        Selected::new("MOV", steps.misc),
    ];
    all.into_iter().filter(|selected| selected.count > 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Totals as `ptxas` 12.9 makes them for sm_50 and sm_80.
    #[test]
    fn expansions_are_as_long_as_the_assembler_makes_them() {
        let total = |opcode, ty, when: When| {
            let row = TABLE
                .iter()
                .find(|row| row.opcode == opcode && row.ty.contains(&ty) && row.when == when)
                .unwrap();
            let sum = |steps: &Steps| {
                steps.integer
                    + steps.fp32
                    + steps.fp64
                    + steps.multiply_adds
                    + steps.products
                    + steps.scalings
                    + steps.sums
                    + steps.special
                    + steps.convert
                    + steps.control
                    + steps.misc
            };
            (sum(&row.maxwell), sum(&row.volta))
        };
        assert_eq!(total(Opcode::Div, ScalarType::S32, ALWAYS), (34, 24));
        assert_eq!(total(Opcode::Div, ScalarType::U32, ALWAYS), (30, 18));
        assert_eq!(total(Opcode::Rem, ScalarType::U32, LITERAL), (25, 13));
        assert_eq!(total(Opcode::Div, ScalarType::F32, When::With(Modifier::Rn)), (9, 10));
        assert_eq!(total(Opcode::Div, ScalarType::F64, ALWAYS), (17, 16));
        assert_eq!(total(Opcode::Rcp, ScalarType::F32, APPROX), (8, 8));
        assert_eq!(total(Opcode::Sqrt, ScalarType::F64, ALWAYS), (17, 18));
        assert_eq!(total(Opcode::Div, ScalarType::S64, ALWAYS), (185, 88));
        assert_eq!(total(Opcode::Ex2, ScalarType::F32, ALWAYS), (5, 4));
    }
}

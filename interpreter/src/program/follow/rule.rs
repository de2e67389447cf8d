//! How the result of an operation moves if its operands do.

use super::super::op::Code;

/// The kind of an operation on whole numbers whose operands may move with the CTA's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// `a`.
    Copy,
    /// The low 32 bits of `a`.
    Low,
    /// The high 32 bits of `a`.
    High,
    /// `a` in 64 bits.
    Widen { signed: bool },
    /// `a + b`.
    Add,
    /// `a - b`.
    Subtract,
    /// `-a`.
    Negate,
    /// `-a - 1`.
    Complement,
    /// The low half of `a · b`.
    Multiply,
    /// The low half of `a · b`, plus `c`.
    MultiplyAdd,
    /// `a · b` of two narrow numbers.
    MultiplyWide { signed: bool },
    /// `a · b + c` of two narrow numbers and a wide one.
    MultiplyAddWide { signed: bool },
    /// The high half of `a · b`.
    MultiplyHigh { signed: bool },
    /// `a << b`.
    ShiftLeft,
    /// `a >> b`.
    ShiftRight { signed: bool },
    /// `a / b`.
    Divide { signed: bool },
    /// `a % b`.
    Remainder { signed: bool },
    /// `a & b`.
    And,
    /// `a | b` and `a ^ b`.
    OrXor,
    /// The lesser or the greater one of `a` and `b`.
    Extremum { signed: bool, greater: bool },
    /// `|a|`.
    Absolute,
    /// `c` bits of `a` from bit `b` on.
    Extract,
    /// `a` or `b`, as a predicate says.
    Select,
    /// A predicate of `a` and `b`.
    Compare(Comparison),
    /// `a` of another lane.
    Shuffle,
}

/// A relation of two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    Less { signed: bool },
    LessOrEqual { signed: bool },
}

/// A rule, and the width of the operands `a` and `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    pub(crate) rule: Rule,
    /// True for 64 bits, false for 32.
    pub(crate) wide: bool,
}

impl Followed {
    /// The rule of a code that has one.
    pub(crate) fn of(code: Code) -> Option<Self> {
        use Rule as R;
        let (wide, rule) = match code {
            Code::Mov32 => (false, R::Copy),
            Code::Mov64 => (true, R::Copy),
            Code::Low32 => (true, R::Low),
            Code::High32 => (true, R::High),
            Code::ZeroExtend32 => (false, R::Widen { signed: false }),
            Code::SignExtend32To64 => (false, R::Widen { signed: true }),
            Code::Add32 => (false, R::Add),
            Code::Add64 => (true, R::Add),
            Code::Sub32 => (false, R::Subtract),
            Code::Sub64 => (true, R::Subtract),
            Code::NegS32 => (false, R::Negate),
            Code::NegS64 => (true, R::Negate),
            Code::Not32 => (false, R::Complement),
            Code::Not64 => (true, R::Complement),
            Code::MulLo32 => (false, R::Multiply),
            Code::MulLo64 => (true, R::Multiply),
            Code::MadLo32 => (false, R::MultiplyAdd),
            Code::MadLo64 => (true, R::MultiplyAdd),
            Code::MulWideU32 => (false, R::MultiplyWide { signed: false }),
            Code::MulWideS32 => (false, R::MultiplyWide { signed: true }),
            Code::MadWideU32 => (false, R::MultiplyAddWide { signed: false }),
            Code::MadWideS32 => (false, R::MultiplyAddWide { signed: true }),
            Code::MulHiU32 => (false, R::MultiplyHigh { signed: false }),
            Code::MulHiS32 => (false, R::MultiplyHigh { signed: true }),
            Code::Shl32 => (false, R::ShiftLeft),
            Code::Shl64 => (true, R::ShiftLeft),
            Code::ShrU32 => (false, R::ShiftRight { signed: false }),
            Code::ShrS32 => (false, R::ShiftRight { signed: true }),
            Code::ShrU64 => (true, R::ShiftRight { signed: false }),
            Code::ShrS64 => (true, R::ShiftRight { signed: true }),
            Code::DivU32 => (false, R::Divide { signed: false }),
            Code::DivS32 => (false, R::Divide { signed: true }),
            Code::DivU64 => (true, R::Divide { signed: false }),
            Code::DivS64 => (true, R::Divide { signed: true }),
            Code::RemU32 => (false, R::Remainder { signed: false }),
            Code::RemS32 => (false, R::Remainder { signed: true }),
            Code::RemU64 => (true, R::Remainder { signed: false }),
            Code::RemS64 => (true, R::Remainder { signed: true }),
            Code::And32 => (false, R::And),
            Code::And64 => (true, R::And),
            Code::Or32 | Code::Xor32 => (false, R::OrXor),
            Code::Or64 | Code::Xor64 => (true, R::OrXor),
            Code::MinU32 => (false, R::Extremum { signed: false, greater: false }),
            Code::MinS32 => (false, R::Extremum { signed: true, greater: false }),
            Code::MinU64 => (true, R::Extremum { signed: false, greater: false }),
            Code::MinS64 => (true, R::Extremum { signed: true, greater: false }),
            Code::MaxU32 => (false, R::Extremum { signed: false, greater: true }),
            Code::MaxS32 => (false, R::Extremum { signed: true, greater: true }),
            Code::MaxU64 => (true, R::Extremum { signed: false, greater: true }),
            Code::MaxS64 => (true, R::Extremum { signed: true, greater: true }),
            Code::AbsS32 => (false, R::Absolute),
            Code::AbsS64 => (true, R::Absolute),
            Code::BfeU32 => (false, R::Extract),
            Code::Select32 => (false, R::Select),
            Code::Select64 => (true, R::Select),
            Code::Shuffle => (false, R::Shuffle),
            Code::Eq32 => (false, R::Compare(Comparison::Equal)),
            Code::Eq64 => (true, R::Compare(Comparison::Equal)),
            Code::LtU32 => (false, R::Compare(Comparison::Less { signed: false })),
            Code::LtS32 => (false, R::Compare(Comparison::Less { signed: true })),
            Code::LtU64 => (true, R::Compare(Comparison::Less { signed: false })),
            Code::LtS64 => (true, R::Compare(Comparison::Less { signed: true })),
            Code::LeU32 => (false, R::Compare(Comparison::LessOrEqual { signed: false })),
            Code::LeS32 => (false, R::Compare(Comparison::LessOrEqual { signed: true })),
            Code::LeU64 => (true, R::Compare(Comparison::LessOrEqual { signed: false })),
            Code::LeS64 => (true, R::Compare(Comparison::LessOrEqual { signed: true })),
            _ => return None,
        };
        Some(Self { rule, wide })
    }

    /// Returns true if the operation writes a register, not a predicate.
    pub(crate) fn writes_register(self) -> bool {
        !matches!(self.rule, Rule::Compare(_))
    }
}

//! What can be done with values: infix operators, and functions that are tables' rows.

use super::Type;

/// An infix operator of two values of one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// The sum, rounded to nearest.
    Add,
    /// The difference, rounded to nearest.
    Subtract,
    /// The product, rounded to nearest; the low half, of integers.
    Multiply,
    /// The bits that both have.
    And,
    /// Shifted to higher bits.
    ShiftLeft,
    /// Whether the first is less.
    Less,
    /// Whether both are equal.
    Equal,
}

impl Binary {
    /// Its sign in CUDA.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::And => "&",
            Self::ShiftLeft => "<<",
            Self::Less => "<",
            Self::Equal => "==",
        }
    }

    /// How tightly CUDA binds it. Readers know the order of sums and products only, so all others
    /// are put into parentheses.
    #[must_use]
    pub const fn tightness(self) -> u8 {
        match self {
            Self::Multiply => 3,
            Self::Add | Self::Subtract => 2,
            Self::And | Self::ShiftLeft => 1,
            Self::Less | Self::Equal => 0,
        }
    }

    /// The type of the result, of operands of type `ty`.
    #[must_use]
    pub const fn result(self, ty: Type) -> Type {
        match self {
            Self::Less | Self::Equal => Type::Predicate,
            _ => ty,
        }
    }

    /// The PTX instruction, of operands of type `ty`.
    ///
    /// Sums and products say `.rn`, so that no compiler makes one multiply-add of two.
    #[must_use]
    pub fn mnemonic(self, ty: Type) -> String {
        let name = ty.ptx();
        let rounded = if ty.is_float() { "rn." } else { "" };
        match self {
            Self::Add => format!("add.{rounded}{name}"),
            Self::Subtract => format!("sub.{rounded}{name}"),
            Self::Multiply if ty.is_float() => format!("mul.rn.{name}"),
            Self::Multiply => format!("mul.lo.{name}"),
            Self::And => format!("and.b{}", ty.bits()),
            Self::ShiftLeft => format!("shl.b{}", ty.bits()),
            Self::Less => format!("setp.lt.{name}"),
            Self::Equal => format!("setp.eq.{name}"),
        }
    }
}

/// A function: one PTX instruction, and how CUDA writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Function {
    /// The instruction with its modifiers: `ex2.approx.f32`.
    pub ptx: &'static str,
    /// The expression in CUDA, with `$0`, `$1`, … for the arguments.
    pub cuda: &'static str,
    /// The type of the result.
    pub result: Type,
}

impl Function {
    /// A function with a result of type `result`.
    #[must_use]
    pub const fn new(ptx: &'static str, cuda: &'static str, result: Type) -> Self {
        Self { ptx, cuda, result }
    }

    /// a·b + c with one rounding; of integers, the low half.
    #[must_use]
    pub const fn multiply_add(ty: Type) -> Self {
        let (ptx, cuda) = match ty {
            Type::F16 => ("fma.rn.f16", "__hfma($0, $1, $2)"),
            Type::F32 => ("fma.rn.f32", "fmaf($0, $1, $2)"),
            Type::F64 => ("fma.rn.f64", "fma($0, $1, $2)"),
            Type::S64 => ("mad.lo.s64", "$0 * $1 + $2"),
            Type::U64 => ("mad.lo.u64", "$0 * $1 + $2"),
            Type::U32 => ("mad.lo.u32", "$0 * $1 + $2"),
            Type::S32 | Type::Predicate => ("mad.lo.s32", "$0 * $1 + $2"),
        };
        Self::new(ptx, cuda, ty)
    }
}

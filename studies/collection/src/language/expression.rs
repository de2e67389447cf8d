//! Values that threads compute.

use std::ops;

use super::{Binary, Function, Type};

/// A value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Expression {
    /// A whole number, also one of a floating-point type.
    Integer(i64, Type),
    /// A scalar parameter or a variable.
    Variable(Variable),
    /// A part of the thread's place in the grid.
    Index(Index),
    /// Two values under an operator.
    Binary(Binary, Box<[Expression; 2]>),
    /// A function of values.
    Call(Function, Vec<Expression>),
    /// A value as another type.
    Convert(Type, Box<Expression>),
}

/// A variable of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    /// Its place in [`Kernel::variables`](super::Kernel::variables).
    pub number: usize,
    /// The type of its value.
    pub ty: Type,
}

/// A part of a thread's place in the grid, along x (0), y (1) or z (2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// The thread within its block.
    Thread(u8),
    /// The block within the grid.
    Block(u8),
    /// Threads of a block.
    BlockSize(u8),
    /// Blocks of the grid.
    GridSize(u8),
}

impl Index {
    /// Its name in CUDA.
    #[must_use]
    pub fn cuda(self) -> String {
        self.named(["threadIdx", "blockIdx", "blockDim", "gridDim"])
    }

    /// Its special register in PTX.
    #[must_use]
    pub fn ptx(self) -> String {
        self.named(["%tid", "%ctaid", "%ntid", "%nctaid"])
    }

    fn named(self, [thread, block, block_size, grid_size]: [&str; 4]) -> String {
        let (name, axis) = match self {
            Self::Thread(axis) => (thread, axis),
            Self::Block(axis) => (block, axis),
            Self::BlockSize(axis) => (block_size, axis),
            Self::GridSize(axis) => (grid_size, axis),
        };
        format!("{name}.{}", ["x", "y", "z"].get(usize::from(axis)).unwrap_or(&"x"))
    }
}

impl Expression {
    /// A whole number as a value of a type.
    #[must_use]
    pub fn number(value: u64, ty: Type) -> Self {
        Self::Integer(i64::try_from(value).unwrap_or(i64::MAX), ty)
    }

    /// The type of the value. Places in the grid are signed, as programmers' `int`s are.
    #[must_use]
    pub fn ty(&self) -> Type {
        match self {
            Self::Integer(_, ty) | Self::Convert(ty, _) => *ty,
            Self::Variable(variable) => variable.ty,
            Self::Index(_) => Type::S32,
            Self::Binary(operator, operands) => operator.result(operands[0].ty()),
            Self::Call(function, _) => function.result,
        }
    }

    /// The value as another type, or itself.
    #[must_use]
    pub fn to(self, ty: Type) -> Self {
        match self {
            _ if self.ty() == ty => self,
            Self::Integer(value, _) => Self::Integer(value, ty),
            _ => Self::Convert(ty, Box::new(self)),
        }
    }

    /// Whether this is less than `other`.
    #[must_use]
    pub fn less(self, other: Self) -> Self {
        Self::Binary(Binary::Less, Box::new([self, other]))
    }

    /// Whether this equals `other`.
    #[must_use]
    pub fn equals(self, other: Self) -> Self {
        Self::Binary(Binary::Equal, Box::new([self, other]))
    }

    /// The bits that this and `mask` have.
    #[must_use]
    pub fn masked(self, mask: u64) -> Self {
        binary(Binary::And, self, mask)
    }

    /// This times `factor` plus `addend`, rounded once.
    #[must_use]
    pub fn multiply_add(self, factor: Self, addend: Self) -> Self {
        let ty = self.ty();
        Self::Call(Function::multiply_add(ty), vec![self, factor, addend])
    }

    /// The value with a variable replaced by a number, and computed as far as numbers allow.
    #[must_use]
    pub fn with(&self, variable: Variable, value: &Self) -> Self {
        match self {
            Self::Variable(own) if *own == variable => value.clone(),
            Self::Integer(..) | Self::Variable(_) | Self::Index(_) => self.clone(),
            Self::Binary(operator, operands) => {
                let [left, right] = &**operands;
                combined(*operator, left.with(variable, value), right.with(variable, value))
            }
            Self::Call(function, arguments) => {
                let arguments =
                    arguments.iter().map(|argument| argument.with(variable, value)).collect();
                Self::Call(*function, arguments)
            }
            Self::Convert(ty, inner) => inner.with(variable, value).to(*ty),
        }
    }
}

impl From<Variable> for Expression {
    fn from(variable: Variable) -> Self {
        Self::Variable(variable)
    }
}

/// Two values under an operator. Integers that the generator knows are computed at once.
fn combined(operator: Binary, left: Expression, right: Expression) -> Expression {
    use Expression::Integer;
    if left.ty().is_float() {
        return Expression::Binary(operator, Box::new([left, right]));
    }
    match (operator, &left, &right) {
        (Binary::Add, Integer(a, ty), Integer(b, _)) => Integer(a + b, *ty),
        (Binary::Subtract, Integer(a, ty), Integer(b, _)) => Integer(a - b, *ty),
        (Binary::Multiply, Integer(a, ty), Integer(b, _)) => Integer(a * b, *ty),
        (Binary::And, Integer(a, ty), Integer(b, _)) => Integer(a & b, *ty),
        (Binary::Add, Integer(0, _), _) | (Binary::Multiply, Integer(1, _), _) => right,
        (Binary::Add | Binary::Subtract, _, Integer(0, _))
        | (Binary::Multiply, _, Integer(1, _)) => left,
        (Binary::Multiply, Integer(0, ty), _) | (Binary::Multiply, _, Integer(0, ty)) => {
            Integer(0, *ty)
        }
        _ => Expression::Binary(operator, Box::new([left, right])),
    }
}

fn binary(operator: Binary, left: Expression, right: u64) -> Expression {
    let right = Expression::number(right, left.ty());
    combined(operator, left, right)
}

/// Implements an operator for two values, and for a value and a number.
macro_rules! operators {
    ($($trait:ident $method:ident $operator:ident)+) => {
        $(
            impl ops::$trait for Expression {
                type Output = Self;

                fn $method(self, other: Self) -> Self {
                    combined(Binary::$operator, self, other)
                }
            }

            impl ops::$trait<u64> for Expression {
                type Output = Self;

                fn $method(self, other: u64) -> Self {
                    binary(Binary::$operator, self, other)
                }
            }
        )+
    };
}

operators! {
    Add add Add
    Sub sub Subtract
    Mul mul Multiply
    Shl shl ShiftLeft
}

//! Expressions in parameters and features, and their value.

use std::fmt;

/// An arithmetic expression. Parameters and features stand for their place in a
/// [`Formula`](super::Formula)'s lists.
///
/// Sums and products hold all their operands, so that a sum of a thousand costs is no deeper than
/// one of two.
#[derive(Clone, Debug, PartialEq)]
pub enum Expression {
    /// A constant.
    Number(f64),
    /// A parameter of the model, to be calibrated.
    Parameter(usize),
    /// A feature of the kernel.
    Feature(usize),
    /// The operands' sum; those that are marked are subtracted.
    Sum(Vec<(Sign, Expression)>),
    /// The operands' product; those that are marked are divided by.
    Product(Vec<(Role, Expression)>),
    /// The first to the power of the second.
    Power(Box<Expression>, Box<Expression>),
    /// A function of one operand.
    Call(Function, Box<Expression>),
}

/// The sign of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// It is.
    Plus,
    /// It is subtracted.
    Minus,
}

/// The role of an operand: factor or divisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It does.
    Factor,
    /// It divides.
    Divisor,
}

/// A function that can be differentiated wherever it is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// The hyperbolic tangent; equation 6 makes a smooth step of it.
    Tanh,
    /// e to the power of the operand.
    Exp,
    /// The natural logarithm.
    Log,
    /// The square root.
    Sqrt,
}

impl Function {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Tanh, Self::Exp, Self::Log, Self::Sqrt];

    /// The name in expressions.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tanh => "tanh",
            Self::Exp => "exp",
            Self::Log => "log",
            Self::Sqrt => "sqrt",
        }
    }

    /// Its value.
    #[must_use]
    pub fn of(self, x: f64) -> f64 {
        match self {
            Self::Tanh => x.tanh(),
            Self::Exp => x.exp(),
            Self::Log => x.ln(),
            Self::Sqrt => x.sqrt(),
        }
    }
}

impl Expression {
    /// 0.
    pub(super) const ZERO: Self = Self::Number(0.0);

    /// The value with these parameters and features; a place without a value counts as not a
    /// number.
    #[must_use]
    pub fn evaluate(&self, parameters: &[f64], features: &[f64]) -> f64 {
        let value = |one: &Self| one.evaluate(parameters, features);
        match self {
            Self::Number(number) => *number,
            Self::Parameter(at) => parameters.get(*at).copied().unwrap_or(f64::NAN),
            Self::Feature(at) => features.get(*at).copied().unwrap_or(f64::NAN),
            Self::Sum(operands) => operands.iter().fold(0.0, |sum, (sign, one)| match sign {
                Sign::Plus => sum + value(one),
                Sign::Minus => sum - value(one),
            }),
            Self::Product(operands) => {
                operands.iter().fold(1.0, |product, (role, one)| match role {
                    Role::Factor => product * value(one),
                    Role::Divisor => product / value(one),
                })
            }
            Self::Power(base, exponent) => value(base).powf(value(exponent)),
            Self::Call(function, operand) => function.of(value(operand)),
        }
    }

    /// The sum without operands that add nothing.
    pub(super) fn sum(operands: Vec<(Sign, Self)>) -> Self {
        let mut left: Vec<(Sign, Self)> =
            operands.into_iter().filter(|(_, one)| *one != Self::ZERO).collect();
        match left.as_slice() {
            [] => Self::ZERO,
            [(Sign::Plus, _)] => left.remove(0).1,
            _ => Self::Sum(left),
        }
    }

    /// The product without factors that change nothing; 0 if a factor is.
    pub(super) fn product(operands: Vec<(Role, Self)>) -> Self {
        if operands.iter().any(|(role, one)| *role == Role::Factor && *one == Self::ZERO) {
            return Self::ZERO;
        }
        let mut left: Vec<(Role, Self)> =
            operands.into_iter().filter(|(_, one)| *one != Self::Number(1.0)).collect();
        match left.as_slice() {
            [] => Self::Number(1.0),
            [(Role::Factor, _)] => left.remove(0).1,
            _ => Self::Product(left),
        }
    }

    /// Writes it with the names of parameters and features.
    pub(super) fn written<'a>(
        &'a self,
        parameters: &'a [String],
        features: &'a [super::Feature],
    ) -> impl fmt::Display + 'a {
        Written { expression: self, parameters, features }
    }
}

/// An expression with the names that it is written in.
struct Written<'a> {
    expression: &'a Expression,
    parameters: &'a [String],
    features: &'a [super::Feature],
}

impl Written<'_> {
    fn of<'a>(&'a self, expression: &'a Expression) -> Written<'a> {
        Written { expression, ..*self }
    }

    /// The operand in parentheses, if it is a sum or a sign precedes it.
    fn operand(&self, f: &mut fmt::Formatter<'_>, operand: &Expression) -> fmt::Result {
        match operand {
            Expression::Sum(_) | Expression::Product(_) | Expression::Power(..) => {
                write!(f, "({})", self.of(operand))
            }
            Expression::Number(number) if *number < 0.0 => write!(f, "({number:?})"),
            _ => write!(f, "{}", self.of(operand)),
        }
    }
}

impl fmt::Display for Written<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.expression {
            Expression::Number(number) => write!(f, "{number:?}"),
            Expression::Parameter(at) => {
                f.write_str(self.parameters.get(*at).map_or("?", String::as_str))
            }
            Expression::Feature(at) => match self.features.get(*at) {
                Some(feature) => write!(f, "{feature}"),
                None => f.write_str("?"),
            },
            Expression::Sum(operands) => {
                for (place, (sign, one)) in operands.iter().enumerate() {
                    match (place, sign) {
                        (0, Sign::Plus) => {}
                        (0, Sign::Minus) => f.write_str("-")?,
                        (_, Sign::Plus) => f.write_str(" + ")?,
                        (_, Sign::Minus) => f.write_str(" - ")?,
                    }
                    match one {
                        Expression::Product(_) => write!(f, "{}", self.of(one))?,
                        _ => self.operand(f, one)?,
                    }
                }
                Ok(())
            }
            Expression::Product(operands) => {
                for (place, (role, one)) in operands.iter().enumerate() {
                    match (place, role) {
                        (0, Role::Factor) => {}
                        (0, Role::Divisor) => f.write_str("1 / ")?,
                        (_, Role::Factor) => f.write_str(" * ")?,
                        (_, Role::Divisor) => f.write_str(" / ")?,
                    }
                    self.operand(f, one)?;
                }
                Ok(())
            }
            Expression::Power(base, exponent) => {
                self.operand(f, base)?;
                f.write_str(" ** ")?;
                self.operand(f, exponent)
            }
            Expression::Call(function, operand) => {
                write!(f, "{}({})", function.name(), self.of(operand))
            }
        }
    }
}

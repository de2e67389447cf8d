//! Symbolic differentiation by a parameter: the Jacobian of section 7.2.

use super::expression::{Expression, Function, Role, Sign};

impl Expression {
    /// ∂/∂p of the expression, p being parameter `parameter`.
    #[must_use]
    pub fn derivative(&self, parameter: usize) -> Self {
        match self {
            Self::Number(_) | Self::Feature(_) => Self::ZERO,
            Self::Parameter(at) => Self::Number(f64::from(u8::from(*at == parameter))),
            Self::Sum(operands) => Self::sum(
                operands.iter().map(|(sign, one)| (*sign, one.derivative(parameter))).collect(),
            ),
            Self::Product(operands) => product(operands, parameter),
            Self::Power(base, exponent) => power(base, exponent, parameter),
            Self::Call(function, operand) => {
                let inner = operand.derivative(parameter);
                if inner == Self::ZERO {
                    return Self::ZERO;
                }
                let (role, outer) = outer(*function, operand);
                Self::product(vec![(Role::Factor, inner), (role, outer)])
            }
        }
    }
}

/// (Π f / Π g)' = Σ f'·Π other f / Π g − Σ g'/g·Π f / Π g.
fn product(operands: &[(Role, Expression)], parameter: usize) -> Expression {
    let terms = operands.iter().enumerate().map(|(at, (role, one))| {
        let inner = one.derivative(parameter);
        let mut rest = operands.to_vec();
        match role {
            Role::Factor => {
                rest[at].1 = inner;
                (Sign::Plus, Expression::product(rest))
            }
            Role::Divisor => {
                rest.push((Role::Divisor, one.clone()));
                rest.push((Role::Factor, inner));
                (Sign::Minus, Expression::product(rest))
            }
        }
    });
    Expression::sum(terms.collect())
}

/// (a^b)' = b·a^(b−1)·a' + a^b·ln a·b'.
fn power(base: &Expression, exponent: &Expression, parameter: usize) -> Expression {
    let (of_base, of_exponent) = (base.derivative(parameter), exponent.derivative(parameter));
    let lowered = Expression::Sum(vec![
        (Sign::Plus, exponent.clone()),
        (Sign::Minus, Expression::Number(1.0)),
    ]);
    let by_base = Expression::product(vec![
        (Role::Factor, of_base),
        (Role::Factor, exponent.clone()),
        (Role::Factor, Expression::Power(Box::new(base.clone()), Box::new(lowered))),
    ]);
    let whole = Expression::Power(Box::new(base.clone()), Box::new(exponent.clone()));
    let logarithm = Expression::Call(Function::Log, Box::new(base.clone()));
    let by_exponent = Expression::product(vec![
        (Role::Factor, of_exponent),
        (Role::Factor, whole),
        (Role::Factor, logarithm),
    ]);
    Expression::sum(vec![(Sign::Plus, by_base), (Sign::Plus, by_exponent)])
}

/// The derivative of a function at `operand`, as a factor or a divisor.
fn outer(function: Function, operand: &Expression) -> (Role, Expression) {
    let call = |function| Expression::Call(function, Box::new(operand.clone()));
    match function {
        Function::Tanh => {
            let square = Expression::Power(
                Box::new(call(Function::Tanh)),
                Box::new(Expression::Number(2.0)),
            );
            let one = (Sign::Plus, Expression::Number(1.0));
            (Role::Factor, Expression::Sum(vec![one, (Sign::Minus, square)]))
        }
        Function::Exp => (Role::Factor, call(Function::Exp)),
        Function::Log => (Role::Divisor, operand.clone()),
        Function::Sqrt => {
            let two = (Role::Factor, Expression::Number(2.0));
            let twice = vec![two, (Role::Factor, call(Function::Sqrt))];
            (Role::Divisor, Expression::Product(twice))
        }
    }
}

//! Values that are in registers already.

use std::collections::HashMap;

use crate::language::{Binary, Expression};

/// An instruction without side effects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Computation {
    mnemonic: String,
    operands: Vec<String>,
}

/// The computations whose results still stand in registers.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    known: HashMap<Computation, String>,
    names: HashMap<String, String>,
}

impl Values {
    pub(super) fn find(&self, mnemonic: &str, operands: &[String]) -> Option<String> {
        let wanted = Computation { mnemonic: mnemonic.to_owned(), operands: operands.to_vec() };
        self.known.get(&wanted).cloned()
    }

    pub(super) fn remember(&mut self, mnemonic: &str, operands: &[String], register: &str) {
        let done = Computation { mnemonic: mnemonic.to_owned(), operands: operands.to_vec() };
        self.known.insert(done, register.to_owned());
    }

    /// The register of something that has a name, such as a buffer's address.
    pub(super) fn named(&self, name: &str) -> Option<String> {
        self.names.get(name).cloned()
    }

    pub(super) fn name(&mut self, name: &str, register: &str) {
        self.names.insert(name.to_owned(), register.to_owned());
    }

    /// A register has another value: what was computed of the old one is another computation.
    pub(super) fn forget(&mut self, register: &str) {
        self.known.retain(|done, _| done.operands.iter().all(|operand| operand != register));
    }
}

/// An index as a part that varies and a number, so that neighbours share a register.
pub(super) fn split(index: &Expression) -> (Option<Expression>, i64) {
    match index {
        Expression::Integer(value, _) => (None, *value),
        Expression::Binary(Binary::Add, operands) => {
            let (left, one) = split(&operands[0]);
            let (right, other) = split(&operands[1]);
            let sum = match (left, right) {
                (Some(left), Some(right)) => Some(left + right),
                (left, right) => left.or(right),
            };
            (sum, one + other)
        }
        Expression::Binary(Binary::Multiply, operands) => {
            let (left, one) = split(&operands[0]);
            match (left, &operands[1]) {
                (Some(left), Expression::Integer(factor @ 0.., _)) => {
                    (Some(left * factor.unsigned_abs()), one * factor)
                }
                _ => (Some(index.clone()), 0),
            }
        }
        _ => (Some(index.clone()), 0),
    }
}

//! A model's expression with the names of its parameters and features.

use std::collections::BTreeMap;

use super::expression::{Expression, Role, Sign};
use super::feature::Feature;
use super::feature_parser;
use super::parser::{self, ExpressionError};

/// g(features, parameters) of section 6.
#[derive(Clone, Debug, PartialEq)]
pub struct Formula {
    pub(super) root: Expression,
    pub(super) parameters: Vec<String>,
    pub(super) features: Vec<Feature>,
}

impl Feature {
    /// Reads the name of a feature.
    ///
    /// # Errors
    ///
    /// If it is none.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        feature_parser::whole(text)
    }
}

impl Formula {
    /// Reads a model string; `terms` are the expressions that it names with `c_…`.
    ///
    /// # Errors
    ///
    /// With the place and, mostly, a hint, if the text is not an expression.
    pub fn parse(text: &str, terms: &BTreeMap<String, String>) -> Result<Self, ExpressionError> {
        parser::formula(text, terms)
    }

    /// The names of its parameters, in order of their first use.
    #[must_use]
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Its features, in order of their first use.
    #[must_use]
    pub fn features(&self) -> &[Feature] {
        &self.features
    }

    /// The value with these parameters and features, in the order of the formula's lists.
    #[must_use]
    pub fn evaluate(&self, parameters: &[f64], features: &[f64]) -> f64 {
        self.root.evaluate(parameters, features)
    }

    /// ∂g/∂p for each parameter.
    #[must_use]
    pub fn gradient(&self) -> Vec<Expression> {
        (0..self.parameters.len()).map(|parameter| self.root.derivative(parameter)).collect()
    }

    /// A derivative, or another expression in the same parameters and features, in words.
    #[must_use]
    pub fn written(&self, expression: &Expression) -> String {
        expression.written(&self.parameters, &self.features).to_string()
    }

    /// The parts of the value: one [`Cost`] per product of features and parameters. It holds the
    /// cost alone and the amount that the product adds to the value, after switches such as those
    /// of equation 8. Products that depend on no feature are not included.
    #[must_use]
    pub fn costs(&self, parameters: &[f64], features: &[f64]) -> Vec<Cost> {
        let mut costs = Vec::new();
        let values = Values { parameters, features };
        values.collect(&self.root, 1.0, 1.0, &mut costs);
        costs
    }
}

/// A product of features and parameters in a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Cost {
    /// The places of its features in the formula's list.
    pub features: Vec<usize>,
    /// The places of its parameters.
    pub parameters: Vec<usize>,
    /// Its own value.
    pub alone: f64,
    /// The amount that it adds to the model's value.
    pub added: f64,
}

/// Values of parameters and features.
struct Values<'a> {
    parameters: &'a [f64],
    features: &'a [f64],
}

impl Values<'_> {
    /// Collects the costs of `expression`, which is subtracted if `sign` is negative and multiplied
    /// with `switch` on the way to the model's value.
    fn collect(&self, expression: &Expression, sign: f64, switch: f64, costs: &mut Vec<Cost>) {
        match expression {
            Expression::Sum(operands) => {
                for (side, one) in operands {
                    let sign = if *side == Sign::Minus { -sign } else { sign };
                    self.collect(one, sign, switch, costs);
                }
            }
            Expression::Product(operands) if is_sum(expression) => {
                let is_first =
                    |(role, one): &(Role, Expression)| *role == Role::Factor && is_sum(one);
                if let Some(at) = operands.iter().position(is_first) {
                    let mut rest = operands.clone();
                    let (_, sum) = rest.remove(at);
                    let factor = Expression::Product(rest).evaluate(self.parameters, self.features);
                    self.collect(&sum, sign, switch * factor, costs);
                }
            }
            _ if has_visible_features(expression) => {
                let alone = sign * expression.evaluate(self.parameters, self.features);
                let mut cost = Cost {
                    features: Vec::new(),
                    parameters: Vec::new(),
                    alone,
                    added: switch * alone,
                };
                leaves(expression, &mut cost);
                costs.push(cost);
            }
            _ => {}
        }
    }
}

/// Returns true if it is a sum of costs, or such a sum times something, as a switch.
fn is_sum(expression: &Expression) -> bool {
    match expression {
        Expression::Sum(_) => has_visible_features(expression),
        Expression::Product(operands) => {
            operands.iter().any(|(role, one)| *role == Role::Factor && is_sum(one))
        }
        _ => false,
    }
}

/// Returns true if a feature stands in it outside functions.
fn has_visible_features(expression: &Expression) -> bool {
    match expression {
        Expression::Feature(_) => true,
        Expression::Number(_) | Expression::Parameter(_) | Expression::Call(..) => false,
        Expression::Sum(operands) => operands.iter().any(|(_, one)| has_visible_features(one)),
        Expression::Product(operands) => operands.iter().any(|(_, one)| has_visible_features(one)),
        Expression::Power(base, _) => has_visible_features(base),
    }
}

fn leaves(expression: &Expression, cost: &mut Cost) {
    match expression {
        Expression::Feature(at) => cost.features.push(*at),
        Expression::Parameter(at) => cost.parameters.push(*at),
        Expression::Number(_) => {}
        Expression::Sum(operands) => operands.iter().for_each(|(_, one)| leaves(one, cost)),
        Expression::Product(operands) => operands.iter().for_each(|(_, one)| leaves(one, cost)),
        Expression::Power(base, exponent) => {
            leaves(base, cost);
            leaves(exponent, cost);
        }
        Expression::Call(_, operand) => leaves(operand, cost),
    }
}

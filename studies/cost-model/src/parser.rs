//! Reads expressions: the language of section 6.1's model strings.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = sign { ("*" | "/") sign }
//! sign    = { "-" | "+" } power
//! power   = atom [ "**" sign ]
//! atom    = number | "(" sum ")" | p_NAME | c_NAME | feature | function "(" sum { "," sum } ")"
//! ```
//!
//! `p_NAME` is a parameter, `c_NAME` another expression by name, `f_…` a feature
//! ([`feature_parser`](super::feature_parser)). Functions are those of [`Function`], and the
//! paper's two building blocks: `step(x, p)` = (tanh(p·x) + 1)/2, equation 6, and `overlap(a, b,
//! p)` = a·step(a − b, p) + b·step(b − a, p), equation 5.

use std::collections::BTreeMap;
use std::ops::Range;

use nom::IResult;
use nom::Parser as _;
use nom::bytes::complete::{tag, take_while};
use nom::character::complete::multispace0;
use nom::number::complete::recognize_float;
use thiserror::Error;

use super::expression::{Expression, Function, Role, Sign};
use super::feature::Feature;
use super::feature_parser;
use super::formula::Formula;

/// Parentheses, signs and powers within each other, at most: each is a call on the stack.
const MOST_DEPTH: usize = 64;

/// Operands of an expression with everything that it names, at most. Names are replaced by their
/// meaning, so that a few lines could otherwise mean billions.
const MOST_OPERANDS: usize = 1 << 16;

/// A model string that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ExpressionError {
    /// The fault.
    pub message: String,
    /// The bytes of the text that are at fault.
    pub range: Range<usize>,
    /// A remedy, if there is one.
    pub hint: Option<String>,
    /// The named expression that holds the fault; `None` in the model's own.
    pub within: Option<String>,
}

impl ExpressionError {
    pub(super) fn new(message: impl Into<String>, range: Range<usize>) -> Self {
        Self { message: message.into(), range, hint: None, within: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// A text that is read from the front.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    pub(super) rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, rest: text }
    }

    /// The position in the text, in bytes.
    pub(super) fn at(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    pub(super) fn skip_space(&mut self) {
        let spaces: IResult<&str, &str> = multispace0(self.rest);
        self.rest = spaces.map_or(self.rest, |(rest, _)| rest);
    }

    /// Takes `text` if it comes next.
    pub(super) fn takes(&mut self, text: &str) -> bool {
        let taken: IResult<&str, &str> = tag(text).parse(self.rest);
        match taken {
            Ok((rest, _)) => {
                self.rest = rest;
                true
            }
            Err(_) => false,
        }
    }

    /// The longest run of characters that satisfy a condition.
    pub(super) fn take_while(&mut self, is_meant: impl Fn(char) -> bool) -> &'a str {
        let taken: IResult<&'a str, &'a str> = take_while(is_meant).parse(self.rest);
        let (rest, word) = taken.unwrap_or((self.rest, ""));
        self.rest = rest;
        word
    }

    /// A number without a sign, if one comes next.
    pub(super) fn take_number(&mut self) -> Option<f64> {
        if !self.rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
            return None;
        }
        let taken: IResult<&str, &str> = recognize_float(self.rest);
        let (rest, digits) = taken.ok()?;
        let number: f64 = digits.parse().ok()?;
        number.is_finite().then(|| {
            self.rest = rest;
            number
        })
    }

    /// From `start` to the current position; at least one character, if there is one.
    pub(super) fn range_from(&self, start: usize) -> Range<usize> {
        let end = self.at();
        let one = self.text[start..].chars().next().map_or(0, char::len_utf8);
        start..end.max(start + one)
    }
}

/// Reads a model with the expressions that it names.
pub(super) fn formula(
    text: &str,
    terms: &BTreeMap<String, String>,
) -> Result<Formula, ExpressionError> {
    let mut parser = Parser {
        terms,
        open: Vec::new(),
        read: BTreeMap::new(),
        parameters: Vec::new(),
        features: Vec::new(),
        operands: 0,
    };
    let root = parser.whole(text)?;
    // A misspelt term shows, though nothing names it.
    for (name, text) in terms {
        parser.term(name, text)?;
    }
    Ok(Formula { root, parameters: parser.parameters, features: parser.features })
}

struct Parser<'a> {
    terms: &'a BTreeMap<String, String>,
    /// The terms that are being read.
    open: Vec<&'a str>,
    /// Terms that have been read, and their operands.
    read: BTreeMap<&'a str, (Expression, usize)>,
    parameters: Vec<String>,
    features: Vec<Feature>,
    operands: usize,
}

type Parsed = Result<Expression, ExpressionError>;

impl<'a> Parser<'a> {
    /// An expression and nothing behind it.
    fn whole(&mut self, text: &str) -> Parsed {
        let mut cursor = Cursor::new(text);
        let expression = self.sum(&mut cursor, 0)?;
        match cursor.rest.chars().next() {
            None => Ok(expression),
            Some(')') => Err(at_next(&cursor, "there is no `(` for this `)`")),
            Some(_) => {
                let error = at_next(&cursor, "an operator is missing here");
                Err(error.hint("write `+`, `-`, `*`, `/` or `**` between two operands"))
            }
        }
    }

    fn sum(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Parsed {
        let mut operands = vec![(Sign::Plus, self.product(cursor, depth)?)];
        loop {
            let sign = if cursor.takes("+") {
                Sign::Plus
            } else if cursor.takes("-") {
                Sign::Minus
            } else {
                break;
            };
            operands.push((sign, self.product(cursor, depth)?));
        }
        Ok(Expression::sum(operands))
    }

    fn product(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Parsed {
        let mut operands = vec![(Role::Factor, self.sign(cursor, depth)?)];
        loop {
            let role = if cursor.takes("*") {
                Role::Factor
            } else if cursor.takes("/") {
                Role::Divisor
            } else {
                break;
            };
            operands.push((role, self.sign(cursor, depth)?));
        }
        Ok(if operands.len() == 1 { operands.remove(0).1 } else { Expression::Product(operands) })
    }

    fn sign(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Parsed {
        cursor.skip_space();
        if depth > MOST_DEPTH {
            return Err(at_next(cursor, "this is nested too deeply"));
        }
        if cursor.takes("+") {
            return self.sign(cursor, depth + 1);
        }
        if cursor.takes("-") {
            let operand = self.sign(cursor, depth + 1)?;
            return Ok(match operand {
                Expression::Number(number) => Expression::Number(-number),
                operand => Expression::Sum(vec![(Sign::Minus, operand)]),
            });
        }
        let base = self.atom(cursor, depth)?;
        cursor.skip_space();
        if !cursor.takes("**") {
            return Ok(base);
        }
        let exponent = self.sign(cursor, depth + 1)?;
        Ok(Expression::Power(Box::new(base), Box::new(exponent)))
    }

    fn atom(&mut self, cursor: &mut Cursor<'_>, depth: usize) -> Parsed {
        cursor.skip_space();
        self.count(1, cursor)?;
        let start = cursor.at();
        if cursor.takes("(") {
            let inner = self.sum(cursor, depth + 1)?;
            close(cursor, start)?;
            return Ok(inner);
        }
        if let Some(number) = cursor.take_number() {
            return Ok(Expression::Number(number));
        }
        if cursor.rest.starts_with("f_") {
            let feature = feature_parser::feature(cursor)?;
            return Ok(Expression::Feature(place(&mut self.features, feature)));
        }
        if cursor.rest.starts_with(|c: char| c.is_ascii_digit()) {
            let digits = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '.');
            let message = format!("`{digits}` is no finite number");
            return Err(ExpressionError::new(message, cursor.range_from(start)));
        }
        let name = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
        let range = cursor.range_from(start);
        if name.len() > 2 && name.starts_with("p_") {
            return Ok(Expression::Parameter(place(&mut self.parameters, name.to_owned())));
        }
        if name.starts_with("c_") {
            return self.named(name, range, cursor);
        }
        if name.is_empty() {
            let message = match cursor.rest.chars().next() {
                None => "the expression ends where an operand is missing".to_owned(),
                Some(found) => format!("`{found}` stands where an operand is missing"),
            };
            return Err(ExpressionError::new(message, range)
                .hint("an operand is a number, a parameter p_…, a feature f_… or a function"));
        }
        cursor.skip_space();
        if !cursor.takes("(") {
            let error = ExpressionError::new(format!("`{name}` means nothing here"), range);
            return Err(
                error.hint("parameters begin with p_, features with f_, named expressions with c_")
            );
        }
        self.call(name, range, cursor, depth)
    }

    /// The expression that a name stands for.
    fn named(&mut self, name: &str, range: Range<usize>, cursor: &Cursor<'_>) -> Parsed {
        let Some((name, text)) = self.terms.get_key_value(name) else {
            let error =
                ExpressionError::new(format!("there is no expression named `{name}`"), range);
            let known: Vec<&str> = self.terms.keys().map(String::as_str).collect();
            return Err(if known.is_empty() {
                error.hint("expressions are named in the table `terms` of a model file")
            } else {
                error.hint(format!("there are {}", known.join(", ")))
            });
        };
        let (expression, operands) = self.term(name, text)?;
        self.count(operands, cursor)?;
        Ok(expression)
    }

    /// A named expression, and the number of its operands.
    fn term(&mut self, name: &'a str, text: &str) -> Result<(Expression, usize), ExpressionError> {
        if let Some(read) = self.read.get(name) {
            return Ok(read.clone());
        }
        let within = |error: ExpressionError| ExpressionError {
            within: error.within.or_else(|| Some(name.to_owned())),
            ..error
        };
        if self.open.contains(&name) || self.open.len() > MOST_DEPTH {
            let message = format!("`{name}` is defined by itself");
            return Err(within(ExpressionError::new(message, 0..text.len())));
        }
        self.open.push(name);
        let before = self.operands;
        let expression = self.whole(text).map_err(within)?;
        let operands = self.operands - before;
        self.operands = before;
        self.open.pop();
        self.read.insert(name, (expression.clone(), operands));
        Ok((expression, operands))
    }

    fn count(&mut self, operands: usize, cursor: &Cursor<'_>) -> Result<(), ExpressionError> {
        self.operands = self.operands.saturating_add(operands);
        if self.operands <= MOST_OPERANDS {
            return Ok(());
        }
        let message = format!("the model has more than {MOST_OPERANDS} operands");
        Err(ExpressionError::new(message, cursor.range_from(cursor.at())))
    }

    /// A function's value; its name and `(` have been read.
    fn call(
        &mut self,
        name: &str,
        range: Range<usize>,
        cursor: &mut Cursor<'_>,
        depth: usize,
    ) -> Parsed {
        let open = cursor.at() - 1;
        let before = self.operands;
        let mut operands = vec![self.sum(cursor, depth + 1)?];
        while cursor.takes(",") {
            operands.push(self.sum(cursor, depth + 1)?);
        }
        close(cursor, open)?;
        let function = Function::ALL.into_iter().find(|function| function.name() == name);
        match (function, name, operands.as_slice()) {
            (Some(function), _, [_]) => {
                Ok(Expression::Call(function, Box::new(operands.remove(0))))
            }
            (None, "step", [x, edge]) => Ok(step(x.clone(), edge.clone())),
            (None, "overlap", [a, b, edge]) => {
                self.count(4 * (self.operands - before), cursor)?;
                Ok(overlap(a, b, edge))
            }
            (Some(_), ..) | (None, "step" | "overlap", _) => {
                let wanted = match name {
                    "overlap" => "3 operands: overlap(a, b, p_edge)",
                    "step" => "2 operands: step(x, p_edge)",
                    _ => "1 operand",
                };
                let message = format!("`{name}` takes {wanted}; here are {}", operands.len());
                Err(ExpressionError::new(message, range))
            }
            (None, ..) => {
                let error = ExpressionError::new(format!("there is no function `{name}`"), range);
                Err(error.hint(
                    "there are tanh, exp, log, sqrt, step and overlap; a model must be \
                     differentiable, so max is written overlap(a, b, p_edge)",
                ))
            }
        }
    }
}

/// Equation 6.
fn step(x: Expression, edge: Expression) -> Expression {
    let scaled = Expression::Product(vec![(Role::Factor, edge), (Role::Factor, x)]);
    let tanh = Expression::Call(Function::Tanh, Box::new(scaled));
    let above = Expression::Sum(vec![(Sign::Plus, tanh), (Sign::Plus, Expression::Number(1.0))]);
    Expression::Product(vec![(Role::Factor, above), (Role::Divisor, Expression::Number(2.0))])
}

/// Equation 5.
fn overlap(a: &Expression, b: &Expression, edge: &Expression) -> Expression {
    let visible = |one: &Expression, other: &Expression| {
        let ahead = Expression::Sum(vec![(Sign::Plus, one.clone()), (Sign::Minus, other.clone())]);
        let switch = step(ahead, edge.clone());
        (Sign::Plus, Expression::Product(vec![(Role::Factor, one.clone()), (Role::Factor, switch)]))
    };
    Expression::Sum(vec![visible(a, b), visible(b, a)])
}

/// The place of `one` in a list, which it is added to if it is new.
fn place<T: PartialEq>(list: &mut Vec<T>, one: T) -> usize {
    list.iter().position(|other| *other == one).unwrap_or_else(|| {
        list.push(one);
        list.len() - 1
    })
}

fn close(cursor: &mut Cursor<'_>, open: usize) -> Result<(), ExpressionError> {
    cursor.skip_space();
    if cursor.takes(")") {
        return Ok(());
    }
    let error = ExpressionError::new("this `(` is not closed", open..open + 1);
    Err(match cursor.rest.chars().next() {
        None => error,
        Some(found) => error.hint(format!("an operator or `)` is missing before `{found}`")),
    })
}

/// An error at the next character.
pub(super) fn at_next(cursor: &Cursor<'_>, message: &str) -> ExpressionError {
    ExpressionError::new(message, cursor.range_from(cursor.at()))
}

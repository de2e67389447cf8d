//! Arithmetic on named numbers: the `${ceil(n/256)}` of launch files and of `sweep`.
//!
//! ```text
//! sum     = product { ("+" | "-") product }
//! product = power { ("*" | "/" | "%") power }
//! power   = unary [ "^" power ]
//! unary   = [ "-" ] atom
//! atom    = number | name | function "(" sum { "," sum } ")" | "(" sum ")"
//! ```
//!
//! Constraints of tuning spaces compare sums:
//!
//! ```text
//! condition  = both { "||" both }
//! both       = comparison { "&&" comparison }
//! comparison = sum [ ("<=" | ">=" | "==" | "!=" | "<" | ">") sum ]
//! ```
//!
//! Division is that of real numbers; `ceil`, `floor` and `round` make whole numbers of its results.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use crate::failure::{Report, SourceText, suggest};

/// Numbers by name.
pub type Parameters = BTreeMap<String, f64>;

/// Nested this deep, an expression is refused.
const DEEPEST: usize = 64;

/// Functions by name, with the number of their arguments.
const FUNCTIONS: [(&str, usize); 7] =
    [("ceil", 1), ("floor", 1), ("round", 1), ("sqrt", 1), ("log2", 1), ("min", 2), ("max", 2)];

/// A fault of an expression: its place, the fault, and advice.
#[derive(Debug, PartialEq)]
pub struct ExpressionError {
    range: Range<usize>,
    message: String,
    hint: Option<String>,
}

/// The value of an expression.
pub fn evaluate(text: &str, parameters: &Parameters) -> Result<f64, ExpressionError> {
    let mut reader = Reader { text, at: 0, depth: 0, parameters };
    let value = reader.sum()?;
    reader.skip_space();
    if reader.at < text.len() {
        let rest = reader.at..text.len();
        return Err(error(rest, "this does not belong to the expression", None));
    }
    if value.is_finite() {
        Ok(value)
    } else {
        Err(error(0..text.len(), &format!("this is {value}, no number"), None))
    }
}

/// Returns true if a condition holds. A sum that is compared with nothing holds unless it is zero.
///
/// The condition stands in `source` from byte `start` on.
///
/// # Errors
///
/// The place in `source` and the fault of a condition that cannot be evaluated.
pub fn holds(
    source: &SourceText,
    start: usize,
    text: &str,
    parameters: &Parameters,
) -> Result<bool, Report> {
    let mut reader = Reader { text, at: 0, depth: 0, parameters };
    let condition = reader.condition().and_then(|holds| {
        reader.skip_space();
        let rest = reader.at..text.len();
        match rest.is_empty() {
            true => Ok(holds),
            false => Err(error(rest, "this does not belong to the condition", None)),
        }
    });
    condition.map_err(|error| {
        let range = start + error.range.start..start + error.range.end;
        source.report(range, error.message).maybe_hint(error.hint)
    })
}

/// Replaces every `${expression}` of a text by its value; with `quoted`, every `"${expression}"`
/// with its quotation marks.
pub fn substitute(
    source: &SourceText,
    parameters: &Parameters,
    quoted: bool,
) -> Result<String, Report> {
    let (open, close) = if quoted { ("\"${", "}\"") } else { ("${", "}") };
    let text: &str = &source.text;
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    while let Some(found) = text[done..].find(open) {
        let start = done + found;
        let inside = start + open.len();
        let Some(length) = text[inside..].find(close) else {
            let line = text[start..].find('\n').map_or(text.len(), |end| start + end);
            return Err(source.report(start..line, format!("`{open}` without a `{close}`")));
        };
        let end = inside + length;
        let value = evaluate(&text[inside..end], parameters).map_err(|error| {
            let range = inside + error.range.start..inside + error.range.end;
            source.report(range, error.message).maybe_hint(error.hint)
        })?;
        result.push_str(&text[done..start]);
        // A whole number is written as one, whatever its size.
        let _ = write!(result, "{value}");
        done = end + close.len();
    }
    result.push_str(&text[done..]);
    Ok(result)
}

fn error(range: Range<usize>, message: &str, hint: Option<String>) -> ExpressionError {
    ExpressionError { range, message: message.to_owned(), hint }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    parameters: &'a Parameters,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    /// Goes on behind one of these characters, if one of them is next.
    fn take(&mut self, characters: &str) -> Option<char> {
        self.skip_space();
        let next = self.rest().chars().next().filter(|next| characters.contains(*next))?;
        self.at += next.len_utf8();
        Some(next)
    }

    /// Goes on behind the first of these words that is next.
    fn take_one_of(&mut self, words: &[&'static str]) -> Option<&'static str> {
        self.skip_space();
        let next = words.iter().find(|word| self.rest().starts_with(**word))?;
        self.at += next.len();
        Some(next)
    }

    fn condition(&mut self) -> Result<bool, ExpressionError> {
        let mut holds = self.both()?;
        while self.take_one_of(&["||"]).is_some() {
            // The right side is read whatever the left one is.
            holds = self.both()? || holds;
        }
        Ok(holds)
    }

    fn both(&mut self) -> Result<bool, ExpressionError> {
        let mut holds = self.comparison()?;
        while self.take_one_of(&["&&"]).is_some() {
            holds = self.comparison()? && holds;
        }
        Ok(holds)
    }

    fn comparison(&mut self) -> Result<bool, ExpressionError> {
        let left = self.sum()?;
        let Some(operator) = self.take_one_of(&["<=", ">=", "==", "!=", "<", ">"]) else {
            return Ok(left != 0.0);
        };
        let right = self.sum()?;
        Ok(match operator {
            "<=" => left <= right,
            ">=" => left >= right,
            "==" => left == right,
            "!=" => left != right,
            "<" => left < right,
            _ => left > right,
        })
    }

    fn sum(&mut self) -> Result<f64, ExpressionError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let rest = self.at..self.text.len();
            return Err(error(rest, "the expression is nested too deep", None));
        }
        let mut value = self.product()?;
        while let Some(operator) = self.take("+-") {
            let right = self.product()?;
            value = if operator == '+' { value + right } else { value - right };
        }
        self.depth -= 1;
        Ok(value)
    }

    fn product(&mut self) -> Result<f64, ExpressionError> {
        let mut value = self.power()?;
        while let Some(operator) = self.take("*/%") {
            let start = self.at;
            let right = self.power()?;
            if operator != '*' && right == 0.0 {
                return Err(error(
                    start..self.at,
                    "this is zero, which nothing is divided by",
                    None,
                ));
            }
            value = match operator {
                '*' => value * right,
                '/' => value / right,
                _ => value.rem_euclid(right),
            };
        }
        Ok(value)
    }

    fn power(&mut self) -> Result<f64, ExpressionError> {
        let mut factors = vec![self.unary()?];
        while self.take("^").is_some() {
            factors.push(self.unary()?);
        }
        // Powers are taken from the right: 2^3^2 is 2^9.
        let last = factors.pop().unwrap_or(1.0);
        Ok(factors.into_iter().rev().fold(last, |exponent, base| base.powf(exponent)))
    }

    fn unary(&mut self) -> Result<f64, ExpressionError> {
        let negative = self.take("-").is_some();
        let value = self.atom()?;
        Ok(if negative { -value } else { value })
    }

    fn atom(&mut self) -> Result<f64, ExpressionError> {
        if self.take("(").is_some() {
            let value = self.sum()?;
            self.close()?;
            return Ok(value);
        }
        self.skip_space();
        let start = self.at;
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let length = self.rest().find(|c| !is_word(c)).unwrap_or(self.rest().len());
        let word = &self.rest()[..length];
        self.at += length;
        let range = start..self.at;
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            // `1e6` and `1_000_000`, as in TOML.
            let digits = word.replace('_', "");
            return digits.parse().map_err(|_| error(range, "this is not a number", None));
        }
        if word.is_empty() {
            let next = self.at + self.rest().chars().next().map_or(0, char::len_utf8);
            return Err(error(self.at..next, "a number or a name is missing here", None));
        }
        if let Some(&(_, count)) = FUNCTIONS.iter().find(|(name, _)| *name == word)
            && self.take("(").is_some()
        {
            return self.call(word, count, range);
        }
        self.parameters.get(word).copied().ok_or_else(|| {
            let functions = FUNCTIONS.iter().map(|(name, _)| *name);
            let known = self.parameters.keys().map(String::as_str).chain(functions);
            error(range, &format!("there is no parameter `{word}`"), suggest(word, known))
        })
    }

    fn call(
        &mut self,
        function: &str,
        count: usize,
        range: Range<usize>,
    ) -> Result<f64, ExpressionError> {
        let mut arguments = vec![self.sum()?];
        while self.take(",").is_some() {
            arguments.push(self.sum()?);
        }
        self.close()?;
        match (function, arguments.as_slice()) {
            ("ceil", [value]) => Ok(value.ceil()),
            ("floor", [value]) => Ok(value.floor()),
            ("round", [value]) => Ok(value.round()),
            ("sqrt", [value]) => Ok(value.sqrt()),
            ("log2", [value]) => Ok(value.log2()),
            ("min", [a, b]) => Ok(a.min(*b)),
            ("max", [a, b]) => Ok(a.max(*b)),
            _ => {
                let plural = if count == 1 { "" } else { "s" };
                Err(error(range, &format!("`{function}` takes {count} argument{plural}"), None))
            }
        }
    }

    fn close(&mut self) -> Result<(), ExpressionError> {
        let at = self.at;
        match self.take(")") {
            Some(_) => Ok(()),
            None => Err(error(at..at, "a `)` is missing here", None)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::shown;

    fn parameters() -> Parameters {
        [("n".to_owned(), 1000.0), ("tile".to_owned(), 16.0)].into()
    }

    #[test]
    fn expressions_have_the_value_of_arithmetic() {
        for (text, value) in [
            ("n", 1000.0),
            ("n*n", 1e6),
            ("ceil(n/256)", 4.0),
            ("floor(n / 256)", 3.0),
            ("1 + 2 * 3 - 4", 3.0),
            ("(1 + 2) * 3", 9.0),
            ("7 % 4", 3.0),
            ("2^3^2", 512.0),
            ("-2 + 5", 3.0),
            ("min(n, 512) + max(1, 2)", 514.0),
            ("1_000 * log2(sqrt(tile))", 2000.0),
            ("10 - 4 - 3", 3.0),
        ] {
            assert_eq!(evaluate(text, &parameters()), Ok(value), "{text}");
        }
    }

    #[test]
    fn conditions_compare_sums() {
        for (text, value) in [
            ("n > 999", true),
            ("n < 1000", false),
            ("n <= 1000 && tile >= 17", false),
            ("n == 1 || tile * 2 == 32", true),
            ("n != 1000 || n == 1000 && tile == 1", false),
            ("n % tile", true),
            ("tile % 16", false),
        ] {
            let source = SourceText::new("t", text);
            assert_eq!(holds(&source, 0, text, &parameters()), Ok(value), "{text}");
        }
        for wrong in ["n >", "n > 1 tile", "n = 1", "&& n", "z == 1"] {
            let source = SourceText::new("t", wrong);
            assert!(holds(&source, 0, wrong, &parameters()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_text_keeps_what_stands_between_expressions() {
        let source = SourceText::new("t", "buf:f32[${n*n}]=uniform(-1,1,${tile})");
        let text = substitute(&source, &parameters(), false);
        assert_eq!(text.unwrap(), "buf:f32[1000000]=uniform(-1,1,16)");
        let source = SourceText::new("t", "len = \"${n*n}\" # ${n} stays");
        let text = substitute(&source, &parameters(), true);
        assert_eq!(text.unwrap(), "len = 1000000 # ${n} stays");
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let deep = format!("${{{}n}}", "(".repeat(1000));
        let texts = [
            "${m}",
            "${n+}",
            "${(n}",
            "${n n}",
            "${n/0}",
            "${ceil(n, 2)}",
            "${ceil}",
            "${n",
            "${1x}",
            "${}",
            "${log2(0)}",
            "${n ∂}",
            &deep,
        ];
        let reports = texts.map(|text| {
            let source = SourceText::new("--grid", text);
            shown(&substitute(&source, &parameters(), false).unwrap_err())
        });
        insta::assert_snapshot!(reports.join("\n"));
    }
}

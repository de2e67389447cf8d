//! C's formatted output, as `printf` of device code defines it.
//!
//! Floating-point digits are Rust's, which are exact. (Crates that clone `sprintf` lack the
//! precision of integers or hexadecimal floating point.)

/// The source of the conversions' values.
pub(super) trait Values {
    /// Reason why a value cannot be read.
    type Error;

    /// The next value of `bytes` bytes, 4 or 8.
    fn next(&mut self, bytes: u64) -> Result<u64, Self::Error>;

    /// The next value, which is an address.
    fn address(&mut self) -> Result<u64, Self::Error> {
        self.next(8)
    }

    /// The text at an address, without its terminating zero.
    fn text(&mut self, address: u64) -> Result<Vec<u8>, Self::Error>;
}

/// Reason why nothing can be printed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PrintError<E> {
    /// The format is wrong.
    Format(&'static str),
    /// A value cannot be had.
    Value(E),
}

impl<E> From<E> for PrintError<E> {
    fn from(error: E) -> Self {
        Self::Value(error)
    }
}

/// The widest field that is padded; larger widths are a mistake, not a wish.
const MAX_WIDTH: usize = 1 << 16;

/// One conversion: `%-08.3lf`.
#[derive(Clone, Copy, Debug, Default)]
struct Conversion {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
}

/// Appends the output of `format` to `out`.
pub(super) fn print<V: Values>(
    format: &[u8],
    values: &mut V,
    out: &mut Vec<u8>,
) -> Result<(), PrintError<V::Error>> {
    let mut rest = format;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            out.push(first);
            continue;
        }
        rest = conversion(rest, values, out)?;
    }
    Ok(())
}

/// Reads a number or `*`; `None` if there is neither.
fn number<V: Values>(
    rest: &mut &[u8],
    values: &mut V,
) -> Result<Option<i64>, PrintError<V::Error>> {
    if let Some(after) = rest.strip_prefix(b"*") {
        *rest = after;
        return Ok(Some(i64::from(values.next(4)? as i32)));
    }
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, after) = rest.split_at(digits);
    *rest = after;
    let add =
        |sum: i64, &digit: &u8| sum.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
    Ok((digits > 0).then(|| number.iter().fold(0, add)))
}

fn conversion<'f, V: Values>(
    mut rest: &'f [u8],
    values: &mut V,
    out: &mut Vec<u8>,
) -> Result<&'f [u8], PrintError<V::Error>> {
    let mut c = Conversion::default();
    while let Some((&flag, after)) = rest.split_first() {
        match flag {
            b'-' => c.left = true,
            b'+' => c.plus = true,
            b' ' => c.space = true,
            b'#' => c.alternate = true,
            b'0' => c.zero = true,
            _ => break,
        }
        rest = after;
    }
    let limit = |number: i64| match usize::try_from(number) {
        Ok(number) if number <= MAX_WIDTH => Ok(number),
        _ => Err(PrintError::Format("a width or precision that is too large")),
    };
    if let Some(width) = number(&mut rest, values)? {
        c.left |= width < 0;
        c.width = limit(width.saturating_abs())?;
    }
    if let Some(after) = rest.strip_prefix(b".") {
        rest = after;
        // A negative precision counts as none, a missing one as zero.
        let precision = number(&mut rest, values)?.unwrap_or(0);
        c.precision = if precision < 0 { None } else { Some(limit(precision)?) };
    }
    let length = rest.iter().take_while(|byte| b"hljztL".contains(byte)).count();
    let (length, after) = rest.split_at(length);
    let (&kind, after) =
        after.split_first().ok_or(PrintError::Format("an unfinished conversion"))?;
    let wide = matches!(length, b"l" | b"ll" | b"j" | b"z" | b"t");
    if !wide && !matches!(length, b"" | b"h" | b"hh" | b"L") {
        return Err(PrintError::Format("an unknown length"));
    }
    match kind {
        b'%' => out.push(b'%'),
        b'c' => {
            let byte = values.next(4)? as u8;
            pad(c, &[byte], out);
        }
        b's' => {
            let address = values.address()?;
            let text = if address == 0 { b"(null)".to_vec() } else { values.text(address)? };
            let shown = c.precision.map_or(text.len(), |most| most.min(text.len()));
            pad(c, &text[..shown], out);
        }
        b'p' => {
            let address = values.address()?;
            // As the GPU's runtime prints it: with the prefix, and nil spelled out.
            let text = if address == 0 { "(nil)".to_owned() } else { format!("{address:#x}") };
            pad(c, text.as_bytes(), out);
        }
        b'd' | b'i' => {
            let value = values.next(if wide { 8 } else { 4 })?;
            let value = match length {
                b"hh" => i64::from(value as i8),
                b"h" => i64::from(value as i16),
                _ if wide => value as i64,
                _ => i64::from(value as i32),
            };
            let sign = match (value < 0, c.plus, c.space) {
                (true, ..) => "-",
                (_, true, _) => "+",
                (_, _, true) => " ",
                _ => "",
            };
            integer(c, sign, value.unsigned_abs().to_string(), value == 0, out);
        }
        b'u' | b'o' | b'x' | b'X' => {
            let value = values.next(if wide { 8 } else { 4 })?;
            let value = match length {
                b"hh" => u64::from(value as u8),
                b"h" => u64::from(value as u16),
                _ if wide => value,
                _ => u64::from(value as u32),
            };
            let (digits, prefix) = match kind {
                b'u' => (value.to_string(), ""),
                b'o' => (format!("{value:o}"), ""),
                b'x' => (format!("{value:x}"), "0x"),
                _ => (format!("{value:X}"), "0X"),
            };
            let (mut c, mut digits) = (c, digits);
            if kind == b'o' && c.alternate {
                // The first digit is a zero, be it one of the precision's.
                if value != 0 {
                    digits.insert(0, '0');
                } else if c.precision == Some(0) {
                    c.precision = Some(1);
                }
            }
            let prefix = if c.alternate && value != 0 { prefix } else { "" };
            integer(c, prefix, digits, value == 0, out);
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let value = f64::from_bits(values.next(8)?);
            float(c, kind, value, out);
        }
        _ => return Err(PrintError::Format("an unknown conversion")),
    }
    Ok(after)
}

/// Appends `text` in a field of the conversion's width.
fn pad(c: Conversion, text: &[u8], out: &mut Vec<u8>) {
    let padding = c.width.saturating_sub(text.len());
    if !c.left {
        out.extend(std::iter::repeat_n(b' ', padding));
    }
    out.extend_from_slice(text);
    if c.left {
        out.extend(std::iter::repeat_n(b' ', padding));
    }
}

fn integer(c: Conversion, sign: &str, mut digits: String, is_zero: bool, out: &mut Vec<u8>) {
    if is_zero && c.precision == Some(0) {
        digits.clear();
    }
    let least = match c.precision {
        Some(precision) => precision,
        None if c.zero && !c.left => c.width.saturating_sub(sign.len()),
        None => 0,
    };
    let zeros = "0".repeat(least.saturating_sub(digits.len()));
    pad(c, format!("{sign}{zeros}{digits}").as_bytes(), out);
}

fn float(c: Conversion, kind: u8, value: f64, out: &mut Vec<u8>) {
    let sign = match (value.is_sign_negative(), c.plus, c.space) {
        (true, ..) => "-",
        (_, true, _) => "+",
        (_, _, true) => " ",
        _ => "",
    };
    let magnitude = value.abs();
    let mut zero = c.zero && !c.left;
    let mut prefix = "";
    let text = if !magnitude.is_finite() {
        zero = false;
        if magnitude.is_nan() { "nan".to_owned() } else { "inf".to_owned() }
    } else {
        match kind.to_ascii_lowercase() {
            b'f' => fixed(magnitude, c.precision.unwrap_or(6), c.alternate),
            b'e' => exponential(magnitude, c.precision.unwrap_or(6), c.alternate),
            b'g' => general(magnitude, c.precision.unwrap_or(6).max(1), c.alternate),
            _ => {
                prefix = "0x";
                hexadecimal(magnitude, c.precision, c.alternate)
            }
        }
    };
    let zeros = match zero {
        true => "0".repeat(c.width.saturating_sub(sign.len() + prefix.len() + text.len())),
        false => String::new(),
    };
    let mut text = format!("{sign}{prefix}{zeros}{text}");
    if kind.is_ascii_uppercase() {
        text.make_ascii_uppercase();
    }
    pad(c, text.as_bytes(), out);
}

fn fixed(value: f64, precision: usize, point: bool) -> String {
    let mut text = format!("{value:.precision$}");
    if precision == 0 && point {
        text.push('.');
    }
    text
}

fn exponential(value: f64, precision: usize, point: bool) -> String {
    let text = format!("{value:.precision$e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let sign = if exponent < 0 { '-' } else { '+' };
    let point = if precision == 0 && point { "." } else { "" };
    format!("{digits}{point}e{sign}{:02}", exponent.unsigned_abs())
}

fn general(value: f64, precision: usize, keep_zeros: bool) -> String {
    let rounded = format!("{value:.*e}", precision - 1);
    let exponent: i64 = rounded.split_once('e').and_then(|(_, e)| e.parse().ok()).unwrap_or(0);
    let significant = precision as i64;
    let is_fixed = (-4..significant).contains(&exponent);
    let mut text = if is_fixed {
        fixed(value, (significant - 1 - exponent) as usize, keep_zeros)
    } else {
        exponential(value, precision - 1, keep_zeros)
    };
    if !keep_zeros {
        let (digits, exponent) = match text.find('e') {
            Some(at) => text.split_at(at),
            None => (text.as_str(), ""),
        };
        if digits.contains('.') {
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            text = format!("{digits}{exponent}");
        }
    }
    text
}

/// `%a` without its prefix.
fn hexadecimal(value: f64, precision: Option<usize>, point: bool) -> String {
    const FRACTION_BITS: u32 = 52;
    let bits = value.to_bits();
    let fraction = bits & ((1 << FRACTION_BITS) - 1);
    let biased = (bits >> FRACTION_BITS) as i32;
    let (mut lead, mut fraction, exponent) = match (biased, fraction) {
        (0, 0) => (0u64, 0, 0),
        (0, fraction) => (0, fraction, -1022),
        (biased, fraction) => (1, fraction, biased - 1023),
    };
    let digits = match precision {
        Some(precision) if precision < 13 => {
            // Round to nearest even at that digit.
            let dropped = 52 - 4 * precision as u32;
            let whole = (lead << FRACTION_BITS) | fraction;
            let (kept, rest) = (whole >> dropped, whole & ((1 << dropped) - 1));
            let half = 1 << (dropped - 1);
            let up = rest > half || rest == half && kept & 1 != 0;
            let kept = kept + u64::from(up);
            lead = kept >> (4 * precision);
            fraction = kept & ((1 << (4 * precision)) - 1);
            match precision {
                0 => String::new(),
                _ => format!("{fraction:0precision$x}"),
            }
        }
        Some(precision) => format!("{fraction:013x}{}", "0".repeat(precision - 13)),
        None => format!("{fraction:013x}").trim_end_matches('0').to_owned(),
    };
    let point = if !digits.is_empty() || point { "." } else { "" };
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{lead:x}{point}{digits}p{sign}{}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests;

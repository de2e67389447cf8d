//! `--arg`: a kernel argument on the command line.
//!
//! ```text
//! u32:1048576                        a scalar
//! buf:f32[1048576]                   a buffer of zeros
//! buf:f32[1048576]=uniform(-1,1,7)   low, high, seed
//! buf:f32[1048576]=constant(2.5)     or zero, iota
//! buf:f32[1048576]=FILE.npy          or FILE.bin
//! bytes:0x00ff10                     a structure's bytes in the order of memory
//! struct:{u32:5,f32:1.0,ptr:arg0}    a structure's members, laid out as in C; also buf:…,
//!                                    bytes:… and struct:{…} among them
//! ```

use std::ops::Range;

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::{ElementType, Literal};

use super::plan::checked_len;
use super::structure::{DEEPEST, parse_bytes};
use super::type_name;
use crate::failure::{Report, SourceText, suggest};

/// The value of one `--arg`, parsed.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentSyntax {
    /// A scalar.
    Scalar {
        /// Its type.
        ty: ElementType,
        /// Its little-endian bits.
        bits: u64,
    },
    /// A new buffer.
    Buffer {
        /// The elements' type.
        ty: ElementType,
        /// Elements.
        len: usize,
        /// Its contents.
        init: Init,
    },
    /// Bytes in the order of memory.
    Bytes(Vec<u8>),
    /// The members of a structure.
    Structure(Vec<Self>),
    /// A pointer into another argument's buffer, such as `arg0+64`, and where that stands.
    Pointer(String, Range<usize>),
}

const FORMS: &str = "an argument is `u32:7`, `f32:1.5`, `buf:f32[1024]`, \
                     `buf:f32[1024]=uniform(-1,1,7)` (also zero, iota, constant(x), FILE.npy, \
                     FILE.bin), `ptr:arg0+64`, `struct:{u32:5,f32:1.0,ptr:arg0}` or \
                     `bytes:0x00ff10`";

/// Reads one argument; a report points at the offending part of `source`.
pub fn parse(source: &SourceText) -> Result<ArgumentSyntax, Report> {
    parse_one(source, 0..source.text.len(), 0)
}

/// A value that did not come from a text; a report points at the whole of `source`.
pub(super) fn checked(
    value: ArgumentSyntax,
    source: &SourceText,
) -> Result<ArgumentSyntax, Report> {
    if let ArgumentSyntax::Buffer { ty, len, init } = &value {
        let report = |message| source.report(0..source.text.len(), message);
        checked_len(*len as u64, *ty).map_err(report)?;
        init.check(*ty, *len).map_err(|error| report(error.to_string()))?;
    }
    Ok(value)
}

/// Reads an argument or, at a `depth` above 0, a member of a structure.
fn parse_one(
    source: &SourceText,
    range: Range<usize>,
    depth: usize,
) -> Result<ArgumentSyntax, Report> {
    let text = &source.text[range.clone()];
    let Some(colon) = text.find(':') else {
        return Err(source.report(range, "this argument has no type").hint(FORMS));
    };
    let rest = range.start + colon + 1..range.end;
    match &text[..colon] {
        "buf" => return parse_buffer(source, rest),
        "bytes" => {
            return parse_bytes(&source.text[rest.clone()]).map(ArgumentSyntax::Bytes).map_err(
                |message| source.report(rest, message).hint("write them as in `bytes:0x00ff10`"),
            );
        }
        "struct" => return parse_structure(source, rest, depth + 1),
        "ptr" => return Ok(ArgumentSyntax::Pointer(source.text[rest.clone()].to_owned(), rest)),
        _ => {}
    }
    let ty = parse_type(source, range.start..range.start + colon)?;
    let value = parse_number(source, rest.clone())?;
    let bits = ty.encode(value).map_err(|error| source.report(rest, error.to_string()))?;
    Ok(ArgumentSyntax::Scalar { ty, bits })
}

fn parse_structure(
    source: &SourceText,
    range: Range<usize>,
    depth: usize,
) -> Result<ArgumentSyntax, Report> {
    let text = &source.text[range.clone()];
    let inside = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
    let Some(inside) = inside else {
        return Err(source
            .report(range, "the members of a structure stand in braces")
            .hint("write them as in `struct:{u32:5,f32:1.0,ptr:arg0}`"));
    };
    if depth > DEEPEST {
        return Err(source.report(range, format!("structures are at most {DEEPEST} deep")));
    }
    let first = range.start + 1;
    let mut members = Vec::new();
    for part in members_of(inside) {
        let part = first + part.start..first + part.end;
        let text = &source.text[part.clone()];
        let lead = text.len() - text.trim_start().len();
        let trimmed = part.start + lead..part.start + lead + text.trim().len();
        members.push(parse_one(source, trimmed, depth)?);
    }
    Ok(ArgumentSyntax::Structure(members))
}

/// The parts between commas that stand in no brackets.
fn members_of(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let (mut start, mut open) = (0, 0_usize);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => open += 1,
            b'}' | b')' | b']' => open = open.saturating_sub(1),
            b',' if open == 0 => {
                parts.push(start..at);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(start..text.len());
    parts
}

fn parse_buffer(source: &SourceText, range: Range<usize>) -> Result<ArgumentSyntax, Report> {
    let text = &source.text[range.clone()];
    let open = text.find('[');
    let close = text.find(']');
    let (Some(open), Some(close)) = (open, close.filter(|&close| Some(close) > open)) else {
        return Err(source
            .report(range, "a buffer needs a type and a length, as in f32[1024]")
            .hint(FORMS));
    };
    let at = |from: usize, to: usize| range.start + from..range.start + to;
    let ty = parse_type(source, at(0, open))?;
    let len_range = at(open + 1, close);
    let len: u64 = source.text[len_range.clone()]
        .parse()
        .map_err(|_| source.report(len_range.clone(), "a buffer's length is a whole number"))?;
    let len = checked_len(len, ty).map_err(|message| source.report(len_range, message))?;
    let after = at(close + 1, text.len());
    let init = match source.text[after.clone()].strip_prefix('=') {
        None if after.is_empty() => Init::Unstated,
        None => {
            return Err(source.report(after, "expected `=` and an initial value").hint(FORMS));
        }
        Some(_) => {
            let init_range = after.start + 1..after.end;
            let init = parse_init(source, init_range.clone())?;
            init.check(ty, len).map_err(|error| {
                source
                    .report(init_range, error.to_string())
                    .maybe_hint(contents_that_fit(&init, ty))
            })?;
            init
        }
    };
    Ok(ArgumentSyntax::Buffer { ty, len, init })
}

/// What fills a buffer whose type does not hold the indices of its elements.
fn contents_that_fit(init: &Init, ty: ElementType) -> Option<String> {
    let (low, high) = ty.integer_range().filter(|_| *init == Init::Iota)?;
    Some(format!(
        "iota gives each element its index; `uniform({low},{high},7)` gives any values of the type"
    ))
}

fn parse_type(source: &SourceText, range: Range<usize>) -> Result<ElementType, Report> {
    let name = &source.text[range.clone()];
    ElementType::named(name).ok_or_else(|| {
        source.report(range, format!("there is no type `{name}`")).maybe_hint(type_name::hint(name))
    })
}

fn parse_number(source: &SourceText, range: Range<usize>) -> Result<Literal, Report> {
    let text = &source.text[range.clone()];
    Literal::parse(text).ok_or_else(|| source.report(range, format!("`{text}` is not a number")))
}

fn parse_init(source: &SourceText, range: Range<usize>) -> Result<Init, Report> {
    let text = &source.text[range.clone()];
    match text {
        "zero" => return Ok(Init::Zero),
        "iota" => return Ok(Init::Iota),
        _ if text.ends_with(".npy") || text.ends_with(".bin") => {
            return Ok(Init::File(text.into()));
        }
        _ => {}
    }
    let call = text.strip_suffix(')').and_then(|text| text.split_once('('));
    let Some((name, inside)) = call else {
        return Err(source
            .report(range, format!("`{text}` is no way to fill a buffer"))
            .hint("use zero, iota, constant(x), uniform(low,high,seed), FILE.npy or FILE.bin"));
    };
    let mut start = range.start + name.len() + 1;
    let mut numbers = Vec::new();
    for part in inside.split(',') {
        let lead = part.len() - part.trim_start().len();
        let trimmed = start + lead..start + lead + part.trim().len();
        numbers.push((parse_number(source, trimmed.clone())?, trimmed));
        start += part.len() + 1;
    }
    match (name, numbers.as_slice()) {
        ("constant", [(value, _)]) => Ok(Init::Constant(*value)),
        ("uniform", [(low, _), (high, _), (seed, seed_range)]) => {
            let seed = match seed {
                Literal::Integer(seed) => u64::try_from(*seed).ok(),
                Literal::Real(_) => None,
            };
            let seed = seed.ok_or_else(|| {
                source.report(seed_range.clone(), "a seed is an integer from 0 to 2^64 - 1")
            })?;
            Ok(Init::Uniform { low: *low, high: *high, seed })
        }
        ("constant", _) => Err(source.report(range, "constant takes one number: constant(x)")),
        ("uniform", _) => {
            Err(source.report(range, "uniform takes three numbers: uniform(low,high,seed)"))
        }
        _ => Err(source
            .report(range, format!("there is no generator `{name}`"))
            .maybe_hint(suggest(name, ["zero", "iota", "constant", "uniform"]))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::Anchor;

    fn parsed(text: &str) -> ArgumentSyntax {
        parse(&SourceText::new("--arg", text)).unwrap()
    }

    /// The message, the part of the text that it points at, and the hint.
    fn refused(text: &str) -> String {
        let report = parse(&SourceText::new("--arg", text)).unwrap_err();
        let Anchor { source, range } = *report.anchor.unwrap();
        let hint = report.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
        format!("{text}: {}: {:?}{hint}", report.message, &source.text[range])
    }

    #[test]
    fn scalars_carry_their_type_and_bits() {
        let scalar = |ty, bits| ArgumentSyntax::Scalar { ty, bits };
        assert_eq!(parsed("u32:1048576"), scalar(ElementType::U32, 1 << 20));
        assert_eq!(parsed("s32:-1"), scalar(ElementType::S32, 0xffff_ffff));
        assert_eq!(parsed("f32:1.5"), scalar(ElementType::F32, 0x3fc0_0000));
        assert_eq!(parsed("u64:0xffffffffffffffff"), scalar(ElementType::U64, u64::MAX));
    }

    #[test]
    fn buffers_carry_their_length_and_contents() {
        let buffer = |len, init| ArgumentSyntax::Buffer { ty: ElementType::F32, len, init };
        let integer = Literal::Integer;
        assert_eq!(parsed("buf:f32[16]"), buffer(16, Init::Unstated));
        assert_eq!(parsed("buf:f32[16]=zero"), buffer(16, Init::Zero));
        assert_eq!(parsed("buf:f32[16]=iota"), buffer(16, Init::Iota));
        assert_eq!(
            parsed("buf:f32[16]=uniform(-1, 1,7)"),
            buffer(16, Init::Uniform { low: integer(-1), high: integer(1), seed: 7 })
        );
        assert_eq!(
            parsed("buf:f32[2]=constant(2.5)"),
            buffer(2, Init::Constant(Literal::Real(2.5)))
        );
        assert_eq!(parsed("buf:f32[2]=x/a.npy"), buffer(2, Init::File("x/a.npy".into())));
    }

    #[test]
    fn structures_carry_their_members() {
        let scalar = |ty, bits| ArgumentSyntax::Scalar { ty, bits };
        let init = Init::Uniform { low: Literal::Integer(0), high: Literal::Integer(1), seed: 2 };
        assert_eq!(
            parsed("struct:{u32:5, buf:f32[4]=uniform(0,1,2),struct:{u8:1},bytes:0aff,ptr:arg3}"),
            ArgumentSyntax::Structure(vec![
                scalar(ElementType::U32, 5),
                ArgumentSyntax::Buffer { ty: ElementType::F32, len: 4, init },
                ArgumentSyntax::Structure(vec![scalar(ElementType::U8, 1)]),
                ArgumentSyntax::Bytes(vec![0x0a, 0xff]),
                ArgumentSyntax::Pointer("arg3".to_owned(), 70..74),
            ])
        );
        let deep = "struct:{".repeat(40) + "u8:1" + &"}".repeat(40);
        assert!(refused(&deep).contains("at most 16 deep"));
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let wrong = [
            "1048576",
            "i32:4",
            "u8:256",
            "f32:one",
            "buf:f32",
            "buf:f31[4]",
            "buf:f32[four]",
            "buf:f32[0]",
            "buf:f64[99999999999999]",
            "buf:f32[4]iota",
            "buf:f32[4]=ones",
            "buf:f32[4]=normal(0,1)",
            "buf:f32[4]=uniform(0,1)",
            "buf:f32[4]=uniform(0,x,1)",
            "buf:f32[4]=uniform(1,0,1)",
            "buf:f32[4]=uniform(0,1,-1)",
            "buf:u8[300]=iota",
            "buf:]f32[",
            "bytes:0x123",
            "bytes:xyz",
            "struct:",
            "struct:{}",
            "struct:{u32:5",
            "struct:{u32:5,}",
            "struct:{u32:5,f32}",
            "struct:{u32:5,struct:{f31:2}}",
            "",
        ];
        let refused: Vec<String> = wrong.iter().map(|text| refused(text)).collect();
        insta::assert_snapshot!(refused.join("\n"));
    }
}

//! Launch files: a module, its buffers, its launches and their expected results, in TOML.
//!
//! The shape of the file is declared here for `serde`, which refuses unknown keys. Facts beyond the
//! shape (types by name, lengths, references between tables) are checked by
//! [`resolve`](super::resolve). Every value that can be wrong later keeps its place in the text.

use std::collections::BTreeMap;
use std::fmt;

use gpucast_buffers::scalar::Literal;
use gpucast_counters::hierarchy::L2Contents;
use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use toml::Spanned;

use super::expression::{self, Parameters};
use super::load_caching::LoadCaching;
use super::tensor_map::TensorMapTable;
use super::texture::TextureTable;
use super::toml_report::toml_report;
use crate::failure::{Report, SourceText, suggest};

/// A launch file as written.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchFile {
    /// The PTX file, relative to this one.
    pub(super) module: Spanned<String>,
    #[serde(default)]
    #[expect(dead_code, reason = "`parameters` has read it; here it is only allowed to be there")]
    parameters: BTreeMap<String, f64>,
    #[serde(default)]
    pub(super) buffers: BTreeMap<Spanned<String>, BufferTable>,
    pub(super) l2: Option<L2Choice>,
    /// The way of measuring.
    pub(super) timing: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) symbols: BTreeMap<Spanned<String>, SymbolTable>,
    #[serde(default)]
    pub(super) textures: BTreeMap<Spanned<String>, TextureTable>,
    pub(super) load_caching: Option<LoadCaching>,
    #[serde(default)]
    pub(super) launch: Vec<Spanned<LaunchTable>>,
    #[serde(default)]
    pub(super) expect: Vec<Spanned<ExpectTable>>,
}

/// `[buffers.NAME]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct BufferTable {
    #[serde(rename = "type")]
    pub(super) ty: Spanned<String>,
    pub(super) len: Spanned<u64>,
    pub(super) init: Option<Spanned<InitValue>>,
}

/// `[symbols.NAME]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SymbolTable {
    #[serde(rename = "type")]
    pub(super) ty: Spanned<String>,
    pub(super) len: Option<Spanned<u64>>,
    pub(super) init: Spanned<InitValue>,
}

/// The value of `l2`.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum L2Choice {
    Cold,
    Keep,
    Warm,
    Repeated,
    Overwritten,
}

impl From<L2Choice> for L2Contents {
    fn from(choice: L2Choice) -> Self {
        match choice {
            L2Choice::Cold => Self::Cold,
            L2Choice::Keep => Self::Keep,
            L2Choice::Warm => Self::Warm,
            L2Choice::Repeated => Self::Repeated,
            L2Choice::Overwritten => Self::Overwritten,
        }
    }
}

/// The value of `init`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub(super) enum InitValue {
    Zero,
    Iota,
    Constant(Number),
    Values(Vec<Number>),
    Uniform(UniformTable),
    Generator(GeneratorTable),
    /// Members as of a structure among the arguments, with pointers and tensor maps among them.
    Struct(Vec<Spanned<ArgumentValue>>),
    File(String),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UniformTable {
    pub(super) low: Number,
    pub(super) high: Number,
    pub(super) seed: u64,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct GeneratorTable {
    pub(super) name: Spanned<String>,
    pub(super) shape: Vec<u64>,
}

/// `[[launch]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LaunchTable {
    pub(super) kernel: Spanned<String>,
    pub(super) grid: Spanned<[u32; 3]>,
    #[serde(default)]
    pub(super) beyond_cuda: bool,
    pub(super) block: Spanned<[u32; 3]>,
    pub(super) cluster: Option<Spanned<[u32; 3]>>,
    pub(super) shared_bytes: Option<Spanned<u32>>,
    pub(super) repeat: Option<Spanned<u32>>,
    #[serde(default)]
    pub(super) args: Vec<Spanned<ArgumentValue>>,
}

/// `[[expect]]`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectTable {
    pub(super) buffer: Spanned<String>,
    pub(super) file: Option<String>,
    pub(super) values: Option<Vec<Number>>,
    pub(super) reference: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) rtol: Tolerance,
    #[serde(default)]
    pub(super) atol: Tolerance,
}

/// An integer or a float.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number(pub(super) Literal);

/// A non-negative finite number.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tolerance(pub(super) f64);

/// `"a"`, a buffer, or `"a+64"`, bytes behind its beginning; `{ s32 = 640 }`, a scalar;
/// `{ struct = [{ u32 = 5 }, "a"] }`, a structure of such members; `{ bytes = "0x00ff" }`, a
/// structure's bytes in the order of memory; `{ tensor_map = { … } }`, see [`TensorMapTable`];
/// `{ texture = "t" }`, the handle of a texture or surface.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ArgumentValue {
    Buffer(String),
    Scalar { ty: String, value: Literal },
    Structure(Vec<Spanned<Self>>),
    Bytes(String),
    TensorMap(Box<TensorMapTable>),
    Texture(String),
}

/// The text with every `"${expression}"` replaced by its value.
///
/// Parameters are declared with their usual values under `[parameters]`; `given` ones take the
/// place of these. The text stays TOML before and after, and places in it are those of the text
/// after.
pub(super) fn with_parameters(
    source: SourceText,
    parameters: &Parameters,
) -> Result<SourceText, Report> {
    let text = expression::substitute(&source, parameters, true)?;
    Ok(SourceText { name: source.name, text: text.into() })
}

/// The values of a file's parameters: the given ones, and for the others their usual ones.
///
/// # Errors
///
/// A given value of a parameter that the file does not declare.
pub(super) fn parameters(
    source: &SourceText,
    given: &[(String, f64)],
) -> Result<Parameters, Report> {
    // Faults of the file as a whole are reported when it is read.
    let table: toml::Table = toml::from_str(&source.text).unwrap_or_default();
    let declared = table.get("parameters").and_then(toml::Value::as_table);
    let number = |value: &toml::Value| match value {
        toml::Value::Integer(value) => Some(*value as f64),
        toml::Value::Float(value) => Some(*value),
        _ => None,
    };
    let mut parameters = Parameters::new();
    for (name, value) in declared.into_iter().flatten() {
        parameters.extend(number(value).map(|value| (name.clone(), value)));
    }
    for (name, value) in given {
        if !parameters.contains_key(name) {
            let report = Report::new(format!("{} has no parameter `{name}`", source.name));
            let known = parameters.keys().map(String::as_str);
            return Err(report.maybe_hint(suggest(name, known).or_else(|| {
                Some(format!("declare it with its usual value: [parameters] {name} = {value}"))
            })));
        }
        parameters.insert(name.clone(), *value);
    }
    Ok(parameters)
}

/// Reads the text's shape.
pub(super) fn parse(source: &SourceText) -> Result<LaunchFile, Report> {
    toml::from_str(&source.text).map_err(|error| toml_report(source, &error))
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Number, E> {
                Ok(Number(Literal::Integer(value.into())))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Number, E> {
                Ok(Number(Literal::Integer(value.into())))
            }

            fn visit_i128<E: de::Error>(self, value: i128) -> Result<Number, E> {
                Ok(Number(Literal::Integer(value)))
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Number, E> {
                Ok(Number(Literal::Real(value)))
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Number::deserialize(deserializer)?.0.as_f64();
        if value.is_finite() && value >= 0.0 {
            Ok(Self(value))
        } else {
            Err(de::Error::custom("a tolerance is a number that is not negative"))
        }
    }
}

impl<'de> Deserialize<'de> for ArgumentValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ArgumentVisitor;

        impl<'de> Visitor<'de> for ArgumentVisitor {
            type Value = ArgumentValue;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a buffer's name, a scalar such as { s32 = 640 }, or { struct = [members] }",
                )
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<ArgumentValue, E> {
                Ok(ArgumentValue::Buffer(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<ArgumentValue, A::Error> {
                const ONE: &str = "a scalar has one type and one value, as in { s32 = 640 }";
                let Some(ty) = map.next_key::<String>()? else {
                    return Err(de::Error::custom(ONE));
                };
                let value = match ty.as_str() {
                    "struct" => ArgumentValue::Structure(map.next_value()?),
                    "bytes" => ArgumentValue::Bytes(map.next_value()?),
                    "tensor_map" => ArgumentValue::TensorMap(map.next_value()?),
                    "texture" => ArgumentValue::Texture(map.next_value()?),
                    _ => {
                        let Number(value) = map.next_value()?;
                        ArgumentValue::Scalar { ty, value }
                    }
                };
                match map.next_key::<String>()? {
                    Some(_) => Err(de::Error::custom(ONE)),
                    None => Ok(value),
                }
            }
        }

        deserializer.deserialize_any(ArgumentVisitor)
    }
}

//! Reads a GPU's TOML file; every complaint has a line and a field.

use std::ops::Range;

use gpucast_counters::import::Position;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::derive::{UNKNOWN_MEMORY, is_known_memory};
use super::description::Gpu;
use super::error::{CountingError, FieldError, GpuError, nearest};
use super::library::GpuLibrary;
use super::overrides::{Change, Override};
use super::quantity::Raw;
use super::source::Source;

/// Finds the GPU that a file's `base` names, or says why it cannot.
pub type FindBase<'a> = &'a mut dyn FnMut(&str) -> Result<Gpu, String>;

impl Gpu {
    /// Reads a GPU's TOML file. Its `base`, if it has one, is a GPU of the built-in library.
    ///
    /// # Errors
    ///
    /// On text that is not TOML, and on a base that is not known. On fields that do not exist, lack
    /// a part, have a unit that does not measure them or a value that no GPU can have. On fields
    /// that contradict each other, and on parameters with which nothing can be counted.
    pub fn from_toml(text: &str) -> Result<Self, GpuError> {
        Self::from_toml_with(text, &mut |base| {
            let library = GpuLibrary::builtin().map_err(|error| error.to_string())?;
            library.as_written(base).cloned().map_err(|unknown| unknown.to_string())
        })
    }

    /// Reads a GPU's TOML file, whose `base` is looked up by `find`.
    ///
    /// A file with a base is its base, completed, with the fields of the file changed and
    /// everything that follows from them (see [`Gpu::with_overrides`]). Its fields may be short:
    /// `"8 TB/s"`, `"1.2x"`, `144`.
    ///
    /// # Errors
    ///
    /// As [`Gpu::from_toml`].
    pub fn from_toml_with(text: &str, find: FindBase<'_>) -> Result<Self, GpuError> {
        let root = DeTable::parse(text).map_err(|error| GpuError {
            position: error.span().map_or(Position::START, |span| Position::of(text, span.start)),
            problem: FieldError::Syntax { message: error.message().to_owned() },
        })?;
        let root = root.get_ref();
        let name = required_text(text, root, "name")?;
        if !is_name(&name) {
            let span = span_of(root, "name");
            return Err(located(text, span, FieldError::BadName { name }));
        }
        let base = match root.get("base") {
            None => None,
            Some(_) => Some(base(text, root, find)?),
        };
        let display_name = match &base {
            Some(_) if !root.contains_key("display_name") => name.clone(),
            _ => required_text(text, root, "display_name")?,
        };
        let mut gpu = Self::named(&name, &display_name);
        let mut changes = Vec::new();
        for (key, value) in root {
            let field = key.get_ref().as_ref();
            if matches!(field, "name" | "display_name" | "base") {
                continue;
            }
            if field == "aliases" {
                gpu.aliases = aliases(text, value)?;
                continue;
            }
            let Some(known) = Self::FIELDS.iter().find(|known| **known == field) else {
                let known = Self::FIELDS.iter().copied();
                let suggestion = nearest(field, known).first().copied();
                let problem = FieldError::UnknownField { field: field.to_owned(), suggestion };
                return Err(located(text, key.span(), problem));
            };
            let read = match &base {
                None => RawField::of(field, value).and_then(|raw| raw.put_into(&mut gpu)),
                Some(_) => change(known, value, &name).map(|change| changes.push(change)),
            };
            read.map_err(|problem| located(text, span_of_problem(value, &problem), problem))?;
        }
        if let Some(base) = base {
            let changed = base.changed(&changes).map_err(|error| {
                let problem = FieldError::from(error);
                // A field that a change reaches need not stand in the file.
                let field = problem.field().filter(|field| root.contains_key(*field));
                let span = span_of(root, field.unwrap_or("base"));
                located(text, span, problem)
            })?;
            return Ok(Self { name, display_name, aliases: gpu.aliases, ..changed });
        }
        match gpu.problem() {
            Some(problem) => {
                let span = problem.field().map_or(0..0, |field| span_of(root, field));
                Err(located(text, span, problem))
            }
            None => Ok(gpu),
        }
    }

    /// Fields that contradict each other, or with which nothing can be counted.
    pub(super) fn problem(&self) -> Option<FieldError> {
        let unknown_memory = || {
            let kind = &self.memory_type.as_ref()?.value.0;
            (!is_known_memory(kind)).then(|| FieldError::Impossible {
                field: "memory_type".to_owned(),
                value: format!("\"{kind}\""),
                why: UNKNOWN_MEMORY,
            })
        };
        self.contradiction().or_else(unknown_memory).or_else(|| match self.device_model() {
            Err(CountingError::Impossible { field, value, why }) => Some(FieldError::Impossible {
                field: field.to_owned(),
                value: value.to_string(),
                why,
            }),
            // Without them a GPU can be predicted for, though not be counted on.
            Ok(_)
            | Err(CountingError::Missing { .. } | CountingError::UnknownCapability { .. }) => None,
        })
    }
}

/// The GPU that the file builds on.
fn base(text: &str, root: &DeTable<'_>, find: FindBase<'_>) -> Result<Gpu, GpuError> {
    let span = span_of(root, "base");
    let name = root.get("base").and_then(|base| base.get_ref().as_str());
    let Some(base) = name else {
        return Err(located(text, span, FieldError::NoBase));
    };
    find(base)
        .map_err(|why| located(text, span, FieldError::BadBase { base: base.to_owned(), why }))
}

/// A field of a file with a base: in full, or `"8 TB/s"`, `"1.2x"`, `144`.
fn change(
    field: &'static str,
    value: &Spanned<DeValue<'_>>,
    name: &str,
) -> Result<Override, FieldError> {
    let assumed =
        |text: &str| Source::Assumed(format!("stated in the file of {name}: {text}").into());
    let short = |text: &str| {
        let change = Change::read(field, text).map_err(FieldError::from)?;
        Ok(Override { field, change, source: assumed(text) })
    };
    match value.get_ref() {
        DeValue::String(text) => short(text),
        DeValue::Integer(integer) => short(integer.as_str()),
        DeValue::Float(float) => short(float.as_str()),
        _ => {
            let raw = RawField::of(field, value)?;
            let source = raw.source.clone();
            let change = match raw.value {
                Raw::Text(text) if raw.unit.is_none() => Change::read(field, text)?,
                _ => Change::To(raw.in_first_unit()?.owned()),
            };
            Ok(Override { field, change, source })
        }
    }
}

/// A field as the file has it: value, unit and source, not yet typed.
struct RawField<'a> {
    field: &'a str,
    value: Raw<'a>,
    unit: Option<&'a str>,
    source: Source,
}

impl<'a> RawField<'a> {
    fn of(field: &'a str, value: &'a Spanned<DeValue<'_>>) -> Result<Self, FieldError> {
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| FieldError::NotAField { field: field.to_owned() })?;
        let (mut number, mut unit, mut source) = (None, None, None);
        for (part, content) in table {
            let content = content.get_ref();
            match part.get_ref().as_ref() {
                "value" => number = Some(raw_value(field, content)?),
                "unit" => match content.as_str() {
                    Some(text) => unit = Some(text),
                    None => {
                        return Err(FieldError::MissingPart { field: field.into(), part: "unit" });
                    }
                },
                "source" => source = Some(raw_source(field, content)?),
                part => {
                    return Err(FieldError::UnknownPart { field: field.into(), part: part.into() });
                }
            }
        }
        let missing = |part| FieldError::MissingPart { field: field.to_owned(), part };
        Ok(Self {
            field,
            value: number.ok_or_else(|| missing("value"))?,
            unit,
            source: source.ok_or_else(|| missing("source"))?,
        })
    }

    /// Gives the field of a GPU this value, if it is one that the field can have.
    fn put_into(self, gpu: &mut Gpu) -> Result<(), FieldError> {
        let value = self.in_first_unit()?;
        gpu.put(self.field, value, self.source).map_err(|why| FieldError::Impossible {
            field: self.field.to_owned(),
            value: match self.value {
                Raw::Number(number) if number.abs() >= 1e16 => format!("{number:e}"),
                Raw::Number(number) => number.to_string(),
                Raw::Text(text) => format!("\"{text}\""),
            },
            why,
        })
    }

    /// The value in the field's first unit, whatever quantity it is; the field checks it later.
    fn in_first_unit(&self) -> Result<Raw<'a>, FieldError> {
        let factor = self.factor(Gpu::units(self.field).unwrap_or_default())?;
        Ok(match self.value {
            Raw::Number(number) => Raw::Number(number * factor),
            text @ Raw::Text(_) => text,
        })
    }

    fn factor(&self, units: &[(&str, f64)]) -> Result<f64, FieldError> {
        match (self.unit, units) {
            (None, []) => Ok(1.0),
            (Some(_), []) => {
                Err(FieldError::UnknownPart { field: self.field.into(), part: "unit".into() })
            }
            (None, _) => Err(FieldError::MissingPart { field: self.field.into(), part: "unit" }),
            (Some(unit), _) => {
                units.iter().find(|(name, _)| *name == unit).map(|&(_, factor)| factor).ok_or_else(
                    || FieldError::WrongUnit {
                        field: self.field.into(),
                        unit: unit.into(),
                        allowed: units
                            .iter()
                            .map(|(name, _)| format!("`{name}`"))
                            .collect::<Vec<_>>()
                            .join(" or "),
                    },
                )
            }
        }
    }
}

fn raw_value<'a>(field: &str, value: &'a DeValue<'_>) -> Result<Raw<'a>, FieldError> {
    let number = |text: &str| text.parse::<f64>().map(Raw::Number);
    let impossible = |why| FieldError::Impossible {
        field: field.to_owned(),
        value: format!("of type {}", value.type_str()),
        why,
    };
    match value {
        DeValue::String(text) => Ok(Raw::Text(text.as_ref())),
        DeValue::Integer(integer) if integer.radix() == 10 => {
            number(integer.as_str()).map_err(|_| impossible("it is not a number"))
        }
        DeValue::Float(float) => {
            number(float.as_str()).map_err(|_| impossible("it is not a number"))
        }
        _ => Err(impossible("it must be a decimal number or a string")),
    }
}

fn raw_source(field: &str, value: &DeValue<'_>) -> Result<Source, FieldError> {
    let bad = || FieldError::BadSource { field: field.to_owned() };
    let table = value.as_table().ok_or_else(bad)?;
    let mut entries = table.iter();
    let (Some((kind, text)), None) = (entries.next(), entries.next()) else { return Err(bad()) };
    let text = text.get_ref().as_str().filter(|text| !text.trim().is_empty()).ok_or_else(bad)?;
    Source::of_kind(kind.get_ref(), text).ok_or_else(bad)
}

fn required_text(text: &str, root: &DeTable<'_>, key: &'static str) -> Result<String, GpuError> {
    root.iter()
        .find(|(name, _)| name.get_ref() == key)
        .and_then(|(_, value)| value.get_ref().as_str())
        .map(str::to_owned)
        .ok_or_else(|| located(text, span_of(root, key), FieldError::MissingName { key }))
}

/// Further names, which must be such as can be typed.
fn aliases(text: &str, value: &Spanned<DeValue<'_>>) -> Result<Vec<String>, GpuError> {
    let names = value.get_ref().as_array();
    let names = names.ok_or_else(|| located(text, value.span(), FieldError::BadAliases))?;
    names
        .iter()
        .map(|name| match name.get_ref().as_str() {
            Some(alias) if is_name(alias) => Ok(alias.to_owned()),
            Some(alias) => {
                Err(located(text, name.span(), FieldError::BadName { name: alias.to_owned() }))
            }
            None => Err(located(text, name.span(), FieldError::BadAliases)),
        })
        .collect()
}

/// The span of the part of a field that a problem is about; the whole field if it is none of its
/// parts.
fn span_of_problem(field: &Spanned<DeValue<'_>>, problem: &FieldError) -> Range<usize> {
    let part = match problem {
        FieldError::Impossible { .. } => "value",
        FieldError::WrongUnit { .. } => "unit",
        FieldError::BadSource { .. } => "source",
        FieldError::UnknownPart { part, .. } => part,
        _ => return field.span(),
    };
    match field.get_ref().as_table() {
        Some(table) if table.contains_key(part) => span_of(table, part),
        _ => field.span(),
    }
}

/// The span of a key's value; the beginning if the key is missing.
fn span_of(root: &DeTable<'_>, key: &str) -> Range<usize> {
    root.iter().find(|(name, _)| name.get_ref() == key).map_or(0..0, |(_, value)| value.span())
}

fn located(text: &str, span: Range<usize>, problem: FieldError) -> GpuError {
    GpuError { position: Position::of(text, span.start), problem }
}

/// Lower-case letters, digits and single dashes between them.
pub(super) fn is_name(name: &str) -> bool {
    name.split('-').all(|word| {
        !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
    })
}

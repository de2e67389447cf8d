//! The reasons why a GPU file could not be read, and where.

use gpucast_counters::ComputeCapability;
use gpucast_counters::import::Position;
use thiserror::Error;

/// A GPU file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{position}: {problem}")]
pub struct GpuError {
    /// The position in the file.
    pub position: Position,
    /// The fault there.
    pub problem: FieldError,
}

impl GpuError {
    /// A remedy for the user, if there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match &self.problem {
            FieldError::UnknownField { suggestion: Some(name), .. } => {
                Some(format!("did you mean `{name}`?"))
            }
            FieldError::NotAField { field } | FieldError::MissingPart { field, .. } => {
                Some(format!(
                    "write `{field} = {{ value = …, unit = \"…\", source = {{ benchmark = \"…\" }} }}`"
                ))
            }
            FieldError::WrongUnit { allowed, .. } => Some(format!("use {allowed}")),
            FieldError::BadSource { .. } => Some(
                "a source is one of `datasheet`, `benchmark`, `derived` or `assumed`, with a text"
                    .into(),
            ),
            FieldError::BadName { .. } => {
                Some("names are lower case with dashes, such as `gtx-480`".into())
            }
            FieldError::Syntax { .. }
            | FieldError::UnknownField { suggestion: None, .. }
            | FieldError::UnknownPart { .. }
            | FieldError::MissingName { .. }
            | FieldError::BadAliases
            | FieldError::NoBase
            | FieldError::BadBase { .. }
            | FieldError::BadChange { .. }
            | FieldError::Impossible { .. }
            | FieldError::Duplicate { .. }
            | FieldError::Contradiction { .. } => None,
        }
    }
}

/// A fault of a GPU file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FieldError {
    /// Not TOML at all.
    #[error("this is not valid TOML: {message}")]
    Syntax {
        /// The TOML parser's words.
        message: String,
    },
    /// A field that GPUs do not have.
    #[error("a GPU has no field `{field}`")]
    UnknownField {
        /// The field.
        field: String,
        /// The nearest field that exists.
        suggestion: Option<&'static str>,
    },
    /// A field that is no table of value, unit and source.
    #[error("the field `{field}` must be a table with a value, a unit and a source")]
    NotAField {
        /// The field.
        field: String,
    },
    /// A field without one of its parts.
    #[error("the field `{field}` has no {part}")]
    MissingPart {
        /// The field.
        field: String,
        /// `value`, `unit` or `source`.
        part: &'static str,
    },
    /// A part of a field that fields do not have.
    #[error("the field `{field}` must not have a part `{part}`")]
    UnknownPart {
        /// The field.
        field: String,
        /// The part.
        part: String,
    },
    /// A unit that does not measure this.
    #[error("`{unit}` is not a unit of `{field}`")]
    WrongUnit {
        /// The field.
        field: String,
        /// The unit as written.
        unit: String,
        /// The units that would do.
        allowed: String,
    },
    /// A source that is none.
    #[error("the source of `{field}` does not say where the value comes from")]
    BadSource {
        /// The field.
        field: String,
    },
    /// A value that no GPU can have.
    #[error("the value {value} of `{field}` is impossible: {why}")]
    Impossible {
        /// The field.
        field: String,
        /// The value as written.
        value: String,
        /// The fault.
        why: &'static str,
    },
    /// A file without a name.
    #[error("the GPU has no `{key}`")]
    MissingName {
        /// `name` or `display_name`.
        key: &'static str,
    },
    /// A name that could not be typed on the command line.
    #[error("`{name}` is not a GPU name")]
    BadName {
        /// The name.
        name: String,
    },
    /// A base that is no text.
    #[error("`base` must be the name of a GPU or the path of its file")]
    NoBase,
    /// A base that cannot be had.
    #[error("`{base}` cannot be the base: {why}")]
    BadBase {
        /// The base as written.
        base: String,
        /// The reason.
        why: String,
    },
    /// A change of the base that is not possible.
    #[error("{why}")]
    BadChange {
        /// The field.
        field: String,
        /// The reason.
        why: String,
    },
    /// Aliases that are no list of names.
    #[error("`aliases` must be a list of names")]
    BadAliases,
    /// A name that the library already has.
    #[error("there already is a GPU named `{name}`")]
    Duplicate {
        /// The name.
        name: String,
    },
    /// Two fields that cannot both be right.
    #[error("`{field}` and `{other}` contradict each other: {why}")]
    Contradiction {
        /// One field.
        field: &'static str,
        /// The other field.
        other: &'static str,
        /// The rule that they break.
        why: &'static str,
    },
}

impl FieldError {
    /// The field that it is about, if it is about one.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::UnknownField { field, .. }
            | Self::NotAField { field }
            | Self::MissingPart { field, .. }
            | Self::UnknownPart { field, .. }
            | Self::WrongUnit { field, .. }
            | Self::BadSource { field }
            | Self::BadChange { field, .. }
            | Self::Impossible { field, .. } => Some(field),
            Self::Contradiction { field, .. } => Some(field),
            Self::Syntax { .. }
            | Self::MissingName { .. }
            | Self::BadName { .. }
            | Self::BadAliases
            | Self::NoBase
            | Self::BadBase { .. }
            | Self::Duplicate { .. } => None,
        }
    }
}

/// The reason why counts cannot be taken as on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CountingError {
    /// A field that the counters cannot do without.
    #[error("counts need its `{field}`")]
    Missing {
        /// The field.
        field: &'static str,
    },
    /// A value of a field with which nothing can be counted.
    #[error("the value {value} of `{field}` is impossible: {why}")]
    Impossible {
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
        /// The fault.
        why: &'static str,
    },
    /// A compute capability that does not exist, or is newer than this program.
    #[error("nothing is known of compute capability {capability}")]
    UnknownCapability {
        /// The capability.
        capability: ComputeCapability,
    },
}

/// A field that the simulation of an SM cannot do without.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the GPU `{gpu}` has no `{field}`, which the simulation of an SM needs")]
pub struct MissingField {
    /// The GPU.
    pub gpu: String,
    /// The field.
    pub field: &'static str,
}

/// A GPU name that the library does not have.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no GPU named `{name}`{}", did_you_mean(.suggestions))]
pub struct UnknownGpu {
    /// The name.
    pub name: String,
    /// Names that resemble it, best first.
    pub suggestions: Vec<String>,
}

fn did_you_mean(suggestions: &[String]) -> String {
    let quoted: Vec<String> = suggestions.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((only, [])) => format!("; did you mean {only}?"),
        Some((last, rest)) => format!("; did you mean {} or {last}?", rest.join(", ")),
    }
}

/// The candidates that resemble `name`, best first.
pub(crate) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // Below 0.85 Jaro-Winkler's suggestions no longer resemble the typed name.
    const RESEMBLES: f64 = 0.85;
    // `k20c` is a part of `tesla-k20c`; shorter parts are in too many names to help.
    const SHORTEST_PART: usize = 3;
    let is_part = |whole: &str| name.len() >= SHORTEST_PART && whole.contains(name);
    let mut scored: Vec<(f64, &str)> = candidates
        .map(|candidate| match is_part(candidate) {
            true => (1.0, candidate),
            false => (strsim::jaro_winkler(name, candidate), candidate),
        })
        .filter(|&(score, _)| score >= RESEMBLES)
        .collect();
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    scored.truncate(3);
    scored.into_iter().map(|(_, candidate)| candidate).collect()
}

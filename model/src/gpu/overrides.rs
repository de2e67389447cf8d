//! Changes to a GPU: `memory_bandwidth=1.2x`, `sm_count=120`, `l2_size=96 MiB`.
//!
//! A change reaches everything that follows from the field:
//!
//! - fields that rules filled are filled anew;
//! - a figure that a file gives although a rule exists for it (a measured throughput) is scaled by
//!   the ratio of the rule's values after and before. Twice the SMs do twice the measured
//!   operations. Its source says so;
//! - another compute capability brings its own limits of an SM and its own counting rules, whatever
//!   the file said of those of the old one;
//! - an effective memory bandwidth takes its peak along, so that their ratio stays.
//!
//! The fields that the changed field itself follows from stay: a higher `sp_throughput` adds no
//! SMs.

use gpucast_counters::device::capability_sources;
use thiserror::Error;

use super::derive::{RULES, Rule};
use super::description::{FieldSet, Gpu};
use super::error::{FieldError, nearest};
use super::quantity::{Units, Value};
use super::source::Source;

/// A change of a field.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// A multiple of its value.
    Times(f64),
    /// This, in the field's first unit.
    To(Value),
}

/// A change of a field with its reason, which becomes the field's source.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Override {
    pub(super) field: &'static str,
    pub(super) change: Change,
    pub(super) source: Source,
}

/// The reason why a field cannot be changed so.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum OverrideError {
    /// No field of this name.
    #[error("a GPU has no field `{field}`{}", .suggestion.map_or(String::new(), |name| format!("; did you mean `{name}`?")))]
    UnknownField {
        /// The field.
        field: String,
        /// The nearest field that exists.
        suggestion: Option<&'static str>,
    },
    /// Neither a factor nor a value with a unit.
    #[error("`{text}` is no value of `{field}`; write {wanted}")]
    Unreadable {
        /// The field.
        field: &'static str,
        /// The text as it was written.
        text: String,
        /// A description of the values that can be written.
        wanted: String,
    },
    /// A factor of a field that is not known.
    #[error("`{gpu}` has no `{field}` to multiply; give a value")]
    NothingToScale {
        /// The GPU.
        gpu: String,
        /// The field.
        field: &'static str,
    },
    /// Two changes of one field.
    #[error("`{field}` is changed twice")]
    Twice {
        /// The field.
        field: &'static str,
    },
    /// A measured field whose rule has nothing to say of the changed GPU.
    #[error(
        "`{field}` was given for `{gpu}` as it is, and no rule says what it becomes; change it, too"
    )]
    CannotFollow {
        /// The GPU.
        gpu: String,
        /// The field.
        field: &'static str,
    },
    /// A clock that the file does not have.
    #[error("`{gpu}` has no `{field}`; give the clock as a number of megahertz")]
    NoClock {
        /// The GPU.
        gpu: String,
        /// The field.
        field: &'static str,
    },
    /// A value that no GPU can have, alone or beside others.
    #[error("{0}")]
    Impossible(FieldError),
}

impl From<OverrideError> for FieldError {
    fn from(error: OverrideError) -> Self {
        let why = error.to_string();
        match error {
            OverrideError::Impossible(problem) => problem,
            OverrideError::UnknownField { field, suggestion } => {
                Self::UnknownField { field, suggestion }
            }
            OverrideError::Unreadable { field, .. }
            | OverrideError::NothingToScale { field, .. }
            | OverrideError::Twice { field }
            | OverrideError::CannotFollow { field, .. }
            | OverrideError::NoClock { field, .. } => {
                Self::BadChange { field: field.to_owned(), why }
            }
        }
    }
}

/// The field of a name as the description spells it.
pub(super) fn field_named(field: &str) -> Result<&'static str, OverrideError> {
    let known = || Gpu::FIELDS.iter().copied();
    known().find(|name| *name == field).ok_or_else(|| OverrideError::UnknownField {
        field: field.to_owned(),
        suggestion: nearest(field, known()).first().copied(),
    })
}

impl Change {
    /// Reads `1.2x`, `8 TB/s`, a bare number if there is only one unit, or a name.
    ///
    /// # Errors
    ///
    /// If the field does not exist or the text is none of these.
    pub fn read(field: &str, text: &str) -> Result<Self, OverrideError> {
        let field = field_named(field)?;
        let units = Gpu::units(field).unwrap_or_default();
        let text = text.trim();
        let unreadable =
            || OverrideError::Unreadable { field, text: text.to_owned(), wanted: wanted(units) };
        if units.is_empty() {
            return match text {
                "" => Err(unreadable()),
                text => Ok(Self::To(Value::Text(text.to_owned()))),
            };
        }
        if let Some(factor) = text.strip_suffix(['x', '×']) {
            return factor
                .trim()
                .parse::<f64>()
                .ok()
                .filter(|factor| factor.is_finite() && *factor > 0.0)
                .map(Self::Times)
                .ok_or_else(unreadable);
        }
        // A unit begins with a letter or a slash; `1e3` is all number.
        let split = |unit: &str| text.strip_suffix(unit).map(str::trim_end);
        let by_unit = units.iter().find_map(|(unit, factor)| {
            let number = split(unit)?.parse::<f64>().ok()?;
            Some(number * factor)
        });
        let bare = || match units {
            [(_, factor)] => text.parse::<f64>().ok().map(|number| number * factor),
            _ => None,
        };
        by_unit.or_else(bare).map(|n| Self::To(Value::Number(n))).ok_or_else(unreadable)
    }
}

/// A description of the values that can be written for a field.
fn wanted(units: Units) -> String {
    match units {
        [] => "a name".to_owned(),
        [(unit, _)] => format!("a number, with or without `{unit}`, or a factor such as `1.2x`"),
        many => {
            let names: Vec<String> = many.iter().map(|(unit, _)| format!("`{unit}`")).collect();
            format!("a number with its unit, {}, or a factor such as `1.2x`", names.join(" or "))
        }
    }
}

/// Reads changes, each with the source that `source` gives a field and its text.
fn overrides(
    changes: &[(&str, &str)],
    source: impl Fn(&str, &str) -> Source,
) -> Result<Vec<Override>, OverrideError> {
    let read = |(field, text): &(&str, &str)| {
        let change = Change::read(field, text)?;
        Ok(Override { field: field_named(field)?, change, source: source(field, text) })
    };
    changes.iter().map(read).collect()
}

/// A GPU that is to be changed often: what all changes begin with is made once.
#[derive(Clone, Debug)]
pub struct Basis {
    /// The GPU with every field that follows.
    completed: Gpu,
    /// The GPU as its file has it.
    given: Gpu,
}

impl Basis {
    /// The basis of a GPU's changes.
    #[must_use]
    pub fn of(gpu: &Gpu) -> Self {
        let completed = gpu.completed();
        let given = completed.given();
        Self { completed, given }
    }

    /// The GPU with fields changed: see [`Gpu::with_overrides`].
    ///
    /// # Errors
    ///
    /// As [`Gpu::with_overrides`].
    pub fn with_overrides(&self, changes: &[(&str, &str)]) -> Result<Gpu, OverrideError> {
        let source =
            |field: &str, text: &str| Source::Assumed(format!("{field} = {}", text.trim()).into());
        let mut gpu = self.changed(&overrides(changes, source)?)?;
        let before = self.completed.changed;
        let is_changed = |field: &str| changes.iter().any(|(changed, _)| *changed == field);
        gpu.changed = FieldSet::of(|field| before.contains(field) || is_changed(field));
        Ok(gpu)
    }

    /// The GPU with all changes and everything that follows from them.
    fn changed(&self, changes: &[Override]) -> Result<Gpu, OverrideError> {
        let old = &self.completed;
        let mut new = self.given.clone();
        new.forget_capability(changes);
        let mut set: Vec<&'static str> = Vec::new();
        for change in changes {
            if set.contains(&change.field) {
                return Err(OverrideError::Twice { field: change.field });
            }
            set.push(change.field);
            new.apply(old, change)?;
        }
        if let Some(capability) = &new.compute_capability
            && set.contains(&"compute_capability")
            && capability_sources(capability.value).is_none()
        {
            let value = Value::Text(capability.value.to_string());
            return Err(impossible("compute_capability", &value, "nothing is known of it"));
        }
        new.follow_peak(old, &mut set)?;
        new = new.with_capability_defaults();
        for rule in RULES {
            if set.contains(&rule.field) {
                continue;
            }
            let is_given = new.figure(rule.field).is_some() && !old.is_filled(rule.field);
            // Rules come after those of their inputs.
            let is_as_before = !rule.inputs().iter().any(|input| new.differs_from(old, input));
            match is_given {
                true if is_as_before => {}
                false if is_as_before => new.take_from(old, rule.field),
                // A rule without a value may lack an input that an impossible change left open.
                true => new
                    .scale(old, rule.field)
                    .map_err(|error| new.problem().map_or(error, OverrideError::Impossible))?,
                false => {
                    new.clear(rule.field);
                    new.fill_by(rule);
                }
            }
        }
        let is_filled = |field: &str| {
            new.figure(field).is_some()
                && !set.contains(&field)
                && (old.is_filled(field) || old.figure(field).is_none())
        };
        new.filled = FieldSet::of(is_filled);
        match new.problem() {
            Some(problem) => Err(OverrideError::Impossible(problem)),
            None => Ok(new),
        }
    }
}

impl Gpu {
    /// This GPU, completed, with a field changed and everything that follows from it.
    ///
    /// The text is a factor (`1.2x`), a number with a unit (`8 TB/s`), a number if the field has
    /// one unit only (`120` SMs), or a name.
    ///
    /// # Errors
    ///
    /// If there is no such field, the text cannot be read, or the GPU that results is impossible.
    pub fn with_override(&self, field: &str, text: &str) -> Result<Self, OverrideError> {
        self.with_overrides(&[(field, text)])
    }

    /// The same with several fields, which are changed together: the order plays no part.
    ///
    /// # Errors
    ///
    /// As [`Gpu::with_override`], and if a field is changed twice.
    pub fn with_overrides(&self, changes: &[(&str, &str)]) -> Result<Self, OverrideError> {
        Basis::of(self).with_overrides(changes)
    }

    /// The same with a source for the value of each field; factors name their basis.
    ///
    /// # Errors
    ///
    /// As [`Gpu::with_overrides`].
    pub fn with_sourced(
        &self,
        changes: &[(&str, &str)],
        source: impl Fn(&str) -> Source,
    ) -> Result<Self, OverrideError> {
        self.changed(&overrides(changes, |field, _| source(field))?)
    }

    /// This GPU, completed, with all changes and everything that follows from them.
    pub(super) fn changed(&self, changes: &[Override]) -> Result<Self, OverrideError> {
        Basis::of(self).changed(changes)
    }

    /// Another capability brings its own limits and counting rules.
    fn forget_capability(&mut self, changes: &[Override]) {
        if !changes.iter().any(|change| change.field == "compute_capability") {
            return;
        }
        let bare = Self {
            compute_capability: self.compute_capability.clone(),
            sm_count: self.sm_count.clone(),
            l2_size: self.l2_size.clone(),
            ..Self::named(&self.name, &self.display_name)
        };
        let full = bare.with_capability_defaults();
        for field in Self::FIELDS {
            if bare.figure(field).is_none() && full.figure(field).is_some() {
                self.clear(field);
            }
        }
        // Threads follow from warps.
        self.max_threads_per_sm = None;
    }

    fn apply(&mut self, old: &Self, change: &Override) -> Result<(), OverrideError> {
        let field = change.field;
        let (value, source) = match &change.change {
            Change::To(value) => (value.clone(), change.source.clone()),
            Change::Times(factor) => {
                let before = old.number(field).ok_or_else(|| OverrideError::NothingToScale {
                    gpu: old.name.clone(),
                    field,
                })?;
                let unit = Self::units(field).and_then(|units| units.first());
                let unit = unit.map_or("", |(unit, _)| unit);
                let source =
                    Source::Assumed(format!("{factor} × {before} {unit} of {}", old.name).into());
                (Value::Number(before * factor), source)
            }
        };
        self.put(field, value.raw(), source).map_err(|why| impossible(field, &value, why))
    }

    /// A peak that is given stays as far above the effective bandwidth as it was.
    fn follow_peak(
        &mut self,
        old: &Self,
        set: &mut Vec<&'static str>,
    ) -> Result<(), OverrideError> {
        const PEAK: &str = "peak_memory_bandwidth";
        let is_set = |field| set.contains(&field);
        if !is_set("memory_bandwidth") || is_set(PEAK) {
            return Ok(());
        }
        let ratio = match (self.number("memory_bandwidth"), old.number("memory_bandwidth")) {
            (Some(new), Some(old)) => new / old,
            _ => return Ok(()),
        };
        let Some(peak) = old.number(PEAK) else { return Ok(()) };
        let source = Source::Derived(
            format!("follows memory_bandwidth: {ratio} × {peak} GB/s of {}", old.name).into(),
        );
        let value = Value::Number(peak * ratio);
        set.push(PEAK);
        self.put(PEAK, value.raw(), source).map_err(|why| impossible(PEAK, &value, why))
    }

    /// Scales a given field by the ratio of its rule's values for this GPU and for the old one.
    fn scale(&mut self, old: &Self, field: &'static str) -> Result<(), OverrideError> {
        let Some(rule) = Rule::of(field) else { return Ok(()) };
        let Some(before) = rule.value(old) else { return Ok(()) };
        let cannot = || OverrideError::CannotFollow { gpu: old.name.clone(), field };
        let after = rule.value(self).ok_or_else(cannot)?;
        // Equal inputs give bit-equal results.
        if after == before {
            return Ok(());
        }
        let Some(figure) = self.figure(field) else { return Ok(()) };
        let Some(given) = figure.value.number() else { return Ok(()) };
        let unit = figure.unit.unwrap_or_default();
        let source = Source::Derived(
            format!(
                "{}: {} / {} × {given} {unit} ({}: {})",
                rule.name,
                rounded(after),
                rounded(before),
                figure.source.kind(),
                figure.source.text(),
            )
            .into(),
        );
        // Counts of the file need not follow the rule, but they stay whole.
        let is_count = matches!(field, "sp_count" | "max_threads_per_sm");
        let value = given * after / before;
        let value = Value::Number(if is_count { value.round() } else { value });
        self.put(field, value.raw(), source).map_err(|why| impossible(field, &value, why))
    }

    /// A field, and all that change with it: what rules make of it, and the peak that follows an
    /// effective bandwidth.
    #[must_use]
    pub fn fields_behind(field: &str) -> Vec<&'static str> {
        let mut reached: Vec<&'static str> =
            Self::FIELDS.iter().copied().filter(|name| *name == field).collect();
        if field == "memory_bandwidth" {
            reached.push("peak_memory_bandwidth");
        }
        // Rules come after those of their inputs.
        for rule in RULES {
            if !reached.contains(&rule.field)
                && rule.inputs().iter().any(|input| reached.contains(input))
            {
                reached.push(rule.field);
            }
        }
        reached
    }

    /// A field that is a number.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<f64> {
        self.figure(field)?.value.number()
    }
}

fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

fn impossible(field: &str, value: &Value, why: &'static str) -> OverrideError {
    let value = match value {
        Value::Number(number) => number.to_string(),
        Value::Text(text) => format!("\"{text}\""),
    };
    OverrideError::Impossible(FieldError::Impossible { field: field.to_owned(), value, why })
}

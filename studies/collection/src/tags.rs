//! Tags choose kernels (Stevens and Klöckner 2020, sections 2.2 and 7.1).
//!
//! A *generator tag* such as `matmul_sq` chooses generators, by one of four conditions. A *variant
//! tag* such as `n:2048,2560` reduces the values of an axis. Each generator makes a kernel for each
//! combination of the values that are left.

use std::collections::{BTreeMap, BTreeSet};

use crate::generators;
use crate::language::Kernel;
use crate::variant::{Allowed, Axis, Unfit, Value, Variant};
use crate::{Generator, Target, Texts};

/// When a generator's tags fit the tags that a user gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MatchCondition {
    /// They are the same.
    Identical,
    /// The user gives all of the generator's tags.
    Subset,
    /// The generator has all tags that the user gives.
    #[default]
    Superset,
    /// They have a tag in common.
    Intersection,
}

impl MatchCondition {
    /// Returns true if a generator with tags `own` fits the tags `given`.
    #[must_use]
    pub fn holds(self, own: &BTreeSet<&str>, given: &BTreeSet<&str>) -> bool {
        match self {
            Self::Identical => own == given,
            Self::Subset => own.is_subset(given),
            Self::Superset => own.is_superset(given),
            Self::Intersection => !own.is_disjoint(given),
        }
    }
}

/// Tags that a user gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Tags of generators.
    pub generators: Vec<String>,
    /// Axes with the values that are wanted.
    pub variants: Vec<(String, Vec<String>)>,
    /// How tags of generators must fit.
    pub condition: MatchCondition,
}

/// A kernel that tags chose.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The generator.
    pub generator: &'static Generator,
    /// The arguments.
    pub variant: Variant,
}

/// Tags that choose nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TagError {
    /// What is wrong, in a sentence without a full stop.
    pub message: String,
    /// What can be written instead.
    pub hint: String,
}

impl Request {
    /// Reads tags: those with a colon are of variants.
    ///
    /// # Errors
    ///
    /// A tag without a name or without values.
    pub fn parse<S: AsRef<str>>(tags: &[S], condition: MatchCondition) -> Result<Self, TagError> {
        let mut request = Self { condition, ..Self::default() };
        for tag in tags.iter().map(AsRef::as_ref) {
            let Some((axis, values)) = tag.split_once(':') else {
                request.generators.push(tag.to_owned());
                continue;
            };
            let values: Vec<String> =
                values.split(',').map(|part| part.trim().to_owned()).collect();
            if axis.is_empty() || values.iter().any(String::is_empty) {
                return Err(TagError {
                    message: format!("`{tag}` lacks a name or a value"),
                    hint: "write NAME:VALUE or NAME:VALUE,VALUE, such as n:2048,2560".to_owned(),
                });
            }
            request.variants.push((axis.to_owned(), values));
        }
        Ok(request)
    }

    /// The generators that fit. There may be none.
    ///
    /// # Errors
    ///
    /// A tag that no generator has.
    pub fn generators(&self) -> Result<Vec<&'static Generator>, TagError> {
        let known: BTreeSet<&str> =
            generators::all().iter().flat_map(Generator::all_tags).collect();
        if let Some(unknown) = self.generators.iter().find(|tag| !known.contains(tag.as_str())) {
            return Err(TagError {
                message: format!("no generator has the tag `{unknown}`"),
                hint: suggestion(unknown, known.into_iter()),
            });
        }
        let given: BTreeSet<&str> = self.generators.iter().map(String::as_str).collect();
        let fits =
            |generator: &&Generator| self.condition.holds(&generator.all_tags().collect(), &given);
        Ok(generators::all().iter().filter(fits).collect())
    }

    /// The kernels that the tags choose: of each generator that fits, one for each combination of
    /// values. A generator without an axis does not heed its tags.
    ///
    /// # Errors
    ///
    /// A tag that no generator has, tags that no generator fits, an axis that none of these has, or
    /// a value that none of these allows.
    pub fn choices(&self) -> Result<Vec<Choice>, TagError> {
        let generators = self.generators()?;
        if generators.is_empty() {
            return Err(TagError {
                message: format!("no generator fits the tags {}", self.generators.join(", ")),
                hint: "--match intersection takes those that have one of them".to_owned(),
            });
        }
        for (axis, values) in &self.variants {
            check(&generators, axis, values)?;
        }
        Ok(generators.into_iter().flat_map(|generator| self.variants_of(generator)).collect())
    }

    /// The Cartesian product of a generator's values.
    fn variants_of(&self, generator: &'static Generator) -> Vec<Choice> {
        let mut product = vec![Vec::new()];
        for axis in generator.axes {
            let values = self.values_of(axis);
            product = product
                .into_iter()
                .flat_map(|begun: Vec<(&'static str, Value)>| {
                    values.iter().map(move |value| {
                        let mut longer = begun.clone();
                        longer.push((axis.name, *value));
                        longer
                    })
                })
                .collect();
        }
        let choice = |values| Choice { generator, variant: Variant { values } };
        product.into_iter().map(choice).collect()
    }

    /// The values of an axis that tags leave.
    fn values_of(&self, axis: &Axis) -> Vec<Value> {
        let mut tags = self.variants.iter().filter(|(name, _)| name == axis.name).peekable();
        if tags.peek().is_none() {
            return axis.usual();
        }
        let mut values = Vec::new();
        for value in tags.flat_map(|(_, wanted)| wanted).filter_map(|wanted| axis.value(wanted)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        values
    }
}

impl Choice {
    /// The kernel.
    ///
    /// # Errors
    ///
    /// Arguments that do not go together, or instructions that the target does not have.
    pub fn kernel(&self, target: Target) -> Result<Kernel, Unfit> {
        let kernel = (self.generator.make)(&self.variant)?;
        kernel.check_target(target)?;
        Ok(kernel)
    }

    /// The texts of the kernel. The launch file names its module `module`.
    ///
    /// # Errors
    ///
    /// As [`Choice::kernel`].
    pub fn texts(&self, target: Target, module: &str) -> Result<Texts, Unfit> {
        Texts::of(&self.kernel(target)?, target, module)
    }

    /// A name for files: the generator's, and the values that could have been others.
    #[must_use]
    pub fn file_name(&self) -> String {
        let values = self.decided().map(|(axis, value)| format!("-{axis}-{value}"));
        std::iter::once(self.generator.name.to_owned()).chain(values).collect()
    }

    /// The tags that choose this kernel alone, without those of arguments that have no other usual
    /// value.
    #[must_use]
    pub fn tags(&self) -> String {
        let values = self.decided().map(|(axis, value)| format!(" {axis}:{value}"));
        std::iter::once(self.generator.name.to_owned()).chain(values).collect()
    }

    /// The arguments that have another value, or several, without a tag.
    fn decided(&self) -> impl Iterator<Item = (&'static str, Value)> {
        let declared = self.generator.axes.iter();
        let values = self.variant.values.iter().zip(declared);
        values.filter(|((_, value), axis)| axis.usual() != [*value]).map(|(one, _)| *one)
    }
}

/// Checks that a generator has the axis, and that each value is allowed by one that has it.
fn check(generators: &[&Generator], axis: &str, values: &[String]) -> Result<(), TagError> {
    let having: Vec<&Axis> =
        generators.iter().filter_map(|generator| generator.axis(axis)).collect();
    let Some(first) = having.first() else {
        let names: Vec<&str> = generators.iter().map(|generator| generator.name).collect();
        let who = match names.as_slice() {
            [one] => format!("the generator {one} has"),
            _ => "no generator that fits has".to_owned(),
        };
        let known: BTreeSet<&str> =
            generators.iter().flat_map(|generator| generator.axes).map(|axis| axis.name).collect();
        let not = if names.len() == 1 { "no" } else { "an" };
        return Err(TagError {
            message: format!("{who} {not} argument `{axis}`"),
            hint: suggestion(axis, known.into_iter()),
        });
    };
    let refused = values.iter().find(|value| having.iter().all(|axis| axis.value(value).is_none()));
    match refused {
        Some(value) => Err(TagError {
            message: format!("`{axis}` does not allow the value `{value}`"),
            hint: format!("allowed are {}", first.allowed),
        }),
        None => Ok(()),
    }
}

/// The names that resemble a word, or all of them.
fn suggestion<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> String {
    const RESEMBLES: f64 = 0.6;
    let known: Vec<&str> = known.collect();
    let score = |one: &str| strsim::normalized_damerau_levenshtein(word, one);
    let nearest = known.iter().max_by(|a, b| score(a).total_cmp(&score(b)));
    match nearest.filter(|nearest| score(nearest) >= RESEMBLES) {
        Some(nearest) => format!("did you mean `{nearest}`? Known are {}", known.join(", ")),
        None => format!("known are {}", known.join(", ")),
    }
}

/// All words that tags may be, each with its meaning: tags of generators, and values of arguments,
/// the usual ones where any number is allowed.
#[must_use]
pub fn words() -> BTreeMap<String, &'static str> {
    words_of(generators::all().iter())
}

/// The same, of the generators that the tags before choose. Where these are unknown or choose none,
/// all words.
#[must_use]
pub fn words_beside(before: &[&str]) -> BTreeMap<String, &'static str> {
    let chosen = Request::parse(before, MatchCondition::Superset)
        .and_then(|request| request.generators())
        .unwrap_or_default();
    if chosen.is_empty() { words() } else { words_of(chosen.into_iter()) }
}

fn words_of(
    generators: impl Iterator<Item = &'static Generator>,
) -> BTreeMap<String, &'static str> {
    let mut words = BTreeMap::new();
    let mut names = Vec::new();
    for generator in generators {
        names.push((generator.name.to_owned(), generator.summary));
        words.extend(generator.tags.iter().map(|tag| ((*tag).to_owned(), "a kind of kernels")));
        for axis in generator.axes {
            let values: Vec<Value> = match axis.allowed {
                Allowed::Numbers { all, .. } => all.iter().copied().map(Value::Number).collect(),
                Allowed::Words(_) | Allowed::Size { .. } => axis.usual(),
            };
            let tags = values.iter().map(|value| (format!("{}:{value}", axis.name), axis.meaning));
            words.extend(tags);
        }
    }
    // A name says more than a tag of the same word.
    words.extend(names);
    words
}

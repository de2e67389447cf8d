//! The arguments of generators: axes, the values that they allow, and choices among these.

use std::fmt;

/// An argument of a generator.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// Its name in tags: `dtype`, `lsize_0`.
    pub name: &'static str,
    /// Its meaning, in a few words.
    pub meaning: &'static str,
    /// The values that it takes.
    pub allowed: Allowed,
}

/// The values of an axis.
#[derive(Clone, Copy, Debug)]
pub enum Allowed {
    /// One of these words; without a tag, each of them.
    Words(&'static [&'static str]),
    /// One of a few numbers.
    Numbers {
        /// The numbers.
        all: &'static [u64],
        /// Those that are taken without a tag.
        usual: &'static [u64],
    },
    /// Any number that is large enough and a multiple.
    Size {
        /// The least.
        least: u64,
        /// It is a multiple of this.
        multiple_of: u64,
        /// Those that are taken without a tag.
        usual: &'static [u64],
    },
}

impl Axis {
    /// An axis of words.
    #[must_use]
    pub const fn words(
        name: &'static str,
        meaning: &'static str,
        words: &'static [&'static str],
    ) -> Self {
        Self { name, meaning, allowed: Allowed::Words(words) }
    }

    /// An axis of a few numbers.
    #[must_use]
    pub const fn numbers(
        name: &'static str,
        meaning: &'static str,
        all: &'static [u64],
        usual: &'static [u64],
    ) -> Self {
        Self { name, meaning, allowed: Allowed::Numbers { all, usual } }
    }

    /// An axis of sizes: multiples of `multiple_of` from `least` on.
    #[must_use]
    pub const fn size(
        name: &'static str,
        meaning: &'static str,
        [least, multiple_of]: [u64; 2],
        usual: &'static [u64],
    ) -> Self {
        Self { name, meaning, allowed: Allowed::Size { least, multiple_of, usual } }
    }

    /// The values that are taken without a tag.
    #[must_use]
    pub fn usual(&self) -> Vec<Value> {
        match self.allowed {
            Allowed::Words(words) => words.iter().copied().map(Value::Word).collect(),
            Allowed::Numbers { usual, .. } | Allowed::Size { usual, .. } => {
                usual.iter().copied().map(Value::Number).collect()
            }
        }
    }

    /// The values that are taken without a tag, for readers: `all` where these are all.
    #[must_use]
    pub fn usual_in_words(&self) -> String {
        match self.allowed {
            Allowed::Words(words) if words.len() > 1 => "all".to_owned(),
            Allowed::Numbers { all, usual } if all == usual && usual.len() > 1 => "all".to_owned(),
            _ => self.usual().iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
        }
    }

    /// The value that a tag gives, if the axis allows it.
    #[must_use]
    pub fn value(&self, text: &str) -> Option<Value> {
        match self.allowed {
            Allowed::Words(words) => {
                words.iter().copied().find(|word| *word == text).map(Value::Word)
            }
            Allowed::Numbers { all, .. } => {
                text.parse().ok().filter(|number| all.contains(number)).map(Value::Number)
            }
            Allowed::Size { least, multiple_of, .. } => {
                let fits = |number: &u64| {
                    (least..=MOST).contains(number) && number.is_multiple_of(multiple_of)
                };
                text.parse().ok().filter(fits).map(Value::Number)
            }
        }
    }
}

/// The greatest size: indices are of 32 bits.
pub const MOST: u64 = 1 << 30;

impl fmt::Display for Allowed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words(words) => f.write_str(&words.join(", ")),
            Self::Numbers { all, .. } => {
                let all: Vec<String> = all.iter().map(u64::to_string).collect();
                f.write_str(&all.join(", "))
            }
            Self::Size { least, multiple_of: 1, .. } => write!(f, "{least} or more"),
            Self::Size { least, multiple_of, .. } => {
                write!(f, "multiples of {multiple_of} from {least} on")
            }
        }
    }
}

/// A value of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// A word.
    Word(&'static str),
    /// A number.
    Number(u64),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => f.write_str(word),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// A value for each axis of a generator.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variant {
    /// The values by axis, in the generator's order.
    pub values: Vec<(&'static str, Value)>,
}

/// Arguments that each are allowed and do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Unfit {
    /// The reason, as a sentence without a full stop.
    pub reason: String,
}

impl Unfit {
    /// Arguments that do not go together for a reason.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

impl Variant {
    /// The number of an axis.
    ///
    /// # Errors
    ///
    /// The generator has no axis of numbers with this name.
    pub fn number(&self, name: &str) -> Result<u64, Unfit> {
        match self.value(name) {
            Some(Value::Number(number)) => Ok(number),
            _ => Err(Unfit::new(format!("the generator has no number `{name}`"))),
        }
    }

    /// The word of an axis.
    ///
    /// # Errors
    ///
    /// The generator has no axis of words with this name.
    pub fn word(&self, name: &str) -> Result<&'static str, Unfit> {
        match self.value(name) {
            Some(Value::Word(word)) => Ok(word),
            _ => Err(Unfit::new(format!("the generator has no word `{name}`"))),
        }
    }

    /// Returns true if the word of an axis is `True`.
    ///
    /// # Errors
    ///
    /// The generator has no axis of words with this name.
    pub fn is(&self, name: &str) -> Result<bool, Unfit> {
        self.word(name).map(|word| word == "True")
    }

    fn value(&self, name: &str) -> Option<Value> {
        self.values.iter().find(|(axis, _)| *axis == name).map(|(_, value)| *value)
    }
}

impl fmt::Display for Variant {
    /// As tags: `dtype:float32 n:2048`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (axis, value)) in self.values.iter().enumerate() {
            let blank = if position > 0 { " " } else { "" };
            write!(f, "{blank}{axis}:{value}")?;
        }
        Ok(())
    }
}

//! How much of a launch is executed to count it.

use serde::Serialize;

/// An amount of execution that gives a launch's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Every instruction was executed.
    Full,
    /// The instructions were executed that counts depend on; the others were counted.
    Slice,
}

impl Rung {
    /// The name of the choice that gives it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Slice => "slice",
        }
    }
}

/// The rung that a launch was counted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CountedBy {
    /// The rung.
    pub rung: Rung,
    /// The reason why it was no higher one; `None` on the highest.
    pub because: Option<String>,
}

impl CountedBy {
    /// A launch of which everything was executed, for a reason.
    #[must_use]
    pub fn full(because: impl Into<String>) -> Self {
        Self { rung: Rung::Full, because: Some(because.into()) }
    }

    /// A launch of which the slice was executed.
    #[must_use]
    pub fn slice() -> Self {
        Self { rung: Rung::Slice, because: None }
    }
}

//! How much of a launch is executed to count it.

use serde::{Deserialize, Serialize};

/// An amount of execution that gives a launch's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rung {
    /// Every instruction was executed.
    Full,
    /// The instructions were executed that counts depend on; the others were counted.
    Slice,
    /// The slice was executed for one CTA of each class. The others of a class do the same at
    /// other addresses.
    Classes,
    /// The slice was executed for a sample of CTAs, from which the counts are estimated.
    Sample,
    /// Nothing was executed in this size. Formulas gave the counts, which were found and compared
    /// in other sizes.
    Formulas,
}

impl Rung {
    /// The name of the choice that gives it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Slice => "slice",
            Self::Classes => "classes",
            Self::Sample => "sample",
            Self::Formulas => "formulas",
        }
    }
}

/// The rung that a launch was counted on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedBy {
    /// The rung.
    pub rung: Rung,
    /// The reason why it was no higher one; `None` on the highest.
    pub because: Option<String>,
    /// The number of classes of CTAs, if it was counted by them.
    pub classes: Option<usize>,
    /// CTAs that were executed, if it was counted by a sample.
    pub sampled: Option<u64>,
    /// Those of them that were drawn at random.
    pub drawn: Option<u64>,
    /// Sizes in which the launch was executed to find and to compare the formulas, if it was
    /// counted by them.
    pub sizes: Option<u64>,
    /// True if time was over before all CTAs of the sample were executed.
    pub is_cut_short: bool,
}

impl CountedBy {
    fn of(rung: Rung, because: Option<String>) -> Self {
        Self {
            rung,
            because,
            classes: None,
            sampled: None,
            drawn: None,
            sizes: None,
            is_cut_short: false,
        }
    }

    /// A launch of which everything was executed, for a reason.
    #[must_use]
    pub fn full(because: impl Into<String>) -> Self {
        Self::of(Rung::Full, Some(because.into()))
    }

    /// A launch of which the slice was executed for every CTA. There is a reason unless it was
    /// asked for.
    #[must_use]
    pub fn slice(because: Option<String>) -> Self {
        Self::of(Rung::Slice, because)
    }

    /// A launch of which the slice was executed for one CTA of each class.
    #[must_use]
    pub fn classes(classes: usize) -> Self {
        Self { classes: Some(classes), ..Self::of(Rung::Classes, None) }
    }

    /// A launch of which the slice was executed for a sample of CTAs, for a reason.
    #[must_use]
    pub fn sample(executed: u64, is_cut_short: bool, because: impl Into<String>) -> Self {
        let because = Some(because.into());
        Self { sampled: Some(executed), is_cut_short, ..Self::of(Rung::Sample, because) }
    }

    /// The share of the grid that a kind of CTA must have to be in the sample with a probability of
    /// 95 %: three over the number of drawn CTAs (Hanley and Lippman-Hand, "If nothing goes wrong,
    /// is everything all right?", JAMA 249, 1983). A kind with less may be missing.
    #[must_use]
    pub fn unsure_share(&self) -> Option<f64> {
        self.drawn.map(|drawn| (3.0 / drawn.max(1) as f64).min(1.0))
    }

    /// A launch that was executed in so many other sizes.
    #[must_use]
    pub fn formulas(sizes: u64) -> Self {
        Self { sizes: Some(sizes), ..Self::of(Rung::Formulas, None) }
    }
}

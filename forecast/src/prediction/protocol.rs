//! The protocol of a measurement that a predicted time stands for.

use gpucast_counters::hierarchy::L2Contents;
use gpucast_model::Timing;
use gpucast_model::timing::KERNEL_ALONE;
use serde::{Serialize, Serializer};

/// How a time would have to be measured to be the predicted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Protocol {
    /// What a stopwatch stands around, as `--timing` names it.
    pub timing: Stopwatch,
    /// The L2's contents when launches begin, as `--l2` names them. `None` for counts of a file,
    /// which do not say.
    #[serde(serialize_with = "name_of", skip_serializing_if = "Option::is_none")]
    pub l2: Option<L2Contents>,
}

/// What a stopwatch stands around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopwatch {
    /// The kernel alone.
    Kernel,
    /// A way of measuring, whose part the time has as a part of its own.
    As(Timing),
    /// Launches as the model itself counts them.
    OfModel,
}

impl Stopwatch {
    /// The way of measuring, if its part is a part of the time.
    #[must_use]
    pub fn timing(self) -> Option<Timing> {
        match self {
            Self::As(timing) => Some(timing),
            Self::Kernel | Self::OfModel => None,
        }
    }

    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kernel => KERNEL_ALONE,
            Self::As(timing) => timing.name(),
            Self::OfModel => "model",
        }
    }
}

impl Serialize for Stopwatch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

fn name_of<S: Serializer>(l2: &Option<L2Contents>, serializer: S) -> Result<S::Ok, S::Error> {
    l2.map(L2Contents::name).serialize(serializer)
}

impl Protocol {
    /// The protocol in words.
    #[must_use]
    pub fn text(self) -> String {
        let stopwatch = match self.timing {
            Stopwatch::Kernel => "the kernel alone",
            Stopwatch::As(timing) => timing.name(),
            Stopwatch::OfModel => "launches of the model",
        };
        let l2 = |contents: L2Contents| format!(", on {} ({})", contents.text(), contents.name());
        format!("{stopwatch}{}", self.l2.map_or_else(String::new, l2))
    }
}

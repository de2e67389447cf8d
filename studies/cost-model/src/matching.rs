//! Computes a feature's count in a kernel.

use std::collections::BTreeMap;

use gpucast_counters::features::{
    AccessDirection, Features, MachineAccesses, MemoryAccess, OperationCount,
};
use thiserror::Error;

use super::feature::{
    AccessFeature, Bound, Constraint, Feature, MachineAccessFeature, OperationFeature,
};

/// Names of the problem that features use: sizes in conditions, and tags of accesses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// Values of sizes, such as `n` in `lstrides:{0:<n}`.
    pub sizes: BTreeMap<String, f64>,
    /// Tags, each with the buffer that it means, and the direction if that is not both:
    /// `aLD` → `a:load`.
    pub tags: BTreeMap<String, String>,
}

/// The reason why a feature has no value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FeatureError {
    /// A condition names a size that nobody has given.
    #[error("`{feature}` asks for the size `{size}`, whose value is not known")]
    UnknownSize {
        /// The feature.
        feature: String,
        /// The size.
        size: String,
    },
    /// Machine instructions were not counted, or it cannot be told which access they stand for.
    #[error("`{feature}` counts machine instructions, and {reason}")]
    NoMachineCode {
        /// The feature.
        feature: String,
        /// What is missing.
        reason: &'static str,
    },
    /// A time is measured, not gathered.
    #[error("`{feature}` is measured, so that a prediction cannot read it")]
    Measured {
        /// The feature.
        feature: String,
    },
}

impl FeatureError {
    /// What helps.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::UnknownSize { .. } => "give the sizes of the problem: --let n=2048",
            Self::NoMachineCode { .. } => {
                "--machine ptxas and --machine rules give machine instructions"
            }
            Self::Measured { .. } => "leave it out of the model",
        }
    }
}

/// Nothing has counted machine instructions.
const NO_MACHINE_CODE: &str = "there is no machine code";
/// Numbers that are the same but for rounding.
const ROUNDING: f64 = 1e-9;
/// The largest error of an estimated footprint for which its ratio is taken for a number.
const ESTIMATE: f64 = 0.1;

impl Feature {
    /// Its value for a kernel (sections 5 and 6.1).
    ///
    /// # Errors
    ///
    /// If it cannot be gathered.
    pub fn value(&self, features: &Features, names: &Names) -> Result<f64, FeatureError> {
        Ok(match self {
            Self::Operation(wanted) => {
                let counts = features.operations.iter().filter(|count| wanted.matches(count));
                counts.map(|count| count.sub_groups as f64).sum()
            }
            Self::MemoryAccess(wanted) => {
                let mut sum = 0.0;
                for access in &features.accesses {
                    if wanted.matches(access, names)? {
                        sum += access.count() as f64;
                    }
                }
                sum
            }
            Self::MachineAccess(wanted) => {
                let mut sum = 0.0;
                for access in &features.accesses {
                    if wanted.access.matches(access, names)? {
                        let machine = wanted.machine(access, features)?;
                        for one in machine {
                            if wanted.is_as_wide(access, one, names)? {
                                sum += one.sub_groups as f64;
                            }
                        }
                    }
                }
                sum
            }
            Self::MachineOperation(wanted) => {
                let Some(issued) = &features.machine_instructions else {
                    let (feature, reason) = (self.to_string(), NO_MACHINE_CODE);
                    return Err(FeatureError::NoMachineCode { feature, reason });
                };
                let is_wanted = |name: &str| wanted.as_deref().is_none_or(|wanted| wanted == name);
                let counts = issued.iter().filter(|(name, _)| is_wanted(name));
                counts.map(|(_, &count)| count as f64).sum()
            }
            Self::LocalBarriers => features.barriers_per_work_item,
            Self::KernelLaunches => 1.0,
            Self::ThreadGroups => features.groups as f64,
            Self::SubGroups => features.sub_groups as f64,
            Self::WorkItems => features.work_items as f64,
            Self::WallTime(_) => {
                return Err(FeatureError::Measured { feature: self.to_string() });
            }
        })
    }
}

impl OperationFeature {
    /// Returns true if it counts these operations.
    #[must_use]
    pub fn matches(&self, count: &OperationCount) -> bool {
        self.element.is_none_or(|element| count.element.is_taken_for(element))
            && self.operation.as_deref().is_none_or(|name| name == count.operation)
    }
}

impl MachineAccessFeature {
    /// The accesses of the machine code that stand for an access.
    fn machine<'a>(
        &self,
        access: &'a MemoryAccess,
        features: &Features,
    ) -> Result<&'a [MachineAccesses], FeatureError> {
        access.machine.as_deref().ok_or_else(|| FeatureError::NoMachineCode {
            feature: self.to_string(),
            reason: match features.machine_instructions {
                None => NO_MACHINE_CODE,
                Some(_) => "one of them may access several memories",
            },
        })
    }

    /// Returns true if machine accesses for `access` have the width that is asked for.
    ///
    /// # Errors
    ///
    /// If the condition names an unknown size.
    pub fn is_as_wide(
        &self,
        access: &MemoryAccess,
        machine: &MachineAccesses,
        names: &Names,
    ) -> Result<bool, FeatureError> {
        let elements = f64::from(machine.bytes) / f64::from(access.element.bytes().max(1));
        match &self.width {
            None => Ok(true),
            Some(width) => width.holds(Some(elements), ROUNDING, names, &|| self.to_string()),
        }
    }
}

impl AccessFeature {
    /// Returns true if an access has all properties that are asked for. An irregular or unobserved
    /// stride satisfies no condition.
    ///
    /// # Errors
    ///
    /// If a condition names an unknown size.
    pub fn matches(&self, access: &MemoryAccess, names: &Names) -> Result<bool, FeatureError> {
        let named = self.tag.as_deref().is_none_or(|tag| is_tagged(access, tag, names))
            && self.space.is_none_or(|space| space == access.space)
            && self.element.is_none_or(|element| access.element.is_taken_for(element))
            && self.direction.is_none_or(|direction| direction == access.direction);
        let strides = |axis: usize| (access.local_stride(axis), access.global_stride(axis));
        let local = self.local_strides.iter().map(|(axis, one)| (one, strides(*axis).0, ROUNDING));
        let global =
            self.global_strides.iter().map(|(axis, one)| (one, strides(*axis).1, ROUNDING));
        let exact = access.footprint.is_some_and(|footprint| footprint.exact);
        let tolerance = if exact { ROUNDING } else { ESTIMATE };
        let ratio = self.ratio.iter().map(|ratio| (ratio, access.access_to_footprint(), tolerance));
        let mut all = named;
        for (constraint, number, tolerance) in local.chain(global).chain(ratio) {
            all &= constraint.holds(number, tolerance, names, &|| self.to_string())?;
        }
        Ok(all)
    }
}

impl Constraint {
    /// Returns true if a number satisfies it, within a relative tolerance. `feature` is the name of
    /// the feature that it belongs to.
    fn holds(
        &self,
        number: Option<f64>,
        tolerance: f64,
        names: &Names,
        feature: &dyn Fn() -> String,
    ) -> Result<bool, FeatureError> {
        let Bound { factor, divisor, size } = &self.bound;
        let size = match size {
            None => 1.0,
            Some(size) => *names.sizes.get(size).ok_or_else(|| FeatureError::UnknownSize {
                feature: feature(),
                size: size.clone(),
            })?,
        };
        let bound = factor * size / divisor;
        Ok(number.is_some_and(|number| self.relation.holds(number, bound, tolerance)))
    }
}

/// Returns true if a tag names an access. The tag is that of the user's list, else the buffer's
/// name, alone or with the paper's endings for its loads and stores (`aLD`, `cST`).
fn is_tagged(access: &MemoryAccess, tag: &str, names: &Names) -> bool {
    let Some(buffer) = access.buffer.as_deref() else { return false };
    if let Some(meant) = names.tags.get(tag) {
        let (name, direction) = meant.split_once(':').unwrap_or((meant, ""));
        return name == buffer && (direction.is_empty() || direction == access.direction.name());
    }
    let ending = match access.direction {
        AccessDirection::Load => "LD",
        AccessDirection::Store => "ST",
        AccessDirection::Update => "UP",
    };
    tag.strip_prefix(buffer).is_some_and(|rest| rest.is_empty() || rest == ending)
}

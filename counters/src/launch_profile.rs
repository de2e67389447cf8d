//! The result of counting one launch.

use std::collections::BTreeMap;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use crate::definitions::metrics;
use crate::l2::L2Traffic;
use crate::metric::{Level, MetricValue, Metrics};
use crate::observer::extrapolate;
use crate::profile::KernelProfile;
use crate::table::BaseTable;
use crate::totals::Totals;

/// The name and version of the JSON file that holds launch profiles under `launches`.
pub const PROFILE_SCHEMA: &str = "gpucast.profile/1";

/// The counts of one launch.
///
/// Serialises to an entry of `launches` of [`PROFILE_SCHEMA`]: `kernel`, `grid`, `block`,
/// `invocations`, `metrics`, each metric with its level. The base table is not part of it; it serialises on its own, to a
/// list with one object for each static instruction.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchProfile {
    /// The kernel's name.
    pub kernel: String,
    /// CTAs in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a CTA in x, y and z.
    pub block: [u32; 3],
    /// How often the launch was made; `metrics` are those of one.
    pub invocations: u64,
    /// Which instructions `metrics` count.
    pub level: Level,
    /// Metrics by their nvprof name.
    pub metrics: Metrics,
    /// What every metric was summed from.
    pub table: BaseTable,
}

impl LaunchProfile {
    /// The profile for one invocation: `traffic` is the L2's, flushed, and `left_out_sectors`
    /// never reached it.
    pub(crate) fn new(
        kernel: String,
        grid: [u32; 3],
        block: [u32; 3],
        table: BaseTable,
        traffic: L2Traffic,
        left_out_sectors: u64,
    ) -> Self {
        let l2 = extrapolate(traffic, left_out_sectors);
        let totals = Totals { table: &table, l2, extrapolated: left_out_sectors > 0 };
        let metrics = metrics(&totals);
        Self { kernel, grid, block, invocations: 1, level: Level::Ptx, metrics, table }
    }

    /// What a model needs of it.
    #[must_use]
    pub fn to_kernel_profile(&self) -> KernelProfile {
        KernelProfile {
            kernel: self.kernel.clone(),
            invocations: self.invocations,
            measured_on: None,
            metrics: self.metrics.clone(),
        }
    }
}

/// A metric of a profile file.
#[derive(Serialize)]
struct LeveledMetric<'a> {
    #[serde(flatten)]
    figure: &'a MetricValue,
    level: Level,
}

impl Serialize for LaunchProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let metrics: BTreeMap<&str, LeveledMetric<'_>> = self
            .metrics
            .iter()
            .map(|(name, figure)| (name.as_str(), LeveledMetric { figure, level: self.level }))
            .collect();
        let mut profile = serializer.serialize_struct("LaunchProfile", 5)?;
        profile.serialize_field("kernel", &self.kernel)?;
        profile.serialize_field("grid", &self.grid)?;
        profile.serialize_field("block", &self.block)?;
        profile.serialize_field("invocations", &self.invocations)?;
        profile.serialize_field("metrics", &metrics)?;
        profile.end()
    }
}

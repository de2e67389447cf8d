//! The computation and traffic of a kernel: the slides' "Collect Application Performance".

use gpucast_counters::KernelProfile;
use gpucast_counters::metric;

use crate::inputs::Totals;
use crate::predictor::ModelError;
use crate::tensor::{self, TensorWork};

/// Bytes of a transaction, at every level (table of metrics).
const TRANSACTION_BYTES: f64 = 32.0;

/// The format of floating-point numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// 64 bits.
    Double,
    /// 32 bits.
    Single,
    /// 16 bits.
    Half,
}

impl Precision {
    /// All of them, the widest first.
    pub const ALL: [Self; 3] = [Self::Double, Self::Single, Self::Half];

    /// `fp64`, `fp32`, `fp16`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Double => "fp64",
            Self::Single => "fp32",
            Self::Half => "fp16",
        }
    }

    /// The metrics of its additions, multiplications and multiply-adds.
    fn metrics(self) -> [&'static str; 3] {
        match self {
            Self::Double => metric!["flop_count_dp_add", "flop_count_dp_mul", "flop_count_dp_fma"],
            Self::Single => metric!["flop_count_sp_add", "flop_count_sp_mul", "flop_count_sp_fma"],
            Self::Half => metric!["flop_count_hp_add", "flop_count_hp_mul", "flop_count_hp_fma"],
        }
    }
}

/// Floating-point operations of one format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Operations {
    /// The format.
    pub precision: Precision,
    /// Additions and multiplications.
    pub single: f64,
    /// Multiply-adds, two operations each.
    pub fused: f64,
}

impl Operations {
    /// Operations, a multiply-add being two.
    #[must_use]
    pub fn flops(&self) -> f64 {
        self.single + 2.0 * self.fused
    }

    /// α: multiply-adds of the floating-point instructions.
    #[must_use]
    pub fn fma_share(&self) -> f64 {
        if self.fused == 0.0 { 0.0 } else { self.fused / (self.single + self.fused) }
    }
}

/// β = (2 α + (1 − α)) / 2: the share of the peak that a kernel with a share α of multiply-adds can
/// reach. The peak is that of multiply-adds alone.
#[must_use]
pub fn attainable_share(fma_share: f64) -> f64 {
    (2.0 * fma_share + (1.0 - fma_share)) / 2.0
}

/// A place that data comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The first-level cache, with shared memory.
    L1,
    /// The second-level cache.
    L2,
    /// Device memory.
    Dram,
}

impl Level {
    /// All of them, the nearest first.
    pub const ALL: [Self; 3] = [Self::L1, Self::L2, Self::Dram];

    /// `L1`, `L2`, `DRAM`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::L1 => "L1",
            Self::L2 => "L2",
            Self::Dram => "DRAM",
        }
    }
}

/// The work of all invocations of a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Work {
    /// The operations of each format that occurs, the widest first.
    pub operations: Vec<Operations>,
    /// The operations of tensor cores, on the formats whose throughput is known.
    pub tensor: Vec<TensorWork>,
    /// Operations of tensor cores on other formats.
    pub other_tensor_operations: f64,
    /// Bytes at each level; `None` if the counts lack them.
    pub bytes: [(Level, Option<f64>); 3],
}

impl Work {
    /// The work that a profile counts. Bytes of shared memory are those of its passes, `pass_bytes`
    /// each.
    ///
    /// # Errors
    ///
    /// When the profile lacks the operations or the traffic to device memory, or has impossible
    /// counts.
    pub fn of(profile: &KernelProfile, pass_bytes: Option<f64>) -> Result<Self, ModelError> {
        let totals = Totals(profile);
        let mut operations = Vec::new();
        let mut counted = false;
        for precision in Precision::ALL {
            let [add, mul, fma] = precision.metrics().map(|metric| totals.get(metric));
            let (add, mul, fma) = (add?, mul?, fma?);
            counted |= fma.is_some();
            let one = Operations {
                precision,
                single: add.unwrap_or_default() + mul.unwrap_or_default(),
                fused: fma.unwrap_or_default(),
            };
            let is_partial = fma.is_some() && (add.is_none() || mul.is_none());
            if is_partial && fma != Some(0.0) {
                // A share of multiply-adds without the other operations would be a guess.
                totals.require(precision.metrics())?;
            }
            if one.flops() > 0.0 {
                operations.push(one);
            }
        }
        if !counted {
            totals.require(Precision::Single.metrics())?;
        }
        let (tensor, other_tensor_operations) = tensor::work(totals)?;
        let dram = match (
            totals.get(metric!("dram_read_bytes"))?,
            totals.get(metric!("dram_write_bytes"))?,
        ) {
            (Some(reads), Some(writes)) => reads + writes,
            _ => {
                let transactions =
                    totals.require(metric!["dram_read_transactions", "dram_write_transactions"])?;
                TRANSACTION_BYTES * transactions.iter().sum::<f64>()
            }
        };
        Ok(Self {
            operations,
            tensor,
            other_tensor_operations,
            bytes: [
                (Level::L1, first_level(totals, pass_bytes)?),
                (
                    Level::L2,
                    transactions(totals, metric!["l2_read_transactions", "l2_write_transactions"])?,
                ),
                (Level::Dram, Some(dram)),
            ],
        })
    }

    /// Operations of all formats, those of tensor cores included where their throughput is known.
    #[must_use]
    pub fn flops(&self) -> f64 {
        let of_threads: f64 = self.operations.iter().map(Operations::flops).sum();
        of_threads + self.tensor.iter().map(|work| work.operations).sum::<f64>()
    }
}

/// The bytes of transactions, if the profile has them all.
fn transactions<const N: usize>(
    totals: Totals<'_>,
    metrics: [&'static str; N],
) -> Result<Option<f64>, ModelError> {
    let mut bytes = 0.0;
    for metric in metrics {
        let Some(count) = totals.get(metric)? else { return Ok(None) };
        bytes += TRANSACTION_BYTES * count;
    }
    Ok(Some(bytes))
}

/// Transactions of a sector at the first level, beside loads and stores of global memory. A profile
/// without one of them is taken to have none.
const BESIDE_GLOBAL: [&str; 7] = metric![
    "atomic_transactions",
    "local_load_transactions",
    "local_store_transactions",
    "texture_sectors",
    "surface_load_sectors",
    "surface_store_sectors",
    "surface_reduction_sectors"
];

/// Bytes of the first level: sectors of global, local and texture memory, and passes of shared
/// memory.
///
/// The slides multiply the profiler's transactions by 32 bytes. On the GPUs where a transaction is
/// more than a sector, our counts have the sectors themselves. The slides count shared transactions
/// as 32 bytes, too. A pass keeps all banks busy, so that here it costs the bytes that the cache
/// could deliver meanwhile.
fn first_level(totals: Totals<'_>, pass_bytes: Option<f64>) -> Result<Option<f64>, ModelError> {
    let sectors = transactions(totals, metric!["global_load_sectors", "global_store_sectors"])?;
    let global = match sectors {
        Some(bytes) => Some(bytes),
        None => transactions(totals, metric!["gld_transactions", "gst_transactions"])?,
    };
    let Some(global) = global else { return Ok(None) };
    let mut bytes = global;
    for metric in BESIDE_GLOBAL {
        bytes += TRANSACTION_BYTES * totals.get(metric)?.unwrap_or_default();
    }
    for metric in metric!["shared_load_transactions", "shared_store_transactions"] {
        let passes = totals.get(metric)?.unwrap_or_default();
        bytes += pass_bytes.unwrap_or(TRANSACTION_BYTES) * passes;
    }
    Ok(Some(bytes))
}

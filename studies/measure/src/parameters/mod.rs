//! The parameters that are measured, each with its kernels.
//!
//! Each file has those of a part of the GPU. A parameter is a field of a GPU's file, or a cost that
//! fields and counting rules give. Costs test those rules on a GPU.

mod atomics;
mod clock;
mod conflicts;
mod constants;
mod launch;
mod memory;
mod pending;
mod queueing;
mod rates;
mod synchronisation;
mod tensor;
mod texture;

use gpucast_model::Gpu;

use crate::bench::{Bench, Sizes};
use crate::error::MeasureError;

/// A parameter: what it is called, and how it is measured.
pub struct Parameter {
    /// The field of the GPU file, or the name of a cost.
    pub field: &'static str,
    /// The unit of its value.
    pub unit: &'static str,
    /// The kernels and what is computed of their times, in a few words.
    pub kernel: &'static str,
    measure: fn(&mut Bench<'_>) -> Result<f64, MeasureError>,
    given: Given,
}

/// What a GPU's file says of a parameter.
enum Given {
    /// The field of its name.
    Field,
    /// A cost, which no field holds: what follows from fields and counting rules.
    Cost(fn(&Gpu) -> Option<f64>),
}

/// A measured parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The parameter.
    pub parameter: &'static Parameter,
    /// Its value in the parameter's unit.
    pub value: f64,
    /// Trials that were excluded as anomalous.
    pub excluded: usize,
}

/// Fields whose kernels measured something else on an H200, because compilers change them
/// (`docs/evidence/measuring.md`, "What hardware showed").
pub const DOUBTFUL: [&str; 13] = [
    "logic_rate",
    "conversion_rate",
    "int_add_rate",
    "wide_mul_rate",
    "load_store_rate",
    "uniform_address_interval",
    "address_interval",
    "l1_tag_rate",
    "l2_bandwidth",
    "l2_reply_bytes_rate",
    "mbarrier_latency",
    "memory_queue",
    "tensor_queue",
];

/// All parameters, by the part of the GPU.
pub fn all() -> impl Iterator<Item = &'static Parameter> {
    const PARTS: [&[Parameter]; 12] = [
        clock::ALL,
        launch::ALL,
        rates::ALL,
        tensor::ALL,
        memory::ALL,
        pending::ALL,
        queueing::ALL,
        constants::ALL,
        atomics::ALL,
        synchronisation::ALL,
        texture::ALL,
        conflicts::ALL,
    ];
    PARTS.into_iter().flatten()
}

/// The figure of another field, which is measured once.
fn figure_of(bench: &mut Bench<'_>, field: &str) -> Result<f64, MeasureError> {
    let parameter = all().find(|parameter| parameter.field == field);
    let parameter =
        parameter.ok_or_else(|| MeasureError::unfit(format!("{field} is not measured")))?;
    bench.figure(parameter.field, parameter.measure)
}

/// How a parameter is measured.
type Measure = fn(&mut Bench<'_>) -> Result<f64, MeasureError>;

impl Parameter {
    /// A field.
    const fn field(
        field: &'static str,
        unit: &'static str,
        kernel: &'static str,
        measure: Measure,
    ) -> Self {
        Self { field, unit, kernel, measure, given: Given::Field }
    }

    /// A cost in clocks.
    const fn cost(
        field: &'static str,
        kernel: &'static str,
        given: fn(&Gpu) -> Option<f64>,
        measure: Measure,
    ) -> Self {
        Self { field, unit: CLOCKS, kernel, measure, given: Given::Cost(given) }
    }

    /// Measures the parameter. One that was measured already is not measured again.
    ///
    /// # Errors
    ///
    /// A kernel that the device refuses or that does not exist for it, and times that do not grow
    /// with the work.
    pub fn measured(&'static self, bench: &mut Bench<'_>) -> Result<Measured, MeasureError> {
        let value = bench.figure(self.field, self.measure)?;
        let own = bench.runs().iter().filter(|run| run.field == self.field);
        let excluded = own.map(|run| run.excluded).sum();
        Ok(Measured { parameter: self, value, excluded })
    }

    /// True if a field of a GPU's file holds it, and false for a cost.
    #[must_use]
    pub fn is_field(&self) -> bool {
        !matches!(self.given, Given::Cost(_))
    }

    /// What a GPU's file says of what is measured, in the same unit; `None` if it says nothing.
    #[must_use]
    pub fn of(&self, gpu: &Gpu) -> Option<f64> {
        match self.given {
            Given::Field => gpu.number(self.field),
            Given::Cost(of) => of(gpu),
        }
    }
}

impl std::fmt::Debug for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parameter").field("field", &self.field).finish_non_exhaustive()
    }
}

impl PartialEq for Parameter {
    fn eq(&self, other: &Self) -> bool {
        self.field == other.field
    }
}

/// The unit of rates.
const RATE: &str = "/clk/SM";

/// The unit of latencies.
const CLOCKS: &str = "clock";

/// Blocks of an SM in kernels that fill it.
const BLOCKS_OF_SM: u64 = 2;

/// Bytes of a sector.
const SECTOR_BYTES: f64 = 32.0;

/// Passes of kernels whose loops are long.
const PASSES: Sizes = Sizes { smaller: 64, larger: 192 };

/// Blocks of kernels that fill the device.
fn blocks(bench: &Bench<'_>) -> u64 {
    bench.facts().sm_count * BLOCKS_OF_SM
}

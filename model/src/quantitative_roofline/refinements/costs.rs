//! Refinements that change the cost of instructions.

use super::{AddedCost, Inputs};
use crate::gpu::quantity::PerClock;
use crate::gpu::{Gpu, Sourced};
use crate::inputs::parameter;
use crate::predictor::ModelError;
use crate::quantitative_roofline::WARP_LANES;
use crate::quantitative_roofline::kernel::OperationType;
use crate::quantitative_roofline::weights::Weights;
use gpucast_counters::metric;

/// The name of the cost of [`separate_integers`].
pub(super) const INTEGERS: &str = "C_integer";

type Refined = Result<(AddedCost, String), ModelError>;

/// The price of an integer instruction.
#[derive(Clone, Copy)]
enum Price {
    /// T_add.
    Addition,
    /// T_int.
    Product,
    /// As much of T_add as this rate is of that of additions; with its name in GPU files.
    Rate(&'static str, fn(&Gpu) -> &Option<Sourced<PerClock>>),
}

/// The kinds of integer instructions that are counted, and their prices.
const INTEGER_KINDS: [(&str, Price); 6] = [
    (metric!("inst_integer_add"), Price::Addition),
    (metric!("inst_integer_mul"), Price::Product),
    (metric!("inst_integer_shift"), Price::Rate("shift_rate", |gpu| &gpu.shift_rate)),
    (metric!("inst_integer_logic"), Price::Rate("logic_rate", |gpu| &gpu.logic_rate)),
    (metric!("inst_integer_compare"), Price::Rate("compare_rate", |gpu| &gpu.compare_rate)),
    (metric!("inst_integer_other"), Price::Product),
];

impl Price {
    /// Single-precision multiply-adds that an instruction of it costs.
    fn weight(self, gpu: &Gpu, weights: &Weights) -> Result<f64, ModelError> {
        match self {
            Self::Addition => Ok(weights.other),
            Self::Product => {
                let single = parameter(gpu, "sp_throughput", &gpu.sp_throughput)?.0;
                let integer = parameter(gpu, "int_throughput", &gpu.int_throughput)?.0;
                Ok(single / integer)
            }
            Self::Rate(field, rate) => {
                let additions = parameter(gpu, "int_add_rate", &gpu.int_add_rate)?.0;
                Ok(weights.other * additions / parameter(gpu, field, rate(gpu))?.0)
            }
        }
    }
}

/// Charges each integer instruction by its kind (thesis, sections 5.2.6, 6.2 and 7.2.1, which asks
/// for counters of integer additions, multiplications and bitwise operations).
///
/// The thesis charges an integer instruction as a multiply-add (T_int) if integers are the kernel's
/// purpose, and as an addition (T_add) elsewhere. Here additions cost T_add and multiplications
/// T_int. Shifts, logic and comparisons cost T_add times the ratio of rates in the vendor's
/// throughput table. So measurements of additions hold for them, too. For everything else (bit
/// fields, counts of bits) GPU files have no rate; it costs T_int.
pub(super) fn separate_integers(inputs: &Inputs<'_>) -> Refined {
    let Inputs { counts, gpu, kernel, weights } = inputs;
    let lacking = counts.lacking(&INTEGER_KINDS.map(|(metric, _)| metric));
    if !lacking.is_empty() {
        return Err(counts.missing_metrics(lacking));
    }
    let charged = match kernel.operation_type {
        OperationType::Int => weights.operation,
        OperationType::Fp32 | OperationType::Fp64 | OperationType::Tensor => weights.other,
    };
    let (mut instructions, mut cost) = (0.0, 0.0);
    for (metric, price) in INTEGER_KINDS {
        let count = counts.require(metric)?;
        // The GPU need not have rates that the kernel does not use.
        if count > 0.0 {
            instructions += count;
            cost += count * (price.weight(gpu, weights)? - charged);
        }
    }
    let mean = if instructions > 0.0 { charged + cost / instructions } else { charged };
    let cost = cost / kernel.instructions;
    let sentence = format!(
        "separate-integers: an integer instruction costs {mean:.2} multiply-adds in the mean, where \
         the unrefined model charges {charged:.2}."
    );
    Ok((AddedCost { symbol: INTEGERS, cost }, sentence))
}

/// Charges a shared access of 8 or 16 bytes per thread as the passes over the banks that a warp's
/// access takes (thesis, sections 5.2.3 and 7.2.1). It takes as many as it has multiples of a
/// bank's width. An access of 16 bytes takes 4 passes on banks of 4 bytes, and 2 on those of
/// Kepler, which deliver 8.
///
/// Accesses whose lanes share an address are charged alike, which exaggerates where hardware since
/// Maxwell serves them in one pass.
pub(super) fn wide_shared(inputs: &Inputs<'_>) -> Refined {
    const METRICS: [(&str, u64); 2] =
        [(metric!("inst_executed_shared_64"), 8), (metric!("inst_executed_shared_128"), 16)];
    let Inputs { counts, gpu, .. } = inputs;
    let lacking = counts.lacking(&METRICS.map(|(metric, _)| metric));
    if !lacking.is_empty() {
        return Err(counts.missing_metrics(lacking));
    }
    let width = bank_width(gpu)?;
    let mut passes = 0.0;
    for (metric, bytes) in METRICS {
        passes += counts.require(metric)? * (bytes.div_ceil(width) - 1) as f64;
    }
    let sentence = format!(
        "wide-shared: shared accesses of 8 and 16 bytes take {passes:.0} more passes over banks of \
         {width} bytes than instructions of warps, charged as loads and stores."
    );
    Ok((AddedCost { symbol: "C_wide", cost: inputs.load_store_cost(passes) }, sentence))
}

/// Bytes that a bank of shared memory delivers in a pass.
fn bank_width(gpu: &Gpu) -> Result<u64, ModelError> {
    if let Some(width) = &gpu.shared_bank_width {
        return Ok(width.value.0);
    }
    match gpu.device_model() {
        Ok(device) => Ok(device.banks.bank_bytes().into()),
        Err(_) => parameter(gpu, "shared_bank_width", &gpu.shared_bank_width).map(|width| width.0),
    }
}

/// Charges the passes over the banks that conflicts add as loads and stores of warps (thesis,
/// section 7.2.1: "effectively increasing the number of issued load/store instructions").
pub(super) fn bank_conflicts(inputs: &Inputs<'_>) -> Refined {
    const METRICS: [&str; 2] = metric!["shared_ld_bank_conflict", "shared_st_bank_conflict"];
    let passes = inputs.sum(&METRICS)?;
    let sentence = format!(
        "bank-conflicts: conflicts add {passes:.0} passes over the banks of shared memory, charged as \
         loads and stores."
    );
    Ok((AddedCost { symbol: "C_conflict", cost: inputs.load_store_cost(passes) }, sentence))
}

/// Charges the passes that loads of several constants add as loads of warps (thesis, section 7.2.1,
/// which lacks a counter of them).
pub(super) fn constant_serialisation(inputs: &Inputs<'_>) -> Refined {
    const METRICS: [&str; 2] = metric!["constant_load_passes", "constant_load_requests"];
    let lacking = inputs.counts.lacking(&METRICS);
    if !lacking.is_empty() {
        return Err(inputs.counts.missing_metrics(lacking));
    }
    let [passes, requests] = METRICS;
    let passes = inputs.counts.require(passes)? - inputs.counts.require(requests)?;
    let passes = passes.max(0.0);
    let sentence = format!(
        "constant-serialisation: loads of several constants add {passes:.0} passes, charged as loads."
    );
    Ok((AddedCost { symbol: "C_constant", cost: inputs.load_store_cost(passes) }, sentence))
}

/// Charges idle lanes like the others (thesis, section 5.2.6: divergent code takes as long as if
/// all threads of the warp executed it).
///
/// In equation 4.8 a lane that is idle or predicated off is an `other` instruction, an integer
/// addition. In truth it waits for the lanes that work. All classes are taken to diverge alike,
/// because no metric tells. `integers` is the cost that [`separate_integers`] added.
pub(super) fn divergence(inputs: &Inputs<'_>, integers: f64) -> Refined {
    const ACTIVE: &str = metric!("not_predicated_off_thread_inst_executed");
    let Inputs { counts, kernel, weights, .. } = inputs;
    let active = match counts.get(ACTIVE)? {
        Some(threads) => threads / (WARP_LANES * counts.require(metric!("inst_executed"))?),
        // A percentage, the same for each invocation.
        None => counts.mean(metric!("warp_nonpred_execution_efficiency"))? / 100.0,
    };
    let active = active.min(1.0);
    let idle = 1.0 - active;
    let cost = if active > 0.0 {
        // Measured counts may disagree by a few instructions.
        let other = (kernel.other_density - idle).max(0.0);
        let working = kernel.operation_density * weights.operation
            + kernel.load_store_density * weights.load_store
            + other * weights.other
            + integers;
        idle * (working / active - weights.other)
    } else {
        0.0
    };
    let sentence = format!(
        "divergence: {:.1} % of the lanes are idle or predicated off, and cost what the others do.",
        100.0 * idle
    );
    Ok((AddedCost { symbol: "C_divergence", cost }, sentence))
}

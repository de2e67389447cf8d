//! The GPU as the simulation of an SM needs it.
//!
//! Fields count per SM; units stand in sub-cores. A unit of `rate` results per clock and SM takes
//! the next warp instruction of a sub-core after `32 × sub_partitions / rate` clocks. Where an SM
//! has fewer lanes than sub-cores, the sub-cores share one unit (double precision of many cards).
//! So a change of `sub_partitions` cuts the same units of an SM into other pieces, and a change of
//! a rate adds units.

use gpucast_counters::banks::Serving;
use gpucast_simulation::code::{Action, Class, Code, TensorFormat, TensorMemoryAction};
use gpucast_simulation::parameters::{
    ConstantCosts, Issue, LaunchCosts, LoadStore, Memory, Parameters, Queueing, Scheduler,
    Synchronisation, Tensor, TensorMemory, Unit, UnitUse,
};

use super::description::Gpu;
use super::error::MissingField;

/// Threads of a warp.
const WARP_LANES: f64 = 32.0;
/// Bytes that the banks of shared memory deliver in a pass.
const PASS_BYTES: f64 = 128.0;
/// Results of a lane of paired half-precision arithmetic, as the vendor counts them.
const HALVES: f64 = 2.0;
/// Instructions of an integer product on Maxwell and Pascal, each of which is one of the code.
const PRODUCT_PARTS: f64 = 3.0;

/// The number of a field, or an error that names it.
macro_rules! figure {
    ($gpu:ident.$field:ident) => {
        $gpu.$field
            .as_ref()
            .map(|sourced| sourced.value.0)
            .ok_or_else(|| MissingField { gpu: $gpu.name.clone(), field: stringify!($field) })?
    };
}

/// The number of a field, if the GPU has it.
macro_rules! maybe {
    ($gpu:ident.$field:ident) => {
        $gpu.$field.as_ref().map(|sourced| sourced.value.0)
    };
}

/// A part of the parameters: fields of a GPU that it holds under their own names, and then those
/// that are computed from others.
macro_rules! part {
    ($gpu:ident => $part:ident { $($field:ident),* $(,)? } $({ $($other:ident: $value:expr),* $(,)? })?) => {
        $part { $($field: figure!($gpu.$field).parameter(),)* $($($other: $value,)*)? }
    };
}

impl Gpu {
    /// Every constant of the simulation of an SM, from the fields of a completed GPU.
    ///
    /// # Errors
    ///
    /// When a field is missing; GPUs before compute capability 3.0 lack several.
    pub fn sm_parameters(&self) -> Result<Parameters, MissingField> {
        let gpu = self;
        Ok(part!(gpu => Parameters { sp_clock, sm_count } {
            issue: part!(gpu => Issue { sub_partitions, issue_width, warp_scheduler }),
            units: self.unit_of_each_class()?,
            latencies: self.latencies()?,
            tensor: self.tensor_cores()?,
            load_store: self.load_store()?,
            memory: self.memory()?,
            synchronisation: part!(gpu => Synchronisation {
                barrier_latency, barrier_arrival_interval, mbarrier_latency,
            } {
                fences: [
                    figure!(gpu.fence_cta_latency),
                    figure!(gpu.fence_gpu_latency),
                    figure!(gpu.fence_system_latency),
                ],
            }),
            launch: part!(gpu => LaunchCosts {
                cta_launch_interval, cta_replacement, warp_launch_interval, launch_start,
                launch_end, code_latency, code_line_interval, code_line, code_cache_size,
            } {
                constants: part!(gpu => ConstantCosts {
                    constant_near_latency, constant_far_latency, constant_line, constant_far_line,
                }),
            }),
        }))
    }

    /// The generation of the compute capability.
    fn generation(&self) -> Result<u32, MissingField> {
        let capability = self.compute_capability.as_ref().map(|capability| capability.value.major);
        let field = "compute_capability";
        capability.ok_or_else(|| MissingField { gpu: self.name.clone(), field })
    }

    /// The unit of each class of instructions.
    fn unit_of_each_class(&self) -> Result<[UnitUse; Class::ALL.len()], MissingField> {
        let mut units = [ISSUED_ONLY; Class::ALL.len()];
        for (place, class) in units.iter_mut().zip(Class::ALL) {
            *place = self.unit(class)?;
        }
        Ok(units)
    }

    fn unit(&self, class: Class) -> Result<UnitUse, MissingField> {
        let gpu = self;
        let sub_cores = figure!(gpu.sub_partitions) as f64;
        let generation = self.generation()?;
        let of = |unit, rate: f64| UnitUse::by_rate(unit, rate, sub_cores);
        let every = |unit, interval| UnitUse { unit: Some(unit), interval, ..ISSUED_ONLY };
        let fp32 = figure!(gpu.fp32_rate);
        Ok(match class {
            Class::Fp32 => match figure!(gpu.fp32_pipes) {
                0 | 1 => of(Unit::Fma, fp32),
                // Two pipes of half the lanes each.
                _ => UnitUse { other: Some(Unit::FmaSecond), ..of(Unit::Fma, fp32 / 2.0) },
            },
            // Code of later generations takes a lane for each half on a GPU without half precision.
            Class::Fp16 => of(Unit::Fma, maybe!(gpu.fp16_rate).unwrap_or(fp32) / HALVES),
            Class::Fp64 => of(Unit::Fp64, figure!(gpu.fp64_rate)),
            Class::Integer => of(Unit::Alu, figure!(gpu.int_add_rate)),
            Class::Compare => of(Unit::Alu, figure!(gpu.compare_rate)),
            Class::Shift => of(Unit::Alu, figure!(gpu.shift_rate)),
            Class::IntegerMultiply => match generation {
                ..5 => of(Unit::Alu, figure!(gpu.int_mul_rate)),
                5 | 6 => of(Unit::Fma, PRODUCT_PARTS * figure!(gpu.int_mul_rate)),
                _ => of(Unit::Fma, figure!(gpu.int_mul_rate)),
            },
            Class::WideMultiply => match generation {
                ..5 => of(Unit::Alu, figure!(gpu.wide_mul_rate)),
                _ => of(Unit::Fma, figure!(gpu.wide_mul_rate)),
            },
            Class::Special => of(Unit::Special, figure!(gpu.special_rate)),
            Class::Conversion => of(Unit::Special, figure!(gpu.conversion_rate)),
            Class::WideConversion => {
                let rate = figure!(gpu.wide_conversion_rate);
                // The few units of double precision convert where all sub-cores share them.
                let is_shared = rate < sub_cores;
                of(if is_shared { Unit::Fp64 } else { Unit::Special }, rate)
            }
            Class::Shuffle => of(Unit::Memory, figure!(gpu.shuffle_rate)),
            // A product takes the tensor core by its multiply-adds, an access the path by its own.
            Class::Tensor => every(Unit::Tensor, 1.0),
            Class::Memory => every(Unit::Memory, 1.0),
            Class::Texture => every(Unit::Texture, figure!(gpu.texture_interval)),
            Class::Branch => every(Unit::Branch, figure!(gpu.branch_interval)),
            Class::Uniform => every(Unit::Uniform, figure!(gpu.uniform_interval)),
            Class::Other => ISSUED_ONLY,
        })
    }

    /// Clocks until the result of each class is there.
    fn latencies(&self) -> Result<[f64; Class::ALL.len()], MissingField> {
        let gpu = self;
        let mut latencies = [0.0; Class::ALL.len()];
        for (place, class) in latencies.iter_mut().zip(Class::ALL) {
            *place = match class {
                Class::Fp32
                | Class::Fp16
                | Class::Integer
                | Class::Compare
                | Class::Shift
                | Class::IntegerMultiply
                | Class::WideMultiply => figure!(gpu.arithmetic_latency) as f64,
                Class::Fp64 => figure!(gpu.fp64_latency),
                Class::Special | Class::Conversion => figure!(gpu.special_latency),
                Class::WideConversion => {
                    figure!(gpu.fp64_latency).max(figure!(gpu.special_latency))
                }
                Class::Shuffle => figure!(gpu.shuffle_latency),
                Class::Tensor => figure!(gpu.tensor_latency),
                Class::Texture => figure!(gpu.texture_latency),
                Class::Uniform => figure!(gpu.uniform_latency),
                // Special registers; whatever else has no unit announces nothing.
                Class::Other => figure!(gpu.special_register_latency),
                // The load-store path says when data is there, and jumps have no result.
                Class::Memory | Class::Branch => 0.0,
            };
        }
        Ok(latencies)
    }

    /// The field that a code needs and the GPU has no value for, if there is one. Only tensor cores
    /// and tensor memory are asked for, which some GPUs lack; the others are always known.
    #[must_use]
    pub fn lacks_for(&self, code: &Code) -> Option<MissingField> {
        let lacking = code.instructions.iter().find_map(|instruction| match instruction.action {
            Action::Multiply { format, .. } => self.lacks_format(format),
            Action::TensorMemory(action) => self.lacks_tensor_memory(action),
            _ => None,
        });
        lacking.map(|field| MissingField { gpu: self.name.clone(), field })
    }

    fn lacks_tensor_memory(&self, action: TensorMemoryAction) -> Option<&'static str> {
        let of_field = |value: Option<f64>, field| value.is_none().then_some(field);
        let gpu = self;
        let latency = || of_field(maybe!(gpu.tensor_memory_latency), "tensor_memory_latency");
        match action {
            TensorMemoryAction::Multiply(product) => {
                self.lacks_format(product.format).or_else(latency).or_else(|| match product.sms {
                    ..=1 => None,
                    _ => of_field(maybe!(gpu.tensor_pair_latency), "tensor_pair_latency"),
                })
            }
            TensorMemoryAction::Copy { .. } => latency(),
            TensorMemoryAction::Transfer { writes: true, .. } => {
                of_field(maybe!(gpu.tensor_memory_write_rate), "tensor_memory_write_rate")
            }
            TensorMemoryAction::Transfer { writes: false, .. } => {
                of_field(maybe!(gpu.tensor_memory_read_rate), "tensor_memory_read_rate")
            }
            TensorMemoryAction::Commit { .. } | TensorMemoryAction::AwaitTransfers => None,
        }
    }

    fn lacks_format(&self, format: TensorFormat) -> Option<&'static str> {
        // Some cards of capability 7.5 have no tensor cores.
        if self.tensor_rate.is_none() {
            return Some("tensor_rate");
        }
        let (field, rate) = self.tensor_rate_of(format);
        rate.is_none().then_some(field)
    }

    /// The rate of a format where there are tensor cores, and the field that it comes from.
    fn tensor_rate_of(&self, format: TensorFormat) -> (&'static str, Option<f64>) {
        let gpu = self;
        macro_rules! rate {
            ($field:ident) => {
                (stringify!($field), maybe!(gpu.$field))
            };
        }
        match format {
            TensorFormat::Fp64 => {
                let (field, rate) = rate!(tensor_fp64_rate);
                (field, rate.or(maybe!(gpu.fp64_rate)))
            }
            TensorFormat::Tf32 => rate!(tensor_tf32_rate),
            TensorFormat::HalfInHalf => rate!(tensor_half_rate),
            TensorFormat::HalfInSingle => rate!(tensor_rate),
            TensorFormat::Fp8 => rate!(tensor_fp8_rate),
            TensorFormat::Fp6OrFp4 => rate!(tensor_fp4_rate),
            TensorFormat::ScaledFp4 => rate!(tensor_scaled_fp4_rate),
            TensorFormat::Int8 => rate!(tensor_int8_rate),
            TensorFormat::Int4 => rate!(tensor_int4_rate),
            TensorFormat::Int1 => rate!(tensor_int1_rate),
        }
    }

    fn tensor_cores(&self) -> Result<Tensor, MissingField> {
        let gpu = self;
        let mut rates = [0.0; TensorFormat::ALL.len()];
        // Code that needs what is not there has no time: `lacks_for`.
        if gpu.tensor_rate.is_some() {
            for (rate, format) in rates.iter_mut().zip(TensorFormat::ALL) {
                *rate = self.tensor_rate_of(format).1.unwrap_or(0.0);
            }
        }
        Ok(part!(gpu => Tensor { tensor_latency, tensor_queue } {
            rates: rates,
            mma_sync_share: figure!(gpu.mma_sync_share) / 100.0,
            memory: TensorMemory {
                tensor_memory_latency: maybe!(gpu.tensor_memory_latency).unwrap_or(0.0),
                tensor_pair_latency: maybe!(gpu.tensor_pair_latency).unwrap_or(0.0),
                tensor_memory_read_rate: maybe!(gpu.tensor_memory_read_rate).unwrap_or(0.0),
                tensor_memory_write_rate: maybe!(gpu.tensor_memory_write_rate).unwrap_or(0.0),
                tensor_memory_columns: maybe!(gpu.tensor_memory_columns).map_or(0, narrow),
            },
        }))
    }

    fn load_store(&self) -> Result<LoadStore, MissingField> {
        let gpu = self;
        let shared_bytes = figure!(gpu.shared_bytes_rate);
        Ok(part!(gpu => LoadStore {
            memory_queue, address_interval, uniform_address_interval, shared_bytes_rate,
            l1_tag_rate, l1_tag_spread, store_bytes_rate, l1_latency, shared_latency,
            constant_latency, constant_interval, shuffle_latency, operand_latency,
            shared_atomic_interval, pending_accesses, pending_sectors, stored_sectors,
        } {
            port_interval: WARP_LANES / figure!(gpu.load_store_rate),
            // GPUs whose loads bypass the cache return them at the rate of shared memory.
            l1_bytes_rate: maybe!(gpu.l1_bytes_rate).unwrap_or(shared_bytes),
            shared_paired_bytes: match maybe!(gpu.shared_serving) {
                Some(Serving::InPairedPhases) => 2.0 * shared_bytes,
                _ => shared_bytes,
            },
            pass_interval: (PASS_BYTES / shared_bytes).max(1.0),
        }))
    }

    fn memory(&self) -> Result<Memory, MissingField> {
        /// Bytes per second of a gigabyte per second.
        const GIGA: f64 = 1e9;
        let gpu = self;
        Ok(part!(gpu => Memory {
            l2_latency, l2_far_latency, memory_latency, l2_reply_bytes_rate, l2_request_rate,
            sector, atomic_latency, atomic_interval, atomic_rate,
        } {
            l2_read_bandwidth: GIGA * figure!(gpu.l2_bandwidth),
            l2_write_bandwidth: GIGA * figure!(gpu.l2_write_bandwidth),
            l2_partial_write_cost: figure!(gpu.l2_write_bytes_rate)
                / figure!(gpu.l2_partial_write_bytes_rate),
            dram_bandwidth: GIGA * figure!(gpu.peak_memory_bandwidth),
            dram_efficiency: figure!(gpu.dram_efficiency) / 100.0,
            dram_mixed_efficiency: figure!(gpu.dram_mixed_efficiency) / 100.0,
            queueing: [
                Queueing {
                    written: 0.0,
                    linear: figure!(gpu.read_queueing_linear),
                    hyperbolic: figure!(gpu.read_queueing_hyperbolic),
                },
                Queueing {
                    written: 0.25,
                    linear: figure!(gpu.quarter_written_queueing_linear),
                    hyperbolic: figure!(gpu.quarter_written_queueing_hyperbolic),
                },
                Queueing {
                    written: 0.5,
                    linear: figure!(gpu.half_written_queueing_linear),
                    hyperbolic: figure!(gpu.half_written_queueing_hyperbolic),
                },
                Queueing {
                    written: 1.0,
                    linear: figure!(gpu.write_queueing_linear),
                    hyperbolic: figure!(gpu.write_queueing_hyperbolic),
                },
            ],
        }))
    }
}

/// An instruction that only has to be issued.
const ISSUED_ONLY: UnitUse = UnitUse { unit: None, other: None, interval: 1.0, is_shared: false };

/// A unit of sub-cores by the results that an SM has in a clock.
trait ByRate {
    fn by_rate(unit: Unit, rate: f64, sub_cores: f64) -> Self;
}

impl ByRate for UnitUse {
    fn by_rate(unit: Unit, rate: f64, sub_cores: f64) -> Self {
        let is_shared = rate < sub_cores;
        let lanes = if is_shared { rate } else { rate / sub_cores };
        Self { unit: Some(unit), interval: WARP_LANES / lanes, is_shared, ..ISSUED_ONLY }
    }
}

/// A field of a GPU as the simulation has it.
trait AsParameter<T> {
    fn parameter(self) -> T;
}

impl AsParameter<f64> for f64 {
    fn parameter(self) -> f64 {
        self
    }
}

impl AsParameter<f64> for u64 {
    fn parameter(self) -> f64 {
        self as f64
    }
}

impl AsParameter<u32> for u64 {
    fn parameter(self) -> u32 {
        narrow(self)
    }
}

impl AsParameter<Scheduler> for Scheduler {
    fn parameter(self) -> Scheduler {
        self
    }
}

/// A count of a file as the simulation has it; more than it can hold is as good as no limit.
fn narrow(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;

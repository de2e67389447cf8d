//! The clocks of tensor cores, and of products and copies that work on tensor memory.
//!
//! A product takes the tensor core of the SM as long as the columns of its sum need, or as long as
//! shared memory needs to deliver the factors. The first factor is loaded before the first column.

use crate::code::{Action, Instruction, TensorFormat, TensorMemoryAction, TensorProduct};
use crate::launch::{Beside, Request};
use crate::parameters::{Parameters, Unit, UnitUse};

/// Lanes of tensor memory. A product of fewer rows leaves some of them without work.
const LANES: f64 = 128.0;

/// Bytes of a row of A as it is stored, of every format (PTX ISA, `tcgen05.mma`, shapes).
const ROW_BYTES: f64 = 32.0;

/// The clocks of a product or of a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProductClocks {
    /// Clocks for which it keeps the tensor core from others.
    pub interval: f64,
    /// Clocks from its begin until an mbarrier is told.
    pub latency: f64,
}

impl Parameters {
    /// The clocks of a product whose sum is in tensor memory.
    #[must_use]
    pub fn product_clocks(&self, product: &TensorProduct, request: &Request) -> ProductClocks {
        let (rows, columns, told) = match request.beside {
            Beside::Product { rows, columns, format } => {
                (f64::from(rows), f64::from(columns), format)
            }
            Beside::Nothing | Beside::Phase(_) | Beside::Turns { .. } => (0.0, 0.0, None),
        };
        let format = match product.format {
            TensorFormat::ScaledFp4 => product.format,
            of_instruction => told.unwrap_or(of_instruction),
        };
        let rate = self.tensor.rates[format as usize];
        let multiply_adds = LANES * columns * f64::from(product.depth);
        let computing = if rate > 0.0 { multiply_adds / rate } else { 0.0 };
        let sms = f64::from(product.sms.max(1));
        // Each SM of a pair reads its own part of the factors.
        let reading = self.reading_clocks(request) / sms;
        let first = if product.reads_a {
            rows * ROW_BYTES / self.load_store.shared_bytes_rate
        } else {
            0.0
        };
        let memory = &self.tensor.memory;
        let pair = if product.sms > 1 { memory.tensor_pair_latency } else { 0.0 };
        ProductClocks {
            interval: computing.max(reading),
            latency: first + computing + memory.tensor_memory_latency + pair,
        }
    }

    /// The clocks of a copy from shared memory to tensor memory.
    #[must_use]
    pub fn tensor_copy_clocks(&self, request: &Request) -> ProductClocks {
        let reading = self.reading_clocks(request);
        ProductClocks {
            interval: reading,
            latency: reading + self.tensor.memory.tensor_memory_latency,
        }
    }

    /// Clocks of a sub-core's way between tensor memory and registers for a transfer; 0 if there is
    /// no tensor memory.
    #[must_use]
    pub fn transfer_clocks(&self, bytes: u32, writes: bool) -> f64 {
        let memory = &self.tensor.memory;
        let rate =
            if writes { memory.tensor_memory_write_rate } else { memory.tensor_memory_read_rate };
        let of_sub_core = rate / f64::from(self.issue.sub_partitions.max(1));
        if of_sub_core > 0.0 { f64::from(bytes) / of_sub_core } else { 0.0 }
    }

    /// The unit that an instruction keeps busy, and for how long. Of a product it is the tensor
    /// core at the rate of its format (AMALI, `II_tensor`).
    #[must_use]
    pub fn unit_of(&self, instruction: &Instruction) -> UnitUse {
        let units = self.units[instruction.class as usize];
        match instruction.action {
            Action::Multiply { multiply_adds, format, is_asynchronous, .. } => {
                let sub_cores = self.issue.sub_partitions;
                let tensor = &self.tensor;
                match tensor.clocks(multiply_adds, format, is_asynchronous, sub_cores) {
                    Some(interval) => UnitUse { unit: Some(Unit::Tensor), interval, ..units },
                    None => units,
                }
            }
            Action::TensorMemory(TensorMemoryAction::Transfer { bytes, writes }) => {
                let interval = self.transfer_clocks(bytes, writes);
                UnitUse { unit: Some(Unit::TensorMemory), interval, ..units }
            }
            _ => units,
        }
    }

    /// Clocks of shared memory for the tensor core's reads.
    fn reading_clocks(&self, request: &Request) -> f64 {
        f64::from(request.passes) * self.load_store.pass_interval
    }
}

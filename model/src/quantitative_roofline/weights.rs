//! The cost of instructions on a GPU: Konstantinidis 2017, equations 4.9 to 4.12.

use super::kernel::{KernelParameters, OperationType};
use crate::gpu::Gpu;
use crate::inputs::parameter;
use crate::predictor::ModelError;

/// The cost of an instruction of each class, in single-precision multiply-adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// W_op, eq. 4.10.
    pub operation: f64,
    /// W_ldst, eq. 4.11.
    pub load_store: f64,
    /// W_other, eq. 4.12.
    pub other: f64,
}

impl Weights {
    /// The weights on a GPU for a kernel.
    ///
    /// # Errors
    ///
    /// When the GPU lacks one of its throughputs.
    pub fn of(kernel: &KernelParameters, gpu: &Gpu) -> Result<Self, ModelError> {
        let multiply_adds = parameter(gpu, "sp_throughput", &gpu.sp_throughput)?.0;
        // T_SP counts two operations for each multiply-add instruction.
        let instructions = multiply_adds / 2.0;
        let load_store = parameter(gpu, "load_store_throughput", &gpu.load_store_throughput)?.0;
        let other = parameter(gpu, "int_add_throughput", &gpu.int_add_throughput)?.0;
        Ok(Self {
            operation: operation(kernel, gpu, multiply_adds)?,
            load_store: instructions / load_store,
            other: instructions / other,
        })
    }
}

/// W_op, eq. 4.10. A matrix instruction costs as many multiply-adds as take the same time.
fn operation(kernel: &KernelParameters, gpu: &Gpu, multiply_adds: f64) -> Result<f64, ModelError> {
    let peak = peak_throughput(kernel, gpu)?;
    Ok(match kernel.operation_type {
        OperationType::Fp64 | OperationType::Fp32 | OperationType::Int => multiply_adds / peak,
        OperationType::Tensor => multiply_adds / 2.0 * kernel.tensor_operations_per_thread() / peak,
    })
}

/// T_op, eq. 4.9: 10⁹ operations of the kernel's type per second.
pub(super) fn peak_throughput(kernel: &KernelParameters, gpu: &Gpu) -> Result<f64, ModelError> {
    match kernel.operation_type {
        OperationType::Fp64 => Ok(parameter(gpu, "dp_throughput", &gpu.dp_throughput)?.0),
        OperationType::Fp32 => Ok(parameter(gpu, "sp_throughput", &gpu.sp_throughput)?.0),
        OperationType::Int => Ok(parameter(gpu, "int_throughput", &gpu.int_throughput)?.0),
        OperationType::Tensor => {
            let halves = parameter(gpu, "tensor_throughput", &gpu.tensor_throughput)?.0;
            Ok(halves * kernel.relative_throughput)
        }
    }
}

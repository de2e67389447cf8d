//! The cost of instructions on a GPU: Konstantinidis 2017, equations 4.9 to 4.12.

use super::kernel::OperationType;
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
    /// The weights on a GPU for kernels of a type.
    ///
    /// # Errors
    ///
    /// When the GPU lacks one of its throughputs.
    pub fn of(operation_type: OperationType, gpu: &Gpu) -> Result<Self, ModelError> {
        let multiply_adds = parameter(gpu, "sp_throughput", &gpu.sp_throughput)?.0;
        // T_SP counts two operations for each multiply-add instruction.
        let instructions = multiply_adds / 2.0;
        let load_store = parameter(gpu, "load_store_throughput", &gpu.load_store_throughput)?.0;
        let other = parameter(gpu, "int_add_throughput", &gpu.int_add_throughput)?.0;
        Ok(Self {
            operation: multiply_adds / peak_throughput(operation_type, gpu)?,
            load_store: instructions / load_store,
            other: instructions / other,
        })
    }
}

/// T_op, eq. 4.9: 10⁹ operations of a type per second.
pub(super) fn peak_throughput(operation_type: OperationType, gpu: &Gpu) -> Result<f64, ModelError> {
    match operation_type {
        OperationType::Fp64 => Ok(parameter(gpu, "dp_throughput", &gpu.dp_throughput)?.0),
        OperationType::Fp32 => Ok(parameter(gpu, "sp_throughput", &gpu.sp_throughput)?.0),
        OperationType::Int => Ok(parameter(gpu, "int_throughput", &gpu.int_throughput)?.0),
    }
}

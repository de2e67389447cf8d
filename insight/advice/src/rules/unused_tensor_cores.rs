//! # What it does
//!
//! Finds half-precision multiply-adds that ordinary units do on a GPU with tensor cores.
//!
//! # Why it is slow
//!
//! A tensor core does a product of small matrices in an instruction: 2,048 multiply-adds of a warp
//! against 64 of a packed half-precision instruction.
//!
//! # How to fix it
//!
//! Write matrix products with `nvcuda::wmma`, CUTLASS, cuBLAS or `mma.sync`. The advice holds if
//! the multiply-adds are those of a product of matrices.
//!
//! # Example
//!
//! ```cuda
//! c = __hfma2(a, b, c);
//! wmma::mma_sync(c, a, b, c);
//! ```
//!
//! # Source
//!
//! CUDA C++ Programming Guide 12.9, section 10.24 (warp matrix functions).

use gpucast_counters::table::Row;
use gpucast_model::WhatIf;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_simulation::code::TensorFormat;

use super::{Effort, Evidence, Suspicion};
use crate::case::Case;
use crate::trial::Trial;

pub(super) const CODE: &str = "unused-tensor-cores";
pub(super) const TITLE: &str = "half-precision multiply-adds do not use tensor cores";
pub(super) const EFFORT: Effort = Effort::Structure;

pub(super) fn check(case: &Case<'_>) -> Option<Suspicion> {
    let rates = case.gpu.sm_parameters().ok()?.tensor.rates;
    if rates[TensorFormat::HalfInHalf as usize] == 0.0 {
        return None;
    }
    let multiply_adds = |row: &Row| {
        let is_one = row.description.opcode == Opcode::Fma
            && row.description.class == InstructionClass::Fp16;
        if is_one { row.warp_executions as f64 } else { 0.0 }
    };
    let all: f64 = case.rows().map(multiply_adds).sum();
    if all == 0.0 {
        return None;
    }
    Some(Suspicion {
        change: "If these multiply-adds are those of a matrix product, let tensor cores do them \
                 (wmma, mma.sync, CUTLASS or cuBLAS)."
            .to_owned(),
        places: case.ranked(multiply_adds),
        evidence: vec![Evidence::new("half-precision multiply-adds", all, all / 32.0, "instruction")],
        trial: Trial::WhatIf(vec![WhatIf::TensorCores]),
    })
}

//! The time of a kernel with its transfers: dispatch, execute, collect.
//!
//! Velho, de Oliveira, Padoin, Navaux: "Accurate Analytic Models to Estimate Execution Time on
//! GPU Applications", 2013. Each step takes a time that is linear in its workload, and the steps
//! follow each other:
//!
//! ```text
//! T_dispatch = W_dispatch / dispatchBandwidth + β_dispatch     (1)
//! T_exec     = W_exec / GPUSpeed + β_exec                      (2)
//! T_collect  = W_collect / collectBandwidth + β_collect        (3)
//! T_GPU      = T_dispatch + T_exec + T_collect                 (4)
//! ```
//!
//! Rates and constants are fitted to measured samples of one application on one machine. Samples
//! that give the time of each step determine each β. Samples that give only the total determine
//! only the sum of the β, and equations 7 to 9 of the paper print no more.

mod calibration;
mod model;

use serde::{Deserialize, Serialize};

pub use calibration::{
    Calibration, CalibrationError, Constant, MeasuredTime, Rate, Sample, StepFit,
};
pub use model::{CalibratedOffload, OffloadModel, Transfers};

/// The work to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Workload {
    /// W_dispatch: bytes from the CPU's memory to the GPU's.
    pub dispatch_bytes: f64,
    /// W_exec: floating-point operations, or whatever else the work of this application is counted
    /// in.
    pub operations: f64,
    /// W_collect: bytes from the GPU's memory to the CPU's.
    pub collect_bytes: f64,
}

impl Workload {
    fn steps(&self) -> [f64; 3] {
        [self.dispatch_bytes, self.operations, self.collect_bytes]
    }
}

/// The model of one application on one machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offload {
    /// dispatchBandwidth, in bytes per second.
    pub dispatch_bandwidth: f64,
    /// GPUSpeed, in operations per second.
    pub gpu_speed: f64,
    /// collectBandwidth, in bytes per second.
    pub collect_bandwidth: f64,
    /// β_dispatch + β_exec + β_collect, in seconds.
    pub constant: f64,
}

impl Offload {
    /// Equation 7: matrix multiplication on a GTX 480 behind PCIe 2.0 ×16.
    pub const MATRIX_MULTIPLICATION: Self = Self {
        dispatch_bandwidth: 5.68e9,
        gpu_speed: 241.10e9,
        collect_bandwidth: 2.13e9,
        constant: 0.001_928,
    };

    /// Equation 8: the fast Fourier transform on the same machine. Its speed is printed with one
    /// digit.
    pub const FFT: Self = Self {
        dispatch_bandwidth: 5.44e9,
        gpu_speed: 0.0004e9,
        collect_bandwidth: 2.14e9,
        constant: 0.050_523,
    };

    /// Equation 9: Needleman-Wunsch on the same machine.
    pub const NEEDLEMAN_WUNSCH: Self = Self {
        dispatch_bandwidth: 5.68e9,
        gpu_speed: 1.15e9,
        collect_bandwidth: 2.14e9,
        constant: 0.053_851,
    };

    /// T_GPU of a workload in seconds, equation 4.
    #[must_use]
    pub fn time(&self, workload: &Workload) -> f64 {
        workload.dispatch_bytes / self.dispatch_bandwidth
            + workload.operations / self.gpu_speed
            + workload.collect_bytes / self.collect_bandwidth
            + self.constant
    }
}

/// ε of equation 5: the distance of two times on a logarithmic scale, the same both ways.
#[must_use]
pub fn symmetric_error(a: f64, b: f64) -> f64 {
    (a.ln() - b.ln()).abs()
}

/// Equation 6: ε as a relative discrepancy, 0.11 for 11 %.
#[must_use]
pub fn discrepancy(error: f64) -> f64 {
    error.exp_m1()
}

#[cfg(test)]
mod tests;

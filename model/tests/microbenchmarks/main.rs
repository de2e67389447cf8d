//! The simulation of an SM against published microbenchmarks, with the GPUs of the library.
//!
//! Constants of the simulation come from these and from specifications. The bounds on the errors
//! are those that the constants reach; they keep later changes from making them worse.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a helper of tests fails by panicking")]

mod chains;
mod mainloops;
mod products;
mod streams;
mod strides;

use gpucast_model::GpuLibrary;
use gpucast_simulation::parameters::Parameters;

/// The parameters of a GPU that the tables name.
fn machine(label: &str) -> Option<Parameters> {
    let name = match label {
        "V100" => "tesla-v100-pcie",
        "A100-40GB" | "A100" => "a100-sxm-40gb",
        "A100-80GB" => "a100-sxm-80gb",
        "A40" => "a40",
        "L40" => "l40",
        "H100-PCIe" => "h100-pcie",
        "GH200" | "H200" => "gh200",
        "B200" => "b200",
        _ => return None,
    };
    let gpu = GpuLibrary::builtin().unwrap().get(name).unwrap();
    Some(gpu.sm_parameters().unwrap())
}

/// Relative errors.
#[derive(Default)]
struct Errors(Vec<f64>);

impl Errors {
    fn mean(&self) -> f64 {
        self.0.iter().map(|error| error.abs()).sum::<f64>() / self.0.len().max(1) as f64
    }

    fn bias(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len().max(1) as f64
    }

    fn worst(&self) -> f64 {
        self.0.iter().map(|error| error.abs()).fold(0.0, f64::max)
    }

    fn row(&self) -> String {
        format!(
            "{} | {:.1} | {:+.1} | {:.1}",
            self.0.len(),
            100.0 * self.mean(),
            100.0 * self.bias(),
            100.0 * self.worst()
        )
    }
}

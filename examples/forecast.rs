//! The time of a kernel on a GPU that is not here, from its PTX and a launch.
#![expect(clippy::print_stdout, reason = "examples print")]

use gpucast_forecast::{Kernel, LaunchOptions};
use gpucast_model::{GpuLibrary, Model};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ptx = include_str!("../tests/inputs/saxpy.ptx");
    let arguments = ["u32:1048576", "f32:2.0", "buf:f32[1048576]=iota", "buf:f32[1048576]=zero"];
    let launch = LaunchOptions {
        kernel: Some("saxpy".to_owned()),
        grid: Some([4096, 1, 1]),
        block: Some([256, 1, 1]),
        arg: arguments.map(str::to_owned).to_vec(),
        ..LaunchOptions::default()
    };
    let gpu = GpuLibrary::builtin()?.get("h100-sxm")?;
    let model = <dyn Model>::default_for(&gpu);
    for counted in Kernel::from_ptx("saxpy.ptx", ptx, &launch)?.count(&gpu)? {
        let forecast = model.predict(&counted.profile, &gpu, &counted.conditions)?;
        println!("{}: {:.4} ms, bound by {}", forecast.kernel, forecast.time_ms, forecast.bound);
        for metric in ["inst_executed", "dram_read_bytes", "dram_write_bytes"] {
            let figure = &counted.profile.metrics[metric];
            println!("  {metric}: {} {}s", figure.value.as_f64(), figure.unit);
        }
    }
    Ok(())
}

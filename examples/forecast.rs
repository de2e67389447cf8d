//! The time of a kernel on a GPU that is not here, from its PTX and a launch.
#![expect(clippy::print_stdout, reason = "examples print")]

use gpucast_forecast::prelude::*;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ptx = include_str!("../tests/inputs/saxpy.ptx");
    let launch = LaunchOptions::new("saxpy", [4096, 1, 1], [256, 1, 1])
        .argument(1_048_576_u32)
        .argument(2.0_f32)
        .argument(Argument::f32_buffer(1_048_576).iota())
        .argument(Argument::f32_buffer(1_048_576).zeros());
    let gpu = GpuLibrary::builtin()?.get("h100-sxm")?;
    let model = <dyn Model>::default_for(&gpu);
    for counted in Kernel::from_ptx("saxpy.ptx", ptx, &launch)?.count(&gpu)? {
        let forecast = model.predict(&counted.profile, &gpu, &counted.conditions)?;
        println!("{}: {:.4} ms, bound by {}", forecast.kernel, forecast.time_ms, forecast.bound);
        for metric in ["inst_executed", "dram_read_bytes", "dram_write_bytes"] {
            if let Some(figure) = counted.profile.metrics.get(metric) {
                println!("  {metric}: {} {}s", figure.value.as_f64(), figure.unit);
            }
        }
    }
    Ok(())
}

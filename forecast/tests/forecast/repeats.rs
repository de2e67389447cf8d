//! Repeated launches: the first finds caches empty, the others find what it left.

use gpucast_forecast::run::sources::Source;
use gpucast_forecast::{Kernel, LaunchOptions};
use gpucast_model::{GpuLibrary, Model, SmSimulation};
use gpucast_simulation::launch::Launch;

use crate::common::{COPY, launch_file};

fn counted(repeat: u32) -> Source {
    // 4 MiB in, 4 MiB out: more than all L1 of an A100 hold together, less than its L2.
    let text = format!(
        "[buffers.in]\ntype = \"u32\"\nlen = 1048576\n[buffers.out]\ntype = \"u32\"\nlen = 1048576\n\
         [[launch]]\nkernel = \"copy\"\ngrid = [4096, 1, 1]\nblock = [256, 1, 1]\n\
         args = [\"in\", \"out\"]\nrepeat = {repeat}\n"
    );
    let kernel: Kernel = launch_file(COPY, &text, &LaunchOptions::default()).unwrap();
    let gpu = GpuLibrary::builtin().unwrap().get("a100-sxm-40gb").unwrap();
    kernel.count(&gpu).unwrap().remove(0)
}

fn dram_sectors(launch: &Launch) -> u64 {
    let warps =
        launch.classes.iter().flat_map(|class| &class.samples).flat_map(|sample| &sample.warps);
    let requests = warps.flat_map(|warp| &warp.requests).flatten();
    requests.map(|request| u64::from(request.dram_sectors)).sum()
}

fn predicted_ms(source: &Source) -> f64 {
    let gpu = GpuLibrary::builtin().unwrap().get("a100-sxm-40gb").unwrap();
    SmSimulation.predict(&source.profile, &gpu, &source.conditions).unwrap().time_ms
}

#[test]
fn later_invocations_are_simulated_with_the_caches_that_they_find() {
    let (once, often) = (counted(1), counted(10));
    let kinds = often.conditions.evidence.simulation.clone().unwrap();
    let counts: Vec<u64> = kinds.iter().map(|kind| kind.count).collect();
    assert_eq!(counts, [1, 9]);
    assert!(dram_sectors(&kinds[0].launch) > 0);
    assert_eq!(dram_sectors(&kinds[1].launch), 0);
    let (cold, all) = (predicted_ms(&once), predicted_ms(&often));
    assert!(all > cold && all < 8.0 * cold, "{all} ms for ten, {cold} ms for one");
}

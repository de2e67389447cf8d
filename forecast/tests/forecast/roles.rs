//! Kernels whose warps have roles: each waits for what others do, and nobody waits in vain.

use gpucast_forecast::{Kernel, LaunchOptions, settings};
use gpucast_model::GpuLibrary;
use gpucast_model::sm_simulation::Analysis;

#[test]
fn warps_with_roles_are_let_through_by_each_other() {
    let gpu = GpuLibrary::builtin().unwrap().get("h100-sxm").unwrap();
    let options = LaunchOptions { size: Some(settings::Size::Small), ..LaunchOptions::default() };
    // Copies and products by mbarriers, and warpgroups that take turns by named barriers.
    for name in ["product-wgmma-queue", "product-wgmma-cluster", "attention-wgmma-d128"] {
        let source = Kernel::open(name, &options).unwrap().count(&gpu).unwrap().remove(0);
        let analysis = Analysis::of(&source.profile, &gpu, &source.conditions).unwrap();
        assert_eq!(analysis.abandoned_barriers, 0, "{name}");
    }
}

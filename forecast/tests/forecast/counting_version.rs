//! The version of counts that shared sweeps store.

use std::fmt::Write as _;

use gpucast_forecast::sweep::shared::COUNTING_VERSION;
use gpucast_forecast::{Kernel, LaunchOptions, settings};
use gpucast_model::GpuLibrary;
use sha2::{Digest as _, Sha256};

/// Stored counts and new ones must not be mixed. Where this snapshot changes, an execution counts
/// something else than before: raise `COUNTING_VERSION` with it.
#[test]
fn changed_counts_have_another_version() {
    let library = GpuLibrary::builtin().unwrap();
    let options = LaunchOptions { size: Some(settings::Size::Small), ..LaunchOptions::default() };
    let mut text = format!("version {COUNTING_VERSION}\n");
    for entry in gpucast_corpus::entries().iter().step_by(4) {
        for gpu in ["gtx-480", "h100-sxm"] {
            let kernel = Kernel::open(entry.name, &options).unwrap();
            let mut counts = Sha256::new();
            for source in kernel.count(&library.get(gpu).unwrap()).unwrap() {
                let conditions = &source.conditions;
                let order = &conditions.evidence.simulation;
                counts.update(format!("{:?}{:?}", source.profile, conditions.evidence.stages));
                counts.update(format!("{:?}{order:?}", conditions.launch));
            }
            let hash: String =
                counts.finalize().iter().take(6).map(|byte| format!("{byte:02x}")).collect();
            writeln!(text, "{} {gpu} {hash}", entry.name).unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

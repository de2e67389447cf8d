//! The words by which pages name a launch.

use std::path::Path;

use gpucast_counters::export::PROCESS;
use gpucast_host::collection::NameBase;

use super::report::{Action, ProfileReport};

/// The columns of CSV that stand before sections and metrics.
pub(super) const COLUMNS: [&str; 11] = [
    "ID",
    "Process ID",
    "Process Name",
    "Host Name",
    "Kernel Name",
    "Context",
    "Stream",
    "Block Size",
    "Grid Size",
    "Device",
    "CC",
];

/// The name in the place of the host: readers of profilers' files take figures for modelled by it.
pub(super) const HOST: &str = PROCESS;

impl ProfileReport {
    /// The cells of [`COLUMNS`].
    pub(super) fn cells(&self, id: usize, action: &Action, base: NameBase) -> Vec<String> {
        vec![
            id.to_string(),
            action.process.to_string(),
            program(action),
            HOST.to_owned(),
            self.profile(action).kernel(base),
            "1".to_owned(),
            action.stream.to_string(),
            extent(action.block),
            extent(action.grid),
            "0".to_owned(),
            self.device.compute_capability.clone(),
        ]
    }

    /// Lines about the launches from a number on, as they are profiled.
    #[must_use]
    pub fn progress(&self, first: usize) -> Vec<String> {
        let line = |(id, action): (usize, &Action)| {
            let kernel = self.profile(action).kernel(NameBase::Function);
            format!("Profiling \"{kernel}\" - {id}: 0%....50%....100% - 1 pass")
        };
        self.actions.iter().enumerate().skip(first).map(line).collect()
    }

    /// The line above the tables of a launch.
    pub(super) fn title(&self, action: &Action, base: NameBase) -> String {
        format!(
            "  {} {}x{}, Context 1, Stream {}, Device 0, CC {}\n",
            self.profile(action).kernel(base),
            extent(action.grid),
            extent(action.block),
            action.stream,
            self.device.compute_capability
        )
    }
}

/// The name of a launch's program, without folders.
pub(super) fn program(action: &Action) -> String {
    let name = Path::new(&action.program).file_name();
    name.map_or_else(|| action.program.clone(), |name| name.to_string_lossy().into_owned())
}

/// The line above the launches of a process.
pub(super) fn process(action: &Action) -> String {
    format!("[{}] {}@{HOST}\n", action.process, program(action))
}

pub(super) fn extent([x, y, z]: [u32; 3]) -> String {
    format!("({x}, {y}, {z})")
}

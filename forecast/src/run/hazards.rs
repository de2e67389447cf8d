//! Notes of hazards in the shared memory of launches that nobody asked to check.
//!
//! Before a launch its first cluster is executed for itself, as a slice that writes nothing, up to
//! a limit that no user notices. The launch itself is not slower for it.

use std::collections::HashSet;
use std::path::Path;

use gpucast_interpreter::{
    Buffers, DeviceMemory, Launch, Options, Program, Slicer, prepare, run_cluster,
};
use gpucast_sanitizer::{Finding, HazardScan, Party};

use super::trouble::cuda_file;
use crate::input::kernel_name;
use crate::input::loaded::Loaded;

/// The code of the note (docs/codes.md).
const CODE: &str = "shared-hazard";

/// Warp-instructions after which a cluster has shown enough.
const ENOUGH_INSTRUCTIONS: u64 = 1 << 16;

/// Looks for hazards, once in each kind of launch.
#[derive(Debug, Default)]
pub struct Hazards {
    seen: HashSet<Shape>,
}

/// What launches of one kind have in common.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Shape {
    kernel: String,
    block: [u32; 3],
    shared_bytes: u32,
}

/// A launch that is about to be executed.
#[derive(Clone, Copy)]
pub struct Upcoming<'a> {
    /// The module with its text.
    pub loaded: &'a Loaded,
    /// The kernel, or a slice of it.
    pub program: &'a Program,
    /// True if it is a slice.
    pub is_sliced: bool,
    /// Extents and arguments.
    pub launch: &'a Launch,
    /// Limits.
    pub options: &'a Options,
}

impl Hazards {
    /// The note about a launch whose warps read and write shared memory without an order, if a
    /// short look finds that. `None` too for a kernel that cannot be sliced, or whose own writes to
    /// device memory decide what it does. The contents of `memory` stay as they are.
    pub fn note(&mut self, upcoming: Upcoming<'_>, memory: &mut DeviceMemory) -> Option<String> {
        let Upcoming { program, launch, .. } = upcoming;
        if !HazardScan::is_worthwhile(program, launch) {
            return None;
        }
        let shape = Shape {
            kernel: program.kernel().to_owned(),
            block: launch.block,
            shared_bytes: launch.dynamic_shared_bytes,
        };
        if !self.seen.insert(shape) {
            return None;
        }
        let findings = scan(upcoming, memory)?;
        let (first, others) = findings.split_first()?;
        Some(sentence(upcoming.loaded, program.kernel(), first, others.len()))
    }
}

/// Hazards of the first cluster. `None` where it cannot be executed for itself: the launch will say
/// what is wrong with it.
fn scan(upcoming: Upcoming<'_>, memory: &mut DeviceMemory) -> Option<Vec<Finding>> {
    let Upcoming { loaded, program, is_sliced, launch, options } = upcoming;
    let slice;
    let part = if is_sliced {
        program
    } else {
        if program.not_sliced_because().is_some() {
            return None;
        }
        prepare(program, memory, options).ok()?;
        let slicer = Slicer::new(&loaded.module, program);
        let reach = slicer.reach(launch, memory).ok()?;
        let needed = slicer.slice(&reach, &Buffers::default());
        slice = program.sliced(&loaded.module, &loaded.source.text, &needed).ok()?;
        &slice
    };
    let mut hazards = HazardScan::new(part, launch);
    let options = Options {
        instruction_budget: options.instruction_budget.min(ENOUGH_INSTRUCTIONS),
        skip_bad_accesses: false,
        ..*options
    };
    run_cluster(part, launch, 0, memory, &mut hazards, &options).ok()?.ok()?;
    Some(hazards.finish())
}

fn sentence(loaded: &Loaded, kernel: &str, finding: &Finding, others: usize) -> String {
    let example = &finding.example;
    let place = |party: &Party| match &party.site {
        Some(site) => match site.location {
            Some(location) => {
                let file = Path::new(cuda_file(loaded, location));
                let file = file.file_name().unwrap_or(file.as_os_str());
                format!("{}:{}", file.to_string_lossy(), location.line)
            }
            None => format!("line {} of the PTX", site.line),
        },
        None => "an unknown place".to_owned(),
    };
    let (one, two) = (place(&example.party), example.other.as_ref().map(place));
    let places = match two {
        Some(two) if two != one => format!("{two} and {one}"),
        _ => one,
    };
    let object = example.place.as_ref().and_then(|place| place.object.as_ref());
    let memory = object.map_or_else(|| "shared memory".to_owned(), |(name, _)| variable(name));
    let more = match others {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    let kernel = kernel_name::readable(kernel);
    format!(
        "[{CODE}] {kernel}: no barrier orders a write and a read of {memory} at {places}{more}; \
         results may differ from a GPU's; --check race shows all"
    )
}

/// The name of a variable in the source: without the kernel in which it is declared.
fn variable(name: &str) -> String {
    kernel_name::bare(&kernel_name::readable(name)).to_owned()
}

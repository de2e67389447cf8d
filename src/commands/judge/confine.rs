//! What a process that judges gives up: memory and time beyond its limits, files but those that it
//! needs, and the network.

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_forecast::input::kernel_argument;
use gpucast_judge::judgement::Confinement;

use super::judging;
use gpucast_toolchain::compiler::Choice;

use crate::cli::judge::Judge;
use crate::failure::Failure;

/// Gives up what is not needed. What the system cannot hold back is named.
pub(super) fn confine(arguments: &Judge, scratch: &Path) -> Result<Confinement, Failure> {
    let holds_limits = limit(arguments);
    let Restricted { files, network } = restrict(&readable(arguments), scratch);
    Ok(Confinement {
        seconds: arguments.time_limit,
        bytes: arguments.memory_limit,
        holds_limits,
        holds_files: files,
        holds_network: network,
    })
}

/// The file in which a child says what is held back.
const HELD: &str = "held";

/// Tells the parent what is held back.
pub(super) fn tell(confinement: &Confinement, folder: &Path) {
    let held = [confinement.holds_limits, confinement.holds_files, confinement.holds_network];
    // Unsaid, nothing counts as held.
    let _ = fs::write(folder.join(HELD), held.map(|holds| if holds { "1" } else { "0" }).concat());
}

/// What a child has told.
pub(super) fn told(arguments: &Judge, folder: &Path) -> Confinement {
    let held = fs::read_to_string(folder.join(HELD)).unwrap_or_default();
    let holds = |at: usize| held.as_bytes().get(at) == Some(&b'1');
    Confinement {
        seconds: arguments.time_limit,
        bytes: arguments.memory_limit,
        holds_limits: holds(0),
        holds_files: holds(1),
        holds_network: holds(2),
    }
}

/// What the system holds back beside limits.
struct Restricted {
    files: bool,
    network: bool,
}

/// Memory that the program needs beside that of a run, and that NVIDIA's compiler needs.
#[cfg(unix)]
const OF_PROGRAM: u64 = 2 << 30;
/// The largest file that it may write.
#[cfg(unix)]
const LARGEST_FILE: u64 = 1 << 30;

/// Limits memory, time and files by the system's means.
#[cfg(unix)]
fn limit(arguments: &Judge) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let limits = [
        (Resource::Data, arguments.memory_limit.saturating_add(OF_PROGRAM)),
        (Resource::Cpu, arguments.time_limit.saturating_mul(threads).saturating_add(1)),
        (Resource::Fsize, LARGEST_FILE),
        (Resource::Core, 0),
    ];
    limits.into_iter().all(|(resource, most)| {
        let most = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
    })
}

#[cfg(not(unix))]
fn limit(_arguments: &Judge) -> bool {
    false
}

/// The files and folders that may be read: those of both kernels, of the toolchain and the system.
fn readable(arguments: &Judge) -> Vec<PathBuf> {
    let (candidate, reference) = (judging::candidate(arguments), judging::reference(arguments));
    let mut all = Vec::new();
    for side in [Some(&candidate), reference.as_ref()].into_iter().flatten() {
        for file in kernel_argument::files(&side.input, &side.template.options) {
            all.extend(folder_of(&file));
            all.push(file);
        }
        all.extend(side.template.options.cuda.includes.iter().cloned());
    }
    all.extend(arguments.expect.iter().map(|expected| expected.file.clone()));
    all.extend(arguments.source_root.clone());
    all.extend(arguments.gpu.as_ref().map(PathBuf::from));
    all.extend(arguments.machine.ptxas.clone());
    if let Some(Choice::Path(compiler)) = &arguments.launch.cuda.cuda_compiler {
        all.push(compiler.clone());
    }
    all.extend(std::env::current_exe());
    all.extend(gpucast_toolchain::installed::folders());
    let of_system = [
        "/etc/ld.so.cache",
        "/etc/alternatives",
        "/etc/localtime",
        "/dev/urandom",
        "/proc/self",
        "/proc/meminfo",
        "/proc/cpuinfo",
        "/proc/stat",
        "/sys/fs/cgroup",
        "/sys/devices/system/cpu",
    ];
    all.extend(of_system.map(PathBuf::from));
    all
}

/// The folder of a file, in which headers may be; not one that holds everything else of a user.
fn folder_of(file: &Path) -> Option<PathBuf> {
    let folder = match file.parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        folder => folder?,
    };
    let folder = folder.canonicalize().ok()?;
    let home = std::env::var_os("HOME").map(PathBuf::from);
    let is_everything = |folder: &Path| {
        folder.parent().is_none()
            || home.as_ref().is_some_and(|home| home.starts_with(folder))
            || folder == std::env::temp_dir()
            || folder == Path::new("/tmp")
    };
    (!is_everything(&folder)).then_some(folder)
}

/// Leaves the process these files to read, and a folder to write.
#[cfg(target_os = "linux")]
fn restrict(readable: &[PathBuf], scratch: &Path) -> Restricted {
    use landlock::{
        ABI, Access as _, AccessFs, AccessNet, CompatLevel, Compatible as _, Ruleset,
        RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
    };

    /// The first that knows of networks, and the latest that the crate's calls below need.
    const NETWORK: ABI = ABI::V4;
    const LATEST: ABI = ABI::V6;
    let ruled = |network: bool| -> Result<RulesetStatus, landlock::RulesetError> {
        let level = if network { CompatLevel::HardRequirement } else { CompatLevel::BestEffort };
        let ruleset = Ruleset::default().handle_access(AccessFs::from_all(ABI::V3))?;
        let ruleset = match network {
            true => ruleset
                .set_compatibility(level)
                .handle_access(AccessNet::from_all(NETWORK))?
                .set_compatibility(CompatLevel::BestEffort)
                .scope(Scope::from_all(LATEST))?,
            false => ruleset,
        };
        let created = ruleset
            .set_compatibility(CompatLevel::BestEffort)
            .create()?
            .add_rules(path_beneath_rules(readable, AccessFs::from_read(ABI::V3)))?
            .add_rules(path_beneath_rules(["/dev/null"], AccessFs::from_file(ABI::V3)))?
            .add_rules(path_beneath_rules([scratch], AccessFs::from_all(ABI::V3)))?;
        Ok(created.restrict_self()?.ruleset)
    };
    match ruled(true) {
        Ok(RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced) => {
            Restricted { files: true, network: true }
        }
        Ok(RulesetStatus::NotEnforced) => Restricted { files: false, network: false },
        Err(_) => {
            let files = ruled(false);
            let is_held = files.is_ok_and(|status| status != RulesetStatus::NotEnforced);
            Restricted { files: is_held, network: false }
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn restrict(_readable: &[PathBuf], _scratch: &Path) -> Restricted {
    Restricted { files: false, network: false }
}

//! What a process for somebody else's input gives up: memory and time beyond its limits, files but
//! those that it needs, and the network.
//!
//! Who starts such a process names its folder by `--confined`: `judge` does so for a candidate, and
//! `gpucast serve` for a request.

use std::fs;
use std::path::{Path, PathBuf};

use gpucast_judge::judgement::Confinement;
use gpucast_toolchain::assembler::cache;

use crate::code;

/// A process that has given up what it does not need.
pub(crate) struct Confined {
    /// The folder in which it writes.
    pub(crate) folder: PathBuf,
    /// What is held back.
    pub(crate) held: Confinement,
}

/// The limits of a confined process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    pub(crate) seconds: u64,
    /// Memory of a run.
    pub(crate) bytes: u64,
}

/// Gives up what is not needed: all files but the program's own, the toolchain's and the system's,
/// and those that `readable` names. The folder and that of kept counts stay writable. What the
/// system cannot hold back is told in the folder.
pub(crate) fn confine(folder: &Path, limits: Limits, readable: Vec<PathBuf>) -> Confined {
    let holds_limits = limit(limits);
    let mut writable = vec![folder.to_owned()];
    if let Some(kept) = cache::folder() {
        // A folder that is not there yet could not be named. Without one nothing is kept.
        let _ = fs::create_dir_all(&kept);
        writable.push(kept);
    }
    let readable: Vec<PathBuf> = readable.into_iter().chain(of_everybody()).collect();
    let Restricted { files, network } = restrict(&readable, &writable);
    let held = confinement(limits, [holds_limits, files, network]);
    tell(&held, folder);
    Confined { folder: folder.to_owned(), held }
}

fn confinement(limits: Limits, [holds_limits, files, network]: [bool; 3]) -> Confinement {
    Confinement {
        seconds: limits.seconds,
        bytes: limits.bytes,
        holds_limits,
        holds_files: files,
        holds_network: network,
    }
}

/// The file in which a process says what is held back: `1` or `0` for limits, files and network.
const HELD: &str = "held";

fn tell(held: &Confinement, folder: &Path) {
    let held = [held.holds_limits, held.holds_files, held.holds_network];
    // Unsaid, nothing counts as held.
    let _ = fs::write(folder.join(HELD), held.map(|holds| if holds { "1" } else { "0" }).concat());
}

/// What a process with this folder has told.
pub(crate) fn told(limits: Limits, folder: &Path) -> Confinement {
    let held = fs::read_to_string(folder.join(HELD)).unwrap_or_default();
    let holds = |at: usize| held.as_bytes().get(at) == Some(&b'1');
    confinement(limits, [holds(0), holds(1), holds(2)])
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
fn limit(most: Limits) -> bool {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let threads = std::thread::available_parallelism().map_or(1, usize::from) as u64;
    let limits = [
        (Resource::Data, most.bytes.saturating_add(OF_PROGRAM)),
        (Resource::Cpu, most.seconds.saturating_mul(threads).saturating_add(1)),
        (Resource::Fsize, LARGEST_FILE),
        (Resource::Core, 0),
    ];
    limits.into_iter().all(|(resource, most)| {
        let most = getrlimit(resource).maximum.map_or(most, |allowed| allowed.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).is_ok()
    })
}

#[cfg(not(unix))]
fn limit(_most: Limits) -> bool {
    false
}

/// The files and folders that every process may read: those of the program, the toolchain and the
/// system. Of what the system tells about a process, its environment may hold secrets.
fn of_everybody() -> Vec<PathBuf> {
    const OF_SYSTEM: [&str; 14] = [
        "/etc/ld.so.cache",
        "/etc/alternatives",
        "/etc/localtime",
        "/dev/urandom",
        "/proc/self/cgroup",
        "/proc/self/limits",
        "/proc/self/maps",
        "/proc/self/mountinfo",
        "/proc/self/status",
        "/proc/meminfo",
        "/proc/cpuinfo",
        "/proc/stat",
        "/sys/fs/cgroup",
        "/sys/devices/system/cpu",
    ];
    let program = std::env::current_exe().into_iter().chain(code::library());
    let tools = gpucast_toolchain::installed::folders();
    program.chain(tools).chain(OF_SYSTEM.map(PathBuf::from)).collect()
}

/// Leaves the process these files to read, and these folders to write.
#[cfg(target_os = "linux")]
fn restrict(readable: &[PathBuf], writable: &[PathBuf]) -> Restricted {
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
            .add_rules(path_beneath_rules(writable, AccessFs::from_all(ABI::V3)))?;
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
fn restrict(_readable: &[PathBuf], _writable: &[PathBuf]) -> Restricted {
    Restricted { files: false, network: false }
}

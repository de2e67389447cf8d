//! The memory that the host has left. It is asked before much is taken, so that requests that do
//! not fit are refused with a sentence. The system's own answer would be to end the program.

use std::fs;
use std::path::{Path, PathBuf};

/// Less than this is not asked for.
const WORTH_ASKING: u64 = 16 << 20;

/// Bytes that are left to the rest of the program and to other programs.
const RESERVE: u64 = 64 << 20;

/// Reason why something is not allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    /// Bytes that may still be taken.
    pub available: u64,
}

/// Checks that `bytes` more bytes fit.
///
/// # Errors
///
/// [`Shortage`] if they do not; where the system tells nothing, everything fits.
pub fn ask(bytes: u64) -> Result<(), Shortage> {
    if bytes < WORTH_ASKING {
        return Ok(());
    }
    match available() {
        Some(available) if bytes > available => Err(Shortage { available }),
        _ => Ok(()),
    }
}

/// Bytes that may still be taken. That is the least of three: the machine's memory, the limit of
/// the process's control groups, and the rest of its address space.
#[must_use]
pub fn available() -> Option<u64> {
    let proc = Path::new("/proc");
    let machine = field(&proc.join("meminfo"), "MemAvailable:").map(|kib| kib << 10);
    let limits = [machine, of_groups(proc, Path::new("/sys/fs/cgroup")), of_address_space(proc)];
    let least = limits.into_iter().flatten().min()?;
    Some(least.saturating_sub(RESERVE))
}

/// The number behind a word at the beginning of a line.
fn field(path: &Path, word: &str) -> Option<u64> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(word))?;
    line.split_whitespace().next()?.parse().ok()
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The least that a control group of the process has left, of either version.
fn of_groups(proc: &Path, mounted: &Path) -> Option<u64> {
    let groups = fs::read_to_string(proc.join("self/cgroup")).ok()?;
    let left = groups.lines().filter_map(|line| {
        // `0::/path` or `4:memory:/path`.
        let mut parts = line.splitn(3, ':');
        let (_, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let files = match controllers {
            "" => GroupFiles {
                top: mounted.to_owned(),
                limit: "memory.max",
                usage: "memory.current",
                cache: "inactive_file ",
            },
            list if list.split(',').any(|part| part == "memory") => GroupFiles {
                top: mounted.join("memory"),
                limit: "memory.limit_in_bytes",
                usage: "memory.usage_in_bytes",
                cache: "total_inactive_file ",
            },
            _ => return None,
        };
        files.left(path)
    });
    left.min()
}

/// File names of one version of control groups.
struct GroupFiles {
    top: PathBuf,
    limit: &'static str,
    usage: &'static str,
    /// Key in `memory.stat` of the memory that the system takes back before it ends a program.
    cache: &'static str,
}

impl GroupFiles {
    /// Returns the bytes left in the group at `path` and in those around it. In a container the
    /// path may be that of the host, and only the top is there.
    fn left(&self, path: &str) -> Option<u64> {
        let own = self.top.join(path.trim_start_matches('/'));
        let around = own.ancestors().take_while(|folder| folder.starts_with(&self.top));
        let left = around.filter_map(|folder| {
            let limit = number(&folder.join(self.limit))?;
            let cache = field(&folder.join("memory.stat"), self.cache).unwrap_or(0);
            let used = number(&folder.join(self.usage))?.saturating_sub(cache);
            Some(limit.saturating_sub(used))
        });
        left.min()
    }
}

/// Returns the bytes that `ulimit -v` leaves.
fn of_address_space(proc: &Path) -> Option<u64> {
    let limit = field(&proc.join("self/limits"), "Max address space")?;
    let used = field(&proc.join("self/status"), "VmSize:")? << 10;
    Some(limit.saturating_sub(used))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn little_always_fits_and_more_than_any_machine_has_does_not() {
        assert_eq!(ask(1 << 20), Ok(()));
        if available().is_some() {
            assert!(ask(u64::MAX).is_err());
        }
    }

    #[test]
    fn groups_of_both_versions_count_with_those_around_them() {
        let top = std::env::temp_dir().join(format!("gpucast-groups-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            let path = top.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let (proc, mounted) = (top.join("proc"), top.join("groups"));
        write("proc/self/cgroup", "0::/a/b\n");
        write("groups/a/memory.max", "1000\n");
        write("groups/a/memory.current", "400\n");
        write("groups/a/memory.stat", "anon 5\ninactive_file 100\n");
        write("groups/a/b/memory.max", "max\n");
        write("groups/a/b/memory.current", "300\n");
        assert_eq!(of_groups(&proc, &mounted), Some(700));
        write("proc/self/cgroup", "4:cpu,cpuacct:/x\n3:memory:/c\n");
        write("groups/memory/memory.limit_in_bytes", "9223372036854771712\n");
        write("groups/memory/memory.usage_in_bytes", "800\n");
        write("groups/memory/c/memory.limit_in_bytes", "900\n");
        write("groups/memory/c/memory.usage_in_bytes", "800\n");
        assert_eq!(of_groups(&proc, &mounted), Some(100));
        write("proc/self/limits", "Max address space         4194304   unlimited   bytes\n");
        write("proc/self/status", "Name:\tx\nVmSize:\t    1024 kB\n");
        assert_eq!(of_address_space(&proc), Some(3 << 20));
        fs::remove_dir_all(&top).unwrap();
    }
}

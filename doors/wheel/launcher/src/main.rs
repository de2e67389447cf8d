//! The programs `gpucast` and `gpucast-serve` of the Python package. All their code is in the
//! package's library: this finds it, loads it and calls the one that has this program's name.
//!
//! | installed | program | library |
//! |---|---|---|
//! | in an environment, for all or for a user | `bin/` | `lib/python3.*/site-packages/gpucast/` |
//! | by a distribution's `pip` | `bin/` | `lib/python3*/dist-packages/gpucast/` |
//! | `pip install --target` | `bin/` | `gpucast/` |
//! | not: an unpacked wheel | `gpucast-*.data/scripts/` | `gpucast/` |

use std::ffi::{CString, OsStr, c_char, c_int};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The package's library.
const LIBRARY: &str = "gpucast/_gpucast.abi3.so";

/// A program in the library, called with the library's path.
type Program = unsafe extern "C" fn(*const c_char) -> c_int;

fn main() {
    let status = run().unwrap_or_else(|message| {
        let _ = writeln!(std::io::stderr(), "error: {message}");
        1
    });
    std::process::exit(status);
}

fn run() -> Result<c_int, String> {
    let own = std::env::current_exe()
        .map_err(|error| format!("where this program is, is not known: {error}"))?;
    let folder = own.parent().unwrap_or(Path::new("/"));
    let library = find(folder).ok_or_else(|| {
        format!(
            "there is no {LIBRARY} in the Python packages beside {}\n  help: `pip install \
             --force-reinstall gpucast` puts both into one environment; a link to this program \
             works everywhere, a copy does not",
            folder.display()
        )
    })?;
    let is_server = own.file_stem() == Some(OsStr::new("gpucast-serve"));
    call(&library, if is_server { c"gpucast_serve_main" } else { c"gpucast_main" })
}

/// The library that belongs to a program in `folder`.
fn find(folder: &Path) -> Option<PathBuf> {
    let packages = [folder.parent()?, folder.parent()?.parent().unwrap_or(folder)];
    let mut places = of_pythons(packages[0]);
    places.extend(packages.map(Path::to_owned));
    places.retain(|place| place.join(LIBRARY).is_file());
    // Several Pythons share `bin`. The program is that of the last that has got the package.
    let about = concat!("gpucast-", env!("CARGO_PKG_VERSION"), ".dist-info");
    let same = places.iter().find(|place| place.join(about).is_dir());
    Some(same.or(places.first())?.join(LIBRARY))
}

/// Folders of packages below a prefix, those of the latest Python first.
fn of_pythons(prefix: &Path) -> Vec<PathBuf> {
    let mut pythons: Vec<PathBuf> = ["lib", "lib64"]
        .iter()
        .filter_map(|lib| std::fs::read_dir(prefix.join(lib)).ok())
        .flat_map(|entries| entries.flatten().map(|entry| entry.path()))
        .filter(|path| path.file_name().is_some_and(is_python))
        .collect();
    pythons.sort_by(|a, b| b.file_name().cmp(&a.file_name()));
    let packages = |python: &PathBuf| ["site-packages", "dist-packages"].map(|at| python.join(at));
    pythons.iter().flat_map(packages).collect()
}

fn is_python(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b"python3")
}

#[allow(unsafe_code, reason = "the library is loaded, and called by its interface in C")]
fn call(library: &Path, name: &std::ffi::CStr) -> Result<c_int, String> {
    let cannot = |error: &dyn std::fmt::Display| format!("{}: {error}", library.display());
    let path = CString::new(library.as_os_str().as_encoded_bytes()).map_err(|e| cannot(&e))?;
    // SAFETY: nothing runs when the package's library is loaded but what Rust's own library does.
    let loaded = unsafe { libloading::Library::new(library) }.map_err(|e| cannot(&e))?;
    // SAFETY: the library's functions of these names have this type.
    let program = unsafe { loaded.get::<Program>(name.to_bytes_with_nul()) };
    let program = *program.map_err(|e| cannot(&e))?;
    // Its threads may run until the process ends.
    std::mem::forget(loaded);
    // SAFETY: the path is a C string of an `OsStr`, and the library stays loaded.
    Ok(unsafe { program(path.as_ptr()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Makes the files below a folder of its own, and returns what a program in `bin` finds.
    fn found(test: &str, bin: &str, files: &[&str]) -> Option<String> {
        let name = format!("gpucast-launcher-{test}-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        for file in files.iter().copied().chain([format!("{bin}/gpucast").as_str()]) {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let library = find(&root.join(bin));
        let library = library.map(|path| path.strip_prefix(&root).unwrap().display().to_string());
        std::fs::remove_dir_all(&root).unwrap();
        library
    }

    #[test]
    fn libraries_are_found_where_installers_put_them() {
        for (bin, library) in [
            ("bin", "lib/python3.12/site-packages/gpucast/_gpucast.abi3.so"),
            ("bin", "lib64/python3.10/site-packages/gpucast/_gpucast.abi3.so"),
            ("local/bin", "local/lib/python3.11/dist-packages/gpucast/_gpucast.abi3.so"),
            ("bin", "lib/python3/dist-packages/gpucast/_gpucast.abi3.so"),
            ("target/bin", "target/gpucast/_gpucast.abi3.so"),
            ("gpucast-0.1.0.data/scripts", "gpucast/_gpucast.abi3.so"),
        ] {
            assert_eq!(found("places", bin, &[library]).as_deref(), Some(library));
        }
    }

    #[test]
    fn of_several_pythons_the_one_with_this_version_counts() {
        let old = "lib/python3.13/site-packages/gpucast/_gpucast.abi3.so";
        let new = "lib/python3.11/site-packages/gpucast/_gpucast.abi3.so";
        let version = env!("CARGO_PKG_VERSION");
        let about = format!("lib/python3.11/site-packages/gpucast-{version}.dist-info/RECORD");
        assert_eq!(found("several", "bin", &[old, new, &about]).as_deref(), Some(new));
        // Without that, the latest.
        assert_eq!(found("latest", "bin", &[old, new]).as_deref(), Some(old));
    }

    #[test]
    fn nothing_is_found_in_other_packages() {
        let files = ["lib/python3.12/site-packages/other/_gpucast.abi3.so", "lib/gpucast/x.so"];
        assert_eq!(found("others", "bin", &files), None);
    }
}

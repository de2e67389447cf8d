//! The CUDA files that a module's `.loc` directives name.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};

use gpucast_ptx_frontend::Module;

use super::bounded;
use super::plan::Plan;

/// A longer file is nobody's source.
const LONGEST: u64 = 16 << 20;

/// A file of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CudaFile {
    /// Its name as the module has it; below the working folder, relative to it.
    pub name: String,
    /// Its lines, if it was found.
    pub lines: Option<Vec<String>>,
}

/// Endings of files that compilers read; a module may name any file of the machine.
const ENDINGS: &[&str] = &[
    "c", "cc", "cpp", "cu", "cuh", "cxx", "f90", "h", "hh", "hpp", "hxx", "inc", "inl", "ipp",
    "jl", "mojo", "py", "rs",
];

/// The files of a module by their index.
///
/// A file is looked for where its name says, in and below the folder of the module and `root`. It
/// is also looked for beside the module, or in the corpus if the module is a corpus one. Files
/// elsewhere, and names that do not end like a source, are not read: a module of unknown origin may
/// name any file.
pub fn files(plan: &Plan, module: &Module, root: Option<&Path>) -> BTreeMap<u32, CudaFile> {
    let beside = match Path::new(&*plan.module.name).parent() {
        Some(folder) if folder.as_os_str().is_empty() => Path::new("."),
        Some(folder) => folder,
        None => Path::new("."),
    };
    // The name of a corpus kernel's module is `corpus/NAME/FILE`.
    let corpus = plan.module.name.strip_prefix("corpus/").and_then(|rest| rest.split('/').next());
    let corpus = corpus.and_then(gpucast_corpus::find);
    let folders: Vec<&Path> = match corpus {
        Some(_) => root.into_iter().collect(),
        None => [Some(beside), root].into_iter().flatten().collect(),
    };
    // Compilers write whole paths, even of a file that the user named from where he stands.
    let here = std::env::current_dir().ok();
    let file = |(index, name): &(u32, String)| {
        let path = Path::new(name);
        let from_corpus = || {
            let is_source = path.file_name().is_some_and(|file| file == "kernel.cu");
            corpus.filter(|_| is_source).map(|entry| lines(entry.source))
        };
        let lines = read(path, &folders).or_else(from_corpus);
        (*index, CudaFile { name: below(name, here.as_deref()), lines })
    };
    module.files.iter().map(file).collect()
}

/// A path below the working folder as it is seen from there; every other one as it is.
pub(super) fn seen_from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    below(&path.display().to_string(), here.as_deref()).into()
}

/// A path below a folder as it is seen from there; every other one as it is.
fn below(name: &str, folder: Option<&Path>) -> String {
    let inside = folder.and_then(|folder| Path::new(name).strip_prefix(folder).ok());
    let inside = inside.filter(|path| !path.as_os_str().is_empty());
    inside.map_or_else(|| name.to_owned(), |path| path.display().to_string())
}

fn read(path: &Path, folders: &[&Path]) -> Option<Vec<String>> {
    folders.iter().find_map(|folder| {
        let folder = whole(folder)?;
        // An absolute path stands for itself.
        let candidates = [Some(folder.join(path)), Some(folder.join(path.file_name()?))];
        candidates.into_iter().flatten().find_map(|candidate| read_below(&candidate, &folder))
    })
}

/// A path without links and detours; on systems that cannot say it, one that has none in sight.
fn whole(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            let has_detour = path.components().any(|part| part == Component::ParentDir);
            std::path::absolute(path).ok().filter(|path| !has_detour && path.exists())
        }
        canonical => canonical.ok(),
    }
}

/// A source that lies below a folder when all links have been followed.
fn read_below(path: &Path, folder: &Path) -> Option<Vec<String>> {
    let path = whole(path)?;
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    if !path.starts_with(folder) || !ENDINGS.contains(&ending.as_str()) {
        return None;
    }
    let text = String::from_utf8(bounded::read(&path, LONGEST).ok()?).ok()?;
    Some(lines(&text))
}

fn lines(text: &str) -> Vec<String> {
    text.lines().map(printable).collect()
}

/// A line as a terminal can show it: tabs are four columns, other control characters are replaced.
pub fn printable(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut column = 0;
    for character in line.trim_end().chars() {
        match character {
            '\t' => {
                let width = 4 - column % 4;
                text.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            other => {
                text.push(if other.is_control() { char::REPLACEMENT_CHARACTER } else { other });
                column += 1;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_below_the_working_folder_are_relative() {
        let here = Some(Path::new("/home/me/project"));
        for (name, shown) in [
            ("/home/me/project/src/a.cu", "src/a.cu"),
            ("/home/me/projects/a.cu", "/home/me/projects/a.cu"),
            ("src/a.cu", "src/a.cu"),
            ("/home/me/project", "/home/me/project"),
        ] {
            assert_eq!(below(name, here), shown);
            assert_eq!(below(name, None), name);
        }
    }

    #[test]
    fn only_sources_below_a_folder_are_read() {
        let top = std::env::temp_dir().join(format!("gpucast-sources-{}", std::process::id()));
        let folder = top.join("module");
        std::fs::create_dir_all(folder.join("src")).unwrap();
        for (file, text) in [
            (top.join("outside.cu"), "outside"),
            (folder.join("src/inside.cu"), "inside"),
            (folder.join("secret"), "secret"),
            (folder.join("secret.pem"), "secret"),
        ] {
            std::fs::write(file, text).unwrap();
        }
        let found = |name: &str| read(Path::new(name), &[&folder]).map(|lines| lines.concat());
        assert_eq!(found("src/inside.cu").as_deref(), Some("inside"));
        let absolute = folder.join("src/inside.cu");
        assert_eq!(found(absolute.to_str().unwrap()).as_deref(), Some("inside"));
        let outside = top.join("outside.cu");
        let outside = outside.to_str().unwrap();
        for name in ["../outside.cu", outside, "secret", "secret.pem", "/etc/hostname", "src", ".."]
        {
            assert_eq!(found(name), None, "{name}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(outside, folder.join("link.cu")).unwrap();
            std::os::unix::fs::symlink(folder.join("secret"), folder.join("hidden.cu")).unwrap();
            assert_eq!(found("link.cu"), None);
            assert_eq!(found("hidden.cu"), None);
        }
        assert_eq!(
            read(Path::new(outside), &[&folder, &top]).map(|lines| lines.concat()).as_deref(),
            Some("outside")
        );
        std::fs::remove_dir_all(&top).unwrap();
    }

    #[test]
    fn lines_cannot_disturb_the_terminal() {
        assert_eq!(printable("\ta\tb \u{1b}[2J\r\n"), "    a   b \u{fffd}[2J");
    }
}

//! Files that may name programs to run and places to write: those that the user has looked at and
//! named to `gpucast trust`.
//!
//! The record holds the path of each file and the hash of its contents, so that an edited file has
//! to be looked at again. It lies in the user's configuration folder, and nobody else may write it.
//! A file of another user, or one that everybody may write, names no program in any case.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::failure::Report;

/// A file names a program, and the user has not said that it may.
pub(crate) const UNTRUSTED_PROGRAM: &str = "untrusted-program";
/// A file names a place to write outside its folder, and the user has not said that it may.
pub(crate) const UNTRUSTED_OUTPUT: &str = "untrusted-output";
/// A file may be written by others than the user.
pub(crate) const FOREIGN_FILE: &str = "foreign-file";
/// Others than the user may write the record.
const UNSAFE_RECORD: &str = "unsafe-record";

/// No record is longer.
const MOST_BYTES: u64 = 16 << 20;

/// The user's word on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// There is none.
    Unknown,
    /// It was about other contents.
    Changed,
    /// It is about these contents.
    Trusted,
}

/// The files that are trusted: hashes of contents by paths.
#[derive(Debug, Default)]
pub(crate) struct Record {
    hashes: BTreeMap<String, String>,
}

impl Record {
    /// Reads the record; an empty one if there is none.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or others may write it.
    pub(crate) fn read() -> Result<Self, Report> {
        match folder() {
            Some(folder) => Self::read_in(&folder),
            None => Ok(Self::default()),
        }
    }

    fn read_in(folder: &Path) -> Result<Self, Report> {
        let path = folder.join(RECORD);
        let facts = match fs::metadata(&path) {
            Ok(facts) => facts,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(Report::file("read", &path, &error)),
        };
        for place in [folder, &path] {
            if let Err(reason) = of_user_alone(place) {
                let message = format!("[{UNSAFE_RECORD}] {} is not used: {reason}", path.display());
                let hint = format!("look at it, then `chmod go-w {}`", place.display());
                return Err(Report::new(message).hint(hint));
            }
        }
        if !facts.is_file() || facts.len() > MOST_BYTES {
            let message = format!("{} is no record of trusted files", path.display());
            return Err(Report::new(message));
        }
        let text =
            fs::read_to_string(&path).map_err(|error| Report::file("read", &path, &error))?;
        let entry = |line: &str| {
            let (hash, path) = line.split_once("  ")?;
            Some((path.to_owned(), hash.to_owned()))
        };
        Ok(Self { hashes: text.lines().filter_map(entry).collect() })
    }

    /// The paths of the record, with the hash of the contents that are trusted.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&Path, &str)> {
        self.hashes.iter().map(|(path, hash)| (Path::new(path), hash.as_str()))
    }

    /// The word on a file with these contents.
    pub(crate) fn standing(&self, path: &Path, contents: &[u8]) -> Standing {
        let known = name(path).ok().and_then(|name| self.hashes.get(&name));
        match known {
            None => Standing::Unknown,
            Some(known) if *known == hash(contents) => Standing::Trusted,
            Some(_) => Standing::Changed,
        }
    }
}

/// Trusts a file with these contents.
///
/// # Errors
///
/// If the record cannot be written.
pub(crate) fn add(path: &Path, contents: &[u8]) -> Result<(), Report> {
    let (name, hash) = (name(path)?, hash(contents));
    change(|hashes| {
        hashes.insert(name, hash);
    })
}

/// Forgets a file; returns false if it was not known.
///
/// # Errors
///
/// If the record cannot be written.
pub(crate) fn remove(path: &Path) -> Result<bool, Report> {
    // A file that is gone is known by the path that it had.
    let names = [name(path).ok(), path.to_str().map(str::to_owned)];
    let mut removed = false;
    change(|hashes| {
        for name in names.iter().flatten() {
            removed |= hashes.remove(name).is_some();
        }
    })?;
    Ok(removed)
}

/// Refuses a file that names a program, unless it is the user's and trusted.
///
/// # Errors
///
/// The refusal, with the command that trusts the file.
pub(crate) fn check_program(path: &Path, contents: &[u8], program: &str) -> Result<(), Report> {
    match permission(path, contents)? {
        Permission::Given => Ok(()),
        refused => {
            let message = format!("{} names a program to run: {program}", path.display());
            Err(refused.report(&message, UNTRUSTED_PROGRAM, path))
        }
    }
}

/// Whether a file may name programs and places to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// It is the user's and trusted.
    Given,
    /// It is the user's, and they have not said that it may.
    Missing(Standing),
    /// Others may write it.
    Foreign(&'static str),
}

impl Permission {
    /// A refusal. The code comes first, where no line is broken.
    pub(crate) fn report(&self, message: &str, code: &str, path: &Path) -> Report {
        let command = format!("gpucast trust {}", quoted(path));
        match self {
            Self::Foreign(reason) => {
                Report::new(format!("[{FOREIGN_FILE}] {message}, and {reason}"))
                    .hint("give it on the command line, or make the file your own")
            }
            Self::Missing(Standing::Changed) => {
                Report::new(format!("[{code}] {message}, and it was changed since you trusted it"))
                    .hint(format!("look at it, then `{command}`"))
            }
            Self::Missing(_) | Self::Given => Report::new(format!("[{code}] {message}"))
                .hint(format!("if you trust it: `{command}`")),
        }
    }
}

/// Whether a file may name programs and places to write.
///
/// # Errors
///
/// If the record cannot be read.
pub(crate) fn permission(path: &Path, contents: &[u8]) -> Result<Permission, Report> {
    if let Err(reason) = of_user(path) {
        return Ok(Permission::Foreign(reason));
    }
    Ok(match Record::read()?.standing(path, contents) {
        Standing::Trusted => Permission::Given,
        standing => Permission::Missing(standing),
    })
}

/// The name of the record in its folder.
const RECORD: &str = "trusted";

/// The folder of the record: `gpucast` in the user's configuration folder.
pub(crate) fn folder() -> Option<PathBuf> {
    let set = |name: &str| {
        let value = std::env::var_os(name).map(PathBuf::from);
        // The base directory specification has relative paths ignored.
        value.filter(|path| path.is_absolute())
    };
    let folder = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")));
    Some(folder.or_else(|| set("APPDATA"))?.join("gpucast"))
}

/// Changes the record. Other programs that change it wait, and its readers see the old one or the
/// new one.
fn change(change: impl FnOnce(&mut BTreeMap<String, String>)) -> Result<(), Report> {
    let Some(folder) = folder() else {
        return Err(Report::new("there is no place for the record of trusted files")
            .hint("set HOME or XDG_CONFIG_HOME"));
    };
    let path = folder.join(RECORD);
    let cannot = |error: std::io::Error| Report::file("write", &path, &error);
    make_private(&folder).map_err(cannot)?;
    let lock = folder.join("trusted.lock");
    let lock = File::options().create(true).truncate(false).write(true).open(lock);
    let lock = lock.map_err(cannot)?;
    lock.lock().map_err(cannot)?;
    let mut record = Record::read_in(&folder)?;
    change(&mut record.hashes);
    let text: String =
        record.hashes.iter().map(|(path, hash)| format!("{hash}  {path}\n")).collect();
    // Such a file is its owner's alone.
    let mut file = tempfile::NamedTempFile::new_in(&folder).map_err(cannot)?;
    file.write_all(text.as_bytes()).map_err(cannot)?;
    file.as_file().sync_all().map_err(cannot)?;
    file.persist(&path).map_err(|error| cannot(error.error))?;
    Ok(())
}

fn make_private(folder: &Path) -> std::io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// The path of a file in the record: without links, and as one line of text.
fn name(path: &Path) -> Result<String, Report> {
    let whole = path.canonicalize().map_err(|error| Report::file("find", path, &error))?;
    match whole.to_str() {
        Some(name) if !name.contains(char::is_control) => Ok(name.to_owned()),
        _ => {
            Err(Report::new(format!("{} cannot be recorded: its path is no text", path.display()))
                .hint("rename it"))
        }
    }
}

fn hash(contents: &[u8]) -> String {
    Sha256::digest(contents).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A path as a word of a shell.
pub(crate) fn quoted(path: &Path) -> String {
    let word = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./+,:@%=".contains(c);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word,
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Says why a file is not the user's: it belongs to another one, or everybody may write it. The
/// administrator's files are everybody's.
pub(crate) fn of_user(path: &Path) -> Result<(), &'static str> {
    #[cfg(unix)]
    if let Ok(facts) = fs::metadata(path) {
        use std::os::unix::fs::MetadataExt as _;
        if ![0, rustix::process::geteuid().as_raw()].contains(&facts.uid()) {
            return Err("it belongs to another user");
        }
        if facts.mode() & 0o002 != 0 {
            return Err("everybody may write it");
        }
    }
    let _ = path;
    Ok(())
}

/// As [`of_user`], where the group may not write either.
fn of_user_alone(path: &Path) -> Result<(), &'static str> {
    of_user(path)?;
    #[cfg(unix)]
    if let Ok(facts) = fs::metadata(path) {
        use std::os::unix::fs::MetadataExt as _;
        if facts.mode() & 0o020 != 0 {
            return Err("its group may write it");
        }
    }
    Ok(())
}

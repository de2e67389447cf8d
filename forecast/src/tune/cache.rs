//! A cache file of Kernel Tuner that gets an entry for each configuration as it is tried.
//!
//! Several tunings may write one file. Each holds its lock while it reads or adds, and no longer. A
//! file that others have added to since is read again, so that no entry is written twice or lost.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::kernel_tuner::{self, CacheFile, Entry};
use super::{Configuration, Space, Trial};
use crate::failure::{Failure, Report};

/// No cache file is longer.
const MOST_BYTES: u64 = 4 << 30;

/// An open cache file.
#[derive(Debug)]
pub struct Cache<'a> {
    path: PathBuf,
    file: File,
    space: &'a Space,
    device: &'a str,
    models: Vec<&'static str>,
    /// Entries that are there.
    entries: BTreeMap<String, Entry>,
    /// The file's state when it was read or written last; none before.
    known: Option<Known>,
}

/// What is known of a file that nobody has written since.
#[derive(Clone, Copy, Debug)]
struct Known {
    length: u64,
    /// True if it ends where an entry can follow.
    is_open: bool,
}

impl<'a> Cache<'a> {
    /// Opens a file, or begins one.
    ///
    /// # Errors
    ///
    /// If the file is something else, or of another GPU or space.
    pub fn open(
        path: &Path,
        space: &'a Space,
        device: &'a str,
        models: &[&'static str],
    ) -> Result<Self, Failure> {
        if path.exists() && !path.is_file() {
            return Err(Report::new(format!("{} is no file", path.display())).into());
        }
        let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let file = file.map_err(|error| Report::file("write", path, &error))?;
        let mut cache = Self {
            path: path.to_owned(),
            file,
            space,
            device,
            models: models.to_vec(),
            entries: BTreeMap::new(),
            known: None,
        };
        cache.locked(|cache| cache.read())?;
        Ok(cache)
    }

    /// What the file says of a configuration, if it has every model's time or a reason.
    pub fn trial(&self, configuration: &Configuration) -> Option<Trial> {
        let entry = self.entries.get(&configuration.key())?;
        entry.trial(configuration, &self.models)
    }

    /// Adds a configuration, unless another tuning has added it meanwhile.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written, or is another one by now.
    pub fn add(&mut self, trial: &Trial) -> Result<(), Failure> {
        self.locked(|cache| {
            cache.read()?;
            if cache.trial(&trial.configuration).is_some() {
                return Ok(());
            }
            let trial = cache.with_other_models(trial);
            let entry = kernel_tuner::entry(cache.space, &trial, SystemTime::now());
            cache.append(&entry)
        })
    }

    /// A trial with the times of further models that the file has: the last entry of a
    /// configuration counts, and takes their place.
    fn with_other_models(&self, trial: &Trial) -> Trial {
        let mut trial = trial.clone();
        let entry = self.entries.get(&trial.configuration.key());
        if let (Ok(times), Some(entry)) = (&mut trial.outcome, entry) {
            let others = entry.by_model.iter();
            let others = others.filter(|time| !self.models.contains(&time.model.as_str()));
            times.extend(others.cloned());
        }
        trial
    }

    /// Completes the file: the last entry has no comma. Whoever adds to it later opens it again.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or written.
    pub fn finish(mut self) -> Result<(), Failure> {
        self.locked(|cache| {
            cache.read()?;
            let text = cache.text()?;
            cache.change(&text, &kernel_tuner::with_end(&text), false)
        })
    }

    /// Does something while nobody else reads or writes the file.
    fn locked(
        &mut self,
        work: impl FnOnce(&mut Self) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let is_locked = match self.file.lock() {
            Ok(()) => true,
            // Some network file systems have no locks; tunings there are alone.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => false,
            Err(error) => return Err(Report::file("lock", &self.path, &error).into()),
        };
        let outcome = work(self);
        if is_locked {
            // The lock ends with the file in any case.
            let _ = self.file.unlock();
        }
        outcome
    }

    /// Reads what others have added.
    fn read(&mut self) -> Result<(), Failure> {
        let length = self.file.metadata().map_err(|error| self.unread(&error))?.len();
        if self.known.is_some_and(|known| known.length == length) {
            return Ok(());
        }
        let text = self.text()?;
        let header = kernel_tuner::header(self.space, self.device)?;
        // A new file, or one whose tuning was killed at once.
        if header.starts_with(&text) {
            return self.change(&text, &header, true);
        }
        let read = kernel_tuner::read(&self.path.display().to_string(), &text, self.space)?;
        self.check(&read)?;
        self.entries = read.entries;
        self.known = Some(Known { length, is_open: false });
        Ok(())
    }

    /// Refuses files that are not of predictions for this GPU.
    fn check(&self, read: &CacheFile) -> Result<(), Report> {
        let is_measured = |entry: &Entry| entry.time_ms.is_some() && entry.by_model.is_empty();
        let message = if read.device != self.device {
            format!("{} is of the GPU {}", self.path.display(), read.device)
        } else if read.entries.values().any(is_measured) {
            format!("{} has times that were not predicted here", self.path.display())
        } else {
            return Ok(());
        };
        Err(Report::new(message).hint("name another file, or compare with this one by --measured"))
    }

    /// Writes an entry behind the last whole one. What a killed tuning left of one is cut off.
    fn append(&mut self, entry: &str) -> Result<(), Failure> {
        if let Some(Known { length, is_open: true }) = self.known {
            let written = self.file.seek(SeekFrom::Start(length));
            let written = written.and_then(|_| self.file.write_all(entry.as_bytes()));
            written.map_err(|error| self.unwritten(&error))?;
            self.known = Some(Known { length: length + entry.len() as u64, is_open: true });
            return Ok(());
        }
        let text = self.text()?;
        let longer = kernel_tuner::without_end(&text) + entry;
        self.change(&text, &longer, true)
    }

    fn text(&mut self) -> Result<String, Failure> {
        let mut text = String::new();
        let read = self.file.seek(SeekFrom::Start(0)).and_then(|_| {
            let mut limited = (&self.file).take(MOST_BYTES);
            limited.read_to_string(&mut text)
        });
        read.map_err(|error| self.unread(&error))?;
        Ok(text)
    }

    /// Turns the file's text into another one. Their common beginning is not written again, so that
    /// a kill costs the end at most.
    fn change(&mut self, old: &str, new: &str, is_open: bool) -> Result<(), Failure> {
        let same = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
        let written = self
            .file
            .set_len(same as u64)
            .and_then(|()| self.file.seek(SeekFrom::Start(same as u64)))
            .and_then(|_| self.file.write_all(&new.as_bytes()[same..]));
        written.map_err(|error| self.unwritten(&error))?;
        self.known = Some(Known { length: new.len() as u64, is_open });
        Ok(())
    }

    fn unwritten(&self, error: &io::Error) -> Report {
        Report::file("write", &self.path, error)
    }

    fn unread(&self, error: &io::Error) -> Report {
        Report::file("read", &self.path, error)
    }
}

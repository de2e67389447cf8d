//! A store in a folder that all machines see.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Put, Store, StoreError};
use crate::input::bounded;

/// A folder. An object is written beside its place and gets its name by `link`, which fails where
/// the name is taken; local file systems, NFS and Lustre do so atomically.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    place: String,
    /// Distinguishes the unfinished files of one process.
    written: AtomicU64,
}

/// The folder of files that are not complete.
const UNFINISHED: &str = "unfinished";

/// The folder of folders that stood in objects' places.
const SET_ASIDE: &str = "set-aside";

impl Folder {
    /// The store in `path`, which is made with the first object.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        let place = path.display().to_string();
        Self { path, place, written: AtomicU64::new(0) }
    }

    fn failed<'a>(&'a self, verb: &'static str, name: &'a str) -> impl Fn(io::Error) -> StoreError {
        move |error| {
            // `std::io::Error` adds "(os error 2)", which tells a user nothing.
            let text = error.to_string();
            let reason = text.split(" (os error").next().unwrap_or_default().to_owned();
            StoreError { verb, name: name.to_owned(), place: self.place.clone(), reason }
        }
    }

    /// Writes a file of a name that no other process uses.
    fn unfinished(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let folder = self.path.join(UNFINISHED);
        fs::create_dir_all(&folder)?;
        loop {
            let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let number = self.written.fetch_add(1, Ordering::Relaxed);
            let name = format!("{}-{}-{number}", std::process::id(), clock.as_nanos());
            let path = folder.join(name);
            match File::create_new(&path) {
                Ok(mut file) => {
                    file.write_all(bytes)?;
                    file.sync_all()?;
                    return Ok(path);
                }
                // A process of another machine with the same number, at the same time.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes a file and gives it its `place`. A writer that slept may find that others took it for
    /// dead and removed the file, which is then written again.
    fn write<T>(&self, bytes: &[u8], place: impl Fn(&Path) -> io::Result<T>) -> io::Result<T> {
        let mut unfinished = self.unfinished(bytes)?;
        let mut placed = place(&unfinished);
        if placed.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
            unfinished = self.unfinished(bytes)?;
            placed = place(&unfinished);
        }
        gone(fs::remove_file(&unfinished))?;
        placed
    }

    /// Removes unfinished files that are older than `silence`. Their age is told by the clock of
    /// the machine that keeps the files, which is asked by a new file.
    fn remove_unfinished(&self, silence: Duration) -> io::Result<usize> {
        let folder = self.path.join(UNFINISHED);
        let before: Vec<PathBuf> = match fs::read_dir(&folder) {
            Ok(entries) => entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        if before.is_empty() {
            return Ok(0);
        }
        let new = self.unfinished(b"")?;
        let now = fs::metadata(&new).and_then(|facts| facts.modified());
        gone(fs::remove_file(&new))?;
        let now = now?;
        let mut removed = 0;
        for path in before {
            // Its writer may finish it at any moment.
            let Ok(written) = fs::metadata(&path).and_then(|facts| facts.modified()) else {
                continue;
            };
            if now.duration_since(written).is_ok_and(|age| age > silence) {
                gone(fs::remove_file(&path))?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// Marks an object as used now, for [`Folder::keep_most_recent`].
    pub(crate) fn touch(&self, name: &str) {
        // An object that cannot be marked is at most forgotten sooner.
        let _ = File::options()
            .append(true)
            .open(self.path.join(name))
            .and_then(|file| file.set_modified(SystemTime::now()));
    }

    /// Keeps a folder below about `most_bytes`, now that it has this object of `bytes`. To look at
    /// thousands of objects takes longer than a prediction. So where objects are small, one of
    /// sixteen looks, as the hash in its name says.
    pub(crate) fn make_room(&self, name: &str, bytes: usize, most_bytes: u64) {
        let is_small = 256 * (bytes as u64) < most_bytes;
        let Some((folder, hash)) = name.rsplit_once('/') else { return };
        if !is_small || hash.ends_with('0') {
            self.keep_most_recent(folder, most_bytes);
        }
    }

    /// Removes the objects of a folder that were used least recently, if all take more than
    /// `most_bytes`, until they take three quarters of that. Other processes may do the same.
    fn keep_most_recent(&self, folder: &str, most_bytes: u64) {
        let Ok(entries) = fs::read_dir(self.path.join(folder)) else { return };
        let object = |entry: io::Result<fs::DirEntry>| {
            let entry = entry.ok()?;
            let facts = entry.metadata().ok()?;
            facts.is_file().then(|| Some((facts.modified().ok()?, facts.len(), entry.path())))?
        };
        let mut objects: Vec<(SystemTime, u64, PathBuf)> = entries.filter_map(object).collect();
        let mut bytes: u64 = objects.iter().map(|(_, bytes, _)| bytes).sum();
        if bytes <= most_bytes {
            return;
        }
        objects.sort();
        for (_, size, path) in objects {
            if bytes <= most_bytes / 4 * 3 {
                break;
            }
            // One that cannot be removed stays.
            if gone(fs::remove_file(path)).is_ok() {
                bytes -= size;
            }
        }
    }

    /// Moves a folder that stands in an object's place out of the way. It is not ours to remove.
    fn set_folder_aside(&self, path: &Path) -> io::Result<()> {
        if !fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir()) {
            return Ok(());
        }
        let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let number = self.written.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{}-{number}", std::process::id(), clock.as_nanos());
        let aside = self.path.join(SET_ASIDE);
        fs::create_dir_all(&aside)?;
        gone(fs::rename(path, aside.join(name)))
    }

    fn place_of(&self, name: &str) -> io::Result<PathBuf> {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
        Ok(path)
    }
}

impl Store for Folder {
    fn place(&self) -> &str {
        &self.place
    }

    /// What is no file in an object's place has no contents, and counts as damaged: a link, which
    /// may lead out of the store or round in a circle, a folder, or a pipe, at which nobody shall
    /// wait.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let path = self.path.join(name);
        let read = || match fs::symlink_metadata(&path)?.is_file() {
            true => bounded::read(&path, bounded::MOST_BYTES),
            false => Ok(Vec::new()),
        };
        match read() {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.failed("read", name)(error)),
        }
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<Put, StoreError> {
        let put = || {
            let path = self.place_of(name)?;
            if fs::symlink_metadata(&path).is_ok() {
                return Ok(Put::Present);
            }
            self.write(bytes, |unfinished| match fs::hard_link(unfinished, &path) {
                Ok(()) => Ok(Put::Stored),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(Put::Present),
                Err(error) => Err(error),
            })
        };
        put().map_err(self.failed("write", name))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let put = || {
            let path = self.place_of(name)?;
            self.set_folder_aside(&path)?;
            self.write(bytes, |unfinished| fs::rename(unfinished, &path))
        };
        put().map_err(self.failed("write", name))
    }

    fn remove(&self, name: &str) -> Result<(), StoreError> {
        let path = self.path.join(name);
        let removed = self.set_folder_aside(&path).and_then(|()| gone(fs::remove_file(path)));
        removed.map_err(self.failed("remove", name))
    }

    fn list(&self, folder: &str) -> Result<Vec<String>, StoreError> {
        let entries = match fs::read_dir(self.path.join(folder)) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("list", folder)(error)),
        };
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
        };
        let names: io::Result<Vec<String>> = entries.map(name).collect();
        let mut names = names.map_err(self.failed("list", folder))?;
        names.sort();
        Ok(names)
    }

    fn tidy(&self, silence: Duration) -> Result<usize, StoreError> {
        self.remove_unfinished(silence).map_err(self.failed("tidy", UNFINISHED))
    }
}

/// A file that is not there has been removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_stored_once() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::new(folder.path());
        assert_eq!(store.get("counts/a"), Ok(None));
        assert_eq!(store.list("counts"), Ok(Vec::new()));
        assert_eq!(store.put_new("counts/b", b"1"), Ok(Put::Stored));
        assert_eq!(store.put_new("counts/b", b"2"), Ok(Put::Present));
        assert_eq!(store.get("counts/b"), Ok(Some(b"1".to_vec())));
        store.put("counts/b", b"3").unwrap();
        store.put("counts/a", b"").unwrap();
        assert_eq!(store.get("counts/b"), Ok(Some(b"3".to_vec())));
        assert_eq!(store.list("counts"), Ok(vec!["a".to_owned(), "b".to_owned()]));
        store.remove("counts/a").unwrap();
        store.remove("counts/a").unwrap();
        assert_eq!(store.list("counts"), Ok(vec!["b".to_owned()]));
        assert_eq!(store.list(UNFINISHED), Ok(Vec::new()));
    }

    /// Links, circles of them, folders and pipes are damaged objects. None is followed or waited
    /// for, and each can be replaced and removed.
    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_a_damaged_object() {
        use std::os::unix::fs::symlink;

        type Make<'a> = &'a dyn Fn(&Path);

        let folder = tempfile::tempdir().unwrap();
        let store = Folder::new(folder.path());
        let counts = folder.path().join("counts");
        fs::create_dir(&counts).unwrap();
        fs::write(folder.path().join("outside"), "secret").unwrap();
        let make: [(&str, Make<'_>); 5] = [
            ("circle", &|place| symlink(place, place).unwrap()),
            ("outside", &|place| symlink("../outside", place).unwrap()),
            ("endless", &|place| symlink("/dev/zero", place).unwrap()),
            ("folder", &|place| fs::create_dir_all(place.join("full")).unwrap()),
            ("pipe", &|place| {
                let made = std::process::Command::new("mkfifo").arg(place).status();
                assert!(made.unwrap().success());
            }),
        ];
        for (name, make) in make {
            let object = format!("counts/{name}");
            let place = folder.path().join(&object);
            make(&place);
            assert_eq!(store.get(&object), Ok(Some(Vec::new())), "{name}");
            assert_eq!(store.put_new(&object, b"new"), Ok(Put::Present), "{name}");
            store.put(&object, b"new").unwrap();
            assert_eq!(store.get(&object), Ok(Some(b"new".to_vec())), "{name}");
            store.remove(&object).unwrap();
            make(&place);
            store.remove(&object).unwrap();
            assert_eq!(store.get(&object), Ok(None), "{name}");
        }
        assert_eq!(fs::read_to_string(folder.path().join("outside")).unwrap(), "secret");
        assert_eq!(fs::read_dir(folder.path().join(SET_ASIDE)).unwrap().count(), 2);
    }

    #[test]
    fn what_a_killed_writer_left_is_removed_once_it_is_old() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::new(folder.path());
        let silence = Duration::from_secs(60);
        assert_eq!(store.tidy(silence), Ok(0));
        store.put("counts/a", b"1").unwrap();
        let [old, new] = [(); 2].map(|()| store.unfinished(b"half").unwrap());
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(&old).unwrap().set_modified(hour_ago).unwrap();
        assert_eq!(store.tidy(silence), Ok(1));
        assert!(!old.exists() && new.exists());
        assert_eq!(store.tidy(silence), Ok(0));
        assert_eq!(store.list(UNFINISHED).unwrap().len(), 1);
        assert_eq!(store.get("counts/a"), Ok(Some(b"1".to_vec())));
    }

    #[test]
    fn small_objects_look_for_room_one_time_in_sixteen() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::new(folder.path());
        for (name, left) in [("counts/a1", 1), ("counts/a2", 2), ("counts/b0", 1)] {
            store.put(name, &[0; 100]).unwrap();
            store.make_room(name, 0, 150);
            assert_eq!(store.list("counts").unwrap().len(), left, "{name}");
            store.make_room(name, 1, 150);
        }
    }

    #[test]
    fn objects_that_were_not_used_for_long_make_room() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::new(folder.path());
        let hours_ago = |hours: u64| SystemTime::now() - Duration::from_secs(3600 * hours);
        for (name, hours) in [("counts/a", 3), ("counts/b", 2), ("counts/c", 1), ("other/d", 9)] {
            store.put(name, &[0; 100]).unwrap();
            let file = File::options().append(true).open(folder.path().join(name)).unwrap();
            file.set_modified(hours_ago(hours)).unwrap();
        }
        store.keep_most_recent("counts", 300);
        assert_eq!(store.list("counts").unwrap().len(), 3);
        store.touch("counts/a");
        store.keep_most_recent("counts", 299);
        assert_eq!(store.list("counts"), Ok(vec!["a".to_owned(), "c".to_owned()]));
        assert_eq!(store.list("other").unwrap().len(), 1);
        store.touch("counts/nothing");
        store.keep_most_recent("nowhere", 0);
        assert_eq!(store.list("counts").unwrap().len(), 2);
    }

    /// Another process removes the file while its writer sleeps.
    #[test]
    fn a_file_that_was_removed_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::new(folder.path());
        let places: [fn(&Path, &Path) -> io::Result<()>; 2] =
            [|from, to| fs::hard_link(from, to), |from, to| fs::rename(from, to)];
        for place in places {
            let target = folder.path().join("target");
            let attempts = AtomicU64::new(0);
            let placed = store.write(b"whole", |unfinished| {
                if attempts.fetch_add(1, Ordering::Relaxed) == 0 {
                    fs::remove_file(unfinished)?;
                }
                place(unfinished, &target)
            });
            placed.unwrap();
            assert_eq!(fs::read(&target).unwrap(), b"whole");
            assert_eq!(store.list(UNFINISHED), Ok(Vec::new()));
            fs::remove_file(&target).unwrap();
        }
    }

    /// Eight threads store under the same names: each name has one winner, and its bytes are whole.
    #[test]
    fn of_several_writers_one_stores() {
        let folder = tempfile::tempdir().unwrap();
        let stores: Vec<Folder> = (0..8).map(|_| Folder::new(folder.path())).collect();
        let stored = std::sync::Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for (writer, store) in stores.iter().enumerate() {
                let stored = &stored;
                scope.spawn(move || {
                    for name in 0..100 {
                        let bytes = [writer as u8; 1000];
                        if store.put_new(&format!("counts/{name}"), &bytes) == Ok(Put::Stored) {
                            stored.lock().unwrap().push((name, writer as u8));
                        }
                    }
                });
            }
        });
        let mut stored = stored.into_inner().unwrap();
        stored.sort_unstable();
        assert!(stored.iter().map(|(name, _)| *name).eq(0..100));
        for (name, writer) in stored {
            assert_eq!(stores[0].get(&format!("counts/{name}")), Ok(Some(vec![writer; 1000])));
        }
    }

    #[test]
    fn a_place_that_is_no_folder_is_told_of() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = Folder::new(file.path()).put_new("counts/a", b"").unwrap_err();
        assert!(error.to_string().starts_with("cannot write counts/a in "), "{error}");
    }
}

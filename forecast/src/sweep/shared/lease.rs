//! Leases: a worker tells the others what it is executing.
//!
//! A lease is an object that its worker writes anew while it works. A worker that sees the same
//! contents for longer than the lease lasts takes the item over. No clock of another machine is
//! read.

use std::collections::BTreeMap;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::store::{Put, Store, StoreError};

/// The time without a sign of life after which a worker counts as dead, where the user names none.
pub const USUAL_LEASE: Duration = Duration::from_secs(60);

/// The folder of leases in a store.
pub(super) const LEASES: &str = "leases";

/// The leases as one worker sees them.
pub(super) struct Leases<'a> {
    store: &'a dyn Store,
    owner: &'a str,
    /// The time without a sign of life after which an item is taken over.
    lasting: Duration,
    /// The contents of others' leases, and when they were first seen.
    seen: BTreeMap<String, (Vec<u8>, Instant)>,
}

impl<'a> Leases<'a> {
    pub(super) fn new(store: &'a dyn Store, owner: &'a str, lasting: Duration) -> Self {
        Self { store, owner, lasting, seen: BTreeMap::new() }
    }

    /// Takes the lease of an item, unless another worker holds it.
    pub(super) fn take(&mut self, item: &str) -> Result<bool, StoreError> {
        let object = format!("{LEASES}/{item}");
        let mine = format!("{} 0", self.owner);
        if self.store.put_new(&object, mine.as_bytes())? == Put::Stored {
            return Ok(true);
        }
        let Some(contents) = self.store.get(&object)? else {
            // Given back this moment: the next round takes it.
            return Ok(false);
        };
        match self.seen.get(item) {
            Some((before, since)) if *before == contents => {
                if since.elapsed() < self.lasting {
                    return Ok(false);
                }
                self.store.put(&object, mine.as_bytes())?;
                self.seen.remove(item);
                Ok(true)
            }
            _ => {
                self.seen.insert(item.to_owned(), (contents, Instant::now()));
                Ok(false)
            }
        }
    }

    /// Gives a lease back.
    pub(super) fn give_back(&self, item: &str) -> Result<(), StoreError> {
        self.store.remove(&format!("{LEASES}/{item}"))
    }

    /// Does some work while the item's lease is renewed.
    pub(super) fn during<T>(&self, item: &str, work: impl FnOnce() -> T) -> T {
        let object = format!("{LEASES}/{item}");
        let (done, end) = mpsc::channel::<()>();
        thread::scope(|scope| {
            scope.spawn(move || {
                let mut beat = 0_u64;
                while end.recv_timeout(self.lasting / 3) == Err(RecvTimeoutError::Timeout) {
                    beat += 1;
                    // Without a lease another worker does the same work; nothing else happens.
                    let _ = self.store.put(&object, format!("{} {beat}", self.owner).as_bytes());
                }
            });
            let result = work();
            drop(done);
            result
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Folder;

    #[test]
    fn a_lease_is_held_while_its_worker_lives() {
        let folder = tempfile::tempdir().unwrap();
        let store = Folder::new(folder.path());
        let lasting = Duration::from_millis(60);
        let mut first = Leases::new(&store, "first", lasting);
        let mut second = Leases::new(&store, "second", lasting);
        assert_eq!(first.take("i"), Ok(true));
        first.during("i", || {
            let started = Instant::now();
            while started.elapsed() < 3 * lasting {
                assert_eq!(second.take("i"), Ok(false));
                thread::sleep(lasting / 10);
            }
        });
        first.give_back("i").unwrap();
        assert_eq!(second.take("i"), Ok(true));
        // The second one dies; somebody sees no sign of life.
        assert_eq!(first.take("i"), Ok(false));
        thread::sleep(2 * lasting);
        assert_eq!(first.take("i"), Ok(true));
    }
}

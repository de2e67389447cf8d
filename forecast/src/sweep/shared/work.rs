//! A worker: executes what nobody has executed.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use super::counts::{self, Outcome};
use super::lease::{LEASES, Leases};
use super::plan::{Item, Opened, kernel_object};
use super::stored::{self, Stored};
use crate::failure::{Failure, Report};
use crate::input::packed;
use crate::run::sources::{self, Counts};
use crate::run::supervisor::Supervisor;
use crate::store::sealed;
use crate::store::{Put, Store};

/// The pause before a worker looks again whether others have died.
const PAUSE: Duration = Duration::from_millis(250);

/// The place of a worker among several: they begin at different items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1 on.
    pub number: u32,
    /// All workers.
    pub of: u32,
}

impl Shard {
    /// Reads `2/8`.
    ///
    /// # Errors
    ///
    /// A sentence that says what to write.
    pub fn read(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(number, of)| {
            Some(Self { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? })
        });
        parts
            .filter(|shard| (1..=shard.of).contains(&shard.number))
            .ok_or_else(|| "write NUMBER/ALL, as 2/8".to_owned())
    }
}

/// Executes items of a plan until there are none.
pub struct Worker<'a> {
    /// Where items are stored.
    pub store: &'a dyn Store,
    /// A name that no other worker has.
    pub owner: &'a str,
    /// Time without a sign of life after which another worker's item is taken over.
    pub lease: Duration,
    /// Its place among several.
    pub shard: Option<Shard>,
    /// True if items that failed are executed again.
    pub retry: bool,
    /// The assembler; otherwise those that this machine has. A plan names none.
    pub ptxas: Option<PathBuf>,
    /// Hears of progress and can end the work.
    pub supervisor: &'a dyn Supervisor,
}

/// The work of one worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worked {
    /// Items that it executed.
    pub executed: usize,
    /// Those of them that have no counts. The table says why.
    pub failed: usize,
}

impl Worker<'_> {
    /// Works until nothing is left. `worked` is what it has done so far, whatever the result is.
    ///
    /// # Errors
    ///
    /// [`Failure::Stopped`] if the supervisor says so; errors of the store; another execution of an
    /// item that counted something else.
    pub fn run(&self, plan: &Opened, worked: &mut Worked) -> Result<(), Failure> {
        let counts = plan.counts_with(self.ptxas.as_deref());
        plan.check_assemblers(&counts.machine, self.supervisor.toolchain())?;
        let items = plan.items();
        let mut leases = Leases::new(self.store, self.owner, self.lease);
        // What this worker has tried again fails no second time.
        let mut tried = BTreeSet::new();
        let first = match self.shard {
            Some(Shard { number, of }) => items.len() * (number - 1) as usize / of as usize,
            None => 0,
        };
        let mut all = Stored::list(self.store)?;
        loop {
            let mut open = 0;
            let mut done = 0;
            for item in items[first..].iter().chain(&items[..first]) {
                if self.supervisor.should_stop() {
                    return Err(Failure::Stopped);
                }
                let name = &item.names[0];
                let is_stored = all.has(item)?;
                if is_stored && !(self.retry && !tried.contains(name) && self.has_failed(item)?) {
                    continue;
                }
                open += 1;
                if !leases.take(name)? {
                    continue;
                }
                // Somebody may have stored it since the list was made.
                if !is_stored && self.is_stored(item)? {
                    leases.give_back(name)?;
                    continue;
                }
                self.supervisor.part(all.len().min(items.len() - 1), items.len());
                let outcome = leases.during(name, || self.execute(&counts, item));
                let stored = outcome.and_then(|outcome| {
                    let failed = outcome.is_err();
                    self.store_counts(name, &outcome, is_stored)?;
                    Ok(failed)
                });
                leases.give_back(name)?;
                let failed = stored?;
                tried.insert(name.clone());
                worked.executed += 1;
                worked.failed += usize::from(failed);
                done += 1;
            }
            if open == 0 {
                self.tidy(&items)?;
                return Ok(());
            }
            if done == 0 {
                thread::sleep(PAUSE);
            }
            all.list_again()?;
        }
    }

    /// Removes what killed workers left: parts of objects, and leases of items that are all stored.
    /// A worker that still holds one, since it tries a failure again, renews it or gives it back.
    fn tidy(&self, items: &[Item<'_>]) -> Result<(), Failure> {
        self.store.tidy(self.lease)?;
        let leased: BTreeSet<String> = self.store.list(LEASES)?.into_iter().collect();
        for item in items.iter().filter(|item| leased.contains(&item.names[0])) {
            self.store.remove(&format!("{LEASES}/{}", item.names[0]))?;
        }
        Ok(())
    }

    fn is_stored(&self, item: &Item<'_>) -> Result<bool, Failure> {
        for name in &item.names {
            if stored::read(self.store, name)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn has_failed(&self, item: &Item<'_>) -> Result<bool, Failure> {
        Ok(stored::read(self.store, &item.names[0])?.is_some_and(|outcome| outcome.is_err()))
    }

    /// The counts of an item, or why there are none.
    fn execute(&self, counts: &Counts, item: &Item<'_>) -> Result<Outcome, Failure> {
        let name = kernel_object(item.kernel);
        let object = self.store.get(&name)?;
        let packed = object.and_then(|object| sealed::open(&name, &object));
        let packed =
            packed.filter(|packed| sealed::hash(packed) == item.kernel).ok_or_else(|| {
                let message = format!("{} has lost the kernel {}", self.store.place(), item.kernel);
                Report::new(message).hint("plan the sweep anew, which stores it again")
            })?;
        let kernel = packed::unpack(&packed)?;
        let gpu = item.group.gpu.as_ref().map_err(|reason| Report::new(reason.clone()))?;
        let counts = Counts { needs: item.group.needs, ..counts.clone() };
        match sources::counted(&kernel, gpu, &counts, self.supervisor) {
            Ok(sources) => Ok(Ok(sources.iter().map(counts::Counts::of).collect())),
            Err(failure) => failure.in_one_line().map(Err),
        }
    }

    fn store_counts(&self, name: &str, outcome: &Outcome, again: bool) -> Result<(), Failure> {
        let object = counts::object(name);
        let bytes = counts::write(name, outcome)?;
        if again {
            return Ok(self.store.put(&object, &bytes)?);
        }
        if self.store.put_new(&object, &bytes)? == Put::Stored {
            return Ok(());
        }
        match self.store.get(&object)? {
            Some(there) if there == bytes => Ok(()),
            Some(there) if counts::read(name, &there).is_some() => {
                let message = format!("two executions of the item {name} counted differently");
                Err(Report::new(message)
                    .hint("the kernel races, or the workers run different builds; the first counts stay")
                    .into())
            }
            // Damaged, or removed meanwhile.
            _ => Ok(self.store.put(&object, &bytes)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_one_of_several() {
        assert_eq!(Shard::read("2/8"), Ok(Shard { number: 2, of: 8 }));
        for wrong in ["", "2", "0/8", "9/8", "a/b", "1/0", "-1/2"] {
            assert!(Shard::read(wrong).is_err(), "{wrong}");
        }
    }
}

//! Results of simulations that are kept from run to run, beside the counts they rest on.
//!
//! An entry has the results for the launches of one input, on any GPU and under any what-if. It is
//! read when the first is asked for. Results that took long enough are written when nobody can ask
//! any more.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use gpucast_model::sm_simulation::{Anew, Orders, Simulation, Simulator};
use gpucast_simulation::Outcome;
use gpucast_simulation::launch::Launch;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::store::{Folder, Store as _, sealed};

/// The folder of entries.
const ENTRIES: &str = "simulations";

/// Results of one kind in an entry, at most. Reading more would take longer than most simulations.
const MOST_RESULTS: usize = 4096;

/// The hash of all that a result depends on.
type Key = [u8; 32];

/// What an entry has.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Results {
    outcomes: BTreeMap<Key, Outcome>,
    clocks: BTreeMap<Key, f64>,
}

impl Results {
    fn clocks(&self, key: &Key) -> Option<f64> {
        let of_outcome = || self.outcomes.get(key).map(|outcome| outcome.clocks);
        self.clocks.get(key).copied().or_else(of_outcome)
    }

    /// Takes over results of another entry, as far as there is room.
    fn extend(&mut self, other: Self) {
        let Self { outcomes, clocks } = other;
        for (key, outcome) in outcomes {
            insert(&mut self.outcomes, key, outcome);
        }
        for (key, value) in clocks {
            insert(&mut self.clocks, key, value);
        }
    }
}

/// Adds a result if there is room for it.
fn insert<T>(results: &mut BTreeMap<Key, T>, key: Key, result: T) {
    if results.len() < MOST_RESULTS || results.contains_key(&key) {
        results.insert(key, result);
    }
}

#[derive(Debug, Default)]
struct Known {
    /// The results; none before somebody asks.
    results: Option<Results>,
    /// Launches that were asked for, by their hashes.
    launches: Vec<(Weak<Launch>, Key)>,
    /// Time that new results took.
    spent: Duration,
}

/// Simulates, or knows the result from an earlier run.
#[derive(Debug)]
pub(super) struct KeptSimulations {
    folder: Arc<Folder>,
    name: String,
    most_bytes: u64,
    /// New results are written if they took as long.
    worth: Duration,
    known: Mutex<Known>,
}

impl KeptSimulations {
    /// The results of one input, whose counts have the name `identity`.
    pub(super) fn new(
        folder: Arc<Folder>,
        identity: &str,
        most_bytes: u64,
        worth: Duration,
    ) -> Self {
        let name = format!("{ENTRIES}/{}", sealed::hash(identity.as_bytes()));
        Self { folder, name, most_bytes, worth, known: Mutex::default() }
    }

    fn read(&self) -> Option<Results> {
        let bytes = sealed::open(&self.name, &self.folder.get(&self.name).ok().flatten()?)?;
        postcard::from_bytes(&bytes).ok()
    }

    /// What is known. A panic elsewhere leaves it whole.
    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of a key, if one is known.
    fn find<T>(&self, of: impl FnOnce(&Results) -> Option<T>) -> Option<T> {
        let mut known = self.known();
        let results = known.results.get_or_insert_with(|| {
            self.folder.touch(&self.name);
            self.read().unwrap_or_default()
        });
        of(results)
    }

    fn add(&self, spent: Duration, add: impl FnOnce(&mut Results)) {
        let mut known = self.known();
        known.spent += spent;
        add(known.results.get_or_insert_default());
    }

    fn key(&self, simulation: &Simulation<'_>) -> Key {
        let Simulation { launch, resident, parameters, orders } = simulation;
        // A GPU that has the orders itself simulates as if there were none.
        let followed = orders.map(Orders::parameters).filter(|orders| orders != parameters);
        let mut hash = Sha256::new_with_prefix(self.hash_of(launch));
        hash.update(format!("{resident} {parameters:?}"));
        if let Some(followed) = followed {
            hash.update(format!(" {followed:?}"));
        }
        hash.finalize().into()
    }

    /// The hash of a launch. Each of a prediction is simulated three times and more.
    fn hash_of(&self, launch: &Arc<Launch>) -> Key {
        let is_it = |(known, _): &&(Weak<Launch>, Key)| known.as_ptr() == Arc::as_ptr(launch);
        // A weak pointer keeps the address from being given to another launch.
        if let Some((_, hash)) = self.known().launches.iter().find(is_it) {
            return *hash;
        }
        let mut hash = Sha256::new();
        launch.tell(&mut |bytes| hash.update(bytes));
        let hash: Key = hash.finalize().into();
        self.known().launches.push((Arc::downgrade(launch), hash));
        hash
    }
}

impl Simulator for KeptSimulations {
    fn outcome(&self, simulation: Simulation<'_>) -> Outcome {
        let key = self.key(&simulation);
        if let Some(outcome) = self.find(|results| results.outcomes.get(&key).cloned()) {
            return outcome;
        }
        let started = Instant::now();
        let outcome = Anew.outcome(simulation);
        self.add(started.elapsed(), |known| insert(&mut known.outcomes, key, outcome.clone()));
        outcome
    }

    fn clocks(&self, simulation: Simulation<'_>) -> f64 {
        let key = self.key(&simulation);
        if let Some(clocks) = self.find(|results| results.clocks(&key)) {
            return clocks;
        }
        let started = Instant::now();
        let clocks = Anew.clocks(simulation);
        self.add(started.elapsed(), |known| insert(&mut known.clocks, key, clocks));
        clocks
    }
}

impl Drop for KeptSimulations {
    fn drop(&mut self) {
        let known = std::mem::take(&mut *self.known());
        let Some(mut results) = known.results.filter(|_| known.spent >= self.worth) else { return };
        // Another program may have added to the entry.
        results.extend(self.read().unwrap_or_default());
        let Ok(bytes) = postcard::to_stdvec(&results) else { return };
        let sealed = sealed::seal(&self.name, &bytes);
        // There is nothing to do about a full or read-only disk.
        if self.folder.put(&self.name, &sealed).is_ok() {
            self.folder.make_room(&self.name, sealed.len(), self.most_bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use gpucast_model::GpuLibrary;
    use gpucast_simulation::code::{Class, Control};
    use gpucast_simulation::launch::WarpTrace;
    use gpucast_simulation::parameters::Parameters;
    use gpucast_simulation::writer::Writer;

    use super::*;

    fn launch(rounds: usize) -> Arc<Launch> {
        let mut writer = Writer::default();
        for _ in 0..2 {
            writer.op("FADD", Class::Fp32, Control::after(4)).end_block();
        }
        writer.exit();
        let code = writer.finish();
        Arc::new(Launch::of_equal_ctas(code, vec![WarpTrace::of_loop(rounds, &[])], 1))
    }

    fn parameters(gpu: &str) -> Parameters {
        GpuLibrary::builtin().unwrap().get(gpu).unwrap().sm_parameters().unwrap()
    }

    /// A simulation in its own order.
    fn free<'a>(
        launch: &'a Arc<Launch>,
        resident: u32,
        parameters: &'a Parameters,
    ) -> Simulation<'a> {
        Simulation { launch, resident, parameters, orders: None }
    }

    fn kept(folder: &std::path::Path, worth: Duration) -> KeptSimulations {
        KeptSimulations::new(Arc::new(Folder::new(folder)), "an input", 1 << 20, worth)
    }

    /// Results that no simulation gives tell what was looked up.
    #[test]
    fn what_an_earlier_run_wrote_is_looked_up() {
        let folder = tempfile::tempdir().unwrap();
        let (launch_of_one, launch_of_two) = (launch(1), launch(2));
        let titan = parameters("titan-v");
        let earlier = kept(folder.path(), Duration::ZERO);
        let key = earlier.key(&free(&launch_of_one, 2, &titan));
        let marked = Outcome { clocks: -1.0, ..Anew.outcome(free(&launch_of_one, 2, &titan)) };
        earlier.add(Duration::ZERO, |results| insert(&mut results.outcomes, key, marked.clone()));
        drop(earlier);

        let later = kept(folder.path(), Duration::ZERO);
        assert_eq!(later.outcome(free(&launch_of_one, 2, &titan)), marked);
        assert!((later.clocks(free(&launch(1), 2, &titan)) + 1.0).abs() < 1e-9);
        for (launch, resident, gpu) in [
            (&launch_of_two, 2, "titan-v"),
            (&launch_of_one, 1, "titan-v"),
            (&launch_of_one, 2, "h100-sxm"),
        ] {
            let gpu = parameters(gpu);
            assert!(later.clocks(free(launch, resident, &gpu)) > 0.0);
            assert!(later.outcome(free(launch, resident, &gpu)).clocks > 0.0);
        }
    }

    #[test]
    fn results_of_other_orders_are_other_results() {
        let folder = tempfile::tempdir().unwrap();
        let kept = kept(folder.path(), Duration::ZERO);
        let gpu = |name| GpuLibrary::builtin().unwrap().get(name).unwrap();
        let (launch, titan) = (launch(1), parameters("titan-v"));
        let orders = ["titan-v", "h100-sxm"].map(|name| Orders::of_gpu(&gpu(name)).unwrap());
        let key = |orders| kept.key(&Simulation { orders, ..free(&launch, 2, &titan) });
        assert_eq!(key(Some(&*orders[0])), key(None), "a GPU has its own order");
        assert_ne!(key(Some(&*orders[1])), key(None));
    }

    #[test]
    fn results_that_are_soon_there_again_are_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let entries = || std::fs::read_dir(folder.path().join(ENTRIES)).map_or(0, Iterator::count);
        for (worth, written) in [(Duration::MAX, 0), (Duration::ZERO, 1)] {
            let (launch, titan) = (launch(1), parameters("titan-v"));
            kept(folder.path(), worth).clocks(free(&launch, 1, &titan));
            assert_eq!(entries(), written);
        }
    }

    #[test]
    fn programs_at_the_same_time_keep_both_results() {
        let folder = tempfile::tempdir().unwrap();
        let titan = parameters("titan-v");
        let (one, other) =
            (kept(folder.path(), Duration::ZERO), kept(folder.path(), Duration::ZERO));
        one.clocks(free(&launch(1), 1, &titan));
        other.clocks(free(&launch(2), 1, &titan));
        drop((one, other));
        assert_eq!(kept(folder.path(), Duration::ZERO).read().unwrap().clocks.len(), 2);
    }

    #[test]
    fn an_entry_has_room_for_some_results_only() {
        let mut results = BTreeMap::new();
        for at in 0..=MOST_RESULTS {
            let mut key = Key::default();
            key[..8].copy_from_slice(&at.to_le_bytes());
            insert(&mut results, key, at);
        }
        assert_eq!(results.len(), MOST_RESULTS);
        insert(&mut results, Key::default(), 7);
        assert_eq!(results[&Key::default()], 7);
    }
}

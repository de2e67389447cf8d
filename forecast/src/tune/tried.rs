//! Configurations one after the other.

use super::{Cache, Configuration, Trial, Tuning};
use crate::failure::Failure;

impl Tuning<'_> {
    /// Tries configurations one after the other, and hands each result to `take`. Those that
    /// `cache` has are taken from it, and the others are added to it.
    ///
    /// # Errors
    ///
    /// If the supervisor stops the tuning, or the cache cannot be read or written. What was taken
    /// until then holds.
    pub fn try_all(
        &self,
        configurations: &[Configuration],
        mut cache: Option<&mut Cache<'_>>,
        mut take: impl FnMut(Trial),
    ) -> Result<(), Failure> {
        for (index, configuration) in configurations.iter().enumerate() {
            if let Some(trial) = cache.as_ref().and_then(|cache| cache.trial(configuration)) {
                take(trial);
                continue;
            }
            if self.supervisor.should_stop() {
                return Err(Failure::Stopped);
            }
            self.supervisor.part(index, configurations.len());
            let trial = self.try_one(configuration)?;
            // A compiler that was told to stop has failed, and says nothing of the configuration.
            if trial.outcome.is_err() && self.supervisor.should_stop() {
                return Err(Failure::Stopped);
            }
            let added = cache.as_mut().map_or(Ok(()), |cache| cache.add(&trial));
            take(trial);
            added?;
        }
        Ok(())
    }
}

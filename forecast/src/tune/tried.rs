//! Configurations one after the other.

use super::{Cache, Configuration, Trial, Tuning};
use crate::failure::Failure;

/// The configurations that were tried.
#[derive(Debug)]
pub struct Tried {
    /// Their results, in their order.
    pub trials: Vec<Trial>,
    /// What ended the tuning before its last configuration.
    pub stopped_by: Option<Failure>,
}

impl Tuning<'_> {
    /// Tries configurations one after the other. Those that `cache` has are taken from it, and
    /// the others are added to it.
    ///
    /// # Errors
    ///
    /// If the cache cannot be read or written.
    pub fn try_all(
        &self,
        configurations: &[Configuration],
        mut cache: Option<&mut Cache<'_>>,
    ) -> Result<Tried, Failure> {
        let mut trials = Vec::new();
        for (index, configuration) in configurations.iter().enumerate() {
            if let Some(trial) = cache.as_ref().and_then(|cache| cache.trial(configuration)) {
                trials.push(trial);
                continue;
            }
            self.supervisor.part(index, configurations.len());
            let trial = match self.try_one(configuration) {
                Ok(trial) => trial,
                Err(failure) => return Ok(Tried { trials, stopped_by: Some(failure) }),
            };
            if let Some(cache) = &mut cache {
                cache.add(&trial)?;
            }
            trials.push(trial);
        }
        Ok(Tried { trials, stopped_by: None })
    }
}

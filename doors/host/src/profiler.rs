//! Metrics of launches under the names of NVIDIA's profiler.
//!
//! A profiler flushes caches before each launch unless it is told otherwise, and plays the launch
//! again for each group of counters. Here each launch that it takes is counted once, before an
//! empty L2. Launches that are equal in all that counts depend on share their metrics.

use std::collections::HashMap;

use gpucast_counters::hierarchy::L2Contents;
use gpucast_forecast::failure::Report;
use gpucast_forecast::input::loaded::Loaded;
use gpucast_forecast::nsight::{Figures, Profiled};

use crate::collection::{KernelId, KernelNames, LaunchMetrics, Pattern, ProfilerSettings};
use crate::predicted::Predicted;
use crate::repeats::Key;

/// What is done with a launch.
pub(crate) enum Look {
    /// It is not profiled.
    Passed,
    /// An equal one was profiled; this is its prediction.
    Known(Option<Predicted>),
    /// It is profiled, or it is counted because the caches that it leaves matter.
    Counted,
}

/// A launch that is under way.
#[derive(Debug, Default)]
enum Current {
    /// It is not profiled.
    #[default]
    Passed,
    /// It is to be profiled, and equal ones are to be known by its key.
    Taken { symbol: String, key: Option<Key> },
    /// Its metrics are there.
    Kept(usize),
}

/// Metrics of equal launches.
#[derive(Debug)]
struct Known {
    profile: usize,
    predicted: Option<Predicted>,
}

/// Chooses launches, and keeps their metrics.
#[derive(Debug)]
pub(crate) struct Profiler {
    settings: ProfilerSettings,
    kernel: Option<Pattern>,
    kernel_ids: Vec<KernelId>,
    is_on: bool,
    /// Launches so far, of all kernels.
    seen: u64,
    /// Launches of chosen kernels, and of those by symbol.
    matched: u64,
    invocations: HashMap<String, u64>,
    taken: u64,
    profiles: Vec<LaunchMetrics>,
    known: HashMap<Key, Known>,
    current: Current,
}

impl Profiler {
    /// A profiler before the first launch.
    ///
    /// # Errors
    ///
    /// If a pattern is none.
    pub(crate) fn new(settings: ProfilerSettings) -> Result<Self, Report> {
        let kernel = settings.kernel.as_deref().map(Pattern::parse).transpose()?;
        let kernel_ids = settings.kernel_ids.iter().map(|text| KernelId::parse(text));
        let kernel_ids = kernel_ids.collect::<Result<_, _>>()?;
        Ok(Self {
            kernel,
            kernel_ids,
            is_on: !settings.waits_for_start,
            settings,
            seen: 0,
            matched: 0,
            invocations: HashMap::new(),
            taken: 0,
            profiles: Vec::new(),
            known: HashMap::new(),
            current: Current::Passed,
        })
    }

    pub(crate) fn set_on(&mut self, is_on: bool) {
        self.is_on = is_on;
    }

    /// What a launch finds in the L2. Behind a flush, what it leaves there is not counted.
    pub(crate) fn l2_contents(&self) -> L2Contents {
        match self.settings.keeps_caches {
            true => L2Contents::Keep,
            false => L2Contents::Cold,
        }
    }

    pub(crate) fn profiles(&self) -> Vec<LaunchMetrics> {
        self.profiles.clone()
    }

    /// Decides about a launch that comes. `key` names those that are equal to it.
    pub(crate) fn look_at(&mut self, symbol: &str, key: Option<Key>) -> Look {
        self.current = Current::Passed;
        let is_taken = self.takes(symbol);
        if self.settings.keeps_caches {
            if is_taken {
                self.current = Current::Taken { symbol: symbol.to_owned(), key: None };
            }
            return Look::Counted;
        }
        if !is_taken {
            return Look::Passed;
        }
        if let Some(known) = key.as_ref().and_then(|key| self.known.get(key)) {
            self.current = Current::Kept(known.profile);
            return Look::Known(known.predicted);
        }
        self.current = Current::Taken { symbol: symbol.to_owned(), key };
        Look::Counted
    }

    /// Returns true if a launch is profiled, and counts it.
    fn takes(&mut self, symbol: &str) -> bool {
        if !self.is_on {
            return false;
        }
        self.seen += 1;
        if self.seen <= self.settings.skip_before_match {
            return false;
        }
        let names = KernelNames::of(symbol);
        let name = names.based(self.settings.base);
        if self.kernel.as_ref().is_some_and(|kernel| !kernel.matches(name)) {
            return false;
        }
        let invocation = self.invocations.entry(symbol.to_owned()).or_default();
        *invocation += 1;
        let is_meant = |id: &KernelId| id.matches(name, *invocation);
        if !self.kernel_ids.is_empty() && !self.kernel_ids.iter().any(is_meant) {
            return false;
        }
        self.matched += 1;
        let is_taken = self.matched > self.settings.skip
            && self.settings.most.is_none_or(|most| self.taken < most);
        self.taken += u64::from(is_taken);
        is_taken
    }

    /// Keeps the metrics of the launch that was looked at last, if it is profiled.
    /// `loaded` is the kernel's module.
    pub(crate) fn keep(
        &mut self,
        launch: Profiled<'_>,
        loaded: Option<&Loaded>,
        predicted: Option<Predicted>,
    ) {
        let Current::Taken { symbol, key } = std::mem::take(&mut self.current) else { return };
        let figures = Figures::new(launch);
        let metric = |name: &String| (name.clone(), figures.figure(name));
        let metrics = self.settings.metrics.iter().map(metric).collect();
        let profile = self.profiles.len();
        let loaded = loaded.filter(|_| self.settings.lists_lines);
        let lines = loaded.map_or(Vec::new(), |loaded| figures.lines(loaded));
        self.profiles.push(LaunchMetrics { names: KernelNames::of(&symbol), metrics, lines });
        if let Some(key) = key {
            self.known.insert(key, Known { profile, predicted });
        }
        self.current = Current::Kept(profile);
    }

    /// The number of the metrics of the launch that was looked at last, once.
    pub(crate) fn take(&mut self) -> Option<usize> {
        match std::mem::take(&mut self.current) {
            Current::Kept(profile) => Some(profile),
            Current::Passed | Current::Taken { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests;

//! What a monitor may ask of the server, in Prometheus's text form.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Upper bounds of the classes of durations, in seconds.
const BOUNDS: [f64; 14] =
    [0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];

#[derive(Debug, Default)]
struct Durations {
    /// Requests in each class, and the longer ones.
    classes: [u64; BOUNDS.len() + 1],
    sum: f64,
}

/// Counters and gauges of a service.
#[derive(Debug)]
pub(crate) struct Metrics {
    requests: Mutex<BTreeMap<(&'static str, &'static str), u64>>,
    durations: Mutex<BTreeMap<&'static str, Durations>>,
    present: AtomicU64,
    busy: AtomicU64,
    killed: AtomicU64,
    workers: usize,
    queue: usize,
}

impl Metrics {
    pub(crate) fn new(workers: usize, queue: usize) -> Self {
        Self {
            requests: Mutex::default(),
            durations: Mutex::default(),
            present: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            killed: AtomicU64::new(0),
            workers,
            queue,
        }
    }

    /// A request has come.
    pub(crate) fn begin(&self, tool: &'static str) -> Seen<'_> {
        self.present.fetch_add(1, Ordering::Relaxed);
        Seen { metrics: self, tool, began: Instant::now(), outcome: "cancelled" }
    }

    /// A process is about to start.
    pub(crate) fn work(&self) -> Busy<'_> {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(self)
    }

    /// Somebody else has ended a process.
    pub(crate) fn killed(&self) {
        self.killed.fetch_add(1, Ordering::Relaxed);
    }

    fn end(&self, seen: &Seen<'_>) {
        self.present.fetch_sub(1, Ordering::Relaxed);
        let mut requests = self.requests.lock().unwrap_or_else(PoisonError::into_inner);
        *requests.entry((seen.tool, seen.outcome)).or_default() += 1;
        let seconds = seen.began.elapsed().as_secs_f64();
        let mut durations = self.durations.lock().unwrap_or_else(PoisonError::into_inner);
        let durations = durations.entry(seen.tool).or_default();
        durations.classes[BOUNDS.partition_point(|&bound| bound < seconds)] += 1;
        durations.sum += seconds;
    }

    /// The page that Prometheus reads.
    pub(crate) fn page(&self) -> String {
        let mut page = String::new();
        let head = |page: &mut String, name: &str, kind: &str, help: &str| {
            let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
        };
        let name = "gpucast_requests_total";
        head(&mut page, name, "counter", "Requests that ended, by tool and outcome.");
        for ((tool, outcome), number) in
            &*self.requests.lock().unwrap_or_else(PoisonError::into_inner)
        {
            let _ = writeln!(page, "{name}{{tool=\"{tool}\",outcome=\"{outcome}\"}} {number}");
        }
        let name = "gpucast_request_duration_seconds";
        head(&mut page, name, "histogram", "Seconds from a request to its end.");
        for (tool, durations) in &*self.durations.lock().unwrap_or_else(PoisonError::into_inner) {
            let mut number = 0;
            let bounds = BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
            for (class, bound) in durations.classes.iter().zip(bounds) {
                number += class;
                let _ = writeln!(page, "{name}_bucket{{tool=\"{tool}\",le=\"{bound}\"}} {number}");
            }
            let _ = writeln!(page, "{name}_sum{{tool=\"{tool}\"}} {}", durations.sum);
            let _ = writeln!(page, "{name}_count{{tool=\"{tool}\"}} {number}");
        }
        let present = self.present.load(Ordering::Relaxed);
        let busy = self.busy.load(Ordering::Relaxed);
        let killed = self.killed.load(Ordering::Relaxed);
        for (name, kind, help, value) in [
            ("gpucast_workers", "gauge", "Processes that may run at a time.", self.workers as u64),
            ("gpucast_workers_busy", "gauge", "Processes that run.", busy),
            ("gpucast_queue_places", "gauge", "Requests that may wait.", self.queue as u64),
            ("gpucast_queue_waiting", "gauge", "Requests that wait.", present.saturating_sub(busy)),
            ("gpucast_workers_killed_total", "counter", "Processes that others ended.", killed),
        ] {
            head(&mut page, name, kind, help);
            let _ = writeln!(page, "{name} {value}");
        }
        if let Some(bytes) = resident_bytes() {
            let name = "process_resident_memory_bytes";
            head(&mut page, name, "gauge", "Memory of the server itself.");
            let _ = writeln!(page, "{name} {bytes}");
        }
        page
    }
}

/// The memory of this process, where the system tells it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kibibytes << 10)
}

/// A request that is counted once it ends. If it is dropped before, it was cancelled.
pub(crate) struct Seen<'a> {
    metrics: &'a Metrics,
    tool: &'static str,
    began: Instant,
    outcome: &'static str,
}

impl Seen<'_> {
    pub(crate) fn end(mut self, outcome: &'static str) {
        self.outcome = outcome;
    }
}

impl Drop for Seen<'_> {
    fn drop(&mut self) {
        self.metrics.end(self);
    }
}

/// A process that runs.
pub(crate) struct Busy<'a>(&'a Metrics);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_request_is_a_cancelled_one() {
        let metrics = Metrics::new(2, 8);
        metrics.begin("run").end("answered");
        drop(metrics.begin("run"));
        let _waits = metrics.begin("judge");
        let page = metrics.page();
        for line in [
            "gpucast_requests_total{tool=\"run\",outcome=\"answered\"} 1",
            "gpucast_requests_total{tool=\"run\",outcome=\"cancelled\"} 1",
            "gpucast_request_duration_seconds_bucket{tool=\"run\",le=\"+Inf\"} 2",
            "gpucast_request_duration_seconds_count{tool=\"run\"} 2",
            "gpucast_queue_waiting 1",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}\n{page}");
        }
    }
}

//! The queue between requests and processes.
//!
//! A request takes a place in the queue, or is refused at once. Then it waits for a worker, in the
//! order of arrival. Whoever drops the future of a request leaves the queue or ends the process.

use std::io;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use tempfile::TempDir;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio_util::sync::CancellationToken;

use crate::answer::{Answer, Reason, Refusal};
use crate::metrics::Metrics;
use crate::request;
use crate::setup::{Limits, Setup};
use crate::tool::Tool;
use crate::worker::{self, Ended};

/// A place and a process that may run. Dropping it makes room for the next.
pub(crate) struct Turn<'a> {
    _worker: SemaphorePermit<'a>,
    _place: SemaphorePermit<'a>,
}

/// Answers requests by runs of the program.
#[derive(Debug)]
pub struct Service {
    setup: Setup,
    /// The folder of the runs' folders.
    scratch: TempDir,
    /// Places for all requests that wait or run.
    places: Semaphore,
    /// One for each process that may run.
    workers: Semaphore,
    pub(crate) metrics: Metrics,
    stopping: CancellationToken,
    ending: CancellationToken,
}

impl Service {
    /// A service that nobody has asked yet.
    ///
    /// # Errors
    ///
    /// There is no place for files of runs.
    pub fn new(setup: Setup) -> io::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("gpucast-serve-").tempdir()?;
        let places = Semaphore::new(setup.workers + setup.queue);
        let workers = Semaphore::new(setup.workers);
        let metrics = Metrics::new(setup.workers, setup.queue);
        let (stopping, ending) = (CancellationToken::new(), CancellationToken::new());
        Ok(Self { setup, scratch, places, workers, metrics, stopping, ending })
    }

    /// The limits of each request.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.setup.limits
    }

    /// The program that answers.
    pub(crate) fn program(&self) -> &std::path::Path {
        &self.setup.program
    }

    /// Answers a request.
    ///
    /// # Errors
    ///
    /// The reason why there is no answer.
    pub async fn answer(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
    ) -> Result<Answer, Refusal> {
        let seen = self.metrics.begin(tool.name);
        let outcome = self.answer_one(tool, arguments).await;
        seen.end(match &outcome {
            Ok(answer) if answer.document.is_some() => "answered",
            Ok(_) => "input",
            Err(refusal) => refusal.reason.word(),
        });
        outcome
    }

    async fn answer_one(
        &self,
        tool: &'static Tool,
        arguments: Map<String, Value>,
    ) -> Result<Answer, Refusal> {
        if self.stopping.is_cancelled() {
            return Err(Refusal::new(Reason::Stopping, "the server stops"));
        }
        let request = request::read(tool, arguments, &self.setup.limits)?;
        let _turn = self.turn().await?;
        let _busy = self.metrics.work();
        let (started, scratch) = (Instant::now(), self.scratch.path());
        // A process that somebody else has killed says nothing about its input, so a second one
        // tries. One that is killed again may be what brings others down.
        for is_second_try in [false, true] {
            match worker::run(&self.setup, scratch, tool, &request, &self.ending).await? {
                Ended::Answered(answer) => return Ok(Answer { is_second_try, ..*answer }),
                Ended::Killed => self.metrics.killed(),
            }
            if started.elapsed() > Duration::from_secs(request.seconds) {
                break;
            }
        }
        let message =
            "something outside killed the process of this request, and no second one answered";
        Err(Refusal::new(Reason::Killed, message))
    }

    /// Waits for a process that may run.
    pub(crate) async fn turn(&self) -> Result<Turn<'_>, Refusal> {
        let stops = || Refusal::new(Reason::Stopping, "the server stops");
        let Ok(place) = self.places.try_acquire() else {
            let waiting = self.setup.queue;
            let message = format!("{waiting} requests wait already; try again in a second");
            return Err(Refusal::new(Reason::Busy, message));
        };
        tokio::select! {
            worker = self.workers.acquire() => {
                Ok(Turn { _worker: worker.map_err(|_| stops())?, _place: place })
            }
            () = self.ending.cancelled() => Err(stops()),
        }
    }

    /// Takes no more requests. Those that wait or run go on.
    pub fn stop(&self) {
        self.stopping.cancel();
    }

    /// Returns once [`Service::stop`] was called.
    pub async fn stopped(&self) {
        self.stopping.cancelled().await;
    }

    /// Waits for all requests that are there, ends what is left after this time, and removes the
    /// files of runs.
    pub async fn finish(&self, patience: Duration) {
        let all = (self.setup.workers + self.setup.queue) as u32;
        if tokio::time::timeout(patience, self.places.acquire_many(all)).await.is_err() {
            self.ending.cancel();
            // Each of them ends its process and says so.
            let _ = self.places.acquire_many(all).await;
        }
        // A program that exits drops nothing. What is not there any more is no fault.
        let _ = std::fs::remove_dir_all(self.scratch.path());
    }
}

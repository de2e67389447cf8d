//! The engine of the classroom's page: a request in JSON becomes an answer in JSON.
//!
//! ```text
//! page ── request ──► Engine ──► place (files) ──► kept (counts) ──► tools ──► answer
//!                                                    forecast         render
//! ```
//!
//! The page has it as WebAssembly (`module`), and `gpucast serve` as a part of the program. Both
//! answer with the documents that the command line prints, so that numbers are equal to the last
//! digit.
//!
//! | module | idea |
//! |---|---|
//! | [`request`] | what can be asked |
//! | `place` | the texts of a request as files, of which the forecast's input is made |
//! | `opened` | a kernel with its module and its sources |
//! | `kept` | the counts of the last kernels, so that another GPU or picture executes nothing |
//! | `tools` | a function for each question |
//! | `module` | the functions that the page calls, where this is WebAssembly |

mod kept;
#[cfg(target_arch = "wasm32")]
mod module;
mod opened;
mod place;
pub mod request;
mod tools;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::compiler::Compiler;
use gpucast_forecast::{Failure, Report, Supervisor};
use gpucast_model::GpuLibrary;
use gpucast_render::diagnostic;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use kept::Kept;
use request::Request;

/// Hears how many of a launch's CTAs have run, and of how many.
pub type Progress = dyn Fn(u128, u128) + Sync;

/// Answers requests, and remembers the counts of the last kernels.
pub struct Engine {
    library: GpuLibrary,
    kept: Kept,
    /// Compiles CUDA, where there is somebody who does.
    compiler: Option<Arc<dyn Compiler>>,
    limits: Limits,
}

/// What a request may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The time of its executions.
    pub time: Duration,
    /// Bytes of a kernel's memory.
    pub bytes: u64,
}

impl Default for Limits {
    /// A minute, and 1 GiB.
    fn default() -> Self {
        Self { time: Duration::from_secs(60), bytes: 1 << 30 }
    }
}

/// What a request came to.
#[derive(Serialize)]
struct Answer {
    schema: &'static str,
    /// The document of the command line, or of the page alone.
    document: Option<Box<RawValue>>,
    /// What is wrong with the input.
    errors: Vec<Value>,
    /// What else is worth a word.
    notes: Vec<String>,
    /// What the kernel printed.
    printed: String,
}

impl Engine {
    /// An engine that nobody has asked yet.
    ///
    /// # Errors
    ///
    /// If a built-in GPU is at fault, which a test of `gpucast-model` rules out.
    pub fn new(limits: Limits, compiler: Option<Arc<dyn Compiler>>) -> Result<Self, Report> {
        let library = gpu_argument::library()?;
        Ok(Self { library, kept: Kept::default(), compiler, limits })
    }

    /// Answers a request. What is wrong with it is in the answer.
    pub fn answer(&mut self, request: &str, progress: &Progress) -> String {
        let listener = Listener::new(progress);
        let outcome = serde_json::from_str::<Request>(request)
            .map_err(|error| Failure::Usage(Report::new(format!("the request: {error}"))))
            .and_then(|request| tools::answer(self, &request, &listener));
        let (document, reports) = match outcome {
            Ok(document) => match RawValue::from_string(document) {
                Ok(document) => (Some(document), Vec::new()),
                Err(error) => (None, vec![Report::new(format!("the answer: {error}"))]),
            },
            Err(Failure::Input(reports)) => (None, reports),
            Err(Failure::Usage(report)) => (None, vec![report]),
            Err(Failure::Explained) => (None, vec![Report::new("the kernel came to a fault")]),
            Err(Failure::Stopped) => (None, vec![Report::new("the run was stopped")]),
        };
        let error = |report: &Report| {
            serde_json::from_str(&diagnostic::line_of_json(report)).unwrap_or_default()
        };
        let answer = Answer {
            schema: "gpucast.page-answer/1",
            document,
            errors: reports.iter().map(error).collect(),
            notes: taken(&listener.notes),
            printed: String::from_utf8_lossy(&taken(&listener.printed)).into_owned(),
        };
        // Strings and documents that were read as JSON can be written.
        serde_json::to_string(&answer).unwrap_or_default()
    }
}

fn taken<T: Default>(from: &Mutex<T>) -> T {
    std::mem::take(&mut *from.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Hears of a run on behalf of the page.
struct Listener<'a> {
    progress: &'a Progress,
    notes: Mutex<Vec<String>>,
    printed: Mutex<Vec<u8>>,
}

impl<'a> Listener<'a> {
    fn new(progress: &'a Progress) -> Self {
        Self { progress, notes: Mutex::default(), printed: Mutex::default() }
    }
}

/// Bytes that a kernel may print: more is nothing for a page.
const MOST_PRINTED: usize = 1 << 16;

impl Supervisor for Listener<'_> {
    fn note(&self, text: &str) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.iter().any(|note| note == text) {
            notes.push(text.to_owned());
        }
    }

    fn hears_notes(&self) -> bool {
        true
    }

    fn progress(&self, done: u128, ctas: u128) {
        (self.progress)(done, ctas);
    }

    fn print(&self, text: &[u8]) {
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let room = MOST_PRINTED.saturating_sub(printed.len());
        printed.extend_from_slice(&text[..text.len().min(room)]);
    }
}

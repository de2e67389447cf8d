//! What comes back: the program's document, or the reason why there is none.

use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// The name and version of the document of an answer.
pub(crate) const SCHEMA: &str = "gpucast.answer/1";

/// A run of the program that came to its end.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The name and version of the document.
    pub schema: &'static str,
    /// The tool that was asked.
    pub tool: &'static str,
    /// The exit status of the program: 0 done, 1 the input is at fault, 2 wrong usage; those of
    /// verdicts are 0, 10, 11, 12 and 13.
    pub status: i32,
    /// The document that the command line prints with `--format json`, to the last digit.
    pub document: Option<Box<RawValue>>,
    /// What is wrong with the input.
    pub errors: Vec<Value>,
    /// What the kernel's `printf` printed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub printed: String,
    /// What else the program said.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notes: String,
    /// What the system held back from the process.
    pub confinement: Confinement,
    /// Seconds from the start of the process to its end.
    pub seconds: f64,
    /// True if a first process was killed by somebody else, and this is a second one's answer.
    pub is_second_try: bool,
}

/// What the system held back from a process.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Confinement {
    /// Its limit of time.
    pub time_limit_s: u64,
    /// Its limit of memory, for a run.
    pub memory_limit_bytes: u64,
    /// True if the system holds these limits.
    pub holds_limits: bool,
    /// True if it holds back files that the run does not need.
    pub holds_files: bool,
    /// True if it holds back the network.
    pub holds_network: bool,
}

impl Answer {
    /// The answer as JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Strings, numbers and documents that were read as JSON can be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// Reason why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The request is not what the tool takes.
    Request,
    /// The token is missing or wrong.
    Unauthorized,
    /// There is no such tool, resource or address.
    Unknown,
    /// The address does not take this method.
    Method,
    /// The request is too long.
    TooLong,
    /// The queue is full.
    Busy,
    /// The run did not end in time, and was ended.
    PastLimit,
    /// Something else ended the process, and so the second one.
    Killed,
    /// The process ended without an answer: mostly memory beyond its limit.
    Crashed,
    /// The answer is longer than a message may be.
    AnswerTooLong,
    /// The server stops.
    Stopping,
    /// The server cannot start the program.
    Server,
}

impl Reason {
    /// The status of HTTP.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Request => 400,
            Self::Unauthorized => 401,
            Self::Unknown => 404,
            Self::Method => 405,
            Self::TooLong => 413,
            Self::Busy => 429,
            Self::Killed | Self::Crashed | Self::AnswerTooLong | Self::Server => 500,
            Self::Stopping => 503,
            Self::PastLimit => 504,
        }
    }

    /// The word for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Unauthorized => "unauthorized",
            Self::Unknown => "unknown",
            Self::Method => "method",
            Self::TooLong => "too-long",
            Self::Busy => "busy",
            Self::PastLimit => "past-limit",
            Self::Killed => "killed",
            Self::Crashed => "crashed",
            Self::AnswerTooLong => "answer-too-long",
            Self::Stopping => "stopping",
            Self::Server => "server",
        }
    }

    /// All reasons that a tool's request can be refused for.
    pub(crate) const OF_TOOLS: [Self; 11] = [
        Self::Request,
        Self::Unauthorized,
        Self::Method,
        Self::TooLong,
        Self::Busy,
        Self::PastLimit,
        Self::Killed,
        Self::Crashed,
        Self::AnswerTooLong,
        Self::Stopping,
        Self::Server,
    ];
}

/// A request without an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Why.
    pub reason: Reason,
    /// The same in a sentence.
    pub message: String,
}

impl Refusal {
    /// A refusal.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }

    pub(crate) fn request(message: impl Into<String>) -> Self {
        Self::new(Reason::Request, message)
    }

    /// The refusal as JSON.
    #[must_use]
    pub fn to_json(&self) -> Value {
        serde_json::json!({
            "schema": "gpucast.refusal/1",
            "reason": self.reason.word(),
            "message": self.message,
        })
    }
}

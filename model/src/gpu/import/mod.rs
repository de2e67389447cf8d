//! Reads GPUs from the output of benchmarks and samples.
//!
//! | format | source | gives |
//! |---|---|---|
//! | [`Format::DeviceQuery`] | `deviceQuery` | name, capability, SMs, clock, L2, memory, limits |
//! | [`Format::Mixbench`] | mixbench | arithmetic throughputs, memory bandwidth, device data |
//! | [`Format::Gpumembench`] | gpumembench | cache and shared-memory bandwidths, loads and stores |
//! | [`Format::Ert`] | `roofline.json` | throughputs, L1, L2 and memory bandwidths |
//!
//! `deviceQuery` is a CUDA sample. mixbench (CUDA, HIP, OpenCL) prints its table as CSV, with its
//! device specifications. gpumembench's programs are `cachebench` and `shmembench`. `roofline.json`
//! is a file of the Empirical Roofline Toolkit.
//!
//! [`Imported::merge`] combines the figures of several files about one GPU.

mod device_query;
mod ert;
mod gpumembench;
mod mixbench;
mod specifications;

use gpucast_counters::import::Position;
use thiserror::Error;

use super::description::Gpu;
use super::quantity::Raw;
use super::source::Source;

/// The program whose output a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// The CUDA sample `deviceQuery`.
    DeviceQuery,
    /// mixbench.
    Mixbench,
    /// gpumembench's `cachebench`, `shmembench` and `constbench`.
    Gpumembench,
    /// The Empirical Roofline Toolkit's `roofline.json`.
    Ert,
}

impl Format {
    /// The program that a text comes from, by marks that only it leaves.
    #[must_use]
    pub fn of(text: &str) -> Option<Self> {
        if text.trim_start().starts_with('{') {
            Some(Self::Ert)
        } else if text.contains("Compute iters,") {
            Some(Self::Mixbench)
        } else if ["cachebench", "shmembench", "constbench"].iter().any(|name| text.contains(name))
        {
            Some(Self::Gpumembench)
        } else if text.contains("CUDA Capability Major/Minor version number") {
            Some(Self::DeviceQuery)
        } else {
            None
        }
    }
}

/// The facts that the text itself does not give.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format; found out if it is not given.
    pub format: Option<Format>,
    /// The GPU's name on the command line; made of the device's name if it is not given.
    pub name: Option<String>,
    /// The device, if several are listed; the first if it is not given.
    pub device: Option<usize>,
    /// The text's name in sources: a file's name.
    pub origin: String,
}

/// A GPU as far as a text tells of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The GPU.
    pub gpu: Gpu,
    /// The figures that were left out or chosen, with reasons.
    pub notes: Vec<String>,
    /// The device's name, if the text has it.
    device: Option<String>,
}

/// The reason why a text could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{position}: {problem}")]
pub struct ImportError {
    /// The position in the text.
    pub position: Position,
    /// The fault there.
    pub problem: ImportProblem,
}

/// A fault of a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ImportProblem {
    /// No known format.
    #[error(
        "this is not the output of mixbench, gpumembench or deviceQuery, nor a roofline.json of the ERT"
    )]
    UnknownFormat,
    /// JSON that is none, or not of the shape.
    #[error("this is not a roofline.json of the ERT: {message}")]
    Json {
        /// The fault.
        message: String,
    },
    /// A part that the format must have.
    #[error("there is no {what}")]
    Missing {
        /// The part.
        what: &'static str,
    },
    /// A value that cannot be read.
    #[error("`{text}` is not {what}")]
    Unreadable {
        /// The text as it was written.
        text: String,
        /// The form that was expected.
        what: &'static str,
    },
    /// A device that is not in the list.
    #[error("there is no device {device}; the text lists {count}")]
    NoDevice {
        /// The device asked for.
        device: usize,
        /// The number of devices.
        count: usize,
    },
    /// No name was printed, none was given.
    #[error("the text does not name the GPU; give it a name")]
    Nameless,
    /// A name that cannot be typed.
    #[error("`{name}` is not a GPU name; names are lower case with dashes, such as `gtx-480`")]
    BadName {
        /// The name.
        name: String,
    },
    /// Figures of something else.
    #[error("{0}")]
    NotAGpu(&'static str),
    /// A figure that no GPU can have.
    #[error("the value {value} of `{field}` is impossible: {why}")]
    Impossible {
        /// The field.
        field: &'static str,
        /// The value in the field's first unit.
        value: String,
        /// The reason.
        why: &'static str,
    },
    /// Files of two GPUs.
    #[error("these are two GPUs: `{one}` and `{other}`")]
    TwoGpus {
        /// The first.
        one: String,
        /// The second.
        other: String,
    },
}

/// Reads a GPU from the output of a benchmark or sample.
///
/// # Errors
///
/// If the format is not known, parts of it are missing or unreadable, a figure is impossible, or
/// the GPU has no name.
pub fn read(text: &str, options: &Options) -> Result<Imported, ImportError> {
    let format = options
        .format
        .or_else(|| Format::of(text))
        .ok_or_else(|| at_start(ImportProblem::UnknownFormat))?;
    let mut draft = Draft::new(&options.origin);
    match format {
        Format::DeviceQuery => device_query::read(text, options.device, &mut draft)?,
        Format::Mixbench => mixbench::read(text, &mut draft)?,
        Format::Gpumembench => gpumembench::read(text, &mut draft)?,
        Format::Ert => ert::read(text, &mut draft)?,
    }
    draft.finish(options.name.as_deref())
}

impl Imported {
    /// Combines the figures of two texts about one GPU. Measured figures win over printed ones;
    /// otherwise the first text wins.
    ///
    /// # Errors
    ///
    /// If the texts name two GPUs.
    pub fn merge(mut self, other: Self) -> Result<Self, ImportError> {
        if let (Some(one), Some(second)) = (&self.device, &other.device)
            && one != second
        {
            let (one, other) = (one.clone(), second.clone());
            return Err(at_start(ImportProblem::TwoGpus { one, other }));
        }
        if self.device.is_none() && other.device.is_some() {
            self.gpu.display_name = other.gpu.display_name.clone();
            self.device = other.device;
        }
        let is_measured =
            |gpu: &Gpu, field| gpu.figure(field).is_some_and(|f| f.source.kind() == "benchmark");
        for field in Gpu::FIELDS {
            let Some(figure) = other.gpu.figure(field) else { continue };
            let known = self.gpu.figure(field).is_some();
            if known && (is_measured(&self.gpu, field) || !is_measured(&other.gpu, field)) {
                continue;
            }
            // It was possible in the other GPU.
            let _ = self.gpu.put(field, figure.value.raw(), figure.source.clone());
        }
        for note in other.notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        Ok(self)
    }
}

/// A GPU in the making.
struct Draft<'a> {
    gpu: Gpu,
    notes: Vec<String>,
    device: Option<String>,
    origin: &'a str,
}

impl<'a> Draft<'a> {
    fn new(origin: &'a str) -> Self {
        Self { gpu: Gpu::named("", ""), notes: Vec::new(), device: None, origin }
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// The source of a figure that a program printed of the hardware.
    fn printed(&self, by: &str) -> Source {
        Source::Datasheet(format!("printed by {by}: {}", self.origin).into())
    }

    /// The source of a figure that a program measured.
    fn measured(&self, by: &str) -> Source {
        Source::Benchmark(format!("{by}: {}", self.origin).into())
    }

    /// Sets a field that is not set yet.
    fn set(
        &mut self,
        field: &'static str,
        raw: Raw<'_>,
        source: Source,
        line: usize,
    ) -> Result<(), ImportError> {
        if self.gpu.figure(field).is_some() {
            return Ok(());
        }
        self.gpu.put(field, raw, source).map_err(|why| {
            let value = match raw {
                Raw::Number(number) => number.to_string(),
                Raw::Text(text) => format!("\"{text}\""),
            };
            at_line(line, ImportProblem::Impossible { field, value, why })
        })
    }

    /// The device's name as it was printed.
    fn named(&mut self, device: &str) {
        self.device.get_or_insert_with(|| device.to_owned());
    }

    fn finish(mut self, name: Option<&str>) -> Result<Imported, ImportError> {
        let device = self.device.clone();
        let name = match (name, &device) {
            (Some(name), _) => name.to_owned(),
            (None, Some(device)) => slug(device),
            (None, None) => return Err(at_start(ImportProblem::Nameless)),
        };
        if !super::parse::is_name(&name) {
            return Err(at_start(ImportProblem::BadName { name }));
        }
        self.gpu.display_name = device.clone().unwrap_or_else(|| name.clone());
        self.gpu.name = name;
        Ok(Imported { gpu: self.gpu, notes: self.notes, device })
    }
}

/// `NVIDIA GeForce GTX 1060 6GB` as `gtx-1060-6gb`.
fn slug(device: &str) -> String {
    let lower = device.to_lowercase();
    let words = lower.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| {
        !word.is_empty() && !["nvidia", "geforce", "amd", "radeon", "tm", "r"].contains(word)
    });
    words.collect::<Vec<_>>().join("-")
}

fn at_start(problem: ImportProblem) -> ImportError {
    ImportError { position: Position::START, problem }
}

/// Lines count from 1.
fn at_line(line: usize, problem: ImportProblem) -> ImportError {
    ImportError { position: Position { line, column: 1 }, problem }
}

/// Lines with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().map(|(index, line)| (index + 1, line))
}

/// The number that a text begins with, after blanks: `1708 MHz`, `192-bit`.
fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The number that a labelled value begins with.
fn number(value: &str, line: usize) -> Result<f64, ImportError> {
    leading_number(value).ok_or_else(|| {
        let text = value.trim().to_owned();
        at_line(line, ImportProblem::Unreadable { text, what: "a number" })
    })
}

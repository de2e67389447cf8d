//! Settings of an execution, as the Python side writes them down.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gpucast_forecast::settings::{ExecutionSettings, MachineChoice, MachineSettings};
use gpucast_forecast::{Failure, Report, failure};
use gpucast_interpreter::Options;
use pyo3::prelude::*;

/// Settings of an execution: attributes of `gpucast._settings.Settings`.
#[derive(Clone, FromPyObject)]
pub(crate) struct Settings {
    /// Origin of machine instructions: `auto`, `ptxas`, `rules` or `none`.
    machine: String,
    /// The architecture of the machine code, such as `sm_90`.
    machine_target: Option<String>,
    /// The assembler, if it is not to be looked for.
    ptxas: Option<PathBuf>,
    /// Registers of a thread, if they are stated.
    registers: Option<u32>,
    /// Warp instructions after which a launch is given up as endless.
    budget: Option<u64>,
    /// Seconds after which launches are given up. A sample ends with what was executed by then.
    time_limit: Option<f64>,
    /// Threads of the CPU; by default one for each core.
    pub(crate) threads: Option<usize>,
    /// The folders of Python's packages, where NVIDIA's tools may be.
    pub(crate) packages: Vec<PathBuf>,
}

/// The words for origins of machine instructions.
const MACHINES: [(&str, MachineChoice); 4] = [
    ("auto", MachineChoice::Auto),
    ("ptxas", MachineChoice::Ptxas),
    ("rules", MachineChoice::Rules),
    ("none", MachineChoice::None),
];

impl Settings {
    /// The way in which PTX becomes machine instructions.
    pub(crate) fn machine(&self) -> Result<MachineSettings, Failure> {
        let target =
            self.machine_target.as_deref().map(gpucast_forecast::run::machine::read_target);
        let target = target.transpose().map_err(|error| Failure::Usage(Report::new(error)))?;
        Ok(MachineSettings {
            machine: chosen("machine", &self.machine, &MACHINES)?,
            machine_target: target,
            ptxas: self.ptxas.clone(),
            registers: self.stated_registers()?,
        })
    }

    /// The registers that are stated: as many as a thread can have on any GPU.
    fn stated_registers(&self) -> Result<Option<u32>, Failure> {
        match self.registers {
            Some(registers) if !(1..=255).contains(&registers) => {
                let message = format!("registers: {registers} is none of 1 to 255");
                Err(Failure::Usage(Report::new(message)))
            }
            registers => Ok(registers),
        }
    }

    /// Limits of launches; the time begins to run now.
    pub(crate) fn execution(&self) -> Result<ExecutionSettings, Failure> {
        let wrong = |message: &str| Failure::Usage(Report::new(message));
        let default = Options::default();
        let limit = self.time_limit.map(Duration::try_from_secs_f64).transpose();
        let limit = limit.map_err(|_| wrong("--time-limit is a number of seconds"))?;
        let budget = self.budget.unwrap_or(default.instruction_budget);
        if budget == 0 {
            return Err(wrong("--budget is a number of warp instructions, and at least one"));
        }
        let options = Options {
            instruction_budget: budget,
            deadline: limit.and_then(|limit| Instant::now().checked_add(limit)),
            ..default
        };
        Ok(ExecutionSettings { options, ..ExecutionSettings::default() })
    }
}

/// The value of a word, or a complaint that names those that are known.
pub(crate) fn chosen<T: Copy>(
    option: &str,
    word: &str,
    known: &[(&'static str, T)],
) -> Result<T, Failure> {
    let found = known.iter().find(|(name, _)| *name == word);
    found.map(|&(_, value)| value).ok_or_else(|| {
        let report = Report::new(format!("`{word}` is no value of {option}="));
        let names = known.iter().map(|&(name, _)| name);
        Failure::Usage(report.maybe_hint(failure::suggest(word, names)))
    })
}

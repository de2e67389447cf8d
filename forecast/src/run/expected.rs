//! The buffers after the last launch beside what their launch file expects.

use std::collections::BTreeMap;

use gpucast_buffers::corpus_values;
use gpucast_corpus::reference::{self, Inputs, Outputs, Values};
use gpucast_interpreter::DeviceMemory;

use crate::failure::Report;
use crate::input::expectation::{Comparison, compare};
use crate::input::plan::{Against, Expectation, Plan};
use crate::input::reference_values;

/// An expectation and how it turned out.
#[derive(Debug)]
pub struct Compared {
    /// Name of the buffer.
    pub buffer: String,
    /// The origin of the expected values, in words.
    pub against: String,
    /// Relative tolerance.
    pub rtol: f64,
    /// Absolute tolerance, in the unit of the values.
    pub atol: f64,
    /// Result of the comparison.
    pub comparison: Comparison,
}

impl Compared {
    /// True if all elements are as expected.
    #[must_use]
    pub fn agrees(&self) -> bool {
        self.comparison.mismatches == 0
    }
}

/// What a launch file expects of its buffers.
pub struct Expected<'a> {
    plan: &'a Plan,
    /// The buffers before the first launch, kept only if a reference will need them.
    before: Option<BTreeMap<String, Values>>,
}

impl<'a> Expected<'a> {
    /// To be called before the first launch, which changes what references start from.
    #[must_use]
    pub fn of(plan: &'a Plan, memory: &DeviceMemory) -> Self {
        let needs_before = |one: &Expectation| matches!(one.against, Against::Reference(_));
        let needed = plan.expectations.iter().any(needs_before);
        Self { plan, before: needed.then(|| reference_values::buffers(plan, memory)) }
    }

    /// Compares the buffers after the last launch.
    ///
    /// # Errors
    ///
    /// Expected values that cannot be read, or are of another size; references that do not describe
    /// the launch.
    pub fn compared(&self, memory: &DeviceMemory) -> Result<Vec<Compared>, Report> {
        let compared = |expectation| self.compare(expectation, memory);
        self.plan.expectations.iter().map(compared).collect()
    }

    fn compare(
        &self,
        expectation: &Expectation,
        memory: &DeviceMemory,
    ) -> Result<Compared, Report> {
        let buffer = &self.plan.buffers[expectation.buffer];
        let got = memory.bytes(&buffer.name).unwrap_or_default();
        let at_fault = |message: String| Report::new(message).at(&expectation.anchor);
        let (want, against) = match &expectation.against {
            Against::Contents(contents) => {
                let mut want = vec![0; got.len()];
                contents
                    .fill(buffer.ty, &mut want, &self.plan.folder)
                    .map_err(|error| at_fault(error.to_string()))?;
                (want, "the expected values".to_owned())
            }
            Against::Reference(name) => {
                let mut outputs = self
                    .compute(name)
                    .map_err(|error| at_fault(format!("the reference {name}: {error}")))?;
                let values = outputs.remove(&buffer.name).ok_or_else(|| {
                    at_fault(format!("the reference {name} says nothing of buffer {}", buffer.name))
                })?;
                (corpus_values::bytes(&values), format!("the reference {name}"))
            }
        };
        if want.len() != got.len() {
            return Err(at_fault(format!(
                "buffer {} has {} bytes, but {against} has {}",
                buffer.name,
                got.len(),
                want.len()
            )));
        }
        let Expectation { rtol, atol, .. } = *expectation;
        Ok(Compared {
            buffer: buffer.name.clone(),
            against,
            rtol,
            atol,
            comparison: compare(buffer.ty, got, &want, rtol, atol),
        })
    }

    /// Computes the outputs of the launch by the reference of this name.
    fn compute(&self, name: &str) -> Result<Outputs, String> {
        let reference =
            reference::reference(name).ok_or_else(|| format!("there is no reference {name}"))?;
        let launches = self.plan.launches.as_slice();
        let Some(launch) = launches.first().filter(|_| launches.len() == reference.launches())
        else {
            let launches = reference.launches();
            return Err(format!("it describes a file with as many [[launch]] as {launches}"));
        };
        let none = BTreeMap::new();
        let arguments =
            launches.iter().map(|launch| reference_values::arguments(self.plan, launch));
        let arguments = arguments.collect::<Result<Vec<_>, _>>()?.concat();
        let inputs = Inputs {
            kernel: &launch.kernel,
            grid: launch.grid,
            block: launch.block,
            repeat: launch.repeat,
            args: &arguments,
            buffers: self.before.as_ref().unwrap_or(&none),
        };
        (reference.run)(&inputs).map_err(|error| error.to_string())
    }
}

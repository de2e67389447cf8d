//! Buffers and arguments in the form that the corpus' references work on.

use std::collections::BTreeMap;

use gpucast_buffers::corpus_values;
use gpucast_corpus::reference::{Argument, Values};
use gpucast_interpreter::DeviceMemory;

use super::plan::{Plan, PlannedArgument, PlannedLaunch, Pointer};

/// Every buffer whose type the references know.
pub fn buffers(plan: &Plan, memory: &DeviceMemory) -> BTreeMap<String, Values> {
    plan.buffers
        .iter()
        .filter_map(|buffer| {
            let bytes = memory.bytes(&buffer.name)?;
            Some((buffer.name.clone(), corpus_values::values(buffer.ty, bytes)?))
        })
        .collect()
}

/// The arguments of a launch.
pub fn arguments(plan: &Plan, launch: &PlannedLaunch) -> Result<Vec<Argument>, String> {
    launch
        .arguments
        .iter()
        .map(|argument| match argument {
            PlannedArgument::Pointer(Pointer { buffer, offset: 0 }) => {
                Ok(Argument::Buffer(plan.buffers[*buffer].name.clone()))
            }
            PlannedArgument::Pointer(_) => {
                Err("references know no pointers behind a buffer's beginning".to_owned())
            }
            PlannedArgument::Scalar { ty, bits } => corpus_values::scalar(*ty, *bits)
                .map(Argument::Scalar)
                .ok_or_else(|| format!("references know no scalars of type {}", ty.name())),
            PlannedArgument::Structure(structure) => structure
                .only_buffer()
                .map(|buffer| Argument::Buffer(plan.buffers[buffer].name.clone()))
                .ok_or_else(|| "of structures references know tensor maps alone".to_owned()),
        })
        .collect()
}

//! The buffers that a launch's arguments and a module's variables lead to.

use std::collections::HashMap;

use gpucast_ptx_frontend::module::{Variable, VariableId};

use super::setup::{allocation_name, parameter_block};
use crate::launch::{Launch, LaunchError};
use crate::memory::DeviceMemory;
use crate::program::{Program, Reach, Slicer};

/// The values of a launch from which addresses are made.
pub(super) struct Pointers<'a> {
    pub(super) program: &'a Program,
    /// Addresses of the module's variables.
    pub(super) globals: &'a HashMap<VariableId, u64>,
    /// The kernel's parameters as they lie in memory.
    pub(super) parameters: &'a [u8],
    pub(super) memory: &'a DeviceMemory,
}

impl Pointers<'_> {
    /// The buffers that a variable leads to: itself, or those that a parameter's bytes hold the
    /// address of. `None` if it may be any.
    pub(super) fn buffers_of(&self, variable: VariableId) -> Option<Vec<usize>> {
        let Self { program, memory, .. } = *self;
        if let Some(&address) = self.globals.get(&variable) {
            return memory.allocation_at(address).map(|at| vec![at]);
        }
        // Variables in which calls pass values hold the values put there.
        let parameter = program.parameters.iter().find(|parameter| parameter.variable == variable);
        let Some(parameter) = parameter else { return Some(Vec::new()) };
        let width = usize::from(program.address_bits / 8);
        let from = parameter.offset as usize;
        let bytes = self.parameters.get(from..from + parameter.bytes as usize)?;
        let mut found = Vec::new();
        for word in (0..bytes.len()).step_by(4).filter_map(|at| bytes.get(at..at + width)) {
            let mut value = [0; 8];
            value[..width].copy_from_slice(word);
            let address = u64::from_le_bytes(value);
            match memory.allocation_at(address) {
                Some(at) => found.push(at),
                // Not in a buffer, but near one: the kernel may add to it.
                None if memory.is_near_a_buffer(address) => return None,
                None => {}
            }
        }
        Some(found)
    }
}

impl Slicer<'_> {
    /// The buffers that the program's variables lead to in a launch. `memory` holds or reserves
    /// all of them, the module's variables too ([`prepare`](super::prepare)).
    ///
    /// # Errors
    ///
    /// [`LaunchError`] if the arguments do not fit the kernel's parameters.
    pub fn reach(&self, launch: &Launch, memory: &DeviceMemory) -> Result<Reach, LaunchError> {
        let program = self.program();
        let parameters = parameter_block(program, &launch.arguments)?;
        let address = |(id, variable): &(VariableId, Variable)| {
            let address = match &program.addresses {
                Some(addresses) => addresses.get(id).copied(),
                None => memory.address(&allocation_name(variable)),
            };
            Some((*id, address?))
        };
        let globals = program.globals.iter().filter_map(address).collect();
        let pointers = Pointers { program, globals: &globals, parameters: &parameters, memory };
        let of_variable = self.variables.iter().map(|&variable| pointers.buffers_of(variable));
        Ok(Reach { of_variable: of_variable.collect() })
    }
}

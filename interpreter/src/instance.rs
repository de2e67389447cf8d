//! A module that a host program has loaded: its variables at fixed places in device memory.
//!
//! Without an instance, [`run`](crate::run) gives each variable a buffer of its name, and constant
//! memory has its initial contents in every launch. A host program may load several modules with
//! equal names, and it copies to variables between launches. An instance has an address for each
//! variable, those of constant memory among them. A launch of a program that is
//! [in the instance](crate::Program::in_instance) takes constants from there.

use std::collections::HashMap;
use std::sync::Arc;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::module::{InitializerValue, Linkage, Variable, VariableId};
use gpucast_ptx_frontend::types::StateSpace;

use crate::launch::LaunchError;
use crate::memory::{AddressRange, DeviceMemory};
use crate::program::Program;
use crate::program::lower::{function_address, masked, place, window_of, write};
use crate::program::memory_op::Space;

/// The places of a module's global and constant variables in device memory.
#[derive(Clone, Debug, Default)]
pub struct ModuleInstance {
    addresses: Arc<HashMap<VariableId, u64>>,
}

impl ModuleInstance {
    /// Allocates and initialises all variables of `module`: those of global memory first.
    ///
    /// # Errors
    ///
    /// [`LaunchError`] if memory does not suffice, or an initial value is not known. Nothing stays
    /// allocated then.
    pub fn load(module: &Module, memory: &mut DeviceMemory) -> Result<Self, LaunchError> {
        let mut instance = Self::default();
        match instance.fill(module, memory) {
            Ok(()) => Ok(instance),
            Err(error) => {
                instance.unload(memory);
                Err(error)
            }
        }
    }

    fn fill(&mut self, module: &Module, memory: &mut DeviceMemory) -> Result<(), LaunchError> {
        let variables = || module.variables.iter().enumerate();
        let of_space = |space| variables().filter(move |(_, one)| is_stored(one, space));
        for (index, variable) in of_space(StateSpace::Global).chain(of_space(StateSpace::Const)) {
            let label = format!("module variable {}", variable.name);
            let address = memory.allocate_labelled(&label, variable.size_bytes)?;
            Arc::make_mut(&mut self.addresses).insert(VariableId(index as u32), address);
        }
        let constants = constant_addresses(module);
        for (index, variable) in variables() {
            let Some(&address) = self.addresses.get(&VariableId(index as u32)) else { continue };
            let mut contents = vec![0; variable.size_bytes as usize];
            for item in &variable.initializer {
                let (bytes, width) = match &item.value {
                    InitializerValue::Bytes(bytes) => (bytes.to_vec(), bytes.len()),
                    InitializerValue::Function { function, width, mask } => {
                        let value = masked(function_address(*function), mask.unwrap_or(u64::MAX));
                        (value.to_le_bytes().to_vec(), usize::from(*width))
                    }
                    InitializerValue::Variable {
                        variable: target,
                        addend,
                        generic,
                        width,
                        mask,
                    } => {
                        let is_global =
                            module.variables[target.index()].space == StateSpace::Global;
                        let known = match is_global {
                            true => self.addresses.get(target).copied(),
                            false => constants.get(target).map(|offset| {
                                offset + if *generic { window_of(Space::Const) } else { 0 }
                            }),
                        };
                        let address = known.ok_or_else(|| LaunchError::Initializer {
                            variable: variable.name.clone(),
                        })?;
                        let address = address.wrapping_add_signed(*addend);
                        let value = masked(address, mask.unwrap_or(u64::MAX));
                        (value.to_le_bytes().to_vec(), usize::from(*width))
                    }
                };
                write(&mut contents, item.offset, &bytes[..width.min(bytes.len())]);
            }
            if let Some(place) = memory.slice_mut(address, variable.size_bytes) {
                place.copy_from_slice(&contents);
            }
        }
        Ok(())
    }

    /// Frees the variables and returns the ranges that they had.
    pub fn unload(self, memory: &mut DeviceMemory) -> Vec<AddressRange> {
        // Only a host program that freed a variable itself makes this fail; then nothing is left.
        self.addresses.values().filter_map(|&address| memory.free(address).ok()).collect()
    }

    /// The device address of a variable; `None` if it is in neither global nor constant memory, or
    /// defined elsewhere.
    #[must_use]
    pub fn address(&self, variable: VariableId) -> Option<u64> {
        self.addresses.get(&variable).copied()
    }
}

impl Program {
    /// This program with its module's variables where `instance` has them. Constant memory has the
    /// contents that they have when a launch begins.
    #[must_use]
    pub fn in_instance(self, instance: &ModuleInstance) -> Self {
        Self { addresses: Some(Arc::clone(&instance.addresses)), ..self }
    }
}

/// Returns true if the module gives the variable a place in `space`.
fn is_stored(variable: &Variable, space: StateSpace) -> bool {
    variable.space == space && variable.linkage != Linkage::Extern
}

/// The offset of each variable in constant memory, as the layout of every kernel has it. Empty if
/// functions declare constants: then kernels differ.
fn constant_addresses(module: &Module) -> HashMap<VariableId, u64> {
    let constants = || {
        let all = module.variables.iter().enumerate();
        all.filter(|(_, variable)| variable.space == StateSpace::Const)
    };
    if constants().any(|(_, variable)| variable.function.is_some()) {
        return HashMap::new();
    }
    let mut end = 0;
    constants()
        .map(|(index, variable)| {
            (VariableId(index as u32), place(&mut end, variable.size_bytes, variable.align))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Argument, Launch, NoObserver, Options, Silent, run};

    const TEXT: &str = "
        .version 7.0
        .target sm_70
        .address_size 64
        .const .align 4 .u32 factor = 3;
        .global .align 4 .u32 offset = 100;
        .const .align 8 .u64 pointer = generic(offset);
        .visible .entry scale(.param .u64 out)
        {
            .reg .u32 %r<5>;
            .reg .u64 %rd<3>;
            ld.param.u64 %rd1, [out];
            ld.const.u32 %r1, [factor];
            ld.const.u64 %rd2, [pointer];
            ld.u32 %r2, [%rd2];
            mad.lo.u32 %r3, %r1, 7, %r2;
            st.global.u32 [%rd1], %r3;
            add.u32 %r2, %r2, 1;
            st.global.u32 [offset], %r2;
            ret;
        }";

    fn variable(module: &Module, name: &str) -> VariableId {
        let at = module.variables.iter().position(|variable| variable.name == name);
        VariableId(at.unwrap() as u32)
    }

    fn launched(program: &Program, memory: &mut DeviceMemory) -> u32 {
        let out = memory.address("out").unwrap();
        let launch = Launch {
            grid: [1; 3],
            block: [1; 3],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments: vec![Argument::Address(out)],
        };
        let options = Options::default();
        run(program, &launch, memory, &mut NoObserver, &options, &Silent).unwrap();
        u32::from_le_bytes(memory.slice(out, 4).unwrap().try_into().unwrap())
    }

    #[test]
    fn copies_to_variables_reach_the_kernels_of_their_own_instance() {
        let module = gpucast_ptx_frontend::load(TEXT).unwrap();
        let mut memory = DeviceMemory::new();
        memory.allocate("out", 4).unwrap();
        let first = ModuleInstance::load(&module, &mut memory).unwrap();
        let second = ModuleInstance::load(&module, &mut memory).unwrap();
        let [one, two] = [&first, &second]
            .map(|instance| Program::new(&module, TEXT, "scale").unwrap().in_instance(instance));
        assert_eq!(launched(&one, &mut memory), 3 * 7 + 100);
        assert_eq!(launched(&one, &mut memory), 3 * 7 + 101);
        let factor = first.address(variable(&module, "factor")).unwrap();
        memory.slice_mut(factor, 4).unwrap().copy_from_slice(&5_u32.to_le_bytes());
        assert_eq!(launched(&one, &mut memory), 5 * 7 + 102);
        assert_eq!(launched(&two, &mut memory), 3 * 7 + 100);
        let offset = second.address(variable(&module, "offset")).unwrap();
        assert_eq!(memory.slice(offset, 4), Some(&101_u32.to_le_bytes()[..]));
        let buffers = memory.buffers().count();
        assert_eq!(second.unload(&mut memory).len(), 3);
        assert_eq!(memory.buffers().count(), buffers - 3);
    }
}

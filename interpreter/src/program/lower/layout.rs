//! Places of variables: offsets in shared, local, constant and parameter memory.

use std::collections::HashMap;

use gpucast_ptx_frontend::module::{
    Formal, FunctionId, InitializerItem, InitializerValue, Linkage, Module, VariableId,
};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::memory_op::{Space, window};
use super::super::registers::ConstantValue;
use super::super::{ConstantVariable, PlacedVariable};
use super::call_graph::CallGraph;

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelParameter {
    pub(crate) variable: VariableId,
    pub(crate) offset: u64,
}

/// The place of each variable that a kernel can reach.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    places: HashMap<VariableId, VariablePlace>,
    pub(crate) parameters: Vec<KernelParameter>,
    pub(crate) parameter_bytes: u64,
    pub(crate) shared_static_bytes: u64,
    /// Local memory of one thread without its stack.
    pub(crate) local_bytes: u64,
    /// Offset of the argument area in local memory.
    pub(crate) area: u64,
    /// Bytes of the frame of each function that has one.
    frames: HashMap<FunctionId, u64>,
    pub(crate) constant: Vec<u8>,
    pub(crate) constant_addresses: Vec<ConstantAddress>,
    /// Module-scope `.global` variables.
    pub(crate) globals: Vec<VariableId>,
}

/// An address in constant memory that is known only when global variables have been allocated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConstantAddress {
    /// Offset in constant memory.
    pub(crate) offset: u64,
    pub(crate) width: u8,
    pub(crate) variable: VariableId,
    pub(crate) addend: i64,
    /// Mask of the bytes of the address that are meant.
    pub(crate) mask: u64,
}

/// The most local memory of a thread (CUDA programming guide, technical specifications).
const MAX_LOCAL_BYTES: u64 = 512 << 10;
/// The most parameters of a kernel (manual, section 5.1.6.1).
const MAX_PARAMETER_BYTES: u64 = 32_764;
/// Ten banks of 64 KiB (manual, section 5.1.3).
const MAX_CONSTANT_BYTES: u64 = 640 << 10;

/// A variable's space and offset in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VariablePlace {
    pub(crate) space: Space,
    /// From the start of the space, or of the function's frame.
    pub(crate) offset: u64,
    /// True if the variable lives in its function's frame.
    pub(crate) framed: bool,
}

impl VariablePlace {
    const fn fixed(space: Space, offset: u64) -> Self {
        Self { space, offset, framed: false }
    }
}

/// Returns a function's address. Nothing lies in its window, so loads and stores through it fault.
pub(crate) const fn function_address(function: FunctionId) -> u64 {
    window::CODE + (function.0 as u64 + 1) * FUNCTION_STRIDE
}

/// The function at an address, if it is one.
pub(crate) const fn function_at(address: u64) -> Option<u64> {
    let offset = address.wrapping_sub(window::CODE);
    if offset.is_multiple_of(FUNCTION_STRIDE) {
        (offset / FUNCTION_STRIDE).checked_sub(1)
    } else {
        None
    }
}

/// Distance of the addresses of functions, in bytes.
const FUNCTION_STRIDE: u64 = 16;

/// Hands out aligned offsets. Sums stop at the end of the numbers: the limits are checked once
/// everything has been placed.
pub(crate) fn place(end: &mut u64, bytes: u64, align: u32) -> u64 {
    let offset = end.checked_next_multiple_of(u64::from(align.max(1))).unwrap_or(u64::MAX);
    *end = offset.saturating_add(bytes);
    offset
}

impl Layout {
    /// Lays out the variables that the functions of `calls` can reach.
    ///
    /// # Errors
    ///
    /// A sentence, if something is larger than on any GPU or cannot be initialised.
    pub(crate) fn new(module: &Module, calls: &CallGraph) -> Result<Self, String> {
        let mut layout = Self::default();
        let in_reach = module.variables_of(&calls.functions);
        let kernel = calls.functions.first().copied();
        layout.area = place(&mut layout.local_bytes, calls.area_bytes, 16);
        if let Some(kernel) = kernel {
            for formal in &module.functions[kernel.index()].params {
                if let Formal::Variable(variable) = *formal {
                    let declared = &module.variables[variable.index()];
                    let end = &mut layout.parameter_bytes;
                    let offset = place(end, declared.size_bytes, declared.align);
                    layout.places.insert(variable, VariablePlace::fixed(Space::Param, offset));
                    layout.parameters.push(KernelParameter { variable, offset });
                }
            }
        }
        let mut dynamic = Vec::new();
        let mut constant_bytes = 0;
        for &id in &in_reach {
            let variable = &module.variables[id.index()];
            // The assembler gives a kernel the shared arrays of the module that it names.
            let is_array = variable.space == StateSpace::Shared && variable.size_bytes != 0;
            let is_left_out = variable.function.is_none() && is_array && !calls.names(id);
            if is_left_out || layout.places.contains_key(&id) {
                continue;
            }
            let (bytes, align) = (variable.size_bytes, variable.align);
            let place = match variable.space {
                StateSpace::Shared if bytes == 0 => {
                    dynamic.push(id);
                    continue;
                }
                StateSpace::Shared => {
                    let offset = place(&mut layout.shared_static_bytes, bytes, align);
                    VariablePlace::fixed(Space::Shared, offset)
                }
                // Parameters of device functions and calls are stack slots of the thread.
                StateSpace::Local | StateSpace::Param => {
                    let owner = variable.function.filter(|&f| calls.convention(f).framed);
                    let end = match owner {
                        Some(function) => layout.frames.entry(function).or_default(),
                        None => &mut layout.local_bytes,
                    };
                    let offset = place(end, bytes, align.max(4));
                    VariablePlace { space: Space::Local, offset, framed: owner.is_some() }
                }
                StateSpace::Const => {
                    let offset = place(&mut constant_bytes, bytes, align);
                    VariablePlace::fixed(Space::Const, offset)
                }
                StateSpace::Global if variable.linkage != Linkage::Extern => {
                    layout.globals.push(id);
                    continue;
                }
                StateSpace::Global | StateSpace::Reg | StateSpace::Sreg | StateSpace::Tex => {
                    continue;
                }
            };
            layout.places.insert(id, place);
        }
        for (what, bytes, limit) in [
            ("local memory for a thread", layout.local_bytes, MAX_LOCAL_BYTES),
            ("parameters", layout.parameter_bytes, MAX_PARAMETER_BYTES),
            ("constant memory", constant_bytes, MAX_CONSTANT_BYTES),
        ] {
            if bytes > limit {
                return Err(format!("{bytes} bytes of {what} are needed; at most {limit} exist"));
            }
        }
        layout.constant.resize(constant_bytes as usize, 0);
        layout.local_bytes = layout.local_bytes.next_multiple_of(16);
        if let Some(bytes) = layout.frames.values().copied().find(|&b| b > MAX_LOCAL_BYTES) {
            return Err(format!(
                "a function's frame has {bytes} bytes; at most {MAX_LOCAL_BYTES} exist"
            ));
        }
        // All dynamic shared arrays begin at the same address, after the static ones.
        let align = dynamic.iter().map(|id| module.variables[id.index()].align).max();
        if let Some(align) = align {
            let start = place(&mut layout.shared_static_bytes, 0, align.max(16));
            layout.shared_static_bytes = start;
            for id in dynamic {
                layout.places.insert(id, VariablePlace::fixed(Space::Shared, start));
            }
        }
        layout.fill_constants(module, &in_reach)?;
        Ok(layout)
    }

    fn fill_constants(&mut self, module: &Module, in_reach: &[VariableId]) -> Result<(), String> {
        for id in in_reach {
            let Some(&VariablePlace { space: Space::Const, offset, .. }) = self.places.get(id)
            else {
                continue;
            };
            let variable = &module.variables[id.index()];
            for item in &variable.initializer {
                let offset = offset + item.offset;
                match self.known(item) {
                    InitializerValue::Bytes(bytes) => write(&mut self.constant, offset, &bytes),
                    InitializerValue::Variable {
                        variable: target, addend, width, mask, ..
                    } => {
                        self.constant_addresses.push(ConstantAddress {
                            offset,
                            width,
                            variable: target,
                            addend,
                            mask: mask.unwrap_or(u64::MAX),
                        });
                    }
                    InitializerValue::Function { .. } => {
                        return Err(format!("the initialiser of {} has no value", variable.name));
                    }
                }
            }
        }
        Ok(())
    }

    /// An initialiser's value as bytes, as far as it is known before global variables have been
    /// allocated: everything but the addresses of those.
    pub(crate) fn known(&self, item: &InitializerItem) -> InitializerValue {
        let (address, width, mask) = match item.value {
            InitializerValue::Bytes(_) => return item.value.clone(),
            InitializerValue::Function { function, width, mask } => {
                (function_address(function), width, mask)
            }
            InitializerValue::Variable { variable, addend, generic, width, mask } => {
                let Some(place) = self.place(variable) else { return item.value.clone() };
                let window = if generic { window_of(place.space) } else { 0 };
                (window + place.offset.wrapping_add_signed(addend), width, mask)
            }
        };
        let bytes = masked(address, mask.unwrap_or(u64::MAX)).to_le_bytes();
        InitializerValue::Bytes(bytes[..usize::from(width).min(8)].into())
    }

    /// Returns the offset of each variable in shared memory.
    pub(crate) fn shared_offsets(&self) -> HashMap<VariableId, u64> {
        let shared = self.places.iter().filter(|(_, place)| place.space == Space::Shared);
        shared.map(|(&variable, place)| (variable, place.offset)).collect()
    }

    /// The variables in constant memory, by place.
    pub(crate) fn constant_variables(&self, module: &Module) -> Vec<ConstantVariable> {
        let constant = self.places.iter().filter(|(_, place)| place.space == Space::Const);
        let mut variables: Vec<_> = constant
            .map(|(&variable, place)| ConstantVariable {
                variable,
                offset: place.offset,
                bytes: module.variables[variable.index()].size_bytes,
            })
            .collect();
        variables.sort_by_key(|variable| variable.offset);
        variables
    }

    /// The variables with fixed places in shared and local memory, by space and place; formal
    /// parameters of functions are none.
    pub(crate) fn fixed_variables(&self, module: &Module) -> Vec<PlacedVariable> {
        let fixed = self.places.iter().filter_map(|(id, place)| {
            let variable = &module.variables[id.index()];
            let space = match (place.space, variable.space) {
                (Space::Shared, _) => StateSpace::Shared,
                (Space::Local, StateSpace::Local) => StateSpace::Local,
                _ => return None,
            };
            let (name, bytes) = (variable.name.clone(), variable.size_bytes);
            let placed = PlacedVariable { name, space, offset: place.offset, bytes };
            (!place.framed).then_some(placed)
        });
        let mut fixed: Vec<_> = fixed.collect();
        let is_local = |variable: &PlacedVariable| variable.space == StateSpace::Local;
        fixed.sort_by(|a, b| {
            let key = |v| (is_local(v), v.offset, v.bytes);
            key(a).cmp(&key(b)).then_with(|| a.name.cmp(&b.name))
        });
        fixed
    }

    /// A variable's place, unless it is a global.
    pub(crate) fn place(&self, variable: VariableId) -> Option<VariablePlace> {
        self.places.get(&variable).copied()
    }

    /// The space of accesses to a variable.
    pub(crate) fn space(&self, variable: VariableId) -> Space {
        self.place(variable).map_or(Space::Global, |place| place.space)
    }

    /// A variable's address in its own space, if that is the same for all threads; `None` if it
    /// is not defined in this module.
    pub(crate) fn address(&self, variable: VariableId, offset: i64) -> Option<ConstantValue> {
        match self.place(variable) {
            Some(place) if place.framed => None,
            Some(place) => Some(ConstantValue::Bits(place.offset.wrapping_add_signed(offset))),
            None => {
                let is_global = self.globals.contains(&variable);
                is_global.then_some(ConstantValue::Global(variable, offset))
            }
        }
    }

    /// Bytes of a function's frame, a multiple of 16.
    pub(crate) fn frame_bytes(&self, function: FunctionId) -> u64 {
        self.frames.get(&function).copied().unwrap_or(0).next_multiple_of(16)
    }
}

/// Overwrite the bytes from `at` on, as far as there are any.
pub(crate) fn write(memory: &mut [u8], at: u64, bytes: &[u8]) {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let target = memory.get_mut(at..at.saturating_add(bytes.len()));
    if let Some(target) = target {
        target.copy_from_slice(bytes);
    }
}

/// `mask(address)` of an initialiser: the bytes of the address that the mask selects.
pub(crate) const fn masked(address: u64, mask: u64) -> u64 {
    if mask == 0 { 0 } else { (address & mask) >> mask.trailing_zeros() }
}

/// The base of a space's window in the generic address space.
pub(crate) const fn window_of(space: Space) -> u64 {
    match space {
        Space::Shared => window::SHARED,
        Space::Local => window::LOCAL,
        Space::Const => window::CONST,
        Space::Param => window::PARAM,
        Space::Global | Space::Generic => 0,
    }
}

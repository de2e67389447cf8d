//! Where variables live: offsets in shared, local, constant and parameter memory.

use std::collections::{HashMap, HashSet};

use gpucast_ptx_frontend::module::{
    Formal, FunctionId, FunctionKind, InitializerValue, Linkage, Module, VariableId,
};
use gpucast_ptx_frontend::types::StateSpace;

use super::super::memory_op::{Space, window};
use super::super::registers::ConstantValue;

/// A parameter of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelParameter {
    pub(crate) variable: VariableId,
    pub(crate) offset: u64,
}

/// Where each variable that a kernel can reach lives.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    places: HashMap<VariableId, Place>,
    pub(crate) parameters: Vec<KernelParameter>,
    pub(crate) parameter_bytes: u64,
    pub(crate) shared_static_bytes: u64,
    pub(crate) local_bytes: u64,
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
    /// Which bytes of the address are meant.
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
pub(crate) struct Place {
    pub(crate) space: Space,
    pub(crate) offset: u64,
}

/// Hands out aligned offsets. Sums stop at the end of the numbers: the limits are checked once
/// everything has been placed.
fn place(end: &mut u64, bytes: u64, align: u32) -> u64 {
    let offset = end.checked_next_multiple_of(u64::from(align.max(1))).unwrap_or(u64::MAX);
    *end = offset.saturating_add(bytes);
    offset
}

impl Layout {
    /// Lay out what `functions`, the kernel first, can reach.
    ///
    /// # Errors
    ///
    /// A sentence, if something is larger than on any GPU or cannot be initialised.
    pub(crate) fn new(module: &Module, functions: &[FunctionId]) -> Result<Self, String> {
        let mut layout = Self::default();
        let reachable: HashSet<_> = functions.iter().copied().collect();
        let kernel = functions.first().copied();
        if let Some(kernel) = kernel {
            for formal in &module.functions[kernel.index()].params {
                if let Formal::Variable(variable) = *formal {
                    let declared = &module.variables[variable.index()];
                    let end = &mut layout.parameter_bytes;
                    let offset = place(end, declared.size_bytes, declared.align);
                    layout.places.insert(variable, Place { space: Space::Param, offset });
                    layout.parameters.push(KernelParameter { variable, offset });
                }
            }
        }
        let mut dynamic = Vec::new();
        let mut constant_bytes = 0;
        for (index, variable) in module.variables.iter().enumerate() {
            let id = VariableId(index as u32);
            let out_of_reach = variable.function.is_some_and(|f| !reachable.contains(&f));
            if out_of_reach || layout.places.contains_key(&id) {
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
                    Place { space: Space::Shared, offset }
                }
                // Parameters of device functions and calls are stack slots of the thread.
                StateSpace::Local | StateSpace::Param => {
                    let offset = place(&mut layout.local_bytes, bytes, align.max(4));
                    Place { space: Space::Local, offset }
                }
                StateSpace::Const => {
                    let offset = place(&mut constant_bytes, bytes, align);
                    Place { space: Space::Const, offset }
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
        // All dynamic shared arrays begin at the same address, after the static ones.
        let align = dynamic.iter().map(|id| module.variables[id.index()].align).max();
        if let Some(align) = align {
            let start = place(&mut layout.shared_static_bytes, 0, align.max(16));
            layout.shared_static_bytes = start;
            for id in dynamic {
                layout.places.insert(id, Place { space: Space::Shared, offset: start });
            }
        }
        layout.fill_constants(module)?;
        Ok(layout)
    }

    fn fill_constants(&mut self, module: &Module) -> Result<(), String> {
        for (index, variable) in module.variables.iter().enumerate() {
            let Some(&Place { space: Space::Const, offset }) =
                self.places.get(&VariableId(index as u32))
            else {
                continue;
            };
            for item in &variable.initializer {
                let offset = offset + item.offset;
                match &item.value {
                    InitializerValue::Bytes(bytes) => write(&mut self.constant, offset, bytes),
                    &InitializerValue::Variable {
                        variable: target,
                        addend,
                        generic,
                        width,
                        mask,
                    } => {
                        let mask = mask.unwrap_or(u64::MAX);
                        match self.place(target) {
                            Some(place) => {
                                let window = if generic { window_of(place.space) } else { 0 };
                                let address = window + place.offset.wrapping_add_signed(addend);
                                let bytes = masked(address, mask).to_le_bytes();
                                let width = usize::from(width).min(8);
                                write(&mut self.constant, offset, &bytes[..width]);
                            }
                            None => self.constant_addresses.push(ConstantAddress {
                                offset,
                                width,
                                variable: target,
                                addend,
                                mask,
                            }),
                        }
                    }
                    InitializerValue::Function { .. } => {
                        return Err(format!(
                            "the initialiser of {} takes the address of a function, which is not \
                             a value here yet",
                            variable.name
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// A variable's place, unless it is a global.
    pub(crate) fn place(&self, variable: VariableId) -> Option<Place> {
        self.places.get(&variable).copied()
    }

    /// The space of accesses to a variable.
    pub(crate) fn space(&self, variable: VariableId) -> Space {
        self.place(variable).map_or(Space::Global, |place| place.space)
    }

    /// A variable's address in its own space; `None` if it is not defined in this module.
    pub(crate) fn address(&self, variable: VariableId, offset: i64) -> Option<ConstantValue> {
        if let Some(place) = self.place(variable) {
            return Some(ConstantValue::Bits(place.offset.wrapping_add_signed(offset)));
        }
        self.globals.contains(&variable).then_some(ConstantValue::Global(variable, offset))
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

/// Every function that `kernel` can call directly, itself first, or what prevents it.
pub(crate) fn reachable_functions(
    module: &Module,
    kernel: FunctionId,
) -> Result<Vec<FunctionId>, String> {
    use gpucast_ptx_frontend::isa::Opcode;
    use gpucast_ptx_frontend::module::Operand;

    let mut order = vec![kernel];
    let mut at = 0;
    let mut calls: HashMap<FunctionId, Vec<FunctionId>> = HashMap::new();
    while at < order.len() {
        let caller = order[at];
        at += 1;
        let Some(body) = &module.functions[caller.index()].body else { continue };
        for instruction in body.instructions.iter().filter(|i| i.opcode == Opcode::Call) {
            for operand in &instruction.operands {
                if let Operand::Function(callee) = *operand {
                    calls.entry(caller).or_default().push(callee);
                    if !order.contains(&callee)
                        && module.functions[callee.index()].kind == FunctionKind::Device
                    {
                        order.push(callee);
                    }
                }
            }
        }
    }
    if let Some(&recursive) = order.iter().find(|&&f| calls_itself(&calls, f)) {
        return Err(format!(
            "{} calls itself; recursion is not supported yet",
            module.functions[recursive.index()].name
        ));
    }
    Ok(order)
}

/// Whether `function` can reach itself through calls.
fn calls_itself(calls: &HashMap<FunctionId, Vec<FunctionId>>, function: FunctionId) -> bool {
    let mut seen = HashSet::new();
    let mut pending = vec![function];
    while let Some(caller) = pending.pop() {
        for &callee in calls.get(&caller).into_iter().flatten() {
            if callee == function {
                return true;
            }
            if seen.insert(callee) {
                pending.push(callee);
            }
        }
    }
    false
}

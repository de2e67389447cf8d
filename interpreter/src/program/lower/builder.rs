//! Emitting micro-operations: guards, rows for operands, temporaries.

use std::collections::HashMap;

use gpucast_ptx_frontend::ScalarType;
use gpucast_ptx_frontend::isa::SpecialRegister;
use gpucast_ptx_frontend::module::{
    Function, FunctionId, Immediate, Instruction, Module, Operand, RegisterId, VariableId,
};

use super::super::memory_op::{Space, window};
use super::super::op::{Code, GUARD_REPEATED, GuardPredicate, Op};
use super::super::registers::{Constant, ConstantValue, RegisterFile, SavedRegisters, SavedRow};
use super::super::side_tables::SideTables;
use super::call_graph::CallGraph;
use super::layout::{Layout, function_address};
use crate::observer::RegisterName;

/// Reason why an instruction cannot be executed.
pub(crate) type Reason = String;

/// Result of lowering one instruction.
pub(crate) type Lowered<T> = Result<T, Reason>;

/// Place of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Slot {
    /// A predicate index.
    Predicate(u32),
    /// A row; `bits` is 32 for everything up to 32 bits.
    Row { row: u32, bits: u32 },
}

/// Row widths that operations work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    W32,
    W64,
    W128,
}

impl Width {
    pub(crate) fn of(ty: ScalarType) -> Self {
        match ty.bytes() {
            16 => Self::W128,
            8 => Self::W64,
            _ => Self::W32,
        }
    }

    pub(crate) const fn bits(self) -> u32 {
        match self {
            Self::W32 => 32,
            Self::W64 => 64,
            Self::W128 => 128,
        }
    }

    pub(crate) const fn rows(self) -> u32 {
        self.bits() / 32
    }
}

/// The program under construction.
pub(crate) struct Builder<'m> {
    pub(crate) module: &'m Module,
    pub(crate) layout: &'m Layout,
    pub(crate) calls: &'m CallGraph,
    pub(crate) ops: Vec<Op>,
    pub(crate) op_instruction: Vec<u32>,
    pub(crate) guards: Vec<GuardPredicate>,
    pub(crate) tables: SideTables,
    /// Functions whose registers are saved around calls.
    pub(crate) saved: Vec<FunctionId>,
    pub(crate) registers: RegisterFile,
    frame_pointers: HashMap<FunctionId, u32>,
    pub(crate) slots: HashMap<RegisterName, Slot>,
    constants: HashMap<(ConstantValue, bool), u32>,
    specials: HashMap<SpecialRegister, u32>,
    pub(crate) parameters: HashMap<(u32, u8, bool, bool), u32>,
    carry: HashMap<FunctionId, u32>,
    /// The function that is being lowered.
    pub(crate) function: FunctionId,
    /// The instruction that is being lowered, as an index into the program's instructions.
    pub(crate) instruction: u32,
    /// The guard of the operations emitted next.
    pub(crate) guard: u32,
    /// True if something needs the values of the instruction that is being lowered.
    pub(crate) computes: bool,
    /// True if shared addresses tell the CTA's rank.
    pub(crate) names_ranks: bool,
}

impl<'m> Builder<'m> {
    pub(crate) fn new(
        module: &'m Module,
        layout: &'m Layout,
        calls: &'m CallGraph,
        kernel: FunctionId,
    ) -> Self {
        Self {
            module,
            layout,
            calls,
            ops: Vec::new(),
            op_instruction: Vec::new(),
            guards: Vec::new(),
            tables: SideTables::default(),
            saved: Vec::new(),
            registers: RegisterFile::default(),
            frame_pointers: HashMap::new(),
            slots: HashMap::new(),
            constants: HashMap::new(),
            specials: HashMap::new(),
            parameters: HashMap::new(),
            carry: HashMap::new(),
            function: kernel,
            instruction: 0,
            guard: 0,
            computes: true,
            names_ranks: super::ranks::names_ranks(module, calls),
        }
    }

    pub(crate) fn current_function(&self) -> &'m Function {
        &self.module.functions[self.function.index()]
    }

    /// Appends an operation.
    pub(crate) fn emit(&mut self, code: Code, n: u16, dst: u32, [a, b, c]: [u32; 3]) {
        self.ops.push(Op { code, n, guard: self.guard, dst, a, b, c });
        self.op_instruction.push(self.instruction);
        if self.guard != 0 {
            self.guard |= GUARD_REPEATED;
        }
    }

    /// A row that nothing else uses.
    pub(crate) fn temporary(&mut self, width: Width) -> u32 {
        self.registers.add(width.rows())
    }

    /// A predicate that nothing else uses.
    pub(crate) fn temporary_predicate(&mut self) -> u32 {
        let predicate = self.registers.predicates;
        self.registers.predicates += 1;
        predicate
    }

    /// The carry flag of the current function, `CC.CF`.
    pub(crate) fn carry(&mut self) -> u32 {
        let function = self.function;
        if let Some(&carry) = self.carry.get(&function) {
            return carry;
        }
        let carry = self.temporary_predicate();
        self.registers.uninitialised_predicates.push(carry);
        self.carry.insert(function, carry);
        carry
    }

    /// The row with the address of each thread's stack top in local memory.
    pub(crate) fn stack_pointer(&mut self) -> u32 {
        if let Some(row) = self.registers.stack_pointer {
            return row;
        }
        let row = self.temporary(Width::W32);
        self.registers.stack_pointer = Some(row);
        row
    }

    /// The row with the address in local memory of the current function's frame.
    pub(crate) fn frame_pointer(&mut self) -> u32 {
        if let Some(&row) = self.frame_pointers.get(&self.function) {
            return row;
        }
        let row = self.temporary(Width::W32);
        self.frame_pointers.insert(self.function, row);
        row
    }

    /// The number of the list of the current function's registers; see
    /// [`Code::SaveRegisters`].
    pub(crate) fn saved_index(&mut self) -> u32 {
        let at = self.saved.iter().position(|&function| function == self.function);
        at.unwrap_or_else(|| {
            self.saved.push(self.function);
            self.saved.len() - 1
        }) as u32
    }

    /// The rows and predicates that hold the state of one activation of `function`.
    pub(crate) fn activation(&self, function: FunctionId) -> SavedRegisters {
        let (mut rows, mut predicates) = (Vec::new(), Vec::new());
        for (owner, _, slot) in self.slots() {
            match slot {
                _ if owner != function => {}
                Slot::Predicate(predicate) => predicates.push(predicate),
                Slot::Row { row, bits } => rows.extend((row..row + bits / 32).map(|r| (row, r))),
            }
        }
        predicates.extend(self.carry.get(&function));
        let mut saved: Vec<SavedRow> = Vec::new();
        rows.sort_unstable();
        for (first, row) in rows {
            match saved.last_mut() {
                Some(last) if last.first == first => last.rows = row - first + 1,
                _ => saved.push(SavedRow { first, rows: 1 }),
            }
        }
        saved.extend(self.frame_pointers.get(&function).map(|&first| SavedRow { first, rows: 1 }));
        predicates.sort_unstable();
        SavedRegisters { rows: saved, predicates }
    }

    /// Returns the place of a register of the current function.
    pub(crate) fn slot(&mut self, register: RegisterId) -> Slot {
        self.slot_of(self.function, register, 0)
    }

    /// Returns the place of element `element` of a register of any function.
    pub(crate) fn slot_of(
        &mut self,
        function: FunctionId,
        register: RegisterId,
        element: u8,
    ) -> Slot {
        let name = RegisterName { function, register, element };
        if let Some(&slot) = self.slots.get(&name) {
            return slot;
        }
        let ty = self.module.functions[function.index()].registers[register.index()].ty;
        let slot = if ty == ScalarType::Pred {
            Slot::Predicate(self.temporary_predicate())
        } else {
            let width = Width::of(ty);
            Slot::Row { row: self.temporary(width), bits: width.bits() }
        };
        self.slots.insert(name, slot);
        slot
    }

    /// Every register that has a place, for the analysis of uninitialised reads.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (FunctionId, RegisterId, Slot)> + '_ {
        self.slots.iter().map(|(name, &slot)| (name.function, name.register, slot))
    }

    /// A row with a constant in all lanes.
    pub(crate) fn constant(&mut self, value: ConstantValue, width: Width) -> u32 {
        let wide = width != Width::W32;
        if let Some(&row) = self.constants.get(&(value, wide)) {
            return row;
        }
        let row = self.temporary(if wide { Width::W64 } else { Width::W32 });
        self.registers.constants.push(Constant { row, wide, value });
        self.constants.insert((value, wide), row);
        row
    }

    /// A row with these bits in all lanes.
    pub(crate) fn bits(&mut self, bits: u64, width: Width) -> u32 {
        self.constant(ConstantValue::Bits(bits), width)
    }

    /// The row of a special register; clocks are read by an operation of their own.
    fn special(&mut self, special: SpecialRegister) -> u32 {
        use SpecialRegister as S;
        let wide = special.bits() == 64;
        match special {
            S::Clock | S::GlobaltimerLo | S::Clock64 | S::Globaltimer => {
                let row = self.temporary(if wide { Width::W64 } else { Width::W32 });
                let guard = std::mem::take(&mut self.guard);
                self.emit(Code::Clock, u16::from(wide), row, [0; 3]);
                self.guard = guard;
                return row;
            }
            _ => {}
        }
        if let Some(&row) = self.specials.get(&special) {
            return row;
        }
        let row = self.temporary(if wide { Width::W64 } else { Width::W32 });
        self.specials.insert(special, row);
        self.registers.add_special(special, row);
        row
    }

    /// A row of `width` with the operand's value, as an operand of type `ty`.
    pub(crate) fn value(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<u32> {
        let width = Width::of(ty);
        match operand {
            Operand::Register(register) => self.register_value(self.function, *register, 0, width),
            Operand::Element(register, element) => {
                self.register_value(self.function, *register, *element, width)
            }
            Operand::Immediate(immediate) if width == Width::W128 => {
                // A literal has 64 bits, and an H200 has zeros above those of a negative one, too.
                let low = match *immediate {
                    Immediate::Integer(value) => value as u64,
                    other => immediate_bits(other, ty),
                };
                let (low, high) = (self.bits(low, Width::W64), self.bits(0, Width::W64));
                Ok(self.pack_128(low, high))
            }
            Operand::Immediate(immediate) => Ok(self.immediate(*immediate, ty)),
            Operand::Special(special) => {
                let row = self.special(*special);
                let from = if special.bits() == 64 { Width::W64 } else { Width::W32 };
                self.widen(row, from, width)
            }
            Operand::Variable(variable, offset) => self.variable_address(*variable, *offset, width),
            Operand::Function(function) => Ok(self.bits(function_address(*function), width)),
            other => Err(format!("operand {other:?} is not supported here")),
        }
    }

    fn register_value(
        &mut self,
        function: FunctionId,
        register: RegisterId,
        element: u8,
        width: Width,
    ) -> Lowered<u32> {
        match self.slot_of(function, register, element) {
            Slot::Row { row, bits } if bits == width.bits() => Ok(row),
            Slot::Row { row, bits: 128 } => {
                let low = self.temporary(Width::W64);
                self.emit_unguarded(Code::Low64, low, [row, 0, 0]);
                self.widen(low, Width::W64, width)
            }
            Slot::Row { row, bits: 64 } if width == Width::W32 => {
                let low = self.temporary(Width::W32);
                self.emit_unguarded(Code::Low32, low, [row, 0, 0]);
                Ok(low)
            }
            Slot::Row { row, bits } => {
                let from = if bits == 32 { Width::W32 } else { Width::W64 };
                self.widen(row, from, width)
            }
            Slot::Predicate(_) => Err("a predicate is used as a value".to_owned()),
        }
    }

    /// An operation that only prepares an operand, so it need not be guarded.
    pub(crate) fn emit_unguarded(&mut self, code: Code, dst: u32, operands: [u32; 3]) {
        let guard = std::mem::take(&mut self.guard);
        self.emit(code, 0, dst, operands);
        self.guard = guard;
    }

    fn widen(&mut self, row: u32, from: Width, to: Width) -> Lowered<u32> {
        match (from, to) {
            (Width::W32, Width::W64) => {
                let wide = self.temporary(Width::W64);
                self.emit_unguarded(Code::ZeroExtend32, wide, [row, 0, 0]);
                Ok(wide)
            }
            (Width::W64, Width::W32) => {
                let low = self.temporary(Width::W32);
                self.emit_unguarded(Code::Low32, low, [row, 0, 0]);
                Ok(low)
            }
            (from, to) if from == to => Ok(row),
            (from, Width::W128) => {
                let low = self.widen(row, from, Width::W64)?;
                let high = self.bits(0, Width::W64);
                Ok(self.pack_128(low, high))
            }
            _ => Err(format!("a {}-bit operand where {} bits are needed", from.bits(), to.bits())),
        }
    }

    /// A 128-bit row of two 64-bit ones.
    fn pack_128(&mut self, low: u32, high: u32) -> u32 {
        let row = self.temporary(Width::W128);
        self.emit_unguarded(Code::Pack64, row, [low, high, 0]);
        row
    }

    /// The bits of a literal as a value of type `ty`.
    fn immediate(&mut self, immediate: Immediate, ty: ScalarType) -> u32 {
        let bits = immediate_bits(immediate, ty);
        self.bits(bits, Width::of(ty))
    }

    /// A row with the address of a variable in its own space.
    pub(crate) fn variable_address(
        &mut self,
        variable: VariableId,
        offset: i64,
        width: Width,
    ) -> Lowered<u32> {
        if let Some(place) = self.layout.place(variable).filter(|place| place.framed) {
            let frame = self.frame_pointer();
            let offset = self.bits(place.offset.wrapping_add_signed(offset), Width::W32);
            let row = self.temporary(Width::W32);
            self.emit_unguarded(Code::Add32, row, [frame, offset, 0]);
            return self.widen(row, Width::W32, width);
        }
        if let Some(row) = self.ranked_address(variable, offset) {
            return self.widen(row, Width::W32, width);
        }
        let value = self.layout.address(variable, offset).ok_or_else(|| {
            let name = &self.module.variables[variable.index()].name;
            format!("{name} has no memory: it is declared here but defined in another module")
        })?;
        if width == Width::W128 {
            let low = self.constant(value, Width::W64);
            return self.widen(low, Width::W64, width);
        }
        Ok(self.constant(value, width))
    }

    /// A row with the address of a shared variable, if such addresses tell the CTA's rank.
    pub(crate) fn ranked_address(&mut self, variable: VariableId, offset: i64) -> Option<u32> {
        let place = self.layout.place(variable)?;
        if !self.names_ranks || place.space != Space::Shared {
            return None;
        }
        let rank = self.special(SpecialRegister::ClusterCtarank);
        let bits = self.bits(u64::from(window::CTA_BITS), Width::W32);
        let offset = self.bits(place.offset.wrapping_add_signed(offset), Width::W32);
        let [first, row] = [(); 2].map(|()| self.temporary(Width::W32));
        self.emit_unguarded(Code::Shl32, first, [rank, bits, 0]);
        self.emit_unguarded(Code::Add32, row, [first, offset, 0]);
        Some(row)
    }

    /// The predicate index of a predicate operand, and whether it is negated.
    pub(crate) fn predicate(&mut self, operand: &Operand) -> Lowered<(u32, bool)> {
        let (register, negated) = match operand {
            Operand::Register(register) => (*register, false),
            Operand::Negated(register) => (*register, true),
            Operand::Immediate(Immediate::Integer(value)) => {
                let predicate = self.temporary_predicate();
                let guard = std::mem::take(&mut self.guard);
                self.emit(Code::PredicateConstant, u16::from(*value != 0), predicate, [0; 3]);
                self.guard = guard;
                return Ok((predicate, false));
            }
            Operand::Special(_) => {
                let row = self.value(operand, ScalarType::U32)?;
                let zero = self.bits(0, Width::W32);
                let predicate = self.temporary_predicate();
                self.emit_unguarded(Code::Eq32, predicate, [row, zero, 0]);
                return Ok((predicate, true));
            }
            other => return Err(format!("operand {other:?} is not a predicate")),
        };
        match self.slot(register) {
            Slot::Predicate(predicate) => Ok((predicate, negated)),
            Slot::Row { .. } => Err("a predicate register is needed here".to_owned()),
        }
    }

    /// The predicate index of a predicate destination; a scratch one for `_`.
    pub(crate) fn predicate_destination(&mut self, operand: &Operand) -> Lowered<u32> {
        match operand {
            Operand::Sink => Ok(self.temporary_predicate()),
            other => match self.predicate(other)? {
                (predicate, false) => Ok(predicate),
                (_, true) => Err("a negated predicate cannot be written".to_owned()),
            },
        }
    }

    /// Calls `emit` with a destination row for a result of type `ty`, then brings the result into
    /// the operand's register if that is wider: with its sign if `ty` is signed, else zeros.
    // Little more than the call, since each caller compiles it again.
    pub(crate) fn define(
        &mut self,
        operand: &Operand,
        ty: ScalarType,
        emit: impl FnOnce(&mut Self, u32) -> Lowered<()>,
    ) -> Lowered<()> {
        let destination = self.destination(operand, ty)?;
        emit(self, destination.row)?;
        self.finish(&destination);
        Ok(())
    }

    /// The row for a result of type `ty` that `operand` receives.
    fn destination(&mut self, operand: &Operand, ty: ScalarType) -> Lowered<Destination> {
        let width = Width::of(ty);
        let (register, element) = match operand {
            Operand::Register(register) => (*register, 0),
            Operand::Element(register, element) => (*register, *element),
            Operand::Sink => {
                return Ok(Destination { row: self.temporary(width), widening: Widening::None });
            }
            other => return Err(format!("operand {other:?} cannot be written")),
        };
        match self.slot_of(self.function, register, element) {
            Slot::Row { row, bits } if bits == width.bits() => {
                let declared = self.current_function().registers[register.index()].ty;
                let widening = match (ty.bytes(), declared.bytes()) {
                    _ if !ty.is_signed() => Widening::None,
                    (1, 2) => Widening::Extend { code: Code::SignExtend8To16, wide: row },
                    (1, 4) => Widening::Extend { code: Code::SignExtend8To32, wide: row },
                    (2, 4) => Widening::Extend { code: Code::SignExtend16To32, wide: row },
                    _ => Widening::None,
                };
                Ok(Destination { row, widening })
            }
            Slot::Row { row, bits: 64 } if width == Width::W32 => {
                let code = match (ty.is_signed(), ty.bytes()) {
                    (true, 1) => Code::SignExtend8To64,
                    (true, 2) => Code::SignExtend16To64,
                    (true, _) => Code::SignExtend32To64,
                    (false, _) => Code::ZeroExtend32,
                };
                let widening = Widening::Extend { code, wide: row };
                Ok(Destination { row: self.temporary(Width::W32), widening })
            }
            Slot::Row { row, bits: 128 } if width == Width::W64 && !ty.is_signed() => {
                let widening = Widening::Pack { wide: row };
                Ok(Destination { row: self.temporary(Width::W64), widening })
            }
            Slot::Row { bits, .. } => {
                Err(format!("a {}-bit result does not fit a {bits}-bit register", width.bits()))
            }
            Slot::Predicate(_) => Err("a value cannot be written to a predicate".to_owned()),
        }
    }

    /// Brings a result into the register that receives it.
    fn finish(&mut self, destination: &Destination) {
        let narrow = destination.row;
        match destination.widening {
            Widening::None => {}
            Widening::Extend { code, wide } => self.emit(code, 0, wide, [narrow, 0, 0]),
            Widening::Pack { wide } => {
                let high = self.bits(0, Width::W64);
                self.emit(Code::Pack64, 0, wide, [narrow, high, 0]);
            }
        }
    }

    /// Adds `window` to a row, or subtracts it: address conversion.
    pub(crate) fn window_row(&mut self, window: u64, width: Width) -> u32 {
        debug_assert!(window.is_multiple_of(window::BYTES), "windows are multiples of their size");
        self.bits(window, width)
    }
}

/// The place of a result.
struct Destination {
    /// The row that the operation writes.
    row: u32,
    widening: Widening,
}

/// The operation that brings a result into a wider register.
enum Widening {
    /// The operation writes the register itself.
    None,
    /// An extension to the row `wide`.
    Extend { code: Code, wide: u32 },
    /// The low half of the 128 bits of row `wide`; the high half is zero.
    Pack { wide: u32 },
}

/// The bits of a literal as a value of type `ty`, in the low bits.
pub(crate) fn immediate_bits(immediate: Immediate, ty: ScalarType) -> u64 {
    let bits = match (immediate, ty) {
        (Immediate::Integer(value), ScalarType::F32) => u64::from((value as f32).to_bits()),
        (Immediate::Integer(value), ScalarType::F64) => (value as f64).to_bits(),
        (Immediate::Integer(value), _) => value as u64,
        // Also in a double's place: NVIDIA's assembler takes the digits as they are.
        (Immediate::F32(bits), _) => u64::from(bits),
        (Immediate::F64(bits), ty) if ty.bytes() <= 4 => {
            u64::from((f64::from_bits(bits) as f32).to_bits())
        }
        (Immediate::F64(bits), _) => bits,
    };
    match ty.bytes() {
        1 => bits & 0xff,
        2 => bits & 0xffff,
        4 => bits & 0xffff_ffff,
        _ => bits,
    }
}

/// The operand at `index`, or an error that says that it is missing.
pub(crate) fn operand(instruction: &Instruction, index: usize) -> Lowered<&Operand> {
    instruction.operands.get(index).ok_or_else(|| format!("operand {} is missing", index + 1))
}

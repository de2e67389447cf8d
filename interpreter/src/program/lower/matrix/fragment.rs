//! `wmma.load` and `wmma.store`.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::Instruction;

use super::super::super::matrix_op::{FragmentPart, FragmentTransfer, MatrixOp, RegisterPart};
use super::super::builder::{Builder, Lowered, Width, operand};
use super::super::copy::elements;
use super::super::memory::{self, Target};
use super::multiply::format;
use super::{destinations, emit, shape, sources};
use crate::access_kind::AccessKind;
use crate::semantics::matrix::Shape;
use crate::semantics::matrix::fragment;

/// The matrix that is transferred.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    A,
    B,
    Accumulator,
}

/// The matrix of a transfer.
struct Matrix {
    role: Role,
    /// The extents of the multiplication; k counts units.
    shape: Shape,
    /// Units of one element, or of 32 in `.b1`.
    per_register: u32,
    unit_elements: u32,
    element_bits: u32,
    column_major: bool,
}

impl Matrix {
    fn new(instruction: &Instruction, ty: T) -> Lowered<Self> {
        let role = if instruction.has(M::ComponentA) {
            Role::A
        } else if instruction.has(M::ComponentB) {
            Role::B
        } else {
            Role::Accumulator
        };
        let mut shape = shape(instruction)?;
        let unit_elements = if ty == T::B1 { 32 } else { 1 };
        shape.k /= unit_elements;
        let per_register = match role {
            Role::Accumulator if ty == T::F16 => 2,
            Role::Accumulator => 1,
            Role::A | Role::B => format(instruction, ty)?.per_register(),
        };
        let column_major = instruction.has(M::Col);
        let element_bits = ty.bits();
        Ok(Self { role, shape, per_register, unit_elements, element_bits, column_major })
    }

    /// Rows and columns, in units.
    fn extents(&self) -> (u32, u32) {
        let Shape { m, n, k } = self.shape;
        match self.role {
            Role::A => (m, k),
            Role::B => (k, n),
            Role::Accumulator => (m, n),
        }
    }

    /// Rows or columns that are contiguous in memory, and units of each.
    fn instances(&self) -> (u32, u32) {
        let (rows, columns) = self.extents();
        if self.column_major { (columns, rows) } else { (rows, columns) }
    }

    /// Registers that hold the matrix once.
    fn registers(&self) -> usize {
        let (rows, columns) = self.extents();
        (rows * columns / 32 / self.per_register) as usize
    }

    /// The row or column of unit `i` of `lane`, and its first element there.
    fn place(&self, lane: u32, i: u32) -> (u16, u16) {
        let place = match self.role {
            Role::A => fragment::a(self.shape, self.per_register, lane, i),
            Role::B => fragment::b(self.shape, self.per_register, lane, i),
            Role::Accumulator => fragment::accumulator(self.shape, lane, i),
        };
        let (instance, unit) =
            if self.column_major { (place.column, place.row) } else { (place.row, place.column) };
        (instance as u16, (unit * self.unit_elements) as u16)
    }

    /// The places of unit `i` of all lanes.
    fn places(&self, i: u32) -> Box<[(u16, u16); 32]> {
        Box::new(std::array::from_fn(|lane| self.place(lane as u32, i)))
    }

    /// Returns true if the units of a register are consecutive in memory.
    fn is_contiguous(&self) -> bool {
        let (first, last) = (self.place(0, 0), self.place(0, self.per_register - 1));
        let distance = (self.per_register - 1) as u16;
        self.per_register == 1 || (last.0 == first.0 && last.1 == first.1 + distance)
    }
}

/// `wmma.load` and `wmma.store`.
pub(in super::super) fn lower(builder: &mut Builder<'_>, instruction: &Instruction) -> Lowered<()> {
    let store = instruction.opcode == Opcode::WmmaStore;
    let ty = instruction.types().last().ok_or("the type is missing")?;
    let matrix = Matrix::new(instruction, ty)?;
    let (address, registers) = if store { (0, 1) } else { (1, 0) };
    let target = memory::target(builder, instruction, operand(instruction, address)?)?;
    let registers = operand(instruction, registers)?;
    let (width, register_type) =
        if ty == T::F64 { (Width::W64, T::F64) } else { (Width::W32, T::B32) };
    let kind = if store { AccessKind::Store } else { AccessKind::Load };
    let rows = match (builder.computes, store) {
        // Nothing reads these.
        (false, _) => vec![0; elements(builder, registers).len()],
        (true, true) => sources(builder, registers, register_type)?,
        (true, false) => destinations(builder, registers, width)?,
    };
    let (instances, units) = matrix.instances();
    let stride = match instruction.operands.get(2) {
        Some(stride) => builder.value(stride, T::U32)?,
        None => builder.bits(u64::from(units * matrix.unit_elements), Width::W32),
    };
    let fragment_bytes = rows.len() as u32 * width.bits() / 8;
    let mut transfer = FragmentTransfer {
        base: target.base.map(|(row, _)| row),
        wide_base: target.base.is_some_and(|(_, width)| width == Width::W64),
        offset: target.offset,
        stride,
        element_bits: matrix.element_bits,
        instances,
        // The manual asks for the size of the fragment, CUDA's `wmma` for multiples of 16 bytes.
        alignment: fragment_bytes.min(16),
        addresses: builder.temporary(Width::W64),
        parts: Vec::new(),
    };
    let base = Some((transfer.addresses, Width::W64));
    let element = Target { space: target.space, base, offset: 0, variable: target.variable };
    let needed = matrix.registers();
    if rows.len() < needed {
        return Err(format!("{} registers are given where {needed} are needed", rows.len()));
    }
    for (register, &row) in rows[..needed].iter().enumerate() {
        let first = register as u32 * matrix.per_register;
        let copies = rows.iter().skip(register + needed).step_by(needed).copied();
        let copies: Vec<u32> = if store { Vec::new() } else { copies.collect() };
        if matrix.is_contiguous() {
            let mut access = memory::memory_op(builder, &element, kind, register_type);
            access.rows[0] = access.moves.then_some(row);
            access.wide_registers = width == Width::W64;
            access.simple = memory::simple(&access);
            let places = matrix.places(first);
            transfer.parts.push(FragmentPart { access, places, part_of: None, copies });
            continue;
        }
        let part_type = if matrix.element_bits == 16 { T::B16 } else { T::B8 };
        for within in 0..matrix.per_register {
            let mut access = memory::memory_op(builder, &element, kind, part_type);
            access.rows[0] = access.moves.then(|| builder.temporary(Width::W32));
            let bits = matrix.element_bits;
            let part_of = Some(RegisterPart { row, shift: within * bits, bits });
            let is_last = within + 1 == matrix.per_register;
            let copies = if is_last { copies.clone() } else { Vec::new() };
            let places = matrix.places(first + within);
            transfer.parts.push(FragmentPart { access, places, part_of, copies });
        }
    }
    emit(builder, MatrixOp::Fragment(Box::new(transfer)));
    Ok(())
}

//! The operands of a memory instruction that do not fit into a micro-operation.

use gpucast_ptx_frontend::ScalarType as T;
use gpucast_ptx_frontend::isa::Modifier;
use gpucast_ptx_frontend::module::Instruction;
use gpucast_ptx_frontend::types::StateSpace;

use crate::access_kind::AccessKind;
use crate::fault::FaultKind;
use crate::semantics::{Bf16, F16, atomic};

/// The address space of an instruction's operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Shared,
    Local,
    Const,
    Param,
    /// Decided by each lane's address.
    Generic,
}

impl Space {
    /// The state space, unless it is generic.
    #[inline]
    pub(crate) const fn state_space(self) -> Option<StateSpace> {
        match self {
            Self::Global => Some(StateSpace::Global),
            Self::Shared => Some(StateSpace::Shared),
            Self::Local => Some(StateSpace::Local),
            Self::Const => Some(StateSpace::Const),
            Self::Param => Some(StateSpace::Param),
            Self::Generic => None,
        }
    }

    /// The fault of a write to a space that CTAs only read, at an address of it.
    #[inline]
    pub(crate) const fn refuses_writes(self, address: u64) -> Option<FaultKind> {
        match self {
            Self::Const => Some(FaultKind::ReadOnly { space: "constant", address }),
            Self::Param => Some(FaultKind::ReadOnly { space: "parameter", address }),
            Self::Global | Self::Shared | Self::Local | Self::Generic => None,
        }
    }
}

/// Windows of the generic address space; global addresses are generic addresses as they are. All
/// windows fit into 32-bit addresses, so that modules with those see the same picture.
pub(crate) mod window {
    /// Each window's extent in bytes, but for that of shared memory.
    pub(crate) const BYTES: u64 = 0x0200_0000;
    pub(crate) const LOCAL: u64 = BYTES;
    pub(crate) const CONST: u64 = 2 * BYTES;
    pub(crate) const PARAM: u64 = 3 * BYTES;
    /// Addresses of functions; no memory.
    pub(crate) const CODE: u64 = 4 * BYTES;
    /// The window of the cluster's shared memory, with a part for each of sixteen CTAs.
    pub(crate) const SHARED: u64 = 0x1000_0000;
    pub(crate) const SHARED_BYTES: u64 = 0x1000_0000;
    /// Bits of an address within a CTA's part of the shared window: address `a` of the CTA of rank
    /// `r` is `r << CTA_BITS | a`, in that CTA too. NVIDIA's assembler makes addresses of it in
    /// this way, and CUTLASS finds the other CTA of a pair by one bit. In a program that cannot
    /// tell ranks (`Program::names_ranks`) each CTA's memory begins at 0.
    pub(crate) const CTA_BITS: u32 = 24;
    pub(crate) const CTA_BYTES: u64 = 1 << CTA_BITS;

    /// Returns the shared address at which the part of the cluster's CTA with `rank` begins.
    pub(crate) const fn of_rank(rank: u32) -> u64 {
        (rank as u64) << CTA_BITS
    }
}

/// The conversion of an element of memory to a register and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extend {
    /// Upper register bits become zero.
    Zero,
    /// The element is signed; its sign fills a register of 16, 32 or 64 bits.
    Sign { register_bits: u8 },
}

/// One register of a (vector) access; `None` for the sink `_`.
pub(crate) type VectorRows = [Option<u32>; 8];

/// Everything static about a load, store or atomic.
#[derive(Clone, Debug)]
pub(crate) struct MemoryOp {
    /// Index into the program's instructions.
    pub(crate) instruction: u32,
    pub(crate) space: Space,
    pub(crate) kind: AccessKind,
    /// Bytes of one element: 1, 2, 4, 8 or 16.
    pub(crate) element_bytes: u8,
    /// Elements: 1, 2, 4 or 8.
    pub(crate) elements: u8,
    /// True if the registers are 64 bits wide (128 bits if the element is).
    pub(crate) wide_registers: bool,
    pub(crate) extend: Extend,
    /// Destination or source rows.
    pub(crate) rows: VectorRows,
    /// Row of the base address, if there is a base register.
    pub(crate) base: Option<u32>,
    /// True if the base register is 64 bits wide.
    pub(crate) wide_base: bool,
    /// Added to the base.
    pub(crate) offset: u64,
    /// The operation of `atom` and `red`.
    pub(crate) atomic: Option<Atomic>,
    /// True if the observer is told.
    pub(crate) counted: bool,
    /// False if nothing needs the values: the addresses are checked and told, and no row is named.
    pub(crate) moves: bool,
    /// The short way that the access may take, if there is one.
    pub(crate) simple: Option<Simple>,
    /// The operations with addresses from the same register.
    pub(crate) same_base: SameBase,
}

/// A load or store of elements in registers of the same width, in a space that all lanes share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Simple {
    Load32(SimpleSpace),
    Load64(SimpleSpace),
    Store32(SimpleSpace),
    Store64(SimpleSpace),
}

/// The space of a [`Simple`] access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SimpleSpace {
    Global,
    Shared,
    /// It is never stored to.
    Const,
}

/// The operands of `atom` and `red` beyond the address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Atomic {
    pub(crate) operation: AtomicOperation,
    /// Row of each element's operand (of the new value for `cas`).
    pub(crate) operands: [u32; 8],
    /// Row of the value that `cas` compares with.
    pub(crate) compare: Option<u32>,
    /// Destination row of each element whose old value is used.
    pub(crate) destinations: VectorRows,
}

impl MemoryOp {
    /// Returns true if the access may take the short way.
    #[inline(always)]
    pub(crate) fn is_simple(&self) -> bool {
        self.simple.is_some()
    }

    /// Returns true if it needs what it finds.
    #[inline]
    pub(crate) fn needs_contents(&self) -> bool {
        self.moves && self.kind != AccessKind::Store
    }

    /// Has it look for what copies have left out of shared memory, which the short way does not.
    pub(crate) fn find_all(&mut self) {
        if self.needs_contents() && matches!(self.space, Space::Shared | Space::Generic) {
            self.simple = None;
        }
    }

    /// Bytes that one lane accesses.
    #[inline]
    pub(crate) fn bytes_per_lane(&self) -> u32 {
        u32::from(self.element_bytes) * u32::from(self.elements)
    }
}

/// The operation of `atom` and `red`, and its type.
#[allow(missing_docs, reason = "the variants are the manual's operations and types")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOperation {
    And,
    Or,
    Xor,
    Exchange,
    CompareAndSwap,
    Add,
    AddF32 { flush: bool },
    AddF64,
    AddF16,
    AddF16x2,
    AddBf16,
    AddBf16x2,
    MinF16,
    MinF16x2,
    MinBf16,
    MinBf16x2,
    MaxF16,
    MaxF16x2,
    MaxBf16,
    MaxBf16x2,
    Increment,
    Decrement,
    MinU32,
    MaxU32,
    MinS32,
    MaxS32,
    MinU64,
    MaxU64,
    MinS64,
    MaxS64,
}

impl AtomicOperation {
    /// The operation of an `atom` or `red` on `ty`.
    pub(crate) fn of(instruction: &Instruction, ty: T) -> Option<Self> {
        let operation = instruction.modifiers.iter().copied().find(|modifier| {
            use Modifier as M;
            matches!(
                modifier,
                M::And
                    | M::Or
                    | M::Xor
                    | M::Exch
                    | M::Cas
                    | M::Add
                    | M::Inc
                    | M::Dec
                    | M::Min
                    | M::Max
            )
        })?;
        Some(match (operation, ty) {
            (Modifier::And, _) => Self::And,
            (Modifier::Or, _) => Self::Or,
            (Modifier::Xor, _) => Self::Xor,
            (Modifier::Exch, _) => Self::Exchange,
            (Modifier::Cas, _) => Self::CompareAndSwap,
            (Modifier::Inc, T::U32) => Self::Increment,
            (Modifier::Dec, T::U32) => Self::Decrement,
            (Modifier::Add, T::U32 | T::S32 | T::U64 | T::S64) => Self::Add,
            (Modifier::Add, T::F32) => Self::AddF32 { flush: !instruction.has(Modifier::Noftz) },
            (Modifier::Add, T::F64) => Self::AddF64,
            (Modifier::Add, T::F16) => Self::AddF16,
            (Modifier::Add, T::F16x2) => Self::AddF16x2,
            (Modifier::Add, T::Bf16) => Self::AddBf16,
            (Modifier::Add, T::Bf16x2) => Self::AddBf16x2,
            (Modifier::Min, T::F16) => Self::MinF16,
            (Modifier::Min, T::F16x2) => Self::MinF16x2,
            (Modifier::Min, T::Bf16) => Self::MinBf16,
            (Modifier::Min, T::Bf16x2) => Self::MinBf16x2,
            (Modifier::Max, T::F16) => Self::MaxF16,
            (Modifier::Max, T::F16x2) => Self::MaxF16x2,
            (Modifier::Max, T::Bf16) => Self::MaxBf16,
            (Modifier::Max, T::Bf16x2) => Self::MaxBf16x2,
            (Modifier::Min, T::U32) => Self::MinU32,
            (Modifier::Max, T::U32) => Self::MaxU32,
            (Modifier::Min, T::S32) => Self::MinS32,
            (Modifier::Max, T::S32) => Self::MaxS32,
            (Modifier::Min, T::U64) => Self::MinU64,
            (Modifier::Max, T::U64) => Self::MaxU64,
            (Modifier::Min, T::S64) => Self::MinS64,
            (Modifier::Max, T::S64) => Self::MaxS64,
            _ => return None,
        })
    }

    /// The operation as it works in `space`: shared memory does not flush subnormals.
    pub(crate) fn within(self, space: Space) -> Self {
        match (self, space) {
            (Self::AddF32 { .. }, Space::Shared) => Self::AddF32 { flush: false },
            _ => self,
        }
    }

    /// The new value of 128 bits: only exchange and compare-and-swap have that width.
    pub(crate) fn apply_128(self, old: u128, operand: u128, compare: u128) -> u128 {
        match self {
            Self::CompareAndSwap => atomic::cas(old, compare, operand),
            _ => operand,
        }
    }

    /// Returns true if it takes a value to compare with.
    pub(crate) fn compares(self) -> bool {
        self == Self::CompareAndSwap
    }

    /// Returns true if concurrent applications of this operation alone leave the same value in any
    /// order.
    pub(crate) fn commutes(self) -> bool {
        match self {
            Self::And
            | Self::Or
            | Self::Xor
            | Self::Add
            | Self::MinF16
            | Self::MinF16x2
            | Self::MinBf16
            | Self::MinBf16x2
            | Self::MaxF16
            | Self::MaxF16x2
            | Self::MaxBf16
            | Self::MaxBf16x2
            | Self::MinU32
            | Self::MaxU32
            | Self::MinS32
            | Self::MaxS32
            | Self::MinU64
            | Self::MaxU64
            | Self::MinS64
            | Self::MaxS64 => true,
            Self::Exchange
            | Self::CompareAndSwap
            | Self::AddF32 { .. }
            | Self::AddF64
            | Self::AddF16
            | Self::AddF16x2
            | Self::AddBf16
            | Self::AddBf16x2
            | Self::Increment
            | Self::Decrement => false,
        }
    }

    /// The new value. Values are bits in the low bytes; the result may have garbage above its
    /// type's width.
    pub(crate) fn apply(self, old: u64, operand: u64, compare: u64) -> u64 {
        let single = |bits: u64| f32::from_bits(bits as u32);
        match self {
            Self::And => old & operand,
            Self::Or => old | operand,
            Self::Xor => old ^ operand,
            Self::Exchange => operand,
            Self::CompareAndSwap => atomic::cas(old, compare, operand),
            // The low bytes of a sum do not depend on the ones above.
            Self::Add => old.wrapping_add(operand),
            Self::AddF32 { flush: true } => {
                u64::from(atomic::add_f32::<true>(single(old), single(operand)).to_bits())
            }
            Self::AddF32 { flush: false } => {
                u64::from(atomic::add_f32::<false>(single(old), single(operand)).to_bits())
            }
            Self::AddF64 => atomic::add_f64(f64::from_bits(old), f64::from_bits(operand)).to_bits(),
            Self::AddF16 => u64::from(atomic::add_half::<F16>(old as u16, operand as u16)),
            Self::AddBf16 => u64::from(atomic::add_half::<Bf16>(old as u16, operand as u16)),
            Self::AddF16x2 => u64::from(atomic::add_x2::<F16>(old as u32, operand as u32)),
            Self::AddBf16x2 => u64::from(atomic::add_x2::<Bf16>(old as u32, operand as u32)),
            Self::MinF16 => u64::from(atomic::min_half::<F16>(old as u16, operand as u16)),
            Self::MinBf16 => u64::from(atomic::min_half::<Bf16>(old as u16, operand as u16)),
            Self::MinF16x2 => u64::from(atomic::min_x2::<F16>(old as u32, operand as u32)),
            Self::MinBf16x2 => u64::from(atomic::min_x2::<Bf16>(old as u32, operand as u32)),
            Self::MaxF16 => u64::from(atomic::max_half::<F16>(old as u16, operand as u16)),
            Self::MaxBf16 => u64::from(atomic::max_half::<Bf16>(old as u16, operand as u16)),
            Self::MaxF16x2 => u64::from(atomic::max_x2::<F16>(old as u32, operand as u32)),
            Self::MaxBf16x2 => u64::from(atomic::max_x2::<Bf16>(old as u32, operand as u32)),
            Self::Increment => u64::from(atomic::inc(old as u32, operand as u32)),
            Self::Decrement => u64::from(atomic::dec(old as u32, operand as u32)),
            Self::MinU32 => u64::from((old as u32).min(operand as u32)),
            Self::MaxU32 => u64::from((old as u32).max(operand as u32)),
            Self::MinS32 => u64::from((old as i32).min(operand as i32) as u32),
            Self::MaxS32 => u64::from((old as i32).max(operand as i32) as u32),
            Self::MinU64 => old.min(operand),
            Self::MaxU64 => old.max(operand),
            Self::MinS64 => (old as i64).min(operand as i64) as u64,
            Self::MaxS64 => (old as i64).max(operand as i64) as u64,
        }
    }
}

/// What an operation's addresses have in common with those of other operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SameBase {
    /// Number of its base register and of the size of its accesses. Operations with the same one
    /// share what is remembered of the distances between lanes.
    pub(crate) shape: u32,
    /// Number of its shape and of the value that its base register has. It is the same for
    /// operations with nothing between them that leaves the lane loop or writes the register.
    pub(crate) value: u32,
}

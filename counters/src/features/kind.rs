//! The categories of features: memory spaces, directions, element types, arithmetic operations.

use std::fmt;

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::Instruction;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace, TypeKind};
use serde::{Serialize, Serializer};

/// A kind of memory, by OpenCL's names, which the paper uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemorySpace {
    /// Device memory; textures too.
    Global,
    /// Memory that a block shares: CUDA's shared memory.
    Local,
    /// Constant memory.
    Constant,
    /// Memory of one thread: CUDA's local memory.
    Private,
}

impl MemorySpace {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Global, Self::Local, Self::Constant, Self::Private];

    /// The name in features.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Local => "local",
            Self::Constant => "constant",
            Self::Private => "private",
        }
    }

    /// The name in CUDA.
    #[must_use]
    pub fn cuda_name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Local => "shared",
            Self::Constant => "constant",
            Self::Private => "local",
        }
    }

    /// The kind of a state space; none of registers and parameters.
    pub(super) fn of(space: StateSpace) -> Option<Self> {
        match space {
            StateSpace::Global | StateSpace::Tex => Some(Self::Global),
            StateSpace::Shared => Some(Self::Local),
            StateSpace::Const => Some(Self::Constant),
            StateSpace::Local => Some(Self::Private),
            StateSpace::Param | StateSpace::Reg | StateSpace::Sreg => None,
        }
    }
}

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AccessDirection {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes in one step: atomics and reductions, which the paper does not have.
    Update,
}

impl AccessDirection {
    /// Returns true for a load or a store that is no atomic.
    #[must_use]
    pub fn is_plain(self) -> bool {
        match self {
            Self::Load | Self::Store => true,
            Self::Update => false,
        }
    }

    /// All of them.
    pub const ALL: [Self; 3] = [Self::Load, Self::Store, Self::Update];

    /// The name in features.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Load => "load",
            Self::Store => "store",
            Self::Update => "update",
        }
    }

    pub(super) fn of(kind: AccessKind) -> Self {
        match kind {
            AccessKind::Load | AccessKind::LoadReadOnly => Self::Load,
            AccessKind::Store => Self::Store,
            AccessKind::Atomic | AccessKind::Reduction => Self::Update,
        }
    }
}

/// The family of a number format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Numbers {
    /// IEEE floating point.
    Float,
    /// Floating point with the exponent of `float32`.
    Bfloat,
    /// Two's complement.
    Int,
    /// Unsigned.
    Uint,
    /// The instruction does not say: `.b32` and its like.
    Bits,
}

/// The type of an element, as features name it: `float32`, `int64`, `bits32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementType {
    /// The kind of numbers that it holds.
    pub numbers: Numbers,
    /// Its width in bits.
    pub bits: u32,
}

impl ElementType {
    /// A type that says its width alone.
    #[must_use]
    pub fn untyped(bits: u32) -> Self {
        Self { numbers: Numbers::Bits, bits }
    }

    /// Reads a name such as `float32`.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let digits = name.find(|c: char| c.is_ascii_digit())?;
        let (family, bits) = name.split_at(digits);
        let numbers = match family {
            "float" => Numbers::Float,
            "bfloat" => Numbers::Bfloat,
            "int" => Numbers::Int,
            "uint" => Numbers::Uint,
            "bits" => Numbers::Bits,
            _ => return None,
        };
        let bits = bits.parse().ok()?;
        matches!(bits, 8 | 16 | 32 | 64 | 128).then_some(Self { numbers, bits })
    }

    /// Its size in memory.
    #[must_use]
    pub fn bytes(self) -> u32 {
        self.bits.div_ceil(8)
    }

    /// Returns true if a feature that asks for `wanted` includes accesses of this type. Untyped
    /// instructions serve all types of their width.
    #[must_use]
    pub fn is_taken_for(self, wanted: Self) -> bool {
        self == wanted || (self.numbers == Numbers::Bits && self.bits == wanted.bits)
    }

    /// The element of a PTX type, and the number of them in a value.
    fn of(ty: ScalarType) -> (Self, u64) {
        let (numbers, bits, count) = match ty {
            ScalarType::F16x2 => (Numbers::Float, 16, 2),
            ScalarType::Bf16x2 => (Numbers::Bfloat, 16, 2),
            ScalarType::F32x2 => (Numbers::Float, 32, 2),
            ScalarType::U16x2 => (Numbers::Uint, 16, 2),
            ScalarType::S16x2 => (Numbers::Int, 16, 2),
            ScalarType::U8x4 => (Numbers::Uint, 8, 4),
            ScalarType::S8x4 => (Numbers::Int, 8, 4),
            ScalarType::Bf16 => (Numbers::Bfloat, 16, 1),
            _ => {
                let numbers = match ty.kind() {
                    TypeKind::Unsigned => Numbers::Uint,
                    TypeKind::Signed => Numbers::Int,
                    TypeKind::Float => Numbers::Float,
                    TypeKind::Bits | TypeKind::Packed | TypeKind::Predicate | TypeKind::Opaque => {
                        Numbers::Bits
                    }
                };
                (numbers, ty.bits(), 1)
            }
        };
        (Self { numbers, bits }, count)
    }

    /// The type that a memory instruction is written with, if it is whole bytes. It is the last
    /// one, because formats of caches and matrices come first.
    pub(super) fn of_instruction(instruction: &Instruction) -> Option<Self> {
        let (element, _) = Self::of(instruction.types().last()?);
        matches!(element.bits, 8 | 16 | 32 | 64 | 128).then_some(element)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let family = match self.numbers {
            Numbers::Float => "float",
            Numbers::Bfloat => "bfloat",
            Numbers::Int => "int",
            Numbers::Uint => "uint",
            Numbers::Bits => "bits",
        };
        write!(f, "{family}{}", self.bits)
    }
}

impl Serialize for ElementType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// The features' name for the arithmetic of `opcode`. These are the paper's `add`, `mul` and
/// `madd`, and PTX's mnemonics for operations that the paper does not name.
#[must_use]
pub fn operation_name(opcode: Opcode) -> Option<&'static str> {
    Some(match opcode {
        Opcode::Add | Opcode::Sub => "add",
        Opcode::Mul => "mul",
        Opcode::Fma | Opcode::Mad => "madd",
        Opcode::Div => "div",
        Opcode::Rem => "rem",
        Opcode::Abs => "abs",
        Opcode::Neg => "neg",
        Opcode::Min => "min",
        Opcode::Max => "max",
        Opcode::Rcp => "rcp",
        Opcode::Sqrt => "sqrt",
        Opcode::Rsqrt => "rsqrt",
        Opcode::Sin => "sin",
        Opcode::Cos => "cos",
        Opcode::Lg2 => "lg2",
        Opcode::Ex2 => "ex2",
        Opcode::Tanh => "tanh",
        Opcode::Setp | Opcode::Set => "compare",
        Opcode::Selp => "select",
        Opcode::Cvt => "convert",
        Opcode::And | Opcode::Or | Opcode::Xor | Opcode::Not | Opcode::Lop3 => "logic",
        Opcode::Shl | Opcode::Shr | Opcode::Shf => "shift",
        Opcode::Mma | Opcode::WmmaMma | Opcode::WgmmaMmaAsync => "mma",
        _ => return None,
    })
}

/// All names that [`operation_name`] gives.
pub const OPERATION_NAMES: [&str; 23] = [
    "add", "mul", "madd", "div", "rem", "abs", "neg", "min", "max", "rcp", "sqrt", "rsqrt", "sin",
    "cos", "lg2", "ex2", "tanh", "compare", "select", "convert", "logic", "shift", "mma",
];

/// The arithmetic of an instruction: its name, the type of its operands, and the operations per
/// thread.
pub(super) fn operation(instruction: &Instruction) -> Option<(&'static str, ElementType, u64)> {
    let name = operation_name(instruction.opcode)?;
    // A conversion's first type is its result's; whatever is set or compared has the last one.
    let ty = match name {
        "compare" => instruction.types().last(),
        _ => instruction.types().next(),
    };
    let (element, count) = ElementType::of(ty?);
    Some((name, element, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_names_are_read_as_they_are_written() {
        for ty in ["float16", "bfloat16", "float64", "int8", "uint32", "bits128"] {
            assert_eq!(ElementType::parse(ty).unwrap().to_string(), ty);
        }
        for wrong in ["float", "float33", "double", "f32", "32"] {
            assert_eq!(ElementType::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn untyped_accesses_serve_all_types_of_their_width() {
        let ty = |name| ElementType::parse(name).unwrap();
        assert!(ty("bits32").is_taken_for(ty("float32")));
        assert!(!ty("bits32").is_taken_for(ty("float64")));
        assert!(!ty("float32").is_taken_for(ty("bits32")));
        assert!(!ty("float32").is_taken_for(ty("int32")));
    }

    #[test]
    fn every_operation_is_listed() {
        let named: std::collections::BTreeSet<&str> =
            Opcode::ALL.iter().filter_map(|&opcode| operation_name(opcode)).collect();
        assert_eq!(named, OPERATION_NAMES.into_iter().collect());
    }
}

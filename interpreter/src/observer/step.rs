//! A warp before an instruction, with its registers.

use gpucast_ptx_frontend::module::{FunctionId, RegisterId};

/// A warp that is about to execute an instruction.
pub struct Step<'a> {
    /// Index into [`Program::instructions`](crate::Program::instructions).
    pub instruction: u32,
    /// The warp's index within its CTA.
    pub warp: u32,
    /// The lanes on the way.
    pub lanes: u32,
    /// The lanes on the way that the instruction's guard lets execute it.
    pub executing: u32,
    /// The registers as the instruction finds them.
    pub registers: &'a Registers<'a>,
}

/// The values of registers. `None` for a register that no instruction uses.
pub type Registers<'a> = dyn Fn(RegisterName) -> Option<RegisterValues> + 'a;

/// A register of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RegisterName {
    /// The function.
    pub function: FunctionId,
    /// Its register.
    pub register: RegisterId,
    /// The element of a vector register; 0 for others.
    pub element: u8,
}

/// The value of a register in each lane, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterValues {
    /// The lanes in which a predicate holds.
    Predicate(u32),
    /// Up to 32 bits.
    Bits32([u32; 32]),
    /// 64 bits.
    Bits64([u64; 32]),
    /// 128 bits.
    Bits128(Box<[u128; 32]>),
}

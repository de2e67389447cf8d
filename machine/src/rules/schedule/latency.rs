//! The clocks from an instruction to the next one that uses its result, where they are fixed.
//!
//! From Maxwell on they are what `ptxas` 12.9 leaves between both in chains of dependent
//! instructions, read from the control codes; an assembler has to be right. Addresses on Turing
//! come from the tables of Mesa's NAK, whose source is NVIDIA (`sm75_instr_latencies.rs`). Kepler
//! and Fermi wait in hardware; their figures are those of `arithmetic_latency` in
//! `capabilities.toml`.
//!
//! The same assembler shows two more figures in runs of independent instructions (sm_75 to sm_120):
//! the interval between instructions of a pipe, and the words of loads under way before the first
//! use.
//! Volta has Turing's. Before Volta, none is known but the words of Turing.

use gpucast_counters::machine::architecture::Architecture;
use gpucast_simulation::code::Class;

/// The way in which an instruction takes what another one made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// As an operand.
    Data,
    /// As a predicate that an operand selects by.
    Selector,
    /// As its guard, or the condition of a branch.
    Guard,
}

/// The fixed latencies of a generation, in clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Latencies {
    /// The last compute capability times ten that they hold for.
    until: u32,
    /// Within a pipe.
    same_pipe: u8,
    /// From the integer pipe to that of multiply-adds, and back.
    other_pipe: u8,
    /// From a product of 64 bits.
    wide: u8,
    /// From an instruction of halves; `None` if a barrier tells.
    half: Option<u8>,
    /// From an instruction of doubles; `None` if a barrier tells.
    double: Option<u8>,
    /// To the address of a memory instruction, and to everything else that other units run.
    address: u8,
    /// From a comparison to a selection.
    selector: u8,
    /// From a comparison to a guard or branch.
    guard: u8,
    /// From the uniform datapath.
    uniform: u8,
    /// Clocks that a branch, a jump's target or an exit holds the warp up.
    control: u8,
    /// Clocks that a barrier or fence holds the warp up.
    barrier: u8,
    /// Clocks between instructions of each pipe, in the order of [`Pipe`].
    intervals: [u8; Pipe::COUNT],
    /// Words that loads of a block may have under way: an assembler spares registers.
    pub(super) load_words: u32,
    /// True if two independent instructions may issue in one clock.
    pub(super) has_dual_issue: bool,
}

/// The pipes that an assembler spaces instructions for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pipe {
    /// Single precision and products of integers.
    MultiplyAdd,
    /// Integers, logic, comparisons.
    Alu,
    Half,
    Double,
    /// Special functions and conversions.
    Special,
    /// Memory and exchanges between lanes.
    Memory,
    /// Anything else.
    Other,
}

impl Pipe {
    pub(super) const COUNT: usize = Self::Other as usize + 1;

    pub(super) const fn of(class: Class) -> Self {
        match class {
            Class::Fp32 | Class::IntegerMultiply | Class::WideMultiply => Self::MultiplyAdd,
            Class::Integer | Class::Compare | Class::Shift => Self::Alu,
            Class::Fp16 => Self::Half,
            Class::Fp64 => Self::Double,
            Class::Special | Class::Conversion | Class::WideConversion => Self::Special,
            Class::Memory | Class::Texture | Class::Shuffle => Self::Memory,
            Class::Tensor | Class::Branch | Class::Uniform | Class::Other => Self::Other,
        }
    }
}

const FERMI: Latencies = Latencies {
    until: 21,
    same_pipe: 18,
    other_pipe: 18,
    wide: 18,
    half: None,
    double: None,
    address: 18,
    selector: 18,
    guard: 18,
    uniform: 18,
    control: 1,
    barrier: 1,
    intervals: [1; Pipe::COUNT],
    load_words: 56,
    has_dual_issue: false,
};
const KEPLER: Latencies = Latencies {
    until: 37,
    same_pipe: 9,
    other_pipe: 9,
    wide: 9,
    address: 9,
    selector: 9,
    guard: 9,
    uniform: 9,
    has_dual_issue: true,
    ..FERMI
};
/// Maxwell and Pascal.
const MAXWELL: Latencies = Latencies {
    until: 62,
    same_pipe: 6,
    other_pipe: 6,
    wide: 6,
    half: None,
    double: None,
    address: 6,
    selector: 13,
    guard: 13,
    uniform: 6,
    control: 13,
    barrier: 13,
    intervals: [1; Pipe::COUNT],
    load_words: 56,
    has_dual_issue: true,
};
/// The address latency is Turing's.
const VOLTA: Latencies = Latencies {
    until: 72,
    same_pipe: 4,
    other_pipe: 5,
    wide: 5,
    half: Some(6),
    double: None,
    address: 8,
    selector: 4,
    guard: 13,
    uniform: 12,
    control: 5,
    barrier: 5,
    intervals: [2, 2, 2, 4, 8, 4, 1],
    load_words: 56,
    has_dual_issue: false,
};
const TURING: Latencies = Latencies { until: 75, guard: 12, ..VOLTA };
const AMPERE: Latencies = Latencies {
    until: 80,
    address: 6,
    barrier: 6,
    intervals: [2, 2, 1, 4, 8, 4, 1],
    load_words: 24,
    ..VOLTA
};
const SMALL_AMPERE: Latencies =
    Latencies { until: 89, half: Some(4), intervals: [1, 2, 2, 4, 8, 4, 1], ..AMPERE };
const HOPPER: Latencies =
    Latencies { until: 90, double: Some(8), intervals: [1, 2, 1, 2, 8, 4, 1], ..AMPERE };
const BLACKWELL: Latencies =
    Latencies { until: 100, half: Some(4), intervals: [1, 2, 2, 2, 8, 4, 1], ..HOPPER };
/// Blackwell with few units for doubles.
const SMALL_BLACKWELL: Latencies =
    Latencies { until: u32::MAX, wide: 4, selector: 5, double: None, ..BLACKWELL };

/// Generations, oldest first.
const TABLE: [Latencies; 10] = [
    FERMI,
    KEPLER,
    MAXWELL,
    VOLTA,
    TURING,
    AMPERE,
    SMALL_AMPERE,
    HOPPER,
    BLACKWELL,
    SMALL_BLACKWELL,
];

/// Clocks between an instruction that raises a barrier and the next one: it is seen to be raised
/// one clock after issue.
pub(super) const BARRIER_RAISED: u8 = 2;

impl Latencies {
    pub(super) fn of(target: Architecture) -> &'static Self {
        let row = TABLE.iter().find(|row| target.sm() <= row.until);
        row.unwrap_or(&SMALL_BLACKWELL)
    }

    /// Returns true if a barrier tells when the result of a class is there.
    pub(super) const fn is_variable(&self, class: Class) -> bool {
        match class {
            Class::Special
            | Class::Conversion
            | Class::WideConversion
            | Class::Shuffle
            | Class::Tensor
            | Class::Memory
            | Class::Texture => true,
            Class::Fp64 => self.double.is_none(),
            Class::Fp16 => self.half.is_none(),
            Class::Fp32
            | Class::Integer
            | Class::Compare
            | Class::Shift
            | Class::IntegerMultiply
            | Class::WideMultiply
            | Class::Branch
            | Class::Uniform
            | Class::Other => false,
        }
    }

    /// Clocks from an instruction to one that uses its result.
    pub(super) fn between(&self, producer: Class, consumer: Class, by: Use) -> u8 {
        if self.is_variable(producer) {
            return BARRIER_RAISED;
        }
        let from = match (producer, by) {
            (Class::Uniform, _) => return self.uniform,
            (_, Use::Guard) => return self.guard,
            (_, Use::Selector) => return self.selector,
            (Class::Fp16, Use::Data) => self.half.unwrap_or(self.same_pipe),
            (Class::Fp64, Use::Data) => self.double.unwrap_or(self.same_pipe),
            (Class::WideMultiply, Use::Data) => self.wide,
            _ if is_multiply_add(producer) == is_multiply_add(consumer) => self.same_pipe,
            _ => self.other_pipe,
        };
        let is_elsewhere = self.is_variable(consumer) && consumer != Class::Fp64;
        if is_elsewhere { from.max(self.address) } else { from }
    }

    /// The least clocks from an instruction to the next one of the warp.
    pub(super) const fn least_stall(&self, class: Class, is_barrier: bool) -> u8 {
        match class {
            Class::Branch => self.control,
            _ if is_barrier => self.barrier,
            _ => 1,
        }
    }

    /// Clocks from an instruction to the next one of its pipe.
    pub(super) const fn interval(&self, class: Class) -> u8 {
        match class {
            // Products of integers are half as fast where single precision is not, those of 64
            // bits a quarter.
            Class::IntegerMultiply if self.has_intervals() => 2,
            Class::WideMultiply if self.has_intervals() => 4,
            _ => self.intervals[Pipe::of(class) as usize],
        }
    }

    const fn has_intervals(&self) -> bool {
        self.intervals[Pipe::Alu as usize] > 1
    }

    /// The longest of the fixed latencies.
    pub(super) fn longest(&self) -> u8 {
        [self.same_pipe, self.guard, self.uniform, self.address].into_iter().max().unwrap_or(0)
    }
}

/// Returns true if the pipe of multiply-adds executes a class.
const fn is_multiply_add(class: Class) -> bool {
    matches!(class, Class::Fp32 | Class::IntegerMultiply | Class::WideMultiply)
}

/// Clocks after which an assembler expects a result that a barrier tells of. They order
/// instructions and are no figures of a GPU.
///
/// `ptxas` 12.9 (sm_90) puts 40 clocks of independent multiply-adds between a load of shared memory
/// and its use, and 317 between one of global memory and its use. The rest is assumed.
pub(super) const fn expected(class: Class, is_far: bool) -> u32 {
    match class {
        Class::Memory | Class::Texture if is_far => 317,
        Class::Memory => 40,
        _ => 24,
    }
}

/// Returns true if the second instruction can issue in the clock of the first: an instruction of
/// the lanes' main pipes together with one of memory, special functions, conversions or shuffles
/// (the dual-issue classes of the assembler maxas for Maxwell). Kepler, which has units for three
/// warps in two schedulers, also pairs two of the main pipes; the same rule stands for it.
pub(super) const fn is_pair(first: Class, second: Class) -> bool {
    is_main(first) && is_aside(second) || is_aside(first) && is_main(second)
}

const fn is_main(class: Class) -> bool {
    matches!(
        class,
        Class::Fp32
            | Class::Integer
            | Class::Compare
            | Class::Shift
            | Class::IntegerMultiply
            | Class::WideMultiply
    )
}

const fn is_aside(class: Class) -> bool {
    matches!(
        class,
        Class::Memory
            | Class::Special
            | Class::Conversion
            | Class::WideConversion
            | Class::Shuffle
            | Class::Texture
    )
}

//! A kernel lowered once, before its first warp: blocks of fixed-size micro-operations.
//!
//! A [`Program`] holds the kernel and every device function that it can reach. Blocks are in
//! reverse post-order of their function. Registers are assigned to rows of one register file.
//! Immediates, parameters and most special registers are rows too, filled in beforehand.

pub(crate) mod asynchronous;
mod checked;
pub(crate) mod follow;
pub(crate) mod lower;
pub(crate) mod matrix_op;
pub(crate) mod memory_op;
pub(crate) mod op;
pub(crate) mod registers;
pub(crate) mod row_uses;
pub(crate) mod runtime;
pub(crate) mod same_base;
mod settled;
pub(crate) mod side_tables;
pub(crate) mod table;
pub(crate) mod tensor_memory_op;
pub(crate) mod texture_op;

use std::collections::HashMap;
use std::sync::Arc;

use gpucast_ptx_frontend::module::{
    FunctionId, FunctionKind, Instruction, PerformanceDirectives, Variable, VariableId,
};
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_ptx_frontend::{Module, ScalarType, Span};

use crate::fault::FaultKind;
use crate::observer::RegisterName;
use follow::Following;
use lower::call_graph::Signature;
use lower::sharing::Sharing;
pub use lower::slice::{Buffers, Reach, Slice, Slicer, Treatment};
use memory_op::{Space, window};
use op::{GuardPredicate, Op};
use registers::{RegisterFile, SavedRegisters};
use runtime::{RuntimeCall, RuntimeFunction};
use side_tables::SideTables;
use smallvec::SmallVec;

/// A kernel ready to execute, with the facts about its code that an observer needs.
#[derive(Debug)]
pub struct Program {
    pub(crate) kernel: String,
    pub(crate) address_bits: u8,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) directives: PerformanceDirectives,
    pub(crate) instructions: Vec<StaticInstruction>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) guarded: Vec<u32>,
    pub(crate) ops: Vec<Op>,
    /// The instruction of each operation.
    pub(crate) op_instruction: Vec<u32>,
    /// Operations that compute the rows that all CTAs have in common ([`settled`]), and one that
    /// leaves the lane loop. They are executed once for each warp's register file.
    pub(crate) settling: Vec<Op>,
    /// The place of each register that is used.
    pub(crate) slots: HashMap<RegisterName, lower::Slot>,
    /// The predicate of each guarded instruction.
    pub(crate) guards: Vec<GuardPredicate>,
    pub(crate) tables: SideTables,
    /// Targets of calls of the functions that can be called, by their numbers in ascending order.
    pub(crate) callable: Vec<(u32, Callable)>,
    /// Signatures of the functions whose address is taken.
    pub(crate) pointed_to: HashMap<u32, Signature>,
    /// Lists of registers that are saved around calls.
    pub(crate) saved: Vec<SavedRegisters>,
    pub(crate) registers: RegisterFile,
    pub(crate) parameter_bytes: u64,
    pub(crate) shared_static_bytes: u64,
    /// Offset of each variable in shared memory.
    pub(crate) shared_offsets: HashMap<VariableId, u64>,
    /// Local memory of one thread without its stack.
    pub(crate) local_bytes: u64,
    /// Contents of constant memory.
    pub(crate) constant: Vec<u8>,
    /// Addresses of global variables in constant memory.
    pub(crate) constant_addresses: Vec<lower::ConstantAddress>,
    /// Places of the module's variables in constant memory.
    pub(crate) constant_variables: Vec<ConstantVariable>,
    /// Module-scope global variables.
    pub(crate) globals: Vec<(VariableId, Variable)>,
    /// The addresses of the module's variables, if a host program has loaded it.
    pub(crate) addresses: Option<Arc<HashMap<VariableId, u64>>>,
    pub(crate) ordered_because: Option<String>,
    pub(crate) unsupported: Vec<Unsupported>,
    /// Exchanges between CTAs that are possible through global memory, unless they run in order
    /// anyway.
    pub(crate) sharing: Sharing,
    /// The atomics by which CTAs take work from each other, as indices into `instructions`.
    pub(crate) takes_work: Vec<u32>,
    /// The instructions of `unsupported`, as indices into `instructions`.
    pub(crate) unsupported_at: Vec<u32>,
    pub(crate) contents: Contents,
    /// The rows that are followed from CTA to CTA, if any are.
    pub(crate) following: Option<Arc<Following>>,
    pub(crate) target_sm: u32,
    pub(crate) variables: Vec<PlacedVariable>,
    /// True if the addresses of shared memory tell the CTA's rank.
    pub(crate) names_ranks: bool,
}

/// The meaning of a program's shared addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SharedAddresses {
    names_ranks: bool,
}

impl SharedAddresses {
    /// Returns the rank of the CTA that an address means, and the offset in its memory; `own` is
    /// the rank of the CTA that uses the address.
    #[must_use]
    pub const fn place(self, own: u32, address: u64) -> (u32, u64) {
        let rank = if self.names_ranks { (address >> window::CTA_BITS) as u32 } else { own };
        (rank, address % window::CTA_BYTES)
    }
}

/// The memories whose contents a program computes: all unless it is a [`Slice`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contents {
    /// False if it needs nothing that a buffer holds: any memory will do, and stays as it is.
    pub(crate) global: bool,
    pub(crate) shared: bool,
    /// True if tiles are not moved to shared memory all the same.
    pub(crate) apart: bool,
    pub(crate) local: bool,
}

impl Contents {
    /// Returns true if the contents of a space are computed. Those of global memory are or are not
    /// buffer by buffer, and constants and parameters are always there.
    pub(crate) fn of(self, space: Space) -> bool {
        match space {
            Space::Shared => self.shared,
            Space::Local => self.local,
            Space::Global | Space::Const | Space::Param | Space::Generic => true,
        }
    }
}

/// A variable with a fixed place in shared or local memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedVariable {
    /// The name as written.
    pub name: String,
    /// [`StateSpace::Shared`] or [`StateSpace::Local`].
    pub space: StateSpace,
    /// Address of its first byte in that space.
    pub offset: u64,
    /// Size in bytes; 0 for an array whose size the launch decides.
    pub bytes: u64,
}

/// The place of a variable in constant memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConstantVariable {
    pub(crate) variable: VariableId,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// The target of calls of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Callable {
    /// The function's first block.
    pub(crate) block: u32,
    /// The first operation of its prologue, which runs on into the block's.
    pub(crate) first_op: u32,
}

/// A kernel parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The name as written.
    pub name: String,
    /// Declared element type.
    pub ty: ScalarType,
    /// Size in bytes.
    pub bytes: u64,
    /// True if it is an array or vector, such as a structure passed by value.
    pub is_array: bool,
    /// Byte offset in the parameter block.
    pub offset: u64,
    pub(crate) variable: VariableId,
}

/// One instruction of the text; all counts refer to these.
#[derive(Clone, Debug)]
pub struct StaticInstruction {
    /// The function that it belongs to.
    pub function: FunctionId,
    /// The instruction as resolved.
    pub instruction: Instruction,
    /// One-based line of the PTX text.
    pub line: u32,
    /// Index into [`Program::guarded`], if it is guarded.
    pub guard_index: Option<u32>,
}

/// A basic block: entered at its first instruction, left at its last.
#[derive(Clone, Debug)]
pub struct Block {
    /// The first of its instructions, an index into [`Program::instructions`].
    pub first_instruction: u32,
    /// Number of its instructions.
    pub instruction_count: u32,
    /// The blocks of the same function that control can go to, as indices into
    /// [`Program::blocks`]: the branch target first, then the next block.
    pub successors: SmallVec<[u32; 2]>,
    /// Block at which the lanes that its branch separates come together again. `None` if it
    /// separates none or they meet at the end of the function only.
    pub reconvergence: Option<u32>,
    pub(crate) first_op: u32,
}

/// An instruction that cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The mnemonic with its modifiers; empty if the whole kernel is meant.
    pub what: String,
    /// Reason why it cannot be executed.
    pub reason: String,
    /// Place in the text.
    pub span: Span,
}

/// Reason why a kernel cannot be made ready.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The module has no kernel of this name.
    #[error("there is no kernel named {name}")]
    NoSuchKernel {
        /// The name asked for.
        name: String,
        /// The kernels that there are.
        kernels: Vec<String>,
    },
    /// The kernel as a whole needs something that is not executed. Single instructions do not
    /// keep it from running; see [`Program::unsupported`].
    #[error("kernel {kernel} cannot be executed: {}", summary(instructions))]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// Everything that stands in the way, in order of the text.
        instructions: Vec<Unsupported>,
    },
}

fn summary(instructions: &[Unsupported]) -> String {
    let first = instructions.first().map(|first| first.reason.as_str()).unwrap_or_default();
    match instructions.len() {
        0 | 1 => first.to_owned(),
        n => format!("{first}, and {} more", n - 1),
    }
}

impl Program {
    /// Makes `kernel` of `module` ready; `text` is the module's text, for line numbers.
    ///
    /// # Errors
    ///
    /// [`LowerError`] if there is no such kernel, or with everything that keeps it from being
    /// launched at all.
    pub fn new(module: &Module, text: &str, kernel: &str) -> Result<Self, LowerError> {
        lower::program(module, text, kernel)
    }

    /// Makes the part of this program ready that `slice` computes. The other instructions are
    /// counted, and their accesses are checked and told. `module` and `text` are those that the
    /// program was made of.
    ///
    /// The part must not be executed for an observer that asks for values.
    ///
    /// # Errors
    ///
    /// As [`Self::new`].
    pub fn sliced(&self, module: &Module, text: &str, slice: &Slice) -> Result<Self, LowerError> {
        lower::sliced(module, text, self, slice)
    }

    /// The names of a module's kernels, in order of the text.
    pub fn kernels(module: &Module) -> impl Iterator<Item = &str> {
        let defined = |f: &&gpucast_ptx_frontend::module::Function| {
            f.kind == FunctionKind::Entry && f.body.is_some()
        };
        module.functions.iter().filter(defined).map(|f| f.name.as_str())
    }

    /// The instructions that cannot be executed, block by block. A launch runs all the
    /// same, and comes to a fault ([`FaultKind::Unsupported`])
    /// when a thread reaches one of them.
    #[must_use]
    pub fn unsupported(&self) -> &[Unsupported] {
        &self.unsupported
    }

    /// Returns true if an instruction is an atomic by which CTAs take work from each other.
    #[inline]
    pub(crate) fn takes_work_at(&self, instruction: u32) -> bool {
        !self.takes_work.is_empty() && self.takes_work.binary_search(&instruction).is_ok()
    }

    /// The target of calls of a function by its number, if it can be called.
    pub(crate) fn callable(&self, function: u64) -> Option<Callable> {
        let at = self.callable.binary_search_by_key(&function, |&(one, _)| u64::from(one)).ok()?;
        Some(self.callable[at].1)
    }

    /// The fault of a `trap`, which stands for the instructions that cannot be executed too.
    pub(crate) fn trap(&self, op: &Op) -> FaultKind {
        let index = (op.a as usize).checked_sub(1);
        match index.and_then(|index| self.unsupported.get(index)) {
            Some(one) => {
                FaultKind::Unsupported { instruction: one.what.clone(), reason: one.reason.clone() }
            }
            None => FaultKind::Trap,
        }
    }

    /// The module's target: compute capability times ten.
    #[must_use]
    pub fn target_sm(&self) -> u32 {
        self.target_sm
    }

    /// The variables that have fixed places in shared and local memory, by space and place. Those
    /// of recursive functions have none.
    #[must_use]
    pub fn variables(&self) -> &[PlacedVariable] {
        &self.variables
    }

    /// Returns the reason why CTAs run one after the other, if the code shows that their order can
    /// be observed.
    #[must_use]
    pub fn ordered_because(&self) -> Option<&str> {
        self.ordered_because.as_deref()
    }

    /// Width of addresses, 32 or 64, for [`crate::DeviceMemory::with_address_bits`].
    #[must_use]
    pub fn address_bits(&self) -> u8 {
        self.address_bits
    }

    /// Returns true if its threads need a stack beyond the memory that the layout gives them.
    #[must_use]
    pub fn has_stack(&self) -> bool {
        self.registers.stack_pointer.is_some()
    }

    /// Returns true if it allocates memory on the device heap.
    #[must_use]
    pub fn uses_heap(&self) -> bool {
        self.tables.runtime_calls.iter().any(|call| call.function.depends_on_order())
    }

    /// Returns true if a launch is known by what it makes of memory: it neither prints nor
    /// allocates. Two launches that find the same memory then leave the same.
    #[must_use]
    pub fn only_changes_memory(&self) -> bool {
        !self.prints() && !self.uses_heap()
    }

    /// Returns true if its threads may print.
    pub(crate) fn prints(&self) -> bool {
        let prints = |call: &RuntimeCall| call.function == RuntimeFunction::Vprintf;
        self.tables.runtime_calls.iter().any(prints)
    }

    /// The kernel's name as written.
    #[must_use]
    pub fn kernel(&self) -> &str {
        &self.kernel
    }

    /// The kernel's parameters, in order.
    #[must_use]
    pub fn parameters(&self) -> &[Parameter] {
        &self.parameters
    }

    /// Returns the offset in bytes of a variable among the kernel's parameters; `None` if it is
    /// none of them.
    #[must_use]
    pub fn parameter_offset(&self, variable: VariableId) -> Option<u64> {
        let parameter = self.parameters.iter().find(|parameter| parameter.variable == variable)?;
        Some(parameter.offset)
    }

    /// Returns the meaning of the shared addresses that observers are told.
    #[must_use]
    pub const fn shared_addresses(&self) -> SharedAddresses {
        SharedAddresses { names_ranks: self.names_ranks }
    }

    /// Shared memory that the kernel declares, in bytes.
    #[must_use]
    pub fn static_shared_bytes(&self) -> u64 {
        self.shared_static_bytes
    }

    /// CTAs of a cluster of a launch, which may name its extents; 1 without clusters.
    #[must_use]
    pub fn cluster_ctas(&self, of_launch: Option<[u32; 3]>) -> u32 {
        self.cluster_extents(of_launch).into_iter().fold(1, u32::saturating_mul)
    }

    /// The extents of a cluster in CTAs, as [`Self::cluster_ctas`].
    #[must_use]
    pub fn cluster_extents(&self, of_launch: Option<[u32; 3]>) -> [u32; 3] {
        of_launch.or(self.directives.reqnctapercluster).unwrap_or([1; 3])
    }

    /// The strings of the kernel's `.pragma` directives, those of statements among them.
    #[must_use]
    pub fn pragmas(&self) -> &[String] {
        &self.directives.pragmas
    }

    /// Returns the offset in bytes of a variable in the CTA's shared memory; `None` if it is no
    /// such variable.
    #[must_use]
    pub fn shared_offset(&self, variable: VariableId) -> Option<u64> {
        self.shared_offsets.get(&variable).copied()
    }

    /// Every static instruction; blocks are contiguous runs of them.
    #[must_use]
    pub fn instructions(&self) -> &[StaticInstruction] {
        &self.instructions
    }

    /// Every basic block that can be reached, the kernel's entry first.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The guarded instructions, as indices into [`Program::instructions`].
    #[must_use]
    pub fn guarded(&self) -> &[u32] {
        &self.guarded
    }
}

//! From a resolved kernel to a [`Program`].
//!
//! The kernel and the device functions that it calls are lowered one after the other. Their blocks
//! are in reverse post-order, so that a block's index is its scheduling priority. Every instruction
//! of the table is dispatched by its opcode in [`instruction`]. One that cannot be executed becomes
//! a trap with its reason, and a caller learns of all of them before anything runs.

mod arithmetic;
mod async_copy;
mod builder;
mod bulk_copy;
mod call;
pub(super) mod call_graph;
mod carry;
mod cluster;
mod compare;
mod control;
mod convert;
mod copy;
mod float;
mod half;
mod layout;
mod mapping;
mod matrix;
mod mbarrier;
mod memory;
mod movement;
mod narrow;
mod ordering;
mod ranks;
pub(crate) mod sharing;
pub(crate) mod slice;
mod sparse_vector;
mod taking;
mod tensor_copy;
mod tensor_memory;
mod texture;
mod uninitialised;
mod values;
mod video;

use std::collections::HashMap;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::cfg::{BlockId, CfgError, ControlFlowGraph};
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::{FunctionId, FunctionKind, Instruction};
use gpucast_ptx_frontend::source::LineIndex;

use super::memory_op::MemoryOp;
use super::op::Code;
use super::{
    Block, Callable, Contents, LowerError, Parameter, Program, StaticInstruction, Unsupported,
    same_base,
};
pub(crate) use builder::Slot;
use builder::{Builder, Lowered};
use call_graph::CallGraph;
pub(super) use control::BlockTargets;
use layout::Layout;
pub(crate) use layout::function_at;
pub(crate) use layout::{ConstantAddress, function_address, masked, place, window_of, write};
use sharing::Sharing;
use slice::{Slice, Treatment};

/// Lowers `kernel` of `module`, whose text is `text`.
pub(super) fn program(module: &Module, text: &str, kernel: &str) -> Result<Program, LowerError> {
    lower(module, text, kernel, None)
}

/// Lowers the kernel of a `whole` program of `module` once more, as far as `slice` computes it.
///
/// Everything that an observer could tell the two apart by is that of the whole program.
pub(super) fn sliced(
    module: &Module,
    text: &str,
    whole: &Program,
    slice: &Slice,
) -> Result<Program, LowerError> {
    let mut program = lower(module, text, &whole.kernel, Some((whole, slice)))?;
    if slice.apart {
        program.tables.memory_ops.iter_mut().for_each(MemoryOp::find_all);
    }
    Ok(Program {
        ordered_because: whole.ordered_because.clone(),
        sharing: whole.sharing.clone(),
        takes_work: whole.takes_work.clone(),
        contents: Contents {
            global: !slice.buffers.is_empty(),
            shared: slice.shared,
            apart: slice.apart,
            local: slice.local,
        },
        addresses: whole.addresses.clone(),
        ..program
    })
}

/// Lowers `kernel` of `module`, of a whole program the slice if there is one.
fn lower(
    module: &Module,
    text: &str,
    kernel: &str,
    part: Option<(&Program, &Slice)>,
) -> Result<Program, LowerError> {
    let kernel_id = find_kernel(module, kernel)?;
    let fail = |reason: String, span| LowerError::Unsupported {
        kernel: kernel.to_owned(),
        instructions: vec![Unsupported { what: String::new(), reason, span }],
    };
    let span = module.functions[kernel_id.index()].span;
    if module.functions[kernel_id.index()].directives.blocksareclusters {
        let reason = "grids that count clusters (.blocksareclusters) are not launched yet";
        return Err(fail(reason.to_owned(), span));
    }
    if module.functions[kernel_id.index()].directives.minperctamemory.is_some() {
        let reason = "memory of each CTA in global memory (.minperctamemory) is not given out yet";
        return Err(fail(reason.to_owned(), span));
    }
    let calls = CallGraph::new(module, kernel_id);
    let functions = &calls.functions;
    let layout = Layout::new(module, &calls).map_err(|reason| fail(reason, span))?;
    let lines = module.lines(text);
    let mut lowering = Lowering {
        builder: Builder::new(module, &layout, &calls, kernel_id),
        targets: BlockTargets::default(),
        instructions: Vec::new(),
        guarded: Vec::new(),
        blocks: Vec::new(),
        refusals: Vec::new(),
        unsupported: Vec::new(),
        unsupported_at: Vec::new(),
        entries: HashMap::new(),
        treatments: part.map_or(&[], |(_, slice)| &slice.treatments),
    };
    if part.is_some_and(|(whole, _)| whole.has_stack()) {
        // Local memory must be as large as that of the whole program.
        lowering.builder.stack_pointer();
    }
    let mut graphs = Vec::new();
    for &function in functions {
        let graph = lowering.enter_function(module, lines, function);
        graphs.push(graph.map_err(|error| fail(error.to_string(), span))?);
    }
    for (&function, graph) in functions.iter().zip(&graphs) {
        lowering.lower_function(module, function, graph);
    }
    if !lowering.refusals.is_empty() {
        return Err(LowerError::Unsupported {
            kernel: kernel.to_owned(),
            instructions: lowering.refusals,
        });
    }
    let uninitialised = uninitialised::analyse(module, functions, &graphs);
    let Lowering {
        mut builder,
        targets,
        instructions,
        guarded,
        blocks,
        unsupported,
        unsupported_at,
        entries,
        ..
    } = lowering;
    uninitialised::record(&uninitialised, &mut builder);
    let parameters = layout.parameters.iter().map(|parameter| {
        let variable = &module.variables[parameter.variable.index()];
        Parameter {
            name: variable.name.clone(),
            ty: variable.ty,
            bytes: variable.size_bytes,
            is_array: !variable.dimensions.is_empty() || variable.vector > 1,
            offset: parameter.offset,
            variable: parameter.variable,
        }
    });
    let globals = layout.globals.iter().map(|&id| {
        let mut variable = module.variables[id.index()].clone();
        // Functions may declare variables of the same name.
        if let Some(function) = variable.function {
            let function = &module.functions[function.index()].name;
            variable.name = format!("{function}::{}", variable.name);
        }
        for item in &mut variable.initializer {
            item.value = layout.known(item);
        }
        (id, variable)
    });
    let globals: Vec<_> = globals.collect();
    let entry = |(&function, &first_op): (&FunctionId, &u32)| {
        Some((function.0, Callable { block: targets.entry(function)?, first_op }))
    };
    let mut callable: Vec<_> = entries.iter().filter_map(entry).collect();
    callable.sort_unstable_by_key(|&(function, _)| function);
    let pointed_to = calls.address_taken().map(|(function, own)| (function.0, own.clone()));
    let saved = builder.saved.iter().map(|&function| builder.activation(function)).collect();
    let ordered_because = ordering::reason(&instructions, &builder);
    let sharing = match ordered_because {
        None if part.is_none() => Sharing::of(module, &instructions),
        _ => Sharing::default(),
    };
    // Where an atomic returns something, the order of CTAs matters, and they take turns.
    let takes_work = match ordered_because {
        Some(_) if part.is_none() => {
            taking::atomics(module, &instructions, &blocks, &builder.tables.memory_ops)
        }
        _ => Vec::new(),
    };
    let names_ranks = builder.names_ranks;
    let mut program = Program {
        addresses: None,
        target_sm: module.target_sm,
        variables: layout.fixed_variables(module),
        kernel: kernel.to_owned(),
        address_bits: module.address_bits,
        parameters: parameters.collect(),
        directives: module.functions[kernel_id.index()].directives.clone(),
        blocks,
        guarded,
        ops: builder.ops,
        op_instruction: builder.op_instruction,
        settling: Vec::new(),
        slots: builder.slots,
        guards: builder.guards,
        tables: builder.tables,
        callable,
        pointed_to: pointed_to.collect(),
        saved,
        registers: builder.registers,
        instructions,
        parameter_bytes: layout.parameter_bytes,
        shared_static_bytes: layout.shared_static_bytes,
        shared_offsets: layout.shared_offsets(),
        constant_variables: layout.constant_variables(module),
        local_bytes: layout.local_bytes,
        constant: layout.constant,
        constant_addresses: layout.constant_addresses,
        globals,
        ordered_because,
        unsupported,
        unsupported_at,
        sharing,
        takes_work,
        contents: Contents { global: true, shared: true, apart: false, local: true },
        following: None,
        names_ranks,
    };
    program.settle();
    same_base::number(&program.ops, &mut program.tables);
    program.check().map_err(|reason| fail(reason, span))?;
    Ok(program)
}

/// The kernel named `name`.
fn find_kernel(module: &Module, name: &str) -> Result<FunctionId, LowerError> {
    let is_kernel = |f: &&gpucast_ptx_frontend::module::Function| {
        f.kind == FunctionKind::Entry && f.body.is_some()
    };
    module.kernel(name).ok_or_else(|| LowerError::NoSuchKernel {
        name: name.to_owned(),
        kernels: module.functions.iter().filter(is_kernel).map(|f| f.name.clone()).collect(),
    })
}

struct Lowering<'m, 's> {
    builder: Builder<'m>,
    targets: BlockTargets,
    instructions: Vec<StaticInstruction>,
    guarded: Vec<u32>,
    blocks: Vec<Block>,
    /// Reasons why the kernel as a whole cannot run.
    refusals: Vec<Unsupported>,
    /// Instructions that end the launch where a thread reaches them, in the order in which the
    /// traps that stand for them were emitted.
    unsupported: Vec<Unsupported>,
    /// Their indices among the program's instructions.
    unsupported_at: Vec<u32>,
    /// The operation that a call of each function begins with.
    entries: HashMap<FunctionId, u32>,
    /// The treatment of each instruction; none if all of them are computed.
    treatments: &'s [Treatment],
}

impl<'m> Lowering<'m, '_> {
    /// Number a function's instructions and blocks, so that calls can refer to them.
    fn enter_function(
        &mut self,
        module: &Module,
        lines: &LineIndex,
        function: FunctionId,
    ) -> Result<ControlFlowGraph, CfgError> {
        let body = module.functions[function.index()].body.clone().unwrap_or_default();
        let first = self.instructions.len() as u32;
        for instruction in &body.instructions {
            let guard_index = instruction.guard.map(|_| {
                self.guarded.push(self.instructions.len() as u32);
                self.guarded.len() as u32 - 1
            });
            self.instructions.push(StaticInstruction {
                function,
                line: lines.line(instruction.span.start),
                instruction: instruction.clone(),
                guard_index,
            });
        }
        let graph = ControlFlowGraph::new(&body)?;
        self.targets.enter(function, first, &graph);
        Ok(graph)
    }

    fn lower_function(
        &mut self,
        module: &'m Module,
        function: FunctionId,
        graph: &ControlFlowGraph,
    ) {
        self.builder.function = function;
        let first = self.targets.first_instruction(function);
        let order = graph.reverse_post_order().to_vec();
        // The prologue stands before the first block, which a branch may enter again.
        self.builder.instruction = first;
        self.builder.guard = 0;
        self.entries.insert(function, self.builder.ops.len() as u32);
        let result = call::prologue(&mut self.builder);
        self.collect(module, function, result);
        for block in order {
            let basic = &graph.blocks()[block.index()];
            let range = basic.instructions.clone();
            let number = |&block: &BlockId| self.targets.block(function, block);
            self.blocks.push(Block {
                first_instruction: first + range.start,
                instruction_count: range.end - range.start,
                successors: basic.successors.iter().filter_map(number).collect(),
                reconvergence: graph.reconvergence(block).as_ref().and_then(number),
                first_op: self.builder.ops.len() as u32,
            });
            for index in range {
                self.lower_instruction(module, first + index, graph, block);
            }
            self.builder.guard = 0;
            let end = graph.blocks()[block.index()].instructions.end;
            self.builder.instruction = first + end.saturating_sub(1);
            let first_op = self.blocks.last().map_or(0, |block| block.first_op);
            let result =
                control::close_block(&mut self.builder, &self.targets, graph, block, first_op);
            self.collect(module, function, result);
        }
    }

    /// Notes the reasons why a function as a whole cannot run.
    fn collect(&mut self, module: &Module, function: FunctionId, result: Lowered<()>) {
        if let Err(reason) = result {
            let span = module.functions[function.index()].span;
            self.refusals.push(Unsupported { what: String::new(), reason, span });
        }
    }

    fn lower_instruction(
        &mut self,
        module: &Module,
        index: u32,
        graph: &ControlFlowGraph,
        block: BlockId,
    ) {
        let entry = &self.instructions[index as usize];
        let instruction_clone = entry.instruction.clone();
        let treatment = self.treatments.get(index as usize).copied();
        self.builder.computes = treatment.is_none_or(Treatment::computes);
        self.builder.instruction = index;
        self.builder.guard = 0;
        if let (Some(guard), Some(guard_index)) = (instruction_clone.guard, entry.guard_index) {
            self.builder.set_guard(guard_index, guard);
            let results = instruction_clone.operands.first();
            if results.is_some_and(|results| uninitialised::mentions(results, guard.register)) {
                self.builder.preserve_guard();
            }
        }
        let guard = self.builder.guard;
        let first_op = self.builder.ops.len();
        let context = control::Context { module, graph, block, targets: &self.targets };
        let lowered = match treatment {
            Some(Treatment::CountedOnly) => Ok(()),
            _ => instruction(&mut self.builder, &instruction_clone, &context),
        };
        if let Err(reason) = lowered {
            self.unsupported_at.push(index);
            self.unsupported.push(Unsupported {
                what: control::full_mnemonic(&instruction_clone),
                reason,
                span: instruction_clone.span,
            });
            // Nothing of the instruction is left but the fault.
            self.builder.ops.truncate(first_op);
            self.builder.op_instruction.truncate(first_op);
            self.builder.guard = guard;
            self.builder.emit(Code::Trap, 0, 0, [self.unsupported.len() as u32, 0, 0]);
        }
        if guard != 0 && self.builder.guard == guard {
            // Nothing to do, but the lanes that do it are counted.
            let nowhere = self.builder.temporary_predicate();
            self.builder.emit(Code::PredicateConstant, 0, nowhere, [0; 3]);
        }
        self.builder.computes = true;
    }
}

/// Lowers one instruction.
///
/// There is no catch-all arm: a new mnemonic of the table has to be thought about here.
fn instruction(
    builder: &mut Builder<'_>,
    instruction: &Instruction,
    context: &control::Context<'_>,
) -> Lowered<()> {
    use Opcode as O;
    match instruction.opcode {
        O::Add
        | O::Sub
        | O::Mul
        | O::Mad
        | O::Mul24
        | O::Mad24
        | O::Clmad
        | O::Sad
        | O::Div
        | O::Rem
        | O::Abs
        | O::Neg
        | O::Min
        | O::Max
        | O::Popc
        | O::Clz
        | O::Bfind
        | O::Fns
        | O::Brev
        | O::Bfe
        | O::Bfi
        | O::Szext
        | O::Bmsk
        | O::Dp4a
        | O::Dp2a
        | O::Addc
        | O::Subc
        | O::Madc
        | O::Copysign
        | O::Fma
        | O::Rcp
        | O::Sqrt
        | O::Rsqrt
        | O::Sin
        | O::Cos
        | O::Lg2
        | O::Ex2
        | O::Tanh
        | O::Selp
        | O::Slct
        | O::And
        | O::Or
        | O::Xor
        | O::Not
        | O::Cnot
        | O::Lop3
        | O::Shf
        | O::Shl
        | O::Shr
        | O::Prmt => arithmetic::lower(builder, instruction),
        O::Testp => compare::testp(builder, instruction),
        O::Setp => compare::setp(builder, instruction),
        O::Set => compare::set(builder, instruction),
        O::Cvt => convert::lower(builder, instruction),
        O::CvtPack => narrow::pack(builder, instruction),
        O::Createpolicy => movement::create_policy(builder, instruction),
        O::Mov => movement::mov(builder, instruction),
        O::Cvta => movement::cvta(builder, instruction),
        O::Isspacep => movement::isspacep(builder, instruction),
        O::Shfl => movement::shuffle(builder, instruction),
        O::Vote | O::Match | O::Activemask | O::Redux | O::Elect => {
            movement::between_lanes(builder, instruction)
        }
        // There is one device, so that a multimem address stands for one place: a load reduces over
        // one value.
        O::Ld | O::Ldu | O::MultimemLdReduce => memory::load(builder, instruction),
        O::St | O::MultimemSt | O::MultimemStAsync => memory::store(builder, instruction),
        O::Atom | O::Red | O::MultimemRed | O::MultimemRedAsync => {
            memory::atomic(builder, instruction)
        }
        O::Bra => control::branch(builder, instruction, context),
        O::BrxIdx => control::branch_indexed(builder, instruction, context),
        O::Call => call::call(builder, instruction),
        O::Ret => control::leave(builder, context, Code::Return),
        O::Exit => control::leave(builder, context, Code::Exit),
        O::Trap => {
            builder.emit(Code::Trap, 0, 0, [0; 3]);
            Ok(())
        }
        O::Bar | O::Barrier => control::barrier(builder, instruction),
        O::BarWarp => control::barrier_warp(builder, instruction),
        // Warps of a CTA run one at a time and CTAs that wait for each other run in order, so
        // memory is always consistent; hints and delays have no effect on results.
        O::Membar
        | O::Fence
        | O::Prefetch
        | O::Prefetchu
        | O::Applypriority
        | O::ApplypriorityAsyncBulk
        | O::ApplypriorityAsyncBulkTensor
        | O::Discard
        | O::Nanosleep
        | O::Pmevent
        | O::TraceMark
        | O::Brkpt
        | O::Griddepcontrol
        | O::Setmaxnreg => Ok(()),
        O::StAsync => bulk_copy::store_async(builder, instruction),
        O::RedAsync => bulk_copy::reduce_async(builder, instruction),
        O::StBulk => bulk_copy::store(builder, instruction),
        O::Mapa => cluster::mapa(builder, instruction),
        O::Getctarank => cluster::getctarank(builder, instruction),
        O::BarrierCluster => cluster::barrier(builder, instruction),
        O::CpAsync => async_copy::copy(builder, instruction),
        O::CpAsyncCommitGroup
        | O::CpAsyncWaitGroup
        | O::CpAsyncWaitAll
        | O::CpAsyncBulkCommitGroup
        | O::CpAsyncBulkWaitGroup
        | O::WgmmaCommitGroup
        | O::WgmmaWaitGroup => async_copy::groups(builder, instruction),
        O::CpAsyncBulk
        | O::CpReduceAsyncBulk
        | O::MultimemCpAsyncBulk
        | O::MultimemCpReduceAsyncBulk => bulk_copy::copy(builder, instruction),
        // A prefetch is a hint.
        O::CpAsyncBulkPrefetch | O::CpAsyncBulkPrefetchTensor => Ok(()),
        O::CpAsyncBulkTensor | O::CpReduceAsyncBulkTensor => {
            tensor_copy::copy(builder, instruction)
        }
        O::TensormapReplace => tensor_copy::replace(builder, instruction),
        O::TensormapCpFenceproxy => bulk_copy::copy_tensor_map(builder, instruction),
        O::Tex | O::Tld4 => texture::fetch(builder, instruction),
        O::Txq | O::Suq => texture::query(builder, instruction),
        O::Istypep => texture::is_type(builder, instruction),
        O::Suld | O::Sust | O::Sured => texture::surface(builder, instruction),
        O::MbarrierInit
        | O::MbarrierInval
        | O::MbarrierExpectTx
        | O::MbarrierCompleteTx
        | O::MbarrierArrive
        | O::MbarrierArriveDrop
        | O::MbarrierTestWait
        | O::MbarrierTryWait
        | O::MbarrierCheckLayout
        | O::CpAsyncMbarrierArrive => mbarrier::lower(builder, instruction),
        O::MbarrierPendingCount => mbarrier::pending_count(builder, instruction),
        O::ClusterlaunchcontrolTryCancel => bulk_copy::try_cancel(builder, instruction),
        O::ClusterlaunchcontrolQueryCancel => bulk_copy::query_cancel(builder, instruction),
        O::WmmaLoad | O::WmmaStore => matrix::fragment::lower(builder, instruction),
        O::WmmaMma | O::Mma | O::MmaSp | O::MmaSpOrderedMetadata => {
            matrix::multiply::lower(builder, instruction)
        }
        O::Ldmatrix | O::Stmatrix => matrix::rows(builder, instruction),
        O::Movmatrix => matrix::transpose(builder, instruction),
        O::WgmmaMmaAsync | O::WgmmaMmaAsyncSp => matrix::warpgroup::lower(builder, instruction),
        O::WgmmaFence => {
            matrix::warpgroup::fence(builder);
            Ok(())
        }
        O::Tcgen05Alloc
        | O::Tcgen05Dealloc
        | O::Tcgen05RelinquishAllocPermit
        | O::Tcgen05Ld
        | O::Tcgen05LdRed
        | O::Tcgen05LdSpcompress
        | O::Tcgen05LdRedSpcompress
        | O::Tcgen05St
        | O::Tcgen05Cp
        | O::Tcgen05Shift
        | O::Tcgen05Mma
        | O::Tcgen05MmaSp
        | O::Tcgen05MmaWs
        | O::Tcgen05MmaWsSp
        | O::Tcgen05Commit
        | O::Tcgen05WaitLd
        | O::Tcgen05WaitSt => tensor_memory::lower(builder, instruction),
        // Transfers, copies and products of tensor memory are done when they are issued.
        O::Tcgen05FenceBeforeThreadSync | O::Tcgen05FenceAfterThreadSync => Ok(()),
        O::Spcompress | O::Spdecompress => sparse_vector::lower(builder, instruction),
        O::FabricTryGet
        | O::FabricTryPut
        | O::FabricTryRed
        | O::FabricTryPullred
        | O::FabricTryAtom
        | O::FabricTryGetTensor
        | O::FabricTryPutTensor
        | O::FabricTryRedTensor
        | O::FabricSubmit
        | O::FabricSubmitCommitGroup
        | O::FabricWait => Err(format!(
            "{} needs logical endpoints of a fabric, and a launch has one device",
            instruction.opcode.text()
        )),
        O::Stacksave | O::Stackrestore | O::Alloca => call::stack(builder, instruction),
        O::Vadd | O::Vsub | O::Vabsdiff | O::Vmin | O::Vmax | O::Vshl | O::Vshr | O::Vset => {
            video::scalar(builder, instruction)
        }
        O::Vmad => video::multiply_add(builder, instruction),
        O::Vadd2 | O::Vsub2 | O::Vavrg2 | O::Vabsdiff2 | O::Vmin2 | O::Vmax2 | O::Vset2 => {
            video::simd(builder, instruction, 16)
        }
        O::Vadd4 | O::Vsub4 | O::Vavrg4 | O::Vabsdiff4 | O::Vmin4 | O::Vmax4 | O::Vset4 => {
            video::simd(builder, instruction, 8)
        }
    }
}

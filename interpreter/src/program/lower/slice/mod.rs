//! The slice of a program on which counts depend.
//!
//! A count needs the way that control takes and the addresses of accesses, not the values that flow
//! through the arithmetic. Roots of the slice are branch conditions and guards, addresses, and the
//! operands of instructions that are executed in any case: barriers, mbarriers, exits, calls. From
//! there the analysis goes backwards over registers, the arguments of calls, and local, shared and
//! global memory. A load joins if something needs its value; then every store joins that may write
//! what it reads.
//!
//! Local memory is one place, and shared memory is two ([`shared_places`]). Global memory is told
//! apart by buffer: the roots of an address ([`super::values::roots`]) are variables, and a launch
//! says where they lead ([`Reach`]). That reading of addresses is a guess that holds for all
//! sensible kernels. The engine checks it: an access that proves it wrong ends the launch in
//! [`FaultKind::NotComputed`](crate::FaultKind::NotComputed), and the caller executes everything.

mod conduct;
mod independence;
mod regions;
mod shared_places;

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::dataflow::Uses;
use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::VariableId;
use gpucast_ptx_frontend::types::StateSpace;

use super::super::runtime::RuntimeFunction;
use super::super::{Program, StaticInstruction};
use super::values::flow::{Flow, Nodes, ValuePlace, spaces};
use super::values::roots::{self, Roots};
pub(crate) use conduct::Conduct;
pub use regions::{Buffers, Reach};
use shared_places::{OfProducts, SharedPlaces};

/// The execution of one instruction where only counts are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It is executed in any case: control, synchronisation, or not understood by the analysis.
    Always,
    /// It is executed because a root needs its value: an index into
    /// [`Program::instructions`].
    Needed {
        /// The instruction whose course, addresses or operands depend on the value.
        root: u32,
    },
    /// Its addresses are checked and told, and it moves nothing.
    AddressOnly,
    /// Its lanes come together, and it computes nothing.
    SynchronisesOnly,
    /// It is only counted.
    CountedOnly,
}

impl Treatment {
    /// Returns true if the instruction's values are computed.
    #[must_use]
    pub fn computes(self) -> bool {
        matches!(self, Self::Always | Self::Needed { .. })
    }
}

/// The instructions that counting executes, and the memory whose contents it needs.
#[derive(Clone, Debug)]
pub struct Slice {
    /// By the program's instructions.
    pub treatments: Vec<Treatment>,
    /// The buffers whose contents it reads or writes.
    pub buffers: Buffers,
    /// True if the contents of shared memory are computed.
    pub(crate) shared: bool,
    /// True if tiles are not moved to shared memory, though words beside them are.
    pub(crate) apart: bool,
    /// True if the contents of local memory are computed.
    pub(crate) local: bool,
}

impl Slice {
    /// Returns true if it rests on a guess that [`Slicer::together`] does without.
    #[must_use]
    pub fn tells_shared_places_apart(&self) -> bool {
        self.apart
    }
}

/// The values that one instruction moves.
struct Step {
    from: Vec<u32>,
    to: Vec<u32>,
    reads_global: bool,
    writes_global: bool,
    /// The roots of its addresses, if it accesses global memory.
    address: Roots,
    /// The roots of the address of its tensor map, if that is in memory.
    map: Option<Roots>,
}

/// Finds slices of one program.
pub struct Slicer<'p> {
    program: &'p Program,
    steps: Vec<Step>,
    /// The nodes whose values are needed in any case, with the instruction that needs them.
    needed: Vec<(u32, u32)>,
    nodes: usize,
    shared: SharedPlaces,
    /// True if shared memory is one place.
    together: bool,
    local: usize,
    arguments: usize,
    pub(crate) variables: Vec<VariableId>,
}

impl<'p> Slicer<'p> {
    /// Reads the flow of values off a program of `module`.
    #[must_use]
    pub fn new(module: &Module, program: &'p Program) -> Self {
        let instructions = &program.instructions;
        let nodes = Nodes::new(module, instructions);
        let flows: Vec<Flow> =
            instructions.iter().map(|instruction| Flow::of(&nodes, instruction)).collect();
        let roots = roots::Analysis::of(module, &nodes, instructions, &flows);
        let needed = needs(program, &nodes, &flows);
        let shared = SharedPlaces {
            words: nodes.of(ValuePlace::Shared),
            // Behind all others.
            tiles: nodes.count() as u32,
        };
        let of_products = OfProducts::new(instructions, &flows, nodes.count());
        let steps = flows.into_iter().zip(instructions);
        let steps = steps.map(|(flow, instruction)| {
            let mut step = step(&nodes, &roots, flow, instruction);
            let opcode = instruction.instruction.opcode;
            shared.written(opcode, &of_products, &step.from, &mut step.to);
            shared.read(opcode, &mut step.from);
            step
        });
        Self {
            program,
            steps: steps.collect(),
            needed,
            nodes: nodes.count() + 1,
            shared,
            together: false,
            local: nodes.of(ValuePlace::Local) as usize,
            arguments: nodes.of(ValuePlace::Arguments) as usize,
            variables: roots.variables,
        }
    }

    /// Takes shared memory for one place from now on.
    #[must_use]
    pub fn together(self) -> Self {
        Self { together: true, ..self }
    }

    /// The name of the program's kernel.
    #[must_use]
    pub fn kernel(&self) -> &'p str {
        &self.program.kernel
    }

    /// The parameters and module variables that addresses may be made of, by the indices that
    /// [`Self::distinct`] gives their buffers.
    pub fn variables(&self) -> impl Iterator<Item = VariableId> {
        self.variables.iter().copied()
    }

    pub(crate) fn program(&self) -> &'p Program {
        self.program
    }

    /// The buffers that each variable leads to if each pointer among the parameters leads to a
    /// buffer of its own.
    #[must_use]
    pub fn distinct(&self) -> Reach {
        let address_bytes = u64::from(self.program.address_bits / 8);
        let lead = |(index, variable): (usize, &VariableId)| {
            let parameter =
                self.program.parameters.iter().find(|parameter| parameter.variable == *variable);
            match parameter {
                Some(number) if number.bytes < address_bytes => Some(Vec::new()),
                _ => Some(vec![index]),
            }
        };
        Reach { of_variable: self.variables.iter().enumerate().map(lead).collect() }
    }

    /// The slice of a launch whose variables lead where `reach` says. `wanted` are the buffers
    /// whose contents something needs besides: a later launch, for instance.
    #[must_use]
    pub fn slice(&self, reach: &Reach, wanted: &Buffers) -> Slice {
        let mut buffers = wanted.clone();
        let mut root_of_buffers = None;
        let mut needed: Vec<Option<u32>> = vec![None; self.nodes];
        for &(node, root) in &self.needed {
            needed[node as usize].get_or_insert(root);
        }
        let regions: Vec<Buffers> = self.steps.iter().map(|step| reach.of(step.address)).collect();
        // Instructions that are executed in any case find the contents of what they access.
        for (index, (step, region)) in self.steps.iter().zip(&regions).enumerate() {
            let instruction = &self.program.instructions[index].instruction;
            let accesses = step.reads_global || step.writes_global;
            if accesses && Conduct::of(instruction) == Conduct::Always && buffers.add(region) {
                root_of_buffers.get_or_insert(index as u32);
            }
        }
        // So do copies of tensors find their maps, whose contents say which addresses they access.
        for (index, step) in self.steps.iter().enumerate() {
            if step.map.is_some_and(|map| buffers.add(&reach.of(map))) {
                root_of_buffers.get_or_insert(index as u32);
            }
        }
        let mut roots: Vec<Option<u32>> = vec![None; self.steps.len()];
        let [words, tiles] = [self.shared.words as usize, self.shared.tiles as usize];
        loop {
            let mut changed = false;
            // A callee's parameters are variables in its callers' local memory.
            let mut same = vec![(self.local, self.arguments)];
            same.extend(self.together.then_some((words, tiles)));
            for (one, other) in same.into_iter().flat_map(|(a, b)| [(a, b), (b, a)]) {
                if let (Some(root), None) = (needed[one], needed[other]) {
                    needed[other] = Some(root);
                    changed = true;
                }
            }
            // Values mostly flow forwards, so that few rounds backwards are enough.
            for (index, step) in self.steps.iter().enumerate().rev() {
                let writes = step.writes_global && regions[index].meets(&buffers);
                let root = step.to.iter().find_map(|&node| needed[node as usize]);
                let of_buffers = writes.then_some(root_of_buffers.unwrap_or(index as u32));
                let Some(root) = root.or(of_buffers) else { continue };
                roots[index].get_or_insert(root);
                for &node in &step.from {
                    if needed[node as usize].is_none() {
                        needed[node as usize] = Some(root);
                        changed = true;
                    }
                }
                // A buffer that is written in part is needed as a whole: either all of its contents
                // are computed or nothing is.
                if (step.reads_global || step.writes_global) && buffers.add(&regions[index]) {
                    root_of_buffers.get_or_insert(root);
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let instructions = self.program.instructions.iter().zip(&roots);
        let treatments = instructions.map(|(instruction, root)| {
            let conduct = Conduct::of(&instruction.instruction);
            match (conduct, *root) {
                (Conduct::Always, _) => Treatment::Always,
                (_, Some(root)) => Treatment::Needed { root },
                (Conduct::Value, None) => Treatment::CountedOnly,
                (Conduct::Exchange | Conduct::Product, None) => Treatment::SynchronisesOnly,
                (Conduct::Access, None) => Treatment::AddressOnly,
            }
        });
        let mut treatments: Vec<_> = treatments.collect();
        // Nothing is left of them but the fault.
        for &index in &self.program.unsupported_at {
            treatments[index as usize] = Treatment::Always;
        }
        Slice {
            treatments,
            buffers,
            shared: needed[words].is_some() || needed[tiles].is_some(),
            apart: needed[words].is_some() && needed[tiles].is_none(),
            local: needed[self.local].is_some(),
        }
    }
}

impl Program {
    /// The reason why only an execution of everything counts it, if there is one.
    #[must_use]
    pub fn not_sliced_because(&self) -> Option<&'static str> {
        if self.prints() {
            return Some("it prints");
        }
        if self.uses_heap() {
            return Some("it allocates memory on the device heap");
        }
        let changes_maps = |one: &StaticInstruction| {
            matches!(
                one.instruction.opcode,
                Opcode::TensormapReplace | Opcode::TensormapCpFenceproxy
            )
        };
        self.instructions.iter().any(changes_maps).then_some("it changes tensor maps")
    }
}

/// The nodes whose values are needed in any case, with the instruction that needs them.
fn needs(program: &Program, nodes: &Nodes, flows: &[Flow]) -> Vec<(u32, u32)> {
    let mut needed = Vec::new();
    for (index, (flow, instruction)) in (0..).zip(flows.iter().zip(&program.instructions)) {
        needed.extend(flow.decides.iter().map(|&node| (node, index)));
        if Conduct::of(&instruction.instruction) == Conduct::Always {
            let operands = operands_that_decide(nodes, instruction);
            needed.extend(operands.into_iter().map(|node| (node, index)));
        }
        // What assertions say is read where they fail.
        if instruction.instruction.opcode == Opcode::Call && asserts(program) {
            needed.push((nodes.of(ValuePlace::Arguments), index));
        }
    }
    needed
}

/// May the program come to an assertion that fails?
fn asserts(program: &Program) -> bool {
    let mut calls = program.tables.runtime_calls.iter();
    calls.any(|call| call.function == RuntimeFunction::AssertFail)
}

/// The operands of an instruction that is executed in any case. A call hands its arguments on, and
/// an asynchronous store moves a value, both without looking at it.
fn operands_that_decide(nodes: &Nodes, item: &StaticInstruction) -> Vec<u32> {
    use Opcode as O;
    let moves = matches!(
        item.instruction.opcode,
        O::Call | O::StAsync | O::RedAsync | O::MultimemStAsync | O::MultimemRedAsync
    );
    if moves {
        return Vec::new();
    }
    let read = Uses::of(&item.instruction).read;
    read.into_iter().map(|register| nodes.register(item.function, register)).collect()
}

/// The values that an instruction moves, in spaces that its addresses may lie in.
fn step(nodes: &Nodes, roots: &roots::Analysis<'_>, flow: Flow, item: &StaticInstruction) -> Step {
    let global = nodes.of(ValuePlace::Global);
    let (reads, writes) = (flow.from.contains(&global), flow.to.contains(&global));
    let address = match reads || writes {
        true => roots.of_addresses(nodes, item),
        false => Roots::default(),
    };
    let is_generic = spaces(&item.instruction).contains(&StateSpace::Global)
        && spaces(&item.instruction).contains(&StateSpace::Shared)
        && spaces(&item.instruction).len() == 4;
    let only_global = is_generic && !address.may_be_anything() && !address.may_be_elsewhere();
    let places =
        [ValuePlace::Shared, ValuePlace::Local, ValuePlace::Arguments].map(|place| nodes.of(place));
    let is_call = item.instruction.opcode == Opcode::Call;
    let keeps = |node: &u32| *node != global && (is_call || !only_global || !places.contains(node));
    Step {
        from: flow.from.into_iter().filter(keeps).collect(),
        to: flow.to.into_iter().filter(keeps).collect(),
        reads_global: reads,
        writes_global: writes,
        address,
        map: roots.of_map_in_memory(nodes, item),
    }
}

//! Arguments of a launch, and the memory of arrays that they point into.

use std::sync::Arc;

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::ElementType;
use gpucast_forecast::input::plan::{Buffer, Plan, PlannedArgument, Pointer};
use gpucast_forecast::input::structure::Structure;
use gpucast_forecast::{Anchor, Failure, Report, SourceText};
use gpucast_interpreter::DeviceMemory;
use pyo3::prelude::*;

/// Memory of an object that Python holds during the call: attributes of `gpucast._memory.Block`.
#[derive(FromPyObject)]
pub(crate) struct Block {
    /// Its name in messages.
    name: String,
    /// Its first address in this process.
    address: usize,
    /// Its size.
    bytes: usize,
    /// True if kernels may write it.
    writable: bool,
}

/// The bytes of a kernel parameter: attributes of `gpucast._arguments.Argument`.
#[derive(FromPyObject)]
pub(crate) struct Argument {
    /// All bytes, with zeros for pointers.
    data: Vec<u8>,
    /// Pointers among them.
    pointers: Vec<BlockPointer>,
    /// The argument in a few words, for messages.
    text: String,
}

/// A pointer into a block: attributes of `gpucast._arguments.Pointer`.
#[derive(FromPyObject)]
struct BlockPointer {
    /// Bytes before it in the argument.
    at: usize,
    /// The block's index.
    block: usize,
    /// Bytes behind the block's beginning.
    offset: u64,
}

/// The arguments of a launch with the memory that they point into.
#[derive(FromPyObject)]
pub(crate) struct Arguments {
    blocks: Vec<Block>,
    values: Vec<Argument>,
}

impl Block {
    /// Its contents, copied.
    fn copied(&self) -> Arc<[u8]> {
        #[expect(unsafe_code, reason = "Python's objects lend their memory by address")]
        // SAFETY: the Python side read address and size from the object's own interface and holds
        // the object until the call returns. Python's lock is held, so no Python code writes.
        let bytes = unsafe {
            std::slice::from_raw_parts(std::ptr::with_exposed_provenance(self.address), self.bytes)
        };
        Arc::from(bytes)
    }
}

impl Arguments {
    /// A plan with copies of the arrays, which the run leaves as they are.
    pub(crate) fn copied_into(&self, plan: &Plan) -> Result<Plan, Failure> {
        self.planned(plan, |block| Init::Bytes(block.copied()))
    }

    /// A plan whose buffers are the arrays themselves; [`Arguments::memory`] has them.
    pub(crate) fn lent_to(&self, plan: &Plan) -> Result<Plan, Failure> {
        self.planned(plan, |block| match block.writable {
            true => Init::Lent,
            false => Init::Bytes(block.copied()),
        })
    }

    fn planned(&self, plan: &Plan, init: impl Fn(&Block) -> Init) -> Result<Plan, Failure> {
        let mut plan = plan.clone();
        let (Some(launch), false) = (plan.launches.first_mut(), self.values.is_empty()) else {
            return Ok(plan);
        };
        let lines: Vec<&str> = self.values.iter().map(|value| value.text.as_str()).collect();
        let source = SourceText::new("the arguments", lines.join("\n"));
        let mut start = 0;
        let mut places = Vec::new();
        for line in &lines {
            places.push(Anchor { source: source.clone(), range: start..start + line.len() });
            start += line.len() + 1;
        }
        let buffers = self.blocks.iter().map(|block| Buffer {
            name: block.name.clone(),
            ty: ElementType::U8,
            len: block.bytes,
            init: init(block),
            pointers: Vec::new(),
            anchor: places.first().cloned().unwrap_or_else(|| launch.kernel_anchor.clone()),
        });
        plan.buffers = buffers.collect();
        // They are about the buffers of the file.
        plan.expectations.clear();
        launch.arguments =
            self.values.iter().map(Argument::planned).collect::<Result<_, Failure>>()?;
        launch.places.arguments = places;
        Ok(plan)
    }

    /// The memory of a plan made by [`Arguments::lent_to`]: writable arrays at their own
    /// addresses, copies of the others.
    pub(crate) fn memory(&self, plan: &Plan, address_bits: u8) -> Result<DeviceMemory, Failure> {
        let wrong = |error: &dyn std::fmt::Display| Failure::from(Report::new(error.to_string()));
        if address_bits != 64 && !self.blocks.is_empty() {
            let report = Report::new("a module with 32-bit addresses cannot reach Python's arrays");
            return Err(report.hint("compile it for .address_size 64").into());
        }
        let mut memory = DeviceMemory::with_address_bits(address_bits);
        for (block, buffer) in self.blocks.iter().zip(&plan.buffers) {
            match &buffer.init {
                Init::Bytes(contents) => {
                    memory.allocate(&block.name, contents.len() as u64).map_err(|e| wrong(&e))?;
                    if let Some(bytes) = memory.bytes_mut(&block.name) {
                        bytes.copy_from_slice(contents);
                    }
                }
                _ => {
                    let host = std::ptr::with_exposed_provenance_mut(block.address);
                    #[expect(unsafe_code, reason = "Python's objects lend their memory")]
                    // SAFETY: the Python side read address, size and writability from the object's
                    // own interface, merged what overlaps, and holds the object until the call
                    // returns, after the memory is gone. Arrays of Python are initialised.
                    let mapped = unsafe { memory.map_host(&block.name, host, block.bytes as u64) };
                    mapped.map_err(|error| wrong(&error))?;
                }
            }
        }
        Ok(memory)
    }

    /// Returns true if the launch has arguments of its own.
    pub(crate) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

impl Argument {
    fn planned(&self) -> Result<PlannedArgument, Failure> {
        let pointer = |one: &BlockPointer| Pointer { buffer: one.block, offset: one.offset };
        if let ([only], 8) = (self.pointers.as_slice(), self.data.len()) {
            return Ok(PlannedArgument::Pointer(pointer(only)));
        }
        let pointers =
            self.pointers.iter().map(|pointer_of| (pointer_of.at, pointer(pointer_of))).collect();
        let structure = Structure::of_parts(self.data.clone(), pointers).ok_or_else(|| {
            Failure::Usage(Report::new(format!("{}: a pointer leaves the argument", self.text)))
        })?;
        Ok(PlannedArgument::Structure(structure))
    }
}

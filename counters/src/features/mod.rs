//! Kernel features, gathered from an execution.
//!
//! They are those of Stevens & Klöckner, "A mechanism for balancing accuracy and scope in
//! cross-machine black-box GPU performance modeling", IJHPCA 2020, sections 5 and 6.1.
//!
//! The paper counts symbolically, on the loops of a program; here the same quantities come from the
//! actions of the threads. A [`FeatureCounter`] watches a launch beside a
//! [`Counter`](crate::Counter), whose base table has the counts. It adds the facts that only
//! addresses tell:
//!
//! - **strides**, of thread indices (*local*) and block indices (*global*), from sampled blocks.
//!   The first address of each thread is checked against an affine function of all sampled threads
//!   and blocks. The second, third, fifth, ninth … execution of each warp must have moved by as
//!   much as those of all others;
//! - the **footprint**, the distinct elements touched, from every access (the pages that hold it
//!   are bounded: what exceeds them is sampled and marked as an estimate).
//!
//! Instructions whose accesses have the same space, direction, buffer, type and strides are one
//! [`MemoryAccess`]: an unrolled loop is one access of the source.

mod code;
mod footprint;
mod gather;
mod kind;
mod machine;
mod marks;
mod pattern;
mod recorder;
mod stand_in;

use std::collections::BTreeMap;
use std::sync::Arc;

use gpucast_interpreter::{Launch, Observer, Program};
use gpucast_ptx_frontend::module::Location;

use crate::table::BaseTable;
use code::FeatureCode;
use footprint::Footprints;
use gather::Sampled;
use recorder::AccessSample;

pub use footprint::Footprint;
pub use kind::{
    AccessDirection, ElementType, MemorySpace, Numbers, OPERATION_NAMES, operation_name,
};
pub use pattern::{Stride, Strides};
pub use recorder::FeatureRecorder;
pub use stand_in::FeatureShift;

/// The dependence of an access's addresses on the thread and block that make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccessPattern {
    /// Bytes from thread to thread, along the axes of a block.
    pub local: Strides,
    /// Bytes from block to block, along the axes of the grid.
    pub global: Strides,
    /// Bytes from one execution by a thread to its next, if they are always the same.
    pub step_bytes: Option<i64>,
}

/// Accesses to memory with the same pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryAccess {
    /// The kind of memory.
    pub space: MemorySpace,
    /// Load, store or atomic.
    pub direction: AccessDirection,
    /// The buffer, if it has a name.
    pub buffer: Option<String>,
    /// The type of their elements.
    pub element: ElementType,
    /// The dependence of addresses on indices.
    pub pattern: AccessPattern,
    /// Elements accessed, each counted once for each warp that accesses it in one instruction.
    pub sub_groups: u128,
    /// Elements accessed, each counted for each thread.
    pub work_items: u128,
    /// Distinct elements; none of private memory.
    pub footprint: Option<Footprint>,
    /// The PTX instructions that make them: indices into the program's instructions, in order.
    pub instructions: Vec<u32>,
    /// The accesses of the machine code that stand for them, by width. None if there is no machine
    /// code, or if it does not say which of several memories an access reaches.
    pub machine: Option<Vec<MachineAccesses>>,
    /// Lines of the PTX text.
    pub ptx_lines: Vec<u32>,
    /// CUDA lines, if `.loc` gives them.
    pub cuda_lines: Vec<Location>,
}

/// Accesses of the machine code with the same width. The assembler may join accesses of several
/// PTX instructions into a wider one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineAccesses {
    /// Bytes that a thread accesses at once.
    pub bytes: u32,
    /// Times that a warp issued one.
    pub sub_groups: u128,
    /// Times that a thread executed one.
    pub work_items: u128,
}

impl MemoryAccess {
    /// The stride of thread index `axis` in elements; `None` if it is irregular or cannot be
    /// observed.
    #[must_use]
    pub fn local_stride(&self, axis: usize) -> Option<f64> {
        self.stride(self.pattern.local, axis)
    }

    /// The stride of block index `axis` in elements.
    #[must_use]
    pub fn global_stride(&self, axis: usize) -> Option<f64> {
        self.stride(self.pattern.global, axis)
    }

    fn stride(&self, strides: Strides, axis: usize) -> Option<f64> {
        match strides {
            Strides::Affine(strides) => strides.get(axis)?.elements(self.element.bytes()),
            Strides::Irregular => None,
        }
    }

    /// The access-to-footprint ratio (AFR): elements accessed by threads over distinct elements
    /// (section 6.1.1).
    #[must_use]
    pub fn access_to_footprint(&self) -> Option<f64> {
        let footprint = self.footprint.filter(|footprint| footprint.elements > 0.0)?;
        Some(self.work_items as f64 / footprint.elements)
    }

    /// Returns true if all threads along axis 0 access the same element (section 5: *uniform*).
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.local_stride(0) == Some(0.0)
    }

    /// The count that costs are assessed by (section 5): work-items for global memory, sub-groups
    /// for on-chip work and for uniform accesses.
    #[must_use]
    pub fn count(&self) -> u128 {
        match self.space {
            MemorySpace::Global if !self.is_uniform() => self.work_items,
            _ => self.sub_groups,
        }
    }
}

/// The executions of an arithmetic operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationCount {
    /// One of [`OPERATION_NAMES`].
    pub operation: &'static str,
    /// The type of its operands.
    pub element: ElementType,
    /// Times that a warp did it. Features count these (section 5).
    pub sub_groups: u128,
    /// Times that a thread did it.
    pub work_items: u128,
}

/// The features of one launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// The kernel.
    pub kernel: String,
    /// Blocks of the grid.
    pub grid: [u32; 3],
    /// Threads of a block.
    pub block: [u32; 3],
    /// Work-groups: blocks of the grid.
    pub groups: u64,
    /// Sub-groups: warps of the grid.
    pub sub_groups: u128,
    /// Work-items: threads of the grid.
    pub work_items: u128,
    /// Accesses by pattern, in order of space, direction and buffer.
    pub accesses: Vec<MemoryAccess>,
    /// Arithmetic by operation and type.
    pub operations: Vec<OperationCount>,
    /// Barriers that a thread waits at; the mean, if threads differ.
    pub barriers_per_work_item: f64,
    /// Times that a warp issued each instruction of the machine code, by mnemonic; none without
    /// machine code.
    pub machine_instructions: Option<BTreeMap<String, u128>>,
}

/// A buffer of device memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its size.
    pub bytes: u64,
}

/// Gathers the features of one launch.
#[derive(Debug)]
pub struct FeatureCounter {
    code: Arc<FeatureCode>,
    footprints: Arc<Footprints>,
    sampled: BTreeMap<u32, Sampled>,
    /// The samples of CTAs that others stand for, by their places in order of the grid: z, y, x.
    of_classes: BTreeMap<[u32; 3], Vec<Sample>>,
}

/// A sample, with the key of its memory instruction.
#[derive(Clone, Debug)]
struct Sample {
    key: u32,
    sample: AccessSample,
}

impl FeatureCounter {
    /// Features of `launch` of `program`.
    #[must_use]
    pub fn new(program: &Program, launch: &Launch) -> Self {
        let code = FeatureCode::of(program, launch);
        Self {
            footprints: Arc::new(Footprints::new(code.accesses)),
            sampled: BTreeMap::new(),
            of_classes: BTreeMap::new(),
            code: Arc::new(code),
        }
    }

    /// The features, with the counts that a [`Counter`](crate::Counter) made of the same launch.
    /// `buffers` name the memory that was accessed.
    #[must_use]
    pub fn finish(mut self, table: &BaseTable, buffers: &[Buffer]) -> Features {
        for ([z, y, x], samples) in std::mem::take(&mut self.of_classes) {
            for Sample { key, sample } in samples {
                self.sampled.entry(key).or_default().add([x, y, z], self.code.block, &sample);
            }
        }
        gather::gather(&self.code, &self.sampled, &self.footprints, table, buffers)
    }
}

impl Observer for FeatureCounter {
    type Recorder = FeatureRecorder;

    fn recorder(&self, _program: &Program) -> FeatureRecorder {
        FeatureRecorder::new(Arc::clone(&self.code), Arc::clone(&self.footprints))
    }

    fn wave(&self) -> usize {
        1
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut FeatureRecorder]) {
        for recorder in recorders.iter_mut().filter(|recorder| recorder.sampled) {
            for (key, sample) in recorder.samples.iter() {
                let sampled = self.sampled.entry(key).or_default();
                sampled.add(recorder.ctaid, self.code.block, sample);
            }
            recorder.samples.clear();
        }
    }

    fn fresh(&self) -> Self {
        Self {
            footprints: Arc::new(Footprints::new(self.code.accesses)),
            sampled: BTreeMap::new(),
            of_classes: BTreeMap::new(),
            code: Arc::clone(&self.code),
        }
    }
}

#[cfg(test)]
mod tests;

//! Watches CTAs for values that one takes from another and that decide the counts.
//!
//! A load is decisive if its value decides the executed or counted instructions
//! ([`Sharing`](crate::program::lower::sharing::Sharing)). CTAs may run in parallel only as long as
//! no decisive load reads bytes that another CTA writes, before or after. If no buffer that such
//! loads may read is one that the launch may write, that is known beforehand. Otherwise every such
//! load and every write to these buffers leaves a mark. A mark of another CTA's is a *conflict*:
//! the launch is given up and executed again in order.
//!
//! A conflict does not depend on the order in which CTAs ran. Up to the first conflict each CTA has
//! read only the bytes from before the launch and those it wrote itself. It therefore does the same
//! in any order. The two accesses of the first conflict are made in every order, and each of them
//! finds the other one's mark.
//!
//! "CTA" is short for the CTAs of one cluster, which run on one thread in an order of their own.
//!
//! An attempt that faults is given up too, and so is one that goes on for long without an end: a
//! CTA may be waiting for another one that has no thread. The observer's `fresh` copy sees the
//! attempt, and replaces the observer if the attempt holds. The second run is watched as well, so
//! the reason names the first conflict of that order.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use gpucast_ptx_frontend::types::StateSpace;

use super::cta::LaunchContext;
use super::pointers::Pointers;
use crate::memory::{DeviceMemory, Saved};
use crate::observer::{Access, AccessKind, Pattern};
use crate::program::Program;
use crate::program::lower::sharing::{Decides, Roots};

/// Bytes of memory that share a mark.
const CELL_BYTES: u64 = 4;

/// Marks of a page, which exists once something in it is marked.
const PAGE_CELLS: usize = 1024;

const READ: u32 = 1 << 31;
const WRITTEN: u32 = 1 << 30;
/// The bits that say whose mark it is: a cluster's number, from 1 on.
const OWNER: u32 = WRITTEN - 1;
/// Several clusters'.
const SEVERAL: u32 = OWNER;

/// The marks of a launch.
#[derive(Debug)]
pub(crate) struct Watch {
    /// For each instruction: is it a load that decides?
    decides: Vec<bool>,
    buffers: Vec<Marked>,
    conflict: OnceLock<Conflict>,
    /// The launch is given up at the first conflict.
    gives_up: bool,
}

/// The marks of one buffer.
#[derive(Debug)]
struct Marked {
    start: u64,
    bytes: u64,
    pages: Vec<OnceLock<Box<[AtomicU32; PAGE_CELLS]>>>,
}

/// The marks of a launch, for the CTAs of one cluster.
#[derive(Clone, Copy, Debug)]
pub(super) struct Watching<'a> {
    pub(super) watch: &'a Watch,
    pub(super) cluster: u64,
}

impl Watching<'_> {
    /// An access by one of its CTAs.
    #[cold]
    #[inline(never)]
    pub(super) fn hear(&self, access: &Access<'_>) {
        self.watch.hear(self.cluster, access);
    }
}

/// Two CTAs that depend on their order.
#[derive(Clone, Copy, Debug)]
struct Conflict {
    cluster: u64,
    instruction: u32,
    reads: bool,
}

/// The buffers that a launch reads with loads that decide and the buffers that it writes.
struct Buffers {
    read: Vec<bool>,
    written: Vec<bool>,
}

impl Buffers {
    /// Those that both loads `of_interest` may read and the launch may write.
    fn of(launch: &LaunchContext<'_>, memory: &DeviceMemory, of_interest: Decides) -> Self {
        let sharing = &launch.program.sharing;
        let pointers = Pointers {
            program: launch.program,
            globals: &launch.globals,
            parameters: launch.parameters.as_slice(),
            memory,
        };
        let of_variable: Vec<_> =
            sharing.variables.iter().map(|&variable| pointers.buffers_of(variable)).collect();
        let all = memory.allocations();
        let mut buffers = Self { read: vec![false; all], written: vec![false; all] };
        let add = |buffers: &mut Vec<bool>, roots: Roots| {
            if roots.may_be_anything() {
                return buffers.fill(true);
            }
            for variable in roots.variables() {
                match of_variable.get(variable) {
                    Some(Some(found)) => found.iter().for_each(|&at| buffers[at] = true),
                    _ => buffers.fill(true),
                }
            }
        };
        for load in sharing.loads.iter().filter(|load| load.decides >= of_interest) {
            add(&mut buffers.read, load.roots);
        }
        for write in &sharing.writes {
            add(&mut buffers.written, write.roots);
        }
        buffers
    }

    fn shared(&self) -> impl Iterator<Item = usize> {
        let both = self.read.iter().zip(&self.written).enumerate();
        both.filter(|(_, (read, written))| **read && **written).map(|(at, _)| at)
    }
}

/// Everything that a watched launch needs besides its context.
pub(crate) struct Plan {
    pub(crate) watch: Watch,
    /// The buffers that the launch may write, as they are before it.
    pub(crate) before: Saved,
}

/// The execution order of a launch, with the reason.
pub(crate) enum Decision {
    /// No CTA can tell whether it runs before another one.
    Independent,
    Watched(Box<Plan>),
    /// It may depend on their order, but cannot be executed twice.
    Ordered(String),
}

impl Plan {
    /// Decides about a launch whose observer may look at the values of stores or not.
    pub(crate) fn of(
        launch: &LaunchContext<'_>,
        memory: &DeviceMemory,
        clusters: u128,
        wants_values: bool,
    ) -> Decision {
        let program = launch.program;
        if clusters < 2 || program.sharing.writes.is_empty() {
            return Decision::Independent;
        }
        let least = if wants_values { Decides::Never } else { Decides::Directly };
        if Buffers::of(launch, memory, least).shared().next().is_none() {
            return Decision::Independent;
        }
        if clusters >= u128::from(SEVERAL) {
            return Decision::Ordered("there are too many CTAs to watch them".to_owned());
        }
        if program.prints() {
            return Decision::Ordered(
                "CTAs print, and what they do may depend on what others write".to_owned(),
            );
        }
        let of_interest = least.min(Decides::ThroughGlobal);
        let buffers = Buffers::of(launch, memory, of_interest);
        let Ok(before) = memory.save(&buffers.written) else {
            return Decision::Ordered(
                "what CTAs do may depend on what others write, and memory for a copy is lacking"
                    .to_owned(),
            );
        };
        let mut decides = vec![false; program.instructions.len()];
        for load in program.sharing.loads.iter().filter(|load| load.decides >= of_interest) {
            decides[load.instruction as usize] = true;
        }
        let marked = buffers.shared().filter_map(|at| {
            let (_, start, bytes) = memory.buffers().nth(at)?;
            let cells = bytes.div_ceil(CELL_BYTES) as usize;
            let pages = (0..cells.div_ceil(PAGE_CELLS)).map(|_| OnceLock::new()).collect();
            Some(Marked { start, bytes, pages })
        });
        let watch =
            Watch { decides, buffers: marked.collect(), conflict: OnceLock::new(), gives_up: true };
        Decision::Watched(Box::new(Self { watch, before }))
    }
}

impl Watch {
    /// Forgets all marks and conflicts, and watches to the end from now on.
    pub(crate) fn begin_again(&mut self) {
        self.gives_up = false;
        for buffer in &mut self.buffers {
            buffer.pages.iter_mut().for_each(|page| *page = OnceLock::new());
        }
        self.conflict = OnceLock::new();
    }

    /// Are there two CTAs that depend on their order?
    pub(crate) fn has_conflict(&self) -> bool {
        self.conflict.get().is_some()
    }

    /// Will the launch be executed again, whatever else happens?
    pub(crate) fn is_over(&self) -> bool {
        self.gives_up && self.has_conflict()
    }

    /// Returns the reason why the launch has to be executed in order, after it has been.
    pub(crate) fn reason(&self, program: &Program, ctas_per_cluster: u64) -> String {
        let Some(conflict) = self.conflict.get() else {
            return "executed again in order because an attempt in parallel failed".to_owned();
        };
        let line = program.instructions.get(conflict.instruction as usize).map(|i| i.line);
        let line = line.unwrap_or_default();
        let (does, others) = match conflict.reads {
            true => ("reads", "writes"),
            false => ("writes", "reads"),
        };
        let who = match ctas_per_cluster {
            1 => "CTA",
            _ => "cluster",
        };
        format!(
            "executed again in order because {who} {} {does} in line {line} what another {who} \
             {others}, and the value decides what is executed or counted",
            conflict.cluster
        )
    }

    /// An access by CTAs of `cluster`.
    fn hear(&self, cluster: u64, access: &Access<'_>) {
        if access.space != StateSpace::Global || self.has_conflict() {
            return;
        }
        let mark = match access.kind {
            AccessKind::Load | AccessKind::LoadReadOnly => READ,
            AccessKind::Store | AccessKind::Atomic | AccessKind::Reduction => WRITTEN,
        };
        let decides = || self.decides.get(access.instruction as usize).copied().unwrap_or(true);
        if mark == READ && !decides() {
            return;
        }
        let bytes = u64::from(access.bytes_per_lane);
        let lanes = (0..32).filter(|lane| access.mask >> lane & 1 != 0);
        let conflict = match access.pattern {
            Pattern::Uniform => self.mark(cluster, access.addresses[0], bytes, mark),
            Pattern::Consecutive => self.mark(cluster, access.addresses[0], 32 * bytes, mark),
            Pattern::General => lanes
                .map(|lane| self.mark(cluster, access.addresses[lane], bytes, mark))
                .fold(false, |any, one| any | one),
        };
        if conflict {
            let instruction = access.instruction;
            // If several conflicts are found at once, one is enough.
            let _ = self.conflict.set(Conflict { cluster, instruction, reads: mark == READ });
        }
    }

    /// Marks some bytes. Returns true if there is a conflict.
    fn mark(&self, cluster: u64, address: u64, bytes: u64, mark: u32) -> bool {
        let inside = |buffer: &&Marked| address.wrapping_sub(buffer.start) < buffer.bytes;
        let Some(buffer) = self.buffers.iter().find(inside) else { return false };
        let offset = address - buffer.start;
        let end = (offset + bytes).min(buffer.bytes);
        let cells = (offset / CELL_BYTES) as usize..end.div_ceil(CELL_BYTES) as usize;
        // Launches of more clusters than marks can tell apart are not watched.
        let own = cluster as u32 + 1;
        let mut conflict = false;
        for cell in cells {
            let page = buffer.pages[cell / PAGE_CELLS]
                .get_or_init(|| Box::new([const { AtomicU32::new(0) }; PAGE_CELLS]));
            conflict |= add(&page[cell % PAGE_CELLS], own, mark);
        }
        conflict
    }
}

/// Adds a mark to a cell. Returns true if there is a conflict.
fn add(cell: &AtomicU32, own: u32, mark: u32) -> bool {
    let mut state = cell.load(Ordering::Relaxed);
    loop {
        let owner = match state & OWNER {
            0 => own,
            owner if owner == own => own,
            _ => SEVERAL,
        };
        let marks = (state | mark) & !OWNER;
        if owner == SEVERAL && marks == READ | WRITTEN {
            return true;
        }
        let new = marks | owner;
        if new == state {
            return false;
        }
        match cell.compare_exchange_weak(state, new, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => return false,
            Err(now) => state = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether marks of clusters, one after the other, end in a conflict.
    fn conflict(marks: &[(u32, u32)]) -> bool {
        let cell = AtomicU32::new(0);
        marks.iter().fold(false, |any, &(own, mark)| any | add(&cell, own, mark))
    }

    #[test]
    fn reading_what_another_cta_writes_is_a_conflict_in_either_order() {
        assert!(conflict(&[(1, READ), (2, WRITTEN)]));
        assert!(conflict(&[(1, WRITTEN), (2, READ)]));
        assert!(conflict(&[(1, READ), (2, READ), (1, WRITTEN)]), "2 has read it too");
        assert!(conflict(&[(1, WRITTEN), (2, WRITTEN), (1, READ)]), "2 may have written last");
        assert!(conflict(&[(1, READ), (1, WRITTEN), (2, READ)]));
    }

    #[test]
    fn what_one_cta_does_alone_or_all_do_alike_is_none() {
        assert!(!conflict(&[(1, READ), (1, WRITTEN), (1, READ)]));
        assert!(!conflict(&[(1, READ), (2, READ), (3, READ)]));
        assert!(!conflict(&[(1, WRITTEN), (2, WRITTEN), (1, WRITTEN)]));
    }
}

//! Atomics, and what compilers make of them where all lanes of a warp have one address.
//!
//! `docs/evidence/machine-rules.md` has the table that the rules follow: which operations, types
//! and values `ptxas` adds up within the warp before one lane changes memory.

use gpucast_counters::machine::MachineAccess;
use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::Modifier;
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use gpucast_simulation::Combining;
use smallvec::smallvec;

use super::super::family::{Aggregation, Convergence, Family};
use super::super::graph::{Arg, Graph, Op};
use super::super::uniform::is_uniform;
use super::{Selected, Selection};

/// An atomic as the selection sees it.
struct Atomic<'a, 'p> {
    graph: &'a Graph<'p>,
    op: &'a Op<'p>,
    family: &'a Family,
    shared: bool,
    bytes: u32,
    /// Nobody reads the result.
    unread: bool,
    instruction: Selected,
}

pub(super) fn select(graph: &Graph<'_>, op: &Op<'_>, family: &Family, bytes: u32) -> Selection {
    let space = op.memory.and_then(|memory| memory.space);
    let shared = space == Some(StateSpace::Shared);
    let unread = op.results.iter().all(|result| graph.uses(*result).is_empty());
    let needs_result = op.has(Modifier::Cas) || op.has(Modifier::Exch);
    let (name, kind) = match (shared, unread && !needs_result) {
        (true, _) => ("ATOMS", AccessKind::Atomic),
        (false, true) => ("RED", AccessKind::Reduction),
        (false, false) if space == Some(StateSpace::Global) => ("ATOMG", AccessKind::Atomic),
        (false, false) => ("ATOM", AccessKind::Atomic),
    };
    let access = Some(MachineAccess { space, kind, bytes });
    let instruction = Selected { access, ..Selected::new(name, 1) };
    let atomic = Atomic { graph, op, family, shared, bytes, unread, instruction };
    // Fermi and Kepler lock a word of shared memory around every update (`LDSLK`, `STSUL`); later
    // ones have integer atomics there and exchange floating-point sums until they fit.
    let locks = family.convergence == Convergence::Suffix;
    if shared && (locks || atomic.is_floating()) {
        return atomic.exchanges(locks);
    }
    atomic.counted().or_else(|| atomic.aggregated()).unwrap_or_else(|| smallvec![instruction])
}

impl Atomic<'_, '_> {
    fn is_floating(&self) -> bool {
        let ty = self.op.source.types().last();
        use ScalarType as T;
        matches!(ty, Some(T::F32 | T::F64 | T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2))
    }

    fn value(&self) -> Option<Arg> {
        self.op.args.first().copied()
    }

    /// A loop that exchanges the word until nobody has changed it in between, or holds its lock.
    fn exchanges(&self, locks: bool) -> Selection {
        let load =
            MachineAccess { space: Some(StateSpace::Shared), kind: AccessKind::Load, bytes: 4 };
        let mut selection: Selection =
            smallvec![Selected { mnemonic: "LDS", access: Some(load), ..self.instruction }];
        selection.extend(update(self.op, self.family, self.bytes));
        selection.push(self.instruction);
        // Whether the lock was had is a predicate of the load and the store themselves.
        if !locks {
            selection.push(Selected::new("ISETP", 1));
        }
        selection.push(Selected::new("BRA", 1));
        selection
    }

    /// Lanes that add 1 to words of shared memory are counted by the instruction
    /// (`ATOMS.POPC.INC`), whatever their addresses. So are increments that wrap at 2³².
    fn counted(&self) -> Option<Selection> {
        let counts = match self.value() {
            Some(Arg::Constant(1)) => self.op.has(Modifier::Add),
            Some(Arg::Constant(most)) => self.op.has(Modifier::Inc) && most as u32 == u32::MAX,
            _ => false,
        };
        let is_counted = self.family.aggregation == Aggregation::Reductions
            && self.shared
            && self.unread
            && self.bytes == 4
            && counts;
        let combining = Some(Combining::Counted);
        is_counted.then(|| smallvec![Selected { combining, ..self.instruction }])
    }

    /// The atomic behind what combines the values of a warp, if the compiler does that.
    fn aggregated(&self) -> Option<Selection> {
        use Modifier as M;
        let base = self.op.memory.and_then(|memory| memory.base);
        let has_one_address = base.is_none_or(|base| is_uniform(self.graph, base));
        if self.family.aggregation == Aggregation::None || self.is_floating() || !has_one_address {
            return None;
        }
        let value = self.value()?;
        let adds = self.op.has(M::Add);
        let has_one_value = is_uniform(self.graph, value);
        if adds && has_one_value && matches!(self.bytes, 4 | 8) {
            return Some(self.multiplied(value));
        }
        if self.bytes != 4 {
            return None;
        }
        let reduces = [M::Add, M::And, M::Or, M::Xor, M::Min, M::Max];
        match (self.unread, self.family.aggregation) {
            (true, Aggregation::Reductions)
                if reduces.iter().any(|&reduce| self.op.has(reduce)) =>
            {
                Some(self.reduced())
            }
            (true, _) if reduces.iter().any(|&reduce| self.op.has(reduce)) => {
                Some(self.exchanged(if has_one_value { 0 } else { 5 }))
            }
            (false, _) if adds => Some(self.summed_up()),
            _ => None,
        }
    }

    /// The lanes at hand, and the first of them: in uniform registers, if the generation has any.
    fn election(&self) -> Selection {
        let (ballot, first) = match (self.family.uniform_datapath, self.unread) {
            (true, true) => ("VOTEU", "UFLO"),
            (true, false) => ("VOTEU", "FLO"),
            (false, _) => ("VOTE", "FLO"),
        };
        smallvec![
            Selected::new(ballot, 1),
            Selected::new(first, 1),
            Selected::new("S2R", 1),
            Selected::new("ISETP", 1),
        ]
    }

    fn elected(&self) -> Selected {
        Selected { combining: Some(Combining::Elected), ..self.instruction }
    }

    /// One lane adds the value times the number of lanes; each gets its share by its place.
    fn multiplied(&self, value: Arg) -> Selection {
        let mut selection = self.election();
        let products = match (value, self.bytes) {
            (Arg::Constant(1), 4) => 0,
            (_, 4) => 1,
            _ => 2,
        };
        selection.push(Selected::new("POPC", 1));
        selection.push(Selected::new("IMAD", products));
        selection.push(self.elected());
        if !self.unread {
            selection.extend([
                Selected::new("S2R", 1),
                Selected::new("LOP3", 1),
                Selected::new("POPC", 1),
                Selected::new("SHFL", self.bytes / 4),
                Selected::new("IMAD", self.bytes / 4),
            ]);
        }
        selection.retain(|selected| selected.count > 0);
        selection
    }

    /// `REDUX` combines the values of the lanes at hand.
    fn reduced(&self) -> Selection {
        let mut selection = self.election();
        selection.extend([Selected::new("REDUX", 1), Selected::new("MOV", 1), self.elected()]);
        selection
    }

    /// True if every warp comes with all its lanes. The counts of the launch tell.
    fn has_whole_warps(&self) -> bool {
        let block = &self.graph.blocks[self.op.block as usize];
        self.op.guard.is_none() && block.warps > 0 && block.lanes == 32 * block.warps
    }

    /// The question if the warp is whole, and the way of those that are not.
    fn question(&self) -> Selection {
        smallvec![Selected::new("VOTE", 1), Selected::new("ISETP", 1), Selected::new("BRA", 1)]
    }

    fn not_whole(&self) -> Selection {
        let mut selection = self.question();
        // Both ways leave the result in one register.
        selection.push(Selected::new("MOV", if self.unread { 0 } else { 2 }));
        selection.push(Selected { combining: Some(Combining::WholeWarp), ..self.instruction });
        selection.retain(|selected| selected.count > 0);
        selection
    }

    /// Whole warps combine their values in `rounds` exchanges.
    fn exchanged(&self, rounds: u32) -> Selection {
        if !self.has_whole_warps() {
            return self.not_whole();
        }
        let mut selection = self.question();
        let combines = if self.op.has(Modifier::Add) { "IADD3" } else { "LOP3" };
        let of_min = self.op.has(Modifier::Min) || self.op.has(Modifier::Max);
        selection.extend([
            Selected::new("SHFL", rounds),
            Selected::new(if of_min { "IMNMX" } else { combines }, rounds),
            Selected::new("S2R", 1),
            Selected::new("ISETP", 1),
            self.elected(),
        ]);
        selection.retain(|selected| selected.count > 0);
        selection
    }

    /// Whole warps make a prefix sum, of which the last lane adds the end.
    fn summed_up(&self) -> Selection {
        if !self.has_whole_warps() {
            return self.not_whole();
        }
        let mut selection = self.question();
        selection.extend([
            Selected::new("SHFL", 5),
            Selected::new("IMAD", 5),
            Selected::new("MOV", 5),
            Selected::new("S2R", 1),
            Selected::new("ISETP", 1),
            self.elected(),
            Selected::new("SHFL", 2),
            Selected::new("IADD3", 1),
        ]);
        selection
    }
}

/// The instructions that compute what an atomic writes, between its load and its store.
fn update(op: &Op<'_>, family: &Family, bytes: u32) -> Selection {
    use ScalarType as T;
    let words = bytes.div_ceil(4).max(1);
    let one = |mnemonic| smallvec![Selected::new(mnemonic, 1)];
    match op.source.types().last() {
        Some(T::F32) => return one("FADD"),
        Some(T::F64) => return one("DADD"),
        Some(T::F16 | T::F16x2 | T::Bf16 | T::Bf16x2) => return one("HADD2"),
        _ => {}
    }
    let has = |modifier| op.has(modifier);
    if has(Modifier::Exch) {
        smallvec![]
    } else if has(Modifier::Cas) {
        smallvec![Selected::new("ISETP", words), Selected::new("SEL", words)]
    } else if has(Modifier::Min) || has(Modifier::Max) {
        match words {
            1 => one("IMNMX"),
            _ => smallvec![Selected::new("ISETP", words), Selected::new("SEL", words)],
        }
    } else if has(Modifier::And) || has(Modifier::Or) || has(Modifier::Xor) {
        smallvec![Selected::new(if family.lop3 { "LOP3" } else { "LOP" }, words)]
    } else if has(Modifier::Inc) || has(Modifier::Dec) {
        smallvec![Selected::new("ISETP", 1), Selected::new("IADD", 1), Selected::new("SEL", 1)]
    } else {
        smallvec![Selected::new("IADD", words)]
    }
}

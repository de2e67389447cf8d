//! The tensor memory of one CTA: its cells, and which columns are allocated.
//!
//! Each CTA has the columns of a whole SM. Who runs beside it on a GPU and how long it would wait
//! for them is not known here.

use crate::fault::FaultKind;
use crate::semantics::tensor_memory::{ALLOCATION, CAPACITY, COLUMNS, Cell, LANES};

/// The tensor memory of one CTA.
#[derive(Debug)]
pub(in crate::exec) struct TensorMemory {
    /// Lane by lane; empty until something is allocated.
    cells: Vec<u32>,
    allocations: Vec<Allocation>,
    /// True if the CTA may not allocate any more.
    relinquished: bool,
    /// The request of a warp that waits for the other CTA of the pair.
    request: Option<PairRequest>,
}

/// Allocated columns.
#[derive(Clone, Copy, Debug)]
pub(in crate::exec) struct Allocation {
    first: u32,
    pub(in crate::exec) columns: u32,
    /// The warp and the operation that allocated them.
    pub(in crate::exec) warp: u32,
    pub(in crate::exec) pc: u32,
    /// Nobody else may allocate any until they are freed.
    exclusive: bool,
}

/// A request for columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) columns: u32,
    pub(super) warp: u32,
    pub(super) pc: u32,
    /// The most columns of an exclusive allocation.
    pub(super) exclusive: Option<u32>,
}

impl Request {
    /// It takes columns from `first` on.
    fn from(self, first: u32) -> Allocation {
        let Self { columns, warp, pc, exclusive } = self;
        Allocation { first, columns, warp, pc, exclusive: exclusive.is_some() }
    }
}

/// A request that both CTAs of a pair must make.
#[derive(Clone, Copy, Debug)]
struct PairRequest {
    by: Allocation,
    granted: bool,
}

impl TensorMemory {
    /// Nothing is allocated.
    pub(in crate::exec) fn new() -> Self {
        Self { cells: Vec::new(), allocations: Vec::new(), relinquished: false, request: None }
    }

    /// Forgets everything.
    pub(in crate::exec) fn clear(&mut self) {
        self.cells.fill(0);
        self.allocations.clear();
        self.relinquished = false;
        self.request = None;
    }

    /// Bytes of the host's memory.
    pub(in crate::exec) const fn bytes() -> u64 {
        LANES as u64 * CAPACITY as u64 * 4
    }

    /// An allocation that nobody has freed.
    pub(in crate::exec) fn left(&self) -> Option<Allocation> {
        self.allocations.first().copied()
    }

    /// Allocates columns for a warp. `None` if there is no room now.
    pub(super) fn allocate(&mut self, request: Request) -> Result<Option<u32>, FaultKind> {
        self.check_request(request)?;
        let first = places(request).find(|&first| self.is_free(first, request));
        if let Some(first) = first {
            self.take(request.from(first));
        }
        Ok(first)
    }

    /// As [`Self::allocate`], for the same columns of `peer`, which must ask for them too.
    pub(super) fn allocate_in_pair(
        &mut self,
        peer: &mut Self,
        wanted: Request,
    ) -> Result<Option<u32>, FaultKind> {
        self.check_request(wanted)?;
        let own = wanted.from(0);
        let mut request = *self.request.get_or_insert(PairRequest { by: own, granted: false });
        if request.by.warp != wanted.warp {
            // Another warp of the CTA waits already.
            return Ok(None);
        }
        if let (false, Some(other)) =
            (request.granted, peer.request.filter(|request| !request.granted))
        {
            if other.by.columns != wanted.columns || other.by.exclusive != own.exclusive {
                let (what, value) = ("the number of columns", u64::from(wanted.columns));
                let allowed = "that of the other CTA of the pair, and both exclusive or neither";
                return Err(FaultKind::BadOperand { what, value, allowed });
            }
            let free = |first: &u32| self.is_free(*first, wanted) && peer.is_free(*first, wanted);
            if let Some(first) = places(wanted).find(free) {
                request = PairRequest { by: Allocation { first, ..own }, granted: true };
                self.take(request.by);
                let other = Allocation { first, ..other.by };
                peer.take(other);
                peer.request = Some(PairRequest { by: other, granted: true });
            }
        }
        self.request = Some(request).filter(|request| !request.granted);
        Ok(request.granted.then_some(request.by.first))
    }

    fn check_request(&self, request: Request) -> Result<(), FaultKind> {
        if self.relinquished {
            return Err(FaultKind::TensorMemoryPermit);
        }
        let columns = request.columns;
        let (fits, allowed) = match request.exclusive {
            None => {
                let fits = columns.is_power_of_two() && (ALLOCATION..=COLUMNS).contains(&columns);
                (fits, "a power of two between 32 and 512")
            }
            Some(most) => {
                let fits = columns.is_multiple_of(ALLOCATION);
                let allowed = match most {
                    CAPACITY => "a multiple of 32 between 32 and 576",
                    _ => "a multiple of 32 between 32 and 512",
                };
                (fits && (ALLOCATION..=most).contains(&columns), allowed)
            }
        };
        if fits {
            return Ok(());
        }
        let (what, value) = ("the number of columns", u64::from(columns));
        Err(FaultKind::BadOperand { what, value, allowed })
    }

    fn is_free(&self, first: u32, request: Request) -> bool {
        let columns = request.columns;
        let apart =
            |one: &Allocation| one.first >= first + columns || first >= one.first + one.columns;
        match request.exclusive {
            Some(_) => self.allocations.is_empty(),
            None => {
                first + columns <= COLUMNS
                    && self
                        .allocations
                        .iter()
                        .all(|allocation| !allocation.exclusive && apart(allocation))
            }
        }
    }

    fn take(&mut self, allocation: Allocation) {
        if self.cells.is_empty() {
            self.cells = vec![0; (LANES * CAPACITY) as usize];
        }
        self.allocations.push(allocation);
    }

    /// Frees the columns at `address`, which must have been allocated together and in the same way.
    pub(super) fn free(
        &mut self,
        address: u32,
        columns: u32,
        exclusive: bool,
    ) -> Result<(), FaultKind> {
        let is_meant = |one: &Allocation| {
            (one.first, one.columns, one.exclusive) == (address, columns, exclusive)
        };
        match self.allocations.iter().position(is_meant) {
            Some(at) => {
                self.allocations.remove(at);
                Ok(())
            }
            None => {
                let (what, value) = ("the address of columns to free", u64::from(address));
                let allowed = "that of an allocation of as many columns, exclusive if that was";
                Err(FaultKind::BadOperand { what, value, allowed })
            }
        }
    }

    /// Gives up the right to allocate.
    pub(super) fn relinquish(&mut self) {
        self.relinquished = true;
    }

    /// Checks that the lanes and columns from `first` on are allocated.
    pub(super) fn check(&self, first: Cell, lanes: u32, columns: u32) -> Result<(), FaultKind> {
        let bad = |lane, column| Err(FaultKind::TensorMemoryBounds { lane, column });
        if first.lane + lanes > LANES {
            return bad(first.lane + lanes - 1, first.column);
        }
        let holds =
            |column: u32, one: &Allocation| (one.first..one.first + one.columns).contains(&column);
        let mut range = first.column..first.column + columns;
        let unallocated = range
            .find(|&column| !self.allocations.iter().any(|allocation| holds(column, allocation)));
        match unallocated {
            Some(column) => bad(first.lane, column),
            None => Ok(()),
        }
    }

    /// The contents of a cell, 0 where there is none.
    pub(super) fn get(&self, cell: Cell) -> u32 {
        self.cells.get((cell.lane * CAPACITY + cell.column) as usize).copied().unwrap_or_default()
    }

    /// Changes a cell.
    pub(super) fn set(&mut self, cell: Cell, value: u32) {
        if let Some(place) = self.cells.get_mut((cell.lane * CAPACITY + cell.column) as usize) {
            *place = value;
        }
    }
}

/// The columns at which a request may be granted.
fn places(request: Request) -> impl Iterator<Item = u32> {
    let end = if request.exclusive.is_some() { ALLOCATION } else { COLUMNS };
    (0..end).step_by(ALLOCATION as usize)
}

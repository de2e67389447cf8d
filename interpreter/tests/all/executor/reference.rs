//! An executor of random kernels, written from the PTX manual and apart from the engine.
//!
//! A warp is a mask over 32 rows of registers. Structured code needs no more: lanes that go another
//! way are taken out of the mask and come back where both ways meet. So it counts each instruction
//! once for the lanes that docs/counting.md lets come together.

use std::collections::BTreeSet;
use std::ops::AddAssign;

use super::kernel::{
    BINS, OWN, PREDICATES, PROLOGUE, REGISTERS, ROUNDS, SUMS, Statement, TABLE, THREADS,
};

/// What an execution counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) warp_instructions: u64,
    pub(super) thread_instructions: u64,
    pub(super) global: Accesses,
    pub(super) shared: Accesses,
    pub(super) local: Accesses,
}

/// Requests to a space, by warps with at least one lane that takes part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Accesses {
    pub(super) loads: u64,
    pub(super) stores: u64,
    pub(super) updates: u64,
    /// Lanes that took part.
    pub(super) lanes: u64,
    /// Distinct runs of 32 bytes of each request; global memory alone.
    pub(super) sectors: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.global += other.global;
        self.shared += other.shared;
        self.local += other.local;
    }
}

impl AddAssign for Accesses {
    fn add_assign(&mut self, other: Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.updates += other.updates;
        self.lanes += other.lanes;
        self.sectors += other.sectors;
    }
}

/// The effect of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Load,
    Store,
    Update,
}

impl Accesses {
    pub(super) fn add(&mut self, effect: Effect, addresses: &[u64], bytes: u64, sectors: bool) {
        if addresses.is_empty() {
            return;
        }
        match effect {
            Effect::Load => self.loads += 1,
            Effect::Store => self.stores += 1,
            Effect::Update => self.updates += 1,
        }
        self.lanes += addresses.len() as u64;
        if sectors {
            let all: BTreeSet<u64> =
                addresses.iter().flat_map(|&at| at / 32..=(at + bytes - 1) / 32).collect();
            self.sectors += all.len() as u64;
        }
    }
}

/// Global memory of a launch, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) table: Vec<u32>,
    pub(super) own: Vec<u32>,
    pub(super) sums: Vec<u32>,
    pub(super) out: Vec<u32>,
}

struct Warp {
    /// Lanes that exist and have not exited.
    alive: u32,
    registers: [[u32; 32]; REGISTERS],
    predicates: [u32; PREDICATES],
    local: [[u32; OWN as usize]; 32],
}

/// A CTA under way.
struct Cta<'m> {
    memory: &'m mut Memory,
    counts: &'m mut Counts,
    number: u32,
    bins: [u32; BINS as usize],
    tile: [u32; THREADS as usize],
}

/// The number that local memory and the exchanged words begin with, as `%r2` does.
const FIRST: u32 = 7;

/// Executes a grid of `ctas`, one after the other: nothing depends on their order.
pub(super) fn execute(body: &[Statement], ctas: u32, memory: &mut Memory) -> Counts {
    let mut counts = Counts::default();
    for number in 0..ctas {
        let bins = [0; BINS as usize];
        let tile = [FIRST; THREADS as usize];
        Cta { memory, counts: &mut counts, number, bins, tile }.execute(body);
    }
    counts
}

fn lanes(mask: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| mask >> lane & 1 != 0)
}

fn binary(operation: usize, a: u32, b: u32) -> u32 {
    match operation {
        0 => a.wrapping_add(b),
        1 => a.wrapping_sub(b),
        2 => a.wrapping_mul(b),
        3 => a & b,
        4 => a ^ b,
        5 => a.min(b),
        // Shifts by more than the width: the manual clamps them.
        6 => a.checked_shr(b).unwrap_or(0),
        7 => a | b,
        8 => a.checked_shl(b).unwrap_or(0),
        9 => (a as i32).max(b as i32) as u32,
        10 => ((u64::from(a) * u64::from(b)) >> 32) as u32,
        11 => ((a as i32) >> b.min(31)) as u32,
        _ => unreachable!("BINARY has 12 operations"),
    }
}

fn unary(operation: usize, a: u32) -> u32 {
    match operation {
        0 => a.count_ones(),
        1 => a.leading_zeros(),
        2 => a.reverse_bits(),
        3 => !a,
        4 => a.wrapping_neg(),
        _ => unreachable!("UNARY has 5 operations"),
    }
}

fn compare(how: usize, a: u32, b: u32) -> bool {
    match how {
        0 => a < b,
        1 => a == b,
        2 => a as i32 >= b as i32,
        3 => a != b,
        4 => a > b,
        _ => unreachable!("COMPARISONS has 5 operations"),
    }
}

fn update(operation: usize, word: &mut u32, value: u32) {
    *word = match operation {
        0 => word.wrapping_add(value),
        1 => (*word).max(value),
        2 => *word ^ value,
        3 => (*word).min(value),
        _ => unreachable!("UPDATES has 4 operations"),
    };
}

impl Cta<'_> {
    fn execute(&mut self, body: &[Statement]) {
        let mut warps: Vec<Warp> = (0..THREADS.div_ceil(32)).map(|warp| self.warp(warp)).collect();
        for statement in body {
            if let Statement::Exchange { d, a, distance } = statement {
                self.exchange(&mut warps, *d, *a, *distance);
                continue;
            }
            for (number, warp) in warps.iter_mut().enumerate() {
                let mask = warp.alive;
                self.statement(statement, number, warp, mask, u32::MAX);
            }
        }
        for (number, warp) in warps.iter().enumerate() {
            self.epilogue(number, warp.alive);
        }
    }

    fn warp(&mut self, number: u32) -> Warp {
        let alive = u32::MAX >> (32 - (THREADS - 32 * number).min(32));
        let mut warp = Warp {
            alive,
            registers: std::array::from_fn(|register| [97 + register as u32; 32]),
            predicates: [0; PREDICATES],
            local: [[FIRST; OWN as usize]; 32],
        };
        for lane in lanes(alive) {
            let thread = 32 * number + lane as u32;
            warp.registers[0][lane] = thread;
            warp.registers[1][lane] = self.number;
            warp.registers[2][lane] = FIRST;
            warp.predicates[0] |= u32::from(thread.is_multiple_of(2)) << lane;
            warp.predicates[1] |= u32::from(thread < 40) << lane;
        }
        self.issue(alive, PROLOGUE.len() as u64);
        let all: Vec<u64> = lanes(alive).map(|lane| lane as u64).collect();
        for _ in 0..2 {
            self.counts.local.add(Effect::Store, &all, 16, false);
            self.counts.shared.add(Effect::Store, &all, 4, false);
        }
        warp
    }

    /// Counts instructions that these lanes come to. Without lanes nothing is issued.
    fn issue(&mut self, mask: u32, instructions: u64) {
        if mask != 0 {
            self.counts.warp_instructions += instructions;
            self.counts.thread_instructions += instructions * u64::from(mask.count_ones());
        }
    }

    /// The first own word of a lane.
    fn own(&self, warp: usize, lane: usize) -> usize {
        ((self.number * THREADS + 32 * warp as u32 + lane as u32) * OWN) as usize
    }

    fn global(&mut self, effect: Effect, addresses: &[u64], bytes: u64) {
        self.counts.global.add(effect, addresses, bytes, true);
    }

    fn statements(&mut self, statements: &[Statement], number: usize, warp: &mut Warp, mask: u32) {
        for statement in statements {
            let mask = mask & warp.alive;
            self.statement(statement, number, warp, mask, u32::MAX);
        }
    }

    /// Executes a statement for the lanes in `mask`. A guard of its last instruction leaves those
    /// in `guard`.
    #[allow(clippy::too_many_lines, reason = "a case for each statement, each a few lines")]
    fn statement(
        &mut self,
        statement: &Statement,
        number: usize,
        warp: &mut Warp,
        mask: u32,
        guard: u32,
    ) {
        use Statement as S;
        if mask == 0 {
            return;
        }
        let active = mask & guard;
        match statement {
            S::Binary { operation, d, a, b } => {
                self.issue(mask, 1);
                for lane in lanes(active) {
                    let (a, b) = (warp.registers[*a][lane], warp.registers[*b][lane]);
                    warp.registers[*d][lane] = binary(*operation, a, b);
                }
            }
            S::Unary { operation, d, a } => {
                self.issue(mask, 1);
                for lane in lanes(active) {
                    warp.registers[*d][lane] = unary(*operation, warp.registers[*a][lane]);
                }
            }
            S::Constant { d, value } => {
                self.issue(mask, 1);
                lanes(active).for_each(|lane| warp.registers[*d][lane] = u32::from(*value));
            }
            S::Special { d, which } => {
                self.issue(mask, 1);
                for lane in lanes(active) {
                    warp.registers[*d][lane] = match which {
                        0 => 32 * number as u32 + lane as u32,
                        1 => self.number,
                        2 => lane as u32,
                        _ => THREADS,
                    };
                }
            }
            S::Compare { p, how, a, b } => {
                self.issue(mask, 1);
                for lane in lanes(active) {
                    let holds = compare(*how, warp.registers[*a][lane], warp.registers[*b][lane]);
                    let bit = 1 << lane;
                    warp.predicates[*p] = warp.predicates[*p] & !bit | u32::from(holds) << lane;
                }
            }
            S::Select { d, a, b, p } => {
                self.issue(mask, 1);
                for lane in lanes(active) {
                    let chosen = if warp.predicates[*p] >> lane & 1 != 0 { a } else { b };
                    warp.registers[*d][lane] = warp.registers[*chosen][lane];
                }
            }
            S::Table { d, index } => {
                self.issue(mask, 4);
                let place = |lane: usize| warp.registers[*index][lane] % TABLE;
                let addresses: Vec<u64> =
                    lanes(active).map(|lane| 4 * u64::from(place(lane))).collect();
                for lane in lanes(active) {
                    let at = warp.registers[*index][lane] % TABLE;
                    warp.registers[*d][lane] = self.memory.table[at as usize];
                }
                self.global(Effect::Load, &addresses, 4);
            }
            S::Own { d, index, stores, local } => {
                self.issue(mask, if *local { 5 } else { 4 });
                let effect = if *stores { Effect::Store } else { Effect::Load };
                let mut addresses = Vec::new();
                for lane in lanes(active) {
                    let at = (warp.registers[*index][lane] % OWN) as usize;
                    let own = self.own(number, lane) + at;
                    addresses.push(4 * own as u64);
                    let word = match local {
                        true => &mut warp.local[lane][at],
                        false => &mut self.memory.own[own],
                    };
                    match stores {
                        true => *word = warp.registers[*d][lane],
                        false => warp.registers[*d][lane] = *word,
                    }
                }
                match local {
                    true => self.counts.local.add(effect, &addresses, 4, false),
                    false => self.global(effect, &addresses, 4),
                }
            }
            S::OwnPair { d, e, index, stores } => {
                self.issue(mask, 4);
                let effect = if *stores { Effect::Store } else { Effect::Load };
                let mut addresses = Vec::new();
                for lane in lanes(active) {
                    let at = (warp.registers[*index][lane] & (OWN - 2)) as usize;
                    let own = self.own(number, lane) + at;
                    addresses.push(4 * own as u64);
                    for (register, word) in [(*d, own), (*e, own + 1)] {
                        match stores {
                            true => self.memory.own[word] = warp.registers[register][lane],
                            false => warp.registers[register][lane] = self.memory.own[word],
                        }
                    }
                }
                self.global(effect, &addresses, 8);
            }
            S::Ticket { d, a, index } => {
                self.issue(mask, 4);
                let mut addresses = Vec::new();
                for lane in lanes(active) {
                    let own = self.own(number, lane);
                    let own = own + (warp.registers[*index][lane] % OWN) as usize;
                    addresses.push(4 * own as u64);
                    let (old, value) = (self.memory.own[own], warp.registers[*a][lane]);
                    self.memory.own[own] = old.wrapping_add(value);
                    warp.registers[*d][lane] = old;
                }
                self.global(Effect::Update, &addresses, 4);
            }
            S::Update { operation, a, index } => {
                self.issue(mask, 5);
                let mut addresses = Vec::new();
                for lane in lanes(active) {
                    let at = warp.registers[*index][lane] % SUMS + SUMS * *operation as u32;
                    addresses.push(4 * u64::from(at));
                    let word = &mut self.memory.sums[at as usize];
                    update(*operation, word, warp.registers[*a][lane]);
                }
                self.global(Effect::Update, &addresses, 4);
            }
            S::Count { index } => {
                self.issue(mask, 5);
                let places: Vec<u64> = lanes(active)
                    .map(|lane| u64::from(warp.registers[*index][lane] % BINS))
                    .collect();
                places.iter().for_each(|&place| self.bins[place as usize] += 1);
                self.counts.shared.add(Effect::Update, &places, 4, false);
            }
            S::Ballot { d, p } => {
                self.issue(mask, 2);
                let votes = mask & warp.predicates[*p];
                lanes(mask).for_each(|lane| warp.registers[*d][lane] = votes);
            }
            S::Last { d, a } => {
                self.issue(mask, 3);
                let value = warp.registers[*a][31 - mask.leading_zeros() as usize];
                lanes(mask).for_each(|lane| warp.registers[*d][lane] = value);
            }
            S::Reduce { d, a } => {
                self.issue(mask, 2);
                let values = lanes(mask).map(|lane| warp.registers[*a][lane]);
                let sum = values.fold(0, u32::wrapping_add);
                lanes(mask).for_each(|lane| warp.registers[*d][lane] = sum);
            }
            S::Call { d, a, stores } => self.call(number, warp, mask, (*d, *a), *stores),
            S::Guarded { p, negated, inner } => {
                let predicate = warp.predicates[*p];
                let guard = if *negated { !predicate } else { predicate };
                self.statement(inner, number, warp, mask, guard);
            }
            S::If { p, then, otherwise } => {
                self.issue(mask, 1);
                let taken = mask & warp.predicates[*p];
                self.statements(then, number, warp, taken);
                self.issue(taken & warp.alive, 1);
                self.statements(otherwise, number, warp, mask & !taken);
            }
            S::Loop { count, body } => {
                self.issue(mask, 2);
                let rounds = warp.registers[*count].map(|count| count % 4);
                let mut left = mask;
                for round in 1.. {
                    self.statements(body, number, warp, left);
                    left &= warp.alive;
                    self.issue(left, 3);
                    left = lanes(left).filter(|&lane| round <= rounds[lane]).fold(0, with_lane);
                    if left == 0 {
                        break;
                    }
                }
            }
            S::While { a, b, step, leaves, body } => {
                self.issue(mask, 1);
                let mut left = mask;
                for round in 0.. {
                    self.issue(left, 3);
                    let goes_on = |lane: &usize| {
                        round < ROUNDS && warp.registers[*a][*lane] < warp.registers[*b][*lane]
                    };
                    left = lanes(left).filter(goes_on).fold(0, with_lane);
                    if left == 0 {
                        break;
                    }
                    self.statements(body, number, warp, left);
                    left &= warp.alive;
                    self.issue(left, 1);
                    if let Some(p) = leaves {
                        self.issue(left, 1);
                        left &= !warp.predicates[*p];
                    }
                    self.issue(left, 2);
                    for lane in lanes(left) {
                        let word = &mut warp.registers[*a][lane];
                        *word = word.wrapping_add(u32::from(*step));
                    }
                }
            }
            S::Exit { p } => {
                self.issue(mask, 1);
                warp.alive &= !(mask & warp.predicates[*p]);
            }
            S::Exchange { .. } => unreachable!("it stands on the outermost level alone"),
        }
    }

    fn call(
        &mut self,
        number: usize,
        warp: &mut Warp,
        mask: u32,
        (d, a): (usize, usize),
        stores: bool,
    ) {
        self.issue(mask, 1);
        if stores {
            self.issue(mask, 6);
            let mut addresses = Vec::new();
            for lane in lanes(mask) {
                let value = warp.registers[a][lane];
                let own = self.own(number, lane) + (value % OWN) as usize;
                addresses.push(4 * own as u64);
                warp.registers[d][lane] = std::mem::replace(&mut self.memory.own[own], value);
            }
            self.global(Effect::Load, &addresses, 4);
            self.global(Effect::Store, &addresses, 4);
            return;
        }
        // Three instructions, one for large products, and two at the end.
        self.issue(mask, 5);
        let product = |value: u32| value.wrapping_mul(3);
        let large = lanes(mask).filter(|&lane| product(warp.registers[a][lane]) >= 100);
        let large = large.fold(0, with_lane);
        self.issue(large, 1);
        for lane in lanes(mask) {
            let product = product(warp.registers[a][lane]);
            let halved = if product >= 100 { product / 2 } else { product };
            warp.registers[d][lane] = halved.wrapping_add(1);
        }
    }

    fn exchange(&mut self, warps: &mut [Warp], d: usize, a: usize, distance: u32) {
        for (number, warp) in warps.iter().enumerate() {
            self.issue(warp.alive, 11);
            let places: Vec<u64> =
                lanes(warp.alive).map(|lane| (32 * number + lane) as u64).collect();
            for lane in lanes(warp.alive) {
                self.tile[32 * number + lane] = warp.registers[a][lane];
            }
            self.counts.shared.add(Effect::Store, &places, 4, false);
            self.counts.shared.add(Effect::Load, &places, 4, false);
        }
        for (number, warp) in warps.iter_mut().enumerate() {
            for lane in lanes(warp.alive) {
                let thread = 32 * number as u32 + lane as u32;
                let other = (thread + distance) % THREADS;
                warp.registers[d][lane] = self.tile[other as usize];
            }
        }
    }

    /// The bins of the CTA, written by its first threads.
    fn epilogue(&mut self, number: usize, mask: u32) {
        self.issue(mask, 3);
        let writers = lanes(mask).filter(|&lane| 32 * number + lane < BINS as usize);
        let writers = writers.fold(0, with_lane);
        self.issue(writers, 8);
        self.issue(mask, 1);
        let mut addresses = Vec::new();
        for lane in lanes(writers) {
            let at = (self.number * BINS) as usize + lane;
            addresses.push(4 * at as u64);
            self.memory.out[at] = self.bins[lane];
        }
        self.counts.shared.add(Effect::Load, &addresses, 4, false);
        self.global(Effect::Store, &addresses, 4);
    }
}

fn with_lane(mask: u32, lane: usize) -> u32 {
    mask | 1 << lane
}

//! The passes of any access over any banks.

use gpucast_interpreter::Access;

use super::{BankGeometry, BankPasses, MOST_LANE_BYTES, Serving, come_in_pairs};
use crate::patterns::lane_addresses;

/// More rows than the lanes of a phase can touch: 32 lanes, each of which reaches into three
/// pieces of 4 bytes.
const MAX_ROWS: usize = 96;

/// End of a chain.
const NONE: u8 = u8::MAX;

/// The rows that the lanes of one phase touch, each once, chained by bank.
struct Rows {
    row: [u64; MAX_ROWS],
    next: [u8; MAX_ROWS],
    head: [u8; BankGeometry::MOST_BANKS as usize],
    in_bank: [u8; BankGeometry::MOST_BANKS as usize],
    count: usize,
}

impl Rows {
    fn new() -> Self {
        Self {
            row: [0; MAX_ROWS],
            next: [NONE; MAX_ROWS],
            head: [NONE; BankGeometry::MOST_BANKS as usize],
            in_bank: [0; BankGeometry::MOST_BANKS as usize],
            count: 0,
        }
    }

    fn add(&mut self, bank: usize, row: u64) {
        let mut at = self.head[bank];
        while at != NONE && self.row[at as usize] != row {
            at = self.next[at as usize];
        }
        if at == NONE && self.count < MAX_ROWS {
            self.row[self.count] = row;
            self.next[self.count] = self.head[bank];
            self.head[bank] = self.count as u8;
            self.in_bank[bank] += 1;
            self.count += 1;
        }
    }

    /// The largest number of rows in one bank.
    fn most_in_a_bank(&self) -> u32 {
        u32::from(self.in_bank.into_iter().max().unwrap_or(0))
    }
}

/// Returns true if all lanes want the same word, or no two of them the same bank. Most loads do.
fn is_one_step(active: u32, places: &[(usize, u64); 32]) -> bool {
    let first = places[active.trailing_zeros() as usize & 31];
    let (mut all_same, mut all_apart) = (true, true);
    let mut busy: u128 = 0;
    let mut lanes = active;
    while lanes != 0 {
        let place = places[lanes.trailing_zeros() as usize];
        lanes &= lanes - 1;
        all_same &= place == first;
        all_apart &= busy >> place.0 & 1 == 0;
        busy |= 1 << place.0;
    }
    all_same || all_apart
}

impl BankGeometry {
    /// Bytes that all banks deliver in one pass.
    pub(super) fn pass_bytes(self) -> u32 {
        self.banks * self.bank_bytes
    }

    /// Lanes that are served together when each touches `bytes_per_lane` bytes.
    fn lanes_per_phase(self, bytes_per_lane: u32) -> u32 {
        (self.lanes * self.bank_bytes / bytes_per_lane.max(1)).clamp(1, self.lanes)
    }

    /// Lanes of an access that are served together; more of a load whose lanes come in pairs.
    pub(super) fn lanes_together(
        self,
        mask: u32,
        addresses: &[u64; 32],
        bytes_per_lane: u32,
        loads: bool,
    ) -> u32 {
        let lanes = self.lanes_per_phase(bytes_per_lane);
        let pairs = loads && self.serving == Serving::InPairedPhases;
        if pairs && bytes_per_lane <= MOST_LANE_BYTES && come_in_pairs(mask, addresses) {
            return (2 * lanes).min(self.lanes);
        }
        lanes
    }

    /// The bank and the row of each piece that so many bytes from an address on touch.
    pub(super) fn places(self, first: u64, bytes: u32) -> impl Iterator<Item = (usize, u64)> {
        let piece_bits = self.interleave_bytes.trailing_zeros();
        let last = first.saturating_add(u64::from(bytes.max(1)) - 1);
        (first >> piece_bits..=last >> piece_bits).map(move |piece| self.place(piece))
    }

    /// The bank and the row in it of a piece of [`BankGeometry::interleave_bytes`].
    fn place(self, piece: u64) -> (usize, u64) {
        let pieces_per_row = self.bank_bytes / self.interleave_bytes;
        // Nearly all numbers of banks are powers of two, and a division costs more than all the
        // rest.
        let (bank, row) = match self.banks.is_power_of_two() {
            true => (piece & u64::from(self.banks - 1), piece >> self.banks.trailing_zeros()),
            false => (piece % u64::from(self.banks), piece / u64::from(self.banks)),
        };
        (bank as usize, row >> pieces_per_row.trailing_zeros())
    }

    /// Passes of the lanes of `mask`, each of which touches `bytes_per_lane` bytes from its
    /// address on and loads or stores them.
    pub(super) fn gather(
        self,
        mask: u32,
        addresses: &[u64; 32],
        bytes_per_lane: u32,
        loads: bool,
    ) -> BankPasses {
        let words = bytes_per_lane.div_ceil(4);
        // Accesses of more than 16 bytes are bulk copies or matrices, which capability 1.x lacks.
        if self.serving == Serving::WordByWord && (2..=4).contains(&words) {
            let mut result = BankPasses::default();
            for word in 0..words {
                let of_word = addresses.map(|address| address.wrapping_add(u64::from(4 * word)));
                let passes = self.in_phases(mask, &of_word, 4, loads);
                result.passes += passes.passes;
                result.conflict_free += passes.conflict_free;
            }
            return result;
        }
        self.in_phases(mask, addresses, bytes_per_lane, loads)
    }

    fn in_phases(
        self,
        mask: u32,
        addresses: &[u64; 32],
        bytes_per_lane: u32,
        loads: bool,
    ) -> BankPasses {
        let lanes = self.lanes_together(mask, addresses, bytes_per_lane, loads);
        let free = bytes_per_lane.div_ceil(self.pass_bytes()).max(1);
        // Lanes that are served one by one have ranges without conflicts: bulk copies.
        if lanes == 1 {
            let passes = mask.count_ones() * free;
            return BankPasses { passes, conflict_free: passes };
        }
        let phase_mask = u32::MAX >> (32 - lanes);
        let mut result = BankPasses::default();
        for first in (0..32).step_by(lanes as usize) {
            let active = mask & (phase_mask << first);
            if active != 0 {
                result.passes += match self.serving {
                    Serving::WordByWord if loads && bytes_per_lane <= 4 => {
                        self.steps_with_one_broadcast(active, addresses)
                    }
                    Serving::WordByWord | Serving::InPhases | Serving::InPairedPhases => {
                        self.rows(active, addresses, bytes_per_lane).most_in_a_bank()
                    }
                };
                result.conflict_free += free;
            }
        }
        result
    }

    /// The passes of a load of at most 4 bytes where one row is handed to several lanes in a pass.
    fn steps_with_one_broadcast(self, active: u32, addresses: &[u64; 32]) -> u32 {
        let places =
            addresses.map(|address| self.place(address / u64::from(self.interleave_bytes)));
        if is_one_step(active, &places) {
            return 1;
        }
        let lanes = |mask: u32| (0..32).filter(move |lane| mask >> lane & 1 == 1);
        let mut waiting = active;
        let mut steps = 0;
        while waiting != 0 {
            let at = |place| {
                lanes(waiting)
                    .filter(|&lane| places[lane] == place)
                    .fold(0, |all, lane| all | 1 << lane)
            };
            // The first of several largest groups is the one of the lowest lane.
            let broadcast = lanes(waiting)
                .map(|lane| at(places[lane]))
                .rev()
                .max_by_key(|group: &u32| group.count_ones());
            let Some(broadcast) = broadcast else { break };
            let mut busy: u128 = 1 << places[broadcast.trailing_zeros() as usize & 31].0;
            for lane in lanes(waiting & !broadcast) {
                let bank = 1 << places[lane].0;
                if busy & bank == 0 {
                    busy |= bank;
                    waiting &= !(1 << lane);
                }
            }
            waiting &= !broadcast;
            steps += 1;
        }
        steps
    }

    fn rows(self, active: u32, addresses: &[u64; 32], bytes_per_lane: u32) -> Rows {
        let mut rows = Rows::new();
        let mut lanes = active;
        while lanes != 0 {
            let lane = lanes.trailing_zeros() as usize;
            lanes &= lanes - 1;
            for (bank, row) in self.places(addresses[lane], bytes_per_lane) {
                rows.add(bank, row);
            }
        }
        rows
    }

    /// Passes of atomics and reductions: a bank serves one lane at a time.
    #[cold]
    pub(super) fn updates(self, access: &Access<'_>) -> BankPasses {
        let mut room = [0; 32];
        let addresses = lane_addresses(access, &mut room);
        let lanes = self.lanes_per_phase(access.bytes_per_lane);
        if lanes == 1 {
            return self.in_phases(access.mask, addresses, access.bytes_per_lane, false);
        }
        let phase_mask = u32::MAX >> (32 - lanes);
        let mut result = BankPasses::default();
        for first in (0..32).step_by(lanes as usize) {
            let mut in_bank = [0_u32; Self::MOST_BANKS as usize];
            let active = access.mask & (phase_mask << first);
            for lane in (0..32).filter(|lane| active >> lane & 1 == 1) {
                let (bank, _) = self.place(addresses[lane] / u64::from(self.interleave_bytes));
                in_bank[bank] += 1;
            }
            result.passes += in_bank.into_iter().max().unwrap_or(0);
            result.conflict_free += u32::from(active != 0);
        }
        result
    }
}

//! Counts beyond the 53 bits of the numbers that flows are solved with.
//!
//! CTAs of a huge grid fall into few classes, so that their counts have a large common divisor, as
//! a rule. The flow of the quotients is solved exactly and multiplied again. Quotients that are
//! still too large are rounded to 53 bits.

use gpucast_counters::table::{BaseTable, Row};

use super::flow::{self, Observation, Solution};
use super::listing::Listing;

/// Whole numbers below this are exact in the numbers that flows are solved with.
const EXACT: u128 = 1 << 53;

/// The executions of the blocks of machine code.
pub(super) struct Executions {
    pub(super) solution: Solution,
    /// True if they are accurate to 53 bits only.
    pub(super) rounded: bool,
}

/// Solves for the executions of all blocks. `observations` are those of the listing.
pub(super) fn executions(listing: &Listing<'_>, observations: &[Observation]) -> Executions {
    let counts = || listing.counts.values().flat_map(|row| of_row(row));
    let largest = counts().max().unwrap_or(0);
    if largest < EXACT {
        return Executions { solution: solve(listing, observations), rounded: false };
    }
    let divisor = counts().fold(0, gcd).max(1);
    let divided = |row: &&Row| Row {
        warp_executions: row.warp_executions / divisor,
        issued_lanes: row.issued_lanes / divisor,
        thread_executions: row.thread_executions / divisor,
        ..(*row).clone()
    };
    let table = BaseTable { rows: listing.counts.values().map(divided).collect() };
    let quotients = listing.recount(&table);
    let mut solution = solve(&quotients, &quotients.observations());
    let Solution { lanes, warps, taken, predicated, .. } = &mut solution;
    let all = lanes.iter_mut().chain(warps).chain(taken).chain(predicated.values_mut());
    all.for_each(|count| *count = count.saturating_mul(divisor));
    Executions { solution, rounded: largest / divisor >= EXACT }
}

fn solve(listing: &Listing<'_>, observations: &[Observation]) -> Solution {
    let is_cold = |block| listing.is_cold(block);
    flow::solve(listing.code, observations, listing.entry(), &is_cold)
}

/// The counts of a row that are observed.
fn of_row(row: &Row) -> [u128; 3] {
    [row.warp_executions, row.issued_lanes, row.thread_executions]
}

/// The greatest common divisor; that of 0 and a number is the number.
fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// How far counts may be apart that rounding alone makes differ: nothing below 2⁵⁰.
pub(super) fn rounding(count: u128) -> u128 {
    count >> 50
}

#[cfg(test)]
mod tests {
    use super::gcd;

    #[test]
    fn divisors_are_common_and_the_greatest() {
        for (a, b, expected) in [(0, 0, 0), (0, 7, 7), (12, 18, 6), (1 << 70, 3 << 66, 1 << 66)] {
            assert_eq!((gcd(a, b), gcd(b, a)), (expected, expected));
        }
    }
}

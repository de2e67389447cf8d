//! Sums of counts that stand for many CTAs, within the 64 bits of a counter.

use gpucast_interpreter::CountOverflow;

use crate::table::{BaseTable, Row};

/// Adds counts as many times as there are CTAs that have them.
#[derive(Debug)]
pub(crate) struct Times {
    ctas: u64,
    outcome: Result<(), CountOverflow>,
}

impl Times {
    /// Counts for `ctas` CTAs.
    pub(crate) fn new(ctas: u64) -> Self {
        Self { ctas, outcome: Ok(()) }
    }

    /// Adds a count of one CTA to the total of all.
    pub(crate) fn add(&mut self, total: &mut u64, count: u64) {
        match count.checked_mul(self.ctas).and_then(|all| total.checked_add(all)) {
            Some(sum) => *total = sum,
            None => self.outcome = Err(CountOverflow),
        }
    }

    /// An error if a total did not fit.
    pub(crate) fn outcome(self) -> Result<(), CountOverflow> {
        self.outcome
    }
}

/// Checks that all sums over a table fit 64 bits, even if each were `times` as large.
///
/// Metrics are sums over rows of instructions, of the operations that an instruction does, and of
/// bytes that sectors and passes over banks of `bank_row_bytes` stand for.
pub(crate) fn check(
    table: &BaseTable,
    (sector_bytes, bank_row_bytes): (u64, u64),
    times: u64,
) -> Result<(), CountOverflow> {
    let operations = |row: &Row| {
        // A multiply-add counts twice where operations are added up.
        let of_thread = row.description.flops.map_or(1, |flops| 2 * flops.per_thread.max(1));
        let of_warp = row.description.tensor.map_or(1, |tensor| tensor.per_warp.max(1));
        u128::from(row.issued_lanes) * u128::from(of_thread)
            + u128::from(row.warp_executions) * u128::from(of_warp)
    };
    let moved = |row: &Row| -> u128 {
        let bytes = row.memory.iter().map(|counts| {
            u128::from(counts.sectors.max(counts.ideal_sectors)) * u128::from(sector_bytes)
                + u128::from(counts.passes) * u128::from(bank_row_bytes)
                + u128::from(counts.requested_bytes)
                + u128::from(counts.transactions)
                + u128::from(counts.update_steps)
        });
        bytes.sum()
    };
    let all: u128 = table.rows.iter().map(|row| operations(row) + moved(row)).sum();
    match all.checked_mul(times.into()) {
        Some(all) if all <= u128::from(u64::MAX) => Ok(()),
        _ => Err(CountOverflow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_does_not_fit_is_an_error_and_no_small_number() {
        let sum = |ctas: u64, counts: &[u64]| {
            let (mut total, mut times) = (0, Times::new(ctas));
            counts.iter().for_each(|&count| times.add(&mut total, count));
            times.outcome().map(|()| total)
        };
        assert_eq!(sum(1 << 40, &[3, 5]), Ok(8 << 40));
        assert_eq!(sum(1 << 40, &[1 << 23]), Ok(1 << 63));
        assert_eq!(sum(1 << 40, &[1 << 24]), Err(CountOverflow));
        assert_eq!(sum(1 << 40, &[1 << 23, 1 << 23]), Err(CountOverflow));
        assert_eq!(sum(1 << 40, &[1 << 24, 1]), Err(CountOverflow));
    }
}

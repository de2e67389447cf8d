//! Sums of counts that stand for many CTAs, within the 128 bits of a sum.

use gpucast_interpreter::CountOverflow;

use crate::table::BaseTable;

/// Adds counts as many times as there are CTAs that have them.
#[derive(Debug)]
pub(crate) struct Times {
    ctas: u128,
    outcome: Result<(), CountOverflow>,
}

impl Times {
    /// Counts for `ctas` CTAs.
    pub(crate) fn new(ctas: u128) -> Self {
        Self { ctas, outcome: Ok(()) }
    }

    /// Adds a count of one CTA to the total of all.
    pub(crate) fn add(&mut self, total: &mut u128, count: u64) {
        let all = self.ctas.checked_mul(count.into());
        match all.and_then(|all| total.checked_add(all)) {
            Some(sum) => *total = sum,
            None => self.outcome = Err(CountOverflow::Sum),
        }
    }

    /// An error if a total did not fit.
    pub(crate) fn outcome(self) -> Result<(), CountOverflow> {
        self.outcome
    }
}

/// The largest sum over a table that any metric can be, or more, were every count `times` as large.
///
/// Metrics are sums over rows of instructions, of the operations that an instruction does, and of
/// bytes that sectors and passes over banks of `bank_row_bytes` stand for.
///
/// # Errors
///
/// [`CountOverflow`] if it does not fit.
pub(crate) fn largest_sum(
    table: &BaseTable,
    (sector_bytes, bank_row_bytes): (u64, u64),
    times: u64,
) -> Result<u128, CountOverflow> {
    let mut largest = Some(0_u128);
    let mut add = |count: u128, each: u64| {
        let all = count.checked_mul(each.into());
        largest = largest.zip(all).and_then(|(sum, all)| sum.checked_add(all));
    };
    for row in &table.rows {
        // A multiply-add counts twice where operations are added up.
        let of_thread = row.description.flops.map_or(1, |flops| 2 * flops.per_thread.max(1));
        let of_warp = row.description.tensor.map_or(1, |tensor| tensor.per_warp.max(1));
        add(row.issued_lanes, of_thread);
        add(row.warp_executions, of_warp);
        row.products.iter().for_each(|counts| add(counts.operations, 1));
        for counts in &row.memory {
            add(counts.sectors.max(counts.ideal_sectors), sector_bytes);
            let wider = counts.wider.iter().map(|wider| wider.passes);
            add(wider.fold(counts.passes, u128::max), bank_row_bytes);
            add(counts.requested_bytes, 1);
            add(counts.transactions, 1);
            add(counts.update_steps, 1);
        }
    }
    largest.and_then(|sum| sum.checked_mul(times.into())).ok_or(CountOverflow::Sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_does_not_fit_is_an_error_and_no_small_number() {
        let sum = |ctas: u128, counts: &[u64]| {
            let (mut total, mut times) = (0, Times::new(ctas));
            counts.iter().for_each(|&count| times.add(&mut total, count));
            times.outcome().map(|()| total)
        };
        assert_eq!(sum(1 << 40, &[3, 5]), Ok(8 << 40));
        assert_eq!(sum(1 << 40, &[1 << 24, 1]), Ok((1 << 64) + (1 << 40)));
        assert_eq!(sum(1 << 95, &[1 << 32]), Ok(1 << 127));
        assert_eq!(sum(1 << 95, &[1 << 33]), Err(CountOverflow::Sum));
        assert_eq!(sum(1 << 95, &[1 << 32, 1 << 32]), Err(CountOverflow::Sum));
        assert_eq!(sum(1 << 95, &[1 << 33, 1]), Err(CountOverflow::Sum));
    }
}

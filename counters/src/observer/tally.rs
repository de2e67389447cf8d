//! Counts of classes of CTAs: each record is added as many times as it has CTAs.

use gpucast_interpreter::{CountOverflow, GridBox, Shifts, Tally};

use super::Counter;
use crate::estimate::Unsure;
use crate::recorder::CtaRecorder;
use crate::tally::{Times, largest_sum};

impl Counter {
    /// Checks that every sum over the counts so far fits 128 bits, even if it were `times` as
    /// large. Sums by which traffic is scaled must fit 64 bits.
    ///
    /// # Errors
    ///
    /// [`CountOverflow`] if one does not.
    pub fn check_sums(&self, times: u64) -> Result<(), CountOverflow> {
        let bytes = (self.facts.sector_bytes, self.facts.bank_row_bytes);
        let sampled = self.sample.as_ref().filter(|sample| sample.has_begun());
        let table = match sampled {
            Some(sample) => self.estimate(sample.clone(), None).whole(Unsure::VALUE).table,
            None => self.table(false),
        };
        let largest = largest_sum(&table, bytes, times)?.max(self.facts.threads());
        // Traffic is counted request by request, in 64 bits.
        match self.hierarchy {
            Some(_) if largest > u64::MAX.into() => Err(CountOverflow::Scaled),
            Some(_) | None => Ok(()),
        }
    }
}

/// Only a counter without caches ([`Counter::without_caches`]) or with windows of them may be told
/// of classes: caches need the requests of every CTA.
impl Tally for Counter {
    fn tally(
        &mut self,
        record: &mut CtaRecorder,
        ctas: u128,
        places: &GridBox,
        _shifts: &Shifts<'_, CtaRecorder>,
    ) -> Result<(), CountOverflow> {
        debug_assert!(self.hierarchy.is_none() || self.windows.is_some());
        if let (Some(launch), Some(cta)) = (&mut self.tracer, &record.tracer) {
            launch.tally(cta, places, &record.memory);
        }
        self.lines =
            self.lines.saturating_add(ctas.saturating_mul(record.stream.kept_lines().into()));
        let mut times = Times::new(ctas);
        let mut add = |total: &mut u128, count| times.add(total, count);
        for (total, count) in self.blocks.iter_mut().zip(record.block_counts()) {
            total.zip(count, &mut add);
        }
        for (total, &lanes) in self.guarded_lanes.iter_mut().zip(&record.guarded_lanes) {
            add(total, lanes);
        }
        for (instruction, counts) in record.branches.iter() {
            self.branches.row(instruction).zip(counts, &mut add);
        }
        for (key, counts) in record.memory.iter() {
            self.memory.row(key).zip(counts, &mut add);
        }
        for (key, &operations) in record.products.iter() {
            add(self.products.row(key), operations);
        }
        // Its requests are still to be heard of.
        if self.windows.is_none() {
            record.clear();
        }
        times.outcome()
    }
}

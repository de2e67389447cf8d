//! The mbarrier object: 64 bits of shared memory that count arrivals and bytes.
//!
//! The manual (section 9.7.13.15) calls the object opaque and lists the facts that it tracks. These
//! are the current phase, its pending arrivals, the expected arrivals of each later phase, and the
//! pending bytes of asynchronous copies. This module fixes an encoding; the state that an arrival
//! returns is the object as it was before.

/// The most arrivals, and the most bytes, that an object can count (manual, "Contents of the
/// mbarrier object").
pub const MAX_COUNT: u32 = (1 << 20) - 1;

const COUNT_BITS: u32 = 20;
/// Lowest bit of the pending arrivals in an encoded object.
pub const PENDING_SHIFT: u32 = COUNT_BITS;
const TX_SHIFT: u32 = 2 * COUNT_BITS;
/// Byte counts are stored with this added, in one bit more than arrivals.
const TX_BIAS: i64 = 1 << COUNT_BITS;
const TX_MASK: u64 = (1 << (COUNT_BITS + 1)) - 1;
const PHASE_SHIFT: u32 = 3 * COUNT_BITS + 1;
const TAG_SHIFT: u32 = 62;
const TAG_VALID: u64 = 0b10;
/// An object of `.layout::v1`.
const TAG_VALID_V1: u64 = 0b01;

/// Value of [`Mbarrier::INVALIDATED`].
const INVALIDATED: u64 = 0b11 << TAG_SHIFT;

/// An mbarrier object, decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier {
    /// Parity of the current phase; an object begins in phase 0.
    pub odd_phase: bool,
    /// Arrivals that each phase waits for.
    pub expected: u32,
    /// Arrivals that the current phase still waits for.
    pub pending: u32,
    /// Bytes that the current phase still waits for; negative if copies completed before they
    /// were announced.
    pub tx_count: i32,
    /// True if the object has `.layout::v1`, which can also report failed copies.
    pub layout_v1: bool,
}

/// A use of an mbarrier object that the manual leaves undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MbarrierError {
    /// There is no object.
    #[error("it was never initialised, or something else was stored there")]
    NotInitialised,
    /// There was one until `mbarrier.inval`.
    #[error("it was invalidated and not initialised again")]
    Invalidated,
    /// A count out of range.
    #[error("a count of {count} was given; counts go from {least} to {MAX_COUNT}")]
    BadCount {
        /// The count.
        count: u32,
        /// The smallest that is allowed.
        least: u32,
    },
    /// More arrivals than the phase waits for.
    #[error("{count} arrivals where its phase waits for {pending} more")]
    TooManyArrivals {
        /// Arrivals made.
        count: u32,
        /// Arrivals that were missing.
        pending: u32,
    },
    /// More pending arrivals than can be counted.
    #[error("more than {MAX_COUNT} arrivals would be pending")]
    TooManyPending,
    /// More participants drop out than there are.
    #[error("{count} participants drop out of {expected}")]
    TooManyDropped {
        /// Number of arrivals that drop out.
        count: u32,
        /// Number of arrivals that were expected.
        expected: u32,
    },
    /// The byte count leaves its range.
    #[error("its byte count would be {count}; it goes from -{MAX_COUNT} to {MAX_COUNT}")]
    TxCount {
        /// The count that would result.
        count: i64,
    },
    /// `.noComplete` and yet the last arrival.
    #[error("an arrival that must not complete the phase is its last")]
    Completes,
    /// A state that no arrival returned.
    #[error("the state to wait for was not returned by an arrival")]
    BadState,
}

impl Mbarrier {
    /// Content of an object after `mbarrier.inval`.
    pub const INVALIDATED: u64 = INVALIDATED;

    /// `mbarrier.init`: in phase 0, waiting for `count` arrivals and no bytes.
    ///
    /// # Errors
    ///
    /// If `count` is 0 or too large.
    pub const fn init(count: u32) -> Result<Self, MbarrierError> {
        if count == 0 || count > MAX_COUNT {
            return Err(MbarrierError::BadCount { count, least: 1 });
        }
        let layout_v1 = false;
        Ok(Self { odd_phase: false, expected: count, pending: count, tx_count: 0, layout_v1 })
    }

    /// The object that `word` encodes.
    ///
    /// # Errors
    ///
    /// If it encodes none.
    pub const fn decode(word: u64) -> Result<Self, MbarrierError> {
        if word == INVALIDATED {
            return Err(MbarrierError::Invalidated);
        }
        let tx = (word >> TX_SHIFT & TX_MASK) as i64;
        let layout_v1 = word >> TAG_SHIFT == TAG_VALID_V1;
        if word >> TAG_SHIFT != TAG_VALID && !layout_v1 || tx == 0 {
            return Err(MbarrierError::NotInitialised);
        }
        Ok(Self {
            odd_phase: word >> PHASE_SHIFT & 1 != 0,
            expected: word as u32 & MAX_COUNT,
            pending: (word >> PENDING_SHIFT) as u32 & MAX_COUNT,
            tx_count: (tx - TX_BIAS) as i32,
            layout_v1,
        })
    }

    /// The object's 64 bits.
    #[must_use]
    pub const fn encode(self) -> u64 {
        let tx = (self.tx_count as i64 + TX_BIAS) as u64;
        let tag = if self.layout_v1 { TAG_VALID_V1 } else { TAG_VALID };
        tag << TAG_SHIFT
            | (self.odd_phase as u64) << PHASE_SHIFT
            | tx << TX_SHIFT
            | (self.pending as u64) << PENDING_SHIFT
            | self.expected as u64
    }

    /// Begins the next phase if nothing is missing from this one.
    const fn advance(&mut self) {
        if self.pending == 0 && self.tx_count == 0 {
            self.odd_phase = !self.odd_phase;
            self.pending = self.expected;
        }
    }

    const fn add_tx(&mut self, bytes: i64) -> Result<(), MbarrierError> {
        let count = self.tx_count as i64 + bytes;
        if count.unsigned_abs() > MAX_COUNT as u64 {
            return Err(MbarrierError::TxCount { count });
        }
        self.tx_count = count as i32;
        Ok(())
    }

    /// The expect-tx operation: the phase waits for `bytes` more bytes.
    ///
    /// # Errors
    ///
    /// If the byte count leaves its range.
    pub const fn expect_tx(&mut self, bytes: u32) -> Result<(), MbarrierError> {
        self.add_tx(bytes as i64)
    }

    /// The complete-tx operation: `bytes` bytes have arrived.
    ///
    /// # Errors
    ///
    /// If the byte count leaves its range.
    pub const fn complete_tx(&mut self, bytes: u32) -> Result<(), MbarrierError> {
        match self.add_tx(-(bytes as i64)) {
            Ok(()) => self.advance(),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The arrive-on operation by `count` participants. No arrivals change nothing.
    ///
    /// # Errors
    ///
    /// If the phase does not wait for as many.
    pub const fn arrive(&mut self, count: u32) -> Result<(), MbarrierError> {
        if count > self.pending {
            return Err(MbarrierError::TooManyArrivals { count, pending: self.pending });
        }
        if count != 0 {
            self.pending -= count;
            self.advance();
        }
        Ok(())
    }

    /// [`Mbarrier::arrive`] that must not be the phase's last: `.noComplete`.
    ///
    /// # Errors
    ///
    /// As [`Mbarrier::arrive`], and if it completes the phase.
    pub const fn arrive_without_completing(&mut self, count: u32) -> Result<(), MbarrierError> {
        if count == self.pending && self.tx_count == 0 {
            return Err(MbarrierError::Completes);
        }
        self.arrive(count)
    }

    /// Later phases wait for `count` participants less. `arrive_drop` does this before it arrives.
    ///
    /// # Errors
    ///
    /// If there are not as many.
    pub const fn drop_out(&mut self, count: u32) -> Result<(), MbarrierError> {
        if count > self.expected {
            return Err(MbarrierError::TooManyDropped { count, expected: self.expected });
        }
        self.expected -= count;
        Ok(())
    }

    /// The current phase waits for one arrival more. `cp.async.mbarrier.arrive` without `.noinc`
    /// does this before its copies are under way.
    ///
    /// # Errors
    ///
    /// If that cannot be counted.
    pub const fn add_pending(&mut self) -> Result<(), MbarrierError> {
        if self.pending == MAX_COUNT {
            return Err(MbarrierError::TooManyPending);
        }
        self.pending += 1;
        Ok(())
    }

    /// Returns true if the phase of this parity, the current one or the one before, is complete.
    #[must_use]
    pub const fn has_completed(self, odd_phase: bool) -> bool {
        self.odd_phase != odd_phase
    }

    /// The parity of the phase in which an arrival returned `state`.
    ///
    /// # Errors
    ///
    /// If none did.
    pub const fn phase_of_state(state: u64) -> Result<bool, MbarrierError> {
        match Self::decode(state) {
            Ok(object) => Ok(object.odd_phase),
            Err(_) => Err(MbarrierError::BadState),
        }
    }
}

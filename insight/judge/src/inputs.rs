//! The contents of buffers and scalars that both sides get, other ones in each run.

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::{ElementType, Literal};
use gpucast_forecast::Report;
use gpucast_forecast::input::plan::{Buffer, Plan, PlannedArgument};
use gpucast_interpreter::mixing::mixed;

/// Which inputs a run has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variation {
    /// Those of the reference's launch.
    Given,
    /// Others by random numbers of this seed.
    Seed(u64),
    /// Those of a seed with some elements far outside the others, so that each of them shows.
    Sparse(u64),
}

impl Variation {
    /// In words.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::Given => "the given inputs".to_owned(),
            Self::Seed(seed) => format!("inputs of seed {seed}"),
            Self::Sparse(seed) => format!("inputs of seed {seed} with a few outliers"),
        }
    }

    fn seed(self) -> u64 {
        match self {
            Self::Given => 0,
            Self::Seed(seed) | Self::Sparse(seed) => seed,
        }
    }
}

/// Elements of a buffer that become outliers: the first, the last, and others in between.
const OUTLIERS: u64 = 8;

/// The bytes that a buffer of the reference has before a run. One whose contents nobody states
/// holds random bits, so that what nobody writes agrees with nothing.
///
/// # Errors
///
/// If it cannot be filled.
pub fn contents(
    plan: &Plan,
    index: usize,
    variation: Variation,
    is_written: bool,
) -> Result<Vec<u8>, Report> {
    let buffer = &plan.buffers[index];
    let mut bytes = vec![0; buffer.bytes() as usize];
    if buffer.init == Init::Unstated {
        poison(&mut bytes, variation.seed() ^ (index as u64) << 32);
        return Ok(bytes);
    }
    let varied = varied(buffer, is_written).filter(|_| variation != Variation::Given);
    let seed = mixed(variation.seed() << 8 | index as u64);
    let init = match &varied {
        Some(Range { low, high }) => &Init::Uniform { low: *low, high: *high, seed },
        None => &buffer.init,
    };
    init.fill(buffer.ty, &mut bytes, &plan.folder)
        .map_err(|error| Report::new(error.to_string()).at(&buffer.anchor))?;
    if let (Variation::Sparse(_), Some(range)) = (variation, varied) {
        range.outliers(buffer.ty, &mut bytes, seed);
    }
    Ok(bytes)
}

/// Returns true if runs differ in a buffer's contents.
#[must_use]
pub fn is_varied(buffer: &Buffer, is_written: bool) -> bool {
    varied(buffer, is_written).is_some()
}

/// The numbers among which a buffer's elements are drawn.
#[derive(Clone, Copy)]
struct Range {
    low: Literal,
    high: Literal,
}

/// The range of a buffer's random contents. `None` keeps what the launch states: files, lists and
/// generators may be indices or have an order; and zeros of a buffer that is written are where sums
/// begin.
fn varied(buffer: &Buffer, is_written: bool) -> Option<Range> {
    let is_real = buffer.ty.integer_range().is_none();
    let reals = |low: f64, high: f64| Range { low: Literal::Real(low), high: Literal::Real(high) };
    let is_plain = buffer.pointers.is_empty();
    match &buffer.init {
        Init::Uniform { low, high, .. } => Some(Range { low: *low, high: *high }),
        Init::Iota if is_real => Some(reals(0.0, buffer.len as f64)),
        Init::Constant(value) if is_real && !is_written => {
            let value = value.as_f64();
            let around = if value == 0.0 { 1.0 } else { value.abs() / 2.0 };
            value.is_finite().then(|| reals(value - around, value + around))
        }
        Init::Zero if is_real && !is_written && is_plain => Some(reals(-1.0, 1.0)),
        _ => None,
    }
}

impl Range {
    /// Sets a few elements to values that stand out: integers to the ends of the range, reals to
    /// four times its farther end, on the side of zero that the range is on.
    fn outliers(self, ty: ElementType, bytes: &mut [u8], seed: u64) {
        let len = (bytes.len() / ty.bytes()) as u64;
        for which in 0..OUTLIERS.min(len) {
            let random = mixed(seed ^ (which + 1));
            let at = match which {
                0 => 0,
                1 => len - 1,
                _ => random % len,
            };
            let place = at as usize * ty.bytes()..(at as usize + 1) * ty.bytes();
            if let Ok(bits) = ty.encode(self.outlier(ty, random >> 40 & 1 != 0)) {
                ty.store(bits, &mut bytes[place]);
            }
        }
    }

    fn outlier(self, ty: ElementType, is_high: bool) -> Literal {
        if ty.integer_range().is_some() {
            return if is_high { self.high } else { self.low };
        }
        let (low, high) = (self.low.as_f64(), self.high.as_f64());
        let far = 4.0 * low.abs().max(high.abs());
        let is_positive = low >= 0.0 || high > 0.0 && is_high;
        Literal::Real(if is_positive { far } else { -far })
    }
}

/// Fills bytes with random bits.
fn poison(bytes: &mut [u8], seed: u64) {
    for (at, word) in bytes.chunks_mut(8).enumerate() {
        let bits = mixed(seed.wrapping_add(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(at as u64 + 1)));
        word.copy_from_slice(&bits.to_le_bytes()[..word.len()]);
    }
}

/// Gives the scalars of floating point other values, the same to equal ones of both sides: a factor
/// that depends on the run.
pub fn vary_scalars(plan: &mut Plan, variation: Variation) {
    let seed = variation.seed();
    if variation == Variation::Given || seed == 1 {
        return;
    }
    let factor = 1.0 + (seed % 4) as f64 / 8.0;
    for argument in plan.launches.iter_mut().flat_map(|launch| &mut launch.arguments) {
        let PlannedArgument::Scalar { ty, bits } = argument else { continue };
        if ty.integer_range().is_some() {
            continue;
        }
        let value = ty.decode(&bits.to_le_bytes()[..ty.bytes()]).as_f64();
        if value.is_finite()
            && let Ok(varied) = ty.encode(Literal::Real(value * factor))
        {
            *bits = varied;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_keep_the_sign_that_a_range_has() {
        let range =
            |low: f64, high: f64| Range { low: Literal::Real(low), high: Literal::Real(high) };
        let of = |range: Range, is_high| range.outlier(ElementType::F32, is_high);
        assert_eq!(of(range(0.0, 1.0), false), Literal::Real(4.0));
        assert_eq!(of(range(-2.0, -1.0), true), Literal::Real(-8.0));
        assert_eq!(of(range(-1.0, 1.0), true), Literal::Real(4.0));
        assert_eq!(of(range(-1.0, 1.0), false), Literal::Real(-4.0));
    }

    #[test]
    fn two_seeds_poison_differently() {
        let poisoned = |seed| {
            let mut bytes = [0; 20];
            poison(&mut bytes, seed);
            bytes
        };
        assert_ne!(poisoned(1), poisoned(2));
        assert_ne!(poisoned(1)[..8], poisoned(1)[8..16]);
    }
}

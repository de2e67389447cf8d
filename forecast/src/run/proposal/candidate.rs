//! A launch that is tried, and how it changes.

use std::collections::BTreeSet;

use gpucast_counters::used_bytes::UsedBytes;

use super::Proposal;
use super::given::{Given, Len, bytes_of};
use crate::input::module_listing::Unlaunched;
use crate::input::options::LaunchOptions;

/// Bytes of a buffer, at most.
pub(super) const MOST_BYTES: u64 = 64 << 20;

/// A launch that is tried.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared_bytes: u32,
    pub(super) arguments: Vec<Given>,
    /// The buffers that were too short.
    pub(super) grown: BTreeSet<String>,
}

impl Candidate {
    pub(super) fn options(&self, module: &Unlaunched, kernel: &str) -> LaunchOptions {
        LaunchOptions {
            kernel: Some(kernel.to_owned()),
            grid: Some(self.grid),
            block: Some(self.block),
            shared_bytes: (self.shared_bytes > 0).then_some(self.shared_bytes),
            arg: self.arguments.iter().map(|given| given.text().into()).collect(),
            ..module.options.clone()
        }
    }

    pub(super) fn proposal(&self, module: &Unlaunched, name: String) -> Proposal {
        let given = &module.options;
        let options = self.options(module, &name);
        let shape = |[x, y, z]: [u32; 3]| match (y, z) {
            (1, 1) => x.to_string(),
            (_, 1) => format!("{x},{y}"),
            _ => format!("{x},{y},{z}"),
        };
        let mut words = Vec::new();
        let is_other = given.kernel.as_ref().is_some_and(|kernel| *kernel != name);
        if is_other || module.missing.contains(&"--kernel") {
            words.push(("--kernel", name.clone()));
        }
        if given.grid.is_none() {
            words.push(("--grid", shape(self.grid)));
        }
        if given.block.is_none() {
            words.push(("--block", shape(self.block)));
        }
        if given.shared_bytes.is_none() && self.shared_bytes > 0 {
            words.push(("--shared-bytes", self.shared_bytes.to_string()));
        }
        if given.arg.is_empty() {
            words.extend(options.arg.iter().map(|given| ("--arg", given.to_string())));
        }
        Proposal { options, kernel: name, words }
    }

    /// Gives buffers of this search's making the lengths that a run has reached. A buffer that it
    /// has not used has an element for each thread.
    pub(super) fn fit(&mut self, used: &UsedBytes) {
        let sizes: Vec<u64> = self
            .arguments
            .iter()
            .filter_map(|argument| match argument {
                Given::Integer { value, .. } => Some(*value),
                _ => None,
            })
            .collect();
        let threads = self.threads();
        for (index, argument) in self.arguments.iter_mut().enumerate() {
            let is_structure = matches!(argument, Given::Pointers { .. });
            for (member, Len { len, element }) in argument.lens().enumerate() {
                let name = match is_structure {
                    true => format!("arg{index}.{member}"),
                    false => format!("arg{index}"),
                };
                let elements = used.of(&name).unwrap_or(0).div_ceil(element);
                *len = (*len).min(if elements > 0 { length(elements, &sizes) } else { threads });
            }
        }
    }

    /// Threads of the grid.
    pub(super) fn threads(&self) -> u64 {
        let extents = self.grid.iter().chain(&self.block);
        extents.fold(1, |product: u64, &extent| product.saturating_mul(extent.into()))
    }

    /// Makes all sizes so many times smaller. Returns false if they are as small as can be.
    pub(super) fn shrink(&mut self, times: u32, given: &LaunchOptions) -> bool {
        let before = self.clone();
        for argument in &mut self.arguments {
            if let Given::Integer { value, .. } = argument {
                *value /= u64::from(times);
            }
        }
        if given.grid.is_none() {
            self.grid = self.grid.map(|extent| (extent / times).max(1));
        }
        *self != before
    }
}

/// The length of a buffer of which so many elements are used: that of a vector, matrix or volume of
/// the launch's sizes, if it is not much longer.
fn length(used: u64, sizes: &[u64]) -> u64 {
    let ones = [1];
    let factors = || sizes.iter().chain(&ones);
    let products = factors().flat_map(|one| {
        factors().flat_map(move |two| {
            factors().map(move |three| one.saturating_mul(*two).saturating_mul(*three))
        })
    });
    let is_near = |product: &u64| (used..=used.saturating_add(used / 8)).contains(product);
    products.filter(is_near).min().unwrap_or(used)
}

/// Halves the longest side.
pub(super) fn smaller_block(block: &mut [u32; 3]) -> bool {
    let longest = block.iter_mut().max();
    match longest {
        Some(longest) if *longest > 1 => {
            *longest /= 2;
            true
        }
        _ => false,
    }
}

/// Makes a buffer long enough. Returns false for one that would be too long, and one that is not of
/// this search's making.
pub(super) fn grow(candidate: &mut Candidate, buffer: &str, needed: u64) -> bool {
    let needed = needed.checked_next_power_of_two().unwrap_or(u64::MAX);
    if needed > MOST_BYTES {
        return false;
    }
    // A buffer that is too short again is read by one CTA after the other.
    let is_again = !candidate.grown.insert(buffer.to_owned());
    let needed = if is_again { (2 * needed).min(MOST_BYTES) } else { needed };
    let Some(place) = buffer.strip_prefix("arg") else { return false };
    let (argument, member) = match place.split_once('.') {
        Some((argument, member)) => (argument, member.parse().ok()),
        None => (place, None),
    };
    let Some(argument) =
        argument.parse().ok().and_then(|at: usize| candidate.arguments.get_mut(at))
    else {
        return false;
    };
    match argument {
        Given::Buffer { ty, len } => {
            let element = bytes_of(ty);
            let longer = needed / element;
            let grows = longer > *len;
            *len = longer.max(*len);
            grows
        }
        Given::Pointers { lens } => match member.and_then(|at: usize| lens.get_mut(at)) {
            Some(len) if needed / 4 > *len => {
                *len = needed / 4;
                true
            }
            _ => false,
        },
        _ => false,
    }
}

/// Puts pointers into structures of zeros. Returns false if there is none of a fitting size.
pub(super) fn with_pointers(candidate: &mut Candidate) -> bool {
    let mut is_changed = false;
    for argument in &mut candidate.arguments {
        if let Given::Zeros { bytes } = argument
            && bytes.is_multiple_of(8)
            && *bytes <= 128
        {
            *argument = Given::Pointers { lens: vec![1 << 16; (*bytes / 8) as usize] };
            is_changed = true;
        }
    }
    is_changed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_have_lengths_of_sizes_where_they_are_near() {
        assert_eq!(length(1000, &[1000, 7]), 1000);
        assert_eq!(length(100 * 100 - 1, &[100]), 100 * 100);
        assert_eq!(length(128 * 64 * 32 - 129, &[128, 64, 32]), 128 * 64 * 32);
        assert_eq!(length(32 * 32 * 9, &[32]), 32 * 32 * 9);
        assert_eq!(length(5, &[0, u64::MAX]), 5);
    }
}

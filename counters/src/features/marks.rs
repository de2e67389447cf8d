//! The elements of device memory that a CTA touches.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher as _};

/// Consecutive elements that an instruction touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Mark {
    /// The place of the instruction among those that access memory.
    pub(super) place: u32,
    /// The first element, counted from address 0.
    pub(super) first: u64,
    pub(super) count: u64,
}

/// All that a CTA touches.
#[derive(Clone, Debug, Default)]
pub(super) struct Marks {
    /// Each once, in order of the first access.
    all: Vec<Mark>,
    places: HashMap<Mark, u32>,
    /// Tells sequences of accesses apart, which touch these places again and again.
    course: DefaultHasher,
}

impl Marks {
    pub(super) fn add(&mut self, mark: Mark) {
        let next = self.all.len() as u32;
        let place = *self.places.entry(mark).or_insert(next);
        if place == next {
            self.all.push(mark);
        }
        self.course.write_u32(place);
    }

    /// In order of the first access.
    pub(super) fn all(&self) -> &[Mark] {
        &self.all
    }

    /// The distance of each mark to that of another CTA, if these are the same in the same order.
    pub(super) fn distances(&self, other: &Self) -> Option<Vec<i64>> {
        if self.course.finish() != other.course.finish() || self.all.len() != other.all.len() {
            return None;
        }
        let distance = |(mark, other): (&Mark, &Mark)| {
            let is_alike = (mark.place, mark.count) == (other.place, other.count);
            is_alike.then(|| other.first.wrapping_sub(mark.first) as i64)
        };
        self.all.iter().zip(&other.all).map(distance).collect()
    }
}

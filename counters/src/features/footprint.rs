//! The elements that memory instructions touch: bitmaps in pages that all recorders share.
//!
//! Bits are only ever set, so that the result does not depend on who sets them first. An
//! instruction keeps a bounded number of pages. If it touches more, pages are kept by a hash of
//! their number, half as many each time. The count of the rest is extrapolated. A page that is kept
//! at the end was kept from its first bit on. The number of halvings follows from the touched pages
//! alone. So the estimate does not depend on the order of accesses either.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use gpucast_interpreter::mixing::mixed;

/// Elements of a page.
const PAGE_ELEMENTS: u64 = 1 << 15;
const WORDS: usize = (PAGE_ELEMENTS / 64) as usize;

/// Pages of all instructions together, 4 KiB each: 256 MiB.
const MOST_PAGES: usize = 1 << 16;

/// Pages that each instruction may keep at least, however many instructions there are.
const LEAST_PAGES: usize = 16;

/// Bits of the elements of a page.
#[derive(Debug)]
struct Page(Box<[AtomicU64]>);

impl Page {
    fn new() -> Self {
        Self((0..WORDS).map(|_| AtomicU64::new(0)).collect())
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }
}

/// The elements that one instruction touches.
#[derive(Debug, Default)]
struct Touched {
    pages: RwLock<HashMap<u64, Arc<Page>>>,
    /// Pages are kept if as many low bits of their hash are 0.
    halvings: AtomicU32,
}

fn is_kept(page: u64, halvings: u32) -> bool {
    mixed(page).trailing_zeros() >= halvings
}

impl Touched {
    /// The page of a number, which is made if it is to be kept.
    fn page(&self, number: u64, most: usize) -> Option<Arc<Page>> {
        if !is_kept(number, self.halvings.load(Ordering::Relaxed)) {
            return None;
        }
        {
            let pages = self.pages.read().unwrap_or_else(PoisonError::into_inner);
            if let Some(page) = pages.get(&number) {
                return Some(Arc::clone(page));
            }
        }
        let mut pages = self.pages.write().unwrap_or_else(PoisonError::into_inner);
        // Another recorder may have halved them in between.
        let mut halvings = self.halvings.load(Ordering::Relaxed);
        if is_kept(number, halvings) {
            pages.entry(number).or_insert_with(|| Arc::new(Page::new()));
        }
        while pages.len() > most {
            halvings += 1;
            pages.retain(|&page, _| is_kept(page, halvings));
        }
        self.halvings.store(halvings, Ordering::Relaxed);
        pages.get(&number).map(Arc::clone)
    }
}

/// The elements that the memory instructions of a launch touch.
#[derive(Debug)]
pub(super) struct Footprints {
    touched: Vec<Touched>,
    most_pages: usize,
}

/// The number of elements that were touched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Footprint {
    /// Distinct elements.
    pub elements: f64,
    /// True if all of them were counted; otherwise the number is extrapolated from a sample.
    pub exact: bool,
}

impl Footprints {
    pub(super) fn new(instructions: usize) -> Self {
        Self::with_most_pages(instructions, (MOST_PAGES / instructions.max(1)).max(LEAST_PAGES))
    }

    fn with_most_pages(instructions: usize, most_pages: usize) -> Self {
        Self { touched: (0..instructions).map(|_| Touched::default()).collect(), most_pages }
    }

    /// The distinct elements that some instructions touch together; their elements have the same
    /// size.
    pub(super) fn union(&self, instructions: &[usize]) -> Footprint {
        let touched: Vec<&Touched> =
            instructions.iter().filter_map(|&at| self.touched.get(at)).collect();
        let of = |touched: &&Touched| touched.halvings.load(Ordering::Relaxed);
        let halvings = touched.iter().map(of).max().unwrap_or_default();
        let mut union = HashMap::<u64, Vec<Arc<Page>>>::new();
        for one in &touched {
            let pages = one.pages.read().unwrap_or_else(PoisonError::into_inner);
            for (&number, page) in pages.iter().filter(|(number, _)| is_kept(**number, halvings)) {
                union.entry(number).or_default().push(Arc::clone(page));
            }
        }
        let count = |pages: &Vec<Arc<Page>>| match pages.as_slice() {
            [page] => page.count(),
            pages => (0..WORDS)
                .map(|word| {
                    let bits = pages
                        .iter()
                        .fold(0, |bits, page| bits | page.0[word].load(Ordering::Relaxed));
                    u64::from(bits.count_ones())
                })
                .sum(),
        };
        let kept: u64 = union.values().map(count).sum();
        Footprint { elements: kept as f64 * f64::from(halvings).exp2(), exact: halvings == 0 }
    }
}

/// The same consecutive elements of many CTAs, each so many elements further than its neighbour.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    /// The first element of the first CTA.
    pub(super) first: u64,
    /// Elements of each.
    pub(super) count: u64,
    /// Elements from CTA to CTA along each dimension, and the number of CTAs.
    pub(super) along: [(i64, u32); 3],
}

impl Family {
    /// Ranges of elements that together are those of all CTAs. Neighbours that touch are one.
    fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + use<> {
        let Self { mut first, mut count, along } = *self;
        let mut apart = [(0_u64, 1_u64); 3];
        for (own, (by, ctas)) in apart.iter_mut().zip(along) {
            let ctas = u64::from(ctas.max(1));
            if by < 0 {
                first = first.wrapping_sub(by.unsigned_abs().wrapping_mul(ctas - 1));
            }
            *own = (by.unsigned_abs(), if by == 0 { 1 } else { ctas });
        }
        apart.sort_unstable();
        for (by, ctas) in &mut apart {
            if *ctas > 1 && *by <= count {
                count += *by * (*ctas - 1);
                *ctas = 1;
            }
        }
        let [one, two, three] = apart;
        let places = (0..three.1).flat_map(move |z| {
            (0..two.1)
                .flat_map(move |y| (0..one.1).map(move |x| x * one.0 + y * two.0 + z * three.0))
        });
        places.map(move |far| (first + far, count))
    }
}

/// Pages that an instruction used last, of one recorder.
const CACHED: usize = 8;

/// Sets bits of one instruction; keeps the pages that it used last at hand.
#[derive(Clone, Debug, Default)]
pub(super) struct Marker {
    cache: [Option<(u64, Option<Arc<Page>>)>; CACHED],
}

impl Marker {
    /// Marks `count` elements from `first` on.
    #[inline]
    pub(super) fn mark(
        &mut self,
        footprints: &Footprints,
        instruction: usize,
        first: u64,
        count: u64,
    ) {
        let (mut at, end) = (first, first.saturating_add(count));
        while at < end {
            let number = at / PAGE_ELEMENTS;
            let end_of_page = (number + 1) * PAGE_ELEMENTS;
            let stop = end.min(end_of_page);
            if let Some(page) = self.page(footprints, instruction, number) {
                set(page, at % PAGE_ELEMENTS, stop - at);
            }
            at = stop;
        }
    }

    /// Marks the elements of a family.
    pub(super) fn mark_family(
        &mut self,
        footprints: &Footprints,
        instruction: usize,
        family: &Family,
    ) {
        for (first, count) in family.ranges() {
            self.mark(footprints, instruction, first, count);
        }
    }

    #[inline]
    fn page(&mut self, footprints: &Footprints, instruction: usize, number: u64) -> Option<&Page> {
        let place = &mut self.cache[number as usize % CACHED];
        if !matches!(place, Some((cached, _)) if *cached == number) {
            let touched = footprints.touched.get(instruction)?;
            *place = Some((number, touched.page(number, footprints.most_pages)));
        }
        place.as_ref().and_then(|(_, page)| page.as_deref())
    }
}

/// Sets `count` bits from `first` on.
#[inline]
fn set(page: &Page, first: u64, count: u64) {
    let (mut at, end) = (first, first + count);
    while at < end {
        let (word, bit) = (at / 64, at % 64);
        let bits = (end - at).min(64 - bit);
        let mask = (u64::MAX >> (64 - bits)) << bit;
        let word = &page.0[word as usize];
        // Most elements are touched again and again: reading alone keeps the line shared.
        if word.load(Ordering::Relaxed) & mask != mask {
            word.fetch_or(mask, Ordering::Relaxed);
        }
        at += bits;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn marks_are_those_of_a_set() {
        let footprints = Footprints::new(2);
        let mut markers = [Marker::default(), Marker::default()];
        let mut sets = [BTreeSet::new(), BTreeSet::new()];
        let mut random = 7_u64;
        for step in 0..4000 {
            random = mixed(random + step);
            let (which, count) = ((random >> 60) as usize % 2, random >> 8 & 127);
            let first = (random >> 20) % (3 * PAGE_ELEMENTS);
            markers[which].mark(&footprints, which, first, count);
            sets[which].extend(first..first + count);
        }
        let exact = |elements: usize| Footprint { elements: elements as f64, exact: true };
        assert_eq!(footprints.union(&[0]), exact(sets[0].len()));
        assert_eq!(footprints.union(&[1]), exact(sets[1].len()));
        assert_eq!(footprints.union(&[0, 1]), exact(sets[0].union(&sets[1]).count()));
    }

    #[test]
    fn families_are_the_sets_of_their_ctas() {
        let mut random = 3_u64;
        let mut next = |most: u64| {
            random = mixed(random.wrapping_add(1));
            random % most
        };
        for _ in 0..2000 {
            let mut along = [(0, 1); 3];
            for own in &mut along {
                *own = (next(25) as i64 - 12, next(5) as u32 + 1);
                own.0 *= [1, 8, 40][next(3) as usize];
            }
            let family = Family { first: 10_000 + next(50), count: next(20), along };
            let mut expected = BTreeSet::new();
            let [x, y, z] = along.map(|(_, ctas)| i64::from(ctas));
            for (x, y, z) in
                (0..x).flat_map(|x| (0..y).flat_map(move |y| (0..z).map(move |z| (x, y, z))))
            {
                let far = x * along[0].0 + y * along[1].0 + z * along[2].0;
                let first = family.first.wrapping_add_signed(far);
                expected.extend(first..first + family.count);
            }
            let marked: BTreeSet<u64> =
                family.ranges().flat_map(|(first, count)| first..first + count).collect();
            assert_eq!(marked, expected, "{family:?}");
        }
        // A vector of 10¹² elements is one range.
        let along = [(256, 2_147_483_647), (256 * 2_147_483_647, 2), (0, 7)];
        let all = Family { first: 64, count: 256, along };
        assert_eq!(all.ranges().collect::<Vec<_>>(), [(64, 256 * 2 * 2_147_483_647)]);
    }

    #[test]
    fn too_many_pages_are_sampled_and_the_sample_does_not_depend_on_the_order() {
        let pages = 2000_u64;
        let marked = |order: &dyn Fn(u64) -> u64| {
            let footprints = Footprints::with_most_pages(1, 300);
            let mut marker = Marker::default();
            for at in 0..pages {
                marker.mark(&footprints, 0, order(at) * PAGE_ELEMENTS + 5, 100);
            }
            assert!(footprints.touched[0].pages.read().unwrap().len() <= 300);
            footprints.union(&[0])
        };
        let forwards = marked(&|at| at);
        let backwards = marked(&|at| pages - 1 - at);
        let shuffled = marked(&|at| at * 1201 % pages);
        assert_eq!((forwards, forwards), (backwards, shuffled));
        assert!(!forwards.exact);
        // 200 000 elements; some 250 pages in the sample, so about 6 % are to be expected.
        assert!((forwards.elements / 2e5 - 1.0).abs() < 0.2, "{forwards:?}");
    }
}

//! The bounds of each unknown, as far as one equation after the other shows.
//!
//! Elimination alone does not see that a sum is too large for its unknowns when none of them is
//! determined. Here every equation passes on the range that its unknowns leave to each other, until
//! nothing changes any more.

/// Values closer than this, relative to the larger one, are the same count.
pub(super) const TOLERANCE: f64 = 1e-9;

/// The range of an unknown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) least: f64,
    pub(super) most: f64,
}

/// `Σ coefficient · unknown = value`.
struct Equation {
    form: Vec<(u32, f64)>,
    value: f64,
}

/// Ranges of all unknowns under the equations so far.
pub(super) struct Bounds {
    ranges: Vec<Range>,
    equations: Vec<Equation>,
    /// The equations that each unknown is in.
    users: Vec<Vec<u32>>,
    /// Looks at each equation, and the addition that they were made for.
    looks: Vec<(u32, usize)>,
    additions: u32,
}

/// In loops ranges may shrink without end; after this many looks at each equation they are narrow
/// enough.
const LOOKS: usize = 16;

impl Bounds {
    pub(super) fn new(unknowns: usize) -> Self {
        let range = Range { least: 0.0, most: f64::INFINITY };
        Self {
            ranges: vec![range; unknowns],
            equations: Vec::new(),
            users: vec![Vec::new(); unknowns],
            looks: Vec::new(),
            additions: 0,
        }
    }

    pub(super) fn range(&self, unknown: u32) -> Range {
        self.ranges[unknown as usize]
    }

    /// Adds an equation, unless it leaves nothing to some unknown; then nothing changes.
    pub(super) fn add(&mut self, form: &[(u32, f64)], value: f64) -> bool {
        let number = self.equations.len() as u32;
        for &(unknown, _) in form {
            self.users[unknown as usize].push(number);
        }
        self.equations.push(Equation { form: form.to_vec(), value });
        let mut journal = Vec::new();
        if self.propagate(number, &mut journal) {
            return true;
        }
        for (unknown, range) in journal.into_iter().rev() {
            self.ranges[unknown as usize] = range;
        }
        self.equations.pop();
        for &(unknown, _) in form {
            self.users[unknown as usize].pop();
        }
        false
    }

    /// Narrows ranges from one equation on, and notes their former values. Returns `false` if one
    /// gets empty.
    fn propagate(&mut self, first: u32, journal: &mut Vec<(u32, Range)>) -> bool {
        let mut queue = std::collections::VecDeque::from([first]);
        self.additions += 1;
        self.looks.resize(self.equations.len(), (0, 0));
        while let Some(number) = queue.pop_front() {
            let (addition, looks) = &mut self.looks[number as usize];
            if *addition != self.additions {
                (*addition, *looks) = (self.additions, 0);
            }
            *looks += 1;
            if *looks > LOOKS {
                continue;
            }
            let mut changed = Vec::new();
            let Equation { form, value } = &self.equations[number as usize];
            let all = self.sum(form);
            for &(unknown, coefficient) in form {
                let old = self.ranges[unknown as usize];
                let (low, high) = all.without(self.term(unknown, coefficient));
                // coefficient · unknown = value - others
                let (a, b) = ((value - high) / coefficient, (value - low) / coefficient);
                let slack = TOLERANCE * value.abs().max(1.0);
                let range = Range {
                    least: old.least.max(a.min(b) - slack),
                    most: old.most.min(a.max(b) + slack),
                };
                let scale = range.least.abs().max(1.0);
                if range.least > range.most + 4.0 * TOLERANCE * scale + 4.0 * slack {
                    return false;
                }
                // Steps smaller than one thread are not worth another look.
                if range.least > old.least + 0.5 || range.most < old.most - 0.5 {
                    journal.push((unknown, old));
                    changed.push((unknown, range));
                }
            }
            for (unknown, range) in changed {
                self.ranges[unknown as usize] = range;
                queue.extend(self.users[unknown as usize].iter().filter(|&&one| one != number));
            }
        }
        true
    }

    /// The least and the most that a term can be.
    fn term(&self, unknown: u32, coefficient: f64) -> (f64, f64) {
        let range = self.ranges[unknown as usize];
        let (a, b) = (coefficient * range.least, coefficient * range.most);
        (a.min(b), a.max(b))
    }

    /// The least and the most that all terms of a form can be.
    fn sum(&self, form: &[(u32, f64)]) -> Sum {
        let mut sum = Sum::default();
        for &(unknown, coefficient) in form {
            let (low, high) = self.term(unknown, coefficient);
            sum.low.add(low);
            sum.high.add(high);
        }
        sum
    }
}

/// The least and the most that a sum can be, from which single terms can be taken again.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    low: Limit,
    high: Limit,
}

impl Sum {
    /// The limits without those of a term.
    fn without(self, (low, high): (f64, f64)) -> (f64, f64) {
        (self.low.without(low), self.high.without(high))
    }
}

/// A sum of finite terms and infinite ones.
#[derive(Clone, Copy, Debug, Default)]
struct Limit {
    finite: f64,
    infinite: f64,
    /// Terms that are infinite.
    count: u32,
}

impl Limit {
    fn add(&mut self, term: f64) {
        if term.is_finite() {
            self.finite += term;
        } else {
            self.infinite = term;
            self.count += 1;
        }
    }

    fn without(self, term: f64) -> f64 {
        let (finite, infinite) = if term.is_finite() {
            (self.finite - term, self.count)
        } else {
            (self.finite, self.count - 1)
        };
        if infinite > 0 { self.infinite } else { finite }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_that_its_terms_cannot_reach_is_refused() {
        // x + y = 10, x + 4z = 100: z is between 22.5 and 25, so y + z is at most 35.
        let mut bounds = Bounds::new(3);
        assert!(bounds.add(&[(0, 1.0), (1, 1.0)], 10.0));
        assert!(bounds.add(&[(0, 1.0), (2, 4.0)], 100.0));
        let range = bounds.range(2);
        assert!((range.least - 22.5).abs() < 0.01 && (range.most - 25.0).abs() < 0.01, "{range:?}");
        let before: Vec<Range> = (0..3).map(|unknown| bounds.range(unknown)).collect();
        assert!(!bounds.add(&[(1, 1.0), (2, 1.0)], 36.0));
        let after: Vec<Range> = (0..3).map(|unknown| bounds.range(unknown)).collect();
        assert_eq!(before, after, "a refused equation leaves nothing behind");
        assert!(bounds.add(&[(1, 1.0), (2, 1.0)], 30.0));
    }

    #[test]
    fn unknowns_may_cancel() {
        // in + back = back + out: the loop's own edge says nothing.
        let mut bounds = Bounds::new(3);
        assert!(bounds.add(&[(0, 1.0), (1, -1.0)], 0.0));
        assert!(bounds.add(&[(0, 1.0)], 7.0));
        let range = bounds.range(1);
        assert!((range.least - 7.0).abs() < 0.01 && (range.most - 7.0).abs() < 0.01);
    }
}

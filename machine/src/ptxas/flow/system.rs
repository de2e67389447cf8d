//! A system of linear equations over non-negative unknowns. It takes one equation after the other
//! and refuses those that contradict earlier ones.
//!
//! It is Gauss–Jordan elimination on sparse rows. The coefficients of flow equations are small
//! whole numbers and the pivots nearly always ±1, so that `f64` holds counts exactly up to 2⁵³.

use super::bounds::{Bounds, Range, TOLERANCE};

/// A linear form: `Σ coefficient · unknown`, by ascending unknown.
pub(super) type Form = Vec<(u32, f64)>;

/// Returns true if two counts are equal up to the rounding of the elimination.
pub(super) fn same(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1.0)
}

/// The result of adding an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was new and holds now.
    Added,
    /// It held already.
    Known,
    /// It contradicts earlier ones, or makes an unknown negative.
    Refused,
}

/// The equations so far, solved for one unknown each.
pub(super) struct System {
    /// For each unknown that an equation is solved for: `unknown = constant + Σ form`, where the
    /// form has free unknowns only.
    solved: Vec<Option<(f64, Form)>>,
    /// For each unknown, the solved ones whose form has it.
    users: Vec<Vec<u32>>,
    bounds: Bounds,
}

impl System {
    pub(super) fn new(unknowns: usize) -> Self {
        Self {
            solved: vec![None; unknowns],
            users: vec![Vec::new(); unknowns],
            bounds: Bounds::new(unknowns),
        }
    }

    /// `form` in terms of free unknowns: a constant and the remaining terms.
    pub(super) fn reduce(&self, form: &[(u32, f64)]) -> (f64, Form) {
        let mut constant = 0.0;
        let mut terms: Form = Vec::new();
        for &(unknown, coefficient) in form {
            match &self.solved[unknown as usize] {
                None => terms.push((unknown, coefficient)),
                Some((value, rest)) => {
                    constant += coefficient * value;
                    terms.extend(rest.iter().map(|&(free, factor)| (free, coefficient * factor)));
                }
            }
        }
        (constant, collected(terms))
    }

    /// Demands `form = value`.
    pub(super) fn demand(&mut self, form: &[(u32, f64)], value: f64) -> Outcome {
        let (constant, rest) = self.reduce(form);
        // A large coefficient keeps the rows small; ties go to the first unknown.
        let pivot = rest
            .iter()
            .copied()
            .reduce(|best, one| if one.1.abs() > best.1.abs() * 1.000_001 { one } else { best });
        let Some((pivot, factor)) = pivot else {
            return if same(constant, value) { Outcome::Known } else { Outcome::Refused };
        };
        let solution_constant = (value - constant) / factor;
        let solution: Form = rest
            .iter()
            .filter(|&&(unknown, _)| unknown != pivot)
            .map(|&(unknown, coefficient)| (unknown, -coefficient / factor))
            .collect();
        if is_negative(solution_constant, &solution, value) {
            return Outcome::Refused;
        }
        // The effect of the equation on those that are solved already, before it is accepted.
        let mut changed = Vec::new();
        for &user in &self.users[pivot as usize] {
            let Some((old, terms)) = &self.solved[user as usize] else { continue };
            let Some(&(_, by)) = terms.iter().find(|&&(unknown, _)| unknown == pivot) else {
                continue;
            };
            let others = terms.iter().copied().filter(|&(unknown, _)| unknown != pivot);
            let added = solution.iter().map(|&(unknown, c)| (unknown, by * c));
            let terms = collected(others.chain(added).collect());
            let constant = old + by * solution_constant;
            if is_negative(constant, &terms, old.abs().max(value)) {
                return Outcome::Refused;
            }
            changed.push((user, constant, terms));
        }
        if !self.bounds.add(&collected(form.to_vec()), value) {
            return Outcome::Refused;
        }
        for (user, constant, terms) in changed {
            self.set(user, constant, terms);
        }
        self.users[pivot as usize].clear();
        self.set(pivot, solution_constant, solution);
        Outcome::Added
    }

    fn set(&mut self, unknown: u32, constant: f64, terms: Form) {
        for &(free, _) in &terms {
            let users = &mut self.users[free as usize];
            if let Err(at) = users.binary_search(&unknown) {
                users.insert(at, unknown);
            }
        }
        self.solved[unknown as usize] = Some((constant, terms));
    }

    /// Fixes a free unknown at zero where nothing else is possible, so that the search ends.
    pub(super) fn settle(&mut self, free: u32) {
        let solution = (0.0, Vec::new());
        for user in std::mem::take(&mut self.users[free as usize]) {
            if let Some((_, terms)) = &mut self.solved[user as usize] {
                terms.retain(|&(unknown, _)| unknown != free);
            }
        }
        self.solved[free as usize] = Some(solution);
    }

    /// The values that a form can take, as far as is known of its unknowns.
    pub(super) fn range_of(&self, form: &[(u32, f64)]) -> Range {
        let mut sum = Range { least: 0.0, most: 0.0 };
        for &(unknown, factor) in form {
            let range = self.bounds.range(unknown);
            let (a, b) = (factor * range.least, factor * range.most);
            sum.least += a.min(b);
            sum.most += a.max(b);
        }
        sum
    }

    /// The value of a form in which nothing is free any more; free unknowns count as zero.
    pub(super) fn value(&self, form: &[(u32, f64)]) -> f64 {
        self.reduce(form).0.max(0.0)
    }

    /// Returns true if a form has one value only.
    pub(super) fn is_determined(&self, form: &[(u32, f64)]) -> bool {
        self.reduce(form).1.is_empty()
    }
}

/// Returns true if `constant + Σ terms` is below zero whatever the unknowns are. `scale` is the
/// size of the counts that it was computed from.
fn is_negative(constant: f64, terms: &[(u32, f64)], scale: f64) -> bool {
    constant < -TOLERANCE * scale.max(1.0) && terms.iter().all(|&(_, factor)| factor <= 0.0)
}

/// Sorts by unknown, adds up, and drops terms that cancel.
fn collected(mut terms: Form) -> Form {
    terms.sort_unstable_by_key(|&(unknown, _)| unknown);
    let mut sums: Form = Vec::with_capacity(terms.len());
    for (unknown, coefficient) in terms {
        match sums.last_mut() {
            Some((last, sum)) if *last == unknown => *sum += coefficient,
            _ => sums.push((unknown, coefficient)),
        }
    }
    sums.retain(|&(_, coefficient)| coefficient.abs() > TOLERANCE);
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contradictions_and_negative_values_are_refused() {
        // x + y = 10, x = 4: y is 6.
        let mut system = System::new(3);
        assert_eq!(system.demand(&[(0, 1.0), (1, 1.0)], 10.0), Outcome::Added);
        assert_eq!(system.demand(&[(0, 1.0)], 11.0), Outcome::Refused);
        assert_eq!(system.demand(&[(0, 1.0)], 4.0), Outcome::Added);
        assert_eq!(system.demand(&[(1, 1.0)], 6.0), Outcome::Known);
        assert_eq!(system.demand(&[(1, 1.0)], 7.0), Outcome::Refused);
        assert_eq!(system.demand(&[(2, 1.0)], -1.0), Outcome::Refused);
        assert!(system.is_determined(&[(1, 3.0)]) && !system.is_determined(&[(2, 1.0)]));
        assert_eq!(system.value(&[(0, 1.0), (1, 2.0)]), 16.0);
        assert_eq!(system.range_of(&[(0, 1.0), (1, -1.0)]).least.round(), -2.0);
    }

    proptest::proptest! {
        /// Any system made from a known non-negative solution accepts every equation of it and,
        /// once as many independent ones are there as unknowns, gives the solution back.
        #[test]
        fn a_consistent_system_is_solved(
            solution in proptest::collection::vec(0_u32..1_000_000, 1..8),
            rows in proptest::collection::vec(proptest::collection::vec(-1_i8..=4, 8), 8..16),
        ) {
            let mut system = System::new(solution.len());
            for row in &rows {
                let form: Form = row.iter().take(solution.len()).enumerate()
                    .filter(|&(_, &c)| c != 0).map(|(i, &c)| (i as u32, f64::from(c))).collect();
                let value: f64 = form.iter().map(|&(i, c)| c * f64::from(solution[i as usize])).sum();
                proptest::prop_assert_ne!(system.demand(&form, value), Outcome::Refused);
            }
            for unknown in 0..solution.len() as u32 {
                if system.is_determined(&[(unknown, 1.0)]) {
                    let value = system.value(&[(unknown, 1.0)]);
                    let known = f64::from(solution[unknown as usize]);
                    proptest::prop_assert!((value - known).abs() < 1e-3, "{value} is not {known}");
                }
            }
        }
    }
}

//! Metrics of what a launch's counts may be.

use std::collections::BTreeMap;

use super::LaunchProfile;
use super::local::LocalShares;
use crate::definitions::{Basis, definition, metrics};
use crate::estimate::Variant;
use crate::machine::MachineProfile;
use crate::totals::Totals;

/// Metrics by their name.
pub(super) type Values = BTreeMap<String, f64>;

/// The metrics of a variant with the machine instructions given, as far as they have a basis `of`
/// interest.
pub(super) fn figures(
    profile: &LaunchProfile,
    variant: Variant,
    machine: Option<&MachineProfile>,
    of: impl Fn(Basis) -> bool,
) -> Values {
    let Variant { mut table, mut l2 } = variant;
    let launch = profile.totals();
    let shares = LocalShares::of(&Totals { table: &table, machine, l2, ..launch });
    if let Some(shares) = shares {
        shares.apply(&mut table, &mut l2);
    }
    let is_meant = |name: &str| definition(name).is_some_and(|definition| of(definition.basis));
    let figures = metrics(&Totals { table: &table, machine, l2, ..launch }).into_iter();
    let figures = figures.filter(|(name, _)| is_meant(name));
    figures.map(|(name, figure)| (name, figure.value.as_f64())).collect()
}

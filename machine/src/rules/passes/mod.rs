//! The transformations of the PTX before machine instructions are chosen, one pass per file.

mod addresses;
mod constants;
mod contract;
mod copies;
mod dead;
mod evaluate;
mod halves;
mod locals;
mod logic;
mod merge;
mod narrow;
mod share;
mod unroll;

pub(super) use halves::HALF_WORD;
pub(super) use merge::MergedAccess;

use super::family::Family;
use super::flow::Dominators;
use super::graph::Graph;

/// Runs all passes; returns the accesses that became part of wider ones.
///
/// `may_unroll` is true if the kernel leaves it to the compiler to unroll loops.
pub(super) fn run(graph: &mut Graph<'_>, family: &Family, may_unroll: bool) -> Vec<MergedAccess> {
    let merged = find_accesses(graph, family, may_unroll);
    contract::contract(graph, family);
    logic::fold(graph, family);
    dead::remove(graph);
    if may_unroll {
        unroll::unroll(graph, family);
    }
    merged
}

/// Runs the passes that decide what is accessed: those up to the ones that keep local arrays in
/// registers and join accesses to shared memory. Returns the latter.
pub(super) fn find_accesses(
    graph: &mut Graph<'_>,
    family: &Family,
    may_unroll: bool,
) -> Vec<MergedAccess> {
    let dominators = Dominators::new(graph);
    copies::propagate(graph);
    constants::fold(graph);
    copies::propagate(graph);
    dead::remove(graph);
    narrow::narrow(graph);
    copies::propagate(graph);
    constants::fold(graph);
    share::share(graph, &dominators, family);
    addresses::fold(graph, family);
    dead::remove(graph);
    locals::promote(graph, &dominators, may_unroll);
    dead::remove(graph);
    merge::merge(graph)
}

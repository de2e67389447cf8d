//! The effect of each what-if on the features of the cost model (Stevens & Klöckner 2020, section
//! 6.1).
//!
//! That model has no transactions and no passes over banks. It tells accesses apart by their
//! strides, and the user's expression has a cost for each pattern. So an access without conflicts,
//! or with perfect coalescing, is one whose neighbouring threads take neighbouring elements.
//! Footprints stay, and so do occupancy and caches, which no feature knows.

use std::sync::Arc;

use gpucast_counters::features::{
    Features, MemoryAccess, MemorySpace, Numbers, OperationCount, Stride, Strides,
};

use super::editor::Editor;

/// Threads of a sub-group.
const SUB_GROUP: u128 = 32;
/// Bytes of a word of a bank.
const WORD: i64 = 4;

/// Accesses of shared memory whose strides make banks conflict get neighbouring elements.
pub(super) fn no_bank_conflicts(counts: &mut Editor) {
    straighten(counts, MemorySpace::Local, has_conflicts);
}

/// Accesses of global memory get neighbouring elements, unless all threads take the same one.
/// Atomics stay as they are, as in the metrics.
pub(super) fn perfect_coalescing(counts: &mut Editor) {
    straighten(counts, MemorySpace::Global, |access| {
        let bytes = i64::from(access.element.bytes());
        !matches!(first_stride(access), Some(stride) if stride == 0 || stride.abs() == bytes)
    });
}

/// Bytes from thread to thread along the first axis; none if that is irregular or was not observed.
fn first_stride(access: &MemoryAccess) -> Option<i64> {
    match access.pattern.local {
        Strides::Affine([Stride::Bytes(stride), ..]) => Some(stride),
        Strides::Affine(_) | Strides::Irregular => None,
    }
}

/// Returns true if two threads of a warp meet in a bank. Banks are a power of two of words, so
/// strides of an odd number of words, or of elements wider than a word, meet none.
fn has_conflicts(access: &MemoryAccess) -> bool {
    let unit = i64::from(access.element.bytes()).max(WORD);
    first_stride(access).is_none_or(|stride| stride % (2 * unit) == 0 && stride != 0)
}

fn straighten(counts: &mut Editor, space: MemorySpace, is_crooked: fn(&MemoryAccess) -> bool) {
    let mut straightened = 0;
    counts.features(|features| {
        let chosen = |access: &&mut MemoryAccess| {
            access.space == space && access.direction.is_plain() && is_crooked(access)
        };
        for access in features.accesses.iter_mut().filter(chosen) {
            straightened += access.work_items;
            let neighbour = Stride::Bytes(i64::from(access.element.bytes()));
            access.pattern.local = Strides::Affine(match access.pattern.local {
                Strides::Affine([_, second, third]) => [neighbour, second, third],
                Strides::Irregular => [neighbour, Stride::Unobserved, Stride::Unobserved],
            });
        }
    });
    if straightened > 0 {
        let quantity = format!("{} accesses without neighbours", space.name());
        counts.note(&quantity, Some(straightened as f64), 0.0, "element");
    }
}

/// As many multiply-adds as there are pairs of an addition and a multiplication of the same type.
pub(super) fn fma(counts: &mut Editor) {
    let mut pairs = 0;
    counts.features(|features| pairs += contract(&mut features.operations));
    if pairs > 0 {
        let quantity = "pairs of f_op_*_add and f_op_*_mul";
        counts.note(quantity, Some(pairs as f64), 0.0, "operation of a warp");
    }
}

/// Returns the pairs of a warp that became one operation.
fn contract(operations: &mut Vec<OperationCount>) -> u128 {
    let types: Vec<_> = operations.iter().map(|count| count.element).collect();
    let mut contracted = 0;
    for element in types {
        if !matches!(element.numbers, Numbers::Float | Numbers::Bfloat) {
            continue;
        }
        let place = |name: &str, all: &[OperationCount]| {
            all.iter().position(|entry| entry.element == element && entry.operation == name)
        };
        let (Some(add), Some(mul)) = (place("add", operations), place("mul", operations)) else {
            continue;
        };
        let sub_groups = operations[add].sub_groups.min(operations[mul].sub_groups);
        let work_items = operations[add].work_items.min(operations[mul].work_items);
        if work_items == 0 {
            continue;
        }
        for at in [add, mul] {
            operations[at].sub_groups -= sub_groups;
            operations[at].work_items -= work_items;
        }
        match place("madd", operations) {
            Some(at) => {
                operations[at].sub_groups += sub_groups;
                operations[at].work_items += work_items;
            }
            None => {
                operations.push(OperationCount {
                    operation: "madd",
                    element,
                    sub_groups,
                    work_items,
                });
            }
        }
        contracted += sub_groups;
    }
    contracted
}

/// The work of all threads in as few sub-groups as it fills.
pub(super) fn no_divergence(counts: &mut Editor) {
    let (mut before, mut after) = (0, 0);
    counts.features(|features| {
        let operations =
            features.operations.iter_mut().map(|count| (&mut count.sub_groups, count.work_items));
        let accesses = features.accesses.iter_mut().flat_map(|access| {
            let machine = access.machine.iter_mut().flatten();
            let machine = machine.map(|machine| (&mut machine.sub_groups, machine.work_items));
            machine.chain([(&mut access.sub_groups, access.work_items)])
        });
        for (sub_groups, work_items) in operations.chain(accesses) {
            before += *sub_groups;
            *sub_groups = work_items.div_ceil(SUB_GROUP).min(*sub_groups);
            after += *sub_groups;
        }
    });
    if before != after {
        counts.note("sub-groups of features", Some(before as f64), after as f64, "");
    }
}

impl Editor {
    /// Changes the features of every launch, if they were gathered.
    fn features(&mut self, mut change: impl FnMut(&mut Features)) {
        if let Some(launches) = &mut self.conditions.evidence.features {
            Arc::make_mut(launches).iter_mut().for_each(|(features, _)| change(features));
        }
    }
}

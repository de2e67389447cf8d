//! The state of a shared sweep.

use std::collections::BTreeSet;

use serde::Serialize;

use super::lease::LEASES;
use super::plan::Opened;
use super::stored::Stored;
use crate::failure::Failure;
use crate::store::Store;

/// How far a shared sweep is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Executions of the plan.
    pub executions: usize,
    /// Those that are stored, and whole.
    pub stored: usize,
    /// Those whose objects are damaged. Workers execute them again.
    pub damaged: usize,
    /// Those that a worker says it is at, dead workers among them.
    pub leased: Vec<Leased>,
    /// Rows that the table will have if each kernel is launched once.
    pub rows: usize,
}

/// An execution under way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Leased {
    /// The item.
    pub item: String,
    /// The worker.
    pub worker: String,
}

/// Looks at the store.
///
/// # Errors
///
/// If the store does not answer.
pub fn status(plan: &Opened, store: &dyn Store) -> Result<Status, Failure> {
    let mut all = Stored::list(store)?;
    let items = plan.items();
    let mut open = BTreeSet::new();
    let mut damaged = 0;
    for item in &items {
        if !all.has(item)? {
            open.insert(item.names[0].as_str());
            damaged += usize::from(all.names(item).next().is_some());
        }
    }
    let mut leased = Vec::new();
    for name in store.list(LEASES)? {
        if !open.contains(name.as_str()) {
            continue;
        }
        let Some(contents) = store.get(&format!("{LEASES}/{name}"))? else { continue };
        let contents = String::from_utf8_lossy(&contents);
        let worker = contents.rsplit_once(' ').map_or(&*contents, |(worker, _)| worker).to_owned();
        leased.push(Leased { item: name, worker });
    }
    let models = |point| plan.models.of(point).len();
    let of_case: usize =
        plan.points.iter().map(|point| models(point.gpu.as_ref().unwrap_or(&point.base))).sum();
    Ok(Status {
        executions: items.len(),
        stored: items.len() - open.len(),
        damaged,
        leased,
        rows: plan.cases.len() * of_case,
    })
}

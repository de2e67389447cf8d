//! mixbench: kernels of multiply-adds at growing intensity, one row each (E. Konstantinidis).
//!
//! Above the table stand two rows of titles: the computations, and the columns of each. A
//! throughput is the highest of its column. The memory bandwidth is the median of the first row,
//! whose kernels compute next to nothing. A value above the memory's peak came from a cache and is
//! left out.

use super::{Draft, ImportError, ImportProblem, at_line, at_start, lines, specifications};
use crate::gpu::quantity::Raw;

const BY: &str = "mixbench";

/// The names of the groups of columns, and the field that holds each group's throughput.
const GROUPS: [(&str, &str); 4] = [
    ("Single Precision", "sp_throughput"),
    ("Double precision", "dp_throughput"),
    ("Half precision", "hp_throughput"),
    ("Integer operations", "int_throughput"),
];

pub(super) fn read(text: &str, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    specifications::read(text, BY, draft)?;
    let mut rows = lines(text).skip_while(|(_, line)| !line.starts_with("Experiment ID"));
    let missing = |what| at_start(ImportProblem::Missing { what });
    let (_, groups) = rows.next().ok_or_else(|| missing("row of titles `Experiment ID, …`"))?;
    let (_, titles) = rows.next().ok_or_else(|| missing("row of titles `Compute iters, …`"))?;
    let groups: Vec<&str> =
        groups.split(',').skip(1).map(str::trim).filter(|title| !title.is_empty()).collect();
    let titles: Vec<&str> = titles.split(',').map(str::trim).collect();
    let table: Vec<(usize, Vec<f64>)> = rows
        .take_while(|(_, line)| !line.starts_with("---"))
        .filter(|(_, line)| !line.trim().is_empty())
        .map(|(line, row)| cells(line, row, titles.len()))
        .collect::<Result<_, _>>()?;
    let (first_line, first) = table.first().ok_or_else(|| missing("row of results"))?;

    let columns = |wanted: &[&str]| -> Vec<usize> {
        (0..titles.len()).filter(|column| wanted.contains(&titles[*column])).collect()
    };
    let throughputs = columns(&["GFLOPS", "GIOPS"]);
    if throughputs.len() != groups.len() {
        return Err(missing("throughput in each group of columns"));
    }
    for (group, column) in groups.iter().zip(throughputs) {
        let known = GROUPS.iter().find(|(name, _)| group.starts_with(name));
        let Some((_, field)) = known else {
            draft.note(format!("left out `{group}`: a GPU has no field for it"));
            continue;
        };
        // If the GPU cannot compute it, mixbench prints zeros and infinities.
        let best = table
            .iter()
            .map(|(line, row)| (*line, row[column]))
            .filter(|(_, value)| value.is_finite() && *value > 0.0)
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        match best {
            Some((line, value)) => {
                draft.set(field, Raw::Number(value), draft.measured(BY), line)?;
            }
            None => draft.note(format!("left out `{group}`: the GPU does not do it")),
        }
    }

    let peak = draft.gpu.number("peak_memory_bandwidth").unwrap_or(f64::INFINITY);
    let (mut possible, beyond): (Vec<f64>, Vec<f64>) = columns(&["GB/sec"])
        .into_iter()
        .map(|column| first[column])
        .filter(|value| value.is_finite() && *value > 0.0)
        .partition(|value| *value <= peak);
    if !beyond.is_empty() {
        draft.note(format!(
            "left out a bandwidth of {} GB/s: the memory carries {peak} GB/s, so it came from a cache",
            beyond.iter().map(f64::to_string).collect::<Vec<_>>().join(" and ")
        ));
    }
    possible.sort_by(f64::total_cmp);
    let count = possible.len();
    if count == 0 {
        draft.note("left out the memory bandwidth: no value of the first row is possible");
        return Ok(());
    }
    let median = (possible[(count - 1) / 2] + possible[count / 2]) / 2.0;
    draft.set("memory_bandwidth", Raw::Number(median), draft.measured(BY), *first_line)
}

/// The numbers of a row; `inf` is one.
fn cells(line: usize, row: &str, columns: usize) -> Result<(usize, Vec<f64>), ImportError> {
    let unreadable = |text: &str, what| {
        at_line(line, ImportProblem::Unreadable { text: text.trim().to_owned(), what })
    };
    let cells: Vec<f64> = row
        .split(',')
        .map(|cell| cell.trim().parse().map_err(|_| unreadable(cell, "a number")))
        .collect::<Result<_, _>>()?;
    if cells.len() != columns {
        return Err(unreadable(row, "a row with as many cells as there are titles"));
    }
    Ok((line, cells))
}

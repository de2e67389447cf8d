//! Queues in a file, as runs of equal items.
//!
//! Loops over shared memory make the same request again and again, and a run takes the room and the
//! time of a single one.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Equal items that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Run<T> {
    item: T,
    length: u32,
}

/// Writes the items of each queue.
pub(crate) fn serialize<S, T>(queues: &[Vec<T>], serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
    T: Copy + PartialEq + Serialize,
{
    serializer.collect_seq(queues.iter().map(|queue| runs(queue)))
}

/// Reads the items of each queue.
///
/// # Errors
///
/// When the reader finds something else.
pub(crate) fn deserialize<'de, D, T>(deserializer: D) -> Result<Vec<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Copy + Deserialize<'de>,
{
    let queues = Vec::<Vec<Run<T>>>::deserialize(deserializer)?;
    Ok(queues.iter().map(|runs| items(runs)).collect())
}

fn runs<T: Copy + PartialEq>(items: &[T]) -> Vec<Run<T>> {
    let equal = items.chunk_by(|one, next| one == next);
    // Lengths fit their 32 bits.
    let runs = equal.flat_map(|run| run.chunks(u32::MAX as usize));
    runs.filter_map(|run| Some(Run { item: *run.first()?, length: run.len() as u32 })).collect()
}

fn items<T: Copy>(runs: &[Run<T>]) -> Vec<T> {
    runs.iter().flat_map(|run| std::iter::repeat_n(run.item, run.length as usize)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_takes_a_run_and_comes_back_whole() {
        let lengths =
            |all: &[u16]| -> Vec<u32> { runs(all).iter().map(|run| run.length).collect() };
        let looped = vec![2; 1000];
        let mixed = vec![1, 1, 2, 1, 1, 1, 3];
        assert_eq!(lengths(&looped), [1000]);
        assert_eq!(lengths(&mixed), [2, 1, 3, 1]);
        assert_eq!(lengths(&[]), []);
        for all in [looped, mixed, Vec::new()] {
            assert_eq!(items(&runs(&all)), all);
        }
    }
}

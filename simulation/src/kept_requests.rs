//! Requests of a warp in a file: as runs of equal ones.
//!
//! Loops over shared memory ask the same again and again, and a run takes the room and the time of
//! a single request.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::launch::Request;

/// Equal requests that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Run {
    request: Request,
    length: u32,
}

/// Writes the requests of each queue.
pub(crate) fn serialize<S>(queues: &[Vec<Request>], serializer: S) -> Result<S::Ok, S::Error>
where
    S: Serializer,
{
    serializer.collect_seq(queues.iter().map(|queue| runs(queue)))
}

/// Reads the requests of each queue.
///
/// # Errors
///
/// When the reader finds something else.
pub(crate) fn deserialize<'de, D>(deserializer: D) -> Result<Vec<Vec<Request>>, D::Error>
where
    D: Deserializer<'de>,
{
    let queues = Vec::<Vec<Run>>::deserialize(deserializer)?;
    Ok(queues.iter().map(|runs| requests(runs)).collect())
}

fn runs(requests: &[Request]) -> Vec<Run> {
    let equal = requests.chunk_by(|one, next| one == next);
    // Lengths fit their 32 bits.
    let runs = equal.flat_map(|run| run.chunks(u32::MAX as usize));
    runs.filter_map(|run| Some(Run { request: *run.first()?, length: run.len() as u32 })).collect()
}

fn requests(runs: &[Run]) -> Vec<Request> {
    let of_run = |run: &Run| std::iter::repeat_n(run.request, run.length as usize);
    runs.iter().flat_map(of_run).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_takes_a_run_and_comes_back_whole() {
        let of = |passes: &[u16]| -> Vec<Request> {
            passes.iter().map(|&passes| Request::shared(passes)).collect()
        };
        let lengths =
            |all: &[Request]| -> Vec<u32> { runs(all).iter().map(|run| run.length).collect() };
        let looped = of(&[2; 1000]);
        let mixed = of(&[1, 1, 2, 1, 1, 1, 3]);
        assert_eq!(lengths(&looped), [1000]);
        assert_eq!(lengths(&mixed), [2, 1, 3, 1]);
        assert_eq!(lengths(&[]), []);
        for all in [looped, mixed, Vec::new()] {
            assert_eq!(requests(&runs(&all)), all);
        }
    }
}

//! The order of machine blocks, from a warp's way through the PTX.
//!
//! The order of loops, branches and divergent parts is that of the execution, and every machine
//! block runs as often as the plan says.

use gpucast_counters::trace::BlockVisit;

use super::nest::Nest;
use super::plan::{Follower, Plan, Run};

/// A path with what it leaves out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Path {
    pub(super) blocks: Vec<u32>,
    /// Executions of instructions behind the end of the path.
    pub(super) left_out: u64,
    /// Executions of instructions of the path.
    pub(super) instructions: u64,
}

/// The state of a follower in a run of visits.
#[derive(Clone, Copy, Default)]
struct Progress {
    /// Executions in this run, and those so far.
    due: u64,
    done: u64,
    /// Executions in the runs before it.
    before: u64,
}

/// Walks through the visits of a warp. `loops` are those of the PTX, `lengths` the instructions of
/// machine blocks. Blocks without instructions are passed by. At most `room` blocks fit into the
/// path.
pub(super) fn walk(
    visits: &[BlockVisit],
    plan: &Plan,
    loops: &Nest,
    lengths: &[u32],
    room: usize,
) -> Path {
    let runs = runs(visits, loops, plan.by_ptx_block.len());
    let mut begun = vec![0; runs.len()];
    let mut now = vec![Run::default(); runs.len()];
    let mut progress: Vec<Vec<Progress>> =
        plan.by_ptx_block.iter().map(|all| vec![Progress::default(); all.len()]).collect();
    let mut path = Path::default();
    for visit in visits {
        let ptx = visit.block as usize;
        let Some(followers) = plan.by_ptx_block.get(ptx) else { continue };
        let (run, progress) = (&mut now[ptx], &mut progress[ptx]);
        if run.at == run.visits {
            let visits = runs[ptx].get(begun[ptx]).copied().unwrap_or(1);
            *run = Run { visits, at: 0, before: run.before + run.visits };
            begun[ptx] += 1;
            for (follower, progress) in followers.iter().zip(progress.iter_mut()) {
                let before = progress.before + progress.due;
                let due = follower.rate.executions(*run, &begun, before);
                *progress = Progress { due, done: 0, before };
            }
        }
        loop {
            let mut is_done = true;
            for (follower, progress) in followers.iter().zip(progress.iter_mut()) {
                if progress.done < progress.due && place(follower, progress, run.visits) <= run.at {
                    progress.done += 1;
                    is_done = false;
                    path.push(follower.block, lengths, room);
                }
            }
            if is_done {
                break;
            }
        }
        run.at += 1;
    }
    path
}

impl Path {
    fn push(&mut self, block: u32, lengths: &[u32], room: usize) {
        let length = u64::from(lengths[block as usize]);
        if length > 0 && self.blocks.len() < room {
            self.blocks.push(block);
            self.instructions += length;
        } else {
            self.left_out += length;
        }
    }
}

/// The visit of a run at which a follower's next execution is due.
fn place(follower: &Follower, progress: &Progress, visits: u64) -> u64 {
    let share = follower.start + follower.length * progress.done as f64 / progress.due as f64;
    // A hair more, so that a whole number does not fall short of itself.
    let place = (share * visits as f64 + 1e-6) as u64;
    place.min(visits - 1)
}

/// For each block in a loop, the numbers of visits that follow each other without leaving it. A
/// visit outside of loops is a run of its own.
fn runs(visits: &[BlockVisit], nest: &Nest, blocks: usize) -> Vec<Vec<u64>> {
    let mut runs: Vec<Vec<u64>> = vec![Vec::new(); blocks];
    // Times that each loop was left, and those when each block was last visited.
    let mut left = vec![0_u64; nest.loops()];
    let mut seen = vec![None; blocks];
    let mut last = None;
    for visit in visits {
        let block = visit.block as usize;
        if block >= blocks {
            continue;
        }
        if let Some(last) = last {
            nest.left(last, block).for_each(|block_left| left[block_left as usize] += 1);
        }
        last = Some(block);
        let Some(innermost) = nest.innermost(block) else { continue };
        let time = Some(left[innermost as usize]);
        match runs[block].last_mut().filter(|_| seen[block] == time) {
            Some(run) => *run += 1,
            None => runs[block].push(1),
        }
        seen[block] = time;
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::super::plan::Rate;
    use super::*;

    fn visits(blocks: &[u32]) -> Vec<BlockVisit> {
        blocks.iter().map(|&block| BlockVisit { block, lanes: u32::MAX }).collect()
    }

    /// Block 0, a loop of block 1, block 2; and all of that again from block 3 on.
    fn nest() -> Nest {
        Nest::new(&[vec![1], vec![1, 2], vec![3], vec![0, 4], vec![]])
    }

    fn follower(block: u32, executions: u64, visits: u64, start: f64, length: f64) -> Follower {
        let rate = Rate::Share { executions, visits };
        Follower { block, rate, start, length }
    }

    #[test]
    fn visits_of_a_loop_are_a_run_until_it_is_left() {
        let way = visits(&[0, 1, 1, 1, 2, 3, 0, 1, 1, 2, 3, 4]);
        // Blocks 0, 2 and 3 are in the outer loop, which is left once. Block 4 is in none.
        let expected: [&[u64]; 5] = [&[2], &[3, 2], &[2], &[2], &[]];
        assert_eq!(runs(&way, &nest(), 5), expected);
    }

    #[test]
    fn versions_run_one_after_the_other_and_the_remainder_last() {
        // Rounds of 9 and of 9; a version of four rounds, and one of one round.
        let mut way = vec![0];
        way.extend([1; 9]);
        way.extend([2, 3, 0]);
        way.extend([1; 9]);
        way.extend([2, 3, 4]);
        let mut plan = Plan { by_ptx_block: vec![Vec::new(); 5] };
        plan.by_ptx_block[0] = vec![follower(10, 2, 2, 0.0, 1.0)];
        plan.by_ptx_block[1] =
            vec![follower(11, 4, 18, 0.0, 8.0 / 9.0), follower(12, 2, 18, 8.0 / 9.0, 1.0 / 9.0)];
        plan.by_ptx_block[4] = vec![follower(13, 1, 1, 0.0, 1.0)];
        let lengths = [1; 14];
        let path = walk(&visits(&way), &plan, &nest(), &lengths, 100);
        assert_eq!(path.blocks, [10, 11, 11, 12, 10, 11, 11, 12, 13]);
        assert_eq!((path.instructions, path.left_out), (9, 0));
        let cut = walk(&visits(&way), &plan, &nest(), &lengths, 3);
        assert_eq!((cut.blocks, cut.instructions, cut.left_out), (vec![10, 11, 11], 3, 6));
    }

    #[test]
    fn blocks_that_run_more_often_than_their_anchor_alternate() {
        let mut plan = Plan { by_ptx_block: vec![Vec::new(); 5] };
        plan.by_ptx_block[4] = vec![follower(0, 3, 1, 0.0, 1.0), follower(1, 3, 1, 0.0, 1.0)];
        let path = walk(&visits(&[4]), &plan, &nest(), &[1, 1], 100);
        assert_eq!(path.blocks, [0, 1, 0, 1, 0, 1]);
    }

    #[test]
    fn an_unrolled_loop_takes_whole_turns_first_and_then_the_rest() {
        let of_run = |block, rate| Follower { block, rate, start: 0.0, length: 1.0 };
        let rest = |block, rest| Follower {
            start: 1.0,
            ..of_run(block, Rate::OfRest { rounds: 3, rest })
        };
        let mut plan = Plan { by_ptx_block: vec![Vec::new(); 5] };
        plan.by_ptx_block[1] =
            vec![of_run(9, Rate::OfRuns), of_run(3, Rate::OfRounds(3)), rest(1, 1), rest(2, 2)];
        for (rounds, expected) in
            [(1, &[9, 1][..]), (2, &[9, 2]), (3, &[9, 3]), (7, &[9, 3, 3, 1]), (8, &[9, 3, 3, 2])]
        {
            let way = [vec![0], vec![1; rounds], vec![2]].concat();
            let path = walk(&visits(&way), &plan, &nest(), &[1; 10], 100);
            assert_eq!(path.blocks, expected, "{rounds} rounds");
        }
    }

    #[test]
    fn a_block_that_others_run_into_runs_once_for_each_of_them() {
        // Parts of a warp come to block 2 one after the other; only block 0 runs into it.
        let follower = |block, rate| Follower { block, rate, start: 0.0, length: 1.0 };
        let mut plan = Plan { by_ptx_block: vec![Vec::new(); 5] };
        plan.by_ptx_block[0] = vec![follower(0, Rate::EACH)];
        plan.by_ptx_block[2] = vec![follower(2, Rate::Behind([0].into_iter().collect()))];
        let way = visits(&[2, 0, 2, 2, 0, 0, 2, 2, 2]);
        let path = walk(&way, &plan, &Nest::new(&vec![Vec::new(); 5]), &[1; 3], 100);
        assert_eq!(path.blocks, [0, 2, 0, 0, 2, 2]);
        // A block without instructions is on no path.
        let path = walk(&way, &plan, &Nest::new(&vec![Vec::new(); 5]), &[0, 1, 1], 100);
        assert_eq!(path.blocks, [2; 3]);
    }

    proptest::proptest! {
        /// Whatever the way and the rates, each block runs as often as its rate says.
        #[test]
        fn every_execution_takes_place(
            way in proptest::collection::vec(0_u32..5, 1..200),
            executions in proptest::collection::vec(0_u64..300, 5),
            starts in proptest::collection::vec(0.0_f64..=1.0, 5),
        ) {
            let count = |block: usize| way.iter().filter(|&&one| one as usize == block).count();
            let of_block = |block: usize| {
                let window = (starts[block], 1.0 - starts[block]);
                follower(block as u32, executions[block], count(block) as u64, window.0, window.1)
            };
            let plan = Plan { by_ptx_block: (0..5).map(|block| vec![of_block(block)]).collect() };
            let path = walk(&visits(&way), &plan, &nest(), &[1; 5], usize::MAX);
            for block in 0..5 {
                let expected = if count(block) == 0 { 0 } else { executions[block] };
                let found = path.blocks.iter().filter(|&&one| one as usize == block).count();
                proptest::prop_assert_eq!(found as u64, expected);
            }
        }
    }
}

//! The loops around each block of a control-flow graph.

/// The loops of a graph. A loop is the blocks from which the edges back to its first block can be
/// reached without passing that block.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Nest {
    /// For each block the loops around it, innermost first.
    around: Vec<Vec<u32>>,
}

impl Nest {
    /// Finds the loops of a graph that is given by the successors of each block.
    pub(crate) fn new(successors: &[Vec<usize>]) -> Self {
        let mut predecessors = vec![Vec::new(); successors.len()];
        for (from, to) in successors.iter().enumerate() {
            to.iter().for_each(|&to| predecessors[to].push(from));
        }
        let mut latches = vec![Vec::new(); successors.len()];
        for (from, header) in back_edges(successors) {
            latches[header].push(from);
        }
        let mut loops: Vec<Vec<usize>> = latches
            .into_iter()
            .enumerate()
            .filter(|(_, latches)| !latches.is_empty())
            .map(|(header, latches)| body(&predecessors, header, latches))
            .collect();
        loops.sort_by_key(Vec::len);
        let mut around = vec![Vec::new(); successors.len()];
        for (number, body) in (0..).zip(&loops) {
            body.iter().for_each(|&block| around[block].push(number));
        }
        Self { around }
    }

    /// The innermost loop around a block.
    pub(crate) fn innermost(&self, block: usize) -> Option<u32> {
        self.around[block].first().copied()
    }

    /// The loops around a block.
    pub(crate) fn depth(&self, block: usize) -> usize {
        self.around[block].len()
    }

    /// The innermost one of the `depth` outermost loops around a block.
    pub(crate) fn innermost_of(&self, block: usize, depth: usize) -> Option<u32> {
        let around = &self.around[block];
        around[around.len().saturating_sub(depth)..].first().copied()
    }

    /// The loops around one block that are not around another one.
    pub(crate) fn left(&self, from: usize, to: usize) -> impl Iterator<Item = u32> {
        self.around[from].iter().copied().filter(move |inner| !self.around[to].contains(inner))
    }

    /// Loops in all.
    pub(crate) fn loops(&self) -> usize {
        self.around.iter().flatten().max().map_or(0, |&last| last as usize + 1)
    }
}

/// Edges that lead to a block that a depth-first search has not finished yet.
fn back_edges(successors: &[Vec<usize>]) -> Vec<(usize, usize)> {
    #[derive(Clone, Copy, PartialEq)]
    enum State {
        New,
        Open,
        Done,
    }
    let mut state = vec![State::New; successors.len()];
    let mut edges = Vec::new();
    for root in 0..successors.len() {
        if state[root] != State::New {
            continue;
        }
        state[root] = State::Open;
        let mut path = vec![(root, 0)];
        while let Some((from, next)) = path.last_mut() {
            let from = *from;
            let Some(&to) = successors[from].get(*next) else {
                state[from] = State::Done;
                path.pop();
                continue;
            };
            *next += 1;
            match state[to] {
                State::Open => edges.push((from, to)),
                State::New => {
                    state[to] = State::Open;
                    path.push((to, 0));
                }
                State::Done => {}
            }
        }
    }
    edges
}

fn body(predecessors: &[Vec<usize>], header: usize, latches: Vec<usize>) -> Vec<usize> {
    let mut is_in = vec![false; predecessors.len()];
    is_in[header] = true;
    let mut open = latches;
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut is_in[block], true) {
            open.extend(&predecessors[block]);
        }
    }
    (0..is_in.len()).filter(|&block| is_in[block]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_in_loops_are_told_apart() {
        // 0 → 1 → 2 → 2, 2 → 3 → 1, 3 → 4.
        let nest = Nest::new(&[vec![1], vec![2], vec![2, 3], vec![1, 4], vec![]]);
        assert_eq!(nest.loops(), 2);
        let innermost: Vec<Option<u32>> = (0..5).map(|block| nest.innermost(block)).collect();
        assert_eq!(innermost, [None, Some(1), Some(0), Some(1), None]);
        assert_eq!(nest.left(2, 3).collect::<Vec<_>>(), [0]);
        assert_eq!(nest.left(2, 4).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(nest.left(1, 2).count(), 0);
        assert_eq!(nest.depth(2), 2);
        let outer: Vec<Option<u32>> = (0..3).map(|depth| nest.innermost_of(2, depth)).collect();
        assert_eq!(outer, [None, Some(1), Some(0)]);
    }
}

//! How often each block of machine code ran, from how often the PTX ran that its lines stand for.
//!
//! Threads are conserved: as many as enter a block leave it. With one unknown for each edge that is
//! a system of linear equations; the kernel's entry is known, and every line of PTX adds an
//! equation: the executions of the blocks that hold its copies, each as often as it holds one,
//! add up to its executions. Lines that were moved between blocks give equations that do not hold,
//! so they are taken in order of how many instructions support them, and those that contradict
//! what is known already, or would make an edge negative, are refused.
//!
//! A loop that was unrolled `k` times and the loop for what remains hold the same lines, so that
//! only the sum `k · unrolled + remaining` is known. Then every thread is taken to go round equally
//! often, which leaves as much to the unrolled loop as whole rounds allow.
//!
//! Warps are not conserved where they diverge. A block's warps are those of the lines that were
//! found to agree with it, or else follow from its neighbours.

mod bounds;
mod system;

use system::{Form, Outcome, System, same};

use super::code::{Code, Source};

/// Below this a fraction of a round is an error of rounding.
const ROUNDING: f64 = 1e-6;

/// What a line of PTX says about blocks: `Σ copies · executions = executions of the line`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observation {
    /// Blocks that hold copies, and how many, by ascending block.
    pub(super) copies: Vec<(usize, f64)>,
    pub(super) lanes: u64,
    pub(super) warps: u64,
    /// How much it is to be believed.
    pub(super) weight: f64,
}

/// What was found out.
pub(super) struct Solution {
    /// Executions of each block by a thread.
    pub(super) lanes: Vec<u64>,
    /// And by a warp.
    pub(super) warps: Vec<u64>,
    /// Threads that took the jump at the end of each block.
    pub(super) taken: Vec<u64>,
    /// Blocks whose executions were assumed because nothing determined them.
    pub(super) assumed: Vec<usize>,
    /// Blocks whose warps are estimated from their threads.
    pub(super) estimated_warps: Vec<usize>,
}

/// Solves for the executions of every block; `entry` is how often the kernel's first
/// instruction ran, by threads and by warps, and `is_cold` says which blocks threads are assumed
/// to stay out of where they may.
pub(super) fn solve(
    code: &Code,
    observations: &[Observation],
    entry: (u64, u64),
    is_cold: &dyn Fn(usize) -> bool,
) -> Solution {
    let network = Network::new(code);
    let mut system = System::new(network.unknowns);
    network.conserve(code, entry.0 as f64, &mut system);
    let mut order: Vec<&Observation> = observations.iter().collect();
    order.sort_by(|a, b| {
        let support = b.weight.total_cmp(&a.weight);
        support
            .then(a.copies.len().cmp(&b.copies.len()))
            .then_with(|| a.copies.partial_cmp(&b.copies).unwrap_or(std::cmp::Ordering::Equal))
    });
    for observation in &order {
        let form = network.form(&observation.copies);
        system.demand(&form, observation.lanes as f64);
    }
    let assumed: Vec<usize> = (0..code.blocks.len())
        .filter(|&block| !system.is_determined(&network.block(block)))
        .collect();
    network.share_out_unrolled(&mut system, &order);
    network.assume(&mut system, is_cold);

    let value = |form: &Form| system.value(form).round() as u64;
    let blocks = 0..code.blocks.len();
    let lanes: Vec<u64> = blocks.clone().map(|block| value(&network.block(block))).collect();
    let taken = blocks.map(|block| value(&network.taken(code, block))).collect();
    let mut solution =
        Solution { warps: Vec::new(), lanes, taken, assumed, estimated_warps: Vec::new() };
    solution.find_warps(code, &order, entry.1);
    solution
}

/// The unknowns: one for each edge, and one for each function entered in unknown ways.
struct Network {
    unknowns: usize,
    /// The first edge of each block.
    first_edge: Vec<u32>,
    /// Edges that lead into each block.
    into: Vec<Vec<u32>>,
    /// The block that each edge leads to.
    to: Vec<Option<usize>>,
    /// The unknown inflow of a root.
    inflow: Vec<(usize, u32)>,
}

impl Network {
    fn new(code: &Code) -> Self {
        let mut network = Self {
            unknowns: 0,
            first_edge: Vec::new(),
            into: vec![Vec::new(); code.blocks.len()],
            to: Vec::new(),
            inflow: Vec::new(),
        };
        for block in &code.blocks {
            network.first_edge.push(network.to.len() as u32);
            for edge in &block.edges {
                if let Some(to) = edge.to {
                    network.into[to].push(network.to.len() as u32);
                }
                network.to.push(edge.to);
            }
        }
        network.first_edge.push(network.to.len() as u32);
        network.unknowns = network.to.len();
        for (&root, &source) in &code.roots {
            if source == Source::Unknown {
                network.inflow.push((root, network.unknowns as u32));
                network.unknowns += 1;
            }
        }
        network
    }

    /// The executions of a block: what leaves it.
    fn block(&self, block: usize) -> Form {
        (self.first_edge[block]..self.first_edge[block + 1]).map(|edge| (edge, 1.0)).collect()
    }

    fn taken(&self, code: &Code, block: usize) -> Form {
        let edges = code.blocks[block].edges.iter();
        let numbered = (self.first_edge[block]..).zip(edges);
        numbered.filter(|(_, edge)| edge.taken).map(|(number, _)| (number, 1.0)).collect()
    }

    /// `Σ copies · executions`.
    fn form(&self, copies: &[(usize, f64)]) -> Form {
        let terms = copies.iter().flat_map(|&(block, count)| {
            self.block(block).into_iter().map(move |(edge, _)| (edge, count))
        });
        terms.collect()
    }

    /// What enters a block leaves it.
    fn conserve(&self, code: &Code, entry: f64, system: &mut System) {
        for block in 0..code.blocks.len() {
            let mut form = self.block(block);
            form.extend(self.into[block].iter().map(|&edge| (edge, -1.0)));
            let mut entering = 0.0;
            match code.roots.get(&block) {
                Some(Source::Kernel) => entering = entry,
                Some(Source::Calls) => {
                    let callers = code.blocks.iter().enumerate();
                    for (caller, _) in callers.filter(|(_, one)| one.calls == Some(block)) {
                        form.extend(self.block(caller).into_iter().map(|(edge, _)| (edge, -1.0)));
                    }
                }
                Some(Source::Unknown) => {
                    let inflow = self.inflow.iter().filter(|(root, _)| *root == block);
                    form.extend(inflow.map(|&(_, unknown)| (unknown, -1.0)));
                }
                None => {}
            }
            system.demand(&form, entering);
        }
    }

    /// Divides rounds between copies of a loop's body of which one was unrolled.
    fn share_out_unrolled(&self, system: &mut System, observations: &[&Observation]) {
        for observation in observations {
            let open = observation
                .copies
                .iter()
                .filter(|&&(block, _)| !system.is_determined(&self.block(block)));
            let unrolled =
                open.copied().reduce(|most, one| if one.1 > most.1 { one } else { most });
            let Some((block, copies)) = unrolled.filter(|&(_, copies)| copies > 1.0) else {
                continue;
            };
            let Some(entries) = self.entries(system, block) else { continue };
            let known: f64 = observation
                .copies
                .iter()
                .map(|&(block, copies)| (self.block(block), copies))
                .filter(|(form, _)| system.is_determined(form))
                .map(|(form, copies)| copies * system.value(&form))
                .sum();
            let rounds = (observation.lanes as f64 - known) / entries;
            let unrolled_rounds = (rounds / copies + ROUNDING).floor();
            system.demand(&self.block(block), unrolled_rounds * entries);
        }
    }

    /// Threads that come to the nearest block before `block` whose executions are known.
    fn entries(&self, system: &System, block: usize) -> Option<f64> {
        let mut seen = vec![false; self.into.len()];
        let mut queue = std::collections::VecDeque::from([block]);
        while let Some(at) = queue.pop_front() {
            if std::mem::replace(&mut seen[at], true) {
                continue;
            }
            let form = self.block(at);
            if at != block && system.is_determined(&form) {
                let value = system.value(&form);
                return (value > 0.0).then_some(value);
            }
            queue.extend(self.into[at].iter().map(|&edge| self.from(edge)));
        }
        None
    }

    /// The block that an edge leaves.
    fn from(&self, edge: u32) -> usize {
        self.first_edge.partition_point(|&first| first <= edge) - 1
    }

    /// Gives every unknown that is left a value: none at all where the way leads into a cold
    /// block, all that can be where it leads into a block that is known to run, else the middle of
    /// what is possible.
    fn assume(&self, system: &mut System, is_cold: &dyn Fn(usize) -> bool) {
        let leads_into_cold =
            |unknown: u32| self.to.get(unknown as usize).copied().flatten().is_some_and(is_cold);
        let cold: Vec<u32> =
            (0..self.unknowns as u32).filter(|&one| leads_into_cold(one)).collect();
        for edge in cold {
            system.demand(&[(edge, 1.0)], 0.0);
        }
        loop {
            let next = system.free().next();
            let Some(free) = next else { break };
            let range = system.range(free);
            let (least, most) = (range.least.round(), range.most.round());
            let middle = if most.is_finite() { ((least + most) / 2.0).round() } else { least };
            let runs = self.to.get(free as usize).copied().flatten().is_some_and(|to| {
                let form = self.block(to);
                system.is_determined(&form) && system.value(&form) > 0.0
            });
            let candidates = [if runs { most } else { middle }, least, most, 0.0];
            let accepted = candidates.iter().any(|&value| {
                value.is_finite() && system.demand(&[(free, 1.0)], value) == Outcome::Added
            });
            if !accepted {
                system.settle(free);
            }
        }
    }
}

impl Solution {
    /// The warps of each block.
    fn find_warps(&mut self, code: &Code, observations: &[&Observation], entry_warps: u64) {
        let count = code.blocks.len();
        let mut warps: Vec<Option<u64>> =
            self.lanes.iter().map(|&lanes| (lanes == 0).then_some(0)).collect();
        // The strongest line that agrees decides; those of one block before those of several.
        for several in [false, true] {
            for observation in observations.iter().filter(|one| (one.copies.len() > 1) == several) {
                let lanes = |&(block, copies): &(usize, f64)| copies * self.lanes[block] as f64;
                let sum: f64 = observation.copies.iter().map(lanes).sum();
                if sum == 0.0 || !same(sum, observation.lanes as f64) {
                    continue;
                }
                for &(block, _) in &observation.copies {
                    let share = self.lanes[block] as f64 / sum;
                    warps[block].get_or_insert((observation.warps as f64 * share).round() as u64);
                }
            }
        }
        if let Some((&root, _)) = code.roots.iter().find(|(_, source)| **source == Source::Kernel) {
            warps[root].get_or_insert(entry_warps);
        }
        self.spread_warps(code, &mut warps);
        for block in 0..count {
            if warps[block].is_none() {
                self.estimated_warps.push(block);
                warps[block] = self.warps_as_full_as_lines(block, observations);
            }
        }
        self.warps = warps
            .iter()
            .zip(&self.lanes)
            .map(|(warps, lanes)| warps.unwrap_or_else(|| lanes.div_ceil(32)))
            .collect();
    }

    /// The warps of a block if they are as full as those of the strongest line that it holds.
    fn warps_as_full_as_lines(&self, block: usize, observations: &[&Observation]) -> Option<u64> {
        let holds = |one: &&&Observation| {
            one.lanes > 0 && one.copies.iter().any(|&(other, _)| other == block)
        };
        let line = observations.iter().find(holds)?;
        let warps = self.lanes[block] as f64 * line.warps as f64 / line.lanes as f64;
        Some(warps.ceil() as u64)
    }

    /// A block that an edge joins to one with as many threads is taken to have its warps, since
    /// they are as a rule the same threads.
    fn spread_warps(&self, code: &Code, warps: &mut [Option<u64>]) {
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (from, block) in code.blocks.iter().enumerate() {
            edges.extend(block.edges.iter().filter_map(|edge| Some((from, edge.to?))));
            edges.extend(block.calls.map(|to| (from, to)));
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &(from, to) in &edges {
                if self.lanes[from] != self.lanes[to] {
                    continue;
                }
                let known = match (warps[from], warps[to]) {
                    (Some(known), None) => (to, known),
                    (None, Some(known)) => (from, known),
                    _ => continue,
                };
                warps[known.0] = Some(known.1);
                changed = true;
            }
        }
    }
}

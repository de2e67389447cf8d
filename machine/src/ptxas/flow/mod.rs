//! Computes the executions of each block of machine code from those of the PTX behind its lines.
//!
//! Threads are conserved: as many as enter a block leave it. With one unknown per edge, that is a
//! system of linear equations. The kernel's entry is known, and every line of PTX adds an equation.
//! The executions of the blocks that hold its copies, each times its copies, add up to the line's
//! executions. Lines that were moved between blocks give equations that do not hold. So equations
//! are taken in order of the number of instructions that support them. Those that contradict known
//! values, or would make an edge negative, are refused.
//!
//! A copy under a predicate that the PTX does not have runs at most as often as its block. It has
//! an unknown of its own. The last round of an unrolled loop is often such a copy.
//!
//! If a loop was unrolled into several versions, the lines give only their sum; `versions` divides
//! it.
//!
//! Warps are not conserved at points of divergence. A block's warps are those of the lines that
//! were found to agree with it, or else follow from its neighbours.

mod bounds;
mod system;
mod versions;
mod warps;

use std::collections::BTreeMap;

use super::code::{Code, Source};
use system::{Form, Outcome, System};

/// The equation that a line of PTX gives for blocks: `Σ copies · executions = executions of the
/// line`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Observation {
    /// Blocks that hold copies, and the number of copies, by ascending block.
    pub(super) copies: Vec<(usize, f64)>,
    /// Blocks that hold copies under a predicate of the assembler's, beside those in `copies`, and
    /// the number of these.
    pub(super) predicated: Vec<(usize, f64)>,
    pub(super) lanes: u128,
    pub(super) warps: u128,
    /// Threads that came to the innermost loop of the PTX around the line, if there is one.
    pub(super) visits: Option<u128>,
    /// The block of the PTX that the line is in.
    pub(super) block: u32,
    /// The weight of the equation: higher means more reliable.
    pub(super) weight: f64,
    /// True if it is more than control or fetching of operands.
    pub(super) is_firm: bool,
}

impl Observation {
    /// Returns true if a stronger line of the same PTX block shows that the block was unrolled into
    /// versions, and this one counts them otherwise. A version of `k` rounds advances its index
    /// once per `k` rounds. Its control differs, too: the code in front of a version asks if enough
    /// rounds are left for it.
    fn gives_way_to(&self, stronger: &Self) -> bool {
        let is_unrolled = stronger.copies.iter().map(|&(_, count)| count).sum::<f64>() > 1.0;
        let holds = |block| stronger.copies.binary_search_by_key(&block, |&(one, _)| one).is_ok();
        self.block == stronger.block
            && stronger.is_firm
            && is_unrolled
            && self.copies != stronger.copies
            && (!self.is_firm || self.copies.iter().any(|&(block, _)| holds(block)))
    }

    /// Executions of all copies by threads, if the blocks ran as `solution` says.
    pub(super) fn executions(&self, solution: &Solution) -> f64 {
        let plain = self.copies.iter().map(|&(block, count)| count * solution.lanes[block] as f64);
        let predicated = self.predicated.iter().map(|&(machine, count)| {
            let lanes = solution.predicated.get(&Predicated { machine, ptx: self.block });
            count * lanes.copied().unwrap_or(0) as f64
        });
        plain.chain(predicated).sum()
    }
}

/// Copies of the instructions of a PTX block in a block of the machine that the assembler put under
/// a predicate. They are the same round of a loop, so that all run equally often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Predicated {
    /// The block of the machine.
    pub(super) machine: usize,
    /// The block of the PTX.
    pub(super) ptx: u32,
}

/// The result of the analysis.
pub(super) struct Solution {
    /// Executions of each block by a thread.
    pub(super) lanes: Vec<u128>,
    /// And by a warp.
    pub(super) warps: Vec<u128>,
    /// Threads that took the jump at the end of each block.
    pub(super) taken: Vec<u128>,
    /// Executions by a thread of copies under a predicate, beside others without one.
    pub(super) predicated: BTreeMap<Predicated, u128>,
    /// Blocks whose executions were assumed because nothing determined them.
    pub(super) assumed: Vec<usize>,
    /// Blocks whose warps are estimated from their threads.
    pub(super) estimated_warps: Vec<usize>,
}

/// Solves for the executions of every block. `entry` holds the executions of the kernel's first
/// instruction, by threads and by warps. `is_cold` returns true for blocks that threads are assumed
/// to stay out of if they can.
pub(super) fn solve(
    code: &Code,
    observations: &[Observation],
    entry: (u128, u128),
    is_cold: &dyn Fn(usize) -> bool,
) -> Solution {
    let network = Network::new(code, observations);
    let mut system = System::new(network.unknowns);
    network.conserve(code, entry.0 as f64, &mut system);
    network.limit_predicated(&mut system);
    let mut order: Vec<&Observation> = observations.iter().collect();
    order.sort_by(|a, b| {
        let support = b.weight.total_cmp(&a.weight);
        support
            .then(a.copies.len().cmp(&b.copies.len()))
            .then_with(|| a.copies.partial_cmp(&b.copies).unwrap_or(std::cmp::Ordering::Equal))
    });
    let mut heard: Vec<&Observation> = Vec::new();
    for observation in &order {
        if heard.iter().any(|stronger| observation.gives_way_to(stronger)) {
            continue;
        }
        let form = network.form(observation);
        if system.demand(&form, observation.lanes as f64) != Outcome::Refused {
            heard.push(observation);
        }
    }
    order = heard;
    let assumed: Vec<usize> = (0..code.blocks.len())
        .filter(|&block| !system.is_determined(&network.block(block)))
        .collect();
    network.share_out_versions(&mut system, &order);
    network.assume(&mut system, is_cold);

    let value = |form: &Form| system.value(form).round() as u128;
    let blocks = 0..code.blocks.len();
    let lanes: Vec<u128> = blocks.clone().map(|block| value(&network.block(block))).collect();
    let taken = blocks.map(|block| value(&network.taken(code, block))).collect();
    let predicated = network.predicated.iter();
    let predicated = predicated.map(|(&key, &unknown)| (key, value(&vec![(unknown, 1.0)])));
    let mut solution = Solution {
        warps: Vec::new(),
        lanes,
        taken,
        predicated: predicated.collect(),
        assumed,
        estimated_warps: Vec::new(),
    };
    solution.find_warps(code, &order, entry.1);
    solution
}

/// The unknowns: one for each edge, one for each function entered in unknown ways, and two for
/// copies under a predicate.
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
    /// The unknown executions of copies under a predicate. The next unknown is what is left of the
    /// block's executions.
    predicated: BTreeMap<Predicated, u32>,
}

/// Copies of a line in one block, and the executions of each.
struct Version {
    copies: f64,
    form: Form,
}

impl Version {
    /// The executions times a factor.
    fn times(&self, factor: f64) -> impl Iterator<Item = (u32, f64)> + use<> {
        self.form.clone().into_iter().map(move |(unknown, one)| (unknown, one * factor))
    }
}

/// The order in which values are assumed, and the edges that close a loop.
struct Assumptions {
    order: Vec<u32>,
    leads_back: Vec<bool>,
}

impl Network {
    fn new(code: &Code, observations: &[Observation]) -> Self {
        let mut network = Self {
            unknowns: 0,
            first_edge: Vec::new(),
            into: vec![Vec::new(); code.blocks.len()],
            to: Vec::new(),
            inflow: Vec::new(),
            predicated: BTreeMap::new(),
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
        for observation in observations {
            for &(machine, _) in &observation.predicated {
                let key = Predicated { machine, ptx: observation.block };
                if !network.predicated.contains_key(&key) {
                    network.predicated.insert(key, network.unknowns as u32);
                    network.unknowns += 2;
                }
            }
        }
        network
    }

    /// The executions of a block: the sum of the edges that leave it.
    fn block(&self, block: usize) -> Form {
        (self.first_edge[block]..self.first_edge[block + 1]).map(|edge| (edge, 1.0)).collect()
    }

    fn taken(&self, code: &Code, block: usize) -> Form {
        let edges = code.blocks[block].edges.iter();
        let numbered = (self.first_edge[block]..).zip(edges);
        numbered.filter(|(_, edge)| edge.taken).map(|(number, _)| (number, 1.0)).collect()
    }

    /// `Σ copies · executions`.
    fn form(&self, line: &Observation) -> Form {
        self.versions(line).flat_map(|version| version.times(version.copies)).collect()
    }

    /// The copies that a line has, block by block.
    fn versions(&self, line: &Observation) -> impl Iterator<Item = Version> {
        let plain = line.copies.iter();
        let plain = plain.map(|&(block, copies)| Version { copies, form: self.block(block) });
        let predicated = line.predicated.iter().filter_map(|&(machine, copies)| {
            let unknown = self.predicated.get(&Predicated { machine, ptx: line.block })?;
            Some(Version { copies, form: vec![(*unknown, 1.0)] })
        });
        plain.chain(predicated)
    }

    /// Demands that copies under a predicate run at most as often as their block.
    fn limit_predicated(&self, system: &mut System) {
        for (key, &unknown) in &self.predicated {
            let mut form = self.block(key.machine);
            form.extend([(unknown, -1.0), (unknown + 1, -1.0)]);
            system.demand(&form, 0.0);
        }
    }

    /// Adds the equations of conservation: the threads that enter a block leave it.
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

    /// The edges in the order in which values are assumed for them. Those that lead on come before
    /// those that lead back, so that threads enter a loop before they go round in it.
    fn assumption_order(&self) -> Assumptions {
        let count = self.into.len();
        let mut place = vec![usize::MAX; count];
        let mut finished = 0;
        let mut leads_back = vec![false; self.to.len()];
        let mut open = vec![false; count];
        for root in 0..count {
            if place[root] != usize::MAX || open[root] {
                continue;
            }
            open[root] = true;
            let mut path = vec![(root, self.first_edge[root])];
            while let Some((block, edge)) = path.last_mut() {
                let (block, next) = (*block, *edge);
                if next == self.first_edge[block + 1] {
                    open[block] = false;
                    place[block] = count - finished;
                    finished += 1;
                    path.pop();
                    continue;
                }
                *edge += 1;
                match self.to[next as usize] {
                    Some(to) if open[to] => leads_back[next as usize] = true,
                    Some(to) if place[to] == usize::MAX => {
                        open[to] = true;
                        path.push((to, self.first_edge[to]));
                    }
                    _ => {}
                }
            }
        }
        let mut order: Vec<u32> = (0..self.to.len() as u32).collect();
        order.sort_by_key(|&edge| (leads_back[edge as usize], place[self.from(edge)]));
        order.extend(self.to.len() as u32..self.unknowns as u32);
        Assumptions { order, leads_back }
    }

    /// Lets all threads that can enter every loop that is known to run. Without threads that
    /// entered it, none would go round in it.
    fn enter_loops(&self, system: &mut System, leads_back: &[bool]) {
        for (block, into) in self.into.iter().enumerate() {
            let form = self.block(block);
            let is_loop = into.iter().any(|&edge| leads_back[edge as usize]);
            if !is_loop || !system.is_determined(&form) {
                continue;
            }
            let rounds = system.value(&form);
            let entries: Form = into
                .iter()
                .filter(|&&edge| !leads_back[edge as usize])
                .map(|&edge| (edge, 1.0))
                .collect();
            if rounds > 0.0 && !system.is_determined(&entries) {
                let most = system.range_of(&entries).most.min(rounds).round();
                system.demand(&entries, most);
            }
        }
    }

    /// The block that an edge leaves.
    fn from(&self, edge: u32) -> usize {
        self.first_edge.partition_point(|&first| first <= edge) - 1
    }

    /// Gives every unknown that is left a value. An edge into a cold block gets 0, and an edge into
    /// a block known to run gets its maximum. Any other edge gets the midpoint of its range.
    fn assume(&self, system: &mut System, is_cold: &dyn Fn(usize) -> bool) {
        let leads_into_cold =
            |unknown: u32| self.to.get(unknown as usize).copied().flatten().is_some_and(is_cold);
        let Assumptions { order, leads_back } = self.assumption_order();
        self.enter_loops(system, &leads_back);
        for &edge in order.iter().filter(|&&one| leads_into_cold(one)) {
            system.demand(&[(edge, 1.0)], 0.0);
        }
        for &unknown in &order {
            if !system.is_determined(&[(unknown, 1.0)]) {
                self.assume_one(system, unknown);
            }
        }
    }

    fn assume_one(&self, system: &mut System, unknown: u32) {
        let range = system.range_of(&[(unknown, 1.0)]);
        let (least, most) = (range.least.round(), range.most.round());
        let middle = if most.is_finite() { ((least + most) / 2.0).round() } else { least };
        let runs = self.to.get(unknown as usize).copied().flatten().is_some_and(|to| {
            let form = self.block(to);
            system.is_determined(&form) && system.value(&form) > 0.0
        });
        let candidates = [if runs { most } else { middle }, least, most, 0.0];
        let accepted = candidates.iter().any(|&value| {
            value.is_finite() && system.demand(&[(unknown, 1.0)], value) == Outcome::Added
        });
        if !accepted {
            let (_, open) = system.reduce(&[(unknown, 1.0)]);
            for (free, _) in open {
                system.settle(free);
            }
        }
    }
}

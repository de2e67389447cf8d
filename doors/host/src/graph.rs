//! Graphs: work that is put together first and launched later, as often as a program likes.
//!
//! ```text
//! calls in a stream that is captured ─┐
//! nodes added one by one ─────────────┴─► Graph ─► Executable (steps in order) ─► launches
//! ```
//!
//! A launch does the steps one after the other, as all work is done when it is issued. Their times
//! go to the clock by the graph's edges: a step begins when those before it have ended, on an
//! engine that is free.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::Error;
use crate::clock::{EventId, StreamId};
use crate::place::{Extent, PitchedMemory};
use crate::request::LaunchRequest;

/// A graph, by its number.
pub type GraphId = u64;

/// A node of any graph, by its number.
pub type NodeId = u64;

/// A graph that is ready to be launched, by its number.
pub type ExecutableId = u64;

/// The most nodes of a graph, those of graphs in it counted. What is made ready has a step for
/// each.
const MOST_NODES: usize = 1 << 18;

/// Greatest depth of graphs in graphs.
const DEEPEST: usize = 32;

/// A call of a function of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostCall {
    /// The function's address.
    pub function: u64,
    /// The pointer that it takes.
    pub data: u64,
}

/// What a node does.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// Nothing: other nodes wait for it.
    Empty,
    /// A launch, whatever its stream.
    Kernel(LaunchRequest),
    /// A copy of rows.
    Copy {
        /// Where to.
        to: PitchedMemory,
        /// Where from.
        from: PitchedMemory,
        /// The rows.
        extent: Extent,
    },
    /// Rows are filled with a pattern of 1, 2 or 4 bytes.
    Fill {
        /// Where.
        to: PitchedMemory,
        /// The pattern.
        pattern: Vec<u8>,
        /// The rows.
        extent: Extent,
    },
    /// A function of the program is called.
    Host(HostCall),
    /// An event is recorded.
    Record(EventId),
    /// An event is waited for.
    Wait(EventId),
    /// Memory was given out when the node was made; it stays with the graph.
    Allocate {
        /// Its first byte; 0 until it is given out.
        address: u64,
        /// Its size.
        bytes: u64,
    },
    /// The memory of another node, from this address on, is not used any more.
    Free(u64),
    /// Another graph, as it was when the node was made.
    Child(Inner),
    /// The graphs that a condition chooses among.
    Conditional(Conditional),
}

/// A graph in a node of another. Copies share it: one that is put into itself again and again has
/// twice as many nodes each time.
#[derive(Clone, Debug, PartialEq)]
pub struct Inner {
    pub(crate) graph: Arc<Graph>,
    /// [`Graph::size`] and [`Graph::depth`], which are not counted anew for each copy.
    size: usize,
    depth: usize,
}

impl From<Graph> for Inner {
    fn from(graph: Graph) -> Self {
        let (size, depth) = (graph.size(), graph.depth());
        Self { graph: Arc::new(graph), size, depth }
    }
}

/// A number in memory that kernels set, and what it chooses.
#[derive(Clone, Debug, PartialEq)]
pub struct Conditional {
    /// The number's address, which programs know as the condition's handle.
    pub handle: u64,
    /// The number when a launch begins; without it, the one that is there.
    pub default: Option<u32>,
    /// How a body is chosen.
    pub choice: Choice,
    /// The bodies.
    pub bodies: Vec<Inner>,
}

/// How a condition chooses a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The first one unless it is 0, and else the second one, if there is one.
    If,
    /// The only one, again and again, until it is 0.
    While,
    /// The one of this number, if there is one.
    Switch,
}

impl Conditional {
    /// The body that a number chooses.
    pub(crate) fn chosen(&self, number: u32) -> Option<usize> {
        let body = match self.choice {
            Choice::If | Choice::While => usize::from(number == 0),
            Choice::Switch => number as usize,
        };
        (body < self.bodies.len()).then_some(body)
    }
}

impl Work {
    /// `cudaGraphNodeType` and `CUgraphNodeType`.
    #[must_use]
    pub const fn kind(&self) -> i32 {
        match self {
            Self::Kernel(_) => 0,
            Self::Copy { .. } => 1,
            Self::Fill { .. } => 2,
            Self::Host(_) => 3,
            Self::Child(_) => 4,
            Self::Empty => 5,
            Self::Wait(_) => 6,
            Self::Record(_) => 7,
            Self::Allocate { .. } => 10,
            Self::Free(_) => 11,
            Self::Conditional(_) => 13,
        }
    }

    /// The graphs in it.
    pub(crate) fn graphs(&self) -> &[Inner] {
        match self {
            Self::Child(graph) => std::slice::from_ref(graph),
            Self::Conditional(conditional) => &conditional.bodies,
            _ => &[],
        }
    }

    fn graphs_mut(&mut self) -> &mut [Inner] {
        match self {
            Self::Child(graph) => std::slice::from_mut(graph),
            Self::Conditional(conditional) => &mut conditional.bodies,
            _ => &mut [],
        }
    }
}

/// A node, and the nodes of the same graph that must have ended before it begins.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Node {
    pub(crate) work: Work,
    pub(crate) after: BTreeSet<NodeId>,
    /// The node of which it is a copy, by the clone of a graph.
    pub(crate) copy_of: Option<NodeId>,
}

/// Nodes with edges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    /// In order of their making.
    pub(crate) nodes: BTreeMap<NodeId, Node>,
}

/// An edge of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The node that comes first.
    pub from: NodeId,
    /// The node that waits for it.
    pub to: NodeId,
}

/// A part of a launch: never a graph.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) work: Work,
    /// Indices of steps before it.
    pub(crate) after: Vec<usize>,
    /// The steps of each body of a conditional.
    pub(crate) bodies: Vec<Arc<Vec<Step>>>,
}

/// A graph as it was when it was made ready.
#[derive(Clone, Debug)]
pub(crate) struct Executable {
    pub(crate) graph: Graph,
    pub(crate) steps: Arc<Vec<Step>>,
}

/// A launch of a graph that is under way.
#[derive(Debug)]
pub struct GraphRun {
    pub(crate) stream: StreamId,
    pub(crate) steps: Arc<Vec<Step>>,
    /// The end of what the launch waits for, and of each step so far.
    pub(crate) begin_ms: f64,
    pub(crate) ends_ms: Vec<f64>,
    /// The body that the next step executes.
    pub(crate) body: Option<Box<GraphRun>>,
}

impl GraphRun {
    pub(crate) fn new(stream: StreamId, steps: Arc<Vec<Step>>, begin_ms: f64) -> Self {
        Self { stream, steps, begin_ms, ends_ms: Vec::new(), body: None }
    }

    /// The end of all steps so far.
    pub(crate) fn end_ms(&self) -> f64 {
        self.ends_ms.iter().copied().fold(self.begin_ms, f64::max)
    }
}

/// The state of a stream's capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureStatus {
    /// Its work is done.
    None,
    /// Its work goes to a graph.
    Active,
    /// Its capture has failed and waits for its end.
    Invalidated,
}

/// A graph in the making, from the work of streams.
#[derive(Debug)]
pub(crate) struct Capture {
    /// The nodes of the work so far.
    pub(crate) graph: Graph,
    /// The graph that they become a part of; `None` for a new one.
    pub(crate) into: Option<GraphId>,
    pub(crate) origin: StreamId,
    /// The nodes that the next work of each stream comes behind.
    pub(crate) tips: BTreeMap<StreamId, BTreeSet<NodeId>>,
    /// The nodes that each recorded event stands for.
    pub(crate) events: BTreeMap<EventId, BTreeSet<NodeId>>,
    pub(crate) is_valid: bool,
}

/// All graphs of a device.
#[derive(Debug, Default)]
pub(crate) struct Graphs {
    pub(crate) graphs: BTreeMap<GraphId, Graph>,
    /// The graph of each node.
    pub(crate) nodes: BTreeMap<NodeId, GraphId>,
    pub(crate) executables: BTreeMap<ExecutableId, Executable>,
    /// The graphs that programs were given for nodes with graphs in them. They are the nodes'.
    pub(crate) children: BTreeMap<NodeId, Vec<GraphId>>,
    /// How many graphs each of these lies in.
    pub(crate) levels: BTreeMap<GraphId, usize>,
    /// What each condition's number is when a launch begins, by its address.
    pub(crate) conditions: BTreeMap<u64, Option<u32>>,
    pub(crate) captures: Vec<Capture>,
    /// The addresses of memory that graphs have, which stays as long as the device.
    pub(crate) blocks: BTreeSet<u64>,
    pub(crate) next: u64,
}

/// Numbers begin here, so that no handle is null.
const FIRST_ID: u64 = 0x2000;

impl Graph {
    /// The nodes that nothing comes before.
    pub(crate) fn roots(&self) -> Vec<NodeId> {
        let roots = self.nodes.iter().filter(|(_, node)| node.after.is_empty());
        roots.map(|(&id, _)| id).collect()
    }

    pub(crate) fn edges(&self) -> Vec<Edge> {
        let edges = |(&to, node): (&NodeId, &Node)| {
            node.after.iter().map(move |&from| Edge { from, to }).collect::<Vec<_>>()
        };
        self.nodes.iter().flat_map(edges).collect()
    }

    /// Nodes with those of graphs in it.
    pub(crate) fn size(&self) -> usize {
        let inner = |node: &Node| node.work.graphs().iter().map(|inner| inner.size).sum::<usize>();
        self.nodes.values().map(|node| 1 + inner(node)).sum()
    }

    /// Levels of graphs in graphs, its own counted.
    pub(crate) fn depth(&self) -> usize {
        let inner = self.nodes.values().flat_map(|node| node.work.graphs());
        1 + inner.map(|inner| inner.depth).max().unwrap_or(0)
    }

    /// The nodes, each behind those that it waits for.
    pub(crate) fn in_order(&self) -> Result<Vec<NodeId>, Error> {
        let mut waits: BTreeMap<NodeId, usize> =
            self.nodes.iter().map(|(&id, node)| (id, node.after.len())).collect();
        let mut behind: BTreeMap<NodeId, Vec<NodeId>> = BTreeMap::new();
        for Edge { from, to } in self.edges() {
            behind.entry(from).or_default().push(to);
        }
        let mut ready: BTreeSet<NodeId> = self.roots().into_iter().collect();
        let mut order = Vec::new();
        while let Some(id) = ready.pop_first() {
            order.push(id);
            for &next in behind.get(&id).into_iter().flatten() {
                if let Some(left) = waits.get_mut(&next) {
                    *left -= 1;
                    if *left == 0 {
                        ready.insert(next);
                    }
                }
            }
        }
        // What is left waits for itself.
        if order.len() == self.nodes.len() { Ok(order) } else { Err(Error::InvalidValue) }
    }

    /// Appends the steps of the graph, which begin behind the steps `after`. Returns the steps that
    /// nothing of the graph comes behind.
    pub(crate) fn flatten(
        &self,
        after: &[usize],
        steps: &mut Vec<Step>,
    ) -> Result<Vec<usize>, Error> {
        let mut ends: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
        let mut last: BTreeSet<NodeId> = self.nodes.keys().copied().collect();
        for id in self.in_order()? {
            let node = &self.nodes[&id];
            let mut before: Vec<usize> = Vec::new();
            for one in &node.after {
                last.remove(one);
                before.extend(ends.get(one).into_iter().flatten());
            }
            if node.after.is_empty() {
                before = after.to_vec();
            }
            let end = match &node.work {
                Work::Child(inner) => {
                    let before = joined(before, steps);
                    let ends = inner.graph.flatten(&before, steps)?;
                    joined(ends, steps)
                }
                work => {
                    let bodies = work.graphs().iter().map(|inner| inner.graph.steps());
                    let bodies = bodies.collect::<Result<_, Error>>()?;
                    steps.push(Step { work: work.clone(), after: before, bodies });
                    vec![steps.len() - 1]
                }
            };
            ends.insert(id, end);
        }
        if self.nodes.is_empty() {
            return Ok(after.to_vec());
        }
        Ok(last.iter().filter_map(|id| ends.get(id)).flatten().copied().collect())
    }

    fn steps(&self) -> Result<Arc<Vec<Step>>, Error> {
        let mut steps = Vec::new();
        self.flatten(&[], &mut steps)?;
        Ok(Arc::new(steps))
    }

    pub(crate) fn executable(self) -> Result<Executable, Error> {
        let steps = self.steps()?;
        Ok(Executable { graph: self, steps })
    }

    /// The conditions of the graph and of those in it that a launch begins with a number.
    pub(crate) fn defaults(&self) -> Vec<(u64, u32)> {
        let own = self.nodes.values().filter_map(|node| match &node.work {
            Work::Conditional(Conditional { handle, default, .. }) => Some((*handle, (*default)?)),
            _ => None,
        });
        let inner = self.nodes.values().flat_map(|node| node.work.graphs());
        own.chain(inner.flat_map(|inner| inner.graph.defaults())).collect()
    }

    /// Returns true if another graph has as many nodes of the same kinds with the same edges.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let shape = |graph: &Self| -> Vec<(i32, Vec<usize>)> {
            let places: BTreeMap<NodeId, usize> =
                graph.nodes.keys().enumerate().map(|(place, &id)| (id, place)).collect();
            let node = |node: &Node| {
                let after = node.after.iter().filter_map(|id| places.get(id).copied());
                (node.work.kind(), after.collect())
            };
            graph.nodes.values().map(node).collect()
        };
        shape(self) == shape(other)
    }

    /// Gives a node other work of the same kind.
    pub(crate) fn change(&mut self, id: NodeId, work: Work) -> Result<(), Error> {
        let node = self.nodes.get_mut(&id).filter(|node| node.work.kind() == work.kind());
        node.ok_or(Error::InvalidValue)?.work = work;
        Ok(())
    }
}

/// One step that waits for several, unless there is one alone. Otherwise each that begins in a
/// graph would wait for each that ends in the one before: a product of numbers of nodes.
fn joined(several: Vec<usize>, steps: &mut Vec<Step>) -> Vec<usize> {
    if several.len() <= 1 {
        return several;
    }
    steps.push(Step { work: Work::Empty, after: several, bodies: Vec::new() });
    vec![steps.len() - 1]
}

impl Capture {
    pub(crate) fn status(&self) -> CaptureStatus {
        if self.is_valid { CaptureStatus::Active } else { CaptureStatus::Invalidated }
    }

    /// Returns true if the work of all streams comes before that of the first one's tips.
    pub(crate) fn is_joined(&self) -> bool {
        let mut seen = BTreeSet::new();
        let mut open: Vec<NodeId> =
            self.tips.get(&self.origin).into_iter().flatten().copied().collect();
        while let Some(id) = open.pop() {
            if seen.insert(id)
                && let Some(node) = self.graph.nodes.get(&id)
            {
                open.extend(&node.after);
            }
        }
        self.tips.values().flatten().all(|id| seen.contains(id))
    }
}

impl Graphs {
    pub(crate) fn id(&mut self) -> u64 {
        self.next += 1;
        FIRST_ID + self.next
    }

    /// Returns true if some stream is captured.
    pub(crate) fn is_capturing(&self) -> bool {
        !self.captures.is_empty()
    }

    /// Returns true if a graph has the memory that begins at an address.
    pub(crate) fn has_block(&self, address: u64) -> bool {
        self.blocks.contains(&address)
    }

    pub(crate) fn graph(&self, id: GraphId) -> Result<&Graph, Error> {
        self.graphs.get(&id).ok_or(Error::InvalidValue)
    }

    pub(crate) fn graph_mut(&mut self, id: GraphId) -> Result<&mut Graph, Error> {
        self.graphs.get_mut(&id).ok_or(Error::InvalidValue)
    }

    /// The capture in which a stream takes part.
    pub(crate) fn of_stream(&mut self, stream: StreamId) -> Option<&mut Capture> {
        self.captures.iter_mut().find(|capture| capture.tips.contains_key(&stream))
    }

    /// The graph of a node, and the node.
    pub(crate) fn node(&self, id: NodeId) -> Result<(GraphId, &Node), Error> {
        let graph = *self.nodes.get(&id).ok_or(Error::InvalidValue)?;
        let node = self.graph(graph)?.nodes.get(&id).ok_or(Error::InvalidValue)?;
        Ok((graph, node))
    }

    /// A graph as it is now: programs may have changed the graphs in it.
    pub(crate) fn current(&self, id: GraphId) -> Result<Graph, Error> {
        let mut graph = self.graph(id)?.clone();
        for (id, node) in &mut graph.nodes {
            let children = self.children.get(id).into_iter().flatten();
            for (place, &child) in node.work.graphs_mut().iter_mut().zip(children) {
                *place = self.current(child)?.into();
            }
        }
        Ok(graph)
    }

    /// The same graph with nodes of its own.
    pub(crate) fn renamed(&mut self, graph: Graph) -> Graph {
        let names: BTreeMap<NodeId, NodeId> =
            graph.nodes.keys().map(|&node| (node, self.id())).collect();
        let renamed = |(id, node): (NodeId, Node)| {
            let after = node.after.iter().filter_map(|node| names.get(node).copied()).collect();
            (names[&id], Node { after, copy_of: Some(id), ..node })
        };
        Graph { nodes: graph.nodes.into_iter().map(renamed).collect() }
    }

    /// Forgets a graph, its nodes and the graphs of these.
    pub(crate) fn forget(&mut self, id: GraphId) -> Result<(), Error> {
        let graph = self.graphs.remove(&id).ok_or(Error::InvalidValue)?;
        self.levels.remove(&id);
        for node in graph.nodes.keys() {
            self.nodes.remove(node);
            self.forget_child(*node);
        }
        Ok(())
    }

    /// Forgets the graphs that a program was given for a node.
    pub(crate) fn forget_child(&mut self, node: NodeId) {
        for child in self.children.remove(&node).into_iter().flatten() {
            // It is there as long as its node.
            let _ = self.forget(child);
        }
    }

    /// Takes a finished graph up.
    pub(crate) fn keep(&mut self, graph: Graph) -> GraphId {
        let id = self.id();
        self.nodes.extend(graph.nodes.keys().map(|&node| (node, id)));
        self.graphs.insert(id, graph);
        id
    }

    /// Makes nodes a part of a graph that has the other nodes which they wait for.
    pub(crate) fn join(&mut self, id: GraphId, more: Graph) -> Result<(), Error> {
        let level = self.level(id);
        let graph = self.graph_mut(id)?;
        let is_there = |node: &NodeId| graph.nodes.contains_key(node);
        let mut waits = more.nodes.values().flat_map(|node| &node.after);
        if !waits.all(|node| more.nodes.contains_key(node) || is_there(node)) {
            return Err(Error::InvalidValue);
        }
        Self::fits(graph, level, more.size(), more.depth() - 1)?;
        let names: Vec<NodeId> = more.nodes.keys().copied().collect();
        graph.nodes.extend(more.nodes);
        self.nodes.extend(names.into_iter().map(|node| (node, id)));
        Ok(())
    }

    /// The number of graphs that a graph lies in.
    pub(crate) fn level(&self, graph: GraphId) -> usize {
        self.levels.get(&graph).copied().unwrap_or(0)
    }

    /// Checks that a graph, which lies in `level` others, has room for a node.
    pub(crate) fn has_room(graph: &Graph, level: usize, work: &Work) -> Result<(), Error> {
        let more = work.graphs().iter().map(|inner| inner.size).sum::<usize>().max(1);
        let depth = work.graphs().iter().map(|inner| inner.depth).max().unwrap_or(0);
        Self::fits(graph, level, more, depth)
    }

    /// Checks that a graph, which lies in `level` others, has room for `more` nodes with graphs of
    /// some depth in them.
    fn fits(graph: &Graph, level: usize, more: usize, depth: usize) -> Result<(), Error> {
        if graph.size() + more > MOST_NODES || level + depth >= DEEPEST {
            return Err(Error::OutOfMemory);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(NodeId, &[NodeId])]) -> Graph {
        let node = |&(id, after): &(NodeId, &[NodeId])| {
            let after = after.iter().copied().collect();
            (id, Node { work: Work::Empty, after, copy_of: None })
        };
        Graph { nodes: edges.iter().map(node).collect() }
    }

    #[test]
    fn nodes_come_behind_those_that_they_wait_for_and_circles_are_refused() {
        let diamond = graph(&[(1, &[4, 3]), (2, &[]), (3, &[2]), (4, &[2])]);
        assert_eq!(diamond.in_order(), Ok(vec![2, 3, 4, 1]));
        assert_eq!(diamond.roots(), [2]);
        assert_eq!(graph(&[(1, &[2]), (2, &[1]), (3, &[])]).in_order(), Err(Error::InvalidValue));
        assert_eq!(graph(&[]).in_order(), Ok(vec![]));
    }

    #[test]
    fn graphs_in_graphs_become_steps_between_their_neighbours() {
        let inner = graph(&[(10, &[]), (11, &[])]);
        let mut outer = graph(&[(1, &[]), (2, &[1]), (3, &[2])]);
        outer.nodes.get_mut(&2).unwrap().work = Work::Child(inner.into());
        let executable = outer.clone().executable().unwrap();
        let after: Vec<&[usize]> = executable.steps.iter().map(|step| &*step.after).collect();
        assert_eq!(after, [&[] as &[usize], &[0], &[0], &[1, 2], &[3]]);
        // An empty graph passes its wait on.
        outer.nodes.get_mut(&2).unwrap().work = Work::Child(Graph::default().into());
        let executable = outer.executable().unwrap();
        assert_eq!(executable.steps[1].after, [0]);
    }

    /// Two graphs of a thousand nodes one behind the other have a million pairs of nodes.
    #[test]
    fn a_wide_graph_behind_another_has_few_edges() {
        let wide: Vec<(NodeId, &[NodeId])> = (1..=1000).map(|id| (id, &[] as &[NodeId])).collect();
        let mut outer = graph(&[(1, &[]), (2, &[1])]);
        for node in outer.nodes.values_mut() {
            node.work = Work::Child(graph(&wide).into());
        }
        let steps = outer.executable().unwrap().steps;
        let edges = steps.iter().map(|step| step.after.len()).sum::<usize>();
        assert_eq!((steps.len(), edges), (2002, 3000));
    }

    #[test]
    fn conditions_choose_bodies() {
        let conditional = |choice, bodies| Conditional {
            handle: 8,
            default: Some(3),
            choice,
            bodies: vec![graph(&[(10, &[])]).into(); bodies],
        };
        let chosen = |choice, bodies| [0, 1, 2].map(|one| conditional(choice, bodies).chosen(one));
        assert_eq!(chosen(Choice::If, 1), [None, Some(0), Some(0)]);
        assert_eq!(chosen(Choice::If, 2), [Some(1), Some(0), Some(0)]);
        assert_eq!(chosen(Choice::While, 1), [None, Some(0), Some(0)]);
        assert_eq!(chosen(Choice::Switch, 2), [Some(0), Some(1), None]);
        let mut outer = graph(&[(1, &[]), (2, &[1])]);
        outer.nodes.get_mut(&1).unwrap().work = Work::Conditional(conditional(Choice::If, 2));
        assert_eq!((outer.size(), outer.depth(), outer.defaults()), (4, 2, vec![(8, 3)]));
        let executable = outer.executable().unwrap();
        assert_eq!(executable.steps.len(), 2);
        assert_eq!(executable.steps[0].bodies.iter().map(|body| body.len()).sum::<usize>(), 2);
    }

    #[test]
    fn only_graphs_of_the_same_nodes_and_edges_take_each_other_s_place() {
        let one = graph(&[(1, &[]), (2, &[1])]);
        assert!(one.is_like(&graph(&[(7, &[]), (9, &[7])])));
        assert!(!one.is_like(&graph(&[(7, &[]), (9, &[])])));
        let mut other = one.clone();
        other.nodes.get_mut(&2).unwrap().work = Work::Record(5);
        assert!(!one.is_like(&other));
    }

    /// Its nodes become twice as many each time, and it never has more trees of them than it was
    /// put into itself.
    #[test]
    fn a_graph_in_itself_shares_its_nodes_until_it_has_no_room() {
        let mut own = graph(&[(1, &[])]);
        let mut graphs = BTreeSet::new();
        for id in 2.. {
            let work = Work::Child(own.clone().into());
            if Graphs::has_room(&own, 0, &work).is_err() {
                break;
            }
            own.nodes.insert(id, Node { work, after: BTreeSet::new(), copy_of: None });
        }
        assert_eq!(own.nodes.len(), MOST_NODES.ilog2() as usize);
        assert_eq!((own.size(), own.depth()), (MOST_NODES - 1, own.nodes.len()));
        let mut open = vec![&own];
        while let Some(graph) = open.pop() {
            let inner = graph.nodes.values().flat_map(|node| node.work.graphs());
            let inner = inner.map(|inner| &*inner.graph);
            open.extend(inner.filter(|inner| graphs.insert(std::ptr::from_ref(*inner))));
        }
        assert_eq!(graphs.len(), own.nodes.len() - 1);
    }
}

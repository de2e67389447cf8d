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

/// The most nodes of a graph, those of graphs in it counted.
const MOST_NODES: usize = 1 << 20;

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
    Child(Box<Graph>),
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
    pub(crate) graph: Graph,
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
    /// The graphs that programs were given for nodes that stand for one. They are the nodes'.
    pub(crate) children: BTreeMap<NodeId, GraphId>,
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
        let size = |node: &Node| match &node.work {
            Work::Child(graph) => 1 + graph.size(),
            _ => 1,
        };
        self.nodes.values().map(size).sum()
    }

    pub(crate) fn depth(&self) -> usize {
        let depth = |node: &Node| match &node.work {
            Work::Child(graph) => graph.depth(),
            _ => 0,
        };
        1 + self.nodes.values().map(depth).max().unwrap_or(0)
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
                Work::Child(graph) => graph.flatten(&before, steps)?,
                work => {
                    steps.push(Step { work: work.clone(), after: before });
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

    pub(crate) fn executable(self) -> Result<Executable, Error> {
        let mut steps = Vec::new();
        self.flatten(&[], &mut steps)?;
        Ok(Executable { graph: self, steps: Arc::new(steps) })
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
            if let Some(&child) = self.children.get(id) {
                node.work = Work::Child(Box::new(self.current(child)?));
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
        for node in graph.nodes.keys() {
            self.nodes.remove(node);
            self.forget_child(*node);
        }
        Ok(())
    }

    /// Forgets the graph that a program was given for a node.
    pub(crate) fn forget_child(&mut self, node: NodeId) {
        if let Some(child) = self.children.remove(&node) {
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

    /// Checks that a graph has room for a node.
    pub(crate) fn has_room(graph: &Graph, work: &Work) -> Result<(), Error> {
        let (more, depth) = match work {
            Work::Child(child) => (child.size(), child.depth()),
            _ => (1, 0),
        };
        if graph.size() + more > MOST_NODES || depth >= DEEPEST {
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
        outer.nodes.get_mut(&2).unwrap().work = Work::Child(Box::new(inner));
        let executable = outer.clone().executable().unwrap();
        let after: Vec<&[usize]> = executable.steps.iter().map(|step| &*step.after).collect();
        assert_eq!(after, [&[] as &[usize], &[0], &[0], &[1, 2]]);
        // An empty graph passes its wait on.
        outer.nodes.get_mut(&2).unwrap().work = Work::Child(Box::default());
        let executable = outer.executable().unwrap();
        assert_eq!(executable.steps[1].after, [0]);
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
}

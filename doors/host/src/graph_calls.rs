//! What a program does with graphs: nodes, captures of streams, launches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::clock::{DEFAULT_STREAM, EventId, StreamId};
use crate::graph::{
    Capture, CaptureStatus, Choice, Conditional, Edge, ExecutableId, Graph, GraphId, GraphRun,
    Graphs, HostCall, Node, NodeId, Step, Work,
};
use crate::request::LaunchRequest;
use crate::{BlockKind, Device, Error};

/// More bodies of a node are no program's.
const MOST_BODIES: usize = 1 << 10;

impl Device {
    /// An empty graph.
    pub fn create_graph(&mut self) -> GraphId {
        self.graphs.keep(Graph::default())
    }

    /// Forgets a graph. What was made ready of it stays.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is none of this number, or it is that of a node.
    pub fn destroy_graph(&mut self, id: GraphId) -> Result<(), Error> {
        if self.graphs.children.values().flatten().any(|&child| child == id) {
            return Err(Error::InvalidValue);
        }
        self.graphs.forget(id)
    }

    /// A copy of a graph, with nodes of its own.
    ///
    /// # Errors
    ///
    /// As [`Self::destroy_graph`].
    pub fn clone_graph(&mut self, id: GraphId) -> Result<GraphId, Error> {
        let original = self.graphs.current(id)?;
        let copy = self.graphs.renamed(original);
        Ok(self.graphs.keep(copy))
    }

    /// The node of a clone that is a copy of another one.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is none.
    pub fn find_in_clone(&self, node: NodeId, clone: GraphId) -> Result<NodeId, Error> {
        let mut nodes = self.graphs.graph(clone)?.nodes.iter();
        let found = nodes.find(|(_, one)| one.copy_of == Some(node));
        found.map(|(&id, _)| id).ok_or(Error::InvalidValue)
    }

    /// Adds a node that waits for others of the graph.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if the graph does not exist or does not have these nodes.
    pub fn add_node(
        &mut self,
        graph: GraphId,
        after: &[NodeId],
        work: Work,
    ) -> Result<NodeId, Error> {
        let (id, level) = (self.graphs.id(), self.graphs.level(graph));
        let of = self.graphs.graph_mut(graph)?;
        if !after.iter().all(|node| of.nodes.contains_key(node)) {
            return Err(Error::InvalidValue);
        }
        Graphs::has_room(of, level, &work)?;
        let after = after.iter().copied().collect();
        of.nodes.insert(id, Node { work, after, copy_of: None });
        self.graphs.nodes.insert(id, graph);
        Ok(id)
    }

    /// The work of a node that stands for a graph.
    ///
    /// # Errors
    ///
    /// As [`Self::destroy_graph`].
    pub fn child_work(&self, graph: GraphId) -> Result<Work, Error> {
        Ok(Work::Child(self.graphs.current(graph)?.into()))
    }

    /// The graph that a node stands for. It is the node's: what a program changes in it, the node
    /// does from then on.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if the node is not there or stands for none.
    pub fn child_graph(&mut self, node: NodeId) -> Result<GraphId, Error> {
        match self.graphs.node(node)?.1.work {
            Work::Child(_) => self.graphs_in(node)?.first().copied().ok_or(Error::InvalidValue),
            _ => Err(Error::InvalidValue),
        }
    }

    /// The graphs in a node, which are the node's.
    fn graphs_in(&mut self, node: NodeId) -> Result<Vec<GraphId>, Error> {
        if let Some(children) = self.graphs.children.get(&node) {
            return Ok(children.clone());
        }
        let (outer, node_of) = self.graphs.node(node)?;
        let graphs: Vec<Graph> =
            node_of.work.graphs().iter().map(|inner| Graph::clone(&inner.graph)).collect();
        let level = self.graphs.level(outer) + 1;
        let mut children = Vec::new();
        for graph in graphs {
            let graph = self.graphs.renamed(graph);
            let child = self.graphs.keep(graph);
            self.graphs.levels.insert(child, level);
            children.push(child);
        }
        self.graphs.children.insert(node, children.clone());
        Ok(children)
    }

    /// A condition for a node of a graph: the address of a number that kernels set. Every launch
    /// begins with `default`, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is no such graph, and errors of [`Self::allocate`].
    pub fn condition(&mut self, graph: GraphId, default: Option<u32>) -> Result<u64, Error> {
        self.graphs.graph(graph)?;
        let handle = self.allocate_for_graph(4)?;
        self.set_condition(handle, 0)?;
        self.graphs.conditions.insert(handle, default);
        Ok(handle)
    }

    /// Adds a node whose condition chooses one of `bodies` graphs, and returns the node and these,
    /// which are empty.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is no such condition, the number of bodies does not fit the
    /// choice, or as [`Self::add_node`].
    pub fn add_conditional(
        &mut self,
        graph: GraphId,
        after: &[NodeId],
        (handle, choice): (u64, Choice),
        bodies: usize,
    ) -> Result<(NodeId, Vec<GraphId>), Error> {
        let default = *self.graphs.conditions.get(&handle).ok_or(Error::InvalidValue)?;
        let fits = match choice {
            Choice::If => (1..=2).contains(&bodies),
            Choice::While => bodies == 1,
            Choice::Switch => (1..=MOST_BODIES).contains(&bodies),
        };
        if !fits {
            return Err(Error::InvalidValue);
        }
        let bodies = vec![Graph::default().into(); bodies];
        let work = Work::Conditional(Conditional { handle, default, choice, bodies });
        let node = self.add_node(graph, after, work)?;
        Ok((node, self.graphs_in(node)?))
    }

    /// The number of a condition.
    fn condition_now(&self, handle: u64) -> Result<u32, Error> {
        let bytes = self.memory.slice(handle, 4).and_then(|bytes| bytes.try_into().ok());
        bytes.map(u32::from_le_bytes).ok_or(Error::InvalidValue)
    }

    fn set_condition(&mut self, handle: u64, number: u32) -> Result<(), Error> {
        let bytes = self.memory.slice_mut(handle, 4).ok_or(Error::InvalidValue)?;
        bytes.copy_from_slice(&number.to_le_bytes());
        self.contents.changed(handle);
        self.checking.written(handle, 4);
        Ok(())
    }

    /// Removes a node and its edges.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is none of this number.
    pub fn destroy_node(&mut self, id: NodeId) -> Result<(), Error> {
        let (graph, _) = self.graphs.node(id)?;
        self.graphs.nodes.remove(&id);
        self.graphs.forget_child(id);
        let graph = self.graphs.graph_mut(graph)?;
        graph.nodes.remove(&id);
        for node in graph.nodes.values_mut() {
            node.after.remove(&id);
        }
        Ok(())
    }

    /// Adds edges of a graph, or removes them.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if a node is not the graph's, if an edge to be added is there or
    /// leads back to its own node, or if one to be removed is not there.
    pub fn change_edges(
        &mut self,
        graph: GraphId,
        edges: &[Edge],
        adds: bool,
    ) -> Result<(), Error> {
        let graph = self.graphs.graph_mut(graph)?;
        let mut changed = graph.clone();
        for &Edge { from, to } in edges {
            let has_both = graph.nodes.contains_key(&from) && from != to;
            let node = changed.nodes.get_mut(&to).filter(|_| has_both);
            let node = node.ok_or(Error::InvalidValue)?;
            let was_there = if adds { !node.after.insert(from) } else { !node.after.remove(&from) };
            if was_there {
                return Err(Error::InvalidValue);
            }
        }
        *graph = changed;
        Ok(())
    }

    /// The nodes of a graph in order of their making, or those alone that nothing comes before.
    ///
    /// # Errors
    ///
    /// As [`Self::destroy_graph`].
    pub fn nodes(&self, graph: GraphId, roots_alone: bool) -> Result<Vec<NodeId>, Error> {
        let graph = self.graphs.graph(graph)?;
        Ok(if roots_alone { graph.roots() } else { graph.nodes.keys().copied().collect() })
    }

    /// The edges of a graph.
    ///
    /// # Errors
    ///
    /// As [`Self::destroy_graph`].
    pub fn edges(&self, graph: GraphId) -> Result<Vec<Edge>, Error> {
        Ok(self.graphs.graph(graph)?.edges())
    }

    /// The work of a node, and the edges of its graph.
    ///
    /// # Errors
    ///
    /// As [`Self::destroy_node`].
    pub fn node(&self, id: NodeId) -> Result<(&Work, Vec<Edge>), Error> {
        let (graph, node) = self.graphs.node(id)?;
        Ok((&node.work, self.graphs.graph(graph)?.edges()))
    }

    /// Gives a node other work of the same kind: in its graph or, if one is named, in what was made
    /// ready of it.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if the node is not there or does something else.
    pub fn change_work(
        &mut self,
        executable: Option<ExecutableId>,
        id: NodeId,
        work: Work,
    ) -> Result<(), Error> {
        let Some(executable) = executable else {
            let (graph, _) = self.graphs.node(id)?;
            self.graphs.graph_mut(graph)?.change(id, work)?;
            self.graphs.forget_child(id);
            return Ok(());
        };
        let executable = self.graphs.executables.get_mut(&executable);
        let executable = executable.ok_or(Error::InvalidValue)?;
        executable.graph.change(id, work)?;
        *executable = executable.graph.clone().executable()?;
        Ok(())
    }

    /// Makes a graph ready to be launched.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is no such graph, or its nodes wait for one another.
    pub fn instantiate(&mut self, graph: GraphId) -> Result<ExecutableId, Error> {
        let executable = self.graphs.current(graph)?.executable()?;
        let id = self.graphs.id();
        self.graphs.executables.insert(id, executable);
        Ok(id)
    }

    /// Forgets a graph that was made ready.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is none of this number.
    pub fn destroy_executable(&mut self, id: ExecutableId) -> Result<(), Error> {
        self.graphs.executables.remove(&id).map(|_| ()).ok_or(Error::InvalidValue)
    }

    /// Takes over the work of a graph that has the same nodes and edges.
    ///
    /// # Errors
    ///
    /// [`Error::GraphUpdate`] if it has others, and [`Error::InvalidValue`] for what is not there.
    pub fn update_executable(&mut self, id: ExecutableId, graph: GraphId) -> Result<(), Error> {
        let new = self.graphs.current(graph)?;
        let executable = self.graphs.executables.get_mut(&id).ok_or(Error::InvalidValue)?;
        if !executable.graph.is_like(&new) {
            return Err(Error::GraphUpdate);
        }
        // Its nodes keep the names by which the program knows them.
        let mut graph = executable.graph.clone();
        for (node, new) in graph.nodes.values_mut().zip(new.nodes.into_values()) {
            node.work = new.work;
        }
        *executable = graph.executable()?;
        Ok(())
    }

    /// Begins a launch of a graph. `None` if the stream is captured: then it is a node from now on.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidValue`] if there is no such graph, and errors of the stream.
    pub fn begin_graph(
        &mut self,
        id: ExecutableId,
        stream: StreamId,
    ) -> Result<Option<GraphRun>, Error> {
        self.usable()?;
        let executable = self.graphs.executables.get(&id).ok_or(Error::InvalidValue)?;
        let (graph, steps) = (executable.graph.clone(), Arc::clone(&executable.steps));
        let begin_ms = self.clock.ready(stream)?;
        let defaults = graph.defaults();
        if self.capture(stream, || Work::Child(graph.into()))? {
            return Ok(None);
        }
        for (handle, number) in defaults {
            self.set_condition(handle, number)?;
        }
        Ok(Some(GraphRun::new(stream, steps, begin_ms)))
    }

    /// Does the next step of a launch. A call of the program's own is left to the caller. `None` if
    /// all steps are done.
    ///
    /// # Errors
    ///
    /// Those of the step's work.
    ///
    /// # Safety
    ///
    /// As [`Self::copy`].
    #[allow(unsafe_code, reason = "addresses of the program are copied to and from")]
    pub unsafe fn graph_step(
        &mut self,
        run: &mut GraphRun,
    ) -> Result<Option<Option<HostCall>>, Error> {
        // SAFETY: by the contract.
        let done = unsafe { self.step(run) }?;
        if done.is_none() {
            self.clock.advance(run.stream, run.end_ms());
        }
        Ok(done)
    }

    /// As [`Self::graph_step`], without the end of the whole.
    ///
    /// # Safety
    ///
    /// As [`Self::copy`].
    #[allow(unsafe_code, reason = "addresses of the program are copied to and from")]
    unsafe fn step(&mut self, run: &mut GraphRun) -> Result<Option<Option<HostCall>>, Error> {
        let steps = Arc::clone(&run.steps);
        let Some(step) = steps.get(run.ends_ms.len()) else { return Ok(None) };
        if let Some(body) = &mut run.body {
            // SAFETY: by the contract.
            if let Some(call) = unsafe { self.step(body) }? {
                return Ok(Some(call));
            }
            let end_ms = body.end_ms();
            let is_loop =
                matches!(&step.work, Work::Conditional(Conditional { choice: Choice::While, .. }));
            run.body = if is_loop { self.chosen(step, run.stream, end_ms)? } else { None };
            if run.body.is_none() {
                run.ends_ms.push(end_ms);
            }
            return Ok(Some(None));
        }
        let before = step.after.iter().filter_map(|&at| run.ends_ms.get(at).copied());
        let begin_ms = before.fold(run.begin_ms, f64::max);
        if let Work::Conditional(_) = &step.work {
            run.body = self.chosen(step, run.stream, begin_ms)?;
            if run.body.is_none() {
                run.ends_ms.push(begin_ms);
            }
            return Ok(Some(None));
        }
        let branch = self.clock.branch(run.stream, begin_ms);
        let mut call = None;
        let outcome = match step.work.clone() {
            Work::Kernel(request) => self.launch(LaunchRequest { stream: branch, ..request }),
            // SAFETY: by the contract.
            Work::Copy { to, from, extent } => unsafe { self.copy(to, from, extent, branch) },
            Work::Fill { to, pattern, extent } => {
                // SAFETY: by the contract.
                unsafe { self.fill(to, &pattern, extent, branch) }
            }
            Work::Host(host) => {
                call = Some(host);
                Ok(())
            }
            Work::Record(event) => self.clock.record_event(event, branch),
            Work::Wait(event) => self.clock.wait_event(branch, event),
            Work::Empty
            | Work::Allocate { .. }
            | Work::Free(_)
            | Work::Child(_)
            | Work::Conditional(_) => Ok(()),
        };
        let end_ms = self.clock.end_branch(branch).unwrap_or(begin_ms);
        outcome?;
        run.ends_ms.push(end_ms);
        Ok(Some(call))
    }

    /// The body that a conditional's number chooses now.
    fn chosen(
        &self,
        step: &Step,
        stream: StreamId,
        begin_ms: f64,
    ) -> Result<Option<Box<GraphRun>>, Error> {
        let Work::Conditional(conditional) = &step.work else { return Ok(None) };
        let chosen = conditional.chosen(self.condition_now(conditional.handle)?);
        let steps = chosen.and_then(|body| step.bodies.get(body));
        Ok(steps.map(|steps| Box::new(GraphRun::new(stream, Arc::clone(steps), begin_ms))))
    }

    /// Begins to put the work of a stream into a graph.
    ///
    /// # Errors
    ///
    /// [`Error::CaptureUnsupported`] for the default stream and one that is captured already, and
    /// errors of the stream.
    pub fn begin_capture(&mut self, stream: StreamId) -> Result<(), Error> {
        self.begin_capture_behind(stream, None, BTreeSet::new())
    }

    /// Begins to put the work of a stream into a graph that there is, behind some of its nodes.
    ///
    /// # Errors
    ///
    /// As [`Self::begin_capture`]. [`Error::InvalidValue`] if the graph does not exist, does not
    /// have these nodes, or is the aim of another capture.
    pub fn begin_capture_into(
        &mut self,
        stream: StreamId,
        graph: GraphId,
        after: &[NodeId],
    ) -> Result<(), Error> {
        let of = self.graphs.graph(graph)?;
        let is_taken = self.graphs.captures.iter().any(|capture| capture.into == Some(graph));
        if is_taken || !after.iter().all(|node| of.nodes.contains_key(node)) {
            return Err(Error::InvalidValue);
        }
        self.begin_capture_behind(stream, Some(graph), after.iter().copied().collect())
    }

    fn begin_capture_behind(
        &mut self,
        stream: StreamId,
        into: Option<GraphId>,
        after: BTreeSet<NodeId>,
    ) -> Result<(), Error> {
        self.clock.stream(stream)?;
        if stream == DEFAULT_STREAM || self.graphs.of_stream(stream).is_some() {
            return Err(Error::CaptureUnsupported);
        }
        self.graphs.captures.push(Capture {
            graph: Graph::default(),
            into,
            origin: stream,
            tips: [(stream, after)].into(),
            events: BTreeMap::new(),
            is_valid: true,
        });
        Ok(())
    }

    /// Ends the capture of a stream.
    ///
    /// # Errors
    ///
    /// [`Error::CaptureUnmatched`] if it did not begin with this stream. [`Error::CaptureInvalid`]
    /// if something has failed in between, and [`Error::CaptureUnjoined`] if another stream's work
    /// is left; there is no graph then. [`Error::InvalidValue`] if the graph that it goes to is not
    /// there any more, or not the nodes that it is behind, and [`Error::OutOfMemory`] if that graph
    /// has no room.
    pub fn end_capture(&mut self, stream: StreamId) -> Result<GraphId, Error> {
        self.clock.stream(stream)?;
        let captures = &mut self.graphs.captures;
        let at = captures.iter().position(|capture| capture.tips.contains_key(&stream));
        let at = at.ok_or(Error::InvalidValue)?;
        if captures[at].origin != stream {
            return Err(Error::CaptureUnmatched);
        }
        let capture = captures.swap_remove(at);
        match capture.status() {
            CaptureStatus::Active if capture.is_joined() => match capture.into {
                None => Ok(self.graphs.keep(capture.graph)),
                Some(graph) => self.graphs.join(graph, capture.graph).map(|()| graph),
            },
            CaptureStatus::Active => Err(Error::CaptureUnjoined),
            CaptureStatus::None | CaptureStatus::Invalidated => Err(Error::CaptureInvalid),
        }
    }

    /// Returns whether a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] if there is no such stream.
    pub fn capture_status(&mut self, stream: StreamId) -> Result<CaptureStatus, Error> {
        self.clock.stream(stream)?;
        let capture = self.graphs.of_stream(stream);
        Ok(capture.map_or(CaptureStatus::None, |capture| capture.status()))
    }

    /// Puts work of a stream into a graph. Returns false if the stream is not captured.
    pub(crate) fn capture(
        &mut self,
        stream: StreamId,
        work: impl FnOnce() -> Work,
    ) -> Result<bool, Error> {
        if self.graphs.captures.is_empty() {
            return Ok(false);
        }
        let id = self.graphs.id();
        let Some(capture) = self.graphs.of_stream(stream) else {
            return self.beside_captures(stream).map(|()| false);
        };
        if !capture.is_valid {
            return Err(Error::CaptureInvalid);
        }
        let work = work();
        Graphs::has_room(&capture.graph, 0, &work)?;
        let after = capture.tips.insert(stream, [id].into()).unwrap_or_default();
        capture.graph.nodes.insert(id, Node { work, after, copy_of: None });
        Ok(true)
    }

    /// Work in a stream that is not captured. In the default stream it would wait for those that
    /// are, which fail then.
    fn beside_captures(&mut self, stream: StreamId) -> Result<(), Error> {
        if stream != DEFAULT_STREAM {
            return Ok(());
        }
        let clock = &self.clock;
        let is_blocking = |stream: &StreamId| clock.stream(*stream).is_ok_and(|(waits, _)| waits);
        let mut is_hit = false;
        for capture in &mut self.graphs.captures {
            if capture.tips.keys().any(is_blocking) {
                capture.is_valid = false;
                is_hit = true;
            }
        }
        if is_hit { Err(Error::CaptureImplicit) } else { Ok(()) }
    }

    /// A call by a stream to the host.
    ///
    /// # Errors
    ///
    /// Errors of the stream and of its capture. Returns false if the caller is to call now.
    pub fn capture_call(&mut self, stream: StreamId, call: HostCall) -> Result<bool, Error> {
        self.clock.stream(stream)?;
        self.capture(stream, || Work::Host(call))
    }

    /// Memory of a graph. Its launches find it at the same address, with what is in it.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`] if the modelled GPU or this machine has too little.
    pub fn allocate_for_graph(&mut self, bytes: u64) -> Result<u64, Error> {
        let address = self.allocate(bytes, BlockKind::Device)?;
        self.graphs.blocks.insert(address);
        Ok(address)
    }

    /// Gives a captured stream memory. `None` if it is not captured.
    ///
    /// # Errors
    ///
    /// As [`Self::allocate_for_graph`] and [`Self::capture_call`].
    pub fn capture_allocation(
        &mut self,
        stream: StreamId,
        bytes: u64,
    ) -> Result<Option<u64>, Error> {
        self.clock.stream(stream)?;
        if !self.capture(stream, || Work::Allocate { address: 0, bytes })? {
            return Ok(None);
        }
        let address = self.allocate_for_graph(bytes)?;
        if let Some(Capture { graph, tips, .. }) = self.graphs.of_stream(stream) {
            // The stream's only tip is the node.
            for id in tips.get(&stream).into_iter().flatten() {
                graph.change(*id, Work::Allocate { address, bytes })?;
            }
        }
        Ok(Some(address))
    }

    /// Takes memory back in a captured stream. Returns false if it is not captured.
    ///
    /// # Errors
    ///
    /// As [`Self::capture_call`].
    pub fn capture_free(&mut self, stream: StreamId, address: u64) -> Result<bool, Error> {
        self.clock.stream(stream)?;
        self.capture(stream, || Work::Free(address))
    }

    /// Records an event behind the work of a stream. With `as_node` a captured stream records it
    /// when the graph runs; otherwise it stands for the work so far.
    ///
    /// # Errors
    ///
    /// [`Error::InvalidHandle`] for what is not there, and errors of the capture.
    pub fn record_event(
        &mut self,
        event: EventId,
        stream: StreamId,
        as_node: bool,
    ) -> Result<(), Error> {
        self.clock.check_event(event)?;
        self.clock.stream(stream)?;
        if as_node && self.capture(stream, || Work::Record(event))? {
            return Ok(());
        }
        for capture in &mut self.graphs.captures {
            capture.events.remove(&event);
        }
        match self.graphs.of_stream(stream) {
            Some(capture) => {
                let tips = capture.tips.get(&stream).cloned().unwrap_or_default();
                capture.events.insert(event, tips);
                Ok(())
            }
            None => self.clock.record_event(event, stream),
        }
    }

    /// A stream waits for an event. If the event stands for captured work, the stream is captured
    /// from now on.
    ///
    /// # Errors
    ///
    /// As [`Self::record_event`]; and [`Error::CaptureIsolation`] for a captured stream that waits
    /// for work outside its capture.
    pub fn wait_event(
        &mut self,
        stream: StreamId,
        event: EventId,
        as_node: bool,
    ) -> Result<(), Error> {
        self.clock.check_event(event)?;
        self.clock.stream(stream)?;
        if as_node && self.capture(stream, || Work::Wait(event))? {
            return Ok(());
        }
        let captures = &mut self.graphs.captures;
        let own = captures.iter().position(|capture| capture.tips.contains_key(&stream));
        let others = captures.iter().position(|capture| capture.events.contains_key(&event));
        match (own, others) {
            (None, None) => return self.clock.wait_event(stream, event),
            (Some(own), others) if others != Some(own) => {
                captures[own].is_valid = false;
                return Err(Error::CaptureIsolation);
            }
            _ => {}
        }
        if let Some(capture) = others.and_then(|at| captures.get_mut(at)) {
            let joined = capture.events.get(&event).cloned().unwrap_or_default();
            capture.tips.entry(stream).or_default().extend(joined);
        }
        Ok(())
    }

    /// The host waits for a stream, which it must not do while the stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::CaptureUnsupported`] then, and errors of the stream.
    pub fn synchronise_stream(&mut self, stream: StreamId) -> Result<(), Error> {
        self.usable()?;
        if let Some(capture) = self.graphs.of_stream(stream) {
            capture.is_valid = false;
            return Err(Error::CaptureUnsupported);
        }
        self.clock.synchronise_stream(stream)
    }
}

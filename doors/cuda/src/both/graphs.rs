//! Graphs: captures of streams, nodes, launches.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::{Mutex, PoisonError};

use gpucast_host::graph::{
    CaptureStatus, Choice, Edge, ExecutableId, GraphId, HostCall, NodeId, Work,
};
use gpucast_host::{Device, Error, Extent, LaunchRequest, PitchedMemory};

use super::arrays::ShownEnd;
use super::streams::{Stream, stream};
use crate::abi::{self, Callback, In, Out};
use crate::state::on_device;

/// `cudaGraph_t` and `CUgraph`.
pub(crate) type GraphHandle = GraphId;

/// `cudaGraphNode_t` and `CUgraphNode`.
pub(crate) type NodeHandle = NodeId;

/// `cudaGraphExec_t` and `CUgraphExec`.
pub(crate) type ExecutableHandle = ExecutableId;

/// `cudaMemsetParams` and `CUDA_MEMSET_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct FillParameters {
    to: u64,
    pitch: usize,
    value: u32,
    element_bytes: u32,
    /// Elements of a row.
    width: usize,
    height: usize,
}

impl FillParameters {
    pub(crate) fn work(self) -> Result<Work, Error> {
        let Self { to, pitch, value, element_bytes, width, height } = self;
        let bytes = match element_bytes {
            1 | 2 | 4 => element_bytes as usize,
            _ => return Err(Error::InvalidValue),
        };
        let pattern = value.to_le_bytes()[..bytes].to_vec();
        let width = width.checked_mul(bytes).ok_or(Error::InvalidValue)?;
        let pitch = if height <= 1 { pitch.max(width) } else { pitch };
        let to = PitchedMemory::rows(to, pitch as u64);
        Ok(Work::Fill { to, pattern, extent: Extent::rows(width as u64, height as u64) })
    }

    /// The parameters of a node that fills.
    fn of(work: &Work) -> Result<Self, Error> {
        let Work::Fill { to, pattern, extent } = work else { return Err(Error::InvalidValue) };
        let mut value = [0; 4];
        value[..pattern.len()].copy_from_slice(pattern);
        Ok(Self {
            to: to.address,
            pitch: to.pitch as usize,
            value: u32::from_le_bytes(value),
            element_bytes: pattern.len() as u32,
            width: extent.width as usize / pattern.len(),
            height: extent.height as usize,
        })
    }
}

/// `cudaHostNodeParams` and `CUDA_HOST_NODE_PARAMS`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CallParameters {
    function: Option<Callback>,
    data: *mut c_void,
}

impl CallParameters {
    pub(crate) fn work(self) -> Result<Work, Error> {
        Ok(Work::Host(call(self.function, self.data)?))
    }
}

/// `cudaHostNodeParams` and `CUDA_HOST_NODE_PARAMS`, as numbers.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ShownCall {
    function: u64,
    data: u64,
}

/// `cudaMemAllocNodeParams` and `CUDA_MEM_ALLOC_NODE_PARAMS`: where the memory comes from, who may
/// reach it, its size, and its address when the node is made.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct AllocationParameters {
    pool: [u64; 11],
    access: [u64; 2],
    bytes: usize,
    address: u64,
}

/// `cudaGraphNodeParams` and `CUgraphNodeParams`: a node's kind, and a structure of that kind.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct NodeParameters(u64);

/// The structures of [`NodeParameters`] that the two interfaces have in forms of their own.
pub(crate) struct OwnForms {
    pub(crate) launch: fn(NodeParameters) -> Result<Work, Error>,
    pub(crate) copy: fn(NodeParameters) -> Result<Work, Error>,
}

impl NodeParameters {
    /// Where the structure of a kind begins.
    const BODY: u64 = 16;
    /// Where a copy is described, behind flags and a context.
    const COPY: u64 = 32;
    /// The kind that allocates.
    const ALLOCATES: i32 = 10;
    /// The kind with a condition.
    const CONDITIONAL: i32 = 13;

    fn kind(self) -> Result<i32, Error> {
        In::at_number(self.0).get()
    }

    /// The structure of the node's kind, of a place that is not null.
    pub(crate) fn body<T: Copy>(self) -> Result<T, Error> {
        In::at_number(self.0 + Self::BODY).get()
    }

    /// The description of a copy, of a place that is not null.
    pub(crate) fn copy<T: Copy>(self) -> Result<T, Error> {
        In::at_number(self.0 + Self::COPY).get()
    }

    /// The work of a node of any kind but those that allocate.
    fn work(self, own: &OwnForms) -> Result<Work, Error> {
        match self.kind()? {
            0 => (own.launch)(self),
            1 => (own.copy)(self),
            2 => self.body::<FillParameters>()?.work(),
            3 => self.body::<CallParameters>()?.work(),
            4 => {
                let child = self.body::<GraphHandle>()?;
                on_device(|device| device.child_work(child))
            }
            5 => Ok(Work::Empty),
            6 => self.body().map(Work::Wait),
            7 => self.body().map(Work::Record),
            11 => self.body().map(Work::Free),
            // The bodies of a conditional node are changed by their own nodes.
            _ => Err(Error::NotSupported),
        }
    }
}

/// A call of the program, as its numbers.
pub(crate) fn call(function: Option<Callback>, data: *mut c_void) -> Result<HostCall, Error> {
    let function = function.ok_or(Error::InvalidValue)?;
    Ok(HostCall {
        function: (function as *const c_void).expose_provenance() as u64,
        data: data.expose_provenance() as u64,
    })
}

/// Work that copies bytes.
pub(crate) fn copy(to: u64, from: u64, bytes: usize) -> Work {
    let bytes = bytes as u64;
    let [to, from] = [to, from].map(|address| PitchedMemory::rows(address, bytes));
    Work::Copy { to, from, extent: Extent::row(bytes) }
}

/// The nodes of an array of C; an array of none may be null.
fn nodes(list: In<NodeHandle>, count: usize) -> Result<Vec<NodeId>, Error> {
    (0..count).map(|at| list.at(at)).collect()
}

/// Makes an empty graph, and writes its handle.
pub(crate) fn create(graph: Out<GraphHandle>) -> Result<(), Error> {
    graph.check()?;
    graph.put(on_device(|device| Ok(device.create_graph()))?)
}

/// Forgets a graph.
pub(crate) fn destroy(graph: GraphHandle) -> Result<(), Error> {
    on_device(|device| device.destroy_graph(graph))
}

/// Copies a graph, and writes the copy's handle.
pub(crate) fn clone(place: Out<GraphHandle>, graph: GraphHandle) -> Result<(), Error> {
    place.check()?;
    place.put(on_device(|device| device.clone_graph(graph))?)
}

/// Writes the node of a clone that is a copy of another one.
pub(crate) fn find_in_clone(
    place: Out<NodeHandle>,
    node: NodeHandle,
    clone: GraphHandle,
) -> Result<(), Error> {
    place.put(on_device(|device| device.find_in_clone(node, clone))?)
}

/// Adds a node behind others, and writes its handle.
pub(crate) fn add(
    place: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    work: Work,
) -> Result<(), Error> {
    place.check()?;
    let after = nodes(after, count)?;
    place.put(on_device(|device| device.add_node(graph, &after, work))?)
}

/// Adds a node that stands for another graph, and writes its handle.
pub(crate) fn add_child(
    place: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    child: GraphHandle,
) -> Result<(), Error> {
    let work = on_device(|device| device.child_work(child))?;
    add(place, graph, after, count, work)
}

/// Adds a node that allocates: the memory is there from now on, and its address in the parameters.
pub(crate) fn add_allocation(
    place: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    parameters: Out<AllocationParameters>,
) -> Result<(), Error> {
    let given = parameters.given()?;
    place.check()?;
    let (after, bytes) = (nodes(after, count)?, given.bytes as u64);
    let work = |address| Work::Allocate { address, bytes };
    let node = on_device(|device| device.add_node(graph, &after, work(0)))?;
    place.put(node)?;
    let address = on_device(|device| {
        let address = device.allocate_for_graph(bytes)?;
        device.change_work(None, node, work(address)).map(|()| address)
    })?;
    parameters.put(AllocationParameters { address, ..given })
}

/// `cudaConditionalNodeParams` and `CUDA_CONDITIONAL_NODE_PARAMS`, whose context behind it is the
/// only one.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct ConditionalParameters {
    handle: u64,
    choice: i32,
    size: u32,
    /// The address of the bodies' handles.
    bodies: u64,
}

/// Flag of a condition's handle: each launch begins with its default number.
const ASSIGNS_DEFAULT: u32 = 1;

/// The handles of each conditional node's bodies, which C reads as long as the node is there.
static BODIES: Mutex<BTreeMap<NodeHandle, Box<[GraphHandle]>>> = Mutex::new(BTreeMap::new());

/// Makes the condition of a node, and writes its handle.
pub(crate) fn create_condition(
    place: Out<u64>,
    graph: GraphHandle,
    default: u32,
    flags: u32,
) -> Result<(), Error> {
    place.check()?;
    let default = match flags {
        0 => None,
        ASSIGNS_DEFAULT => Some(default),
        _ => return Err(Error::InvalidValue),
    };
    place.put(on_device(|device| device.condition(graph, default))?)
}

/// Adds a node whose condition chooses a body, and writes its handle and those of the bodies.
fn add_conditional(
    place: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    parameters: Out<ConditionalParameters>,
) -> Result<(), Error> {
    let given = parameters.given()?;
    place.check()?;
    let after = nodes(after, count)?;
    let choice = match given.choice {
        0 => Choice::If,
        1 => Choice::While,
        2 => Choice::Switch,
        _ => return Err(Error::InvalidValue),
    };
    let (condition, size) = ((given.handle, choice), given.size as usize);
    let (node, bodies) =
        on_device(|device| device.add_conditional(graph, &after, condition, size))?;
    let bodies = bodies.into_boxed_slice();
    let address = bodies.as_ptr().expose_provenance() as u64;
    BODIES.lock().unwrap_or_else(PoisonError::into_inner).insert(node, bodies);
    place.put(node)?;
    parameters.put(ConditionalParameters { bodies: address, ..given })
}

/// Adds a node of any kind, and writes its handle.
pub(crate) fn add_any(
    place: Out<NodeHandle>,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
    parameters: NodeParameters,
    own: &OwnForms,
) -> Result<(), Error> {
    if parameters.kind()? == NodeParameters::ALLOCATES {
        let body = Out::at_number(parameters.0 + NodeParameters::BODY);
        return add_allocation(place, graph, after, count, body);
    }
    if parameters.kind()? == NodeParameters::CONDITIONAL {
        let body = Out::at_number(parameters.0 + NodeParameters::BODY);
        return add_conditional(place, graph, after, count, body);
    }
    add(place, graph, after, count, parameters.work(own)?)
}

/// As [`change`], for a node of any kind.
pub(crate) fn change_any(
    executable: Option<ExecutableHandle>,
    node: NodeHandle,
    parameters: NodeParameters,
    own: &OwnForms,
) -> Result<(), Error> {
    change(executable, node, parameters.work(own)?)
}

/// The work of a node.
fn work(node: NodeHandle) -> Result<Work, Error> {
    on_device(|device| device.node(node).map(|(work, _)| work.clone()))
}

/// Writes the parameters of a node that fills.
pub(crate) fn show_fill(node: NodeHandle, place: Out<FillParameters>) -> Result<(), Error> {
    place.put(FillParameters::of(&work(node)?)?)
}

/// Writes the parameters of a node that calls a function of the host.
pub(crate) fn show_call(node: NodeHandle, place: Out<ShownCall>) -> Result<(), Error> {
    let Work::Host(HostCall { function, data }) = work(node)? else {
        return Err(Error::InvalidValue);
    };
    place.put(ShownCall { function, data })
}

/// Writes the parameters of a node that allocates: from the device's pool, with no list of others
/// who may reach the memory.
pub(crate) fn show_allocation(
    node: NodeHandle,
    place: Out<AllocationParameters>,
) -> Result<(), Error> {
    let Work::Allocate { address, bytes } = work(node)? else { return Err(Error::InvalidValue) };
    let mut pool = [0; 11];
    // The memory is pinned, and its place is device 0.
    (pool[0], pool[1]) = (1, 1);
    place.put(AllocationParameters { pool, access: [0; 2], bytes: bytes as usize, address })
}

/// Writes the address of a node that gives memory back.
pub(crate) fn show_free(node: NodeHandle, place: Out<u64>) -> Result<(), Error> {
    let Work::Free(address) = work(node)? else { return Err(Error::InvalidValue) };
    place.put(address)
}

/// Writes the graph that a node stands for.
pub(crate) fn show_child(node: NodeHandle, place: Out<GraphHandle>) -> Result<(), Error> {
    place.check()?;
    place.put(on_device(|device| device.child_graph(node))?)
}

/// A node's copy: the end to write to, the one to read from, and the rows.
pub(crate) fn shown_copy(node: NodeHandle) -> Result<(ShownEnd, ShownEnd, Extent), Error> {
    let Work::Copy { to, from, extent } = work(node)? else { return Err(Error::InvalidValue) };
    Ok((ShownEnd::of(to)?, ShownEnd::of(from)?, extent))
}

/// Writes the event of a node that records one, or of one that waits for it.
pub(crate) fn show_event(node: NodeHandle, place: Out<u64>, records: bool) -> Result<(), Error> {
    match (work(node)?, records) {
        (Work::Record(event), true) | (Work::Wait(event), false) => place.put(event),
        _ => Err(Error::InvalidValue),
    }
}

/// The arguments of a launch as C reads them: their addresses, and the bytes there.
struct ShownArguments {
    addresses: Vec<u64>,
    _bytes: Vec<Vec<u8>>,
}

/// The arguments that a node was last asked for. C reads them until it asks the node again.
static SHOWN: Mutex<BTreeMap<NodeHandle, ShownArguments>> = Mutex::new(BTreeMap::new());

/// The launch of a node, and its arguments as an array of addresses.
pub(crate) fn shown_launch(node: NodeHandle) -> Result<(LaunchRequest, In<*const u8>), Error> {
    let Work::Kernel(request) = work(node)? else { return Err(Error::InvalidValue) };
    let bytes = request.arguments.clone();
    let addresses = bytes.iter().map(|byte| byte.as_ptr().expose_provenance() as u64).collect();
    let shown = ShownArguments { addresses, _bytes: bytes };
    let array = In::at_address(shown.addresses.as_ptr().cast());
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner).insert(node, shown);
    Ok((request, array))
}

/// Removes a node.
pub(crate) fn destroy_node(node: NodeHandle) -> Result<(), Error> {
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner).remove(&node);
    BODIES.lock().unwrap_or_else(PoisonError::into_inner).remove(&node);
    on_device(|device| device.destroy_node(node))
}

/// Adds or removes edges.
pub(crate) fn change_edges(
    graph: GraphHandle,
    from: In<NodeHandle>,
    to: In<NodeHandle>,
    count: usize,
    adds: bool,
) -> Result<(), Error> {
    let edge = |at| Ok(Edge { from: from.at(at)?, to: to.at(at)? });
    let edges = (0..count).map(edge).collect::<Result<Vec<_>, Error>>()?;
    on_device(|device| device.change_edges(graph, &edges, adds))
}

/// Writes as many of `all` as `count` says there is room for, and how many these are; without a
/// place how many there are.
fn put_some<T: Copy + Default>(place: Out<T>, count: Out<usize>, all: &[T]) -> Result<(), Error> {
    if place.check().is_err() {
        return count.put(all.len());
    }
    let room = count.given()?;
    let filled = all.iter().copied().chain(std::iter::repeat(T::default())).take(room);
    place.put_all(filled)?;
    count.put(all.len().min(room))
}

/// Writes the nodes of a graph, or those alone that nothing comes before.
pub(crate) fn list_nodes(
    graph: GraphHandle,
    place: Out<NodeHandle>,
    count: Out<usize>,
    roots_alone: bool,
) -> Result<(), Error> {
    let all = on_device(|device| device.nodes(graph, roots_alone))?;
    put_some(place, count, &all)
}

/// Writes the edges of a graph.
pub(crate) fn list_edges(
    graph: GraphHandle,
    from: Out<NodeHandle>,
    to: Out<NodeHandle>,
    count: Out<usize>,
) -> Result<(), Error> {
    let all = on_device(|device| device.edges(graph))?;
    let ends = |end: fn(&Edge) -> NodeId| all.iter().map(end).collect::<Vec<_>>();
    if to.check().is_ok() {
        let room = count.given()?;
        let filled = ends(|edge| edge.to).into_iter().chain(std::iter::repeat(0)).take(room);
        to.put_all(filled)?;
    }
    put_some(from, count, &ends(|edge| edge.from))
}

/// Writes the neighbours of a node: those that it waits for, or those that wait for it.
pub(crate) fn list_neighbours(
    node: NodeHandle,
    place: Out<NodeHandle>,
    count: Out<usize>,
    before: bool,
) -> Result<(), Error> {
    let edges = on_device(|device| device.node(node).map(|(_, edges)| edges))?;
    let other = |edge: &Edge| match before {
        true => (edge.to == node).then_some(edge.from),
        false => (edge.from == node).then_some(edge.to),
    };
    put_some(place, count, &edges.iter().filter_map(other).collect::<Vec<_>>())
}

/// Writes the kind of a node.
pub(crate) fn kind(node: NodeHandle, kind: Out<i32>) -> Result<(), Error> {
    kind.put(on_device(|device| device.node(node).map(|(work, _)| work.kind()))?)
}

/// Gives a node other work, in its graph or in what was made ready of it.
pub(crate) fn change(
    executable: Option<ExecutableHandle>,
    node: NodeHandle,
    work: Work,
) -> Result<(), Error> {
    on_device(|device| device.change_work(executable, node, work))
}

/// Makes a graph ready, and writes the handle of what can be launched.
pub(crate) fn instantiate(
    executable: Out<ExecutableHandle>,
    graph: GraphHandle,
) -> Result<(), Error> {
    executable.check()?;
    executable.put(on_device(|device| device.instantiate(graph))?)
}

/// Forgets what could be launched.
pub(crate) fn destroy_executable(executable: ExecutableHandle) -> Result<(), Error> {
    on_device(|device| device.destroy_executable(executable))
}

// Results of updates (`cudaGraphExecUpdateResult`, `CUgraphExecUpdateResult`).
const UPDATED: i32 = 0;
const TOPOLOGY_CHANGED: i32 = 2;

/// `cudaGraphExecUpdateResultInfo` and `CUgraphExecUpdateResultInfo`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct UpdateInfo {
    result: i32,
    node: NodeHandle,
    from: NodeHandle,
}

/// Takes over the work of another graph; writes what has come of it.
pub(crate) fn update(
    executable: ExecutableHandle,
    graph: GraphHandle,
    result: Out<i32>,
) -> Result<(), Error> {
    let outcome = on_device(|device| device.update_executable(executable, graph));
    let is_other = outcome == Err(Error::GraphUpdate);
    result.maybe_put(if is_other { TOPOLOGY_CHANGED } else { UPDATED });
    outcome
}

/// As [`update`], with a structure for the result.
pub(crate) fn update_with_info(
    executable: ExecutableHandle,
    graph: GraphHandle,
    info: Out<UpdateInfo>,
) -> Result<(), Error> {
    let outcome = on_device(|device| device.update_executable(executable, graph));
    let is_other = outcome == Err(Error::GraphUpdate);
    let result = if is_other { TOPOLOGY_CHANGED } else { UPDATED };
    info.maybe_put(UpdateInfo { result, node: 0, from: 0 });
    outcome
}

/// Launches a graph. Functions of the program are called between the calls on the device.
pub(crate) fn launch(executable: ExecutableHandle, on: Stream) -> Result<(), Error> {
    let run = on_device(|device| device.begin_graph(executable, stream(on)))?;
    let Some(mut run) = run else { return Ok(()) };
    while let Some(call) = on_device(|device| abi::graph_step(device, &mut run))? {
        if let Some(call) = call {
            abi::call(call);
        }
    }
    Ok(())
}

/// Checks that there is a stream and a graph to be launched in it.
pub(crate) fn upload(on: Stream) -> Result<(), Error> {
    on_device(|device| device.clock().stream(stream(on)).map(|_| ()))
}

/// Begins to put the work of a stream into a graph.
pub(crate) fn begin_capture(on: Stream) -> Result<(), Error> {
    on_device(|device| device.begin_capture(stream(on)))
}

/// Begins to put the work of a stream into a graph that there is, behind some of its nodes.
pub(crate) fn begin_capture_into(
    on: Stream,
    graph: GraphHandle,
    after: In<NodeHandle>,
    count: usize,
) -> Result<(), Error> {
    let after = nodes(after, count)?;
    on_device(|device| device.begin_capture_into(stream(on), graph, &after))
}

/// Ends the capture of a stream, and writes the graph; null if there is none.
pub(crate) fn end_capture(on: Stream, graph: Out<GraphHandle>) -> Result<(), Error> {
    graph.check()?;
    let ended = on_device(|device| device.end_capture(stream(on)));
    graph.put(ended.unwrap_or(0))?;
    ended.map(|_| ())
}

/// Writes the state of a stream's capture, as `cudaStreamCaptureStatus` numbers it.
pub(crate) fn capture_status(on: Stream, status: Out<i32>) -> Result<(), Error> {
    status.put(match on_device(|device| device.capture_status(stream(on)))? {
        CaptureStatus::None => 0,
        CaptureStatus::Active => 1,
        CaptureStatus::Invalidated => 2,
    })
}

/// Has a captured stream call a function, or calls it now.
pub(crate) fn call_in_stream(
    on: Stream,
    function: Option<Callback>,
    data: *mut c_void,
) -> Result<(), Error> {
    let host = call(function, data)?;
    let is_captured = on_device(|device: &mut Device| device.capture_call(stream(on), host))?;
    if !is_captured {
        abi::call(host);
    }
    Ok(())
}

//! Graphs: captures of streams, nodes, launches.

use std::ffi::c_void;

use gpucast_host::graph::{CaptureStatus, Edge, ExecutableId, GraphId, HostCall, NodeId, Work};
use gpucast_host::{Device, Error, Extent, Place};

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
        let to = Place::rows(to, pitch as u64);
        Ok(Work::Fill { to, pattern, extent: Extent::rows(width as u64, height as u64) })
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
    let [to, from] = [to, from].map(|address| Place::rows(address, bytes));
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
    add(place, graph, after, count, Work::Allocate)?;
    let address = on_device(|device| device.allocate_for_graph(given.bytes as u64))?;
    parameters.put(AllocationParameters { address, ..given })
}

/// Removes a node.
pub(crate) fn destroy_node(node: NodeHandle) -> Result<(), Error> {
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

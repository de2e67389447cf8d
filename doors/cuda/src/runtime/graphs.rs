//! Graphs.

use std::ffi::c_void;

use gpucast_host::graph::Work;
use gpucast_host::{Error, LaunchRequest};

use super::arrays::Copy3d;
use super::launch::arguments;
use super::memory::{check, of_symbol};
use super::runtime_functions;
use crate::abi::{Dim3, In, Out};
use crate::both::graphs::{
    self, AllocationParameters, CallParameters, ExecutableHandle, FillParameters, GraphHandle,
    NodeHandle, NodeParameters, OwnForms, ShownCall, UpdateInfo,
};
use crate::both::streams::Stream;
use crate::state;

/// `cudaKernelNodeParams`.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelParameters {
    /// The function of the host that stands for the kernel.
    host: u64,
    grid: Dim3,
    block: Dim3,
    shared_bytes: u32,
    arguments: In<*const u8>,
    extra: In<u64>,
}

impl KernelParameters {
    fn work(self) -> Result<Work, Error> {
        let Self { host, grid, block, shared_bytes, arguments: addresses, extra } = self;
        if addresses.is_null() && !extra.is_null() {
            return Err(Error::NotSupported);
        }
        state::with(|state| {
            state.place_managed()?;
            let function = state.function(host)?;
            let arguments = arguments(state, function, addresses)?;
            let (grid, block) = (grid.into(), block.into());
            let (cluster, stream) = (None, 0);
            Ok(Work::Kernel(LaunchRequest {
                function,
                grid,
                block,
                cluster,
                shared_bytes,
                stream,
                arguments,
            }))
        })
    }
}

impl KernelParameters {
    /// The parameters of a node that launches. The arguments stay where they are until the node is
    /// asked again.
    fn of(node: NodeHandle) -> Result<Self, Error> {
        let (request, arguments) = graphs::shown_launch(node)?;
        let host = state::with(|state| state.host_function(request.function))?;
        let [grid, block] = [request.grid, request.block].map(|[x, y, z]| Dim3 { x, y, z });
        let (shared_bytes, extra) = (request.shared_bytes, In::at_number(0));
        Ok(Self { host, grid, block, shared_bytes, arguments, extra })
    }
}

/// The runtime's forms of launches and copies.
const OWN_FORMS: OwnForms = OwnForms {
    launch: |parameters| parameters.body::<KernelParameters>()?.work(),
    copy: |parameters| parameters.copy::<Copy3d>()?.work(),
};

/// The work of a copy of bytes in a direction.
fn bytes(to: u64, from: u64, count: usize, kind: i32) -> Result<Work, Error> {
    check(kind)?;
    Ok(graphs::copy(to, from, count))
}

runtime_functions! {
    /// Begins to put the work of a stream into a graph.
    fn cudaStreamBeginCapture(on: Stream, _mode: i32) { graphs::begin_capture(on) }

    /// Begins to put the work of a stream into a graph that there is. Edges have data, which only
    /// kernels with programmatic launches need.
    fn cudaStreamBeginCaptureToGraph(
        on: Stream,
        graph: GraphHandle,
        after: In<NodeHandle>,
        _data: *const c_void,
        count: usize,
        _mode: i32,
    ) {
        graphs::begin_capture_into(on, graph, after, count)
    }

    /// Ends the capture of a stream.
    fn cudaStreamEndCapture(on: Stream, graph: Out<GraphHandle>) { graphs::end_capture(on, graph) }

    /// Asks if a stream is captured.
    fn cudaStreamIsCapturing(on: Stream, status: Out<i32>) { graphs::capture_status(on, status) }

    /// Exchanges the mode of captures, which changes nothing here.
    fn cudaThreadExchangeStreamCaptureMode(_mode: *mut c_void) { Ok(()) }

    /// Makes an empty graph.
    fn cudaGraphCreate(graph: Out<GraphHandle>, _flags: u32) { graphs::create(graph) }

    /// Forgets a graph.
    fn cudaGraphDestroy(graph: GraphHandle) { graphs::destroy(graph) }

    /// Copies a graph.
    fn cudaGraphClone(place: Out<GraphHandle>, graph: GraphHandle) { graphs::clone(place, graph) }

    /// The node of a clone that is a copy of another one.
    fn cudaGraphNodeFindInClone(place: Out<NodeHandle>, node: NodeHandle, clone: GraphHandle) {
        graphs::find_in_clone(place, node, clone)
    }

    /// Adds a launch.
    fn cudaGraphAddKernelNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: In<KernelParameters>,
    ) {
        graphs::add(place, graph, after, count, parameters.get()?.work()?)
    }

    /// Adds a copy between arrays and memory.
    fn cudaGraphAddMemcpyNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        copy: In<Copy3d>,
    ) {
        graphs::add(place, graph, after, count, copy.get()?.work()?)
    }

    /// Adds a copy of bytes.
    fn cudaGraphAddMemcpyNode1D(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        to: u64,
        from: u64,
        size: usize,
        kind: i32,
    ) {
        graphs::add(place, graph, after, count, bytes(to, from, size, kind)?)
    }

    /// Adds a copy to a variable.
    fn cudaGraphAddMemcpyNodeToSymbol(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        host: u64,
        from: u64,
        size: usize,
        offset: usize,
        kind: i32,
    ) {
        let work = bytes(of_symbol(host, offset, size)?, from, size, kind)?;
        graphs::add(place, graph, after, count, work)
    }

    /// Adds a copy from a variable.
    fn cudaGraphAddMemcpyNodeFromSymbol(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        to: u64,
        host: u64,
        size: usize,
        offset: usize,
        kind: i32,
    ) {
        let work = bytes(to, of_symbol(host, offset, size)?, size, kind)?;
        graphs::add(place, graph, after, count, work)
    }

    /// Adds a fill.
    fn cudaGraphAddMemsetNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: In<FillParameters>,
    ) {
        graphs::add(place, graph, after, count, parameters.get()?.work()?)
    }

    /// Adds a call of a function of the host.
    fn cudaGraphAddHostNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: In<CallParameters>,
    ) {
        graphs::add(place, graph, after, count, parameters.get()?.work()?)
    }

    /// Adds a node that others can wait for.
    fn cudaGraphAddEmptyNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
    ) {
        graphs::add(place, graph, after, count, Work::Empty)
    }

    /// Adds another graph.
    fn cudaGraphAddChildGraphNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        child: GraphHandle,
    ) {
        graphs::add_child(place, graph, after, count, child)
    }

    /// Adds the record of an event.
    fn cudaGraphAddEventRecordNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        event: u64,
    ) {
        graphs::add(place, graph, after, count, Work::Record(event))
    }

    /// Adds a wait for an event.
    fn cudaGraphAddEventWaitNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        event: u64,
    ) {
        graphs::add(place, graph, after, count, Work::Wait(event))
    }

    /// Adds memory.
    fn cudaGraphAddMemAllocNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: Out<AllocationParameters>,
    ) {
        graphs::add_allocation(place, graph, after, count, parameters)
    }

    /// Adds the end of memory.
    fn cudaGraphAddMemFreeNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        address: u64,
    ) {
        graphs::add(place, graph, after, count, Work::Free(address))
    }

    /// Adds a node of any kind.
    fn cudaGraphAddNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: NodeParameters,
    ) {
        graphs::add_any(place, graph, after, count, parameters, &OWN_FORMS)
    }

    /// Adds a node of any kind behind edges with data, which only kernels with programmatic
    /// launches need.
    fn cudaGraphAddNode_v2(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        _data: *const c_void,
        count: usize,
        parameters: NodeParameters,
    ) {
        graphs::add_any(place, graph, after, count, parameters, &OWN_FORMS)
    }

    /// Makes the condition of a node.
    fn cudaGraphConditionalHandleCreate(
        place: Out<u64>,
        graph: GraphHandle,
        default: u32,
        flags: u32,
    ) {
        graphs::create_condition(place, graph, default, flags)
    }

    /// Changes a node of any kind.
    fn cudaGraphNodeSetParams(node: NodeHandle, parameters: NodeParameters) {
        graphs::change_any(None, node, parameters, &OWN_FORMS)
    }

    /// Changes a node of any kind, of what was made ready.
    fn cudaGraphExecNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: NodeParameters,
    ) {
        graphs::change_any(Some(executable), node, parameters, &OWN_FORMS)
    }

    /// The parameters of a fill.
    fn cudaGraphMemsetNodeGetParams(node: NodeHandle, place: Out<FillParameters>) {
        graphs::show_fill(node, place)
    }

    /// The parameters of a copy.
    fn cudaGraphMemcpyNodeGetParams(node: NodeHandle, place: Out<Copy3d>) {
        place.put(Copy3d::shown(graphs::shown_copy(node)?))
    }

    /// The parameters of memory.
    fn cudaGraphMemAllocNodeGetParams(node: NodeHandle, place: Out<AllocationParameters>) {
        graphs::show_allocation(node, place)
    }

    /// The memory that a node gives back.
    fn cudaGraphMemFreeNodeGetParams(node: NodeHandle, place: Out<u64>) {
        graphs::show_free(node, place)
    }

    /// The graph that a node stands for.
    fn cudaGraphChildGraphNodeGetGraph(node: NodeHandle, place: Out<GraphHandle>) {
        graphs::show_child(node, place)
    }

    /// The parameters of a call.
    fn cudaGraphHostNodeGetParams(node: NodeHandle, place: Out<ShownCall>) {
        graphs::show_call(node, place)
    }

    /// The event that a node records.
    fn cudaGraphEventRecordNodeGetEvent(node: NodeHandle, place: Out<u64>) {
        graphs::show_event(node, place, true)
    }

    /// The event that a node waits for.
    fn cudaGraphEventWaitNodeGetEvent(node: NodeHandle, place: Out<u64>) {
        graphs::show_event(node, place, false)
    }

    /// Changes the event that a node records.
    fn cudaGraphEventRecordNodeSetEvent(node: NodeHandle, event: u64) {
        graphs::change(None, node, Work::Record(event))
    }

    /// Changes the event that a node waits for.
    fn cudaGraphEventWaitNodeSetEvent(node: NodeHandle, event: u64) {
        graphs::change(None, node, Work::Wait(event))
    }

    /// The parameters of a launch.
    fn cudaGraphKernelNodeGetParams(node: NodeHandle, place: Out<KernelParameters>) {
        place.put(KernelParameters::of(node)?)
    }

    /// Removes a node.
    fn cudaGraphDestroyNode(node: NodeHandle) { graphs::destroy_node(node) }

    /// Adds edges.
    fn cudaGraphAddDependencies(
        graph: GraphHandle,
        from: In<NodeHandle>,
        to: In<NodeHandle>,
        count: usize,
    ) {
        graphs::change_edges(graph, from, to, count, true)
    }

    /// Adds edges, which may have data that only kernels with programmatic launches need.
    fn cudaGraphAddDependencies_v2(
        graph: GraphHandle,
        from: In<NodeHandle>,
        to: In<NodeHandle>,
        _data: *const c_void,
        count: usize,
    ) {
        graphs::change_edges(graph, from, to, count, true)
    }

    /// Removes edges.
    fn cudaGraphRemoveDependencies(
        graph: GraphHandle,
        from: In<NodeHandle>,
        to: In<NodeHandle>,
        count: usize,
    ) {
        graphs::change_edges(graph, from, to, count, false)
    }

    /// Removes edges.
    fn cudaGraphRemoveDependencies_v2(
        graph: GraphHandle,
        from: In<NodeHandle>,
        to: In<NodeHandle>,
        _data: *const c_void,
        count: usize,
    ) {
        graphs::change_edges(graph, from, to, count, false)
    }

    /// The nodes of a graph.
    fn cudaGraphGetNodes(graph: GraphHandle, place: Out<NodeHandle>, count: Out<usize>) {
        graphs::list_nodes(graph, place, count, false)
    }

    /// The nodes of a graph that wait for none.
    fn cudaGraphGetRootNodes(graph: GraphHandle, place: Out<NodeHandle>, count: Out<usize>) {
        graphs::list_nodes(graph, place, count, true)
    }

    /// The edges of a graph.
    fn cudaGraphGetEdges(
        graph: GraphHandle,
        from: Out<NodeHandle>,
        to: Out<NodeHandle>,
        count: Out<usize>,
    ) {
        graphs::list_edges(graph, from, to, count)
    }

    /// The edges of a graph; all are plain.
    fn cudaGraphGetEdges_v2(
        graph: GraphHandle,
        from: Out<NodeHandle>,
        to: Out<NodeHandle>,
        _data: *mut c_void,
        count: Out<usize>,
    ) {
        graphs::list_edges(graph, from, to, count)
    }

    /// The nodes that a node waits for.
    fn cudaGraphNodeGetDependencies(
        node: NodeHandle,
        place: Out<NodeHandle>,
        count: Out<usize>,
    ) {
        graphs::list_neighbours(node, place, count, true)
    }

    /// The nodes that a node waits for.
    fn cudaGraphNodeGetDependencies_v2(
        node: NodeHandle,
        place: Out<NodeHandle>,
        _data: *mut c_void,
        count: Out<usize>,
    ) {
        graphs::list_neighbours(node, place, count, true)
    }

    /// The nodes that wait for a node.
    fn cudaGraphNodeGetDependentNodes(
        node: NodeHandle,
        place: Out<NodeHandle>,
        count: Out<usize>,
    ) {
        graphs::list_neighbours(node, place, count, false)
    }

    /// The nodes that wait for a node.
    fn cudaGraphNodeGetDependentNodes_v2(
        node: NodeHandle,
        place: Out<NodeHandle>,
        _data: *mut c_void,
        count: Out<usize>,
    ) {
        graphs::list_neighbours(node, place, count, false)
    }

    /// The kind of a node.
    fn cudaGraphNodeGetType(node: NodeHandle, kind: Out<i32>) { graphs::kind(node, kind) }

    /// Changes a launch.
    fn cudaGraphKernelNodeSetParams(node: NodeHandle, parameters: In<KernelParameters>) {
        graphs::change(None, node, parameters.get()?.work()?)
    }

    /// Changes a copy.
    fn cudaGraphMemcpyNodeSetParams(node: NodeHandle, copy: In<Copy3d>) {
        graphs::change(None, node, copy.get()?.work()?)
    }

    /// Changes a copy of bytes.
    fn cudaGraphMemcpyNodeSetParams1D(node: NodeHandle, to: u64, from: u64, size: usize, kind: i32) {
        graphs::change(None, node, bytes(to, from, size, kind)?)
    }

    /// Changes a fill.
    fn cudaGraphMemsetNodeSetParams(node: NodeHandle, parameters: In<FillParameters>) {
        graphs::change(None, node, parameters.get()?.work()?)
    }

    /// Changes a call.
    fn cudaGraphHostNodeSetParams(node: NodeHandle, parameters: In<CallParameters>) {
        graphs::change(None, node, parameters.get()?.work()?)
    }

    /// Makes a graph ready. What comes behind, flags or a place for messages, changes nothing.
    fn cudaGraphInstantiate(executable: Out<ExecutableHandle>, graph: GraphHandle) {
        graphs::instantiate(executable, graph)
    }

    /// Makes a graph ready.
    fn cudaGraphInstantiateWithFlags(
        executable: Out<ExecutableHandle>,
        graph: GraphHandle,
        _flags: u64,
    ) {
        graphs::instantiate(executable, graph)
    }

    /// Brings a graph to the device, where it is.
    fn cudaGraphUpload(_executable: ExecutableHandle, on: Stream) { graphs::upload(on) }

    /// Launches a graph.
    fn cudaGraphLaunch(executable: ExecutableHandle, on: Stream) { graphs::launch(executable, on) }

    /// Forgets a graph that was made ready.
    fn cudaGraphExecDestroy(executable: ExecutableHandle) { graphs::destroy_executable(executable) }

    /// Takes over the work of another graph, since CUDA 12.
    fn cudaGraphExecUpdate(
        executable: ExecutableHandle,
        graph: GraphHandle,
        info: Out<UpdateInfo>,
    ) {
        graphs::update_with_info(executable, graph, info)
    }

    /// Takes over the work of another graph, in CUDA 11.
    fn cudaGraphExecUpdate_11(
        executable: ExecutableHandle,
        graph: GraphHandle,
        node: Out<NodeHandle>,
        result: Out<i32>,
    ) {
        node.maybe_put(0);
        graphs::update(executable, graph, result)
    }

    /// Changes a launch of what was made ready.
    fn cudaGraphExecKernelNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: In<KernelParameters>,
    ) {
        graphs::change(Some(executable), node, parameters.get()?.work()?)
    }

    /// Changes a copy of what was made ready.
    fn cudaGraphExecMemcpyNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        copy: In<Copy3d>,
    ) {
        graphs::change(Some(executable), node, copy.get()?.work()?)
    }

    /// Changes a copy of bytes of what was made ready.
    fn cudaGraphExecMemcpyNodeSetParams1D(
        executable: ExecutableHandle,
        node: NodeHandle,
        to: u64,
        from: u64,
        size: usize,
        kind: i32,
    ) {
        graphs::change(Some(executable), node, bytes(to, from, size, kind)?)
    }

    /// Changes a fill of what was made ready.
    fn cudaGraphExecMemsetNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: In<FillParameters>,
    ) {
        graphs::change(Some(executable), node, parameters.get()?.work()?)
    }

    /// Changes a call of what was made ready.
    fn cudaGraphExecHostNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: In<CallParameters>,
    ) {
        graphs::change(Some(executable), node, parameters.get()?.work()?)
    }
}

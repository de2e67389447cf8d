//! Graphs.

use std::ffi::c_void;

use gpucast_host::Error;
use gpucast_host::clock::DEFAULT_STREAM;
use gpucast_host::graph::Work;

use super::arrays::Copy3d;
use super::driver_functions;
use super::execution::{Shape, request};
use super::modules::{FunctionHandle, function_handle};
use crate::abi::{In, Out};
use crate::both::graphs::{
    self, AllocationParameters, CallParameters, ExecutableHandle, FillParameters, GraphHandle,
    NodeHandle, NodeParameters, OwnForms, ShownCall, UpdateInfo,
};
use crate::both::streams::Stream;

/// `CUDA_KERNEL_NODE_PARAMS_v1`.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelParameters {
    function: FunctionHandle,
    grid: [u32; 3],
    block: [u32; 3],
    shared_bytes: u32,
    arguments: In<*const u8>,
    extra: In<u64>,
}

impl KernelParameters {
    fn work(self) -> Result<Work, Error> {
        let Self { function, grid, block, shared_bytes, arguments, extra } = self;
        let shape = Shape { grid, block, cluster: None, shared_bytes, stream: DEFAULT_STREAM };
        request(function, shape, arguments, extra).map(Work::Kernel)
    }
}

impl KernelParameters {
    /// The parameters of a node that launches. The arguments stay where they are until the node is
    /// asked again.
    fn of(node: NodeHandle) -> Result<Self, Error> {
        let (request, arguments) = graphs::shown_launch(node)?;
        Ok(Self {
            function: function_handle(request.function),
            grid: request.grid,
            block: request.block,
            shared_bytes: request.shared_bytes,
            arguments,
            extra: In::at_number(0),
        })
    }
}

/// `CUDA_KERNEL_NODE_PARAMS` since CUDA 12.
#[repr(C)]
#[derive(Clone, Copy)]
struct KernelParameters2 {
    first: KernelParameters,
    /// Stands for the function where that is null.
    kernel: FunctionHandle,
    context: u64,
}

impl KernelParameters2 {
    fn work(self) -> Result<Work, Error> {
        let Self { first, kernel, .. } = self;
        let function = if first.function == 0 { kernel } else { first.function };
        KernelParameters { function, ..first }.work()
    }
}

/// The driver's forms of launches and copies.
const OWN_FORMS: OwnForms = OwnForms {
    launch: |parameters| parameters.body::<KernelParameters2>()?.work(),
    copy: |parameters| parameters.copy::<Copy3d>()?.work(),
};

driver_functions! {
    /// Begins to put the work of a stream into a graph.
    fn cuStreamBeginCapture(on: Stream) { graphs::begin_capture(on) }

    /// Begins to put the work of a stream into a graph.
    fn cuStreamBeginCapture_v2(on: Stream, _mode: i32) { graphs::begin_capture(on) }

    /// Begins to put the work of a stream into a graph that there is. Edges have data, which only
    /// kernels with programmatic launches need.
    fn cuStreamBeginCaptureToGraph(
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
    fn cuStreamEndCapture(on: Stream, graph: Out<GraphHandle>) { graphs::end_capture(on, graph) }

    /// Asks if a stream is captured.
    fn cuStreamIsCapturing(on: Stream, status: Out<i32>) { graphs::capture_status(on, status) }

    /// Exchanges the mode of captures, which changes nothing here.
    fn cuThreadExchangeStreamCaptureMode(_mode: *mut c_void) { Ok(()) }

    /// Makes an empty graph.
    fn cuGraphCreate(graph: Out<GraphHandle>, _flags: u32) { graphs::create(graph) }

    /// Forgets a graph.
    fn cuGraphDestroy(graph: GraphHandle) { graphs::destroy(graph) }

    /// Copies a graph.
    fn cuGraphClone(place: Out<GraphHandle>, graph: GraphHandle) { graphs::clone(place, graph) }

    /// The node of a clone that is a copy of another one.
    fn cuGraphNodeFindInClone(place: Out<NodeHandle>, node: NodeHandle, clone: GraphHandle) {
        graphs::find_in_clone(place, node, clone)
    }

    /// Adds a launch.
    fn cuGraphAddKernelNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: In<KernelParameters>,
    ) {
        graphs::add(place, graph, after, count, parameters.get()?.work()?)
    }

    /// Adds a launch.
    fn cuGraphAddKernelNode_v2(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: In<KernelParameters2>,
    ) {
        graphs::add(place, graph, after, count, parameters.get()?.work()?)
    }

    /// Adds a copy.
    fn cuGraphAddMemcpyNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        copy: In<Copy3d>,
        _context: u64,
    ) {
        graphs::add(place, graph, after, count, copy.get()?.work()?)
    }

    /// Adds a fill.
    fn cuGraphAddMemsetNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: In<FillParameters>,
        _context: u64,
    ) {
        graphs::add(place, graph, after, count, parameters.get()?.work()?)
    }

    /// Adds a call of a function of the host.
    fn cuGraphAddHostNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: In<CallParameters>,
    ) {
        graphs::add(place, graph, after, count, parameters.get()?.work()?)
    }

    /// Adds a node that others can wait for.
    fn cuGraphAddEmptyNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
    ) {
        graphs::add(place, graph, after, count, Work::Empty)
    }

    /// Adds another graph.
    fn cuGraphAddChildGraphNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        child: GraphHandle,
    ) {
        graphs::add_child(place, graph, after, count, child)
    }

    /// Adds the record of an event.
    fn cuGraphAddEventRecordNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        event: u64,
    ) {
        graphs::add(place, graph, after, count, Work::Record(event))
    }

    /// Adds a wait for an event.
    fn cuGraphAddEventWaitNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        event: u64,
    ) {
        graphs::add(place, graph, after, count, Work::Wait(event))
    }

    /// Adds memory.
    fn cuGraphAddMemAllocNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        parameters: Out<AllocationParameters>,
    ) {
        graphs::add_allocation(place, graph, after, count, parameters)
    }

    /// Adds the end of memory.
    fn cuGraphAddMemFreeNode(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        count: usize,
        address: u64,
    ) {
        graphs::add(place, graph, after, count, Work::Free(address))
    }

    /// Adds a node of any kind.
    fn cuGraphAddNode(
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
    fn cuGraphAddNode_v2(
        place: Out<NodeHandle>,
        graph: GraphHandle,
        after: In<NodeHandle>,
        _data: *const c_void,
        count: usize,
        parameters: NodeParameters,
    ) {
        graphs::add_any(place, graph, after, count, parameters, &OWN_FORMS)
    }

    /// As `cuGraphAddNode_v2`.
    fn cuGraphAddNode_v3(
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
    fn cuGraphConditionalHandleCreate(
        place: Out<u64>,
        graph: GraphHandle,
        _context: *mut c_void,
        default: u32,
        flags: u32,
    ) {
        graphs::create_condition(place, graph, default, flags)
    }

    /// Changes a node of any kind.
    fn cuGraphNodeSetParams(node: NodeHandle, parameters: NodeParameters) {
        graphs::change_any(None, node, parameters, &OWN_FORMS)
    }

    /// Changes a node of any kind, of what was made ready.
    fn cuGraphExecNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: NodeParameters,
    ) {
        graphs::change_any(Some(executable), node, parameters, &OWN_FORMS)
    }

    /// The parameters of a fill.
    fn cuGraphMemsetNodeGetParams(node: NodeHandle, place: Out<FillParameters>) {
        graphs::show_fill(node, place)
    }

    /// The parameters of a copy.
    fn cuGraphMemcpyNodeGetParams(node: NodeHandle, place: Out<Copy3d>) {
        place.put(Copy3d::shown(graphs::shown_copy(node)?))
    }

    /// The parameters of memory.
    fn cuGraphMemAllocNodeGetParams(node: NodeHandle, place: Out<AllocationParameters>) {
        graphs::show_allocation(node, place)
    }

    /// The memory that a node gives back.
    fn cuGraphMemFreeNodeGetParams(node: NodeHandle, place: Out<u64>) {
        graphs::show_free(node, place)
    }

    /// The graph that a node stands for.
    fn cuGraphChildGraphNodeGetGraph(node: NodeHandle, place: Out<GraphHandle>) {
        graphs::show_child(node, place)
    }

    /// The parameters of a call.
    fn cuGraphHostNodeGetParams(node: NodeHandle, place: Out<ShownCall>) {
        graphs::show_call(node, place)
    }

    /// The event that a node records.
    fn cuGraphEventRecordNodeGetEvent(node: NodeHandle, place: Out<u64>) {
        graphs::show_event(node, place, true)
    }

    /// The event that a node waits for.
    fn cuGraphEventWaitNodeGetEvent(node: NodeHandle, place: Out<u64>) {
        graphs::show_event(node, place, false)
    }

    /// Changes the event that a node records.
    fn cuGraphEventRecordNodeSetEvent(node: NodeHandle, event: u64) {
        graphs::change(None, node, Work::Record(event))
    }

    /// Changes the event that a node waits for.
    fn cuGraphEventWaitNodeSetEvent(node: NodeHandle, event: u64) {
        graphs::change(None, node, Work::Wait(event))
    }

    /// The parameters of a launch.
    fn cuGraphKernelNodeGetParams(node: NodeHandle, place: Out<KernelParameters>) {
        place.put(KernelParameters::of(node)?)
    }

    /// The parameters of a launch.
    fn cuGraphKernelNodeGetParams_v2(node: NodeHandle, place: Out<KernelParameters2>) {
        let first = KernelParameters::of(node)?;
        place.put(KernelParameters2 { first, kernel: 0, context: 0 })
    }

    /// Changes a copy.
    fn cuGraphMemcpyNodeSetParams(node: NodeHandle, copy: In<Copy3d>) {
        graphs::change(None, node, copy.get()?.work()?)
    }

    /// Changes a fill.
    fn cuGraphMemsetNodeSetParams(node: NodeHandle, parameters: In<FillParameters>) {
        graphs::change(None, node, parameters.get()?.work()?)
    }

    /// Changes a call.
    fn cuGraphHostNodeSetParams(node: NodeHandle, parameters: In<CallParameters>) {
        graphs::change(None, node, parameters.get()?.work()?)
    }

    /// Removes a node.
    fn cuGraphDestroyNode(node: NodeHandle) { graphs::destroy_node(node) }

    /// Adds edges.
    fn cuGraphAddDependencies(
        graph: GraphHandle,
        from: In<NodeHandle>,
        to: In<NodeHandle>,
        count: usize,
    ) {
        graphs::change_edges(graph, from, to, count, true)
    }

    /// Adds edges, which may have data that only kernels with programmatic launches need.
    fn cuGraphAddDependencies_v2(
        graph: GraphHandle,
        from: In<NodeHandle>,
        to: In<NodeHandle>,
        _data: *const c_void,
        count: usize,
    ) {
        graphs::change_edges(graph, from, to, count, true)
    }

    /// Removes edges.
    fn cuGraphRemoveDependencies(
        graph: GraphHandle,
        from: In<NodeHandle>,
        to: In<NodeHandle>,
        count: usize,
    ) {
        graphs::change_edges(graph, from, to, count, false)
    }

    /// Removes edges.
    fn cuGraphRemoveDependencies_v2(
        graph: GraphHandle,
        from: In<NodeHandle>,
        to: In<NodeHandle>,
        _data: *const c_void,
        count: usize,
    ) {
        graphs::change_edges(graph, from, to, count, false)
    }

    /// The nodes of a graph.
    fn cuGraphGetNodes(graph: GraphHandle, place: Out<NodeHandle>, count: Out<usize>) {
        graphs::list_nodes(graph, place, count, false)
    }

    /// The nodes of a graph that wait for none.
    fn cuGraphGetRootNodes(graph: GraphHandle, place: Out<NodeHandle>, count: Out<usize>) {
        graphs::list_nodes(graph, place, count, true)
    }

    /// The edges of a graph.
    fn cuGraphGetEdges(
        graph: GraphHandle,
        from: Out<NodeHandle>,
        to: Out<NodeHandle>,
        count: Out<usize>,
    ) {
        graphs::list_edges(graph, from, to, count)
    }

    /// The edges of a graph; all are plain.
    fn cuGraphGetEdges_v2(
        graph: GraphHandle,
        from: Out<NodeHandle>,
        to: Out<NodeHandle>,
        _data: *mut c_void,
        count: Out<usize>,
    ) {
        graphs::list_edges(graph, from, to, count)
    }

    /// The nodes that a node waits for.
    fn cuGraphNodeGetDependencies_v2(
        node: NodeHandle,
        place: Out<NodeHandle>,
        _data: *mut c_void,
        count: Out<usize>,
    ) {
        graphs::list_neighbours(node, place, count, true)
    }

    /// The nodes that wait for a node.
    fn cuGraphNodeGetDependentNodes_v2(
        node: NodeHandle,
        place: Out<NodeHandle>,
        _data: *mut c_void,
        count: Out<usize>,
    ) {
        graphs::list_neighbours(node, place, count, false)
    }

    /// The nodes that a node waits for.
    fn cuGraphNodeGetDependencies(node: NodeHandle, place: Out<NodeHandle>, count: Out<usize>) {
        graphs::list_neighbours(node, place, count, true)
    }

    /// The nodes that wait for a node.
    fn cuGraphNodeGetDependentNodes(node: NodeHandle, place: Out<NodeHandle>, count: Out<usize>) {
        graphs::list_neighbours(node, place, count, false)
    }

    /// The kind of a node.
    fn cuGraphNodeGetType(node: NodeHandle, kind: Out<i32>) { graphs::kind(node, kind) }

    /// Changes a launch.
    fn cuGraphKernelNodeSetParams(node: NodeHandle, parameters: In<KernelParameters>) {
        graphs::change(None, node, parameters.get()?.work()?)
    }

    /// Changes a launch.
    fn cuGraphKernelNodeSetParams_v2(node: NodeHandle, parameters: In<KernelParameters2>) {
        graphs::change(None, node, parameters.get()?.work()?)
    }

    /// Makes a graph ready.
    fn cuGraphInstantiate(executable: Out<ExecutableHandle>, graph: GraphHandle) {
        graphs::instantiate(executable, graph)
    }

    /// Makes a graph ready.
    fn cuGraphInstantiate_v2(executable: Out<ExecutableHandle>, graph: GraphHandle) {
        graphs::instantiate(executable, graph)
    }

    /// Makes a graph ready.
    fn cuGraphInstantiateWithFlags(
        executable: Out<ExecutableHandle>,
        graph: GraphHandle,
        _flags: u64,
    ) {
        graphs::instantiate(executable, graph)
    }

    /// Brings a graph to the device, where it is.
    fn cuGraphUpload(_executable: ExecutableHandle, on: Stream) { graphs::upload(on) }

    /// Launches a graph.
    fn cuGraphLaunch(executable: ExecutableHandle, on: Stream) { graphs::launch(executable, on) }

    /// Forgets a graph that was made ready.
    fn cuGraphExecDestroy(executable: ExecutableHandle) { graphs::destroy_executable(executable) }

    /// Takes over the work of another graph.
    fn cuGraphExecUpdate(
        executable: ExecutableHandle,
        graph: GraphHandle,
        node: Out<NodeHandle>,
        result: Out<i32>,
    ) {
        node.maybe_put(0);
        graphs::update(executable, graph, result)
    }

    /// Takes over the work of another graph.
    fn cuGraphExecUpdate_v2(
        executable: ExecutableHandle,
        graph: GraphHandle,
        info: Out<UpdateInfo>,
    ) {
        graphs::update_with_info(executable, graph, info)
    }

    /// Changes a launch of what was made ready.
    fn cuGraphExecKernelNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: In<KernelParameters>,
    ) {
        graphs::change(Some(executable), node, parameters.get()?.work()?)
    }

    /// Changes a launch of what was made ready.
    fn cuGraphExecKernelNodeSetParams_v2(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: In<KernelParameters2>,
    ) {
        graphs::change(Some(executable), node, parameters.get()?.work()?)
    }

    /// Changes a copy of what was made ready.
    fn cuGraphExecMemcpyNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        copy: In<Copy3d>,
        _context: u64,
    ) {
        graphs::change(Some(executable), node, copy.get()?.work()?)
    }

    /// Changes a fill of what was made ready.
    fn cuGraphExecMemsetNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: In<FillParameters>,
        _context: u64,
    ) {
        graphs::change(Some(executable), node, parameters.get()?.work()?)
    }

    /// Changes a call of what was made ready.
    fn cuGraphExecHostNodeSetParams(
        executable: ExecutableHandle,
        node: NodeHandle,
        parameters: In<CallParameters>,
    ) {
        graphs::change(Some(executable), node, parameters.get()?.work()?)
    }
}

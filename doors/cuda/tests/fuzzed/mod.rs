//! Sequences of driver calls that an input chooses, in this process.
//!
//! Handles, numbers and addresses of the device may be anything. What C's contract forbids is not
//! tried: a pointer to the program's own memory is null or good for the call.

#![allow(unsafe_code, reason = "the functions are C's")]

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

// The library with the functions is linked for them.
use gpucast_cuda as _;

/// Declares functions of the library under CUDA's names.
macro_rules! calls {
    ($($name:ident($($argument:ident: $ty:ty),*) = $symbol:literal;)+) => {
        unsafe extern "C" {
            $(#[link_name = $symbol] fn $name($($argument: $ty),*) -> i32;)+
        }
    };
}

calls! {
    init(flags: u32) = "gpucast_cuInit";
    retain(context: *mut u64, device: i32) = "gpucast_cuDevicePrimaryCtxRetain";
    set_current(context: u64) = "gpucast_cuCtxSetCurrent";
    allocate(address: *mut u64, bytes: usize) = "gpucast_cuMemAlloc_v2";
    allocate_in(address: *mut u64, bytes: usize, stream: u64) = "gpucast_cuMemAllocAsync";
    free(address: u64) = "gpucast_cuMemFree_v2";
    free_in(address: u64, stream: u64) = "gpucast_cuMemFreeAsync";
    range(start: *mut u64, bytes: *mut usize, address: u64) = "gpucast_cuMemGetAddressRange_v2";
    copy(to: u64, from: u64, bytes: usize, stream: u64) = "gpucast_cuMemcpyAsync";
    fill(to: u64, value: u32, count: usize, stream: u64) = "gpucast_cuMemsetD32Async";
    create_stream(stream: *mut u64, flags: u32) = "gpucast_cuStreamCreate";
    destroy_stream(stream: u64) = "gpucast_cuStreamDestroy_v2";
    synchronise(stream: u64) = "gpucast_cuStreamSynchronize";
    wait_event(stream: u64, event: u64, flags: u32) = "gpucast_cuStreamWaitEvent";
    create_event(event: *mut u64, flags: u32) = "gpucast_cuEventCreate";
    destroy_event(event: u64) = "gpucast_cuEventDestroy_v2";
    record(event: u64, stream: u64) = "gpucast_cuEventRecord";
    elapsed(ms: *mut f32, start: u64, end: u64) = "gpucast_cuEventElapsedTime";
    load(module: *mut u64, image: *const c_void) = "gpucast_cuModuleLoadData";
    unload(module: u64) = "gpucast_cuModuleUnload";
    function(found: *mut u64, module: u64, name: *const c_char) = "gpucast_cuModuleGetFunction";
    variable(address: *mut u64, bytes: *mut usize, module: u64, name: *const c_char)
        = "gpucast_cuModuleGetGlobal_v2";
    attribute(value: *mut i32, which: i32, function: u64) = "gpucast_cuFuncGetAttribute";
    set_attribute(function: u64, which: i32, value: i32) = "gpucast_cuFuncSetAttribute";
    launch(function: u64, gx: u32, gy: u32, gz: u32, bx: u32, by: u32, bz: u32, shared: u32,
        stream: u64, arguments: *const *const c_void, extra: *const c_void)
        = "gpucast_cuLaunchKernel";
    begin_capture(stream: u64, mode: i32) = "gpucast_cuStreamBeginCapture_v2";
    begin_capture_to_graph(stream: u64, graph: u64, after: *const u64, data: *const c_void,
        count: usize, mode: i32) = "gpucast_cuStreamBeginCaptureToGraph";
    end_capture(stream: u64, graph: *mut u64) = "gpucast_cuStreamEndCapture";
    create_graph(graph: *mut u64, flags: u32) = "gpucast_cuGraphCreate";
    destroy_graph(graph: u64) = "gpucast_cuGraphDestroy";
    clone_graph(clone: *mut u64, graph: u64) = "gpucast_cuGraphClone";
    add_empty(node: *mut u64, graph: u64, after: *const u64, count: usize)
        = "gpucast_cuGraphAddEmptyNode";
    add_child(node: *mut u64, graph: u64, after: *const u64, count: usize, child: u64)
        = "gpucast_cuGraphAddChildGraphNode";
    add_record(node: *mut u64, graph: u64, after: *const u64, count: usize, event: u64)
        = "gpucast_cuGraphAddEventRecordNode";
    add_edges(graph: u64, from: *const u64, to: *const u64, count: usize)
        = "gpucast_cuGraphAddDependencies";
    remove_node(node: u64) = "gpucast_cuGraphDestroyNode";
    instantiate(executable: *mut u64, graph: u64, flags: u64)
        = "gpucast_cuGraphInstantiateWithFlags";
    update(executable: u64, graph: u64, node: *mut u64, result: *mut i32)
        = "gpucast_cuGraphExecUpdate";
    launch_graph(executable: u64, stream: u64) = "gpucast_cuGraphLaunch";
    destroy_executable(executable: u64) = "gpucast_cuGraphExecDestroy";
    set_limit(which: i32, value: usize) = "gpucast_cuCtxSetLimit";
}

/// The error of a call that panicked, among others.
const UNKNOWN: i32 = 999;

const MODULE: &str = ".version 7.0\n.target sm_70\n.address_size 64\n\
    .visible .global .u32 total;\n\
    .visible .entry add(.param .u64 to, .param .u32 n) {\n\
    .reg .b32 %r<5>; .reg .b64 %d<3>; .reg .pred %p; ld.param.u64 %d1, [to]; ld.param.u32 %r1, [n];\n\
    mov.u32 %r2, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r2, %r3, 32, %r2;\n\
    setp.ge.u32 %p, %r2, %r1; @%p ret; mul.wide.u32 %d2, %r2, 4; add.u64 %d1, %d1, %d2;\n\
    atom.global.add.u32 %r4, [%d1], 1; atom.global.add.u32 %r4, [total], 1; ret; }\0";

/// Bytes of the program's own memory that copies read and write.
const OWN_BYTES: usize = 4096;

/// The choices of an input, and what calls have made so far.
struct Caller<'a> {
    rest: &'a [u8],
    own: Vec<u8>,
    addresses: Vec<u64>,
    streams: Vec<u64>,
    events: Vec<u64>,
    modules: Vec<u64>,
    functions: Vec<u64>,
    graphs: Vec<u64>,
    nodes: Vec<u64>,
    executables: Vec<u64>,
}

/// Makes the calls that an input chooses, and takes back what they made.
pub(crate) fn calls(input: &[u8]) {
    let mut context = 0;
    // SAFETY: the places are good for the calls.
    unsafe {
        made(init(0));
        made(retain(&mut context, 0));
        made(set_current(context));
    }
    let mut caller = Caller {
        rest: input,
        own: vec![1; OWN_BYTES],
        addresses: Vec::new(),
        streams: Vec::new(),
        events: Vec::new(),
        modules: Vec::new(),
        functions: Vec::new(),
        graphs: Vec::new(),
        nodes: Vec::new(),
        executables: Vec::new(),
    };
    while !caller.rest.is_empty() {
        caller.call();
    }
    caller.end();
}

/// Fails if a call has panicked.
fn made(result: i32) {
    assert_ne!(result, UNKNOWN, "a call failed in a way that it should know");
}

impl Caller<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        first
    }

    /// One of the numbers that calls have given, or none of them.
    fn handle(&mut self, among: fn(&Self) -> &Vec<u64>) -> u64 {
        let choice = usize::from(self.byte());
        let known = among(self);
        match choice {
            0 => 0,
            1 => u64::MAX,
            2 => 0x2001,
            _ => known.get(choice % known.len().max(1)).copied().unwrap_or(choice as u64),
        }
    }

    fn stream(&mut self) -> u64 {
        self.handle(|caller| &caller.streams)
    }

    /// An address of the device: in a block, behind one, or of a block that was freed.
    fn address(&mut self) -> u64 {
        let offset = [0, 4, 1, 64, 4096, 1 << 20, 1 << 32][usize::from(self.byte()) % 7];
        let choice = usize::from(self.byte());
        let known = &self.addresses;
        known.get(choice % known.len().max(1)).map_or(0, |address| address + offset)
    }

    fn bytes(&mut self) -> usize {
        [4, 0, 1, 16, 100, 4096, 1 << 16, 1 << 40, usize::MAX][usize::from(self.byte()) % 9]
    }

    fn extent(&mut self) -> u32 {
        [1, 0, 2, 7, 32, 64, 1025, u32::MAX][usize::from(self.byte()) % 8]
    }

    /// Adds what a call has made.
    fn keep(&mut self, result: i32, value: u64, to: fn(&mut Self) -> &mut Vec<u64>) {
        made(result);
        if result == 0 && value != 0 {
            to(self).push(value);
        }
    }

    /// Nodes to wait for.
    fn after(&mut self) -> Vec<u64> {
        (0..self.byte() % 3).map(|_| self.handle(|caller| &caller.nodes)).collect()
    }

    fn call(&mut self) {
        let mut place = 0_u64;
        // SAFETY: places are good for what the calls write; addresses of the program's own memory
        // are those of `own`, and no longer than it.
        unsafe {
            match self.byte() % 36 {
                0 | 1 => {
                    let bytes = self.bytes();
                    self.keep(allocate(&mut place, bytes), place, |caller| &mut caller.addresses);
                }
                2 => {
                    let (bytes, stream) = (self.bytes(), self.stream());
                    let result = allocate_in(&mut place, bytes, stream);
                    self.keep(result, place, |caller| &mut caller.addresses);
                }
                3 => made(free(self.address())),
                4 => {
                    let (address, stream) = (self.address(), self.stream());
                    made(free_in(address, stream));
                }
                5 => {
                    let mut bytes = 0;
                    made(range(&mut place, &mut bytes, self.address()));
                }
                6 | 7 => {
                    let (address, own) =
                        (self.address(), self.own.as_mut_ptr().expose_provenance());
                    let (bytes, stream) = (self.bytes().min(OWN_BYTES), self.stream());
                    // Null is the program's own, too.
                    match (address, self.byte() % 2) {
                        (0, _) => made(copy(0, 0, 16, stream)),
                        (_, 0) => made(copy(address, own as u64, bytes, stream)),
                        _ => made(copy(own as u64, address, bytes, stream)),
                    }
                }
                8 => {
                    let (to, from, bytes) = (self.address(), self.address(), self.bytes());
                    made(copy(to, from, bytes, self.stream()));
                }
                9 => {
                    let (to, count) = (self.address(), self.bytes());
                    made(fill(to, 7, count, self.stream()));
                }
                10 => {
                    let flags = u32::from(self.byte() % 3);
                    self.keep(create_stream(&mut place, flags), place, |tables| {
                        &mut tables.streams
                    });
                }
                11 => made(destroy_stream(self.stream())),
                12 => made(synchronise(self.stream())),
                13 => {
                    let (stream, event) = (self.stream(), self.handle(|caller| &caller.events));
                    made(wait_event(stream, event, u32::from(self.byte() % 2)));
                }
                14 => {
                    let flags = u32::from(self.byte() % 9);
                    self.keep(create_event(&mut place, flags), place, |tables| &mut tables.events);
                }
                15 => made(destroy_event(self.handle(|caller| &caller.events))),
                16 | 17 => {
                    let (event, stream) = (self.handle(|caller| &caller.events), self.stream());
                    made(record(event, stream));
                }
                18 => {
                    let mut ms = 0.0;
                    let (start, end) = (
                        self.handle(|caller| &caller.events),
                        self.handle(|caller| &caller.events),
                    );
                    made(elapsed(&mut ms, start, end));
                }
                19 => {
                    let image = if self.byte() == 1 { null() } else { MODULE.as_ptr().cast() };
                    self.keep(load(&mut place, image), place, |caller| &mut caller.modules);
                }
                20 => made(unload(self.handle(|caller| &caller.modules))),
                21 => {
                    let name = if self.byte() == 1 { c"none" } else { c"add" };
                    let module = self.handle(|caller| &caller.modules);
                    let result = function(&mut place, module, name.as_ptr());
                    self.keep(result, place, |caller| &mut caller.functions);
                }
                22 => {
                    let mut bytes = 0;
                    let module = self.handle(|caller| &caller.modules);
                    let name = if self.byte() == 1 { null() } else { c"total".as_ptr() };
                    let result = variable(&mut place, &mut bytes, module, name);
                    self.keep(result, place, |caller| &mut caller.addresses);
                }
                23 => {
                    let mut value = 0;
                    let which = i32::from(self.byte()) - 8;
                    made(attribute(&mut value, which, self.handle(|caller| &caller.functions)));
                    let (which, value) = (i32::from(self.byte()) - 8, i32::from(self.byte()) << 12);
                    made(set_attribute(self.handle(|caller| &caller.functions), which, value));
                }
                24 | 25 => self.launch(),
                26 => {
                    let stream = self.stream();
                    if self.byte().is_multiple_of(2) {
                        made(begin_capture(stream, 0));
                    } else {
                        let (graph, after) = (self.handle(|caller| &caller.graphs), self.after());
                        let (list, count) = (after.as_ptr(), after.len());
                        made(begin_capture_to_graph(stream, graph, list, null(), count, 0));
                    }
                }
                27 => {
                    let stream = self.stream();
                    self.keep(end_capture(stream, &mut place), place, |tables| &mut tables.graphs);
                }
                28 => self.keep(create_graph(&mut place, 0), place, |caller| &mut caller.graphs),
                29 => {
                    let graph = self.handle(|caller| &caller.graphs);
                    self.keep(clone_graph(&mut place, graph), place, |tables| &mut tables.graphs);
                    made(destroy_graph(self.handle(|caller| &caller.graphs)));
                }
                30 | 31 => {
                    let (graph, after) = (self.handle(|caller| &caller.graphs), self.after());
                    let (list, count) = (after.as_ptr(), after.len());
                    let node = &mut place;
                    let result = match self.byte() % 3 {
                        0 => add_empty(node, graph, list, count),
                        1 => {
                            let child = self.handle(|caller| &caller.graphs);
                            add_child(node, graph, list, count, child)
                        }
                        _ => {
                            let event = self.handle(|caller| &caller.events);
                            add_record(node, graph, list, count, event)
                        }
                    };
                    self.keep(result, place, |caller| &mut caller.nodes);
                }
                32 => {
                    let graph = self.handle(|caller| &caller.graphs);
                    let [from, to] = [(); 2].map(|()| self.handle(|caller| &caller.nodes));
                    made(add_edges(graph, &from, &to, 1));
                    if self.byte().is_multiple_of(4) {
                        made(remove_node(self.handle(|caller| &caller.nodes)));
                    }
                }
                33 => {
                    let graph = self.handle(|caller| &caller.graphs);
                    let result = instantiate(&mut place, graph, 0);
                    self.keep(result, place, |caller| &mut caller.executables);
                }
                34 => {
                    let executable = self.handle(|caller| &caller.executables);
                    made(launch_graph(executable, self.stream()));
                }
                _ => {
                    let executable = self.handle(|caller| &caller.executables);
                    let graph = self.handle(|caller| &caller.graphs);
                    made(update(executable, graph, null_mut(), null_mut()));
                    let (which, value) = (i32::from(self.byte() % 9), self.bytes());
                    made(set_limit(which, value.min(1 << 20)));
                }
            }
        }
    }

    fn launch(&mut self) {
        let function = self.handle(|caller| &caller.functions);
        let (address, n) = (self.address(), self.extent());
        let arguments = [
            std::ptr::from_ref(&address).cast::<c_void>(),
            std::ptr::from_ref(&n).cast::<c_void>(),
        ];
        // Of large grids each thread would be executed.
        let small = |extent: u32| if extent == u32::MAX { 0 } else { extent.min(64) };
        let grid = [(); 3].map(|()| small(self.extent()));
        let block = [(); 3].map(|()| self.extent());
        let (shared, stream) = (self.bytes() as u32, self.stream());
        // SAFETY: both arguments are good for the kernel's parameters.
        made(unsafe {
            launch(
                function,
                grid[0],
                grid[1].min(2),
                grid[2].min(2),
                block[0],
                block[1],
                block[2],
                shared,
                stream,
                arguments.as_ptr(),
                null(),
            )
        });
    }

    /// Takes everything back, so that the next input finds a device like this one's.
    fn end(self) {
        let mut graph = 0;
        // SAFETY: as in `call`.
        unsafe {
            for &stream in &self.streams {
                made(end_capture(stream, &mut graph));
                made(destroy_graph(graph));
                made(destroy_stream(stream));
            }
            for &executable in &self.executables {
                made(destroy_executable(executable));
            }
            for &graph in &self.graphs {
                made(destroy_graph(graph));
            }
            for &event in &self.events {
                made(destroy_event(event));
            }
            for &module in &self.modules {
                made(unload(module));
            }
            for &address in &self.addresses {
                made(free(address));
            }
        }
    }
}

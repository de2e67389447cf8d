//! One observer for all tests that look at events: it keeps what recorders are told of.

use gpucast_interpreter::{
    Access, AccessKind, Argument, Arrival, BadAccess, CopyDone, CtaStart, DeviceMemory, Exit,
    HeapUse, Launch, MbarrierStep, MbarrierUse, Observer, Options, Program, Recorder, Release,
    Silent, WarpArrival, WarpRelease, run,
};
use gpucast_ptx_frontend::types::StateSpace;

/// An event of synchronisation, memory management or a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Start { cta: u64 },
    Arrive { barrier: u32, warp: u32, mask: u32, waits: bool },
    Release { barrier: u32, waited: Vec<(u32, u32)>, whole: bool, guarded: Vec<u64> },
    Exit { warp: u32, mask: u32 },
    WarpArrive { mask: u32, members: u32 },
    WarpRelease { warp: u32, lanes: u32 },
    Bad { warp: u32, lane: u32, what: String },
    CopyDone { mask: u32, bytes: u32, first: u32, waited: bool },
    Mbarrier { step: MbarrierStep, mask: u32, completes: u32 },
    Heap { bytes: Option<u64> },
}

/// An access of one warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accessed {
    pub(crate) space: StateSpace,
    pub(crate) kind: AccessKind,
    pub(crate) bytes_per_lane: u32,
    pub(crate) mask: u32,
    /// The address of the first lane.
    pub(crate) first: u64,
}

/// The events of a launch, in the order of its CTAs.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<Event>,
    pub(crate) accesses: Vec<Accessed>,
    /// True if the launch ended with a fault.
    pub(crate) failed: bool,
}

/// The events of one CTA.
#[derive(Default)]
pub(crate) struct LogRecorder {
    events: Vec<Event>,
    accesses: Vec<Accessed>,
}

/// Launches kernel `k` of a module with one CTA of `threads` threads and a buffer of `bytes` bytes.
/// Returns the events, and the buffer's address.
pub(crate) fn logged(text: &str, threads: u32, bytes: u64) -> (Log, u64) {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, "k").unwrap();
    let mut memory = DeviceMemory::new();
    let out = memory.allocate("out", bytes).unwrap();
    let launch = Launch {
        grid: [1; 3],
        block: [threads, 1, 1],
        cluster: None,
        dynamic_shared_bytes: 0,
        arguments: vec![Argument::Address(out)],
    };
    let mut log = Log::default();
    run(&program, &launch, &mut memory, &mut log, &Options::default(), &Silent).unwrap();
    (log, out)
}

impl Observer for Log {
    type Recorder = LogRecorder;

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn recorder(&self, _program: &Program) -> LogRecorder {
        LogRecorder::default()
    }

    fn wave(&self) -> usize {
        3
    }

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut LogRecorder]) {
        for recorder in recorders {
            self.events.append(&mut recorder.events);
            self.accesses.append(&mut recorder.accesses);
        }
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut LogRecorder]) {
        self.failed = true;
        self.collect(first_cta, recorders);
    }
}

impl Recorder for LogRecorder {
    fn block(&mut self, _warp: u32, _block: u32, _mask: u32) {}

    fn guarded_lanes(&mut self, _lanes: &[u64]) {}

    fn branch(&mut self, _instruction: u32, _active: u32, _taken: u32) {}

    fn access(&mut self, access: &Access<'_>) {
        let &Access { space, kind, bytes_per_lane, mask, .. } = access;
        let first = access.addresses[mask.trailing_zeros() as usize];
        self.accesses.push(Accessed { space, kind, bytes_per_lane, mask, first });
    }

    fn start(&mut self, start: &CtaStart) {
        self.events.push(Event::Start { cta: start.cta });
    }

    fn arrive(&mut self, &Arrival { warp, barrier, mask, waits, .. }: &Arrival) {
        self.events.push(Event::Arrive { barrier, warp, mask, waits });
    }

    fn release(&mut self, release: &Release<'_>) {
        self.events.push(Event::Release {
            barrier: release.barrier,
            waited: release.waited.to_vec(),
            whole: release.whole,
            guarded: release.guarded_lanes.to_vec(),
        });
    }

    fn exit(&mut self, &Exit { warp, mask, .. }: &Exit) {
        self.events.push(Event::Exit { warp, mask });
    }

    fn warp_arrive(&mut self, arrival: &WarpArrival<'_>) {
        let members = arrival.members[arrival.mask.trailing_zeros() as usize];
        self.events.push(Event::WarpArrive { mask: arrival.mask, members });
    }

    fn warp_release(&mut self, &WarpRelease { warp, lanes }: &WarpRelease) {
        self.events.push(Event::WarpRelease { warp, lanes });
    }

    fn bad_access(&mut self, bad: &BadAccess<'_>) {
        let what = bad.kind.to_string();
        self.events.push(Event::Bad { warp: bad.warp, lane: bad.lane, what });
    }

    fn copy_done(&mut self, copy: &CopyDone<'_>) {
        let &CopyDone { mask, bytes, waited, .. } = copy;
        let first = copy.offsets[mask.trailing_zeros() as usize];
        self.events.push(Event::CopyDone { mask, bytes, first, waited });
    }

    fn mbarrier(&mut self, mbarrier: &MbarrierUse<'_>) {
        let &MbarrierUse { step, mask, completes, .. } = mbarrier;
        self.events.push(Event::Mbarrier { step, mask, completes });
    }

    fn heap(&mut self, heap: &HeapUse) {
        self.events.push(Event::Heap { bytes: heap.bytes });
    }
}

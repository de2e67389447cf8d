use std::sync::Arc;

use gpucast_ptx_frontend::ScalarType;

use super::*;
use crate::fault::FaultKind;
use gpucast_ptx_frontend::types::StateSpace;

/// Every event once, with arbitrary contents.
fn tell_everything(recorder: &mut impl Recorder) {
    let addresses = [0; 32];
    recorder.start(&CtaStart { cta: 0, ctaid: [0; 3], rank: 0, ctas_per_cluster: 1 });
    recorder.block(0, 0, 1);
    recorder.guarded_lanes(&[1]);
    recorder.branch(0, 1, 1);
    recorder.storing(&[0; 32]);
    recorder.access(&Access {
        instruction: 0,
        warp: 0,
        time: 0,
        space: StateSpace::Global,
        kind: AccessKind::Store,
        bytes_per_lane: 4,
        mask: 1,
        pattern: Pattern::General,
        addresses: &addresses,
        continues: false,
        distances: None,
    });
    recorder.arrive(&Arrival {
        instruction: 0,
        warp: 0,
        barrier: 0,
        mask: 1,
        waits: true,
        threads: None,
    });
    recorder.release(&Release {
        barrier: 0,
        instruction: 0,
        waited: &[],
        whole: true,
        guarded_lanes: &[],
    });
    recorder.exit(&Exit { instruction: 0, warp: 0, mask: 1 });
    recorder.warp_arrive(&WarpArrival { instruction: 0, warp: 0, mask: 1, members: &[1; 32] });
    recorder.shuffle(&ShuffleUse {
        instruction: 0,
        warp: 0,
        mask: 1,
        members: None,
        sources: &[0; 32],
    });
    recorder.warp_release(&WarpRelease { warp: 0, lanes: 1 });
    recorder.mbarrier(&MbarrierUse {
        instruction: 0,
        warp: 0,
        mask: 1,
        step: MbarrierStep::Arrive,
        completes: 0,
        addresses: &addresses,
    });
    recorder.cluster_barrier(&ClusterUse { warp: 0, mask: 1, step: ClusterStep::Arrive });
    recorder.copy_done(&CopyDone {
        instruction: 0,
        warp: 0,
        mask: 1,
        bytes: 4,
        offsets: &[0; 32],
        waited: true,
    });
    recorder.group(&GroupUse {
        warp: 0,
        mask: 1,
        queue: GroupQueue::Bulk,
        step: GroupStep::Commit,
    });
    let kind = FaultKind::Trap;
    recorder.bad_access(&BadAccess { instruction: 0, warp: 0, lane: 0, kind: &kind });
    recorder.tensor(&TensorUse {
        instruction: 0,
        ty: ScalarType::F16,
        sum: ScalarType::F32,
        operations: 2,
        warp: 0,
        rows: 1,
        columns: 1,
    });
    recorder.tensor_memory(&TensorMemoryUse {
        instruction: 0,
        warp: 0,
        lane: 0,
        step: TensorMemoryStep::WaitLoads,
        cells: &[],
    });
    recorder.heap(&HeapUse {
        instruction: 0,
        warp: 0,
        lane: 0,
        address: 0,
        bytes: None,
        heap: (0, 0),
    });
    let registers: &Registers<'_> = &|_| None;
    recorder.step(&Step { instruction: 0, warp: 0, lanes: 1, executing: 1, registers });
}

#[test]
fn a_pair_of_recorders_passes_every_event_on_to_both() {
    let mut pair = (Names::default(), (NoRecorder, Names::default()));
    tell_everything(&mut pair);
    let (first, (_, second)) = pair;
    for mut heard in [first.0, second.0] {
        heard.sort_unstable();
        let mut all = Names::ALL.to_vec();
        all.sort_unstable();
        assert_eq!(heard, all);
    }
}

#[test]
fn several_recorders_hear_every_event() {
    let each = vec![Names::default(), Names::default(), Names::default()];
    let mut several = SeveralRecorders { each, have_parted: Arc::default() };
    tell_everything(&mut several);
    let mut all = Names::ALL.to_vec();
    all.sort_unstable();
    for mut heard in several.each {
        heard.0.sort_unstable();
        assert_eq!(heard.0, all);
    }
}

/// An observer that keeps the names of the calls that it gets.
#[derive(Debug, Default)]
struct Calls(Vec<&'static str>);

impl Observer for Calls {
    type Recorder = NoRecorder;

    fn recorder(&self, _program: &Program) -> NoRecorder {
        NoRecorder
    }

    fn wave(&self) -> usize {
        7
    }

    fn collect(&mut self, _first_cta: u64, _recorders: &mut [&mut NoRecorder]) {
        self.0.push("collect");
    }

    fn collect_failed(&mut self, _first_cta: u64, _recorders: &mut [&mut NoRecorder]) {
        self.0.push("collect_failed");
    }

    fn fresh(&self) -> Self {
        Self(vec!["fresh"])
    }
}

#[test]
fn a_pair_of_observers_passes_every_call_on_to_both() {
    let before = (Calls::default(), Calls::default());
    let mut pair = before.fresh();
    let mut recorder = (NoRecorder, NoRecorder);
    pair.collect(0, &mut [&mut recorder]);
    pair.collect_failed(1, &mut [&mut recorder]);
    assert_eq!(pair.0.0, ["fresh", "collect", "collect_failed"]);
    assert_eq!(pair.1.0, pair.0.0);
    assert_eq!(before.0.0.len() + before.1.0.len(), 0, "the original has seen nothing");
    assert_eq!(pair.wave(), 7);
}

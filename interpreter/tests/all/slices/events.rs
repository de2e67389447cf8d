//! Every event of a launch but values, as lines.

use gpucast_interpreter::{
    Access, Arrival, ClusterUse, CopyDone, CtaStart, Exit, GroupUse, MbarrierUse, Observer,
    Pattern, Program, Recorder, Release, WarpArrival, WarpRelease,
};

/// Events that are kept as lines; all that follow are mixed into one number.
const MOST_LINES: usize = 2000;

/// The events of a launch, in the order of its CTAs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Events {
    lines: Vec<String>,
    rest: u64,
    number: u64,
}

impl Events {
    fn add(&mut self, line: String) {
        self.number += 1;
        if self.lines.len() < MOST_LINES {
            return self.lines.push(line);
        }
        for byte in line.bytes() {
            self.rest = (self.rest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// Insist that both are the same.
    pub(crate) fn insist_on(&self, whole: &Self, launch: usize, text: &str) {
        for (index, (part, whole)) in self.lines.iter().zip(&whole.lines).enumerate() {
            assert_eq!(part, whole, "event {index} of launch {launch} of\n{text}");
        }
        assert_eq!((self.number, self.rest), (whole.number, whole.rest), "{launch} of\n{text}");
    }
}

/// The events of one CTA.
#[derive(Debug, Default)]
pub(crate) struct OfCta(Vec<String>);

impl Observer for Events {
    type Recorder = OfCta;

    fn fresh(&self) -> Self {
        Self::default()
    }

    fn recorder(&self, _program: &Program) -> OfCta {
        OfCta::default()
    }

    fn wave(&self) -> usize {
        2
    }

    fn collect(&mut self, first_cta: u64, recorders: &mut [&mut OfCta]) {
        self.add(format!("CTAs from {first_cta} on"));
        for recorder in recorders {
            recorder.0.drain(..).for_each(|line| self.add(line));
        }
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut OfCta]) {
        self.add("failed".to_owned());
        self.collect(first_cta, recorders);
    }
}

impl Recorder for OfCta {
    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        self.0.push(format!("block {warp} {block} {mask:08x}"));
    }

    fn guarded_lanes(&mut self, lanes: &[u64]) {
        self.0.push(format!("guarded {lanes:?}"));
    }

    fn branch(&mut self, instruction: u32, active: u32, taken: u32) {
        self.0.push(format!("branch {instruction} {active:08x} {taken:08x}"));
    }

    fn access(&mut self, access: &Access<'_>) {
        let Access { instruction, warp, time, space, kind, bytes_per_lane, mask, .. } = *access;
        let lanes: Vec<String> = (0..32)
            .filter(|lane| mask >> lane & 1 != 0)
            .map(|lane| {
                let step = u64::from(bytes_per_lane) * lane;
                let address = match access.pattern {
                    Pattern::Uniform => access.addresses[0],
                    Pattern::Consecutive => access.addresses[0] + step,
                    Pattern::General => access.addresses[lane as usize],
                };
                format!("{address:x}")
            })
            .collect();
        self.0.push(format!(
            "access {instruction} {warp} {time} {space:?} {kind:?} {bytes_per_lane} {mask:08x} {} {}",
            access.continues,
            lanes.join(",")
        ));
    }

    fn arrive(&mut self, arrival: &Arrival) {
        self.0.push(format!("{arrival:?}"));
    }

    fn release(&mut self, release: &Release<'_>) {
        self.0.push(format!("{release:?}"));
    }

    fn start(&mut self, start: &CtaStart) {
        self.0.push(format!("{start:?}"));
    }

    fn exit(&mut self, exit: &Exit) {
        self.0.push(format!("{exit:?}"));
    }

    fn warp_arrive(&mut self, arrival: &WarpArrival<'_>) {
        let WarpArrival { instruction, warp, mask, .. } = arrival;
        self.0.push(format!("warp arrives {instruction} {warp} {mask:08x}"));
    }

    fn warp_release(&mut self, release: &WarpRelease) {
        self.0.push(format!("{release:?}"));
    }

    fn mbarrier(&mut self, mbarrier: &MbarrierUse<'_>) {
        let MbarrierUse { instruction, warp, mask, step, completes, .. } = mbarrier;
        self.0.push(format!("mbarrier {instruction} {warp} {mask:08x} {step:?} {completes:08x}"));
    }

    fn cluster_barrier(&mut self, cluster: &ClusterUse) {
        self.0.push(format!("{cluster:?}"));
    }

    fn copy_done(&mut self, copy: &CopyDone<'_>) {
        let CopyDone { instruction, warp, mask, bytes, waited, .. } = copy;
        self.0.push(format!("copied {instruction} {warp} {mask:08x} {bytes} {waited}"));
    }

    fn group(&mut self, group: &GroupUse) {
        self.0.push(format!("{group:?}"));
    }
}

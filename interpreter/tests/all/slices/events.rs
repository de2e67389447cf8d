//! Every event of a launch but values, as lines.

use std::collections::BTreeMap;

use gpucast_interpreter::{
    Access, Arrival, ClusterUse, CopyDone, CountOverflow, CtaStart, Exit, GridBox, GroupUse,
    MbarrierUse, Observer, Pattern, Program, Recorder, Release, Shifts, StandIn, Tally,
    WarpArrival, WarpRelease,
};

/// Events that are kept as lines; all that follow are mixed into one number.
const MOST_LINES: usize = 2000;

/// The events of a launch, in the order of its CTAs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Events {
    lines: Vec<String>,
    rest: u64,
    number: u64,
    /// True if CTAs are not told apart by their places.
    is_anonymous: bool,
}

impl Events {
    /// Events without the places of CTAs.
    pub(crate) fn anonymous() -> Self {
        Self { is_anonymous: true, ..Self::default() }
    }

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
pub(crate) struct OfCta {
    start: Option<String>,
    lines: Vec<Line>,
}

/// One event.
#[derive(Debug, Default)]
struct Line {
    text: String,
    addresses: Vec<u64>,
}

impl OfCta {
    fn push(&mut self, text: String) {
        self.lines.push(Line { text, addresses: Vec::new() });
    }

    /// All events as text, and no event any more.
    fn take(&mut self, is_anonymous: bool) -> Vec<String> {
        let start = self.start.take().filter(|_| !is_anonymous);
        let line = |Line { text, addresses }: Line| {
            let addresses: Vec<_> = addresses.iter().map(|place| format!("{place:x}")).collect();
            format!("{text} {}", addresses.join(","))
        };
        start.into_iter().chain(self.lines.drain(..).map(line)).collect()
    }
}

impl StandIn for OfCta {
    /// The distance of each address of each event.
    type Shift = Vec<Vec<u64>>;

    fn become_anonymous(&mut self) {
        self.start = None;
    }

    /// A few CTAs are executed themselves.
    fn singles_out(&self, cta: u64) -> bool {
        cta % 37 == 20
    }

    fn shift_to(&self, other: &Self) -> Option<Self::Shift> {
        let distances = self.lines.iter().zip(&other.lines).map(|(one, other)| {
            let is_alike = one.text == other.text && one.addresses.len() == other.addresses.len();
            let both = one.addresses.iter().zip(&other.addresses);
            is_alike.then(|| both.map(|(one, other)| other.wrapping_sub(*one)).collect())
        });
        (self.lines.len() == other.lines.len()).then(|| distances.collect()).flatten()
    }

    fn stand_in(&mut self, representative: &Self, shifts: &[(&Self::Shift, u32)]) {
        for (at, line) in representative.lines.iter().enumerate() {
            let moved = |(lane, address): (usize, &u64)| {
                shifts.iter().fold(*address, |address, (shift, steps)| {
                    address.wrapping_add(shift[at][lane].wrapping_mul(u64::from(*steps)))
                })
            };
            let addresses = line.addresses.iter().enumerate().map(moved).collect();
            self.lines.push(Line { text: line.text.clone(), addresses });
        }
    }
}

impl Observer for Events {
    type Recorder = OfCta;

    fn fresh(&self) -> Self {
        Self { is_anonymous: self.is_anonymous, ..Self::default() }
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
            recorder.take(self.is_anonymous).into_iter().for_each(|line| self.add(line));
        }
    }

    fn collect_failed(&mut self, first_cta: u64, recorders: &mut [&mut OfCta]) {
        self.add("failed".to_owned());
        self.collect(first_cta, recorders);
    }
}

/// The number of events of each kind. Accesses are of one kind if their lanes lie alike to each
/// other and to lines of 128 bytes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sums(BTreeMap<String, u64>);

impl Observer for Sums {
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

    fn collect(&mut self, _first_cta: u64, recorders: &mut [&mut OfCta]) {
        for recorder in recorders {
            self.add(recorder, 1);
        }
    }
}

impl Sums {
    fn add(&mut self, record: &mut OfCta, ctas: u64) {
        record.start = None;
        for Line { text, addresses } in record.lines.drain(..) {
            let first = addresses.first().copied().unwrap_or_default();
            let lanes =
                addresses.iter().map(|address| address.wrapping_sub(first)).collect::<Vec<_>>();
            let kind = format!("{text} {} {lanes:?}", first % 128);
            *self.0.entry(kind).or_default() += ctas;
        }
    }
}

impl Tally for Sums {
    fn tally(
        &mut self,
        record: &mut OfCta,
        ctas: u128,
        places: &GridBox,
        _shifts: &Shifts<'_, OfCta>,
    ) -> Result<(), CountOverflow> {
        assert_eq!(places.ctas(), ctas);
        self.add(record, ctas.try_into().unwrap());
        Ok(())
    }
}

impl Recorder for OfCta {
    fn block(&mut self, warp: u32, block: u32, mask: u32) {
        self.push(format!("block {warp} {block} {mask:08x}"));
    }

    fn guarded_lanes(&mut self, lanes: &[u64]) {
        self.push(format!("guarded {lanes:?}"));
    }

    fn branch(&mut self, instruction: u32, active: u32, taken: u32) {
        self.push(format!("branch {instruction} {active:08x} {taken:08x}"));
    }

    fn access(&mut self, access: &Access<'_>) {
        let Access { instruction, warp, time, space, kind, bytes_per_lane, mask, .. } = *access;
        let lanes = (0..32).filter(|lane| mask >> lane & 1 != 0).map(|lane| {
            let step = u64::from(bytes_per_lane) * lane;
            match access.pattern {
                Pattern::Uniform => access.addresses[0],
                Pattern::Consecutive => access.addresses[0] + step,
                Pattern::General => access.addresses[lane as usize],
            }
        });
        let continues = access.continues;
        let text = format!(
            "access {instruction} {warp} {time} {space:?} {kind:?} {bytes_per_lane} {mask:08x} \
             {continues}"
        );
        self.lines.push(Line { text, addresses: lanes.collect() });
    }

    fn arrive(&mut self, arrival: &Arrival) {
        self.push(format!("{arrival:?}"));
    }

    fn release(&mut self, release: &Release<'_>) {
        self.push(format!("{release:?}"));
    }

    fn start(&mut self, start: &CtaStart) {
        self.start = Some(format!("{start:?}"));
    }

    fn exit(&mut self, exit: &Exit) {
        self.push(format!("{exit:?}"));
    }

    fn warp_arrive(&mut self, arrival: &WarpArrival<'_>) {
        let WarpArrival { instruction, warp, mask, .. } = arrival;
        self.push(format!("warp arrives {instruction} {warp} {mask:08x}"));
    }

    fn warp_release(&mut self, release: &WarpRelease) {
        self.push(format!("{release:?}"));
    }

    fn mbarrier(&mut self, mbarrier: &MbarrierUse<'_>) {
        let MbarrierUse { instruction, warp, mask, step, completes, .. } = mbarrier;
        self.push(format!("mbarrier {instruction} {warp} {mask:08x} {step:?} {completes:08x}"));
    }

    fn cluster_barrier(&mut self, cluster: &ClusterUse) {
        self.push(format!("{cluster:?}"));
    }

    fn copy_done(&mut self, copy: &CopyDone<'_>) {
        let CopyDone { instruction, warp, mask, bytes, waited, .. } = copy;
        self.push(format!("copied {instruction} {warp} {mask:08x} {bytes} {waited}"));
    }

    fn group(&mut self, group: &GroupUse) {
        self.push(format!("{group:?}"));
    }
}

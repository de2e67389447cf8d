//! The observer that writes a recording.

use super::{Cta, Issue, Recording, Slots, Usage, Wait, Warp};
use crate::observer::{self, CtaStart, Observer, Resource, Spent, WarpStart, Work};
use crate::parameters::Unit;
use crate::states::State;

/// The number of an issue, from 1 on; 0 is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Tag(u32);

impl Tag {
    fn index(self) -> Option<u32> {
        self.0.checked_sub(1)
    }

    fn or(self, other: Self) -> Self {
        if self.0 == 0 { other } else { self }
    }
}

/// A place of a warp on the SM.
#[derive(Clone, Copy, Debug, Default)]
struct WarpPlace {
    /// The warp that has it, in [`Recording::warps`].
    warp: u32,
    /// The place of its CTA.
    cta: u32,
    /// Its last issue, or the one that made room for its CTA.
    last: Tag,
}

/// A place of a CTA on the SM.
#[derive(Clone, Copy, Debug, Default)]
struct CtaPlace {
    /// The CTA that has it, in [`Recording::ctas`].
    cta: u32,
    /// Its warps that have not ended.
    live: u32,
    /// The issue that made room for it.
    follows: Tag,
}

/// The latest issues of a sub-core.
#[derive(Clone, Copy, Debug, Default)]
struct Latest {
    any: Tag,
    /// Of instructions in the queue for the load-store path.
    queued: Tag,
    of_unit: [Tag; Unit::COUNT],
}

/// Writes down what an SM does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Recorder {
    recording: Recording,
    warps: Vec<WarpPlace>,
    ctas: Vec<CtaPlace>,
    latest: Vec<Latest>,
    /// Units that the sub-cores share.
    is_shared: [bool; Unit::COUNT],
    /// The waits of the warp that is about to issue.
    waits: Vec<Spent<Tag>>,
    /// What its sub-core's slots went to.
    slots: Vec<Spent<()>>,
    /// The issue that ended the last CTA.
    made_room: Tag,
}

impl Recorder {
    /// A recorder of an SM that stands for some.
    pub(crate) fn new(alike: f64) -> Self {
        let usage = vec![Usage::default(); Resource::COUNT];
        Self { recording: Recording { alike, usage, ..Recording::default() }, ..Self::default() }
    }

    /// The recording.
    pub(crate) fn finish(self) -> Recording {
        self.recording
    }

    /// Adds what a sub-core's slots went to, the last ones of which were told first.
    fn note_slots(&mut self, sub_core: u32) {
        let mut told = std::mem::take(&mut self.slots);
        told.sort_by(|a, b| a.from.total_cmp(&b.from));
        let slots = at(&mut self.recording.slots, sub_core);
        for Spent { state, from, until, .. } in told.drain(..) {
            match slots.last_mut() {
                _ if until <= from => {}
                Some(last) if last.state == state => last.until = until,
                _ => slots.push(Slots { state, from, until }),
            }
        }
        self.slots = told;
    }

    /// The issue that another one follows, after waits in order of time; and what the last of them
    /// was for.
    fn follows(&self, issue: &observer::Issue, waits: &[Spent<Tag>]) -> (Tag, State) {
        let own = self.warps[issue.warp as usize].last;
        let Some(last) = waits.last() else { return (own, State::Selected) };
        let latest = &self.latest[issue.sub_core as usize];
        let blocking = match last.state {
            _ if last.by != Tag::default() => last.by,
            State::NotSelected => latest.any,
            State::MathPipe => issue.unit.map_or(own, |unit| match self.is_shared[unit as usize] {
                true => {
                    self.latest.iter().map(|warp| warp.of_unit[unit as usize]).max().unwrap_or(own)
                }
                false => latest.of_unit[unit as usize],
            }),
            State::LgThrottle | State::MioThrottle => latest.queued,
            _ => own,
        };
        // An event divides its clocks among states: the longest one gives the name.
        let parts = waits.iter().rev().take_while(|wait| wait.by == last.by);
        let parts = parts.take_while(|part| last.by != Tag::default() || part.state == last.state);
        let longest = parts.max_by(|a, b| (a.until - a.from).total_cmp(&(b.until - b.from)));
        (blocking.or(own), longest.map_or(last.state, |longest| longest.state))
    }
}

/// The element at a place, which is made if it is not there.
fn at<T: Clone + Default>(all: &mut Vec<T>, place: u32) -> &mut T {
    let place = place as usize;
    if all.len() <= place {
        all.resize(place + 1, T::default());
    }
    &mut all[place]
}

impl Observer for Recorder {
    const WATCHES: bool = true;
    type Tag = Tag;

    fn cta_starts(&mut self, start: CtaStart) {
        let CtaStart { place, class, sample, clock } = start;
        let cta = self.recording.ctas.len() as u32;
        *at(&mut self.ctas, place) = CtaPlace { cta, live: 0, follows: self.made_room };
        self.recording.ctas.push(Cta { class, sample, started: clock, ended: clock });
    }

    fn warp_starts(&mut self, start: WarpStart) {
        let WarpStart { place, cta, number, sub_core, clock } = start;
        let of_cta = at(&mut self.ctas, cta);
        of_cta.live += 1;
        let CtaPlace { cta: of_warp, follows, .. } = *of_cta;
        let warp = self.recording.warps.len() as u32;
        *at(&mut self.warps, place) = WarpPlace { warp, cta, last: follows };
        at(&mut self.latest, sub_core);
        self.recording.warps.push(Warp { cta: of_warp, number, sub_core, started: clock });
    }

    fn warp_spends(&mut self, _warp: u32, spent: Spent<Tag>) {
        self.waits.push(spent);
    }

    fn slots_go_to(&mut self, spent: Spent<()>) {
        self.slots.push(spent);
    }

    fn issues(&mut self, issue: observer::Issue) -> Tag {
        let mut waits = std::mem::take(&mut self.waits);
        waits.sort_by(|a, b| a.from.total_cmp(&b.from));
        let (follows, waited_for) = self.follows(&issue, &waits);
        self.note_slots(issue.sub_core);
        for Spent { state, from, until, by } in waits.drain(..) {
            self.recording.waits.push(Wait { state, from, until, producer: by.index() });
        }
        self.waits = waits;
        let observer::Issue { warp: place, sub_core, instruction, unit, is_queued, clock } = issue;
        let tag = Tag(self.recording.issues.len() as u32 + 1);
        let warp = &mut self.warps[place as usize];
        warp.last = tag;
        self.recording.issues.push(Issue {
            clock,
            warp: warp.warp,
            instruction,
            waits_end: self.recording.waits.len() as u32,
            follows: follows.index(),
            waited_for,
        });
        let latest = &mut self.latest[sub_core as usize];
        latest.any = tag;
        if is_queued {
            latest.queued = tag;
        }
        if let Some(unit) = unit {
            latest.of_unit[unit as usize] = tag;
        }
        tag
    }

    fn works(&mut self, work: Work) {
        let Work { resource, copies, from, until } = work;
        if let Resource::Unit(unit) = resource {
            self.is_shared[unit as usize] = copies == 1;
        }
        self.recording.usage[resource.place()].add(copies, from, until);
    }

    fn warp_ends(&mut self, place: u32, clock: u64) {
        let WarpPlace { cta, last, .. } = self.warps[place as usize];
        let of_cta = &mut self.ctas[cta as usize];
        let ended = &mut self.recording.ctas[of_cta.cta as usize].ended;
        *ended = clock.max(*ended);
        of_cta.live -= 1;
        if of_cta.live == 0 {
            self.made_room = last;
        }
    }

    fn sub_core_ends(&mut self, sub_core: usize) {
        self.note_slots(sub_core as u32);
    }

    fn sm_ends(&mut self, ctas_ended: f64, end: f64, last_store: Option<Tag>) {
        self.recording.ctas_ended = ctas_ended;
        self.recording.end = end;
        self.recording.last_store = last_store.and_then(Tag::index);
    }
}

//! Instructions of several lanes of a warp: do those come that a mask names, and do shuffles read
//! lanes that take part?

use gpucast_interpreter::{Exit, ShuffleUse, WarpArrival};

use super::CtaChecker;
use crate::clocks::lanes;
use crate::finding::{Absence, Example, Key, Kind};

/// The lanes of a warp, and the reasons why they wait.
#[derive(Clone, Debug)]
pub(super) struct WarpLanes {
    /// Lanes that have exited.
    pub(super) exited: u32,
    /// The instruction at which each of them did.
    pub(super) exits: [u32; 32],
    /// Lanes that wait for others.
    meetings: Vec<Meeting>,
}

/// Lanes that wait for all others that their mask names.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    /// Instruction at which the first of them waits.
    instruction: u32,
    members: u32,
    /// The lanes that have come.
    here: u32,
}

impl WarpLanes {
    /// A warp whose lanes have done nothing yet.
    pub(super) fn new() -> Self {
        Self { exited: 0, exits: [u32::MAX; 32], meetings: Vec::new() }
    }

    pub(super) fn exit(&mut self, exit: &Exit) {
        self.exited |= exit.mask;
        for lane in lanes(exit.mask) {
            self.exits[lane as usize] = exit.instruction;
        }
    }
}

impl CtaChecker {
    /// Lanes arrive at an instruction with a mask.
    pub(super) fn check_masks(&mut self, arrival: &WarpArrival<'_>) {
        self.check_own_lane(arrival);
        if !self.launch.roles.of(arrival.instruction).names_lanes {
            return;
        }
        let mut rest = arrival.mask;
        while rest != 0 {
            let first = rest.trailing_zeros();
            let members = arrival.members[first as usize];
            let same = |&lane: &u32| arrival.members[lane as usize] == members;
            let group = lanes(rest).filter(same).fold(0, |group, lane| group | 1 << lane);
            if group != arrival.mask {
                self.check_same_mask(arrival, group, members & arrival.mask & !group);
            }
            self.meet(arrival, group, members);
            rest &= !group;
        }
    }

    /// A lane has to be in its own mask.
    fn check_own_lane(&mut self, arrival: &WarpArrival<'_>) {
        let outside = |&lane: &u32| arrival.members[lane as usize] >> lane & 1 == 0;
        let Some(lane) = lanes(arrival.mask).find(outside) else { return };
        let count = lanes(arrival.mask).filter(outside).count() as u64;
        let (launch, ctaid) = (&self.launch, self.cta.ctaid);
        let instruction = arrival.instruction;
        let key = Key { kind: Kind::NotInMask, instruction, other: None };
        self.found.add(key, count, || Example {
            party: launch.party(ctaid, instruction, Some(32 * arrival.warp + lane)),
            other: None,
            place: None,
            detail: Some(mask_text(arrival.members[lane as usize])),
            is_fault: false,
        });
    }

    /// Lanes of `others` are named by the mask of `group`, and are here with another mask.
    fn check_same_mask(&mut self, arrival: &WarpArrival<'_>, group: u32, others: u32) {
        if others == 0 {
            return;
        }
        let (lane, other) = (group.trailing_zeros(), others.trailing_zeros());
        let [mask, other_mask] = [lane, other].map(|lane| arrival.members[lane as usize]);
        let (launch, ctaid) = (&self.launch, self.cta.ctaid);
        let (instruction, first) = (arrival.instruction, 32 * arrival.warp);
        let key = Key { kind: Kind::DifferingMasks, instruction, other: None };
        self.found.add(key, u64::from(group.count_ones()), || Example {
            party: launch.party(ctaid, instruction, Some(first + lane)),
            other: Some(launch.party(ctaid, instruction, Some(first + other))),
            place: None,
            detail: Some(format!("{mask:#010x} and {other_mask:#010x}")),
            is_fault: false,
        });
    }

    /// The lanes of `group` come to an instruction that all of `members` must execute.
    fn meet(&mut self, arrival: &WarpArrival<'_>, group: u32, members: u32) {
        let (warp, instruction) = (arrival.warp, arrival.instruction);
        let anywhere = self.launch.roles.of(instruction).meets_anywhere;
        let waiting = &mut self.warps[warp as usize];
        let live = self.launch.lanes_of_warp(warp) & !waiting.exited;
        let gone = members & waiting.exited;
        let same_place = |meeting: &Meeting| {
            meeting.instruction == instruction
                || anywhere && self.launch.roles.of(meeting.instruction).meets_anywhere
        };
        let same_mask = |meeting: &Meeting| meeting.members == members && same_place(meeting);
        let mut meeting = match waiting.meetings.iter().position(same_mask) {
            Some(at) => waiting.meetings.swap_remove(at),
            None => Meeting { instruction, members, here: 0 },
        };
        meeting.here |= group;
        if members & live & !(meeting.here | arrival.mask) != 0 {
            waiting.meetings.push(meeting);
        }
        if gone != 0 {
            self.missing(warp, Meeting { instruction, members, here: group }, gone);
        }
    }

    /// Lanes exit: do others wait for them?
    pub(super) fn check_exit(&mut self, exit: &Exit) {
        let warp = &mut self.warps[exit.warp as usize];
        let live = self.launch.lanes_of_warp(exit.warp) & !warp.exited;
        let meetings = std::mem::take(&mut warp.meetings);
        for meeting in meetings {
            let gone = meeting.members & exit.mask & !meeting.here;
            if gone != 0 {
                self.missing(exit.warp, meeting, gone);
            }
            if meeting.members & live & !meeting.here != 0 {
                self.warps[exit.warp as usize].meetings.push(meeting);
            }
        }
    }

    /// The lanes of `gone` have exited, and so will not come.
    fn missing(&mut self, warp: u32, meeting: Meeting, gone: u32) {
        let absent = gone.trailing_zeros();
        let exit = self.warps[warp as usize].exits[absent as usize];
        let (launch, ctaid) = (&self.launch, self.cta.ctaid);
        let Meeting { instruction, members, here } = meeting;
        let key = Key { kind: Kind::MissingLanes, instruction, other: Some(exit) };
        self.found.add(key, 1, || Example {
            party: launch.party(ctaid, instruction, Some(32 * warp + here.trailing_zeros())),
            other: Some(launch.party(ctaid, exit, Some(32 * warp + absent))),
            place: None,
            detail: Some(mask_text(members)),
            is_fault: false,
        });
    }

    /// Lanes read each other's registers.
    pub(super) fn check_sources(&mut self, shuffle: &ShuffleUse<'_>) {
        let first = 32 * shuffle.warp;
        let there = self.launch.lanes_of_warp(shuffle.warp);
        for lane in lanes(shuffle.mask) {
            let source = shuffle.sources[lane as usize];
            let members = shuffle.members.map(|members| members[lane as usize]);
            let warp = &self.warps[shuffle.warp as usize];
            let is_in = |mask: u32| mask >> source & 1 != 0;
            let absence = if source == lane || shuffle.members.is_none() && is_in(shuffle.mask) {
                continue;
            } else if members.is_some_and(|members| !is_in(members)) {
                Absence::OutsideMask
            } else if !is_in(there) {
                Absence::NoThread
            } else if is_in(warp.exited) {
                Absence::Exited
            } else if members.is_none() {
                Absence::Inactive
            } else {
                // The lane waits for it; if it never comes, that is another finding.
                continue;
            };
            let exit = (absence == Absence::Exited).then(|| warp.exits[source as usize]);
            let (launch, ctaid) = (&self.launch, self.cta.ctaid);
            let instruction = shuffle.instruction;
            let key = Key { kind: Kind::ReadsLane(absence), instruction, other: exit };
            self.found.add(key, 1, || Example {
                party: launch.party(ctaid, instruction, Some(first + lane)),
                other: (absence != Absence::NoThread)
                    .then(|| launch.party(ctaid, exit.unwrap_or(u32::MAX), Some(first + source))),
                place: None,
                detail: Some(match members {
                    Some(members) => format!("lane {source}; {}", mask_text(members)),
                    None => format!("lane {source}"),
                }),
                is_fault: false,
            });
        }
    }
}

fn mask_text(mask: u32) -> String {
    format!("the mask is {mask:#010x}")
}

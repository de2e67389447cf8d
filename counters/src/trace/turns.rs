//! Lines of the L2 at which atomics of the recorded CTAs take turns.
//!
//! While a CTA runs, each of its atomics is noted with all lines that it changes. When the launch
//! has ended, the recorded CTAs say which lines CTAs share: those that two of them change. Only
//! those lines are kept, and the others that a CTA changes more than once.

use std::collections::{BTreeMap, HashMap};

use gpucast_interpreter::{Access, AccessKind};
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_simulation::launch::{Beside, Request, Turn};

use super::{ClassTrace, CtaRecord};
use crate::patterns::lane_addresses;
use crate::units::{LINE_BYTES, SECTOR_BYTES};

/// Bytes of a lane's widest atomic; what is wider is a bulk copy that reduces.
const WIDEST_UPDATE: u32 = 16;

/// A line that an atomic of a warp changes, and the steps that this takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LineUpdate {
    line: u64,
    steps: u8,
}

/// The lines that atomics of one recorded CTA change, as lists one after the other.
#[derive(Clone, Debug, Default)]
pub(super) struct CtaUpdates {
    lines: Vec<LineUpdate>,
    /// The latest list.
    latest: Vec<LineUpdate>,
    /// Where it stands.
    at: u32,
}

impl CtaUpdates {
    /// Notes an access, if it is an atomic on global memory. Returns where its lines stand. Beyond
    /// `most_lines` lines nothing is noted any more.
    pub(super) fn note(&mut self, access: &Access<'_>, most_lines: u64) -> Beside {
        let updates = matches!(access.kind, AccessKind::Atomic | AccessKind::Reduction);
        let is_plain = access.space == StateSpace::Global && access.bytes_per_lane <= WIDEST_UPDATE;
        if !updates || !is_plain || access.mask == 0 {
            return Beside::Nothing;
        }
        let lines = line_updates(access);
        // Loops often change the same lines again.
        if lines != self.latest {
            let Ok(at) = u32::try_from(self.lines.len()) else { return Beside::Nothing };
            if self.lines.len() as u64 + lines.len() as u64 > most_lines {
                return Beside::Nothing;
            }
            self.lines.extend_from_slice(&lines);
            (self.latest, self.at) = (lines, at);
        }
        Beside::Turns { first: self.at, lines: self.latest.len() as u8 }
    }

    /// The lines that a request of the CTA changes.
    fn of(&self, request: &Request) -> &[LineUpdate] {
        let Beside::Turns { first, lines } = request.beside else { return &[] };
        let first = first as usize;
        self.lines.get(first..first + usize::from(lines)).unwrap_or(&[])
    }
}

/// The lines that an atomic changes, ascending. A step changes a sector; lanes at one address need
/// a step each.
fn line_updates(access: &Access<'_>) -> Vec<LineUpdate> {
    let mut room = [0; 32];
    let all = lane_addresses(access, &mut room);
    let is_active = |lane: &usize| access.mask >> lane & 1 == 1;
    let mut addresses: Vec<u64> = (0..32).filter(is_active).map(|lane| all[lane]).collect();
    addresses.sort_unstable();
    let mut lines: Vec<LineUpdate> = Vec::new();
    for in_sector in addresses.chunk_by(|one, next| one / SECTOR_BYTES == next / SECTOR_BYTES) {
        let most = in_sector.chunk_by(u64::eq).map(<[u64]>::len).max().unwrap_or(0);
        let line = in_sector[0] / LINE_BYTES;
        match lines.last_mut().filter(|last| last.line == line) {
            Some(last) => last.steps += most as u8,
            None => lines.push(LineUpdate { line, steps: most as u8 }),
        }
    }
    lines
}

/// Replaces the lists that requests of atomics name by lists of turns, which are returned.
pub(super) fn settle(classes: &mut [ClassTrace], updates: &BTreeMap<u64, CtaUpdates>) -> Vec<Turn> {
    if updates.values().all(|value| value.lines.is_empty()) {
        return Vec::new();
    }
    let contended = Contended::of(classes, updates);
    let mut turns = Vec::new();
    let mut numbers: HashMap<u64, u32> = HashMap::new();
    for sample in classes.iter_mut().flat_map(|class| &mut class.samples) {
        let Some(updates) = updates.get(&sample.cta) else { continue };
        let cta = sample.cta;
        // The lists of the CTA that have been replaced, by where they stood.
        let mut settled: HashMap<u32, Beside> = HashMap::new();
        for request in requests_mut(sample) {
            let Beside::Turns { first, .. } = request.beside else { continue };
            request.beside = *settled.entry(first).or_insert_with(|| {
                let begin = turns.len();
                for &LineUpdate { line, steps } in updates.of(request) {
                    let is_shared = contended.is_shared(line);
                    if is_shared || contended.is_met_again(cta, line) {
                        let next = numbers.len() as u32;
                        let line = *numbers.entry(line).or_insert(next);
                        turns.push(Turn { line, steps, is_shared });
                    }
                }
                let lines = (turns.len() - begin) as u8;
                match u32::try_from(begin) {
                    Ok(first) if lines > 0 => Beside::Turns { first, lines },
                    _ => Beside::Nothing,
                }
            });
        }
    }
    turns
}

/// The requests of a recorded CTA.
fn requests_mut(cta: &mut CtaRecord) -> impl Iterator<Item = &mut Request> {
    cta.warps.iter_mut().flat_map(|warp| warp.requests.values_mut().flatten())
}

/// Lines that more than one request changes.
struct Contended {
    /// The recorded CTAs that change a line.
    ctas: HashMap<u64, u32>,
    /// The requests of a CTA that change a line.
    requests: HashMap<(u64, u64), u32>,
}

impl Contended {
    fn of(classes: &[ClassTrace], updates: &BTreeMap<u64, CtaUpdates>) -> Self {
        let mut all = Self { ctas: HashMap::new(), requests: HashMap::new() };
        for sample in classes.iter().flat_map(|class| &class.samples) {
            let Some(updates) = updates.get(&sample.cta) else { continue };
            for request in sample.warps.iter().flat_map(|warp| warp.requests.values().flatten()) {
                for update in updates.of(request) {
                    let seen = all.requests.entry((sample.cta, update.line)).or_insert(0);
                    *seen += 1;
                    if *seen == 1 {
                        *all.ctas.entry(update.line).or_insert(0) += 1;
                    }
                }
            }
        }
        all
    }

    /// True if two recorded CTAs change the line.
    fn is_shared(&self, line: u64) -> bool {
        self.ctas.get(&line).is_some_and(|&ctas| ctas > 1)
    }

    /// True if two requests of a CTA change the line.
    fn is_met_again(&self, cta: u64, line: u64) -> bool {
        self.requests.get(&(cta, line)).is_some_and(|&requests| requests > 1)
    }
}

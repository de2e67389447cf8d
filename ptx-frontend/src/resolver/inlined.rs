//! The places that `.loc` directives name, with the calls that were inlined there.
//!
//! `inlined_at` states a place only. The callers of that place are those of the last `.loc` before
//! it that names the same place (PTX ISA 11.5.4).

use crate::ast::{Loc, Section};
use crate::hash::FastMap;
use crate::module::{InlinedCall, InlinedCallId, Location};

/// Longer chains of inlined calls lose the frames in their middle.
const MOST_FRAMES: u32 = 64;

/// The label of a debug string, and what is added to it.
type Name<'a> = (&'a str, u64);

/// What is known of the places of a text.
#[derive(Default)]
pub(super) struct Places<'a> {
    /// The place that the last `.loc` with these numbers names.
    seen: FastMap<[u32; 3], Location>,
    /// Calls that are known, so that each is written down once.
    known: FastMap<(Option<Name<'a>>, Location), InlinedCallId>,
    /// The name and the number of frames of each call.
    calls: Vec<(Option<Name<'a>>, u32)>,
    strings: DebugStrings<'a>,
}

impl<'a> Places<'a> {
    /// Forgets the places of the function before.
    pub(super) fn begin_function(&mut self) {
        self.seen.clear();
    }

    /// The place that a `.loc` names; an unreadable number means that there is none.
    pub(super) fn read(&mut self, loc: &Loc<'a>, calls: &mut Vec<InlinedCall>) -> Option<Location> {
        let position = numbers(loc.position)?;
        let caller = loc.inlined_at.and_then(numbers);
        let inlined = caller.map(|caller| {
            let at = self.seen.get(&caller).copied().unwrap_or(place(caller, None));
            self.call(loc.function_name.map(name), at, calls)
        });
        let place = place(position, inlined);
        self.seen.insert(position, place);
        Some(place)
    }

    fn call(
        &mut self,
        name: Option<Name<'a>>,
        mut at: Location,
        calls: &mut Vec<InlinedCall>,
    ) -> InlinedCallId {
        let frames = |place: Location, known: &[(Option<Name<'a>>, u32)]| {
            place.inlined.map_or(0, |id| known[id.index()].1)
        };
        if frames(at, &self.calls) >= MOST_FRAMES {
            while let Some(id) = at.inlined {
                at = calls[id.index()].at;
            }
        }
        *self.known.entry((name, at)).or_insert_with(|| {
            let id = InlinedCallId(calls.len() as u32);
            self.calls.push((name, frames(at, &self.calls) + 1));
            calls.push(InlinedCall { callee: None, at });
            id
        })
    }

    /// Reads the names of functions out of a section, if they are in it.
    pub(super) fn section(&mut self, section: &Section<'a>) {
        if section.name == Some(".debug_str") {
            self.strings.read(&section.tokens);
        }
    }

    /// Gives the calls the names that the debug strings have for their callees.
    pub(super) fn name_callees(&self, calls: &mut [InlinedCall]) {
        for (call, (name, _)) in calls.iter_mut().zip(&self.calls) {
            call.callee = name.and_then(|name| self.strings.get(name));
        }
    }
}

fn place([file, line, column]: [u32; 3], inlined: Option<InlinedCallId>) -> Location {
    Location { file, line, column, inlined }
}

fn numbers([file, line, column]: [&str; 3]) -> Option<[u32; 3]> {
    Some([file.parse().ok()?, line.parse().ok()?, column.parse().ok()?])
}

fn name<'a>((label, offset): (&'a str, Option<&'a str>)) -> Name<'a> {
    (label, offset.and_then(number).unwrap_or(0))
}

/// An integer in decimal or hexadecimal digits.
fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// The contents of `.debug_str`.
#[derive(Default)]
struct DebugStrings<'a> {
    bytes: Vec<u8>,
    labels: FastMap<&'a str, usize>,
}

impl<'a> DebugStrings<'a> {
    /// Reads labels and `.b8` to `.b64` lists.
    fn read(&mut self, tokens: &[&'a str]) {
        let mut width = 1;
        for (index, &token) in tokens.iter().enumerate() {
            match token {
                ":" | "," => {}
                ".b8" => width = 1,
                ".b16" => width = 2,
                ".b32" => width = 4,
                ".b64" => width = 8,
                _ if tokens.get(index + 1) == Some(&":") => {
                    self.labels.insert(token, self.bytes.len());
                }
                _ => {
                    let value = number(token).unwrap_or(0).to_le_bytes();
                    self.bytes.extend_from_slice(&value[..width]);
                }
            }
        }
    }

    /// The string at a label up to its zero.
    fn get(&self, (label, offset): Name<'a>) -> Option<String> {
        let from = self.labels.get(label)?.checked_add(usize::try_from(offset).ok()?)?;
        let rest = self.bytes.get(from..)?;
        let text = rest.split(|&byte| byte == 0).next()?;
        (!text.is_empty()).then(|| String::from_utf8_lossy(text).into_owned())
    }
}

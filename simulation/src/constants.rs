//! The constants that an SM has fetched.
//!
//! Launch parameters, launch dimensions and constant memory lie in banks of constants. A launch
//! begins without any of them in its SMs. The first access to a line waits for the L2, and for the
//! cache of level 1.5 if that has fetched the wider line around it already.
//!
//! Operands and loads read through caches of their own: an operand waits even for a line that a
//! load has just brought (Huerta et al., MICRO 2025). Nothing is replaced: this is the cold start.

use std::collections::HashMap;

use crate::code::{Action, Code, Constant, MemoryAccess, Space};
use crate::launch::Request;
use crate::parameters::ConstantCosts;

/// Bytes of a sector of a recorded request.
const SECTOR_BYTES: u64 = 32;

/// The lines of constants that an SM reads, and the clock at which each is there.
#[derive(Clone, Debug)]
pub struct ConstantLines {
    costs: ConstantCosts,
    /// The line that each instruction reads, as a place of `lines`.
    of_instruction: Vec<Option<u32>>,
    lines: Vec<Line>,
    /// When each wide line is there.
    wide: Vec<Option<f64>>,
    /// Lines and wide lines of recorded requests, by number, and when each is there.
    recorded: HashMap<u64, f64>,
    recorded_wide: HashMap<u64, f64>,
}

/// A line that the code names.
#[derive(Clone, Copy, Debug)]
struct Line {
    /// Its wide line, as a place of [`ConstantLines::wide`].
    wide: u32,
    there: Option<f64>,
}

/// What reads a line, and the line. Each way of reading has a cache.
type LineKey = (bool, Area, u64);

/// A part of constant memory that shares no line with others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Area {
    Bank(u32),
    /// What a load reads whose place nobody knows.
    Unknown(usize),
}

impl ConstantLines {
    /// The lines that `code` names. None of them is there.
    #[must_use]
    pub fn new(code: &Code, costs: ConstantCosts) -> Self {
        let mut numbers: HashMap<LineKey, u32> = HashMap::new();
        let mut wide_numbers: HashMap<(Area, u64), u32> = HashMap::new();
        let mut lines = Vec::new();
        let mut of_instruction = Vec::with_capacity(code.instructions.len());
        for (at, instruction) in code.instructions.iter().enumerate() {
            let loads = matches!(
                instruction.action,
                Action::Access(MemoryAccess { space: Space::Constant, .. })
            );
            let (area, offset) = match instruction.constant {
                Some(Constant { bank, offset }) => (Area::Bank(bank), u64::from(offset)),
                None if loads => (Area::Unknown(at), 0),
                None => {
                    of_instruction.push(None);
                    continue;
                }
            };
            let number = *numbers
                .entry((loads, area, line_of(offset, costs.constant_line)))
                .or_insert_with(|| {
                    let next = wide_numbers.len() as u32;
                    let key = (area, line_of(offset, costs.constant_far_line));
                    let wide = *wide_numbers.entry(key).or_insert(next);
                    lines.push(Line { wide, there: None });
                    lines.len() as u32 - 1
                });
            of_instruction.push(Some(number));
        }
        Self {
            costs,
            of_instruction,
            lines,
            wide: vec![None; wide_numbers.len()],
            recorded: HashMap::new(),
            recorded_wide: HashMap::new(),
        }
    }

    /// The clock at which the constant that an instruction names is there, if it asks at `now`.
    /// `None` if it names none.
    #[must_use]
    pub fn operand(&mut self, instruction: usize, now: f64) -> Option<f64> {
        let line = &mut self.lines[self.of_instruction.get(instruction).copied()?? as usize];
        Some(
            *line
                .there
                .get_or_insert_with(|| fetch(&mut self.wide[line.wide as usize], &self.costs, now)),
        )
    }

    /// The same for a load of constants, which may have a recorded request.
    #[must_use]
    pub fn load(&mut self, instruction: usize, request: Option<&Request>, now: f64) -> Option<f64> {
        let Some(sector) = request.and_then(|request| request.first_sector) else {
            return self.operand(instruction, now);
        };
        let offset = u64::from(sector) * SECTOR_BYTES;
        let Self { costs, recorded, recorded_wide, .. } = self;
        let there = recorded.entry(line_of(offset, costs.constant_line)).or_insert_with(|| {
            let number = line_of(offset, costs.constant_far_line);
            let mut wide = recorded_wide.get(&number).copied();
            let there = fetch(&mut wide, costs, now);
            recorded_wide.extend(wide.map(|wide| (number, wide)));
            there
        });
        Some(*there)
    }
}

/// The clock at which a line is there that is asked for at `now`. `wide` is when the wide line
/// around it is there, or will be from now on.
fn fetch(wide: &mut Option<f64>, costs: &ConstantCosts, now: f64) -> f64 {
    match *wide {
        // The last part of the way is that from the cache of level 1.5.
        Some(there) => now.max(there - costs.constant_near_latency) + costs.constant_near_latency,
        None => *wide.insert(now + costs.constant_far_latency),
    }
}

fn line_of(offset: u64, line_bytes: f64) -> u64 {
    offset / (line_bytes as u64).max(1)
}

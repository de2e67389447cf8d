//! The lines of two runs side by side.

use std::fmt::Write as _;

use gpucast_forecast::number;
use gpucast_forecast::run::counting::Counted;
use serde::Serialize;
use similar::{Algorithm, DiffTag, capture_diff_slices};

use crate::profile::{Line, View, lines};

/// What stands in place of the text where the compiler names no line.
const WITHOUT_LINE: &str = "(code of no line)";

/// A line of either run, or of both.
#[derive(Clone, Debug, Serialize)]
pub struct LineChange {
    /// The line before; `None` if it is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Costs>,
    /// The line after; `None` if it is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Costs>,
}

/// A line and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// The file that the line is in.
    #[serde(skip)]
    pub(super) file: String,
    /// The number of the line; 0 for code without a line.
    pub line: u32,
    /// The text of the line, if it is known; words in brackets for code without a line.
    pub text: String,
    /// Warp instructions of PTX.
    pub warps: u128,
    /// Sectors of global and local memory.
    pub sectors: u128,
    /// Sectors that the same requests would move with consecutive addresses.
    pub ideal_sectors: u128,
    /// Passes over the banks of shared memory.
    pub shared_passes: u128,
    /// The same without conflicts.
    pub ideal_passes: u128,
    /// Branches whose lanes went different ways.
    pub divergent_branches: u128,
}

impl Costs {
    fn of(line: &Line<'_>, view: &View<'_>) -> Self {
        let text = line.ptx.as_deref().or(line.cuda).unwrap_or_default();
        let number = line.ptx_line.or(line.cuda_line).unwrap_or(0);
        let module = &*view.loaded.source.name;
        let file = if line.ptx_line.is_some() { module } else { line.cuda_file.unwrap_or(module) };
        Self {
            file: file.to_owned(),
            line: number,
            text: if number == 0 { WITHOUT_LINE.to_owned() } else { text.trim().to_owned() },
            warps: line.counts.warp_executions,
            sectors: line.counts.sectors,
            ideal_sectors: line.counts.ideal_sectors,
            shared_passes: line.counts.shared_passes,
            ideal_passes: line.counts.shared_conflict_free,
            divergent_branches: line.counts.divergent_branches,
        }
    }

    fn numbers(&self) -> [u128; 4] {
        [self.warps, self.sectors, self.shared_passes, self.divergent_branches]
    }
}

impl LineChange {
    /// Returns true if neither the text nor a cost changed.
    pub(super) fn is_same(&self) -> bool {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) => {
                before.text == after.text && before.numbers() == after.numbers()
            }
            _ => false,
        }
    }

    /// Warp instructions and sectors that the line has more than before, or fewer.
    pub(super) fn growth(&self) -> u128 {
        let sums = [&self.before, &self.after].map(|side| {
            side.as_ref().map_or(0, |costs| costs.warps + costs.sectors + costs.shared_passes)
        });
        sums[0].abs_diff(sums[1])
    }

    /// `12 → 14`, `12` if both are the same, `→ 14` if the line is new.
    pub(super) fn cell(&self, cost: fn(&Costs) -> u128) -> String {
        let shown = |count: u128| if count == 0 { "0".to_owned() } else { number::count(count) };
        match (self.before.as_ref().map(cost), self.after.as_ref().map(cost)) {
            (Some(0) | None, Some(0) | None) => String::new(),
            (Some(before), Some(after)) if before == after => shown(before),
            (Some(before), Some(after)) => format!("{} → {}", shown(before), shown(after)),
            (Some(before), None) => format!("{} →", shown(before)),
            (None, Some(after)) => format!("→ {}", shown(after)),
        }
    }

    /// The numbers of the line before and after; empty for code without a line.
    pub(super) fn numbers(&self) -> [String; 2] {
        let number = |side: &Option<Costs>| {
            let known = side.as_ref().filter(|costs| costs.line > 0);
            known.map_or_else(String::new, |costs| costs.line.to_string())
        };
        [number(&self.before), number(&self.after)]
    }

    /// The texts, one below the other where they differ.
    pub(super) fn texts(&self) -> Vec<(&'static str, &str)> {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if before.text == after.text => vec![(" ", &after.text)],
            (before, after) => {
                let sides = [("−", before), ("+", after)];
                let known = sides.into_iter().filter_map(|(sign, side)| {
                    side.as_ref().map(|costs| (sign, costs.text.as_str()))
                });
                known.collect()
            }
        }
    }
}

/// A cost that is shown: its title and its value.
type Shown = (&'static str, fn(&Costs) -> u128);

pub(super) const SHOWN: [Shown; 6] = [
    ("warps", |costs| costs.warps),
    ("sectors", |costs| costs.sectors),
    ("ideal", |costs| costs.ideal_sectors),
    ("passes", |costs| costs.shared_passes),
    ("ideal", |costs| costs.ideal_passes),
    ("diverge", |costs| costs.divergent_branches),
];

fn costs(view: &View<'_>, launch: &Counted) -> Vec<Costs> {
    lines(view, launch).iter().map(|line| Costs::of(line, view)).collect()
}

/// The lines of a launch of one run, as new ones.
#[must_use]
pub fn of_one(view: &View<'_>, launch: &Counted) -> Vec<LineChange> {
    let change = |costs| LineChange { before: None, after: Some(costs) };
    costs(view, launch).into_iter().map(change).collect()
}

/// The lines of a launch of both runs: those with the same text face each other.
pub(super) fn changes(
    [before, after]: [&View<'_>; 2],
    launch: (&Counted, &Counted),
) -> Vec<LineChange> {
    let (before, after) = (costs(before, launch.0), costs(after, launch.1));
    let texts =
        |costs: &[Costs]| costs.iter().map(|cost| cost.text.clone()).collect::<Vec<String>>();
    let mut changes = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, &texts(&before), &texts(&after)) {
        let (old, new) = (operation.old_range(), operation.new_range());
        // Lines that replace others face them in order.
        let paired = match operation.tag() {
            DiffTag::Delete | DiffTag::Insert => 0,
            DiffTag::Equal | DiffTag::Replace => old.len().min(new.len()),
        };
        let (old, new) = (&before[old], &after[new]);
        let pair =
            |at: usize| LineChange { before: Some(old[at].clone()), after: Some(new[at].clone()) };
        changes.extend((0..paired).map(pair));
        changes.extend(
            old[paired..].iter().map(|gone| LineChange { before: Some(gone.clone()), after: None }),
        );
        changes.extend(
            new[paired..].iter().map(|new| LineChange { before: None, after: Some(new.clone()) }),
        );
    }
    changes
}

/// The lines that differ, as text.
pub(super) fn text(changes: &[LineChange]) -> String {
    let changed: Vec<&LineChange> = changes.iter().filter(|change| !change.is_same()).collect();
    if changed.is_empty() {
        return "  none\n".to_owned();
    }
    let mut text = String::new();
    for change in changed {
        let [before, after] = change.numbers();
        for (sign, line) in change.texts() {
            let number = if sign == "−" { &before } else { &after };
            let _ = writeln!(text, "  {sign} {number:>5}  {line}");
        }
        let costs = SHOWN.iter().filter_map(|(title, cost)| {
            let cell = change.cell(*cost);
            (!cell.is_empty()).then(|| format!("{title} {cell}"))
        });
        let _ = writeln!(text, "           {}", costs.collect::<Vec<_>>().join("; "));
    }
    text
}

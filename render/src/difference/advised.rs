//! The advice on two runs side by side: causes that are gone, that are new, and that stay.

use gpucast_advice::place::LineShare;
use gpucast_advice::{Advice, Item};
use gpucast_forecast::comparison::distinct;
use serde::Serialize;

use crate::advice::NO_CHANGE;
use crate::table::{Align, aligned};

/// What became of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// It was found before, and is not after.
    Gone,
    /// It was not found before, and is after.
    New,
    /// It was found before and after.
    Stays,
}

impl State {
    /// In a word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::New => "new",
            Self::Stays => "stays",
        }
    }
}

/// A cause of either run, or of both, on one GPU.
#[derive(Clone, Debug, Serialize)]
pub struct AdviceChange {
    /// The GPU.
    pub gpu: String,
    /// The code of the rule.
    pub rule: &'static str,
    /// The cause, in a few words.
    pub title: &'static str,
    /// What became of it.
    pub state: State,
    /// The advice before; `None` if the cause is new.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<Found>,
    /// The advice after; `None` if the cause is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<Found>,
}

/// What advice says of a cause in one run.
#[derive(Clone, Debug, Serialize)]
pub struct Found {
    /// The model that the gain is by.
    pub model: &'static str,
    /// The time before over the time after; `None` if no model can see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_up: Option<f64>,
    /// What to change, in a sentence.
    pub change: String,
    /// Where, by what falls on each line.
    pub places: Vec<LineShare>,
    /// The gain in words.
    #[serde(skip)]
    gain: String,
}

impl Found {
    fn of(advice: &Advice, item: &Item) -> Self {
        Self {
            model: item.gain_by.unwrap_or(advice.verdict.model),
            speed_up: item.speed_up,
            change: item.change.clone(),
            places: item.places.clone(),
            gain: item
                .speed_up
                .map_or_else(|| "not known".to_owned(), |gain| format!("{gain:.2} ×")),
        }
    }
}

impl AdviceChange {
    fn of(item: &Item, gpu: &str, before: Option<Found>, after: Option<Found>) -> Self {
        let state = match (&before, &after) {
            (Some(_), Some(_)) => State::Stays,
            (Some(_), None) => State::Gone,
            (None, _) => State::New,
        };
        let Item { rule, title, .. } = *item;
        Self { gpu: gpu.to_owned(), rule, title, state, before, after }
    }

    /// The gains before and after, in words; empty where the cause was not found.
    pub(super) fn gains(&self) -> [String; 2] {
        let gain = |found: &Option<Found>| {
            found.as_ref().map_or_else(String::new, |found| found.gain.clone())
        };
        [gain(&self.before), gain(&self.after)]
    }

    /// What is said of the cause: after, if it is still there.
    pub(super) fn said(&self) -> Option<&Found> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// The model that the gains are by; both where they differ.
    pub(super) fn models(&self) -> String {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if before.model != after.model => {
                format!("{}, {}", before.model, after.model)
            }
            _ => self.said().map_or_else(String::new, |found| found.model.to_owned()),
        }
    }

    /// The place that most of the cause falls on, after if there is one: `kernel.cu:13`.
    pub(super) fn place(&self) -> String {
        let place = self.said().and_then(|found| found.places.first());
        place.map_or_else(String::new, |place| format!("{}:{}", place.file, place.line))
    }
}

/// The advice on a launch of both runs: for each GPU what is gone, what is new, and what stays,
/// each in order of gain.
pub(super) fn changes([before, after]: [&[Advice]; 2], launch: usize) -> Vec<AdviceChange> {
    let of_launch = |advice: &&Advice| advice.launch == launch;
    let both = || before.iter().chain(after).filter(of_launch);
    let mut all = Vec::new();
    for gpu in distinct(both().map(|both| both.gpu.as_str())) {
        let old = items(before, launch, gpu);
        let new = items(after, launch, gpu);
        let find = |side: &[(&Advice, &Item)], rule: &str| -> Option<Found> {
            let (advice, item) = side.iter().find(|(_, item)| item.rule == rule)?;
            Some(Found::of(advice, item))
        };
        let of_rule =
            |item: &Item| AdviceChange::of(item, gpu, find(&old, item.rule), find(&new, item.rule));
        let is_new = |(_, item): &&(&Advice, &Item)| find(&old, item.rule).is_none();
        let rules = old.iter().chain(new.iter().filter(is_new));
        let mut of_gpu: Vec<AdviceChange> = rules.map(|(_, item)| of_rule(item)).collect();
        of_gpu.sort_by_key(|change| change.state as u8);
        all.append(&mut of_gpu);
    }
    all
}

/// The advice on a launch on a GPU, item by item.
fn items<'a>(side: &'a [Advice], launch: usize, gpu: &str) -> Vec<(&'a Advice, &'a Item)> {
    let found = side.iter().find(|advised| advised.launch == launch && advised.gpu == gpu);
    found.map_or_else(Vec::new, |found| found.items.iter().map(|item| (found, item)).collect())
}

/// The advice as text.
pub(super) fn text(changes: &[AdviceChange]) -> String {
    if changes.is_empty() {
        return format!("  {NO_CHANGE}\n");
    }
    let owned = |cells: [&str; 7]| cells.map(str::to_owned).to_vec();
    let mut rows = vec![owned(["", "rule", "before", "after", "by", "GPU", "at"])];
    rows.extend(changes.iter().map(|change| {
        let [before, after] = change.gains();
        let (state, models, place) = (change.state.word(), change.models(), change.place());
        owned([state, change.rule, &before, &after, &models, &change.gpu, &place])
    }));
    use Align::{Left, Right};
    aligned(2, &[Left, Left, Right, Right, Left, Left, Left], &rows)
}

//! What to change, on one GPU: the advice in the report's words.

use gpucast_advice::{Advice, Item};
use gpucast_model::{Gpu, duration};

use crate::advice;

/// The advice on a launch on a GPU.
pub(super) struct Advised {
    pub(super) gpu: String,
    pub(super) gpu_name: String,
    /// The line that costs most.
    pub(super) costliest: String,
    /// The text of that line.
    pub(super) code: String,
    pub(super) changes: Vec<Change>,
}

/// A change of the kernel.
pub(super) struct Change {
    /// The factor by which the time falls.
    pub(super) gain: String,
    /// The times before and after.
    pub(super) times: String,
    pub(super) rule: &'static str,
    pub(super) title: String,
    pub(super) change: String,
    pub(super) places: Vec<Line>,
    pub(super) evidence: Vec<String>,
    /// The models that see a gain, and those that see none.
    pub(super) models: String,
}

/// A line of the source.
pub(super) struct Line {
    pub(super) at: String,
    pub(super) code: String,
}

impl Advised {
    /// The advice on this GPU, if there is any.
    pub(super) fn of(all: &[&Advice], gpu: &Gpu) -> Option<Self> {
        let advice = all.iter().find(|advice| advice.gpu == gpu.name)?;
        let costliest = advice.verdict.costliest.as_ref();
        let code = costliest.and_then(|costliest| costliest.place.text.clone());
        Some(Self {
            gpu: gpu.name.clone(),
            gpu_name: gpu.display_name.clone(),
            costliest: advice::capitalised(&advice::costliest(&advice.verdict)),
            code: code.unwrap_or_default(),
            changes: advice.items.iter().map(|item| change(item, advice)).collect(),
        })
    }
}

fn change(item: &Item, advice: &Advice) -> Change {
    let before = advice.verdict.time_ms;
    Change {
        gain: advice::gain(item),
        times: item.time_ms.map_or_else(String::new, |after| {
            format!("{} → {}", duration(before), duration(after))
        }),
        rule: item.rule,
        title: advice::capitalised(item.title),
        change: item.change.clone(),
        places: item
            .places
            .iter()
            .map(|place| Line {
                at: format!("{}:{} ({:.0} %)", place.file, place.line, 100.0 * place.share),
                code: place.text.clone().unwrap_or_default(),
            })
            .collect(),
        evidence: item.evidence.iter().map(advice::evidence).collect(),
        models: advice::models(item),
    }
}

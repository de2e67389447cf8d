//! A judgement for people.

use gpucast_forecast::number;
use gpucast_judge::inputs::Variation;
use gpucast_judge::judgement::{Judgement, LeftOut, Verdict};

use super::evidence::{self, Told};
use super::{WIDTH, cost};
use crate::control;
use crate::table::wrapped;

pub(super) fn text(judgement: &Judgement) -> String {
    let Judgement { candidate, reference, verdict, .. } = judgement;
    let title = format!("{}: {candidate} against {reference}", verdict.name());
    let mut text = format!("{title}\n{}\n", "=".repeat(title.chars().count()));
    text += &wrapped("", 2, WIDTH, &format!("{} {}", meaning(judgement), tried(judgement)));
    for one in &judgement.evidence {
        let at = one.at.as_ref().map(|(size, inputs)| place_in_words(size, *inputs));
        for told in evidence::told(one, judgement) {
            text += &fault(&told, at.as_deref());
        }
    }
    text += &cost::text(judgement);
    if !judgement.left_out.is_empty() {
        text += "\nNot tried\n";
    }
    for LeftOut { what, because } in &judgement.left_out {
        text += &wrapped("- ", 4, WIDTH, &format!("{what}: {because}"));
    }
    let free = free(judgement);
    if !free.is_empty() {
        text += &format!("\nNot held back on this system: {free}\n");
    }
    control::visible(&text).into_owned()
}

/// What the system does not hold back of a candidate; empty if that is nothing.
pub(super) fn free(judgement: &Judgement) -> String {
    let Some(confinement) = &judgement.confinement else { return String::new() };
    let means = [
        ("memory and time", confinement.holds_limits),
        ("files", confinement.holds_files),
        ("network", confinement.holds_network),
    ];
    let free: Vec<&str> = means.iter().filter(|(_, holds)| !holds).map(|(name, _)| *name).collect();
    free.join(", ")
}

/// The runs, in a sentence.
pub(super) fn tried(judgement: &Judgement) -> String {
    let agreeing = judgement.cases.iter().filter(|case| case.agrees).count();
    let mut sizes: Vec<&str> = Vec::new();
    for case in &judgement.cases {
        if !sizes.contains(&&*case.size) {
            sizes.push(&case.size);
        }
    }
    let named: Vec<&str> = sizes.iter().copied().filter(|size| !size.is_empty()).collect();
    let (runs, number) = (number::count(judgement.cases.len() as u64), agreeing as u64);
    let at = match named.as_slice() {
        [] => String::new(),
        named => format!(", at {}", named.join("; ")),
    };
    match judgement.cases.len() {
        0 => "Nothing ran.".to_owned(),
        _ => format!("Results agree in {} of {runs} runs{at}.", number::count(number)),
    }
}

pub(super) fn place_in_words(size: &str, inputs: Variation) -> String {
    match size {
        "" => inputs.text(),
        size => format!("{size}, {}", inputs.text()),
    }
}

pub(crate) fn fault(told: &Told, at: Option<&str>) -> String {
    let mut sentence = told.message.clone();
    if let Some(at) = at {
        sentence += &format!(" ({at})");
    }
    let place = told.place.as_ref().map(|place| format!("{place}: "));
    let mut text = format!("\n{}\n", told.code);
    text += &wrapped("", 2, WIDTH, &(place.unwrap_or_default() + &sentence));
    for fact in &told.facts {
        text += &wrapped("", 4, WIDTH, fact);
    }
    if let Some(hint) = &told.hint {
        text += &wrapped("", 4, WIDTH, &format!("help: {hint}"));
    }
    text
}

/// What a verdict means, in a sentence.
pub(super) fn meaning(judgement: &Judgement) -> &'static str {
    match judgement.verdict {
        Verdict::Wrong => "It does not do what the reference does.",
        Verdict::Unsafe => "It is right, and does what another run may punish.",
        Verdict::Slower => "It is right, and takes longer.",
        Verdict::Faster => "It is right, and takes less time.",
        Verdict::Unsure if judgement.is_cut_short => {
            "It is right as far as was tried, and the time was over before all was."
        }
        Verdict::Unsure => {
            "It is right as far as was tried, and nothing decides whether it is faster."
        }
    }
}

//! The page that documents every metric, written from the definitions.

use std::fmt::Write as _;

use super::{Basis, Definition, Formula, Nvprof, TOPICS};
use crate::metric::Level;

const HEAD: &str = "\
# Metrics

Every metric that `gpucast profile` computes and `gpucast predict --from-metrics` understands. This
page is written from the definitions in `counters/src/definitions`; a test keeps them the same.

- **Metric** is nvprof's name. *Event* marks names that nvprof knows as events, *ours* names that it
  does not know.
- **Nsight Compute** lists metrics that mean the same, each on its own; a sum is one of several
  metrics. What stands behind *read as* takes its place in files that lack those, although it counts
  something else on some GPUs.
- **Level** says which instructions are counted: those of the PTX, or the machine's. `machine or ptx`
  counts machine instructions when their counts are known, otherwise PTX instructions in their place.
- **Kind** says how far a figure can be trusted. `exact` follows from execution alone, and `modelled`
  from a stated model of hardware. `estimated` follows from a translation, an extrapolation or a
  simplification, and `measured` figures come from a profiler. Counts of machine instructions are `modelled` with the
  assembler's machine code and `estimated` with rules; PTX in their place gives `estimated` counts,
  but `exact` ones of floating-point operations and of local requests. DRAM traffic is `estimated` if
  some requests were too many to be replayed.

Names of Nsight Compute end in a roll-up: `.sum`, `.avg`, `.min`, `.max`, and behind it `.per_second`,
`.per_cycle_active`, `.per_cycle_elapsed`, `.pct_of_peak_sustained_active`,
`.pct_of_peak_sustained_elapsed`. `gpucast ncu` computes all of them from the one that is listed.

`profile --metrics` takes these names, those of Nsight Compute, and patterns of either
(`flop_count_*`).
";

/// The page, in Markdown.
#[must_use]
pub fn page() -> String {
    let mut text = HEAD.to_owned();
    for topic in TOPICS {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "\n## {}\n\n{}\n\n| Metric | Nsight Compute | Unit | Level | Kind | Meaning |\n\
             |---|---|---|---|---|---|\n",
            topic.title, topic.introduction
        );
        for definition in topic.definitions {
            let _ = writeln!(
                text,
                "| `{}`{} | {} | {} | {} | {} | {} |",
                definition.name,
                origin(definition.nvprof),
                nsight(definition),
                definition.unit,
                level(definition.basis),
                kind(definition.basis),
                definition.meaning
            );
        }
    }
    text
}

fn origin(nvprof: Nvprof) -> &'static str {
    match nvprof {
        Nvprof::Metric(_) => "",
        Nvprof::Event => " *(event)*",
        Nvprof::Unknown => " *(ours)*",
    }
}

fn nsight(definition: &Definition) -> String {
    let list = |formulas: &[Formula]| {
        formulas.iter().map(|formula| in_words(formula)).collect::<Vec<_>>().join("<br>")
    };
    let same = list(definition.nsight);
    match (same.is_empty(), definition.nsight_stands_in) {
        (_, []) => same,
        (true, formulas) => format!("*read as* {}", list(formulas)),
        (false, formulas) => format!("{same}<br>*read as* {}", list(formulas)),
    }
}

fn in_words(formula: Formula) -> String {
    let term = |&(name, factor): &(&str, f64)| match factor {
        1.0 => format!("`{name}`"),
        factor => format!("{factor} × `{name}`"),
    };
    formula.iter().map(term).collect::<Vec<_>>().join(" + ")
}

fn level(basis: Basis) -> &'static str {
    match (basis.level(true), basis.level(false)) {
        (Level::Machine, Level::Machine) => "machine",
        (Level::Machine, Level::Ptx) => "machine or ptx",
        (Level::Ptx, _) => "ptx",
    }
}

fn kind(basis: Basis) -> &'static str {
    match basis {
        Basis::Launch | Basis::Execution => "exact",
        Basis::Arithmetic => "exact, modelled or estimated",
        Basis::Instructions | Basis::Banks | Basis::CacheReplay => "modelled or estimated",
        Basis::AccessModel => "modelled",
        Basis::Residency => "modelled, or estimated where registers are",
        Basis::Registers => "exact or estimated",
        Basis::Branches | Basis::EvenRounds => "estimated",
        Basis::Simulation => "modelled",
        Basis::Hardware => "measured",
    }
}

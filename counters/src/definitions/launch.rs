//! The launch, and the part of an SM that it fills.

use super::Nvprof::{Event, Metric, Unknown};
use super::row::{count, is, quotient};
use super::{Basis, Definition, Formula, Topic};
use crate::metric::Number;

pub(super) const TOPIC: Topic = Topic {
    title: "Launch and occupancy",
    introduction: "Occupancy is warps that are resident on an SM, over those that it can hold.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    count!("threads_launched", Event, is!["smsp__threads_launched.sum", "sm__threads_launched.sum", "launch__thread_count"], "thread", Launch, |t| t.launch.threads(),
        "threads of the grid"),
    count!("warps_launched", Event, is!["smsp__warps_launched.sum", "sm__warps_launched.sum"], "warp", Launch, |t| t.launch.warps(),
        "warps of the grid; the last one of a CTA may be part of one"),
    count!("sm_cta_launched", Event, is!["sm__ctas_launched.sum", "launch__grid_size"], "block", Launch, |t| t.launch.ctas,
        "CTAs of the grid"),
    count!("threads_per_block", Unknown, is!["launch__block_size"], "thread", Launch, |t| t.launch.threads_per_cta,
        "threads of a CTA"),
    Definition {
        name: "registers_per_thread",
        nvprof: Unknown,
        nsight: is!["launch__registers_per_thread"],
        nsight_stands_in: &[],
        unit: "register",
        basis: Basis::Registers,
        meaning: "registers of a thread that limit occupancy: those of machine code for the GPU's generation or of `--registers`, else estimates; with `--machine none` not known",
        compute: Some(|t| Some(Number::Count(t.launch.cta.registers_per_thread?.into()))),
    },
    count!("resident_warps_per_sm", Unknown, is!["sm__maximum_warps_avg_per_active_cycle"], "warp", Residency, |t| t.launch.resident_warps(),
        "warps that an SM can run at a time: as many CTAs as its limits admit"),
    quotient!("theoretical_occupancy", Unknown, is!["sm__maximum_warps_per_active_cycle_pct"], "percent", Residency, 100.0, |t| (t.launch.resident_warps(), t.launch.max_warps_per_sm),
        "warps that an SM can run of this kernel at a time, of those that it can hold"),
    Definition {
        name: "achieved_occupancy",
        nvprof: Metric("Achieved Occupancy"),
        nsight: ACTIVE_WARPS,
        nsight_stands_in: &[],
        unit: "ratio",
        basis: Basis::EvenRounds,
        meaning: "mean warps of an SM while it has any, of those that it can hold; here CTAs are dealt evenly and all take the same time, so that only the last round of an SM may be part of one",
        compute: Some(|t| t.launch.mean_occupancy().map(Number::Real)),
    },
    Definition {
        name: "waves_per_sm",
        nvprof: Unknown,
        nsight: is!["launch__waves_per_multiprocessor"],
        nsight_stands_in: &[],
        unit: "wave",
        basis: Basis::Residency,
        meaning: "CTAs of the grid, over those that the GPU can run at a time",
        compute: Some(|t| t.launch.waves().map(Number::Real)),
    },
];

/// nvprof prints a fraction, Nsight Compute a percentage.
const ACTIVE_WARPS: &[Formula] = &[&[("sm__warps_active.avg.pct_of_peak_sustained_active", 0.01)]];

//! Metrics that need time or counters of hardware: read from profilers' files, never computed.

use super::Nvprof::Metric;
use super::row::{is, measured};
use super::{Basis, Definition, Topic};

pub(super) const TOPIC: Topic = Topic {
    title: "Only measured",
    introduction: "These are understood in profilers' files and in metrics files; an execution on \
                   the CPU has no value for them.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    measured!("inst_replay_overhead", Metric("Instruction Replay Overhead"), &[], "ratio",
        "replays of an executed instruction"),
    measured!("tex_cache_transactions", Metric("Unified Cache Transactions"), &[], "transaction",
        "read transactions of the unified or texture cache; the vendor's formula for Nsight Compute is a percentage of peak, not a count"),
    measured!("sysmem_read_transactions", Metric("System Memory Read Transactions"), is!["lts__t_sectors_aperture_sysmem_op_read.sum"], "transaction",
        "sectors read from the host's memory"),
    measured!("sysmem_write_transactions", Metric("System Memory Write Transactions"), is!["lts__t_sectors_aperture_sysmem_op_write.sum"], "transaction",
        "sectors written to the host's memory"),
];

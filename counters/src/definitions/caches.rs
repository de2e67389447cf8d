//! The traffic that reaches the L2, and the DRAM traffic that it causes.

use gpucast_ptx_frontend::types::StateSpace::{Global, Local};

use super::Nvprof::{Metric, Unknown};
use super::row::{count, is, quotient};
use super::{Basis, Definition, Formula, Topic};
use crate::totals::Direction::{Load, Store, Update};

pub(super) const TOPIC: Topic = Topic {
    title: "Caches and DRAM",
    introduction: "Sectors are 32 bytes unless the GPU says otherwise. An L2 transaction is a sector that an SM reads, writes or \
                   updates there. Instructions and constants also come through the L2, and are \
                   not modelled. DRAM transactions come out of the replay of every request.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    quotient!("tex_cache_hit_rate", Metric("Unified Cache Hit Rate"), is!["l1tex__t_sector_hit_rate.pct"], "percent", CacheReplay, 100.0, |t| t.first_level_hits(),
        "sectors of loads, stores and updates that the SMs' first-level caches held"),
    quotient!("global_hit_rate", Metric("Global Hit Rate in unified l1/tex"), &[], "percent", CacheReplay, 100.0, |t| t.l1_hits(&[Global]),
        "sectors of global loads that the SMs' first-level caches held; the vendor's formula for Nsight Compute is a template over the operation"),
    quotient!("local_hit_rate", Metric("Local Hit Rate"), &[], "percent", CacheReplay, 100.0, |t| t.l1_hits(&[Local]),
        "sectors of local loads that the SMs' first-level caches held"),
    quotient!("l2_tex_hit_rate", Metric("L2 Cache Hit Rate"), is!["lts__t_sector_hit_rate.pct"], "percent", CacheReplay, 100.0, |t| (t.l2.read_hit_sectors + t.l2.write_hit_sectors + t.l2.update_hit_sectors, t.l2.read_sectors + t.l2.write_sectors + t.l2.update_sectors),
        "sectors asked for by first-level caches that the L2 held; a write is a hit unless it needs something from DRAM"),
    quotient!("l2_tex_read_hit_rate", Metric("L2 Hit Rate (Texture Reads)"), is!["lts__t_sector_op_read_hit_rate.pct"], "percent", CacheReplay, 100.0, |t| (t.l2.read_hit_sectors, t.l2.read_sectors),
        "sectors read by first-level caches that the L2 held"),
    quotient!("l2_tex_write_hit_rate", Metric("L2 Hit Rate (Texture Writes)"), is!["lts__t_sector_op_write_hit_rate.pct"], "percent", CacheReplay, 100.0, |t| (t.l2.write_hit_sectors, t.l2.write_sectors),
        "sectors written by first-level caches that needed nothing from DRAM"),
    count!("l2_l1_read_transactions", Metric("L2 Transactions (L1 Reads)"), &[], "transaction", CacheReplay, |t| t.l2_sectors(Load),
        "sectors read from the L2 by the first-level caches"),
    count!("l2_read_transactions", Metric("L2 Read Transactions"), is!["lts__t_sectors_op_read.sum"], "transaction", CacheReplay, |t| t.l2_sectors(Load),
        "sectors that loads read from the L2"),
    count!("l2_write_transactions", Metric("L2 Write Transactions"), is!["lts__t_sectors_op_write.sum"], "transaction", CacheReplay, |t| t.l2_sectors(Store),
        "sectors that stores write to the L2"),
    count!("l2_atomic_transactions", Metric("L2 Transactions (Atomic requests)"), &[], "transaction", CacheReplay, |t| t.l2_sectors(Update),
        "sectors that atomics and reductions update in the L2").read_as(UPDATES),
    count!("l2_tex_read_transactions", Metric("L2 Transactions (Texture Reads)"), is!["lts__t_sectors_srcunit_tex_op_read.sum"], "transaction", CacheReplay, |t| t.l2_sectors(Load),
        "sectors that the SMs' first-level caches read from the L2: since capability 5.0 all loads"),
    // The vendor's table repeats the read metric here.
    count!("l2_tex_write_transactions", Metric("L2 Transactions (Texture Writes)"), is!["lts__t_sectors_srcunit_tex_op_write.sum"], "transaction", CacheReplay, |t| t.l2_sectors(Store),
        "sectors that come from the SMs' first-level caches to be written to the L2: since capability 5.0 all stores"),
    count!("l2_transactions", Unknown, is!["lts__t_sectors_srcunit_tex.sum"], "transaction", CacheReplay, |t| t.l2_sectors(Load) + t.l2_sectors(Store) + t.l2_sectors(Update),
        "sectors that loads, stores, atomics and reductions touch in the L2").read_as(is!["lts__t_sectors.sum"]),
    count!("l2_global_load_bytes", Metric("Bytes read from L2 for misses in L1 for global loads"), is!["lts__t_bytes_equiv_l1sectormiss_pipe_lsu_mem_global_op_ld.sum"], "byte", CacheReplay, |t| t.sector_bytes() * t.l2_sectors_of(Global, Load),
        "bytes that global loads read from the L2"),
    count!("l2_local_load_bytes", Metric("Bytes read from L2 for misses in L1 for local loads"), is!["lts__t_bytes_equiv_l1sectormiss_pipe_lsu_mem_local_op_ld.sum"], "byte", CacheReplay, |t| t.sector_bytes() * t.l2_sectors_of(Local, Load),
        "bytes that local loads read from the L2"),
    count!("l2_local_global_store_bytes", Metric("Bytes written to L2 from L1 for local and global stores."), &[], "byte", CacheReplay, |t| t.sector_bytes() * (t.l2_sectors_of(Global, Store) + t.l2_sectors_of(Local, Store)),
        "bytes of the sectors that local and global stores write to the L2").read_as(STORED_BYTES),

    count!("dram_read_transactions", Metric("Device Memory Read Transactions"), is!["dram__sectors_read.sum"], "transaction", CacheReplay, |t| t.l2.dram_read_sectors,
        "32-byte transactions that read device memory: sectors that the L2 did not hold"),
    count!("dram_write_transactions", Metric("Device Memory Write Transactions"), is!["dram__sectors_write.sum"], "transaction", CacheReplay, |t| t.l2.dram_write_sectors,
        "32-byte transactions that write device memory: dirty sectors that leave the L2; those that the first launch leaves there count too, unless each launch finds the L2 empty (`cold`)"),
    count!("l2_dirty_sectors", Unknown, &[], "sector", CacheReplay, |t| t.l2.dirty_sectors,
        "sectors that are dirty in the L2 at the launch's end, which are written to device memory later"),
    count!("dram_transactions", Unknown, is!["dram__sectors.sum"], "transaction", CacheReplay, |t| t.l2.dram_read_sectors + t.l2.dram_write_sectors,
        "32-byte transactions of device memory"),
    count!("dram_read_bytes", Metric("Total bytes read from DRAM to L2 cache"), is!["dram__bytes_read.sum"], "byte", CacheReplay, |t| t.sector_bytes() * t.l2.dram_read_sectors,
        "bytes read from device memory"),
    count!("dram_write_bytes", Metric("Total bytes written from L2 cache to DRAM"), is!["dram__bytes_write.sum"], "byte", CacheReplay, |t| t.sector_bytes() * t.l2.dram_write_sectors,
        "bytes written to device memory"),
    count!("dram_bytes", Unknown, is!["dram__bytes.sum"], "byte", CacheReplay, |t| t.sector_bytes() * (t.l2.dram_read_sectors + t.l2.dram_write_sectors),
        "bytes read from and written to device memory"),
];

/// The vendor's formula comes first; later GPUs tell atomics from reductions.
const UPDATES: &[Formula] = &[
    &[("lts__t_sectors_srcunit_l1_op_atom.sum", 1.0)],
    &[("lts__t_sectors_op_atom.sum", 1.0), ("lts__t_sectors_op_red.sum", 1.0)],
];
const STORED_BYTES: &[Formula] = &[&[
    ("lts__t_bytes_equiv_l1sectormiss_pipe_lsu_mem_global_op_st.sum", 1.0),
    ("lts__t_bytes_equiv_l1sectormiss_pipe_lsu_mem_local_op_st.sum", 1.0),
]];

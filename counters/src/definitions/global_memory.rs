//! Global memory as SMs ask for it.

use gpucast_ptx_frontend::types::StateSpace::Global;

use super::Nvprof::{Metric, Unknown};
use super::row::{count, is, quotient};
use super::{Basis, Definition, Formula, Topic};
use crate::totals::Direction::{Load, Store, Update};
use crate::totals::Operation::{Atomic, Reduction};

pub(super) const TOPIC: Topic = Topic {
    title: "Global memory",
    introduction: "Requests and bytes are those of the PTX's accesses. Transactions follow the \
                   compute capability of the modelled GPU; sectors are 32 bytes everywhere.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    count!("global_load_requests", Metric("Total number of global load requests from Multiprocessor"), is!["l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum"], "request", Execution, |t| t.memory(Global, Load).requests,
        "global loads executed by warps with at least one thread that takes part"),
    count!("global_store_requests", Metric("Total number of global store requests from Multiprocessor"), is!["l1tex__t_requests_pipe_lsu_mem_global_op_st.sum"], "request", Execution, |t| t.memory(Global, Store).requests,
        "global stores executed by warps with at least one thread that takes part, atomics not counted"),
    count!("global_atomic_requests", Metric("Total number of global atomic(Atom and Atom CAS) requests from Multiprocessor"), is!["l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum"], "request", Execution, |t| t.requests(Global, Atomic),
        "global atomics executed by warps with at least one thread that takes part"),
    count!("global_reduction_requests", Metric("Total number of global reduction requests from Multiprocessor"), is!["l1tex__t_requests_pipe_lsu_mem_global_op_red.sum"], "request", Execution, |t| t.requests(Global, Reduction),
        "global reductions executed by warps with at least one thread that takes part"),
    count!("ptx_global_load_bytes", Unknown, is!["smsp__sass_data_bytes_mem_global_op_ld.sum", "sm__sass_data_bytes_mem_global_op_ld.sum"], "byte", Execution, |t| t.memory(Global, Load).requested_bytes,
        "bytes that threads asked for in global loads"),
    count!("ptx_global_store_bytes", Unknown, is!["smsp__sass_data_bytes_mem_global_op_st.sum", "sm__sass_data_bytes_mem_global_op_st.sum"], "byte", Execution, |t| t.memory(Global, Store).requested_bytes,
        "bytes that threads wrote in global stores"),
    count!("gld_transactions", Metric("Global Load Transactions"), &[], "transaction", AccessModel, |t| t.memory(Global, Load).transactions,
        "global-load transactions in the unit of the modelled GPU: distinct 128-byte lines of each request on capability 2.x and 3.x").read_as(LOAD_SECTORS),
    count!("gst_transactions", Metric("Global Store Transactions"), &[], "transaction", AccessModel, |t| t.memory(Global, Store).transactions,
        "global-store transactions in the unit of the modelled GPU: distinct 128-byte lines of each request on capability 2.x and 3.x").read_as(STORE_SECTORS),
    quotient!("gld_transactions_per_request", Metric("Global Load Transactions Per Request"), &[], "transaction/request", AccessModel, 1.0, |t| (t.memory(Global, Load).transactions, t.memory(Global, Load).requests),
        "mean transactions of a global load").read_as(is!["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"]),
    quotient!("gst_transactions_per_request", Metric("Global Store Transactions Per Request"), &[], "transaction/request", AccessModel, 1.0, |t| (t.memory(Global, Store).transactions, t.memory(Global, Store).requests),
        "mean transactions of a global store").read_as(is!["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"]),
    count!("global_load_sectors", Unknown, LOAD_SECTORS, "sector", AccessModel, |t| t.memory(Global, Load).sectors,
        "distinct 32-byte sectors of each global load"),
    count!("global_load_passes", Unknown, &[], "pass", AccessModel, |t| t.memory(Global, Load).passes,
        "passes over the 32 banks of a first-level cache that shares them with shared memory (capability 7.0 on), one a clock: 1 if consecutive threads load consecutive words, 32 if each loads the same word of another line"),
    count!("global_store_sectors", Unknown, STORE_SECTORS, "sector", AccessModel, |t| t.memory(Global, Store).sectors,
        "distinct 32-byte sectors of each global store"),
    count!("global_update_sectors", Unknown, &[], "sector", AccessModel, |t| t.memory(Global, Update).sectors,
        "distinct 32-byte sectors of each global atomic and reduction").read_as(UPDATE_SECTORS),
    quotient!("global_load_sectors_per_request", Unknown, is!["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio"], "sector/request", AccessModel, 1.0, |t| (t.memory(Global, Load).sectors, t.memory(Global, Load).requests),
        "mean sectors of a global load: 4 if consecutive threads load consecutive words"),
    quotient!("global_store_sectors_per_request", Unknown, is!["l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio"], "sector/request", AccessModel, 1.0, |t| (t.memory(Global, Store).sectors, t.memory(Global, Store).requests),
        "mean sectors of a global store: 4 if consecutive threads store consecutive words"),
    count!("global_load_sector_bytes", Unknown, is!["l1tex__t_bytes_pipe_lsu_mem_global_op_ld.sum"], "byte", AccessModel, |t| t.bytes_of_sectors(t.memory(Global, Load).sectors),
        "bytes of the sectors of global loads"),
    count!("global_store_sector_bytes", Unknown, is!["l1tex__t_bytes_pipe_lsu_mem_global_op_st.sum"], "byte", AccessModel, |t| t.bytes_of_sectors(t.memory(Global, Store).sectors),
        "bytes of the sectors of global stores"),
    quotient!("gld_efficiency", Metric("Global Memory Load Efficiency"), is!["smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct"], "percent", AccessModel, 100.0, |t| (t.memory(Global, Load).requested_bytes, t.bytes_of_sectors(t.memory(Global, Load).sectors)),
        "bytes asked for in global loads, of those in their sectors; above 100 where threads share bytes"),
    quotient!("gst_efficiency", Metric("Global Memory Store Efficiency"), is!["smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct"], "percent", AccessModel, 100.0, |t| (t.memory(Global, Store).requested_bytes, t.bytes_of_sectors(t.memory(Global, Store).sectors)),
        "bytes written in global stores, of those in their sectors"),
    count!("atomic_transactions", Metric("Atomic Transactions"), &[], "transaction", AccessModel, |t| t.memory(Global, Update).sectors,
        "global atomic and reduction transactions: here distinct 32-byte sectors of each request").read_as(ATOMIC_SETS),
    quotient!("atomic_transactions_per_request", Metric("Atomic Transactions Per Request"), &[], "transaction/request", AccessModel, 1.0, |t| (t.memory(Global, Update).sectors, t.memory(Global, Update).requests),
        "mean transactions of a global atomic or reduction"),
];

const LOAD_SECTORS: &[Formula] = is!["l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"];
/// The vendor's table names the bytes metric here, which counts no transactions.
const STORE_SECTORS: &[Formula] = is!["l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"];
const UPDATE_SECTORS: &[Formula] = &[&[
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum", 1.0),
    ("l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum", 1.0),
]];
/// The vendor's formula, without surfaces.
const ATOMIC_SETS: &[Formula] = &[&[
    ("l1tex__t_set_accesses_pipe_lsu_mem_global_op_atom.sum", 1.0),
    ("l1tex__t_set_accesses_pipe_lsu_mem_global_op_red.sum", 1.0),
]];

//! Shared, local and constant memory.

use gpucast_ptx_frontend::types::StateSpace::{Const, Local, Shared};

use super::Nvprof::{Event, Metric, Unknown};
use super::row::{count, is, quotient};
use super::{Basis, Definition, Formula, Topic};
use crate::totals::Direction::{Load, Store, Update};
use crate::totals::Operation;

pub(super) const TOPIC: Topic = Topic {
    title: "Shared, local and constant memory",
    introduction: "A shared-memory transaction is one pass over the banks; what passes there are \
                   beyond those that an access without conflicts takes are bank conflicts. Passes \
                   are those of the PTX's accesses: an assembler that makes one wide access of \
                   several may need fewer.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    count!("shared_load", Event, is!["l1tex__t_requests_pipe_lsu_mem_shared_op_ld.sum"], "request", Arithmetic, |t| t.shared(Load).requests,
        "shared loads executed by warps with at least one thread that takes part"),
    count!("shared_store", Event, is!["l1tex__t_requests_pipe_lsu_mem_shared_op_st.sum"], "request", Arithmetic, |t| t.shared(Store).requests,
        "shared stores executed by warps with at least one thread that takes part"),
    count!("ptx_shared_load_bytes", Unknown, is!["smsp__sass_data_bytes_mem_shared_op_ld.sum", "sm__sass_data_bytes_mem_shared_op_ld.sum"], "byte", Execution, |t| t.memory(Shared, Load).requested_bytes,
        "bytes that threads asked for in shared loads"),
    count!("ptx_shared_store_bytes", Unknown, is!["smsp__sass_data_bytes_mem_shared_op_st.sum", "sm__sass_data_bytes_mem_shared_op_st.sum"], "byte", Execution, |t| t.memory(Shared, Store).requested_bytes,
        "bytes that threads wrote in shared stores"),
    count!("shared_load_transactions", Metric("Shared Load Transactions"), is!["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"], "transaction", Banks, |t| t.shared(Load).passes,
        "passes over the banks of shared memory for loads, conflicts included"),
    count!("shared_store_transactions", Metric("Shared Store Transactions"), is!["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum"], "transaction", Banks, |t| t.shared(Store).passes,
        "passes over the banks of shared memory for stores, conflicts included"),
    count!("shared_update_transactions", Unknown, is!["l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum"], "transaction", AccessModel, |t| t.shared(Update).passes,
        "passes over the banks of shared memory for atomics and reductions"),
    quotient!("shared_load_transactions_per_request", Metric("Shared Memory Load Transactions Per Request"), &[], "transaction/request", Banks, 1.0, |t| (t.shared(Load).passes, t.shared(Load).requests),
        "mean passes of a shared load"),
    quotient!("shared_store_transactions_per_request", Metric("Shared Memory Store Transactions Per Request"), &[], "transaction/request", Banks, 1.0, |t| (t.shared(Store).passes, t.shared(Store).requests),
        "mean passes of a shared store"),
    count!("shared_ld_bank_conflict", Event, is!["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"], "transaction", Banks, |t| t.shared(Load).conflict_passes(),
        "passes of shared loads beyond those that they would take without bank conflicts"),
    count!("shared_st_bank_conflict", Event, is!["l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum"], "transaction", Banks, |t| t.shared(Store).conflict_passes(),
        "passes of shared stores beyond those that they would take without bank conflicts"),
    quotient!("shared_conflict_degree", Unknown, &[], "ratio", Banks, 1.0, |t| (t.all_shared().passes, t.all_shared().conflict_free),
        "passes of all shared accesses, over those that they would take without bank conflicts"),
    quotient!("shared_efficiency", Metric("Shared Memory Efficiency"), is!["smsp__sass_average_data_bytes_per_wavefront_mem_shared.pct"], "percent", Banks, 100.0, |t| (t.shared_bytes(), t.bytes_of_passes(t.all_shared().passes)),
        "bytes that threads asked for in shared accesses, of those that the banks could have moved in the passes that it took; above 100 where threads share words"),

    count!("local_load_requests", Metric("Total number of local load requests from Multiprocessor"), is!["l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum"], "request", Arithmetic, |t| t.local_requests(Operation::Load),
        "local loads executed by warps with at least one thread that takes part"),
    count!("local_store_requests", Metric("Total number of local store requests from Multiprocessor"), is!["l1tex__t_requests_pipe_lsu_mem_local_op_st.sum"], "request", Arithmetic, |t| t.local_requests(Operation::Store),
        "local stores executed by warps with at least one thread that takes part"),
    count!("local_load_transactions", Metric("Local Load Transactions"), is!["l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum"], "transaction", AccessModel, |t| t.memory(Local, Load).sectors,
        "local-load transactions: here distinct 32-byte sectors of each request"),
    count!("local_store_transactions", Metric("Local Store Transactions"), is!["l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum"], "transaction", AccessModel, |t| t.memory(Local, Store).sectors,
        "local-store transactions: here distinct 32-byte sectors of each request"),
    quotient!("local_load_transactions_per_request", Metric("Local Memory Load Transactions Per Request"), LOCAL_LOAD_SECTORS, "transaction/request", AccessModel, 1.0, |t| (t.memory(Local, Load).sectors, t.local_requests(Operation::Load)),
        "mean transactions of a local load"),
    quotient!("local_store_transactions_per_request", Metric("Local Memory Store Transactions Per Request"), LOCAL_STORE_SECTORS, "transaction/request", AccessModel, 1.0, |t| (t.memory(Local, Store).sectors, t.local_requests(Operation::Store)),
        "mean transactions of a local store"),

    count!("constant_load_requests", Unknown, &[], "request", Execution, |t| t.memory(Const, Load).requests,
        "constant loads executed by warps with at least one thread that takes part; parameters are operands and not counted"),
    count!("constant_load_passes", Unknown, &[], "pass", AccessModel, |t| t.memory(Const, Load).passes,
        "distinct addresses of each constant load, which are served one after the other"),
];

const LOCAL_LOAD_SECTORS: &[Formula] =
    is!["l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_ld.ratio"];
const LOCAL_STORE_SECTORS: &[Formula] =
    is!["l1tex__average_t_sectors_per_request_pipe_lsu_mem_local_op_st.ratio"];

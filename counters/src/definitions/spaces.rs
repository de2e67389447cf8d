//! Memory instructions of warps, by space and by kind of access.

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::types::StateSpace::{Global, Local, Shared};

use super::Nvprof::{Metric, Unknown};
use super::row::{count, is};
use super::{Basis, Definition, Formula, Topic};
use crate::totals::Operation::{Atomic, Load, Reduction, Store};

pub(super) const TOPIC: Topic = Topic {
    title: "Memory instructions by space",
    introduction: "Memory instructions executed by warps with at least one thread that takes part. \
                   A generic access counts where its addresses lead: with machine code, to the \
                   space that the PTX instruction which it stands for accessed most.",
    definitions: DEFINITIONS,
};

#[rustfmt::skip]
const DEFINITIONS: &[Definition] = &[
    count!("inst_executed_global_loads", Metric("Warp level instructions for global loads"), is!["smsp__inst_executed_op_global_ld.sum", "smsp__sass_inst_executed_op_global_ld.sum"], "instruction", Instructions, |t| t.accesses(Global, Load),
        "global loads"),
    count!("inst_executed_global_stores", Metric("Warp level instructions for global stores"), is!["smsp__inst_executed_op_global_st.sum", "smsp__sass_inst_executed_op_global_st.sum"], "instruction", Instructions, |t| t.accesses(Global, Store),
        "global stores"),
    count!("inst_executed_global_atomics", Metric("Warp level instructions for global atom and atom cas"), is!["smsp__inst_executed_op_global_atom.sum", "smsp__sass_inst_executed_op_global_atom.sum"], "instruction", Instructions, |t| t.accesses(Global, Atomic),
        "global atomics, which return the old value"),
    count!("inst_executed_global_reductions", Metric("Warp level instructions for global reductions"), is!["smsp__inst_executed_op_global_red.sum", "smsp__sass_inst_executed_op_global_red.sum"], "instruction", Instructions, |t| t.accesses(Global, Reduction),
        "global reductions, which return nothing"),
    count!("inst_executed_local_loads", Metric("Warp level instructions for local loads"), is!["smsp__inst_executed_op_local_ld.sum", "smsp__sass_inst_executed_op_local_ld.sum"], "instruction", Instructions, |t| t.accesses(Local, Load),
        "local loads"),
    count!("inst_executed_local_stores", Metric("Warp level instructions for local stores"), is!["smsp__inst_executed_op_local_st.sum", "smsp__sass_inst_executed_op_local_st.sum"], "instruction", Instructions, |t| t.accesses(Local, Store),
        "local stores"),
    count!("inst_executed_shared_loads", Metric("Warp level instructions for shared loads"), is!["smsp__inst_executed_op_shared_ld.sum", "smsp__sass_inst_executed_op_shared_ld.sum"], "instruction", Instructions, |t| t.accesses(Shared, Load),
        "shared loads"),
    count!("inst_executed_shared_stores", Metric("Warp level instructions for shared stores"), is!["smsp__inst_executed_op_shared_st.sum", "smsp__sass_inst_executed_op_shared_st.sum"], "instruction", Instructions, |t| t.accesses(Shared, Store),
        "shared stores"),
    count!("inst_executed_shared_64", Unknown, &[], "instruction", Instructions, |t| t.accesses_of_width(Shared, 8),
        "of the shared loads and stores, those of which each thread moves 8 bytes"),
    count!("inst_executed_shared_128", Unknown, &[], "instruction", Instructions, |t| t.accesses_of_width(Shared, 16),
        "of the shared loads and stores, those of which each thread moves 16 bytes"),
    count!("inst_executed_shared_atomics", Metric("Warp level shared instructions for atom and atom CAS"), is!["smsp__sass_inst_executed_op_shared_atom.sum"], "instruction", Instructions, |t| t.accesses(Shared, Atomic) + t.accesses(Shared, Reduction),
        "shared atomics and reductions").read_as(SHARED_ATOMICS),
    count!("inst_executed_surface_loads", Metric("Warp level instructions for surface loads"), is!["smsp__inst_executed_op_surface_ld.sum"], "instruction", Execution, |t| t.opcodes(&[Opcode::Suld]),
        "surface loads"),
    count!("inst_executed_surface_stores", Metric("Warp level instructions for surface stores"), is!["smsp__inst_executed_op_surface_st.sum"], "instruction", Execution, |t| t.opcodes(&[Opcode::Sust]),
        "surface stores"),
    count!("inst_executed_surface_atomics", Metric("Warp level instructions for surface atom and atom cas"), is!["smsp__inst_executed_op_surface_atom.sum"], "instruction", Execution, |_| 0_u64,
        "surface atomics, which PTX does not have"),
    count!("inst_executed_surface_reductions", Metric("Warp level instructions for surface reductions"), is!["smsp__inst_executed_op_surface_red.sum"], "instruction", Execution, |t| t.opcodes(&[Opcode::Sured]),
        "surface reductions"),
];

/// The vendor's formula.
const SHARED_ATOMICS: &[Formula] = &[&[
    ("smsp__inst_executed_op_shared_atom.sum", 1.0),
    ("smsp__inst_executed_op_shared_atom_dot_alu.sum", 1.0),
    ("smsp__inst_executed_op_shared_atom_dot_cas.sum", 1.0),
]];

//! The classes in which a profiler counts instructions.

/// The counting class of an instruction, after nvprof's `inst_*` metrics.
///
/// | class | nvprof metric | what belongs to it |
/// |---|---|---|
/// | `Fp16`, `Fp32`, `Fp64` | `inst_fp_16`, `inst_fp_32`, `inst_fp_64` | arithmetic, comparison and special functions on that type; packed halves count as `Fp16` |
/// | `Integer` | `inst_integer` | integer arithmetic, integer comparison, logic and shifts, video |
/// | `BitConvert` | `inst_bit_convert` | `cvt`, `cvt.pack` |
/// | `LoadStore` | `inst_compute_ld_st` | loads, stores, atomics, reductions, prefetches, asynchronous copies and matrix loads |
/// | `Control` | `inst_control` | branches, calls, returns, `exit` |
/// | `InterThread` | `inst_inter_thread_communication` | `shfl`, `vote`, `match`, `redux`, `elect`, `activemask`, `movmatrix` |
/// | `Texture` | `inst_executed_tex_ops` | textures and surfaces |
/// | `Tensor` | (`inst_executed_pipe_tensor` of Nsight Compute) | `wmma.mma`, `mma`, `wgmma`, `tcgen05.mma` |
/// | `Misc` | `inst_misc` | moves, selections of predicates, barriers, fences, address conversion, the rest |
///
/// The class of a row is that of its instruction type: `add.f32` is `Fp32`, `add.s32` is
/// `Integer`.
#[allow(missing_docs, reason = "the table above describes each variant")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum InstructionClass {
    Fp16,
    Fp32,
    Fp64,
    Integer,
    BitConvert,
    LoadStore,
    Control,
    InterThread,
    Texture,
    Tensor,
    Misc,
}

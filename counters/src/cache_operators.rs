//! The loads that go past first-level caches, whatever the generation keeps there.

use gpucast_ptx_frontend::isa::{Modifier as M, Opcode};
use gpucast_ptx_frontend::module::Instruction;

/// The caches that serve loads from global memory without a cache operator: ptxas's option
/// `--def-load-cache` (`-dlcm`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LoadCaching {
    /// All that the generation has for them: `ca`, the default.
    #[default]
    All,
    /// The L2 and no other: `cg`.
    L2Only,
}

/// Returns true if the L2 serves the instruction's loads from global memory.
///
/// The L2 serves these loads:
///
/// - with `.cg` and `.cv` (manual, section 9.7.9.1), and volatile ones;
/// - those that must see other CTAs' stores (9.7.9.8: `.relaxed`, `.acquire` and `.mmio` wider than
///   a CTA);
/// - copies with `cp.async.cg` (9.7.9.25.3.1), and all bulk copies, which do not pass through the
///   L1 at all;
/// - with [`LoadCaching::L2Only`], also plain loads that name no cache operator.
#[must_use]
pub fn past_first_level(instruction: &Instruction, loads: LoadCaching) -> bool {
    let has = |modifier| instruction.has(modifier);
    match instruction.opcode {
        Opcode::Ld => {
            let strong = has(M::Relaxed) || has(M::Acquire) || has(M::Mmio);
            let is_plain = !(has(M::Ca) || has(M::Cs) || has(M::Lu) || has(M::Nc));
            has(M::Cg)
                || has(M::Cv)
                || has(M::Volatile)
                || (strong && !has(M::Cta))
                || (loads == LoadCaching::L2Only && is_plain)
        }
        Opcode::CpAsync => has(M::Cg),
        Opcode::CpAsyncBulk
        | Opcode::CpAsyncBulkTensor
        | Opcode::CpReduceAsyncBulk
        | Opcode::CpReduceAsyncBulkTensor
        | Opcode::MultimemLdReduce => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_that_the_l1_does_not_serve() {
        let body = [
            ("ld.global.u32 %r, [%d];", false),
            ("ld.global.ca.u32 %r, [%d];", false),
            ("ld.global.cs.u32 %r, [%d];", false),
            ("ld.global.cg.u32 %r, [%d];", true),
            ("ld.global.cv.u32 %r, [%d];", true),
            ("ld.volatile.global.u32 %r, [%d];", true),
            ("ld.relaxed.cta.global.u32 %r, [%d];", false),
            ("ld.relaxed.gpu.global.u32 %r, [%d];", true),
            ("ld.acquire.sys.global.u32 %r, [%d];", true),
            ("cp.async.ca.shared.global [%s], [%d], 16;", false),
            ("cp.async.cg.shared.global [%s], [%d], 16;", true),
            (
                "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%d], 16, [%s];",
                true,
            ),
            ("st.global.cg.u32 [%d], %r;", false),
        ];
        let lines: Vec<&str> = body.iter().map(|(line, _)| *line).collect();
        let text = format!(
            ".version 8.8\n.target sm_100\n.address_size 64\n.visible .entry k() {{\n\
             .reg .b32 %r, %s; .reg .b64 %d;\nmov.u64 %d, 0; mov.u32 %s, 0;\n{}\nret;\n}}\n",
            lines.join("\n")
        );
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let program = gpucast_interpreter::Program::new(&module, &text, "k").unwrap();
        let instructions = &program.instructions()[2..];
        for ((line, wanted), instruction) in body.iter().zip(instructions) {
            let past = |loads| past_first_level(&instruction.instruction, loads);
            assert_eq!(past(LoadCaching::All), *wanted, "{line}");
            // Of these lines only the first names no operator and says nothing else.
            let is_plain = *line == body[0].0 || line.starts_with("ld.relaxed.cta");
            assert_eq!(past(LoadCaching::L2Only), *wanted || is_plain, "{line}");
        }
    }
}

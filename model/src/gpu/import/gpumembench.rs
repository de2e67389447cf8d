//! gpumembench: the on-chip memories (E. Konstantinidis and Y. Cotronis, PDP 2016; thesis, appendix
//! B).
//!
//! `shmembench` gives the bandwidth of shared memory, the best of its three widths, and T_ldst, its
//! peak operation throughput. `cachebench` gives the bandwidth of the cache that global loads reach
//! first. That is the L1, or the L2 if they bypass the L1 (compute capability 3.x, 5.0 and 5.2).
//! `constbench` gives nothing that a GPU has a field for.

use super::{Draft, ImportError, ImportProblem, at_start, lines, number, specifications};
use crate::gpu::quantity::Raw;

const BY: &str = "gpumembench";

pub(super) fn read(text: &str, draft: &mut Draft<'_>) -> Result<(), ImportError> {
    specifications::read(text, BY, draft)?;
    let measured = draft.measured(BY);
    let mut found = false;
    // Lines of the three programs look alike; the title says whose they are.
    let mut program = "";
    let mut reads = false;
    let (mut shared, mut shared_line) = (0.0_f64, 0);
    for (line, content) in lines(text) {
        for name in ["cachebench", "shmembench", "constbench"] {
            if content.contains(name) {
                program = name;
            }
        }
        let Some((label, value)) = content.split_once(':') else { continue };
        match (program, label.trim()) {
            ("cachebench", "Read only accesses") => reads = true,
            ("cachebench", "Read-write accesses") => reads = false,
            ("cachebench", "max") if reads => {
                let field = first_cache(draft);
                let value = Raw::Number(number(value, line)?);
                draft.set(field, value, measured.clone(), line)?;
                found = true;
            }
            ("shmembench", label) if label.starts_with("using") => {
                let bandwidth = number(value, line)?;
                if bandwidth > shared {
                    (shared, shared_line) = (bandwidth, line);
                }
            }
            ("shmembench", "peak operation throughput") => {
                let value = Raw::Number(number(value, line)?);
                draft.set("load_store_throughput", value, measured.clone(), line)?;
                found = true;
            }
            _ => {}
        }
    }
    if shared > 0.0 {
        draft.set("shared_bandwidth", Raw::Number(shared), measured, shared_line)?;
        found = true;
    }
    if text.contains("constbench") {
        draft.note("left out constbench: a GPU has no field for the constant cache");
    }
    match found {
        true => Ok(()),
        false => Err(at_start(ImportProblem::Missing {
            what: "result of cachebench (`max:`) or shmembench (`using 32bit operations`)",
        })),
    }
}

/// The cache that global loads reach first.
fn first_cache(draft: &mut Draft<'_>) -> &'static str {
    let capability = draft.gpu.compute_capability.as_ref().map(|c| (c.value.major, c.value.minor));
    match capability {
        Some((3, _) | (5, 0 | 2)) => {
            draft.note("cachebench's maximum is taken for the L2's: global loads bypass the L1");
            "l2_bandwidth"
        }
        _ => "l1_bandwidth",
    }
}

//! The fraction of the data sheet's bandwidth that a kernel gets.

/// The share of the peak that streaming kernels reach on a kind of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Achieved {
    /// The kind, as `memory_type` writes it.
    pub memory_type: &'static str,
    /// The median of the GPUs of the library that have this memory and were measured; of another
    /// kind if none was.
    pub fraction: f64,
    /// The lowest and the highest share among them; none where nothing was measured.
    pub measured: Option<(f64, f64)>,
    /// The evidence for the fraction.
    pub evidence: &'static str,
}

const fn measured(
    memory_type: &'static str,
    fraction: f64,
    range: (f64, f64),
    evidence: &'static str,
) -> Achieved {
    Achieved { memory_type, fraction, measured: Some(range), evidence }
}

const fn like(memory_type: &'static str, fraction: f64, evidence: &'static str) -> Achieved {
    Achieved { memory_type, fraction, measured: None, evidence }
}

/// Kinds of memory. The medians follow from the library's own files, as a test checks.
pub const ACHIEVED: &[Achieved] = &[
    like("GDDR3", 0.84, "as GDDR5"),
    measured("GDDR5", 0.84, (0.77, 0.93), "the median of 5 GPUs"),
    measured("GDDR5 with ECC", 0.73, (0.72, 0.73), "the median of 2 GPUs"),
    like("GDDR5X", 0.84, "as GDDR5"),
    measured("GDDR6", 0.93, (0.75, 0.96), "the median of 5 GPUs"),
    measured("GDDR6X", 0.89, (0.89, 0.90), "1 GPU"),
    like("GDDR7", 0.89, "as GDDR6X"),
    measured("HBM", 0.84, (0.84, 0.85), "1 GPU"),
    measured("HBM2", 0.92, (0.90, 0.94), "the median of 4 GPUs"),
    measured("HBM2e", 0.88, (0.86, 0.90), "the median of 2 GPUs"),
    measured("HBM3", 0.90, (0.86, 0.95), "the median of 2 GPUs"),
    measured("HBM3e", 0.93, (0.84, 0.94), "the median of 3 GPUs"),
    measured("LPDDR5", 0.82, (0.82, 0.83), "1 GPU"),
    measured("LPDDR5X", 0.92, (0.91, 0.92), "1 GPU"),
];

/// The ending of `memory_type` if ECC is on and its bits lie in the same memory as the data.
///
/// GDDR5 keeps them so: 6.25 % of a K40's memory are ECC bits, those of 32 bytes together (NVIDIA,
/// Tesla V100 white paper, "ECC Memory Resiliency"). Fetching them costs about a fifth of the
/// bandwidth. HBM2 has bits of its own and loses nothing (NVIDIA, CUDA C++ Best Practices Guide,
/// "Theoretical Bandwidth Calculation").
pub(in super::super) const INLINE_ECC: &str = " with ECC";

/// Says that nothing is known of a kind of memory.
pub(in super::super) const UNKNOWN_MEMORY: &str = "nothing is known of such memory, whose bandwidth depends on its kind: GDDR3, GDDR5, \
     GDDR5 with ECC, GDDR5X, GDDR6, GDDR6X, GDDR7, HBM, HBM2, HBM2e, HBM3, HBM3e, LPDDR5 or LPDDR5X";

/// Returns true if the table has a kind of memory.
pub(in super::super) fn is_known_memory(memory_type: &str) -> bool {
    ACHIEVED.iter().any(|row| row.memory_type == memory_type)
}

/// The share for a kind of memory; for one that is not given, that of GDDR5.
pub(super) fn achieved(memory_type: Option<&str>) -> Achieved {
    let known = |name: &str| ACHIEVED.iter().find(|row| row.memory_type == name);
    memory_type.and_then(known).copied().unwrap_or(Achieved {
        memory_type: "unknown",
        fraction: 0.84,
        measured: None,
        evidence: "as GDDR5, since the kind of memory is not known",
    })
}

/// The share of the peak, in percent, that accesses of one direction reach, or reads mixed with
/// writes; and the evidence.
pub(super) fn efficiency(memory_type: Option<&str>, mixed: bool) -> (f64, String) {
    const STREAMS: &str = "0.94 to 1.00 of reads alone and writes alone, 0.84 to 0.90 mixed on \
                           HBM, 0.93 to 0.96 on GDDR6: github.com/RRZE-HPC/gpu-benches, gpu-stream";
    let kind = memory_type.unwrap_or_default();
    let is_hbm = ["HBM2", "HBM2e", "HBM3", "HBM3e"].contains(&kind);
    let is_gddr = ["GDDR6", "GDDR6X", "GDDR7"].contains(&kind);
    match (is_hbm, is_gddr, mixed) {
        (true, _, false) | (_, true, false) => (97.0, STREAMS.to_owned()),
        (true, _, true) => (87.0, STREAMS.to_owned()),
        (_, true, true) => (94.0, STREAMS.to_owned()),
        // Nobody measured the directions apart.
        (false, false, _) => {
            let share = achieved(memory_type);
            (100.0 * share.fraction, format!("{} reach {}", share.evidence, share.fraction))
        }
    }
}

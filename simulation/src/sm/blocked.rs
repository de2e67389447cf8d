//! Waits whose end only other warps or copies bring.

/// Why a warp waits without a known end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blocked {
    /// For the other warps of its CTA.
    Barrier,
    /// For a phase of an mbarrier.
    Phase,
}

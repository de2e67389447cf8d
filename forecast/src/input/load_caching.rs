//! The caches that keep loads.

use serde::{Deserialize, Serialize};

/// Cache level that keeps loads without a cache operator: the compiler's option `-dlcm`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoadCaching {
    /// In all caches.
    Ca,
    /// In the L2 only.
    Cg,
}

//! The question whether somebody wants to have a run ended.

use std::fmt;
use std::sync::Arc;

/// Says whether programs that run should end. They are asked every few milliseconds.
#[derive(Clone)]
pub struct Stop(Arc<dyn Fn() -> bool + Send + Sync>);

impl Stop {
    /// Asks a function.
    pub fn when(is_asked: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Arc::new(is_asked))
    }

    /// Nobody ends anything.
    #[must_use]
    pub fn never() -> Self {
        Self::when(|| false)
    }

    /// Returns true if programs should end.
    #[must_use]
    pub fn is_asked(&self) -> bool {
        (self.0)()
    }
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stop")
    }
}

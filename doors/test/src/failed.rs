//! What does not hold, for people.

use std::error::Error;
use std::fmt;

/// What does not hold of a kernel: wrong results, findings and limits, each with its place.
#[derive(Clone, PartialEq, Eq)]
pub struct Failed(pub(crate) String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The same text, which Rust shows of a test that returns it.
impl fmt::Debug for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Failed {}

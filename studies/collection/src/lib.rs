//! Measurement kernels: generators, the tags that choose them, and the texts that they write.
//!
//! ```text
//! tags ──► generators × variants ──► language::Kernel ─┬─► ptx
//!                                                      ├─► cuda
//!                                                      └─► launch (TOML)
//! ```
//!
//! Stevens and Klöckner 2020, section 7.1, calibrate models on such a collection (UIPiCK). The
//! thesis of Konstantinidis 2017, appendices A and B, adds those that measure a GPU's parameters.
//! [`generators`] has one file per generator.
//!
//! The crate knows the text of kernels. It knows neither execution nor GPUs.
//!
//! A kernel is written once, in `language`; `ptx` and `cuda` print it, so both texts are the same
//! kernel. Loads that measure something are volatile where a compiler could move or drop them.
//! [`removal`] takes work out of anybody's PTX. It disregards the order of instructions, so that
//! too much stays rather than too little.

pub mod cuda;
pub mod generators;
pub mod language;
pub mod launch;
pub mod ptx;
pub mod removal;
pub mod tags;
pub mod texts;
pub mod variant;

pub use gpucast_ptx_frontend::container::Target;
pub use tags::{Choice, MatchCondition, Request, TagError};
pub use texts::Texts;
pub use variant::{Allowed, Axis, Unfit, Value, Variant};

use language::Kernel;

/// A maker of kernels that differ in the values of some axes.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// Its name, which is also the first of its tags and the name of its kernels.
    pub name: &'static str,
    /// The tags that find it besides.
    pub tags: &'static [&'static str],
    /// The work that its kernels do, in one sentence.
    pub summary: &'static str,
    /// The arguments of its variants.
    pub axes: &'static [Axis],
    /// Writes the kernel of a variant.
    pub make: fn(&Variant) -> Result<Kernel, Unfit>,
}

impl Generator {
    /// Returns all tags, its name first.
    pub fn all_tags(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.tags.iter().copied())
    }

    /// Finds an axis by name.
    #[must_use]
    pub fn axis(&self, name: &str) -> Option<&'static Axis> {
        self.axes.iter().find(|axis| axis.name == name)
    }
}

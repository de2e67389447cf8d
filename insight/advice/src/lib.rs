//! The answer a colleague would give: what is slow in a kernel, where, why, and what to change.
//!
//! ```text
//! counted launch ──► Case ──► rules ──► suspicions ──► trials (what-ifs on every model) ──► Advice
//!                      └────► verdict: time with its interval, bound, costliest line
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`advise`](mod@advise) | from a kernel and a GPU to ranked advice |
//! | [`case`] | what rules look at: counts, conditions, the GPU, the headline prediction |
//! | [`verdict`] | the time to believe, its bound, and the line that costs most |
//! | [`roof`] | the time at the GPU's peaks, where no rule finds a change |
//! | [`rules`] | one file for each cause, and their registry |
//! | [`trial`] | predictions with and without a cause |
//! | [`place`] | lines of the user's source |
//! | [`page`] | the page that lists the rules |
//!
//! A gain is never typed in. A rule names the change of circumstances, and every model that can see
//! it predicts again. Where no model can see it, the advice says so and has no number.
//!
//! The crate knows no command line, prints nothing and reads no files but those of a kernel.
//!
//! The headline is the prediction of the GPU's default model, or of the one that is shown, unless
//! it warns of work left out. Then the simulation's stands for it, or else the slowest of those
//! that warn of nothing. So no first screen contradicts a warning. What gains less than 5 % is left
//! out; the rest is ranked by gain and effort. What the headline's model cannot see, the simulation
//! answers; such gains come last and name it.
//!
//! A question needs the time only (`Model::time_ms`), so the simulation leaves out its interval and
//! its account of clocks. A change that touches nothing that it reads is not simulated
//! (`Model::reads_the_same`).

pub mod advise;
pub mod case;
pub mod page;
pub mod place;
pub mod roof;
pub mod rules;
pub mod trial;
pub mod verdict;

pub use advise::{Advice, Depth, Item, Known, advise, advise_all};
pub use roof::Roof;
pub use verdict::Verdict;

//! Tasks for classes: a kernel that is wrong or slow, and what counts as done.
//!
//! ```text
//! tasks (ours), or a teacher's folder ──► Task ──► hand_out ──► a student's folder
//!                                          │                          │
//!                                          │                     submission
//!                                          ▼                          ▼
//!                        judge (results, races, stray accesses) ◄── check ──► Checked
//!                        a profile and a prediction (targets)  ◄─────┘
//! ```
//!
//! | module | idea |
//! |---|---|
//! | [`task`] | a task, from the files of its folder |
//! | [`tasks`] | those that come with the program |
//! | [`language`] | the languages in which a task is told |
//! | [`hand_out`] | the files that a student or a teacher begins with |
//! | [`submission`] | what a student hands in, also those of a class |
//! | [`python`] | kernels in Python, for Numba |
//! | [`check`] | what became of a submission, with points |
//!
//! The crate knows no command line and no terminal, and nothing of how results look.

pub mod check;
pub mod hand_out;
pub mod language;
mod launch;
pub mod python;
pub mod submission;
pub mod task;
pub mod tasks;
mod translation;

pub use check::{Checked, Checking, Graded};
pub use language::Language;
pub use submission::Submission;
pub use task::Task;

//! Tasks for classes, checked submissions and grades, in the form asked for.

mod check;
mod grades;
mod list;
mod words;

pub use check::document as checked;
pub use grades::{GradeFormat, document as grades};
pub use list::document as list;

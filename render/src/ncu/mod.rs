//! Pages of Nsight Compute, filled with what is predicted.
//!
//! A [`ProfileReport`] has everything; pages only choose and draw.

mod collection;
mod form;
mod launches;
mod lists;
mod number;
mod page;
mod report;
mod sections;
mod source;
mod summary;
mod tables;

pub use collection::Collection;
pub use form::{MetricName, Page, PageForm};
pub use lists::{list_sections, list_sets, query_metrics};
pub use number::NumberForm;
pub use page::page;
pub use report::{Action, Device, ProfileReport, SCHEMA};
pub use sections::{DEFAULT_SET, OTHERS, SECTIONS, SETS, Section, SectionSet, section, set};
pub use summary::{Summary, summary};

#[cfg(test)]
mod tests;

//! Fills in the fields that a GPU's file leaves open.
//!
//! A file gives figures that were measured or printed. [`Gpu::completed`] adds those that follow:
//! limits and counting rules of the compute capability ([`Gpu::with_capability_defaults`]), the
//! capability's rates and latencies (`data/capabilities.toml`), and the results of the
//! [rules](RULES). A figure that a file gives is never replaced. Every field that a rule filled
//! says so in its source, with the rule's name and inputs.

mod capability;
mod memory;
mod rules;

pub use memory::{ACHIEVED, Achieved};
pub(super) use memory::{INLINE_ECC, UNKNOWN_MEMORY, is_known_memory};
pub use rules::{RULES, Rule, Spread};

use super::description::{FieldSet, Gpu};
use super::quantity::Raw;

impl Gpu {
    /// The GPU with every field that follows from those that it has.
    #[must_use]
    pub fn completed(&self) -> Self {
        let mut gpu = self.with_capability_defaults();
        for rule in RULES {
            if gpu.figure(rule.field).is_none() {
                gpu.fill_by(rule);
            }
        }
        let is_new = |field: &str| self.figure(field).is_none() && gpu.figure(field).is_some();
        gpu.filled = FieldSet::of(|field| self.is_filled(field) || is_new(field));
        gpu
    }

    /// Returns true if a field's value follows from others, instead of standing in a file.
    #[must_use]
    pub fn is_filled(&self, field: &str) -> bool {
        self.filled.contains(field)
    }

    /// The value of a field by its rule, even if a file gives the field. Returns `None` if there is
    /// no rule, or an input of the rule is missing.
    #[must_use]
    pub fn by_rule(&self, field: &str) -> Option<f64> {
        Rule::of(field)?.value(&self.completed())
    }

    /// The GPU as its file has it.
    #[must_use]
    pub fn given(&self) -> Self {
        let mut gpu = self.clone();
        for field in self.filled.iter() {
            gpu.clear(field);
        }
        gpu.filled = FieldSet::default();
        gpu
    }

    /// Fills a field by a rule; leaves it open if the rule has no value, or an impossible one.
    pub(super) fn fill_by(&mut self, rule: &Rule) {
        if let Some((value, source)) = rule.evaluate(self) {
            // A product of possible values can overflow; the field then stays open.
            let _ = self.put(rule.field, Raw::Number(value), source);
        }
    }
}

//! The part of a machine profile that profile files hold.

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::{BackEnd, MachineProfile};

impl BackEnd {
    /// Its name on the command line and in files.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Ptxas { .. } => "ptxas",
            Self::Rules => "rules",
        }
    }

    /// The assembler's version, if there is one.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match self {
            Self::Ptxas { version } => Some(version),
            Self::Rules => None,
        }
    }
}

impl MachineProfile {
    /// Adds the counts of another launch of the same code.
    pub fn add(&mut self, other: &Self) {
        for (total, row) in self.rows.iter_mut().zip(&other.rows) {
            total.warp_executions += row.warp_executions;
            total.issued_lanes += row.issued_lanes;
            total.thread_executions += row.thread_executions;
        }
        self.kind = self.kind.max(other.kind);
        for note in &other.notes {
            if !self.notes.contains(note) {
                self.notes.push(note.clone());
            }
        }
    }
}

/// The origin of the counts; the rows are not part of it.
impl Serialize for MachineProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut profile = serializer.serialize_struct("MachineProfile", 5)?;
        profile.serialize_field("back_end", self.back_end.name())?;
        if let Some(version) = self.back_end.version() {
            profile.serialize_field("version", version)?;
        }
        profile.serialize_field("target", &self.target)?;
        if let Some(registers) = self.registers_per_thread {
            profile.serialize_field("registers_per_thread", &registers)?;
        }
        profile.serialize_field("notes", &self.notes)?;
        profile.end()
    }
}

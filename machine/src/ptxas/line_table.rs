//! The line table: which injected line each machine instruction comes from.
//!
//! The assembler writes DWARF 2 with two opcodes of its own (for inlined functions), which are
//! skipped. It keeps the `.file` numbers of the text although its list of files is shorter.

use std::collections::BTreeMap;

use gimli::{DebugLine, DebugLineOffset, LittleEndian};

use super::MachineError;

/// Injected lines by section and offset; each holds up to the next entry of its section.
#[derive(Default)]
pub(super) struct LineTable {
    /// `None` at the start of a line of another file, or of no line at all.
    rows: BTreeMap<(usize, u64), Option<u64>>,
}

impl LineTable {
    /// Reads a table whose addresses have the section in the upper half, and takes the lines of
    /// `file`.
    pub(super) fn parse(bytes: &[u8], file: u64) -> Result<Self, MachineError> {
        let damaged = |error: gimli::Error| MachineError::LineTable { reason: error.to_string() };
        let section = DebugLine::new(bytes, LittleEndian);
        let mut table = Self::default();
        let mut offset = 0;
        while offset < bytes.len() {
            let program =
                section.program(DebugLineOffset(offset), 8, None, None).map_err(damaged)?;
            // The length does not count its own four bytes.
            offset += program.header().unit_length() + 4;
            let mut rows = program.rows();
            while let Some((_, row)) = rows.next_row().map_err(damaged)? {
                let place = ((row.address() >> 32) as usize, row.address() & u64::from(u32::MAX));
                let ours = !row.end_sequence() && row.file_index() == file;
                let line = row.line().filter(|_| ours).map(std::num::NonZero::get);
                // The last of several rows for one address counts; an end does not hide a row that
                // begins there.
                if !row.end_sequence() || !table.rows.contains_key(&place) {
                    table.rows.insert(place, line);
                }
            }
        }
        Ok(table)
    }

    /// The injected line of the instruction at `offset` of a section, in a function that begins at
    /// `function`. Subroutines that the assembler adds have no lines, and the lines before them say
    /// nothing about them.
    pub(super) fn line(&self, section: usize, function: u64, offset: u64) -> Option<u64> {
        let (_, line) = self.rows.range((section, function)..=(section, offset)).next_back()?;
        *line
    }
}

//! The rows of all mnemonics, parsed at first use.

use std::sync::LazyLock;

use super::form::{Form, FormId};
use super::{Opcode, notation, rows};

/// The parsed table.
pub(super) struct Table {
    pub(super) forms: Vec<Form>,
    /// For each opcode the range of its rows.
    ranges: Vec<(u16, u16)>,
    /// Rows that could not be parsed; a test asserts that there are none.
    #[cfg_attr(not(test), allow(dead_code, reason = "read by the table's self-check"))]
    pub(super) errors: Vec<String>,
}

pub(super) static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let mut forms = Vec::new();
    let mut errors = Vec::new();
    for group in rows::groups() {
        for text in group.rows {
            match notation::parse(text, group) {
                Ok(form) => forms.push(form),
                Err(error) => errors.push(format!("{text}: {error}")),
            }
        }
    }
    forms.sort_by_key(|form| form.opcode);
    let ranges = Opcode::ALL
        .iter()
        .map(|&opcode| {
            let start = forms.partition_point(|form| form.opcode < opcode);
            let end = forms.partition_point(|form| form.opcode <= opcode);
            (start as u16, end as u16)
        })
        .collect();
    Table { forms, ranges, errors }
});

/// Every row of the table; [`FormId`] is the index.
#[must_use]
pub fn forms() -> &'static [Form] {
    &TABLE.forms
}

/// The rows of one mnemonic.
pub fn forms_of(opcode: Opcode) -> impl ExactSizeIterator<Item = (FormId, &'static Form)> {
    let (start, end) = TABLE.ranges.get(opcode as usize).copied().unwrap_or_default();
    (start..end).map(|index| (FormId(index), &TABLE.forms[index as usize]))
}

impl FormId {
    /// The row.
    #[must_use]
    pub fn form(self) -> &'static Form {
        &TABLE.forms[self.0 as usize]
    }
}

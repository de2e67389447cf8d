//! The forms that results have.

/// The form of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// For programs; the document names its schema and the schema's version.
    Json,
    /// For spreadsheets.
    Csv,
}

/// The form of a result that is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextOrJson {
    /// For people.
    Text,
    /// For programs; the document names its schema and the schema's version.
    Json,
}

//! Storage of counts: that all workers of a sweep see, and that of one user.

mod folder;
pub(crate) mod sealed;

use std::time::Duration;

use crate::failure::{Failure, Report};

pub use folder::Folder;

/// Objects by name: a folder, or a bucket of a cloud.
///
/// Names are words of letters, digits, `.`, `-` and `_` with slashes between them. An object
/// appears as a whole or not at all.
pub trait Store: Send + Sync {
    /// The place, as the user named it.
    fn place(&self) -> &str;

    /// The contents of an object; `None` if there is none of this name.
    ///
    /// # Errors
    ///
    /// If the storage does not answer.
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError>;

    /// Stores an object where there is none of this name. Of several callers at a time, one stores.
    ///
    /// # Errors
    ///
    /// If the storage does not take it.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<Put, StoreError>;

    /// Stores an object, in place of one of the same name.
    ///
    /// # Errors
    ///
    /// If the storage does not take it.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError>;

    /// Removes an object, if there is one.
    ///
    /// # Errors
    ///
    /// If it is still there.
    fn remove(&self, name: &str) -> Result<(), StoreError>;

    /// The objects of a folder, by their names in it, in ascending order.
    ///
    /// # Errors
    ///
    /// If the storage does not answer.
    fn list(&self, folder: &str) -> Result<Vec<String>, StoreError>;

    /// Removes what writers left that were killed while they wrote: parts of objects that nobody
    /// has touched for longer than `silence`. Returns their number. Storage that takes objects as a
    /// whole has none.
    ///
    /// # Errors
    ///
    /// If the storage does not answer.
    fn tidy(&self, silence: Duration) -> Result<usize, StoreError> {
        let _ = silence;
        Ok(0)
    }
}

/// The fate of an object that was to be stored where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is stored.
    Stored,
    /// There was one already.
    Present,
}

/// Reason why a store does not do what was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {verb} {name} in {place}: {reason}")]
pub struct StoreError {
    /// What was to be done: `read`, `write`, `remove`, `list`.
    pub verb: &'static str,
    /// The object or folder.
    pub name: String,
    /// The store.
    pub place: String,
    /// The storage's message.
    pub reason: String,
}

impl From<StoreError> for Report {
    fn from(error: StoreError) -> Self {
        Self::new(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Report::from(error).into()
    }
}

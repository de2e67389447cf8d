//! The reasons why a reference cannot be computed.

use super::values::ElementType;

/// Reason why a reference cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The launch has too few arguments.
    #[error("argument {position} is missing: the reference needs {expected} there")]
    MissingArgument {
        /// Counted from 0.
        position: usize,
        /// The argument that belongs there.
        expected: String,
    },
    /// An argument is of another kind or type.
    #[error("argument {position} is {found}: the reference needs {expected} there")]
    WrongArgument {
        /// Counted from 0.
        position: usize,
        /// The argument that belongs there.
        expected: String,
        /// The argument that is there.
        found: String,
    },
    /// An argument names a buffer that is not among the inputs.
    #[error("buffer `{name}` (argument {position}) is not among the inputs")]
    MissingBuffer {
        /// The buffer's name.
        name: String,
        /// Counted from 0.
        position: usize,
    },
    /// A buffer's elements have another type.
    #[error("buffer `{name}` holds {found}: the reference needs {expected}")]
    WrongType {
        /// The buffer's name.
        name: String,
        /// The type that the kernel works on.
        expected: ElementType,
        /// The type of the buffer.
        found: ElementType,
    },
    /// A buffer is too short or does not fit the others.
    #[error("buffer `{name}` has {found} elements: the reference needs {expected}")]
    WrongLength {
        /// The buffer's name.
        name: String,
        /// The number of elements that the launch works on.
        expected: usize,
        /// The number of elements in the buffer.
        found: usize,
    },
    /// The reference does not know the kernel.
    #[error("this reference has no definition of kernel `{kernel}`; it knows {known}")]
    UnknownKernel {
        /// The kernel's name.
        kernel: String,
        /// The names it knows.
        known: &'static str,
    },
    /// The launch is one for which the result is not defined here.
    #[error("the launch does not fit: {reason}")]
    UnsupportedLaunch {
        /// A full explanation.
        reason: String,
    },
}

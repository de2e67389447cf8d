//! Buffers that follow a structure: sparse matrices, systems of equations, masks.
//!
//! A launch file asks for one with
//! `init = { generator = { name = "qcd-columns", shape = [8, 8, 8, 8] } }`. A generator computes
//! from the shape and the length of the buffer alone, in integers and exact floats. Every machine
//! therefore fills every bit alike.

mod chain;
mod lattice;
mod red_black;
#[cfg(test)]
mod tests;
mod tridiagonal;

use crate::reference::{ElementType, Values};

/// A way to fill a buffer.
#[derive(Clone, Copy, Debug)]
pub struct Generator {
    /// The name in launch files.
    pub name: &'static str,
    /// Description of the result, in one line.
    pub about: &'static str,
    /// The numbers of a shape, for messages: `[x, y, z, t]`.
    pub shape: &'static str,
    /// The type of the elements.
    pub element_type: ElementType,
    /// Checks that the shape fits the buffer's length; cheap.
    ///
    /// # Errors
    ///
    /// Returns an error if the shape is of another kind than [`shape`](Self::shape), or the buffer
    /// of another length.
    pub check: fn(&[u64], usize) -> Result<(), GeneratorError>,
    /// The elements, as many as asked for.
    ///
    /// # Errors
    ///
    /// Those of [`check`](Self::check). Never panics, whatever the inputs.
    pub run: fn(&[u64], usize) -> Result<Values, GeneratorError>,
}

/// Reason why a buffer cannot be generated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GeneratorError {
    /// The shape has too few or too many numbers, or one that is not allowed.
    #[error("the shape is {expected}")]
    Shape {
        /// Description of a valid shape.
        expected: &'static str,
    },
    /// The buffer has another length than the shape gives.
    #[error("this shape makes {expected} elements, the buffer has {found}")]
    Length {
        /// Number of elements that the shape gives.
        expected: String,
        /// Number of the buffer's elements.
        found: usize,
    },
}

/// All generators.
pub const GENERATORS: &[Generator] = &[
    Generator {
        name: "tridiagonal-lower",
        about: "the entries before the diagonal of symmetric tridiagonal systems",
        shape: tridiagonal::SHAPE,
        element_type: ElementType::F32,
        check: tridiagonal::check,
        run: tridiagonal::lower,
    },
    Generator {
        name: "tridiagonal-diagonal",
        about: "the diagonals of the same systems: the sum of the others and 1/4096",
        shape: tridiagonal::SHAPE,
        element_type: ElementType::F32,
        check: tridiagonal::check,
        run: tridiagonal::diagonal,
    },
    Generator {
        name: "tridiagonal-upper",
        about: "the entries behind the diagonal of the same systems",
        shape: tridiagonal::SHAPE,
        element_type: ElementType::F32,
        check: tridiagonal::check,
        run: tridiagonal::upper,
    },
    Generator {
        name: "qcd-columns",
        about: "the column indices of a lattice QCD matrix in ELL format",
        shape: lattice::SHAPE,
        element_type: ElementType::S32,
        check: lattice::check_columns,
        run: lattice::columns,
    },
    Generator {
        name: "qcd-block-columns",
        about: "the same by blocks of 3 x 3, for BELL",
        shape: lattice::SHAPE,
        element_type: ElementType::S32,
        check: lattice::check_block_columns,
        run: lattice::block_columns,
    },
    Generator {
        name: "red-black-mask",
        about: "ones at the even points of a plane, then at the odd points of another one",
        shape: red_black::SHAPE,
        element_type: ElementType::F64,
        check: red_black::check,
        run: red_black::run,
    },
    Generator {
        name: "chain",
        about: "the index of the element that many places behind, round and round",
        shape: chain::SHAPE,
        element_type: ElementType::S32,
        check: chain::check,
        run: chain::run,
    },
];

/// The generator of this name.
pub fn generator(name: &str) -> Option<&'static Generator> {
    GENERATORS.iter().find(|generator| generator.name == name)
}

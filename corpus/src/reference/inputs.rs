//! The inputs of a reference, and checked access to them.

use std::collections::BTreeMap;

use super::error::ReferenceError;
use super::values::{Element, Scalar, Values};

/// An argument of the launch.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// The address of the buffer of this name.
    Buffer(String),
    /// A value.
    Scalar(Scalar),
}

/// A launch and the buffers as they were before it.
#[derive(Clone, Copy, Debug)]
pub struct Inputs<'a> {
    /// The kernel's name in the PTX; it tells sizes that are fixed when compiling.
    pub kernel: &'a str,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Number of launches, one after the other on the same buffers.
    pub repeat: u32,
    /// The kernel's arguments in order.
    pub args: &'a [Argument],
    /// All buffers by name, before the first launch.
    pub buffers: &'a BTreeMap<String, Values>,
}

/// A buffer with the name under which the result goes back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Buffer<'a, T> {
    pub(crate) name: &'a str,
    pub(crate) elements: &'a [T],
}

impl<T: Element> Buffer<'_, T> {
    /// Fails unless the buffer has at least `needed` elements.
    pub(crate) fn at_least(&self, needed: usize) -> Result<(), ReferenceError> {
        if self.elements.len() >= needed { Ok(()) } else { Err(self.wrong_length(needed)) }
    }

    /// Fails unless the buffer has exactly `needed` elements.
    pub(crate) fn exactly(&self, needed: usize) -> Result<(), ReferenceError> {
        if self.elements.len() == needed { Ok(()) } else { Err(self.wrong_length(needed)) }
    }

    fn wrong_length(&self, expected: usize) -> ReferenceError {
        let found = self.elements.len();
        ReferenceError::WrongLength { name: self.name.to_owned(), expected, found }
    }

    /// This buffer alone, with new elements, as a reference's output.
    pub(crate) fn replaced_by(&self, elements: Vec<T>) -> BTreeMap<String, Values> {
        BTreeMap::from([(self.name.to_owned(), T::values(elements))])
    }
}

impl<'a> Inputs<'a> {
    /// Threads in x over the whole grid.
    pub(crate) fn threads_x(&self) -> usize {
        self.grid[0] as usize * self.block[0] as usize
    }

    /// Threads in y over the whole grid.
    pub(crate) fn threads_y(&self) -> usize {
        self.grid[1] as usize * self.block[1] as usize
    }

    /// Fails unless the block has the shape that is compiled into the kernel.
    pub(crate) fn block_is(&self, block: [u32; 3]) -> Result<(), ReferenceError> {
        if self.block == block {
            Ok(())
        } else {
            Err(unsupported(format!("blocks are {:?}, the kernel wants {block:?}", self.block)))
        }
    }

    /// Returns true if the launch is made at all.
    pub(crate) fn runs(&self) -> bool {
        self.repeat > 0
    }

    /// The buffer at this position among the arguments.
    pub(crate) fn buffer<T: Element>(
        &self,
        position: usize,
    ) -> Result<Buffer<'a, T>, ReferenceError> {
        let expected = || format!("a buffer of {}", T::TYPE);
        let name = match self.args.get(position) {
            Some(Argument::Buffer(name)) => name.as_str(),
            Some(Argument::Scalar(scalar)) => {
                let found = format!("a scalar of type {}", scalar.element_type());
                let expected = expected();
                return Err(ReferenceError::WrongArgument { position, expected, found });
            }
            None => {
                return Err(ReferenceError::MissingArgument { position, expected: expected() });
            }
        };
        let values = self
            .buffers
            .get(name)
            .ok_or_else(|| ReferenceError::MissingBuffer { name: name.to_owned(), position })?;
        let elements = T::elements(values).ok_or_else(|| ReferenceError::WrongType {
            name: name.to_owned(),
            expected: T::TYPE,
            found: values.element_type(),
        })?;
        Ok(Buffer { name, elements })
    }

    /// The scalar at this position among the arguments.
    pub(crate) fn scalar<T: Element>(&self, position: usize) -> Result<T, ReferenceError> {
        let expected = || format!("a scalar of type {}", T::TYPE);
        let found = match self.args.get(position) {
            Some(Argument::Scalar(scalar)) => match T::scalar(*scalar) {
                Some(value) => return Ok(value),
                None => format!("a scalar of type {}", scalar.element_type()),
            },
            Some(Argument::Buffer(name)) => format!("the buffer `{name}`"),
            None => {
                return Err(ReferenceError::MissingArgument { position, expected: expected() });
            }
        };
        Err(ReferenceError::WrongArgument { position, expected: expected(), found })
    }

    /// The element count at this position, an `s32` in the kernel.
    pub(crate) fn size(&self, position: usize) -> Result<usize, ReferenceError> {
        let size = self.scalar::<i32>(position)?;
        usize::try_from(size)
            .map_err(|_| unsupported(format!("argument {position} is a size and is {size}")))
    }
}

/// The launch is one for which the result is not defined.
pub(crate) fn unsupported(reason: String) -> ReferenceError {
    ReferenceError::UnsupportedLaunch { reason }
}

//! Functions of the CUDA device runtime: declared by PTX, defined by the machine that runs it.

/// A function that the executor provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RuntimeFunction {
    /// `int vprintf(const char *format, const void *arguments)`.
    Vprintf,
    /// `void *malloc(size_t bytes)`.
    Malloc,
    /// `void free(void *memory)`.
    Free,
    /// `void __assertfail(const char *message, const char *file, unsigned line,
    /// const char *function, size_t charsize)`.
    AssertFail,
}

impl RuntimeFunction {
    const ALL: [Self; 4] = [Self::Vprintf, Self::Malloc, Self::Free, Self::AssertFail];

    const fn name(self) -> &'static str {
        match self {
            Self::Vprintf => "vprintf",
            Self::Malloc => "malloc",
            Self::Free => "free",
            Self::AssertFail => "__assertfail",
        }
    }

    /// The function of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.name() == name)
    }

    /// The result and the parameters.
    pub(crate) const fn values(self) -> (Option<Value>, &'static [Value]) {
        use Value::{Address, Word};
        match self {
            Self::Vprintf => (Some(Word), &[Address, Address]),
            Self::Malloc => (Some(Address), &[Address]),
            Self::Free => (None, &[Address]),
            Self::AssertFail => (None, &[Address, Address, Word, Address, Address]),
        }
    }

    /// Returns true if its result depends on which other threads called it before.
    pub(crate) const fn depends_on_order(self) -> bool {
        matches!(self, Self::Malloc | Self::Free)
    }
}

/// A value that is passed to a runtime function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// 32 bits.
    Word,
    /// An address or a size, as wide as the module's addresses.
    Address,
}

impl Value {
    /// Size in bytes of the parameter.
    pub(crate) const fn bytes(self, address_bits: u8) -> u64 {
        match self {
            Self::Word => 4,
            Self::Address => address_bits as u64 / 8,
        }
    }
}

/// One call of a runtime function.
#[derive(Clone, Debug)]
pub(crate) struct RuntimeCall {
    pub(crate) function: RuntimeFunction,
    /// Rows of the arguments: 32 bits for words, 64 bits for addresses of whatever width.
    pub(crate) arguments: Vec<u32>,
    /// Row of the result, as wide.
    pub(crate) result: Option<u32>,
}

//! Arguments of callers who are programs: values in place of the command line's notation.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use gpucast_buffers::init::Init;
use gpucast_buffers::scalar::{ElementType, Literal};

use super::argument::ArgumentSyntax;

/// An argument of a launch.
///
/// ```
/// use gpucast_forecast::prelude::*;
///
/// let arguments = [
///     Argument::from(1_048_576_u32),
///     Argument::from(2.0_f32),
///     Argument::f32_buffer(1_048_576).uniform(-1.0, 1.0, 7),
///     Argument::f32_buffer(1_048_576).into(),
///     Argument::from(vec![0.25_f32, 0.5, 0.25]),
///     Argument::notation("ptr:arg2+64"),
/// ];
/// assert_eq!(arguments[2].to_string(), "buf:f32[1048576]=uniform(-1.0,1.0,7)");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Argument(pub(super) Given);

/// How an argument was given.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    /// In the notation of [`super::argument`], which is read when the launch is.
    Notation(String),
    /// As a value.
    Value(ArgumentSyntax),
}

impl Argument {
    /// An argument in the notation of `--arg`, such as `buf:f32[1024]=iota` or `ptr:arg0+64`.
    pub fn notation(text: impl Into<String>) -> Self {
        Self(Given::Notation(text.into()))
    }

    /// A buffer of `len` elements of a type.
    pub fn buffer(ty: ElementType, len: usize) -> BufferArgument {
        BufferArgument { ty, len }
    }

    /// A buffer of `len` numbers of 32 bits with a fraction.
    pub fn f32_buffer(len: usize) -> BufferArgument {
        Self::buffer(ElementType::F32, len)
    }

    /// A buffer of `len` numbers of 64 bits with a fraction.
    pub fn f64_buffer(len: usize) -> BufferArgument {
        Self::buffer(ElementType::F64, len)
    }

    /// A buffer of `len` whole numbers of 32 bits with a sign.
    pub fn s32_buffer(len: usize) -> BufferArgument {
        Self::buffer(ElementType::S32, len)
    }

    /// A buffer of `len` whole numbers of 32 bits without a sign.
    pub fn u32_buffer(len: usize) -> BufferArgument {
        Self::buffer(ElementType::U32, len)
    }

    /// A structure's bytes in the order of memory.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Self {
        Self(Given::Value(ArgumentSyntax::Bytes(bytes.into())))
    }
}

impl From<String> for Argument {
    fn from(text: String) -> Self {
        Self::notation(text)
    }
}

macro_rules! scalars {
    ($($rust:ty => $ty:ident, $bits:expr;)*) => {
        $(impl From<$rust> for Argument {
            fn from(value: $rust) -> Self {
                let bits: fn($rust) -> u64 = $bits;
                Self(Given::Value(ArgumentSyntax::Scalar {
                    ty: ElementType::$ty,
                    bits: bits(value),
                }))
            }
        }

        /// A buffer of these elements.
        impl From<Vec<$rust>> for Argument {
            fn from(elements: Vec<$rust>) -> Self {
                let bytes: Vec<u8> =
                    elements.iter().flat_map(|element| element.to_le_bytes()).collect();
                Self::buffer(ElementType::$ty, elements.len()).bytes(bytes)
            }
        })*
    };
}

scalars! {
    u8 => U8, |value| value.into();
    u16 => U16, |value| value.into();
    u32 => U32, |value| value.into();
    u64 => U64, |value| value;
    i8 => S8, |value| value.cast_unsigned().into();
    i16 => S16, |value| value.cast_unsigned().into();
    i32 => S32, |value| value.cast_unsigned().into();
    i64 => S64, |value| value.cast_unsigned();
    f32 => F32, |value| value.to_bits().into();
    f64 => F64, |value| value.to_bits();
}

/// A buffer that has no contents yet. As an [`Argument`] it stays uninitialised, as memory of
/// `cudaMalloc` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BufferArgument {
    ty: ElementType,
    len: usize,
}

impl BufferArgument {
    fn with(self, init: Init) -> Argument {
        let Self { ty, len } = self;
        Argument(Given::Value(ArgumentSyntax::Buffer { ty, len, init }))
    }

    /// Zeros.
    pub fn zeros(self) -> Argument {
        self.with(Init::Zero)
    }

    /// 0, 1, 2, …
    pub fn iota(self) -> Argument {
        self.with(Init::Iota)
    }

    /// The same value everywhere. One that the type does not have is an error of the launch.
    pub fn constant(self, value: impl Into<Literal>) -> Argument {
        self.with(Init::Constant(value.into()))
    }

    /// Random numbers from `low` to below `high`, the same for the same seed.
    pub fn uniform(self, low: impl Into<Literal>, high: impl Into<Literal>, seed: u64) -> Argument {
        self.with(Init::Uniform { low: low.into(), high: high.into(), seed })
    }

    /// The elements of a `.npy` or `.bin` file.
    pub fn file(self, path: impl Into<PathBuf>) -> Argument {
        self.with(Init::File(path.into()))
    }

    /// Elements as bytes in the order of memory. Another number of bytes than the buffer has is an
    /// error of the launch.
    pub fn bytes(self, bytes: impl Into<Arc<[u8]>>) -> Argument {
        self.with(Init::Bytes(bytes.into()))
    }
}

impl From<BufferArgument> for Argument {
    fn from(buffer: BufferArgument) -> Self {
        buffer.with(Init::Unstated)
    }
}

/// As in the notation. Bytes of a caller are shown by their number.
impl fmt::Display for Argument {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Given::Notation(text) => f.write_str(text),
            Given::Value(value) => shown(value, f),
        }
    }
}

fn shown(value: &ArgumentSyntax, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        ArgumentSyntax::Scalar { ty, bits } => {
            write!(f, "{}:{}", ty.name(), ty.decode(&bits.to_le_bytes()[..ty.bytes()]))
        }
        ArgumentSyntax::Buffer { ty, len, init } => {
            write!(f, "buf:{}[{len}]", ty.name())?;
            match init {
                Init::Unstated | Init::Lent => Ok(()),
                Init::Zero => f.write_str("=zero"),
                Init::Iota => f.write_str("=iota"),
                Init::Constant(value) => write!(f, "=constant({value})"),
                Init::Uniform { low, high, seed } => write!(f, "=uniform({low},{high},{seed})"),
                Init::File(path) => write!(f, "={}", path.display()),
                Init::Values(values) => write!(f, "={} values", values.len()),
                Init::Generator { name, .. } => write!(f, "={name}"),
                Init::Bytes(bytes) => write!(f, "={} bytes", bytes.len()),
            }
        }
        ArgumentSyntax::Bytes(bytes) => {
            f.write_str("bytes:0x")?;
            bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
        }
        ArgumentSyntax::Structure(members) => {
            f.write_str("struct:{")?;
            for (place, member) in members.iter().enumerate() {
                if place > 0 {
                    f.write_str(",")?;
                }
                shown(member, f)?;
            }
            f.write_str("}")
        }
        ArgumentSyntax::Pointer(name, _) => write!(f, "ptr:{name}"),
    }
}

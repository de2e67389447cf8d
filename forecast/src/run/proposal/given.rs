//! Arguments of launches that are tried.

use crate::input::module_listing::ListedParameter;

/// An argument that can be changed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Given {
    /// As the user wrote it.
    Fixed(String),
    /// A whole number.
    Integer {
        ty: &'static str,
        value: u64,
    },
    /// A number that no size depends on.
    Number(String),
    Buffer {
        ty: &'static str,
        len: u64,
    },
    /// A structure of zeros.
    Zeros {
        bytes: u64,
    },
    /// A structure of pointers.
    Pointers {
        lens: Vec<u64>,
    },
}

/// The length of a buffer that can be changed.
pub(super) struct Len<'a> {
    pub(super) len: &'a mut u64,
    /// Bytes of an element.
    pub(super) element: u64,
}

impl Given {
    /// The lengths of its buffers.
    pub(super) fn lens(&mut self) -> impl Iterator<Item = Len<'_>> {
        let (lens, element) = match self {
            Self::Buffer { ty, len } => (std::slice::from_mut(len), bytes_of(ty)),
            Self::Pointers { lens } => (lens.as_mut_slice(), 4),
            Self::Fixed(_) | Self::Integer { .. } | Self::Number(_) | Self::Zeros { .. } => {
                (Default::default(), 1)
            }
        };
        lens.iter_mut().map(move |len| Len { len, element })
    }

    pub(super) fn text(&self) -> String {
        match self {
            Self::Fixed(text) | Self::Number(text) => text.clone(),
            Self::Integer { ty, value } => format!("{ty}:{value}"),
            Self::Buffer { ty, len } => format!("buf:{ty}[{len}]"),
            Self::Zeros { bytes } => format!("bytes:0x{}", "00".repeat(*bytes as usize)),
            Self::Pointers { lens } => {
                let members: Vec<String> =
                    lens.iter().map(|len| format!("buf:f32[{len}]")).collect();
                format!("struct:{{{}}}", members.join(","))
            }
        }
    }
}

/// Bytes of an element.
pub(super) fn bytes_of(ty: &str) -> u64 {
    let bits: String = ty.chars().filter(char::is_ascii_digit).collect();
    bits.parse::<u64>().map_or(1, |bits| (bits / 8).max(1))
}

/// The type of a whole number of a parameter.
pub(super) fn integer(parameter: &ListedParameter) -> Option<&'static str> {
    Some(match parameter.variable.ty.text() {
        "u8" | "b8" => "u8",
        "u16" | "b16" => "u16",
        "u32" | "b32" => "u32",
        "u64" | "b64" => "u64",
        "s8" => "s8",
        "s16" => "s16",
        "s32" => "s32",
        "s64" => "s64",
        _ => return None,
    })
}

/// The argument to begin with.
pub(super) fn argument(parameter: &ListedParameter, size: u64, threads: u64) -> Given {
    if let Some(ty) = parameter.pointee() {
        return Given::Buffer { ty, len: threads };
    }
    if !parameter.is_scalar() {
        let bytes = parameter.variable.size_bytes;
        // A structure that holds one pointer.
        // `int2` and `float2` have this size and alignment, too.
        let is_vector = parameter.ty.as_deref().is_some_and(|ty| {
            ty.split_whitespace()
                .any(|word| matches!(word, "float2" | "int2" | "uint2" | "short4" | "ushort4"))
        });
        let is_pointer = bytes == 8 && parameter.variable.align == 8 && !is_vector;
        return match is_pointer {
            true => Given::Pointers { lens: vec![threads] },
            false => Given::Zeros { bytes },
        };
    }
    // `float` may be an untyped parameter in PTX.
    let is_real = parameter.ty.as_deref().is_some_and(|ty| {
        ty.split_whitespace().any(|word| matches!(word, "float" | "double" | "__half"))
    });
    match integer(parameter) {
        Some(ty) if !is_real => {
            let most = match bytes_of(ty) {
                1 => 1,
                2 => 1 << 14,
                _ => u64::MAX,
            };
            let value = role(&parameter.name).unwrap_or(size).min(most);
            Given::Integer { ty, value }
        }
        _ => {
            let ty = parameter.variable.ty.text();
            let ty = match (ty, parameter.variable.size_bytes) {
                ("b32" | "u32", _) => "f32",
                ("b64" | "u64", _) => "f64",
                ("b16" | "u16", _) => "f16",
                (ty, _) => ty,
            };
            Given::Number(format!("{ty}:1"))
        }
    }
}

/// The value of a number whose name says that it is no size.
pub(super) fn role(name: &str) -> Option<u64> {
    let name = name.to_lowercase();
    let begins = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    let has = |parts: &[&str]| parts.iter().any(|part| name.contains(part));
    if has(&["offset", "start", "begin", "seed", "shift"]) || begins(&["off", "pad"]) {
        Some(0)
    } else if begins(&["inc", "stride", "step", "group", "dilation", "axis", "dim_"]) {
        Some(1)
    } else if has(&["channel", "batch", "iter", "kernel_size", "ksize", "radius", "class"]) {
        Some(4)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_numbers_are_no_sizes() {
        assert_eq!((role("incx"), role("offset"), role("channels")), (Some(1), Some(0), Some(4)));
        assert_eq!((role("n"), role("width"), role("")), (None, None, None));
    }
}

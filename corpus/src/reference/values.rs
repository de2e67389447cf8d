//! Typed buffers and scalars, as far as the corpus uses them.

use std::fmt;

use half::bf16;

macro_rules! element_types {
    ($($variant:ident $type:ident $name:literal)+) => {
        /// The type of a buffer's elements or of a scalar argument.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ElementType {
            $(#[doc = concat!("`", $name, "` in a launch file.")] $variant,)+
        }

        impl fmt::Display for ElementType {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(match self { $(Self::$variant => $name,)+ })
            }
        }

        /// A buffer's elements.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Values {
            $(#[doc = concat!("Elements of type `", $name, "`.")] $variant(Vec<$type>),)+
        }

        impl Values {
            /// The type of the elements.
            pub fn element_type(&self) -> ElementType {
                match self { $(Self::$variant(_) => ElementType::$variant,)+ }
            }

            /// The number of elements.
            pub fn len(&self) -> usize {
                match self { $(Self::$variant(elements) => elements.len(),)+ }
            }

            /// Returns true if there are no elements.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        /// A scalar argument.
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub enum Scalar {
            $(#[doc = concat!("A `", $name, "`.")] $variant($type),)+
        }

        impl Scalar {
            /// The scalar's type.
            pub fn element_type(self) -> ElementType {
                match self { $(Self::$variant(_) => ElementType::$variant,)+ }
            }
        }

        $(impl Element for $type {
            const TYPE: ElementType = ElementType::$variant;

            fn elements(values: &Values) -> Option<&[Self]> {
                if let Values::$variant(elements) = values { Some(elements) } else { None }
            }

            fn scalar(scalar: Scalar) -> Option<Self> {
                if let Scalar::$variant(value) = scalar { Some(value) } else { None }
            }

            fn values(elements: Vec<Self>) -> Values {
                Values::$variant(elements)
            }
        })+
    };
}

/// A Rust type that stands for an [`ElementType`].
pub(crate) trait Element: Copy {
    const TYPE: ElementType;
    fn elements(values: &Values) -> Option<&[Self]>;
    fn scalar(scalar: Scalar) -> Option<Self>;
    fn values(elements: Vec<Self>) -> Values;
}

element_types! {
    S32 i32 "s32"
    S64 i64 "s64"
    U32 u32 "u32"
    U64 u64 "u64"
    F32 f32 "f32"
    F64 f64 "f64"
    Bf16 bf16 "bf16"
    U8 u8 "u8"
}

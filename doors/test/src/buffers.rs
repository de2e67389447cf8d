//! The buffers of a launch, for a test's own function.

use gpucast_buffers::scalar::ElementType;
use gpucast_forecast::input::plan::Plan;
use gpucast_interpreter::DeviceMemory;
use half::{bf16, f16};

/// The buffers that a kernel is given, by their names: that of the first argument is `arg0`, as on
/// the command line, and those of a launch file have names of their own.
#[derive(Clone, Debug)]
pub struct Buffers(Vec<Buffer>);

#[derive(Clone, Debug)]
struct Buffer {
    name: String,
    ty: ElementType,
    bytes: Vec<u8>,
}

impl Buffers {
    /// What the buffers of a plan hold.
    pub(crate) fn of(plan: &Plan, memory: &DeviceMemory) -> Self {
        let buffers = plan.buffers.iter().map(|buffer| Buffer {
            name: buffer.name.clone(),
            ty: buffer.ty,
            bytes: memory.bytes(&buffer.name).unwrap_or_default().to_vec(),
        });
        Self(buffers.collect())
    }

    /// The bytes of each, in the plan's order.
    pub(crate) fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        self.0.iter().map(|buffer| &*buffer.bytes)
    }

    /// The elements of a buffer.
    ///
    /// # Panics
    ///
    /// If no buffer has the name, or it has elements of another type.
    #[must_use]
    #[track_caller]
    pub fn get<T: Element>(&self, name: &str) -> Vec<T> {
        let at = self.place::<T>(name);
        self.0[at].bytes.chunks_exact(T::TYPE.bytes()).map(T::read).collect()
    }

    /// Gives a buffer other elements.
    ///
    /// # Panics
    ///
    /// As [`Buffers::get`], and if the buffer has another number of elements.
    #[track_caller]
    pub fn set<T: Element>(&mut self, name: &str, elements: &[T]) {
        let at = self.place::<T>(name);
        let bytes = &mut self.0[at].bytes;
        let (own, given) = (bytes.len() / T::TYPE.bytes(), elements.len());
        assert!(own == given, "buffer {name} has {own} elements, and {given} are given");
        let places = bytes.chunks_exact_mut(T::TYPE.bytes());
        places.zip(elements).for_each(|(place, element)| element.write(place));
    }

    #[track_caller]
    fn place<T: Element>(&self, name: &str) -> usize {
        let names: Vec<&str> = self.0.iter().map(|buffer| &*buffer.name).collect();
        let at = names.iter().position(|own| *own == name);
        let at = at.unwrap_or(self.0.len());
        assert!(at < self.0.len(), "there is no buffer {name}; there are {}", names.join(", "));
        let (own, asked) = (self.0[at].ty, T::TYPE);
        assert!(own == asked, "buffer {name} is of {}, and not of {}", own.name(), asked.name());
        at
    }
}

/// A type of Rust that elements of buffers have.
pub trait Element: Copy + private::Sealed {
    /// The same as a launch file names it.
    const TYPE: ElementType;

    /// Reads an element's bytes.
    #[doc(hidden)]
    fn read(bytes: &[u8]) -> Self;

    /// Writes them.
    #[doc(hidden)]
    fn write(self, bytes: &mut [u8]);
}

mod private {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($rust:ty => $ty:ident;)*) => {
        $(
            impl private::Sealed for $rust {}

            impl Element for $rust {
                const TYPE: ElementType = ElementType::$ty;

                fn read(bytes: &[u8]) -> Self {
                    let mut own = [0; size_of::<Self>()];
                    own.copy_from_slice(bytes);
                    Self::from_le_bytes(own)
                }

                fn write(self, bytes: &mut [u8]) {
                    bytes.copy_from_slice(&self.to_le_bytes());
                }
            }
        )*
    };
}

elements! {
    u8 => U8;
    u16 => U16;
    u32 => U32;
    u64 => U64;
    i8 => S8;
    i16 => S16;
    i32 => S32;
    i64 => S64;
    f16 => F16;
    bf16 => Bf16;
    f32 => F32;
    f64 => F64;
}

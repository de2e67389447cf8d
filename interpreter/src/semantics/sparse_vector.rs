//! Structured sparsity of a thread's own values: `spcompress`, `spdecompress` and the loads of
//! tensor memory that compress (PTX ISA 9.4, sections 9.7.10.30, 9.7.10.31 and 9.7.18.8.3).
//!
//! Of each four elements, two are kept, in the order in which they stand. The metadata holds the
//! place of each among its four, in the lowest bits first. NaNs are kept before all numbers, and -0
//! is less than +0. Of equal elements the manual lets any be kept; here it is the first.

/// Elements of which two are kept.
pub const GROUP: usize = 4;

/// The rule that chooses two of four elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The least are kept, else the greatest.
    pub least: bool,
    /// Their magnitudes are compared.
    pub magnitudes: bool,
}

impl Selection {
    /// The places of the two that are kept, in order.
    #[must_use]
    pub fn choose(self, elements: [Comparable; GROUP]) -> [usize; 2] {
        let mut places: [usize; GROUP] = std::array::from_fn(|place| place);
        let rank = |place: &usize| {
            let key = match (elements[*place], self.magnitudes) {
                (Comparable::Nan, _) => return (false, 0),
                (Comparable::Number { key, .. }, false) => key,
                (Comparable::Number { magnitude, .. }, true) => i64::from(magnitude),
            };
            (true, if self.least { key } else { -key })
        };
        places.sort_by_key(rank);
        let (first, second) = (places[0], places[1]);
        [first.min(second), first.max(second)]
    }
}

/// An element as the selections see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparable {
    /// Not a number.
    Nan,
    /// A number.
    Number {
        /// Ordered as the numbers are, with -0 below +0.
        key: i64,
        /// Ordered as the magnitudes are.
        magnitude: u32,
    },
}

impl Comparable {
    /// A sign above the bits of a magnitude, of which those above `infinity` are NaNs.
    const fn signed_magnitude(negative: bool, magnitude: u32, infinity: u32) -> Self {
        if magnitude > infinity {
            return Self::Nan;
        }
        let key = if negative { -1 - magnitude as i64 } else { magnitude as i64 };
        Self::Number { key, magnitude }
    }

    /// The bits of an `.f32`.
    #[must_use]
    pub const fn of_f32(bits: u32) -> Self {
        Self::signed_magnitude(bits >> 31 != 0, bits & 0x7fff_ffff, 0x7f80_0000)
    }
}

/// The type of the elements that `spcompress` compresses (table 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementType {
    /// `.f16`
    F16,
    /// `.bf16`
    Bf16,
    /// `.u8`
    U8,
    /// `.s8`
    S8,
    /// `.e5m2`
    E5m2,
    /// `.e4m3`
    E4m3,
    /// `.e3m2` or `.e2m3` in the lower six bits of a byte: both are ordered as their bits are.
    SixBits,
}

impl ElementType {
    /// The element as selections see it; `None` if the bits mean nothing.
    #[must_use]
    pub const fn read(self, bits: u32) -> Option<Comparable> {
        Some(match self {
            Self::F16 => Comparable::signed_magnitude(bits >> 15 & 1 != 0, bits & 0x7fff, 0x7c00),
            Self::Bf16 => Comparable::signed_magnitude(bits >> 15 & 1 != 0, bits & 0x7fff, 0x7f80),
            Self::E5m2 => Comparable::signed_magnitude(bits >> 7 & 1 != 0, bits & 0x7f, 0x7c),
            Self::E4m3 => Comparable::signed_magnitude(bits >> 7 & 1 != 0, bits & 0x7f, 0x7e),
            Self::SixBits if bits > 0x3f => return None,
            Self::SixBits => Comparable::signed_magnitude(bits >> 5 & 1 != 0, bits & 0x1f, 0x1f),
            Self::U8 => Comparable::Number { key: bits as i64, magnitude: bits },
            Self::S8 => {
                let value = bits as u8 as i8;
                let magnitude = value.unsigned_abs() as u32;
                Comparable::Number { key: value as i64, magnitude }
            }
        })
    }
}

/// The sparsity descriptor of `spcompress` (table 38).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparsityDescriptor {
    /// The rule that chooses.
    pub selection: Selection,
    /// The type of the elements.
    pub element: ElementType,
}

impl SparsityDescriptor {
    /// The descriptor of elements of `element_bits` bits. `None` if a field has no meaning.
    #[must_use]
    pub const fn decode(bits: u32, element_bits: u32) -> Option<Self> {
        let element = match (element_bits, bits >> 2) {
            (16, 0) => ElementType::F16,
            (16, 1) => ElementType::Bf16,
            (8, 0) => ElementType::U8,
            (8, 1) => ElementType::S8,
            (8, 2) => ElementType::E5m2,
            (8, 3) => ElementType::E4m3,
            (8, 4 | 5) => ElementType::SixBits,
            _ => return None,
        };
        let selection = Selection { least: bits & 2 != 0, magnitudes: bits & 1 != 0 };
        Some(Self { selection, element })
    }
}

/// A vector of words that hold elements of `bits` bits each, the lowest first.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    /// 2, 4, 8 or 16.
    pub bits: u32,
}

impl Fields {
    /// Element `at` of `words`.
    #[must_use]
    pub fn get(self, words: &[u32], at: usize) -> u32 {
        let bit = at * self.bits as usize;
        words.get(bit / 32).copied().unwrap_or_default() >> (bit % 32) & self.mask()
    }

    /// Changes element `at` of `words`.
    pub fn set(self, words: &mut [u32], at: usize, value: u32) {
        let bit = at * self.bits as usize;
        if let Some(word) = words.get_mut(bit / 32) {
            *word = *word & !(self.mask() << (bit % 32)) | (value & self.mask()) << (bit % 32);
        }
    }

    const fn mask(self) -> u32 {
        (1 << self.bits) - 1
    }
}

/// The kept elements of a dense vector, and their places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Compressed {
    /// Words of indices.
    pub metadata: Vec<u32>,
    /// Words of elements.
    pub kept: Vec<u32>,
}

/// Compresses a vector of words. `None` if an element's bits mean nothing.
#[must_use]
pub fn compress(
    dense: &[u32],
    element_bits: u32,
    index_bits: u32,
    descriptor: SparsityDescriptor,
) -> Option<Compressed> {
    let (elements, indices) = (Fields { bits: element_bits }, Fields { bits: index_bits });
    let groups = dense.len() * 32 / element_bits as usize / GROUP;
    let metadata = vec![0; (2 * groups * index_bits as usize).div_ceil(32)];
    let mut result = Compressed { metadata, kept: vec![0; dense.len() / 2] };
    for group in 0..groups {
        let bits: [u32; GROUP] =
            std::array::from_fn(|place| elements.get(dense, GROUP * group + place));
        let mut read = [Comparable::Nan; GROUP];
        for (one, &bits) in read.iter_mut().zip(&bits) {
            *one = descriptor.element.read(bits)?;
        }
        for (at, place) in descriptor.selection.choose(read).into_iter().enumerate() {
            indices.set(&mut result.metadata, 2 * group + at, place as u32);
            elements.set(&mut result.kept, 2 * group + at, bits[place]);
        }
    }
    Some(result)
}

/// The sizes of `spdecompress`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expansion {
    /// Bits of an element.
    pub element_bits: u32,
    /// Bits of an index.
    pub index_bits: u32,
    /// Stored elements of a group.
    pub stored: usize,
    /// Elements of a group.
    pub dense: usize,
    /// Groups.
    pub groups: usize,
}

impl Expansion {
    /// The dense vector: elements that are not stored are 0, and the last one stored at a place
    /// stands there.
    ///
    /// # Errors
    ///
    /// Returns the first index that lies outside its group.
    pub fn expand(self, metadata: &[u32], stored: &[u32]) -> Result<Vec<u32>, u32> {
        let (elements, indices) =
            (Fields { bits: self.element_bits }, Fields { bits: self.index_bits });
        let bits = self.groups * self.dense * self.element_bits as usize;
        let mut dense = vec![0; bits.div_ceil(32)];
        for at in 0..self.groups * self.stored {
            let place = indices.get(metadata, at);
            if place as usize >= self.dense {
                return Err(place);
            }
            let target = at / self.stored * self.dense + place as usize;
            elements.set(&mut dense, target, elements.get(stored, at));
        }
        Ok(dense)
    }
}

//! Content of a buffer before the first launch.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpucast_corpus::generator::{self, Generator, GeneratorError};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::corpus_values;
use crate::files::{self, FileError};
use crate::scalar::{DoesNotFit, ElementType, Literal};
use crate::uniform;

/// The initial contents of a buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Init {
    /// No content is given: the bytes are zero here, but uninitialised on a GPU.
    Unstated,
    /// Zero bytes.
    Zero,
    /// 0, 1, 2, …
    Iota,
    /// The same value everywhere.
    Constant(Literal),
    /// Exactly these values.
    Values(Vec<Literal>),
    /// Reproducible random numbers by SplitMix64, uniformly distributed.
    Uniform {
        /// The least value.
        low: Literal,
        /// The limit above.
        high: Literal,
        /// Seed of the random numbers.
        seed: u64,
    },
    /// The output of the corpus's generator of this name for a shape.
    Generator {
        /// The generator's name.
        name: String,
        /// The shape.
        shape: Vec<u64>,
    },
    /// The contents of a `.npy` or `.bin` file.
    File(PathBuf),
    /// These bytes, from a caller who is a program.
    #[serde(serialize_with = "write_bytes", deserialize_with = "read_bytes")]
    Bytes(Arc<[u8]>),
    /// Whatever the buffer holds: the caller maps memory of its own, which nothing fills.
    Lent,
}

fn write_bytes<S: Serializer>(bytes: &Arc<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    bytes.as_ref().serialize(serializer)
}

fn read_bytes<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Arc<[u8]>, D::Error> {
    Vec::deserialize(deserializer).map(Arc::from)
}

/// Reason why a buffer could not be filled.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what each variant and field is")]
pub enum InitError {
    #[error(transparent)]
    DoesNotFit(#[from] DoesNotFit),
    #[error("{given} values are given for a buffer of {len} elements")]
    ValueCount { given: usize, len: usize },
    #[error("{given} bytes are given for a buffer of {bytes} bytes")]
    ByteCount { given: usize, bytes: usize },
    #[error("uniform needs low <= high, but low is {low} and high is {high}")]
    EmptyRange { low: Literal, high: Literal },
    #[error("uniform needs finite limits, but {0} is not finite")]
    NotFinite(Literal),
    #[error("there is no generator `{0}`")]
    UnknownGenerator(String),
    #[error("generator `{name}` makes elements of type {makes}, the buffer holds {holds}")]
    OtherType { name: String, makes: &'static str, holds: &'static str },
    #[error("generator `{name}`: {error}")]
    Generator { name: String, error: GeneratorError },
    #[error(transparent)]
    File(#[from] FileError),
}

impl Init {
    /// Checks that the description makes sense for a buffer of this type and length. Finds every
    /// error that [`Init::fill`] would, short of opening files.
    pub fn check(&self, ty: ElementType, len: usize) -> Result<(), InitError> {
        match self {
            Self::Unstated | Self::Zero | Self::File(_) | Self::Lent => Ok(()),
            Self::Bytes(bytes) if bytes.len() != len * ty.bytes() => {
                Err(InitError::ByteCount { given: bytes.len(), bytes: len * ty.bytes() })
            }
            Self::Bytes(_) => Ok(()),
            Self::Iota => {
                let last = Literal::Integer(len.saturating_sub(1) as i128);
                Ok(ty.encode(last).map(drop)?)
            }
            Self::Constant(value) => Ok(ty.encode(*value).map(drop)?),
            Self::Values(values) if values.len() != len => {
                Err(InitError::ValueCount { given: values.len(), len })
            }
            Self::Values(values) => {
                Ok(values.iter().try_for_each(|&value| ty.encode(value).map(drop))?)
            }
            Self::Uniform { low, high, .. } => {
                for &limit in [low, high] {
                    if !limit.as_f64().is_finite() {
                        return Err(InitError::NotFinite(limit));
                    }
                    ty.encode(limit)?;
                }
                if low.as_f64() > high.as_f64() {
                    return Err(InitError::EmptyRange { low: *low, high: *high });
                }
                Ok(())
            }
            Self::Generator { name, shape } => {
                let generator = generator_of(name, ty)?;
                (generator.check)(shape, len)
                    .map_err(|error| InitError::Generator { name: name.clone(), error })
            }
        }
    }

    /// Finds every error that [`Self::fill`] of a buffer of this type and length would, without the
    /// memory; of files the headers and sizes are read alone.
    pub fn verify(&self, ty: ElementType, len: usize, folder: &Path) -> Result<(), InitError> {
        self.check(ty, len)?;
        if let Self::File(path) = self {
            files::verify(&folder.join(path), ty, len)?;
        }
        Ok(())
    }

    /// Fill `bytes`, which are zero and a whole number of elements; paths are relative to
    /// `folder`.
    pub fn fill(&self, ty: ElementType, bytes: &mut [u8], folder: &Path) -> Result<(), InitError> {
        self.check(ty, bytes.len() / ty.bytes())?;
        let elements = bytes.chunks_exact_mut(ty.bytes()).zip(0_u64..);
        match self {
            Self::Unstated | Self::Zero | Self::Lent => {}
            Self::Iota => {
                for (place, index) in elements {
                    ty.store(ty.encode(Literal::Integer(index.into()))?, place);
                }
            }
            Self::Constant(value) => {
                let bits = ty.encode(*value)?;
                elements.for_each(|(place, _)| ty.store(bits, place));
            }
            Self::Values(values) => {
                for ((place, _), &value) in elements.zip(values) {
                    ty.store(ty.encode(value)?, place);
                }
            }
            Self::Uniform { low, high, seed } => match (ty.integer_range(), low, high) {
                (Some(_), low, high) => {
                    let (low, high) = (as_integer(*low), as_integer(*high));
                    for (place, index) in elements {
                        let value = uniform::integer(uniform::word(*seed, index), low, high);
                        ty.store(ty.encode(Literal::Integer(value))?, place);
                    }
                }
                (None, low, high) => {
                    let (low, high) = (low.as_f64(), high.as_f64());
                    for (place, index) in elements {
                        let value = uniform::real(uniform::word(*seed, index), low, high);
                        ty.store(ty.encode_real(value), place);
                    }
                }
            },
            Self::Generator { name, shape } => {
                let values = (generator_of(name, ty)?.run)(shape, bytes.len() / ty.bytes())
                    .map_err(|error| InitError::Generator { name: name.clone(), error })?;
                for (place, byte) in bytes.iter_mut().zip(corpus_values::bytes(&values)) {
                    *place = byte;
                }
            }
            Self::Bytes(given) => bytes.copy_from_slice(given),
            Self::File(path) => files::read_into(&folder.join(path), ty, bytes)?,
        }
        Ok(())
    }
}

/// The generator of this name, if it makes elements of this type.
fn generator_of(name: &str, ty: ElementType) -> Result<&'static Generator, InitError> {
    let generator =
        generator::generator(name).ok_or_else(|| InitError::UnknownGenerator(name.to_owned()))?;
    let makes = corpus_values::element_type(generator.element_type);
    if makes == ty {
        Ok(generator)
    } else {
        let (makes, holds) = (makes.name(), ty.name());
        Err(InitError::OtherType { name: name.to_owned(), makes, holds })
    }
}

/// A limit that has been checked to be an integer.
fn as_integer(literal: Literal) -> i128 {
    match literal {
        Literal::Integer(integer) => integer,
        Literal::Real(real) => real as i128,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(init: &Init, ty: ElementType, len: usize) -> Result<Vec<Literal>, String> {
        let mut bytes = vec![0; len * ty.bytes()];
        init.fill(ty, &mut bytes, Path::new("")).map_err(|error| error.to_string())?;
        Ok(bytes.chunks_exact(ty.bytes()).map(|element| ty.decode(element)).collect())
    }

    #[test]
    fn each_form_fills_what_it_says() {
        let integers = |values: &[i128]| values.iter().map(|&v| Literal::Integer(v)).collect();
        assert_eq!(filled(&Init::Zero, ElementType::S32, 2), Ok(integers(&[0, 0])));
        assert_eq!(filled(&Init::Iota, ElementType::U8, 3), Ok(integers(&[0, 1, 2])));
        let constant = Init::Constant(Literal::Integer(-7));
        assert_eq!(filled(&constant, ElementType::S64, 2), Ok(integers(&[-7, -7])));
        let values = Init::Values(vec![Literal::Integer(1), Literal::Real(0.5)]);
        let reals = vec![Literal::Real(1.0), Literal::Real(0.5)];
        assert_eq!(filled(&values, ElementType::F16, 2), Ok(reals));
    }

    #[test]
    fn a_generator_fills_what_it_makes_and_nothing_else() {
        let init = Init::Generator { name: "tridiagonal-lower".to_owned(), shape: vec![2] };
        let values = filled(&init, ElementType::F32, 4).unwrap();
        let weight = values[1].as_f64();
        assert_eq!((values[0].as_f64(), values[2].as_f64()), (0.0, 0.0));
        assert!((-1.0..=-0.5).contains(&weight), "{weight}");
        let error = |init: &Init, ty, len| filled(init, ty, len).unwrap_err();
        assert_eq!(
            error(&init, ElementType::F64, 4),
            "generator `tridiagonal-lower` makes elements of type f32, the buffer holds f64"
        );
        assert_eq!(
            error(&init, ElementType::F32, 5),
            "generator `tridiagonal-lower`: this shape makes a multiple of 2 elements, the buffer \
             has 5"
        );
        let init = Init::Generator { name: "tridiagonal".to_owned(), shape: vec![2] };
        assert_eq!(error(&init, ElementType::F32, 4), "there is no generator `tridiagonal`");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let error = |init: &Init, ty, len| filled(init, ty, len).unwrap_err();
        assert_eq!(
            error(&Init::Iota, ElementType::U8, 257),
            "256 is not a value of type u8, which holds the integers from 0 to 255"
        );
        let values = Init::Values(vec![Literal::Integer(1)]);
        assert_eq!(
            error(&values, ElementType::U8, 2),
            "1 values are given for a buffer of 2 elements"
        );
        let (low, high) = (Literal::Integer(2), Literal::Integer(1));
        assert_eq!(
            error(&Init::Uniform { low, high, seed: 0 }, ElementType::F32, 1),
            "uniform needs low <= high, but low is 2 and high is 1"
        );
        let (low, high) = (Literal::Integer(0), Literal::Real(0.5));
        assert!(filled(&Init::Uniform { low, high, seed: 0 }, ElementType::U32, 1).is_err());
    }

    #[test]
    fn uniform_values_do_not_change_between_releases() {
        let init = Init::Uniform { low: Literal::Integer(-1), high: Literal::Integer(1), seed: 7 };
        let values: Vec<String> = filled(&init, ElementType::F32, 3)
            .unwrap()
            .iter()
            .map(|value| (value.as_f64() as f32).to_string())
            .collect();
        insta::assert_snapshot!(values.join(" "));
        let init = Init::Uniform { low: Literal::Integer(0), high: Literal::Integer(9), seed: 7 };
        let values: Vec<String> =
            filled(&init, ElementType::U8, 8).unwrap().iter().map(Literal::to_string).collect();
        insta::assert_snapshot!(values.join(" "));
    }
}

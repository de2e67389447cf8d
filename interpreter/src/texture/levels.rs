//! Levels of a texture: from the detail that a lane asks for to one or two of them.
//!
//! Each level has half the extents of the one before. Level 0 is the largest. A detail of 1.5 lies
//! halfway between levels 1 and 2.

use super::sampling::{Coordinates, FRACTION_ONE, Footprint, Level, Lookup};
use super::{BadTexture, Filter, Mipmap, Resource, Sampler, Texture, cube};

/// The detail that a lane asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Detail {
    /// That of level 0.
    Base,
    Level(f32),
    /// The number of a level.
    Whole(i32),
    /// The changes of the coordinates from a place to its neighbours along x and y.
    Gradients([[f32; 3]; 2]),
}

/// One level, or two that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chosen {
    first: usize,
    /// The weight of the second level in 256ths; 0 if it is not read.
    fraction: u32,
}

impl Mipmap {
    pub(super) fn check(&self) -> Result<(), BadTexture> {
        let [least, most] = self.clamp;
        if self.bias.is_finite() && least <= most { Ok(()) } else { Err(BadTexture::LevelClamp) }
    }

    fn choose(&self, detail: f64, levels: usize, blends: bool) -> Chosen {
        let detail = if detail.is_nan() { 0.0 } else { detail };
        let [least, most] = self.clamp.map(f64::from);
        let last = levels.saturating_sub(1);
        let biased = (detail + f64::from(self.bias)).max(least).min(most);
        let level = biased.clamp(0.0, last as f64);
        if !blends {
            return Chosen { first: ((level + 0.5).floor() as usize).min(last), fraction: 0 };
        }
        let parts = (level * f64::from(FRACTION_ONE)).round_ties_even() as u32;
        Chosen { first: (parts / FRACTION_ONE) as usize, fraction: parts % FRACTION_ONE }
    }
}

impl Texture {
    /// The number of levels.
    #[must_use]
    pub fn levels(&self) -> usize {
        1 + self.smaller.len()
    }

    /// The texels of a level; those of the last one beyond it.
    #[must_use]
    pub fn level(&self, index: usize) -> &Resource {
        match index.min(self.smaller.len()).checked_sub(1) {
            Some(index) => &self.smaller[index],
            None => &self.resource,
        }
    }

    pub(super) fn check_levels(&self) -> Result<(), BadTexture> {
        let Resource { extent, layers, samples, is_linear, .. } = self.resource;
        if self.smaller.is_empty() {
            return Ok(());
        }
        let most = most_levels(extent);
        if samples > 1 || is_linear || self.levels() > most {
            return Err(BadTexture::Levels { most });
        }
        for (level, smaller) in (1..).zip(&self.smaller) {
            let is_half = smaller.extent == level_extent(extent, level);
            let is_alike = (smaller.layers, smaller.samples, smaller.is_linear)
                == (layers, samples, is_linear);
            if !is_half || !is_alike {
                return Err(BadTexture::LevelExtent { level });
            }
            smaller.check(self.format)?;
        }
        if !self.sampler.normalized {
            return Err(BadTexture::LevelsNotNormalized);
        }
        if self.sampler.mipmap.filter == Filter::Linear && !self.format.is_real() {
            return Err(BadTexture::FilteredIntegers);
        }
        Ok(())
    }

    /// The detail as a number.
    fn detail(&self, detail: Detail, lookup: &Lookup) -> f64 {
        match detail {
            Detail::Base => 0.0,
            Detail::Level(level) => level.into(),
            Detail::Whole(level) => level.into(),
            Detail::Gradients(gradients) => {
                let lengths = gradients.map(|gradient| {
                    let gradient = match (lookup.geometry.cube, lookup.coordinates) {
                        (true, Coordinates::Real(at)) => cube::gradient(at, gradient),
                        _ => gradient.map(f64::from),
                    };
                    let texels = gradient.iter().zip(self.resource.extent);
                    texels.map(|(part, extent)| (part * f64::from(extent)).powi(2)).sum::<f64>()
                });
                // Half of the logarithm of the square is the logarithm of the length.
                libm::log2(lengths[0].max(lengths[1])) / 2.0
            }
        }
    }
}

/// The most levels of a texture: the last one has one texel in each layer.
#[must_use]
pub fn most_levels(extent: [u32; 3]) -> usize {
    extent.iter().max().and_then(|most| most.checked_ilog2()).map_or(1, |log| 1 + log as usize)
}

/// The extents of a level of a texture of this extent.
#[must_use]
pub fn level_extent(extent: [u32; 3], level: u32) -> [u32; 3] {
    extent.map(|extent| extent.checked_shr(level).unwrap_or(0).max(1))
}

impl Footprint {
    /// The texels that a lane reads of a texture.
    pub(crate) fn of(
        texture: &Texture,
        sampler: &Sampler,
        lookup: &Lookup,
        detail: impl FnOnce() -> Detail,
    ) -> Self {
        let format = texture.format;
        if texture.smaller.is_empty() {
            let level = Level { resource: &texture.resource, format };
            return Self::of_level(level, sampler, lookup);
        }
        let (levels, detail) = (texture.levels(), texture.detail(detail(), lookup));
        let Chosen { first, fraction } = match lookup.coordinates {
            // Numbers of texels come with numbers of levels, which no sampler changes.
            Coordinates::Whole(_) => Mipmap::default().choose(detail, levels, false),
            Coordinates::Real(_) => {
                let mipmap = &sampler.mipmap;
                let is_linear = mipmap.filter == Filter::Linear;
                mipmap.choose(detail, levels, is_linear && format.is_real() && !lookup.gathers)
            }
        };
        let of = |level| {
            let level = Level { resource: texture.level(level), format };
            Self::of_level(level, sampler, lookup)
        };
        let mut footprint = of(first);
        if fraction > 0 {
            let share = f64::from(fraction) / f64::from(FRACTION_ONE);
            footprint.taps.iter_mut().for_each(|tap| tap.weight *= 1.0 - share);
            let mut second = of(first + 1);
            second.taps.iter_mut().for_each(|tap| tap.weight *= share);
            footprint.taps.append(&mut second.taps);
        }
        footprint
    }
}

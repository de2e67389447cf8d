//! From coordinates to texels and their weights (CUDA C++ programming guide, appendix "Texture
//! fetching").

use smallvec::SmallVec;

use super::{BadTexture, Filter, Format, Mipmap, Resource, Texture, cube};

/// Fractions of linear filtering have eight bits and can be exactly one.
pub(super) const FRACTION_ONE: u32 = 256;

/// What a coordinate outside a texture means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AddressMode {
    /// The texture repeats.
    Wrap,
    /// The texture repeats, every other time backwards.
    Mirror,
    /// The nearest texel of the edge.
    #[default]
    Clamp,
    /// The border's colour.
    Border,
}

/// What a depth must be to a texel so that the comparison is 1.
#[allow(missing_docs, reason = "the variants are what their names say")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    Never,
    Less,
    Equal,
    LessEqual,
    Greater,
    NotEqual,
    GreaterEqual,
    Always,
}

impl Comparison {
    /// Returns true if it holds between a depth and a texel.
    #[must_use]
    pub fn holds(self, depth: f32, texel: f32) -> bool {
        match self {
            Self::Never => false,
            Self::Less => depth < texel,
            Self::Equal => depth == texel,
            Self::LessEqual => depth <= texel,
            Self::Greater => depth > texel,
            Self::NotEqual => depth != texel,
            Self::GreaterEqual => depth >= texel,
            Self::Always => true,
        }
    }
}

/// How textures are read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampler {
    /// How values are made.
    pub filter: Filter,
    /// The mode of each axis.
    pub address: [AddressMode; 3],
    /// True if the texture's extents count as 1.
    pub normalized: bool,
    /// The colour outside, for [`AddressMode::Border`].
    pub border: [f32; 4],
    /// For instructions that compare a depth with each texel; none if the texture has no depths.
    pub compare: Option<Comparison>,
    /// How levels are chosen, where a texture has several.
    pub mipmap: Mipmap,
}

impl Sampler {
    pub(super) fn check(&self, texture: Option<&Texture>) -> Result<(), BadTexture> {
        self.mipmap.check()?;
        let linear = self.filter == Filter::Linear;
        if linear && texture.is_some_and(|texture| !texture.format.is_real()) {
            return Err(BadTexture::FilteredIntegers);
        }
        let is_depth = |format: super::Format| format.is_real() && format.channels == 1;
        if self.compare.is_some() && texture.is_some_and(|texture| !is_depth(texture.format)) {
            return Err(BadTexture::Depth);
        }
        let repeats = |mode: &AddressMode| matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
        let is_linear_memory = texture.is_some_and(|texture| texture.resource.is_linear);
        if !self.normalized && !is_linear_memory && self.address.iter().any(repeats) {
            return Err(BadTexture::NotNormalized);
        }
        Ok(())
    }
}

/// The shape that an instruction reads a texture as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Coordinates of a place within a layer; a cube's direction has three.
    pub(crate) axes: usize,
    /// True if the first coordinate is the index of a layer.
    pub(crate) layered: bool,
    /// True for cube maps.
    pub(crate) cube: bool,
    /// True if a coordinate is the number of a sample.
    pub(crate) multisampled: bool,
}

/// The layer and the sample of a texel that one lane reads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plane {
    pub(crate) layer: u32,
    pub(crate) sample: u32,
}

/// The coordinates of one lane.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Coordinates {
    /// Indices of texels.
    Whole([i32; 3]),
    Real([f32; 3]),
}

/// What one lane asks of a texture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lookup {
    pub(crate) geometry: Geometry,
    pub(crate) coordinates: Coordinates,
    pub(crate) plane: Plane,
    /// Texels by which the place is moved.
    pub(crate) offset: [i32; 3],
    /// True for the four texels that linear filtering would read, in the order of `tld4`.
    pub(crate) gathers: bool,
}

/// The texels of one level of a texture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Level<'a> {
    pub(super) resource: &'a Resource,
    pub(super) format: Format,
}

/// One texel of a footprint.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Tap {
    /// The texel's address; `None` outside, where the border is.
    pub(crate) address: Option<u64>,
    /// Of all weights' sum, 1.
    pub(crate) weight: f64,
}

/// The texels that one fetch reads.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Footprint {
    pub(crate) taps: SmallVec<[Tap; 8]>,
}

/// The one or two texels along one axis, and the weight of the second one in 256ths.
struct Along {
    first: Option<u32>,
    second: Option<(Option<u32>, u32)>,
}

impl Footprint {
    /// The texels that a lane reads of one level.
    pub(super) fn of_level(level: Level<'_>, sampler: &Sampler, lookup: &Lookup) -> Self {
        let &Lookup { geometry, coordinates, plane, offset, gathers } = lookup;
        let Plane { layer, sample } = plane;
        let resource = level.resource;
        let (coordinates, layer, sampler) = match (geometry.cube, coordinates) {
            (true, Coordinates::Real(direction)) => {
                let (face, place) = cube::place(direction);
                let address = [AddressMode::Clamp; 3];
                let on_face = Sampler { normalized: true, address, ..*sampler };
                let first = layer.saturating_mul(6).min(resource.layers.saturating_sub(6) / 6 * 6);
                (Coordinates::Real(place), first + face, on_face)
            }
            (_, coordinates) => (coordinates, layer, *sampler),
        };
        let axes = if geometry.cube { 2 } else { geometry.axes };
        let plane = Plane {
            layer: layer.min(resource.layers - 1),
            sample: sample.min(resource.samples - 1),
        };
        let is_real = matches!(coordinates, Coordinates::Real(_));
        let linear = gathers
            || is_real
                && sampler.filter == Filter::Linear
                && level.format.is_real()
                && !resource.is_linear;
        let along = |axis: usize| -> Along {
            if axis >= axes {
                return Along { first: Some(0), second: None };
            }
            let size = resource.extent[axis];
            let mode = match resource.is_linear {
                true => AddressMode::Border,
                false => sampler.address[axis],
            };
            match coordinates {
                Coordinates::Whole(at) => {
                    let at = i64::from(at[axis]) + i64::from(offset[axis]);
                    // Indices are not normalised, so that nothing can wrap.
                    let mode = match mode {
                        AddressMode::Border => AddressMode::Border,
                        _ => AddressMode::Clamp,
                    };
                    Along { first: index(mode, at, size), second: None }
                }
                Coordinates::Real(at) => {
                    let normalized = sampler.normalized && !resource.is_linear;
                    real(mode, at[axis], size, normalized, linear, offset[axis])
                }
            }
        };
        let [x, y, z] = [0, 1, 2].map(along);
        let mut footprint = Self::default();
        if gathers {
            // Counter-clockwise from the lower left one, as `tex2Dgather` gives them.
            let second = |axis: &Along| axis.second.map_or(axis.first, |(index, _)| index);
            let (near, far) = ([x.first, y.first], [second(&x), second(&y)]);
            for place in [[near[0], far[1]], [far[0], far[1]], [far[0], near[1]], near] {
                footprint.push(level, [place[0], place[1], Some(0)], plane, 1.0);
            }
            return footprint;
        }
        for (z, z_weight) in z.taps() {
            for (y, y_weight) in y.taps() {
                for (x, x_weight) in x.taps() {
                    let weight = x_weight * y_weight * z_weight;
                    footprint.push(level, [x, y, z], plane, weight);
                }
            }
        }
        footprint
    }

    fn push(&mut self, level: Level<'_>, place: [Option<u32>; 3], plane: Plane, weight: f64) {
        let address = match place {
            [Some(x), Some(y), Some(z)] => {
                let row = level.resource.row([y, z], plane.layer);
                let samples = u64::from(level.resource.samples);
                let texel = u64::from(x) * samples + u64::from(plane.sample);
                Some(row.wrapping_add(texel * u64::from(level.format.bytes())))
            }
            _ => None,
        };
        self.taps.push(Tap { address, weight });
    }
}

impl Along {
    /// The texels with their weights.
    fn taps(&self) -> impl Iterator<Item = (Option<u32>, f64)> {
        let fraction = self.second.map_or(0, |(_, fraction)| fraction);
        let share = |part: u32| f64::from(part) / f64::from(FRACTION_ONE);
        let second = self.second.map(|(index, _)| (index, share(fraction)));
        std::iter::once((self.first, share(FRACTION_ONE - fraction))).chain(second)
    }
}

/// The texels along one axis at a coordinate that is no index.
fn real(
    mode: AddressMode,
    at: f32,
    size: u32,
    normalized: bool,
    linear: bool,
    offset: i32,
) -> Along {
    let at = if at.is_nan() { 0.0 } else { f64::from(at) };
    let at = match (normalized, mode) {
        // Periods are taken off first, so that large coordinates keep their fractions.
        (true, AddressMode::Wrap) => (at - at.floor()) * f64::from(size),
        (true, AddressMode::Mirror) => (at - 2.0 * (at / 2.0).floor()) * f64::from(size),
        (true, AddressMode::Clamp | AddressMode::Border) => at * f64::from(size),
        (false, _) => at,
    };
    let at = if at.is_nan() { 0.0 } else { at };
    let offset = i64::from(offset);
    if !linear {
        let first = (at.floor() as i64).saturating_add(offset);
        return Along { first: index(mode, first, size), second: None };
    }
    let at = at - 0.5;
    let first = at.floor();
    let fraction = ((at - first) * f64::from(FRACTION_ONE)).round_ties_even() as u32;
    let first = (first as i64).saturating_add(offset);
    let second = index(mode, first.saturating_add(1), size);
    Along { first: index(mode, first, size), second: Some((second, fraction)) }
}

/// The texel that index `at` of an axis means; `None` for the border.
fn index(mode: AddressMode, at: i64, size: u32) -> Option<u32> {
    let extent = i64::from(size);
    let index = match mode {
        AddressMode::Wrap => at.rem_euclid(extent),
        AddressMode::Mirror => {
            let at = at.rem_euclid(2 * extent);
            at.min(2 * extent - 1 - at)
        }
        AddressMode::Clamp => at.clamp(0, extent - 1),
        AddressMode::Border if (0..extent).contains(&at) => at,
        AddressMode::Border => return None,
    };
    Some(index as u32)
}

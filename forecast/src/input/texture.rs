//! Textures and surfaces of a launch file.
//!
//! ```toml
//! [textures.features]
//! buffer = "f"
//! type = "f32"
//! width = 1024
//! linear = true
//! ```
//!
//! A kernel finds one by its handle, `args = [{ texture = "features" }]`, or by the name of a
//! `.texref` or `.surfref` variable of the module.

use gpucast_interpreter::texture::{
    AddressMode, Channel, Comparison, Filter, Format, Mipmap, Object, Resource, Sampler, Surface,
    Texture, Textures, level_extent, most_levels,
};
use serde::{Deserialize, Serialize};

use super::buffer::Buffer;
use crate::failure::{Anchor, Report};
use gpucast_buffers::scalar::ElementType;

/// `[textures.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TextureTable {
    /// The buffer that holds the texels, from its beginning.
    pub(super) buffer: String,
    /// The type of a channel.
    #[serde(rename = "type")]
    channel: ChannelName,
    /// Channels of a texel: 1, 2 or 4.
    #[serde(default = "one_channel")]
    channels: u8,
    /// Texels of a row.
    width: u32,
    #[serde(default = "one")]
    height: u32,
    #[serde(default = "one")]
    depth: u32,
    #[serde(default = "one")]
    layers: u32,
    /// Samples of a texel, one behind the other.
    #[serde(default = "one")]
    samples: u32,
    /// Bytes from one row to the next; without it rows are dense.
    #[serde(default)]
    pitch: Option<u64>,
    /// True for linear memory, which is zero outside and has neither filter nor address modes.
    #[serde(default)]
    linear: bool,
    /// True for a surface.
    #[serde(default)]
    surface: bool,
    /// True if whole numbers are read as numbers up to 1.
    #[serde(default)]
    normalized_values: bool,
    /// True if such numbers of 8 bits are colours of sRGB.
    #[serde(default)]
    srgb: bool,
    /// True if extents count as 1.
    #[serde(default)]
    normalized_coordinates: bool,
    #[serde(default)]
    filter: FilterName,
    /// One mode for all axes, or one for each.
    #[serde(default)]
    address: Vec<AddressName>,
    #[serde(default)]
    border: [f32; 4],
    /// What a depth must be to a texel, for instructions that compare the two.
    #[serde(default)]
    compare: Option<ComparisonName>,
    /// Levels, each of half the extents of the one before; they lie one behind the other.
    #[serde(default = "one")]
    levels: u32,
    /// One level or the mean of two; nearest if left out.
    #[serde(default)]
    mip_filter: Option<FilterName>,
    /// What is added to the level that an instruction asks for.
    #[serde(default)]
    mip_bias: Option<f32>,
    /// The least level and the greatest; all levels if left out.
    #[serde(default)]
    mip_clamp: Option<[f32; 2]>,
}

fn one() -> u32 {
    1
}

fn one_channel() -> u8 {
    1
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChannelName {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    F16,
    F32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum FilterName {
    #[default]
    Nearest,
    Linear,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AddressName {
    Wrap,
    Mirror,
    Clamp,
    Border,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ComparisonName {
    Never,
    Less,
    Equal,
    LessEqual,
    Greater,
    NotEqual,
    GreaterEqual,
    Always,
}

impl From<FilterName> for Filter {
    fn from(name: FilterName) -> Self {
        match name {
            FilterName::Nearest => Self::Nearest,
            FilterName::Linear => Self::Linear,
        }
    }
}

impl From<ComparisonName> for Comparison {
    fn from(name: ComparisonName) -> Self {
        match name {
            ComparisonName::Never => Self::Never,
            ComparisonName::Less => Self::Less,
            ComparisonName::Equal => Self::Equal,
            ComparisonName::LessEqual => Self::LessEqual,
            ComparisonName::Greater => Self::Greater,
            ComparisonName::NotEqual => Self::NotEqual,
            ComparisonName::GreaterEqual => Self::GreaterEqual,
            ComparisonName::Always => Self::Always,
        }
    }
}

/// A texture or surface of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedTexture {
    /// Its name, and that of the module's variable that it is bound to.
    pub name: String,
    /// The buffer of its texels, an index into [`Plan::buffers`](super::plan::Plan::buffers).
    pub buffer: usize,
    /// True if a launch passes its handle.
    pub is_argument: bool,
    /// Place of its description.
    pub anchor: Anchor,
    table: TextureTable,
}

impl PlannedTexture {
    /// Checks a table. `anchor` is its place and `buffer` the index of its buffer.
    ///
    /// # Errors
    ///
    /// The fault, with the key to change.
    pub(super) fn new(
        name: String,
        table: &TextureTable,
        (buffer, texels): (usize, &Buffer),
        anchor: Anchor,
    ) -> Result<Self, Report> {
        let planned = Self { name, buffer, is_argument: false, anchor, table: table.clone() };
        let wrong = |message: String| Report::new(message).at(&planned.anchor);
        if table.address.len() > 3 {
            return Err(wrong("a texture has at most three axes".to_owned())
                .hint("write one address mode for all axes or one for each"));
        }
        let one_level = table.levels == 1;
        let stray = [
            (table.linear && !one_level, "levels"),
            (table.surface && !one_level, "levels"),
            (table.linear && table.height.max(table.depth).max(table.layers) > 1, "height"),
            (table.linear && table.filter != FilterName::Nearest, "filter"),
            (table.linear && !table.address.is_empty(), "address"),
            (table.linear && table.samples > 1, "samples"),
            (table.surface && table.samples > 1, "samples"),
            (table.surface && table.compare.is_some(), "compare"),
            (table.surface && table.filter != FilterName::Nearest, "filter"),
            (table.surface && !table.address.is_empty(), "address"),
            (table.surface && table.normalized_values, "normalized_values"),
            (table.surface && table.srgb, "srgb"),
        ];
        if let Some((_, key)) = stray.iter().find(|(is_there, _)| *is_there) {
            let what = if table.surface { "a surface" } else { "linear memory" };
            return Err(wrong(format!("{what} has no `{key}`")).hint(format!("remove `{key}`")));
        }
        let of_levels = [
            (one_level && table.mip_filter.is_some(), "mip_filter"),
            (one_level && table.mip_bias.is_some(), "mip_bias"),
            (one_level && table.mip_clamp.is_some(), "mip_clamp"),
            (!one_level && table.pitch.is_some(), "pitch"),
        ];
        if let Some((_, key)) = of_levels.iter().find(|(is_there, _)| *is_there) {
            let what = if one_level { "one level" } else { "several levels" };
            let hint = match one_level {
                true => format!("give the texture `levels`, or remove `{key}`"),
                false => "remove `pitch`: the rows of levels are dense".to_owned(),
            };
            return Err(wrong(format!("a texture of {what} has no `{key}`")).hint(hint));
        }
        let extent @ [width, height, depth] = [table.width, table.height, table.depth];
        let most = most_levels(extent);
        if table.levels == 0 || table.levels as usize > most {
            let message = format!(
                "a texture of {width} x {height} x {depth} texels has from 1 to {most} levels"
            );
            return Err(wrong(message).hint("the last level has one texel in each layer"));
        }
        let mut trial = Textures::default();
        trial.create(planned.object(0)).map_err(|error| {
            wrong(error.to_string()).hint("compare with the keys of [textures] in docs/kernels.md")
        })?;
        let needed = planned.texel_bytes();
        if needed > texels.bytes() {
            return Err(wrong(format!(
                "the texels need {needed} bytes, and buffer `{}` has {}",
                texels.name,
                texels.bytes()
            ))
            .hint(match one_level {
                true => {
                    "make `width`, `height`, `depth`, `layers`, `samples` or `pitch` smaller, or \
                     the buffer longer"
                }
                false => "the levels lie one behind the other: make the buffer longer",
            }));
        }
        Ok(planned)
    }

    /// The type of its texels, if an instruction of any launch can fetch them alone: linear memory
    /// with texels of one channel that are read as they are. `None` for all others.
    #[must_use]
    pub fn linear_texels(&self) -> Option<ElementType> {
        let TextureTable { channel, channels, linear, surface, normalized_values, .. } = self.table;
        let is_plain = linear && !surface && channels == 1 && !normalized_values;
        match channel {
            _ if !is_plain => None,
            ChannelName::U32 => Some(ElementType::U32),
            ChannelName::S32 => Some(ElementType::S32),
            ChannelName::F32 => Some(ElementType::F32),
            ChannelName::U8
            | ChannelName::S8
            | ChannelName::U16
            | ChannelName::S16
            | ChannelName::F16 => None,
        }
    }

    /// Bytes of its texels, from the beginning of the buffer.
    #[must_use]
    pub fn texel_bytes(&self) -> u64 {
        self.levels(0).map(|level| level.bytes(self.format())).fold(0, u64::saturating_add)
    }

    fn format(&self) -> Format {
        let channel = match self.table.channel {
            ChannelName::U8 => Channel::U8,
            ChannelName::S8 => Channel::S8,
            ChannelName::U16 => Channel::U16,
            ChannelName::S16 => Channel::S16,
            ChannelName::U32 => Channel::U32,
            ChannelName::S32 => Channel::S32,
            ChannelName::F16 => Channel::F16,
            ChannelName::F32 => Channel::F32,
        };
        let (channels, normalized) = (self.table.channels, self.table.normalized_values);
        Format { channel, channels, normalized, srgb: self.table.srgb }
    }

    fn resource(&self, address: u64) -> Resource {
        let table = &self.table;
        if table.linear {
            return Resource::linear(address, table.width, self.format());
        }
        let TextureTable { width, height, layers, samples, .. } = *table;
        let dense = match samples {
            1 => Resource::dense(address, [width, height, table.depth], layers, self.format()),
            _ => {
                let extent = [width, height];
                let plane = Resource::multisampled(address, extent, layers, samples, self.format());
                Resource { extent: [width, height, table.depth], ..plane }
            }
        };
        let row_pitch = table.pitch.unwrap_or(dense.row_pitch);
        let slice_pitch = row_pitch.saturating_mul(u64::from(table.height));
        Resource { row_pitch, slice_pitch, ..dense }
    }

    /// The levels, of which the first begins at an address.
    fn levels(&self, address: u64) -> impl Iterator<Item = Resource> {
        let (first, format) = (self.resource(address), self.format());
        std::iter::successors(Some((0, first)), move |(level, before)| {
            let address = before.address.saturating_add(before.bytes(format));
            let level = level + 1;
            let extent = level_extent(first.extent, level);
            Some((level, Resource::dense(address, extent, first.layers, format)))
        })
        .take(self.table.levels as usize)
        .map(|(_, level)| level)
    }

    /// The object, whose texels begin at a device address.
    pub(crate) fn object(&self, address: u64) -> Object {
        let (resource, format) = (self.resource(address), self.format());
        if self.table.surface {
            return Object::Surface(Surface { resource, format });
        }
        let mode = |axis: usize| {
            let given = self.table.address.get(axis).or_else(|| self.table.address.first());
            match given {
                Some(AddressName::Wrap) => AddressMode::Wrap,
                Some(AddressName::Mirror) => AddressMode::Mirror,
                Some(AddressName::Border) => AddressMode::Border,
                Some(AddressName::Clamp) | None => AddressMode::Clamp,
            }
        };
        let table = &self.table;
        let all = Mipmap::default();
        let mipmap = Mipmap {
            filter: table.mip_filter.map_or(all.filter, Filter::from),
            bias: table.mip_bias.unwrap_or(all.bias),
            clamp: table.mip_clamp.unwrap_or(all.clamp),
        };
        let sampler = Sampler {
            filter: table.filter.into(),
            address: [0, 1, 2].map(mode),
            normalized: table.normalized_coordinates,
            border: table.border,
            compare: table.compare.map(Comparison::from),
            mipmap,
        };
        let smaller = self.levels(address).skip(1).collect();
        Object::Texture(Texture { resource, smaller, format, sampler })
    }
}

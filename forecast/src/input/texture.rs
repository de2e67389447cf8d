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

use gpucast_interpreter::DeviceMemory;
use gpucast_interpreter::texture::{
    AddressMode, Channel, Comparison, Filter, Format, Object, Resource, Sampler, Surface, Texture,
    Textures,
};
use gpucast_ptx_frontend::{Module, ScalarType};
use serde::{Deserialize, Serialize};

use super::plan::{Buffer, Plan, PlannedArgument};
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
    /// The buffer of its texels, an index into [`Plan::buffers`].
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
        let stray = [
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
        let mut trial = Textures::default();
        trial.create(planned.object(0)).map_err(|error| {
            wrong(error.to_string()).hint("compare with the keys of [textures] in docs/kernels.md")
        })?;
        let needed = planned.resource(0).bytes(planned.format());
        if needed > texels.bytes() {
            return Err(wrong(format!(
                "the texels need {needed} bytes, and buffer `{}` has {}",
                texels.name,
                texels.bytes()
            ))
            .hint(
                "make `width`, `height`, `depth`, `layers`, `samples` or `pitch` smaller, or the \
                 buffer longer",
            ));
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
        self.resource(0).bytes(self.format())
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

    /// The object, whose texels begin at a device address.
    fn object(&self, address: u64) -> Object {
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
        let filter = match self.table.filter {
            FilterName::Nearest => Filter::Nearest,
            FilterName::Linear => Filter::Linear,
        };
        let address = [0, 1, 2].map(mode);
        let (normalized, border) = (self.table.normalized_coordinates, self.table.border);
        let compare = self.table.compare.map(Comparison::from);
        let sampler = Sampler { filter, address, normalized, border, compare };
        Object::Texture(Texture { resource, format, sampler })
    }
}

/// The argument that is the handle of the texture at `index`.
pub(super) fn argument(index: usize) -> PlannedArgument {
    PlannedArgument::Scalar { ty: ElementType::U64, bits: Textures::handle(index) }
}

/// The texture whose handle an argument is, as an index into [`Plan::textures`].
#[must_use]
pub fn texture_of(plan: &Plan, passed: &PlannedArgument) -> Option<usize> {
    let is_passed = |&index: &usize| plan.textures[index].is_argument && *passed == argument(index);
    (0..plan.textures.len()).find(is_passed)
}

/// Makes a plan's textures in a memory that has its buffers, and binds them to the variables of
/// their names.
///
/// # Errors
///
/// A texture that nothing could name, with its place.
pub(crate) fn create(
    plan: &Plan,
    module: &Module,
    memory: &mut DeviceMemory,
) -> Result<(), Report> {
    for texture in &plan.textures {
        let wrong = |message: String| Report::new(message).at(&texture.anchor);
        let is_variable = module.variables.iter().any(|variable| {
            let is_reference = matches!(variable.ty, ScalarType::Texref | ScalarType::Surfref);
            is_reference && variable.name == texture.name
        });
        if !is_variable && !texture.is_argument {
            return Err(wrong(format!("no launch uses texture `{}`", texture.name)).hint(format!(
                "pass its handle, args = [{{ texture = \"{0}\" }}], or give it the name of a \
                 .texref or .surfref variable of the module",
                texture.name
            )));
        }
        let address = memory.address(&plan.buffers[texture.buffer].name).unwrap_or_default();
        let handle = memory
            .textures
            .create(texture.object(address))
            .map_err(|error| wrong(error.to_string()))?;
        memory.textures.bind_name(&texture.name, handle);
    }
    Ok(())
}

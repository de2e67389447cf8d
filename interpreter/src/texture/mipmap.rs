//! The choice among the texels and levels of a texture, as a sampler states it.

/// How a value is made of texels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Filter {
    /// The texel that holds the place.
    #[default]
    Nearest,
    /// The mean of the texels around the place, weighted by their distances.
    Linear,
}

/// How the levels of a texture are chosen, as `cudaTextureDesc` says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mipmap {
    /// One level, or the weighted mean of two.
    pub filter: Filter,
    /// What is added to the detail that a lane asks for.
    pub bias: f32,
    /// The least detail and the greatest.
    pub clamp: [f32; 2],
}

impl Default for Mipmap {
    fn default() -> Self {
        Self { filter: Filter::Nearest, bias: 0.0, clamp: [0.0, f32::INFINITY] }
    }
}

//! Geometries of textures and what goes with them (manual, section 9.7.10.3).

use super::Modifier as M;
use crate::types::ScalarType;

/// What may follow the coordinates of `tex` and `tld4`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextureExtras {
    /// An offset in texels.
    pub offset: bool,
    /// A depth that texels are compared with.
    pub depth: bool,
}

/// What may follow the coordinates of a `tex` or `tld4` with these modifiers.
///
/// # Errors
///
/// The reason why the modifiers do not go together.
pub fn texture_extras(modifiers: &[M]) -> Result<TextureExtras, &'static str> {
    let has = |any: &[M]| modifiers.iter().any(|modifier| any.contains(modifier));
    let is_cube = has(&[M::Cube, M::Acube]);
    let is_multisampled = has(&[M::D2ms, M::A2dms]);
    let coordinates = modifiers.iter().filter_map(|modifier| modifier.as_type()).next_back();
    let is_real = coordinates == Some(ScalarType::F32);
    match () {
        () if is_cube && !is_real => Err("a cube map has `.f32` coordinates"),
        () if is_multisampled && is_real => {
            Err("a texture of several samples has `.s32` coordinates")
        }
        () if is_multisampled && has(&[M::Level, M::Grad]) => {
            Err("a texture of several samples has no levels")
        }
        () => Ok(TextureExtras { offset: !is_cube, depth: is_real && !has(&[M::D3]) }),
    }
}

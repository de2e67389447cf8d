//! Pictures of kernels, GPUs and predictions, as SVG and PNG.
//!
//! | module | holds |
//! |---|---|
//! | [`pictures`] | one file for each kind of picture: plain data in, a [`Scene`] out |
//! | [`scene`] | shapes and texts in pixels, by what they are for |
//! | [`layout`], [`axis`], [`labels`], [`number`] | title, legend, axes, label places, numbers |
//! | [`theme`] | colours, light and dark |
//! | [`font`] | the embedded fonts: widths and outlines |
//! | [`svg`], [`png`] | a scene as a file's bytes |
//!
//! A picture is the same on every machine, byte by byte. It is laid out with embedded fonts, and
//! nothing depends on the time, the locale or the order of a hash. This crate reads no files, and
//! knows no PTX.
//!
//! A scene names *inks* (what a shape is for) instead of colours; a theme gives inks colours. In
//! SVG each text carries the length that the layout computed, whatever font the viewer has.

pub mod axis;
mod draw;
pub mod font;
pub mod geometry;
mod glyphs;
pub mod labels;
pub mod layout;
pub mod number;
pub mod pictures;
pub mod png;
pub mod scene;
pub mod svg;
pub mod theme;

pub use draw::DrawError;
pub use scene::Scene;
pub use theme::Theme;

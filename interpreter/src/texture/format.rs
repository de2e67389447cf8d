//! Texels in memory and the values that they stand for.

use super::BadTexture;
use crate::semantics::{F16, Half};

/// The format of one channel of a texel.
#[allow(missing_docs, reason = "the variants are the manual's types")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    U8,
    S8,
    U16,
    S16,
    U32,
    S32,
    F16,
    F32,
}

impl Channel {
    /// Bytes of one channel.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        match self {
            Self::U8 | Self::S8 => 1,
            Self::U16 | Self::S16 | Self::F16 => 2,
            Self::U32 | Self::S32 | Self::F32 => 4,
        }
    }

    /// Returns true for floating-point numbers.
    #[must_use]
    pub const fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::F32)
    }

    /// Returns true for signed whole numbers.
    #[must_use]
    pub const fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32)
    }
}

/// Channels of a texel that are colours; the fourth is the share that they cover.
const COLOURS: usize = 3;

/// The share of light that a code of sRGB stands for (IEC 61966-2-1).
fn light(code: u8) -> f32 {
    let share = f64::from(code) / 255.0;
    let light = match share <= 0.04045 {
        true => share / 12.92,
        false => libm::pow((share + 0.055) / 1.055, 2.4),
    };
    light as f32
}

/// The format of a texel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Format {
    /// The format of each channel.
    pub channel: Channel,
    /// Channels: 1, 2 or 4.
    pub channels: u8,
    /// True if whole numbers are read as numbers from 0 or -1 to 1
    /// (`cudaReadModeNormalizedFloat`).
    pub normalized: bool,
    /// True if all channels but the fourth are read as colours of sRGB: the values are their shares
    /// of light. They have 8 bits and are normalised.
    pub srgb: bool,
}

impl Format {
    /// Texels of this many channels, read as they are.
    #[must_use]
    pub const fn new(channel: Channel, channels: u8) -> Self {
        Self { channel, channels, normalized: false, srgb: false }
    }

    /// Bytes of a texel.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        self.channel.bytes() * self.channels as u32
    }

    /// Returns true if channels are read as floating-point numbers.
    #[must_use]
    pub const fn is_real(self) -> bool {
        self.normalized || self.channel.is_float()
    }

    pub(super) fn check(self) -> Result<(), BadTexture> {
        let fits = matches!(self.channels, 1 | 2 | 4);
        let normal = !self.normalized || self.channel.bytes() < 4 && !self.channel.is_float();
        let colours = !self.srgb || self.normalized && self.channel == Channel::U8;
        if fits && normal && colours { Ok(()) } else { Err(BadTexture::Format) }
    }

    /// The four channels of the texel in `bytes`: the bits of `.f32` if channels are real, else of
    /// 32-bit whole numbers. Absent channels are 0, and the last one is 1.
    pub(crate) fn decode(self, bytes: &[u8]) -> [u32; 4] {
        let one = if self.is_real() { 1_f32.to_bits() } else { 1 };
        let mut texel = [0, 0, 0, one];
        let width = self.channel.bytes() as usize;
        let channels = bytes.chunks_exact(width).take(usize::from(self.channels));
        for (at, (value, bytes)) in texel.iter_mut().zip(channels).enumerate() {
            *value = match (self.srgb && at < COLOURS, bytes) {
                (true, &[code]) => light(code).to_bits(),
                _ => self.decode_channel(bytes),
            };
        }
        texel
    }

    fn decode_channel(self, bytes: &[u8]) -> u32 {
        let mut raw = [0; 4];
        raw[..bytes.len()].copy_from_slice(bytes);
        let raw = u32::from_le_bytes(raw);
        let real = |value: f32| value.to_bits();
        // A signed channel has two numbers for -1 (CUDA C++ programming guide, "Texture memory").
        let signed = |value: i32, largest: f32| real((value as f32 / largest).max(-1.0));
        match (self.channel, self.normalized) {
            (Channel::U8, true) => real(raw as f32 / 255.0),
            (Channel::U16, true) => real(raw as f32 / 65535.0),
            (Channel::S8, true) => signed(i32::from(raw as u8 as i8), 127.0),
            (Channel::S16, true) => signed(i32::from(raw as u16 as i16), 32767.0),
            (Channel::S8, false) => i32::from(raw as u8 as i8) as u32,
            (Channel::S16, false) => i32::from(raw as u16 as i16) as u32,
            (Channel::F16, _) => real(F16::widen(raw as u16)),
            (Channel::U8 | Channel::U16 | Channel::U32 | Channel::S32 | Channel::F32, _) => raw,
        }
    }

    /// The bytes of one channel that `sust.p` stores for the 32 bits of a register: the low bits of
    /// whole numbers, and the nearest half of a number.
    pub(crate) fn encode_channel(self, bits: u32) -> [u8; 4] {
        use crate::semantics::rounding::Mode;
        match self.channel {
            Channel::F16 => {
                u32::from(F16::narrow(f32::from_bits(bits), Mode::NearestEven)).to_le_bytes()
            }
            _ => bits.to_le_bytes(),
        }
    }
}

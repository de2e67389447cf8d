//! Widths of letters straight from the tables of a TrueType file, by its specification (ISO/IEC
//! 14496-22): `head`, `hhea`, `hmtx` and format 4 of `cmap`.

fn u16_at(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u16_at(bytes, at) << 16 | u16_at(bytes, at + 2)
}

fn table<'a>(font: &'a [u8], tag: &[u8; 4]) -> &'a [u8] {
    let record = (0..u16_at(font, 4)).map(|table| 12 + 16 * table);
    let record = record.into_iter().find(|&at| &font[at..at + 4] == tag).unwrap();
    &font[u32_at(font, record + 8)..][..u32_at(font, record + 12)]
}

/// The glyph of a character of the basic plane, by the segments of format 4.
fn glyph(font: &[u8], character: char) -> usize {
    let code = u32::from(character) as usize;
    let cmap = table(font, b"cmap");
    let subtable = (0..u16_at(cmap, 2))
        .map(|record| &cmap[u32_at(cmap, 4 + 8 * record + 4)..])
        .find(|subtable| u16_at(subtable, 0) == 4)
        .unwrap();
    let double_segments = u16_at(subtable, 6);
    let (ends, starts) = (14, 16 + double_segments);
    let (deltas, offsets) = (starts + double_segments, starts + 2 * double_segments);
    let segment =
        (0..double_segments).step_by(2).find(|&at| u16_at(subtable, ends + at) >= code).unwrap();
    assert!(u16_at(subtable, starts + segment) <= code, "no glyph for {character:?}");
    let delta = u16_at(subtable, deltas + segment);
    let glyph = match u16_at(subtable, offsets + segment) {
        0 => code,
        offset => {
            let place = offset + 2 * (code - u16_at(subtable, starts + segment));
            u16_at(subtable, offsets + segment + place)
        }
    };
    (glyph + delta) & 0xffff
}

/// The advance of a text without kerning, in ems.
pub(crate) fn width(font: &[u8], text: &str) -> f64 {
    let metrics = u16_at(table(font, b"hhea"), 34);
    let units: usize = text
        .chars()
        .map(|character| {
            let glyph = glyph(font, character);
            assert_ne!(glyph, 0, "no glyph for {character:?}: {text}");
            u16_at(table(font, b"hmtx"), 4 * glyph.min(metrics - 1))
        })
        .sum();
    units as f64 / u16_at(table(font, b"head"), 18) as f64
}

//! The fragment layouts of the manual (PTX ISA 9.0, sections 9.7.14.5.1 to 9.7.14.6.2.8), as it
//! writes them: by shape and type, with `i` the index of an element of the fragment.

/// `%laneid >> 2` and `%laneid % 4`.
fn group(lane: u32) -> (u32, u32) {
    (lane >> 2, lane % 4)
}

/// Row and column of element `i` of A's fragment for `mma`.
pub(crate) fn a(shape: &str, bits: u32, lane: u32, i: u32) -> (u32, u32) {
    let (g, t) = group(lane);
    let lower = |first: bool| if first { g } else { g + 8 };
    match (shape, bits) {
        ("m8n8k4", 64) => (g, t),
        ("m8n8k16", 8) => (g, t * 4 + i),
        ("m8n8k32", 4) => (g, t * 8 + i),
        ("m8n8k128", 1) => (g, t * 32 + i),
        ("m16n8k4", 32 | 64) => (lower(i == 0), t),
        ("m16n8k8", 16) => (lower(i < 2), t * 2 + (i & 1)),
        ("m16n8k8", 32 | 64) => (lower(i == 0 || i == 2), if i < 2 { t } else { t + 4 }),
        ("m16n8k16", 64) => {
            let column = if i.is_multiple_of(2) { i * 2 + t } else { i * 2 - 2 + t };
            (lower(i.is_multiple_of(2)), column)
        }
        ("m16n8k16", 16) => {
            let row = lower(i < 2 || (4..6).contains(&i));
            (row, if i < 4 { t * 2 + (i & 1) } else { t * 2 + (i & 1) + 8 })
        }
        ("m16n8k16", 8) => (lower(i < 4), t * 4 + (i & 3)),
        ("m16n8k32", 4) => (lower(i < 8), t * 8 + (i & 7)),
        ("m16n8k32", 8) => {
            let row = lower(i < 4 || (8..12).contains(&i));
            (row, if i < 8 { t * 4 + (i & 3) } else { t * 4 + (i & 3) + 16 })
        }
        ("m16n8k64", 4) => {
            let row = lower(i < 8 || (16..24).contains(&i));
            (row, if i < 16 { t * 8 + (i & 7) } else { t * 8 + (i & 7) + 32 })
        }
        ("m16n8k128", 1) => (lower(i < 32), t * 32 + (i & 0x1f)),
        ("m16n8k256", 1) => {
            let row = lower(i < 32 || (64..96).contains(&i));
            (row, if i < 64 { t * 32 + (i & 0x1f) } else { t * 32 + (i & 0x1f) + 128 })
        }
        other => panic!("no layout of A for {other:?}"),
    }
}

/// Row and column of element `i` of B's fragment for `mma` and `mma.sp`.
pub(crate) fn b(shape: &str, bits: u32, lane: u32, i: u32) -> (u32, u32) {
    let (g, t) = group(lane);
    let row = match (shape, bits) {
        ("m8n8k4" | "m16n8k4", 32 | 64) => t,
        ("m8n8k16" | "m16n8k16", 8) => t * 4 + i,
        ("m8n8k32" | "m16n8k32", 4) => t * 8 + i,
        ("m8n8k128" | "m16n8k128", 1) => t * 32 + i,
        ("m16n8k8", 16) => t * 2 + i,
        ("m16n8k8", 32 | 64) => {
            if i == 0 {
                t
            } else {
                t + 4
            }
        }
        ("m16n8k16", 64) => t + i * 4,
        ("m16n8k16", 16) => {
            if i < 2 {
                t * 2 + (i & 1)
            } else {
                t * 2 + (i & 1) + 8
            }
        }
        ("m16n8k32", 8) => {
            if i < 4 {
                t * 4 + (i & 3)
            } else {
                t * 4 + (i & 3) + 16
            }
        }
        ("m16n8k64", 4) => {
            if i < 8 {
                t * 8 + (i & 7)
            } else {
                t * 8 + (i & 7) + 32
            }
        }
        ("m16n8k256", 1) => {
            if i < 32 {
                t * 32 + (i & 31)
            } else {
                t * 32 + (i & 31) + 128
            }
        }
        // Sparse only: figures 121, 124, 132 to 135 and 142 to 145, one register after the other.
        ("m16n8k32", 16) => t * 2 + i % 2 + [0, 8, 16, 24][(i / 2) as usize],
        ("m16n8k16", 32) => t + [0, 4, 8, 12][i as usize],
        ("m16n8k64", 8) => t * 4 + i % 4 + [0, 16, 32, 48][(i / 4) as usize],
        ("m16n8k128", 4) => t * 8 + i % 8 + [0, 32, 64, 96][(i / 8) as usize],
        other => panic!("no layout of B for {other:?}"),
    };
    (row, g)
}

/// Row and column of element `i` of the fragment of C or D for `mma`.
pub(crate) fn c(shape: &str, lane: u32, i: u32) -> (u32, u32) {
    let (g, t) = group(lane);
    match shape.split_once('n').unwrap().0 {
        "m8" => (g, t * 2 + i),
        "m16" => (if i < 2 { g } else { g + 8 }, t * 2 + (i & 1)),
        other => panic!("no layout of C for {other}"),
    }
}

/// `mma.m8n8k4` with `.f16` (9.7.14.5.1): the computation that a lane belongs to. Threads 0 to 3
/// and 16 to 19 perform the first, and so on.
pub(crate) fn computation(lane: u32) -> u32 {
    match lane {
        0..4 | 16..20 => 0,
        4..8 | 20..24 => 1,
        8..12 | 24..28 => 2,
        _ => 3,
    }
}

/// Row and column of A there.
pub(crate) fn a_884(layout: &str, lane: u32, i: u32) -> (u32, u32) {
    match layout {
        "row" if lane < 16 => (lane % 4, i),
        "row" => (lane % 4 + 4, i),
        _ if lane < 16 => (i % 4, lane % 4),
        _ => (i % 4 + 4, lane % 4),
    }
}

/// Row and column of B there.
pub(crate) fn b_884(layout: &str, lane: u32, i: u32) -> (u32, u32) {
    match layout {
        "row" if lane < 16 => (lane % 4, i),
        "row" => (lane % 4, i + 4),
        _ if lane < 16 => (i, lane % 4),
        _ => (i, lane % 4 + 4),
    }
}

/// Row and column of C or D there.
pub(crate) fn c_884(single: bool, lane: u32, i: u32) -> (u32, u32) {
    if !single {
        return (if lane < 16 { lane % 4 } else { lane % 4 + 4 }, i);
    }
    let x = (lane & 1) + (i & 2);
    (if lane < 16 { x } else { x + 4 }, (i & 4) + (lane & 2) + (i & 1))
}

/// The columns among which element `i` of A's fragment of `mma.sp` lies, and its row.
pub(crate) fn sparse_a(shape: &str, bits: u32, lane: u32, i: u32) -> (u32, std::ops::Range<u32>) {
    let (g, t) = group(lane);
    let lower = |first: bool| if first { g } else { g + 8 };
    let (row, first, count) = match (shape, bits) {
        ("m16n8k16", 16) => (lower(i < 2), t * 4, 4),
        ("m16n8k32", 16) => {
            let row = lower(i < 2 || (4..6).contains(&i));
            (row, if i < 4 { t * 4 } else { t * 4 + 16 }, 4)
        }
        ("m16n8k8", 32) => (lower(i == 0), t * 2, 2),
        ("m16n8k16", 32) => (lower(i == 0 || i == 2), if i < 2 { t * 2 } else { t * 2 + 8 }, 2),
        ("m16n8k32", 8) => (lower(i < 4), t * 8, 8),
        ("m16n8k64", 8) => {
            let row = lower(i < 4 || (8..12).contains(&i));
            (row, if i < 8 { t * 8 } else { t * 8 + 32 }, 8)
        }
        ("m16n8k64", 4) => (lower(i < 8), t * 16, 16),
        ("m16n8k128", 4) => {
            let row = lower(i < 8 || (16..24).contains(&i));
            (row, if i < 16 { t * 16 } else { t * 16 + 64 }, 16)
        }
        other => panic!("no sparse layout of A for {other:?}"),
    };
    (row, first..first + count)
}

/// Which thread of a group of four holds the metadata of which chunks of which rows, from which
/// bit on (figures 119, 122, 125, 127, 129, 136, 137 and 139, and 146 and 147): the thread, the row
/// within the group's two (0 or 8), the chunks, and the lowest bit of the first of them.
pub(crate) fn metadata(shape: &str, bits: u32) -> &'static [(u32, u32, std::ops::Range<u32>, u32)] {
    match (shape, bits) {
        ("m16n8k16", 16) | ("m16n8k8", 32) => &[(0, 0, 0..4, 0), (0, 8, 0..4, 16)],
        ("m16n8k32", 16) | ("m16n8k16", 32) => {
            &[(0, 0, 0..4, 0), (0, 8, 0..4, 16), (1, 0, 4..8, 0), (1, 8, 4..8, 16)]
        }
        ("m16n8k32", 8) | ("m16n8k64", 4) => &[(0, 0, 0..8, 0), (1, 8, 0..8, 0)],
        ("m16n8k64", 8) | ("m16n8k128", 4) => {
            &[(0, 0, 0..8, 0), (1, 8, 0..8, 0), (2, 0, 8..16, 0), (3, 8, 8..16, 0)]
        }
        other => panic!("no layout of metadata for {other:?}"),
    }
}

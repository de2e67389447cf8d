//! `tcgen05.ld.spcompress` and `.ld.red.spcompress`: of each four cells of a thread, two are kept.

use std::fmt::Write as _;

use super::{COLUMNS, Images, assert_same, kernel};
use crate::machine::{Random, keep};

/// Whether the value `a` goes before `b` where two of four are chosen. NaNs go first, and -0 is
/// less than +0.
fn goes_before(a: f32, b: f32, least: bool) -> bool {
    match (a.is_nan(), b.is_nan()) {
        (a, b) if a || b => a && !b,
        _ if least => a.total_cmp(&b).is_lt(),
        _ => a.total_cmp(&b).is_gt(),
    }
}

/// The first pair of places of which no other element goes before one of the pair.
fn chosen(values: [f32; 4], least: bool) -> [usize; 2] {
    let pairs = (0..4).flat_map(|first| (first + 1..4).map(move |second| [first, second]));
    let fits = |pair: &[usize; 2]| {
        let others = (0..4).filter(|at| !pair.contains(at));
        others
            .into_iter()
            .all(|other| pair.iter().all(|&at| !goes_before(values[other], values[at], least)))
    };
    { pairs }.find(fits).unwrap()
}

/// Values with ties, zeros of both signs, infinities and NaNs.
fn value(random: &mut Random) -> u32 {
    match random.below(8) {
        0 => [0, 1 << 31, 0x7f80_0000, 0xff80_0000][random.below(4) as usize],
        1 if random.below(4) == 0 => 0x7fc0_0001 | (random.below(2) as u32) << 31,
        2..4 => ((random.below(5) as f32) - 2.0).to_bits(),
        _ => (random.next() as u32 as f32 / 65536.0 - 32768.0).to_bits(),
    }
}

fn check(number: usize, least: bool, magnitudes: bool, reduces: bool, nan: bool) {
    let operation = if least { "min" } else { "max" };
    let words = |flag, text| if flag { text } else { "" };
    let (red, abs) = (words(reduces, ".red"), words(magnitudes, ".abs"));
    let of_nan = words(nan, ".NaN");
    let name = format!("ld{red}.spcompress.x{number}.{operation}{abs}{of_nan}");
    let random = &mut Random::new(number as u64 + u64::from(least));
    let mut images = Images::random(random);
    images.tensor.fill_with(|| value(random));
    let metadata = number.div_ceil(32);
    let results = metadata + number / 2 + usize::from(reduces);
    let list = |from: usize, to: usize| {
        (from..to).map(|at| format!("%r{at}")).collect::<Vec<_>>().join(", ")
    };
    let (first, kept) = (random.below(65 + 128 - number as u64) as usize, metadata + number / 2);
    let reduced = if reduces { format!("%r{kept}, ") } else { String::new() };
    let mut body = format!(
        "mul.wide.u32 %wide, %thread, {}; add.u64 %rest, %rest, %wide;\n\
         tcgen05.ld{red}.spcompress.sync.aligned.32x32b.x{number}.{operation}.sp::2:4{abs}{of_nan}.f32.b2 \
         {{{}}}, {{{}}}, {reduced}[%mine + {first}];\ntcgen05.wait::ld.sync.aligned;\n",
        4 * results,
        list(0, metadata),
        list(metadata, kept),
    );
    for at in 0..results {
        writeln!(body, "st.global.b32 [%rest + {}], %r{at};", 4 * at).unwrap();
    }
    let text = kernel(".reg .b32 %r<80>;", &body);
    let text = text.replace(".version 8.8\n.target sm_100a", ".version 9.4\n.target sm_107a");
    keep(&name, &text);
    let (tensor, found) =
        images.run(&text, 128 * results).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert_same(&name, &tensor, &images.tensor);
    for thread in 0..128 {
        let cells = &images.tensor[thread * COLUMNS + first..][..number];
        let seen = |bits: u32| match magnitudes {
            true => f32::from_bits(bits).abs(),
            false => f32::from_bits(bits),
        };
        let mut expected = vec![0; metadata];
        for (group, cells) in cells.chunks_exact(4).enumerate() {
            let values = std::array::from_fn(|at| seen(cells[at]));
            for (at, place) in chosen(values, least).into_iter().enumerate() {
                let field = 2 * group + at;
                expected[field / 16] |= (place as u32) << (2 * (field % 16));
                expected.push(cells[place]);
            }
        }
        if reduces {
            let values = || cells.iter().map(|&bits| seen(bits));
            let numbers = values().filter(|value| !value.is_nan());
            let best = match least {
                true => numbers.min_by(f32::total_cmp),
                false => numbers.max_by(f32::total_cmp),
            };
            let is_nan = nan && values().any(f32::is_nan);
            expected.push(match best {
                Some(best) if !is_nan => best.to_bits(),
                _ => 0x7fff_ffff,
            });
        }
        assert_eq!(found[thread * results..][..results], expected, "{name}, thread {thread}");
    }
}

#[test]
fn loads_keep_two_of_four_cells() {
    for number in [4, 8, 16, 32, 64, 128] {
        for choice in 0..8 {
            let [least, magnitudes, nan] = [1, 2, 4].map(|bit| choice & bit != 0);
            check(number, least, magnitudes, true, nan);
            if !nan {
                check(number, least, magnitudes, false, false);
            }
        }
    }
}

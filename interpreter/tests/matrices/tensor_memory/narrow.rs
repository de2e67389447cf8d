//! Elements of 4 and 6 bits, block scales, and `tcgen05.cp`. Values are dyadic fractions, so that
//! plain sums in double precision are exact.

use super::{COLUMNS, COMMIT, Images, assert_same, kernel};
use crate::machine::{Random, keep};

/// A floating-point format: its code in descriptors, bits of an element and of its mantissa, bias.
#[derive(Clone, Copy, Debug)]
pub(super) struct Narrow {
    pub(super) code: u32,
    bits: usize,
    mantissa: u32,
    bias: i32,
}

pub(super) const E4M3: Narrow = Narrow { code: 0, bits: 8, mantissa: 3, bias: 7 };
pub(super) const E5M2: Narrow = Narrow { code: 1, bits: 8, mantissa: 2, bias: 15 };
pub(super) const E2M3: Narrow = Narrow { code: 3, bits: 6, mantissa: 3, bias: 1 };
const E3M2: Narrow = Narrow { code: 4, bits: 6, mantissa: 2, bias: 3 };
pub(super) const E2M1: Narrow = Narrow { code: 5, bits: 4, mantissa: 1, bias: 1 };

impl Narrow {
    /// The value of a code.
    fn value(self, code: u32) -> f64 {
        let magnitude = code & ((1 << (self.bits - 1)) - 1);
        let (exponent, fraction) =
            (magnitude >> self.mantissa, magnitude & ((1 << self.mantissa) - 1));
        let fraction = f64::from(fraction) / f64::from(1u32 << self.mantissa);
        let value = match exponent {
            0 => fraction * 2f64.powi(1 - self.bias),
            _ => (1.0 + fraction) * 2f64.powi(exponent as i32 - self.bias),
        };
        if code >> (self.bits - 1) == 1 { -value } else { value }
    }

    /// A code whose value lies between 1/8 and 8, or 0.
    fn random(self, random: &mut Random) -> u32 {
        loop {
            let code = random.below(1 << self.bits) as u32;
            let size = self.value(code).abs();
            if size == 0.0 || (0.125..8.0).contains(&size) {
                return code;
            }
        }
    }
}

/// Rows of codes, `depth` of them in each.
pub(super) struct Codes {
    format: Narrow,
    /// Elements of 4 bits follow each other closely.
    dense: bool,
    depth: usize,
    codes: Vec<u32>,
}

impl Codes {
    pub(super) fn random(
        format: Narrow,
        dense: bool,
        rows: usize,
        depth: usize,
        random: &mut Random,
    ) -> Self {
        let codes = (0..rows * depth).map(|_| format.random(random)).collect();
        Self { format, dense, depth, codes }
    }

    pub(super) fn value(&self, row: usize, k: usize) -> f64 {
        self.format.value(self.codes[row * self.depth + k])
    }

    /// Puts all rows to shared memory without a swizzle. Returns the descriptor.
    pub(super) fn place(&self, shared: &mut [u8], at: usize) -> u64 {
        let rows = self.codes.len() / self.depth;
        let per_part = if self.dense { 32 } else { 16 };
        for row in 0..rows {
            for part in 0..self.depth / per_part {
                let first = row * self.depth + part * per_part;
                let packed = self.codes[first..first + per_part].iter().enumerate();
                let packed = packed.fold(0u128, |packed, (i, &code)| {
                    packed | u128::from(code) << (self.format.bits * i)
                });
                let place = at + row / 8 * 128 + row % 8 * 16 + part * rows * 16;
                // What is behind the elements is not looked at.
                let used = self.format.bits * per_part / 8;
                shared[place..place + used].copy_from_slice(&packed.to_le_bytes()[..used]);
            }
        }
        (at as u64 >> 4) | (rows as u64) << 16 | 8 << 32 | 1 << 46
    }

    /// Puts all rows to lanes: a byte for each element, with the bits in the middle of it.
    pub(super) fn hold(&self, images: &mut Images, column: usize) {
        let rows = self.codes.len() / self.depth;
        let (per_word, bits, shift) = match (self.dense, self.format.bits) {
            (true, _) => (8, 4, 0),
            (false, 8) => (4, 8, 0),
            (false, 6) => (4, 8, 1),
            (false, _) => (4, 8, 2),
        };
        for row in 0..rows {
            for (at, codes) in
                self.codes[row * self.depth..][..self.depth].chunks(per_word).enumerate()
            {
                let word = codes
                    .iter()
                    .enumerate()
                    .fold(0, |word, (i, &code)| word | code << (bits * i + shift));
                *images.cell(row, column + at) = word;
            }
        }
    }
}

/// Block scales: how many for each row, the codes and their values.
#[derive(Clone, Copy)]
pub(super) struct Scaling {
    pub(super) modifier: &'static str,
    pub(super) kind: &'static str,
    pub(super) factors: usize,
    /// Exponents, else `.ue4m3`.
    pub(super) exponents: bool,
}

impl Scaling {
    /// Puts random factors of `rows` rows to a column of cells on. Returns their values, those of a
    /// row together, and the byte at which they begin.
    pub(super) fn fill(
        self,
        images: &mut Images,
        rows: usize,
        column: usize,
        random: &mut Random,
    ) -> (Vec<f64>, u32) {
        let first = self.factors * random.below(4 / self.factors as u64) as usize;
        let mut values = Vec::new();
        for row in 0..rows {
            for factor in 0..self.factors {
                let exponent = random.below(4) as i32 - 2;
                let code = if self.exponents { 127 + exponent } else { (7 + exponent) << 3 };
                values.push(2f64.powi(exponent));
                let shift = 8 * (first + factor);
                for quarter in 0..4 {
                    let cell = images.cell(row % 32 + 32 * quarter, column + row / 32);
                    *cell = *cell & !(0xff << shift) | (code as u32) << shift;
                }
            }
        }
        (values, first as u32)
    }
}

fn check(a: Narrow, b: Narrow, n: usize, scaling: Option<Scaling>, in_tensor: bool, seed: u64) {
    let m = 128;
    let random = &mut Random::new(seed);
    let dense = scaling.is_some_and(|scaling| scaling.kind.starts_with("mxf4"));
    let name = format!(
        "{a:?} x {b:?}, N {n}, {:?}, A in tensor memory {in_tensor}",
        scaling.map(|s| s.kind)
    );
    let depth = if dense { 64 } else { 32 };
    let mut images = Images::random(random);
    let (rows, columns) =
        (Codes::random(a, dense, m, depth, random), Codes::random(b, dense, n, depth, random));
    let b_descriptor = columns.place(&mut images.shared, 16 << 10);
    let a_text = if in_tensor {
        rows.hold(&mut images, 300);
        "[%t + 300]".to_owned()
    } else {
        "%da".to_owned()
    };
    let a_descriptor = rows.place(&mut images.shared, 0);
    let mut idesc = (n as u32 >> 3) << 17 | (m as u32 >> 4) << 24;
    let code = |format: Narrow| if dense { 1 } else { format.code };
    idesc |= code(a) << 7 | code(b) << 10;
    let (mut of_a, mut of_b) = (vec![1.0; m], vec![1.0; n]);
    let factors = scaling.map_or(1, |scaling| scaling.factors);
    let (kind, operands) = match scaling {
        None => {
            idesc |= 1 << 4;
            ("f8f6f4".to_owned(), String::new())
        }
        Some(scaling) => {
            let (values, first) = scaling.fill(&mut images, m, 400, random);
            of_a = values;
            idesc |= first << 29;
            let (values, first) = scaling.fill(&mut images, n, 410, random);
            of_b = values;
            idesc |= first << 4 | u32::from(scaling.exponents) << 23;
            let kind = format!("{}.block_scale{}", scaling.kind, scaling.modifier);
            (kind, ", [%t + 400], [%t + 410]".to_owned())
        }
    };
    let body = format!(
        "mov.b64 %da, {a_descriptor}; mov.b64 %db, {b_descriptor}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, 1, 0;\n\
         @%p tcgen05.mma.cta_group::1.kind::{kind} [%t], {a_text}, %db, %idesc{operands}, %adds;\n{COMMIT}"
    );
    let text = kernel(".reg .b64 %da, %db; .reg .b32 %idesc; .reg .pred %adds;", &body);
    keep(&name, &text);
    let (tensor, _) = images.run(&text, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
    let mut expected = images.tensor.clone();
    for row in 0..m {
        for column in 0..n {
            let term = |k: usize| {
                let block = k / (depth / factors);
                let scale = of_a[row * factors + block] * of_b[column * factors + block];
                rows.value(row, k) * columns.value(column, k) * scale
            };
            let sum: f64 = (0..depth).map(term).sum();
            expected[row * COLUMNS + column] = (sum as f32).to_bits();
        }
    }
    assert_same(&name, &tensor, &expected);
}

#[test]
fn narrow_elements_lie_in_sixteen_bytes_or_in_the_middle_of_theirs() {
    let formats = [E4M3, E5M2, E2M3, E3M2, E2M1];
    for (seed, (a, b)) in formats.into_iter().flat_map(|a| formats.map(|b| (a, b))).enumerate() {
        for in_tensor in [false, true] {
            check(a, b, 48, None, in_tensor, seed as u64 + 1);
        }
    }
}

#[test]
fn blocks_have_scales() {
    let of = |kind, modifier, factors, exponents| Scaling { kind, modifier, factors, exponents };
    let bytes = of("mxf8f6f4", "", 1, true);
    for (seed, (a, b)) in [(E4M3, E5M2), (E2M3, E4M3), (E2M1, E3M2)].into_iter().enumerate() {
        check(a, b, 64, Some(bytes), seed % 2 == 0, 100 + seed as u64);
    }
    for (seed, scaling) in [
        of("mxf4", "", 2, true),
        of("mxf4", ".scale_vec::2X", 2, true),
        of("mxf4nvf4", ".scale_vec::2X", 2, true),
        of("mxf4nvf4", ".scale_vec::4X", 4, false),
        of("mxf4nvf4", ".block16", 4, true),
        of("mxf4nvf4", ".block32", 2, true),
    ]
    .into_iter()
    .enumerate()
    {
        for in_tensor in [false, true] {
            check(E2M1, E2M1, 160, Some(scaling), in_tensor, 200 + seed as u64);
        }
    }
}

/// Copies of every shape: rows of shared memory, 16-byte parts of each, and the lanes of each row.
#[test]
fn copies_spread_rows_of_shared_memory_over_lanes() {
    type Lanes = fn(usize) -> Vec<usize>;
    let shapes: [(&str, usize, usize, Lanes); 6] = [
        ("128x256b", 128, 2, |row| vec![row]),
        ("4x256b", 4, 2, |row| vec![32 * row]),
        ("128x128b", 128, 1, |row| vec![row]),
        ("64x128b.warpx2::02_13", 64, 1, |row| vec![row, row + 64]),
        ("64x128b.warpx2::01_23", 64, 1, |row| {
            if row < 32 { vec![row, row + 32] } else { vec![row + 32, row + 64] }
        }),
        ("32x128b.warpx4", 32, 1, |row| vec![row, row + 32, row + 64, row + 96]),
    ];
    // How an element of a copy that unpacks lies in its byte.
    for (format, bits, shift) in
        [("", 8, 0), (".b8x16.b6x16_p32", 6, 1), (".b8x16.b4x16_p64", 4, 2)]
    {
        for (shape, rows, parts, lanes) in shapes {
            let name = format!("cp {shape}{format}");
            let random = &mut Random::new(7);
            let images = Images::random(random);
            // Without a swizzle: eight rows together, and behind them their second parts.
            let (at, leading, stride) = (1024u64, 128u64, 256u64);
            let descriptor = at >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | 1 << 46;
            let body = format!(
                "mov.b64 %da, {descriptor};\n@%p tcgen05.cp.cta_group::1.{shape}{format} [%t + 40], %da;\n{COMMIT}"
            );
            let text = kernel(".reg .b64 %da;", &body);
            keep(&name, &text);
            let (tensor, _) =
                images.run(&text, 0).unwrap_or_else(|error| panic!("{name}: {error}"));
            let mut expected = images.tensor.clone();
            for row in 0..rows {
                for part in 0..parts {
                    let from = at as usize
                        + row % 8 * 16
                        + row / 8 * stride as usize
                        + part * leading as usize;
                    let packed =
                        u128::from_le_bytes(images.shared[from..from + 16].try_into().unwrap());
                    for element in 0..16 {
                        let value = packed >> (bits * element) & ((1 << bits) - 1);
                        for lane in lanes(row) {
                            let cell = &mut expected[lane * COLUMNS + 40 + 4 * part + element / 4];
                            let place = 8 * (element % 4);
                            *cell = *cell & !(0xff << place) | (value as u32) << (place + shift);
                        }
                    }
                }
            }
            assert_same(&name, &tensor, &expected);
        }
    }
}

//! Products of 64 elements of 8 bits along K, whose B may be indices of tables. Indices are packed
//! as one long number, independently of how they are read.

use gpucast_interpreter::NoObserver;

use super::narrow::{Codes, E4M3, E5M2, Scaling};
use super::{COLUMNS, COMMIT, Images, LANES, SHARED, assert_same, kernel_of, of_newest_target};
use crate::machine::{Random, try_launch_cluster, words};

const DEPTH: usize = 64;
/// Columns of tensor memory where A, the tables and the scales begin.
const A: usize = 400;
const TABLES: usize = 300;
const SCALES: [usize; 2] = [420, 430];
/// Place of B in shared memory, a multiple of 1024.
const B: usize = 32 << 10;

/// Commits what the first CTA has issued to the mbarriers of both.
const COMMIT_PAIR: &str = "@%p tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [barrier], 3;\n\
     wait:\nmbarrier.try_wait.parity.shared.b64 %ok, [barrier], 0;\n@!%ok bra wait;\n";

/// B as its own elements, or as indices of tables.
enum FactorB {
    Plain(Codes),
    Indices {
        /// Of two products; the columns of one after those of the other.
        indices: Vec<[usize; 2 * DEPTH]>,
        tables: Codes,
        segment: usize,
    },
}

impl FactorB {
    fn indices(columns: usize, segment: usize, random: &mut Random) -> Self {
        let index = |_| random.below(8) as usize;
        let mut index = index;
        let indices = (0..columns).map(|_| std::array::from_fn(&mut index)).collect();
        let tables = Codes::random(E4M3, false, columns / 8, 8, random);
        Self::Indices { indices, tables, segment }
    }

    fn value(&self, column: usize, k: usize) -> f64 {
        match self {
            Self::Plain(codes) => codes.value(column, k),
            Self::Indices { indices, tables, segment } => {
                tables.value(column / 8, indices[column][segment * DEPTH + k])
            }
        }
    }

    /// Puts B to both memories, indices with a swizzle of 64 bytes or without one. Returns the
    /// descriptor.
    fn place(&self, images: &mut Images, swizzled: bool) -> u64 {
        let (indices, tables, segment) = match self {
            Self::Plain(codes) => return codes.place(&mut images.shared, B),
            Self::Indices { indices, tables, segment } => (indices, tables, segment),
        };
        for (column, of_column) in indices.iter().enumerate() {
            // 48 bytes, the first index in the lowest bits.
            let mut bits = of_column.iter().flat_map(|index| (0..3).map(move |at| index >> at & 1));
            for byte in 0..48 {
                let value = (0..8).map(|at| bits.next().unwrap() << at).sum::<usize>();
                let (part, within) = (byte / 16, byte % 16);
                let at = match swizzled {
                    true => column * 64 + (part ^ (column / 2 % 4)) * 16 + within,
                    false => column / 8 * 384 + column % 8 * 16 + part * 128 + within,
                };
                images.shared[B + at] = value as u8;
            }
        }
        let start = B as u64 >> 4 | 1 << 46 | (*segment as u64) << 53;
        // Bytes between groups of eight columns; and, without a swizzle, between parts of a column.
        let layout = match swizzled {
            true => (512 >> 4) << 32 | 4 << 61,
            false => (128 >> 4) << 16 | (384 >> 4) << 32,
        };
        tables.hold(images, TABLES);
        start | layout
    }
}

/// A product of `n` columns by one CTA or by two, each of which has 128 rows.
#[derive(Clone, Copy, Debug)]
struct Case {
    ctas: usize,
    n: usize,
    in_tensor: bool,
    /// The half of the indices; plain elements if there is none.
    segment: Option<usize>,
    swizzled: bool,
    scaled: bool,
}

fn check(case: Case, seed: u64) {
    let Case { ctas, n, in_tensor, segment, swizzled, scaled } = case;
    let random = &mut Random::new(seed);
    let columns = n / ctas;
    let mut images: Vec<_> = (0..ctas).map(|_| Images::random(random)).collect();
    let format = if seed.is_multiple_of(2) { E4M3 } else { E5M2 };
    let a: Vec<_> = (0..ctas).map(|_| Codes::random(format, false, LANES, DEPTH, random)).collect();
    let b: Vec<_> = (0..ctas)
        .map(|_| match segment {
            None => FactorB::Plain(Codes::random(E4M3, false, columns, DEPTH, random)),
            Some(segment) => FactorB::indices(columns, segment, random),
        })
        .collect();
    let mut descriptors = [0; 2];
    for ((images, a), b) in images.iter_mut().zip(&a).zip(&b) {
        descriptors = [a.place(&mut images.shared, 0), b.place(images, swizzled)];
        if in_tensor {
            a.hold(images, A);
        }
    }
    let mut idesc = (n as u32 >> 3) << 17 | (8 * ctas as u32) << 24 | format.code << 7;
    let (mut of_a, mut of_b) = (vec![1.0; LANES], vec![1.0; n]);
    let (kind, scales) = match scaled {
        false => {
            idesc |= 1 << 4 | 1 << 29;
            ("f8f6f4".to_owned(), String::new())
        }
        true => {
            let scaling = Scaling { modifier: "", kind: "mxf8f6f4", factors: 1, exponents: true };
            let (values, first) = scaling.fill(&mut images[0], LANES, SCALES[0], random);
            (of_a, idesc) = (values, idesc | first << 29);
            let (values, first) = scaling.fill(&mut images[0], n, SCALES[1], random);
            (of_b, idesc) = (values, idesc | first << 4 | 1 << 23 | 1 << 31);
            let [a, b] = SCALES;
            ("mxf8f6f4.block_scale".to_owned(), format!(", [%t + {a}], [%t + {b}]"))
        }
    };
    let (modifier, tables) = match segment {
        None => ("", String::new()),
        Some(_) => (".decompress::lut::b", format!(" [%t + {TABLES}],")),
    };
    let a_text = if in_tensor { format!("[%t + {A}]") } else { "%da".to_owned() };
    let commit = if ctas == 1 { COMMIT } else { COMMIT_PAIR };
    let body = format!(
        "mov.b64 %da, {}; mov.b64 %db, {}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, 1, 0;\n\
         @%p tcgen05.mma.cta_group::{ctas}.kind::{kind}{modifier} [%t], {a_text}, %db,{tables} \
         %idesc{scales}, %adds;\n{commit}",
        descriptors[0], descriptors[1],
    );
    let registers = ".reg .b64 %da, %db; .reg .b32 %idesc; .reg .pred %adds;";
    let text = of_newest_target(&kernel_of(ctas, registers, &body));
    let input: Vec<u8> = images.iter().flat_map(Images::bytes).collect();
    assert_eq!(input.len(), ctas * (SHARED + 4 * LANES * COLUMNS));
    let size = LANES * COLUMNS;
    let launch = [128, ctas as u32];
    let output = try_launch_cluster(&text, launch, &input, 4 * ctas * size, &mut NoObserver);
    let output = words(&output.unwrap_or_else(|error| panic!("{case:?}: {error}")));
    for (cta, (images, a)) in images.iter().zip(&a).enumerate() {
        let mut expected = images.tensor.clone();
        for row in 0..LANES {
            for column in 0..n {
                let of_column = &b[column / columns];
                let term = |k| a.value(row, k) * of_column.value(column % columns, k);
                let sum = (0..DEPTH).map(term).sum::<f64>() * of_a[row] * of_b[column];
                expected[row * COLUMNS + column] = (sum as f32).to_bits();
            }
        }
        assert_same(&format!("{case:?}, CTA {cta}"), &output[cta * size..][..size], &expected);
    }
}

#[test]
fn products_of_64_elements_are_twice_as_deep() {
    let case =
        Case { ctas: 1, n: 48, in_tensor: false, segment: None, swizzled: false, scaled: false };
    check(case, 1);
    check(Case { in_tensor: true, n: 8, ..case }, 2);
    check(Case { ctas: 2, n: 96, ..case }, 3);
    check(Case { scaled: true, n: 128, ..case }, 4);
    check(Case { scaled: true, in_tensor: true, n: 256, ..case }, 5);
}

#[test]
fn tables_decompress_b() {
    let case = Case {
        ctas: 1,
        n: 256,
        in_tensor: false,
        segment: Some(0),
        swizzled: false,
        scaled: false,
    };
    let mut seed = 10;
    for segment in [Some(0), Some(1)] {
        for (ctas, n) in [(1, 8), (1, 64), (1, 256), (2, 32), (2, 256)] {
            for (in_tensor, swizzled) in [(false, true), (true, false)] {
                seed += 1;
                check(Case { ctas, n, in_tensor, segment, swizzled, ..case }, seed);
            }
        }
        for swizzled in [false, true] {
            seed += 1;
            check(Case { n: 96, segment, swizzled, scaled: true, ..case }, seed);
        }
    }
}

/// What the manual gives no meaning is a fault and no product.
#[test]
fn tables_serve_64_elements_of_e4m3_along_k() {
    let fault = |idesc: u32, b: u64| {
        let body = format!(
            "mov.b64 %da, {}; mov.b64 %db, {b}; mov.b32 %idesc, {idesc}; setp.eq.u32 %adds, 1, 0;\n\
             @%p tcgen05.mma.cta_group::1.kind::f8f6f4.decompress::lut::b [%t], %da, %db, \
             [%t + {TABLES}], %idesc, %adds;\n{COMMIT}",
            1u64 << 46 | 8 << 32 | 8 << 16
        );
        let registers = ".reg .b64 %da, %db; .reg .b32 %idesc; .reg .pred %adds;";
        let text = of_newest_target(&kernel_of(1, registers, &body));
        let images = Images::random(&mut Random::new(1));
        images.run(&text, 0).err().map(|error| error.to_string())
    };
    let idesc = 1 << 4 | 1 << 29 | (32 >> 3) << 17 | (128 >> 4) << 24;
    let b = 1 << 46 | (384 >> 4) << 32 | (128 >> 4) << 16 | B as u64 >> 4;
    assert_eq!(fault(idesc, b), None);
    let undefined = |error: Option<String>, what: &str| {
        let error = error.unwrap();
        assert!(error.contains(what), "{error}");
    };
    let descriptor = "this instruction descriptor";
    undefined(fault(idesc & !(1 << 29), b), descriptor);
    undefined(fault(idesc | 1 << 10, b), descriptor);
    undefined(fault(idesc | 1 << 16, b), descriptor);
    undefined(fault(idesc, b | 2 << 53), "this part of a matrix of indices");
    undefined(fault(idesc, b | 6 << 61), "a swizzle that the rows of indices do not fit into");
}

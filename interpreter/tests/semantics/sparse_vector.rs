//! `spcompress` and `spdecompress` against the values that the elements stand for, and against the
//! definition of which two of four are kept.

use gpucast_interpreter::semantics::sparse_vector::{
    Expansion, Fields, SparsityDescriptor, compress,
};
use proptest::prelude::*;

/// The value of an element of a type of table 38.
fn value(element_bits: u32, code: u32, bits: u32) -> f64 {
    let narrow = |exponent_bits: u32, mantissa_bits: u32| {
        let bias = (1 << (exponent_bits - 1)) - 1;
        let sign = if bits >> (exponent_bits + mantissa_bits) & 1 == 0 { 1.0 } else { -1.0 };
        let exponent = (bits >> mantissa_bits & ((1 << exponent_bits) - 1)) as i32;
        let mantissa = bits & ((1 << mantissa_bits) - 1);
        let fraction = f64::from(mantissa) / f64::from(1 << mantissa_bits);
        match (exponent_bits, exponent, mantissa) {
            (5, 31, 0) => sign * f64::INFINITY,
            (5, 31, _) | (4, 15, 7) => f64::NAN,
            (_, 0, _) => sign * fraction * 2f64.powi(1 - bias),
            _ => sign * (1.0 + fraction) * 2f64.powi(exponent - bias),
        }
    };
    match (element_bits, code) {
        (16, 0) => half::f16::from_bits(bits as u16).to_f64(),
        (16, 1) => half::bf16::from_bits(bits as u16).to_f64(),
        (_, 0) => bits.into(),
        (_, 1) => (bits as u8 as i8).into(),
        (_, 2) => narrow(5, 2),
        (_, 3) => narrow(4, 3),
        (_, 4) => narrow(3, 2),
        _ => narrow(2, 3),
    }
}

/// Whether the first of two values is kept rather than the other one.
fn goes_before(a: f64, b: f64, least: bool) -> bool {
    match (a.is_nan(), b.is_nan()) {
        (false, false) if least => a.total_cmp(&b).is_lt(),
        (false, false) => a.total_cmp(&b).is_gt(),
        (a, b) => a && !b,
    }
}

proptest! {
    #[test]
    fn the_two_that_nothing_goes_before_are_kept(
        words in prop::collection::vec(any::<u32>(), 4),
        (element_bits, code) in prop_oneof![
            (Just(16u32), 0u32..2),
            (Just(8u32), 0u32..6),
        ],
        operation in 0u32..4,
        index_bits in prop_oneof![Just(2u32), Just(4u32)],
    ) {
        // Six bits have none above them.
        let mask = if element_bits == 8 && code >= 4 { 0x3f3f_3f3f } else { u32::MAX };
        let words: Vec<u32> = words.into_iter().map(|word| word & mask).collect();
        let descriptor = SparsityDescriptor::decode(code << 2 | operation, element_bits).unwrap();
        let compressed = compress(&words, element_bits, index_bits, descriptor).unwrap();
        let elements = Fields { bits: element_bits };
        let indices = Fields { bits: index_bits };
        let (least, magnitudes) = (operation & 2 != 0, operation & 1 != 0);
        for group in 0..words.len() * 8 / element_bits as usize {
            let bits: Vec<u32> = (0..4).map(|at| elements.get(&words, 4 * group + at)).collect();
            let seen = |&bits: &u32| {
                let value = value(element_bits, code, bits);
                if magnitudes { value.abs() } else { value }
            };
            let values: Vec<f64> = bits.iter().map(seen).collect();
            let pairs = (0..4).flat_map(|first| (first + 1..4).map(move |second| [first, second]));
            let fits = |pair: &[usize; 2]| {
                (0..4).filter(|at| !pair.contains(at)).all(|other| {
                    pair.iter().all(|&at| !goes_before(values[other], values[at], least))
                })
            };
            let pair = { pairs }.find(fits).unwrap();
            for (at, place) in pair.into_iter().enumerate() {
                let field = 2 * group + at;
                prop_assert_eq!(indices.get(&compressed.metadata, field) as usize, place);
                prop_assert_eq!(elements.get(&compressed.kept, field), bits[place]);
            }
        }
        // Back again, with zeros where nothing was kept.
        let groups = words.len() * 8 / element_bits as usize;
        let expansion = Expansion { element_bits, index_bits, stored: 2, dense: 4, groups };
        let dense = expansion.expand(&compressed.metadata, &compressed.kept).unwrap();
        for at in 0..4 * groups {
            let kept = (0..2).any(|stored| {
                indices.get(&compressed.metadata, at / 4 * 2 + stored) as usize == at % 4
            });
            let expected = if kept { elements.get(&words, at) } else { 0 };
            prop_assert_eq!(elements.get(&dense, at), expected);
        }
    }
}

#[test]
fn what_means_nothing_is_told() {
    for (bits, element_bits) in [(2 << 2, 16), (6 << 2, 8), (1 << 5, 8), (1 << 31, 16)] {
        assert_eq!(SparsityDescriptor::decode(bits, element_bits), None, "{bits:#x}");
    }
    let six_bits = SparsityDescriptor::decode(4 << 2, 8).unwrap();
    assert_eq!(compress(&[0x40, 0], 8, 2, six_bits), None);
    let expansion = Expansion { element_bits: 8, index_bits: 4, stored: 1, dense: 8, groups: 1 };
    assert_eq!(expansion.expand(&[8], &[1]), Err(8));
}

/// Of several elements for one place the last one stays.
#[test]
fn the_last_element_for_a_place_stays() {
    let expansion = Expansion { element_bits: 8, index_bits: 2, stored: 2, dense: 4, groups: 1 };
    assert_eq!(expansion.expand(&[0b1010], &[0x2211]), Ok(vec![0x0022_0000]));
}

use gpucast_interpreter::semantics::logic;
use proptest::prelude::*;

use crate::values::{AMOUNTS, INTEGERS};

#[test]
fn lop3_is_its_truth_table_for_every_table() {
    // Bit positions 0 to 7 of the operands run through all combinations.
    let (a, b, c) = (0xf0f0_f0f0, 0xcccc_cccc, 0xaaaa_aaaa);
    for table in 0..=255u8 {
        let expected = u32::from_le_bytes([table; 4]);
        assert_eq!(logic::lop3(a, b, c, table), expected, "{table:#x}");
    }
}

#[test]
fn shifts_clamp_at_the_width() {
    for a in INTEGERS {
        for n in AMOUNTS {
            let left = |width: u32| {
                let mask = (1u128 << width) - 1;
                if n >= width { 0 } else { (u128::from(a) << n & mask) as u64 }
            };
            assert_eq!(logic::shl(a as u16, n), left(16) as u16);
            assert_eq!(logic::shl(a as u32, n), left(32) as u32);
            assert_eq!(logic::shl(a, n), left(64));
            let right = |x: i128| x >> n.min(64);
            assert_eq!(i128::from(logic::shr(a as u16, n)), right(i128::from(a as u16)));
            assert_eq!(i128::from(logic::shr(a as i16, n)), right(i128::from(a as i16)));
            assert_eq!(i128::from(logic::shr(a as u32, n)), right(i128::from(a as u32)));
            assert_eq!(i128::from(logic::shr(a as i32, n)), right(i128::from(a as i32)));
            assert_eq!(i128::from(logic::shr(a, n)), right(i128::from(a)));
            assert_eq!(i128::from(logic::shr(a as i64, n)), right(i128::from(a as i64)));
        }
    }
}

#[test]
fn funnel_shifts_move_bits_between_the_words() {
    let (a, b) = (0x89ab_cdef_u32, 0x0123_4567_u32);
    let bit = |i: i64| -> u32 {
        match i {
            0..32 => a >> i & 1,
            32..64 => b >> (i - 32) & 1,
            _ => 0,
        }
    };
    let word = |lowest: i64| (0..32).fold(0, |d, i| d | bit(lowest + i) << i);
    for n in AMOUNTS {
        let (clamped, wrapped) = (i64::from(n.min(32)), i64::from(n % 32));
        assert_eq!(logic::shf_l_clamp(a, b, n), word(32 - clamped), "{n}");
        assert_eq!(logic::shf_l_wrap(a, b, n), word(32 - wrapped), "{n}");
        assert_eq!(logic::shf_r_clamp(a, b, n), word(clamped), "{n}");
        assert_eq!(logic::shf_r_wrap(a, b, n), word(wrapped), "{n}");
    }
}

#[test]
fn cnot_is_one_only_for_zero() {
    assert_eq!((logic::cnot(0u16), logic::cnot(1u32), logic::cnot(u64::MAX)), (1, 0, 0));
}

/// A byte of `[b, a]` by number.
fn byte(a: u32, b: u32, i: u32) -> u8 {
    [a.to_le_bytes(), b.to_le_bytes()].concat()[i as usize]
}

#[test]
fn prmt_modes_pick_the_bytes_of_the_manuals_table() {
    let (a, b) = (0x8382_8180, 0x8786_8584);
    // Per mode and value of the control's low bits: source bytes, most significant first.
    type Mode = fn(u32, u32, u32) -> u32;
    let table: [(Mode, [[u32; 4]; 4]); 6] = [
        (logic::prmt_f4e, [[3, 2, 1, 0], [4, 3, 2, 1], [5, 4, 3, 2], [6, 5, 4, 3]]),
        (logic::prmt_b4e, [[5, 6, 7, 0], [6, 7, 0, 1], [7, 0, 1, 2], [0, 1, 2, 3]]),
        (logic::prmt_rc8, [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
        (logic::prmt_ecl, [[3, 2, 1, 0], [3, 2, 1, 1], [3, 2, 2, 2], [3, 3, 3, 3]]),
        (logic::prmt_ecr, [[0, 0, 0, 0], [1, 1, 1, 0], [2, 2, 1, 0], [3, 2, 1, 0]]),
        (logic::prmt_rc16, [[1, 0, 1, 0], [3, 2, 3, 2], [1, 0, 1, 0], [3, 2, 3, 2]]),
    ];
    for (mode, rows) in table {
        for (control, row) in rows.iter().enumerate() {
            let expected = u32::from_be_bytes(row.map(|i| byte(a, b, i)));
            assert_eq!(mode(a, b, control as u32 | 0xffff_fff0), expected, "{row:?}");
        }
    }
}

proptest! {
    #[test]
    fn prmt_copies_bytes_or_their_signs(a: u32, b: u32, selector: u32) {
        let bytes = [0, 1, 2, 3].map(|i| {
            let control = selector >> (4 * i) & 0xf;
            let value = byte(a, b, control % 8);
            if control < 8 { value } else if value >= 128 { 255 } else { 0 }
        });
        prop_assert_eq!(logic::prmt(a, b, selector), u32::from_le_bytes(bytes));
    }

    #[test]
    fn lop3_computes_named_functions(a: u32, b: u32, c: u32) {
        prop_assert_eq!(logic::lop3(a, b, c, 0xf0 & 0xcc & 0xaa), a & b & c);
        prop_assert_eq!(logic::lop3(a, b, c, 0xf0 | 0xcc | 0xaa), a | b | c);
        prop_assert_eq!(logic::lop3(a, b, c, 0xf0 ^ 0xcc ^ 0xaa), a ^ b ^ c);
        prop_assert_eq!(logic::lop3(a, b, c, (0xf0 & 0xcc) | (!0xf0 & 0xaa)), (a & b) | (!a & c));
    }
}

//! The lane operations: one near-manual line for each.
//!
//! `lane_operations!` hands the whole table to a macro: [`super::op`] makes the codes of it, and
//! `crate::exec::lanes` the inner loop. A `value` row computes a register from up to three
//! registers, a `predicate` row a predicate; `n` is the operation's small immediate. `cold` rows
//! are like `value` rows but compiled once, not for every CPU level: a build of the loop costs
//! minutes, and these are rare or slow by nature. `other` operations read predicates or other lanes
//! and are functions of their own; `control` operations leave the lane loop.

#[rustfmt::skip]
macro_rules! lane_operations {
    ($callback:ident) => { $callback! {
        value {
            // Moves and packing (manual, 9.7.9).
            Mov32 (a: u32) -> u32 { a }
            Mov64 (a: u64) -> u64 { a }
            Low32 (a: u64) -> u32 { a as u32 }
            High32 (a: u64) -> u32 { (a >> 32) as u32 }
            Pack32 (a: u32, b: u32) -> u64 { u64::from(a) | u64::from(b) << 32 }
            ZeroExtend16 (a: u16) -> u32 { u32::from(a) }
            ZeroExtend32 (a: u32) -> u64 { u64::from(a) }
            SignExtend16To32 (a: i16) -> i32 { i32::from(a) }
            SignExtend32To64 (a: i32) -> i64 { i64::from(a) }
            // Integer arithmetic (9.7.1).
            Add16 (a: u16, b: u16) -> u16 { integer::add(a, b) }
            Add32 (a: u32, b: u32) -> u32 { integer::add(a, b) }
            Sub32 (a: u32, b: u32) -> u32 { integer::sub(a, b) }
            MulLo32 (a: u32, b: u32) -> u32 { integer::mul_lo(a, b) }
            MadLo32 (a: u32, b: u32, c: u32) -> u32 { integer::mad_lo(a, b, c) }
            Add64 (a: u64, b: u64) -> u64 { integer::add(a, b) }
            Sub64 (a: u64, b: u64) -> u64 { integer::sub(a, b) }
            MulLo64 (a: u64, b: u64) -> u64 { integer::mul_lo(a, b) }
            MadLo64 (a: u64, b: u64, c: u64) -> u64 { integer::mad_lo(a, b, c) }
            MulHiU32 (a: u32, b: u32) -> u32 { integer::mul_hi(a, b) }
            MulHiS32 (a: i32, b: i32) -> i32 { integer::mul_hi(a, b) }
            MulWideU16 (a: u16, b: u16) -> u32 { integer::mul_wide(a, b) }
            MulWideU32 (a: u32, b: u32) -> u64 { integer::mul_wide(a, b) }
            MadWideU32 (a: u32, b: u32, c: u64) -> u64 { integer::mad_wide(a, b, c) }
            MulWideS32 (a: i32, b: i32) -> i64 { integer::mul_wide(a, b) }
            MadWideS32 (a: i32, b: i32, c: i64) -> i64 { integer::mad_wide(a, b, c) }
            MinU32 (a: u32, b: u32) -> u32 { integer::min(a, b) }
            MaxU32 (a: u32, b: u32) -> u32 { integer::max(a, b) }
            MinS32 (a: i32, b: i32) -> i32 { integer::min(a, b) }
            MaxS32 (a: i32, b: i32) -> i32 { integer::max(a, b) }
            AbsS32 (a: i32) -> i32 { integer::abs(a) }
            NegS32 (a: i32) -> i32 { integer::neg(a) }
            // Bits (9.7.1.16 to 9.7.1.22).
            Popc32 (a: u32) -> u32 { bits::popc(a) }
            BfeU32 (a: u32, b: u32, c: u32) -> u32 { bits::bfe(a, b, c) }
            BfeS32 (a: i32, b: u32, c: u32) -> i32 { bits::bfe(a, b, c) }
            // Logic and shifts (9.7.8).
            And16 (a: u16, b: u16) -> u16 { logic::and(a, b) }
            And32 (a: u32, b: u32) -> u32 { logic::and(a, b) }
            Or32 (a: u32, b: u32) -> u32 { logic::or(a, b) }
            Xor32 (a: u32, b: u32) -> u32 { logic::xor(a, b) }
            Not32 (a: u32) -> u32 { logic::not(a) }
            Shl32 (a: u32, b: u32) -> u32 { logic::shl(a, b) }
            And64 (a: u64, b: u64) -> u64 { logic::and(a, b) }
            Or64 (a: u64, b: u64) -> u64 { logic::or(a, b) }
            Xor64 (a: u64, b: u64) -> u64 { logic::xor(a, b) }
            Not64 (a: u64) -> u64 { logic::not(a) }
            Shl64 (a: u64, b: u32) -> u64 { logic::shl(a, b) }
            ShrU32 (a: u32, b: u32) -> u32 { logic::shr(a, b) }
            ShrS32 (a: i32, b: u32) -> i32 { logic::shr(a, b) }
            ShrU64 (a: u64, b: u32) -> u64 { logic::shr(a, b) }
            ShrS64 (a: i64, b: u32) -> i64 { logic::shr(a, b) }
            Lop3 (a: u32, b: u32, c: u32; n) -> u32 { logic::lop3(a, b, c, n as u8) }
            ShfLClamp (a: u32, b: u32, c: u32) -> u32 { logic::shf_l_clamp(a, b, c) }
            ShfLWrap (a: u32, b: u32, c: u32) -> u32 { logic::shf_l_wrap(a, b, c) }
            ShfRClamp (a: u32, b: u32, c: u32) -> u32 { logic::shf_r_clamp(a, b, c) }
            ShfRWrap (a: u32, b: u32, c: u32) -> u32 { logic::shf_r_wrap(a, b, c) }
            Prmt (a: u32, b: u32, c: u32) -> u32 { logic::prmt(a, b, c) }
            // Single precision (9.7.3); `n` of the rounded forms: rounding in bits 0 and 1, ftz in
            // bit 2.
            AddF32 (a: f32, b: f32) -> f32 { float::add_f32::<Rn, false, false>(a, b) }
            AddFtzF32 (a: f32, b: f32) -> f32 { float::add_f32::<Rn, true, false>(a, b) }
            SubF32 (a: f32, b: f32) -> f32 { float::sub_f32::<Rn, false, false>(a, b) }
            SubFtzF32 (a: f32, b: f32) -> f32 { float::sub_f32::<Rn, true, false>(a, b) }
            MulF32 (a: f32, b: f32) -> f32 { float::mul_f32::<Rn, false, false>(a, b) }
            MulFtzF32 (a: f32, b: f32) -> f32 { float::mul_f32::<Rn, true, false>(a, b) }
            FmaF32 (a: f32, b: f32, c: f32) -> f32 { float::fma_f32::<Rn, false, false>(a, b, c) }
            FmaFtzF32 (a: f32, b: f32, c: f32) -> f32 { float::fma_f32::<Rn, true, false>(a, b, c) }
            DivF32 (a: f32, b: f32) -> f32 { float::div_f32::<Rn, false>(a, b) }
            SqrtF32 (a: f32) -> f32 { float::sqrt_f32::<Rn, false>(a) }
            RcpF32 (a: f32) -> f32 { float::rcp_f32::<Rn, false>(a) }
            DivApproxF32 (a: f32, b: f32) -> f32 { approx::div_f32::<false>(a, b) }
            DivApproxFtzF32 (a: f32, b: f32) -> f32 { approx::div_f32::<true>(a, b) }
            DivFullApproxF32 (a: f32, b: f32) -> f32 { approx::div_full_f32::<false>(a, b) }
            DivFullApproxFtzF32 (a: f32, b: f32) -> f32 { approx::div_full_f32::<true>(a, b) }
            RcpApproxF32 (a: f32) -> f32 { approx::rcp_f32::<false>(a) }
            RcpApproxFtzF32 (a: f32) -> f32 { approx::rcp_f32::<true>(a) }
            SqrtApproxF32 (a: f32) -> f32 { approx::sqrt_f32::<false>(a) }
            SqrtApproxFtzF32 (a: f32) -> f32 { approx::sqrt_f32::<true>(a) }
            RsqrtApproxF32 (a: f32) -> f32 { approx::rsqrt_f32::<false>(a) }
            RsqrtApproxFtzF32 (a: f32) -> f32 { approx::rsqrt_f32::<true>(a) }
            Lg2ApproxF32 (a: f32) -> f32 { approx::lg2_f32::<false>(a) }
            Lg2ApproxFtzF32 (a: f32) -> f32 { approx::lg2_f32::<true>(a) }
            Ex2ApproxF32 (a: f32) -> f32 { approx::ex2_f32::<false>(a) }
            Ex2ApproxFtzF32 (a: f32) -> f32 { approx::ex2_f32::<true>(a) }
            NegF32 (a: f32) -> f32 { float::neg_f32::<false>(a) }
            AbsF32 (a: f32) -> f32 { float::abs_f32::<false>(a) }
            NegFtzF32 (a: f32) -> f32 { float::neg_f32::<true>(a) }
            AbsFtzF32 (a: f32) -> f32 { float::abs_f32::<true>(a) }
            MinF32 (a: f32, b: f32) -> f32 { float::min_f32::<false, false>(a, b) }
            MinFtzF32 (a: f32, b: f32) -> f32 { float::min_f32::<true, false>(a, b) }
            MaxF32 (a: f32, b: f32) -> f32 { float::max_f32::<false, false>(a, b) }
            MaxFtzF32 (a: f32, b: f32) -> f32 { float::max_f32::<true, false>(a, b) }
            // Double precision (9.7.3); `n` of the rounded forms is the rounding.
            AddF64 (a: f64, b: f64) -> f64 { float::add_f64::<Rn>(a, b) }
            SubF64 (a: f64, b: f64) -> f64 { float::sub_f64::<Rn>(a, b) }
            MulF64 (a: f64, b: f64) -> f64 { float::mul_f64::<Rn>(a, b) }
            DivF64 (a: f64, b: f64) -> f64 { float::div_f64::<Rn>(a, b) }
            FmaF64 (a: f64, b: f64, c: f64) -> f64 { float::fma_f64::<Rn>(a, b, c) }
            SqrtF64 (a: f64) -> f64 { float::sqrt_f64::<Rn>(a) }
            NegF64 (a: f64) -> f64 { float::neg_f64(a) }
            AbsF64 (a: f64) -> f64 { float::abs_f64(a) }
            MinF64 (a: f64, b: f64) -> f64 { float::min_f64(a, b) }
            MaxF64 (a: f64, b: f64) -> f64 { float::max_f64(a, b) }
            // Halves (9.7.4); `x2` forms work on both halves of a word.
            AddF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::add::<F16, false, false>, a, b) }
            MulF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::mul::<F16, false, false>, a, b) }
            FmaF16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma::<F16, false, false>, a, b, c) }
            // Conversions (9.7.9.21); `n` as in the rounded forms above.
            CvtRzU32FromF32 (a: f32) -> u32 { convert::f32_to_int::<u32, Rz>(a) }
            CvtU32ToF32 (a: u32) -> f32 { convert::int_to_f32::<u32, Rn>(a) }
            CvtU32ToF64 (a: u32) -> f64 { convert::int_to_f64::<u32, Rn>(a) }
            CvtRzS32FromF32 (a: f32) -> i32 { convert::f32_to_int::<i32, Rz>(a) }
            CvtS32ToF32 (a: i32) -> f32 { convert::int_to_f32::<i32, Rn>(a) }
            CvtS32ToF64 (a: i32) -> f64 { convert::int_to_f64::<i32, Rn>(a) }
            CvtF32ToF64 (a: f32) -> f64 { convert::f32_to_f64(a) }
            CvtF64ToF32 (a: f64) -> f32 { convert::f64_to_f32::<Rn>(a) }
            CvtF16ToF32 (a: u16) -> f32 { convert::half_to_f32::<F16>(a) }
        }
        cold {
            // Moves and packing (manual, 9.7.9).
            Mov128 (a: u128) -> u128 { a }
            Low16 (a: u32) -> u16 { a as u16 }
            Low8 (a: u16) -> u8 { a as u8 }
            High8 (a: u16) -> u8 { (a >> 8) as u8 }
            Pack8 (a: u8, b: u8) -> u16 { u16::from(a) | u16::from(b) << 8 }
            High16 (a: u32) -> u16 { (a >> 16) as u16 }
            Pack16 (a: u16, b: u16) -> u32 { u32::from(a) | u32::from(b) << 16 }
            Pack64 (a: u64, b: u64) -> u128 { u128::from(a) | u128::from(b) << 64 }
            Low64 (a: u128) -> u64 { a as u64 }
            High64 (a: u128) -> u64 { (a >> 64) as u64 }
            ZeroExtend8 (a: u8) -> u32 { u32::from(a) }
            SignExtend8To16 (a: i8) -> i16 { i16::from(a) }
            SignExtend8To32 (a: i8) -> i32 { i32::from(a) }
            SignExtend8To64 (a: i8) -> i64 { i64::from(a) }
            SignExtend16To64 (a: i16) -> i64 { i64::from(a) }
            // Integer arithmetic (9.7.1).
            Sub16 (a: u16, b: u16) -> u16 { integer::sub(a, b) }
            MulLo16 (a: u16, b: u16) -> u16 { integer::mul_lo(a, b) }
            MadLo16 (a: u16, b: u16, c: u16) -> u16 { integer::mad_lo(a, b, c) }
            AddSatS32 (a: i32, b: i32) -> i32 { integer::add_sat_s32(a, b) }
            SubSatS32 (a: i32, b: i32) -> i32 { integer::sub_sat_s32(a, b) }
            MulHiU16 (a: u16, b: u16) -> u16 { integer::mul_hi(a, b) }
            MadHiU16 (a: u16, b: u16, c: u16) -> u16 { integer::mad_hi(a, b, c) }
            MulHiS16 (a: i16, b: i16) -> i16 { integer::mul_hi(a, b) }
            MadHiS16 (a: i16, b: i16, c: i16) -> i16 { integer::mad_hi(a, b, c) }
            MadHiU32 (a: u32, b: u32, c: u32) -> u32 { integer::mad_hi(a, b, c) }
            MadHiS32 (a: i32, b: i32, c: i32) -> i32 { integer::mad_hi(a, b, c) }
            MulHiU64 (a: u64, b: u64) -> u64 { integer::mul_hi(a, b) }
            MadHiU64 (a: u64, b: u64, c: u64) -> u64 { integer::mad_hi(a, b, c) }
            MulHiS64 (a: i64, b: i64) -> i64 { integer::mul_hi(a, b) }
            MadHiS64 (a: i64, b: i64, c: i64) -> i64 { integer::mad_hi(a, b, c) }
            MadWideU16 (a: u16, b: u16, c: u32) -> u32 { integer::mad_wide(a, b, c) }
            MulWideS16 (a: i16, b: i16) -> i32 { integer::mul_wide(a, b) }
            MadWideS16 (a: i16, b: i16, c: i32) -> i32 { integer::mad_wide(a, b, c) }
            MadHiSatS32 (a: i32, b: i32, c: i32) -> i32 { integer::mad_hi_sat_s32(a, b, c) }
            Mul24LoU32 (a: u32, b: u32) -> u32 { integer::mul24_lo_u32(a, b) }
            Mad24LoU32 (a: u32, b: u32, c: u32) -> u32 { integer::mad24_lo_u32(a, b, c) }
            Mul24HiU32 (a: u32, b: u32) -> u32 { integer::mul24_hi_u32(a, b) }
            Mad24HiU32 (a: u32, b: u32, c: u32) -> u32 { integer::mad24_hi_u32(a, b, c) }
            Mul24LoS32 (a: i32, b: i32) -> i32 { integer::mul24_lo_s32(a, b) }
            Mad24LoS32 (a: i32, b: i32, c: i32) -> i32 { integer::mad24_lo_s32(a, b, c) }
            Mul24HiS32 (a: i32, b: i32) -> i32 { integer::mul24_hi_s32(a, b) }
            Mad24HiS32 (a: i32, b: i32, c: i32) -> i32 { integer::mad24_hi_s32(a, b, c) }
            Mad24HiSatS32 (a: i32, b: i32, c: i32) -> i32 { integer::mad24_hi_sat_s32(a, b, c) }
            SadU16 (a: u16, b: u16, c: u16) -> u16 { integer::sad(a, b, c) }
            DivU16 (a: u16, b: u16) -> u16 { integer::div(a, b) }
            RemU16 (a: u16, b: u16) -> u16 { integer::rem(a, b) }
            MinU16 (a: u16, b: u16) -> u16 { integer::min(a, b) }
            MaxU16 (a: u16, b: u16) -> u16 { integer::max(a, b) }
            SadS16 (a: i16, b: i16, c: i16) -> i16 { integer::sad(a, b, c) }
            DivS16 (a: i16, b: i16) -> i16 { integer::div(a, b) }
            RemS16 (a: i16, b: i16) -> i16 { integer::rem(a, b) }
            MinS16 (a: i16, b: i16) -> i16 { integer::min(a, b) }
            MaxS16 (a: i16, b: i16) -> i16 { integer::max(a, b) }
            SadU32 (a: u32, b: u32, c: u32) -> u32 { integer::sad(a, b, c) }
            DivU32 (a: u32, b: u32) -> u32 { integer::div(a, b) }
            RemU32 (a: u32, b: u32) -> u32 { integer::rem(a, b) }
            SadS32 (a: i32, b: i32, c: i32) -> i32 { integer::sad(a, b, c) }
            DivS32 (a: i32, b: i32) -> i32 { integer::div(a, b) }
            RemS32 (a: i32, b: i32) -> i32 { integer::rem(a, b) }
            SadU64 (a: u64, b: u64, c: u64) -> u64 { integer::sad(a, b, c) }
            DivU64 (a: u64, b: u64) -> u64 { integer::div(a, b) }
            RemU64 (a: u64, b: u64) -> u64 { integer::rem(a, b) }
            MinU64 (a: u64, b: u64) -> u64 { integer::min(a, b) }
            MaxU64 (a: u64, b: u64) -> u64 { integer::max(a, b) }
            SadS64 (a: i64, b: i64, c: i64) -> i64 { integer::sad(a, b, c) }
            DivS64 (a: i64, b: i64) -> i64 { integer::div(a, b) }
            RemS64 (a: i64, b: i64) -> i64 { integer::rem(a, b) }
            MinS64 (a: i64, b: i64) -> i64 { integer::min(a, b) }
            MaxS64 (a: i64, b: i64) -> i64 { integer::max(a, b) }
            AbsS16 (a: i16) -> i16 { integer::abs(a) }
            NegS16 (a: i16) -> i16 { integer::neg(a) }
            AbsS64 (a: i64) -> i64 { integer::abs(a) }
            NegS64 (a: i64) -> i64 { integer::neg(a) }
            MinReluS32 (a: i32, b: i32) -> i32 { integer::min_relu_s32(a, b) }
            MaxReluS32 (a: i32, b: i32) -> i32 { integer::max_relu_s32(a, b) }
            Add16x2 (a: u32, b: u32) -> u32 { packed::add_16x2(a, b) }
            MinU16x2 (a: u32, b: u32) -> u32 { packed::min_u16x2(a, b) }
            MaxU16x2 (a: u32, b: u32) -> u32 { packed::max_u16x2(a, b) }
            MinS16x2 (a: u32, b: u32) -> u32 { packed::min_s16x2(a, b) }
            MaxS16x2 (a: u32, b: u32) -> u32 { packed::max_s16x2(a, b) }
            MinReluS16x2 (a: u32, b: u32) -> u32 { packed::min_relu_s16x2(a, b) }
            MaxReluS16x2 (a: u32, b: u32) -> u32 { packed::max_relu_s16x2(a, b) }
            AddSatU32 (a: u32, b: u32) -> u32 { a.saturating_add(b) }
            AddSatU16x2 (a: u32, b: u32) -> u32 { packed::add_sat_u16x2(a, b) }
            AddSatS16x2 (a: u32, b: u32) -> u32 { packed::add_sat_s16x2(a, b) }
            Add8x4 (a: u32, b: u32) -> u32 { packed::add_8x4(a, b) }
            AddSatU8x4 (a: u32, b: u32) -> u32 { packed::add_sat_u8x4(a, b) }
            AddSatS8x4 (a: u32, b: u32) -> u32 { packed::add_sat_s8x4(a, b) }
            Sub8x4 (a: u32, b: u32) -> u32 { packed::sub_8x4(a, b) }
            SubSatU8x4 (a: u32, b: u32) -> u32 { packed::sub_sat_u8x4(a, b) }
            SubSatS8x4 (a: u32, b: u32) -> u32 { packed::sub_sat_s8x4(a, b) }
            NegS8x4 (a: u32) -> u32 { packed::neg_s8x4(a) }
            MinU8x4 (a: u32, b: u32) -> u32 { packed::min_u8x4(a, b) }
            MaxU8x4 (a: u32, b: u32) -> u32 { packed::max_u8x4(a, b) }
            MinS8x4 (a: u32, b: u32) -> u32 { packed::min_s8x4::<false>(a, b) }
            MaxS8x4 (a: u32, b: u32) -> u32 { packed::max_s8x4::<false>(a, b) }
            MinReluS8x4 (a: u32, b: u32) -> u32 { packed::min_s8x4::<true>(a, b) }
            MaxReluS8x4 (a: u32, b: u32) -> u32 { packed::max_s8x4::<true>(a, b) }
            // Bits (9.7.1.16 to 9.7.1.22).
            Clz32 (a: u32) -> u32 { bits::clz(a) }
            Brev32 (a: u32) -> u32 { bits::brev(a) }
            Bfi32 (a: u32, b: u32, c: u32) -> u32 { bits::bfi(a, b, c & 0xff, c >> 8) }
            Popc64 (a: u64) -> u32 { bits::popc(a) }
            Clz64 (a: u64) -> u32 { bits::clz(a) }
            Brev64 (a: u64) -> u64 { bits::brev(a) }
            Bfi64 (a: u64, b: u64, c: u32) -> u64 { bits::bfi(a, b, c & 0xff, c >> 8) }
            BfindU32 (a: u32) -> u32 { bits::bfind(a) }
            BfindShiftU32 (a: u32) -> u32 { bits::bfind_shiftamt(a) }
            BfindS32 (a: i32) -> u32 { bits::bfind(a) }
            BfindShiftS32 (a: i32) -> u32 { bits::bfind_shiftamt(a) }
            BfindU64 (a: u64) -> u32 { bits::bfind(a) }
            BfindShiftU64 (a: u64) -> u32 { bits::bfind_shiftamt(a) }
            BfeU64 (a: u64, b: u32, c: u32) -> u64 { bits::bfe(a, b, c) }
            BfindS64 (a: i64) -> u32 { bits::bfind(a) }
            BfindShiftS64 (a: i64) -> u32 { bits::bfind_shiftamt(a) }
            BfeS64 (a: i64, b: u32, c: u32) -> i64 { bits::bfe(a, b, c) }
            BitField (a: u32, b: u32) -> u32 { (a & 0xff) | (b & 0xff) << 8 }
            BitFieldOf64 (a: u32, b: u32) -> u32 { a.min(0xff) | b.min(0xff) << 8 }
            Fns (a: u32, b: u32, c: i32) -> u32 { bits::fns(a, b, c) }
            ClmadLo (a: u64, b: u64, c: u64) -> u64 { integer::carryless_product(a, b) as u64 ^ c }
            ClmadHi (a: u64, b: u64, c: u64) -> u64 { (integer::carryless_product(a, b) >> 64) as u64 ^ c }
            BmskClamp (a: u32, b: u32) -> u32 { bits::bmsk_clamp(a, b) }
            BmskWrap (a: u32, b: u32) -> u32 { bits::bmsk_wrap(a, b) }
            SzextClampU32 (a: u32, b: u32) -> u32 { bits::szext_clamp_u32(a, b) }
            SzextWrapU32 (a: u32, b: u32) -> u32 { bits::szext_wrap_u32(a, b) }
            SzextClampS32 (a: i32, b: u32) -> i32 { bits::szext_clamp_s32(a, b) }
            SzextWrapS32 (a: i32, b: u32) -> i32 { bits::szext_wrap_s32(a, b) }
            Dp4AUU (a: u32, b: u32, c: u32) -> u32 { packed::dp4a::<false, false>(a, b, c) }
            Dp4AUS (a: u32, b: u32, c: u32) -> u32 { packed::dp4a::<false, true>(a, b, c) }
            Dp4ASU (a: u32, b: u32, c: u32) -> u32 { packed::dp4a::<true, false>(a, b, c) }
            Dp4ASS (a: u32, b: u32, c: u32) -> u32 { packed::dp4a::<true, true>(a, b, c) }
            Dp2ALoUU (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<false, false, false>(a, b, c) }
            Dp2ALoUS (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<false, true, false>(a, b, c) }
            Dp2ALoSU (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<true, false, false>(a, b, c) }
            Dp2ALoSS (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<true, true, false>(a, b, c) }
            Dp2AHiUU (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<false, false, true>(a, b, c) }
            Dp2AHiUS (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<false, true, true>(a, b, c) }
            Dp2AHiSU (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<true, false, true>(a, b, c) }
            Dp2AHiSS (a: u32, b: u32, c: u32) -> u32 { packed::dp2a::<true, true, true>(a, b, c) }
            // Logic and shifts (9.7.8).
            Or16 (a: u16, b: u16) -> u16 { logic::or(a, b) }
            Xor16 (a: u16, b: u16) -> u16 { logic::xor(a, b) }
            Not16 (a: u16) -> u16 { logic::not(a) }
            Cnot16 (a: u16) -> u16 { logic::cnot(a) }
            Shl16 (a: u16, b: u32) -> u16 { logic::shl(a, b) }
            Cnot32 (a: u32) -> u32 { logic::cnot(a) }
            Cnot64 (a: u64) -> u64 { logic::cnot(a) }
            ShrU16 (a: u16, b: u32) -> u16 { logic::shr(a, b) }
            ShrS16 (a: i16, b: u32) -> i16 { logic::shr(a, b) }
            PrmtF4E (a: u32, b: u32, c: u32) -> u32 { logic::prmt_f4e(a, b, c) }
            PrmtB4E (a: u32, b: u32, c: u32) -> u32 { logic::prmt_b4e(a, b, c) }
            PrmtRc8 (a: u32, b: u32, c: u32) -> u32 { logic::prmt_rc8(a, b, c) }
            PrmtEcl (a: u32, b: u32, c: u32) -> u32 { logic::prmt_ecl(a, b, c) }
            PrmtEcr (a: u32, b: u32, c: u32) -> u32 { logic::prmt_ecr(a, b, c) }
            PrmtRc16 (a: u32, b: u32, c: u32) -> u32 { logic::prmt_rc16(a, b, c) }
            // Single precision (9.7.3); `n` of the rounded forms: rounding in bits 0 and 1, ftz in
            // bit 2.
            AddRoundedF32 (a: f32, b: f32; n) -> f32 { rounded_f32!(n, float::add_f32, [false], a, b) }
            SubRoundedF32 (a: f32, b: f32; n) -> f32 { rounded_f32!(n, float::sub_f32, [false], a, b) }
            MulRoundedF32 (a: f32, b: f32; n) -> f32 { rounded_f32!(n, float::mul_f32, [false], a, b) }
            FmaRoundedF32 (a: f32, b: f32, c: f32; n) -> f32 { rounded_f32!(n, float::fma_f32, [false], a, b, c) }
            DivRoundedF32 (a: f32, b: f32; n) -> f32 { rounded_f32!(n, float::div_f32, [], a, b) }
            RcpRoundedF32 (a: f32; n) -> f32 { rounded_f32!(n, float::rcp_f32, [], a) }
            SqrtRoundedF32 (a: f32; n) -> f32 { rounded_f32!(n, float::sqrt_f32, [], a) }
            SatF32 (a: f32) -> f32 { float::sat_f32(a) }
            FtzF32 (a: f32) -> f32 { float::ftz_f32(a) }
            SinApproxF32 (a: f32) -> f32 { approx::sin_f32::<false>(a) }
            SinApproxFtzF32 (a: f32) -> f32 { approx::sin_f32::<true>(a) }
            CosApproxF32 (a: f32) -> f32 { approx::cos_f32::<false>(a) }
            CosApproxFtzF32 (a: f32) -> f32 { approx::cos_f32::<true>(a) }
            TanhApproxF32 (a: f32) -> f32 { approx::tanh_f32(a) }
            CopysignF32 (a: f32, b: f32) -> f32 { float::copysign_f32(a, b) }
            MinNanF32 (a: f32, b: f32) -> f32 { float::min_f32::<false, true>(a, b) }
            MinNanFtzF32 (a: f32, b: f32) -> f32 { float::min_f32::<true, true>(a, b) }
            MaxNanF32 (a: f32, b: f32) -> f32 { float::max_f32::<false, true>(a, b) }
            MaxNanFtzF32 (a: f32, b: f32) -> f32 { float::max_f32::<true, true>(a, b) }
            MinXorsignF32 (a: f32, b: f32; n) -> f32 { extremum!(n, float::min_xorsign_abs_f32, [], a, b) }
            MaxXorsignF32 (a: f32, b: f32; n) -> f32 { extremum!(n, float::max_xorsign_abs_f32, [], a, b) }
            // Double precision (9.7.3); `n` of the rounded forms is the rounding.
            AddRoundedF64 (a: f64, b: f64; n) -> f64 { rounded_same!(n, float::add_f64, a, b) }
            SubRoundedF64 (a: f64, b: f64; n) -> f64 { rounded_same!(n, float::sub_f64, a, b) }
            MulRoundedF64 (a: f64, b: f64; n) -> f64 { rounded_same!(n, float::mul_f64, a, b) }
            DivRoundedF64 (a: f64, b: f64; n) -> f64 { rounded_same!(n, float::div_f64, a, b) }
            FmaRoundedF64 (a: f64, b: f64, c: f64; n) -> f64 { rounded_same!(n, float::fma_f64, a, b, c) }
            RcpF64 (a: f64) -> f64 { float::rcp_f64::<Rn>(a) }
            RcpRoundedF64 (a: f64; n) -> f64 { rounded_same!(n, float::rcp_f64, a) }
            SqrtRoundedF64 (a: f64; n) -> f64 { rounded_same!(n, float::sqrt_f64, a) }
            RsqrtApproxF64 (a: f64) -> f64 { approx::rsqrt_f64(a) }
            RsqrtApproxFtzF64 (a: f64) -> f64 { approx::rsqrt_ftz_f64(a) }
            RcpApproxFtzF64 (a: f64) -> f64 { approx::rcp_ftz_f64(a) }
            CopysignF64 (a: f64, b: f64) -> f64 { float::copysign_f64(a, b) }
            SatF64 (a: f64) -> f64 { float::sat_f64(a) }
            // Halves (9.7.4); `x2` forms work on both halves of a word.
            AddF16 (a: u16, b: u16) -> u16 { half::add::<F16, false, false>(a, b) }
            AddFtzF16 (a: u16, b: u16) -> u16 { half::add::<F16, true, false>(a, b) }
            SubF16 (a: u16, b: u16) -> u16 { half::sub::<F16, false, false>(a, b) }
            SubFtzF16 (a: u16, b: u16) -> u16 { half::sub::<F16, true, false>(a, b) }
            MulF16 (a: u16, b: u16) -> u16 { half::mul::<F16, false, false>(a, b) }
            MulFtzF16 (a: u16, b: u16) -> u16 { half::mul::<F16, true, false>(a, b) }
            FmaF16 (a: u16, b: u16, c: u16) -> u16 { half::fma::<F16, false, false>(a, b, c) }
            FmaReluF16 (a: u16, b: u16, c: u16) -> u16 { half::fma_relu::<F16, false>(a, b, c) }
            FmaFtzF16 (a: u16, b: u16, c: u16) -> u16 { half::fma::<F16, true, false>(a, b, c) }
            SatF16 (a: u16) -> u16 { half::sat::<F16>(a) }
            NegF16 (a: u16) -> u16 { half::neg::<F16, false>(a) }
            AbsF16 (a: u16) -> u16 { half::abs::<F16, false>(a) }
            MinF16 (a: u16, b: u16) -> u16 { half::min::<F16, false, false>(a, b) }
            MinNanF16 (a: u16, b: u16) -> u16 { half::min::<F16, false, true>(a, b) }
            MaxF16 (a: u16, b: u16) -> u16 { half::max::<F16, false, false>(a, b) }
            MaxNanF16 (a: u16, b: u16) -> u16 { half::max::<F16, false, true>(a, b) }
            Ex2ApproxF16 (a: u16) -> u16 { half::ex2_approx::<F16, false>(a) }
            TanhApproxF16 (a: u16) -> u16 { half::tanh_approx::<F16>(a) }
            NegFtzF16 (a: u16) -> u16 { half::neg::<F16, true>(a) }
            NegFtzF16x2 (a: u32) -> u32 { half::map1_x2(half::neg::<F16, true>, a) }
            AbsFtzF16 (a: u16) -> u16 { half::abs::<F16, true>(a) }
            AbsFtzF16x2 (a: u32) -> u32 { half::map1_x2(half::abs::<F16, true>, a) }
            MinFtzF16 (a: u16, b: u16) -> u16 { half::min::<F16, true, false>(a, b) }
            MinFtzF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::min::<F16, true, false>, a, b) }
            MinNanFtzF16 (a: u16, b: u16) -> u16 { half::min::<F16, true, true>(a, b) }
            MinNanFtzF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::min::<F16, true, true>, a, b) }
            MaxFtzF16 (a: u16, b: u16) -> u16 { half::max::<F16, true, false>(a, b) }
            MaxFtzF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::max::<F16, true, false>, a, b) }
            MaxNanFtzF16 (a: u16, b: u16) -> u16 { half::max::<F16, true, true>(a, b) }
            MaxNanFtzF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::max::<F16, true, true>, a, b) }
            FmaReluFtzF16 (a: u16, b: u16, c: u16) -> u16 { half::fma_relu::<F16, true>(a, b, c) }
            FmaReluFtzF16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma_relu::<F16, true>, a, b, c) }
            AddFtzF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::add::<F16, true, false>, a, b) }
            SubF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::sub::<F16, false, false>, a, b) }
            SubFtzF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::sub::<F16, true, false>, a, b) }
            MulFtzF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::mul::<F16, true, false>, a, b) }
            FmaReluF16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma_relu::<F16, false>, a, b, c) }
            FmaFtzF16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma::<F16, true, false>, a, b, c) }
            SatF16x2 (a: u32) -> u32 { half::map1_x2(half::sat::<F16>, a) }
            NegF16x2 (a: u32) -> u32 { half::map1_x2(half::neg::<F16, false>, a) }
            AbsF16x2 (a: u32) -> u32 { half::map1_x2(half::abs::<F16, false>, a) }
            MinF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::min::<F16, false, false>, a, b) }
            MinNanF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::min::<F16, false, true>, a, b) }
            MaxF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::max::<F16, false, false>, a, b) }
            MaxNanF16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::max::<F16, false, true>, a, b) }
            Ex2ApproxF16x2 (a: u32) -> u32 { half::map1_x2(half::ex2_approx::<F16, false>, a) }
            TanhApproxF16x2 (a: u32) -> u32 { half::map1_x2(half::tanh_approx::<F16>, a) }
            AddBf16 (a: u16, b: u16) -> u16 { half::add::<Bf16, false, false>(a, b) }
            SubBf16 (a: u16, b: u16) -> u16 { half::sub::<Bf16, false, false>(a, b) }
            MulBf16 (a: u16, b: u16) -> u16 { half::mul::<Bf16, false, false>(a, b) }
            FmaBf16 (a: u16, b: u16, c: u16) -> u16 { half::fma::<Bf16, false, false>(a, b, c) }
            FmaReluBf16 (a: u16, b: u16, c: u16) -> u16 { half::fma_relu::<Bf16, false>(a, b, c) }
            NegBf16 (a: u16) -> u16 { half::neg::<Bf16, false>(a) }
            AbsBf16 (a: u16) -> u16 { half::abs::<Bf16, false>(a) }
            MinBf16 (a: u16, b: u16) -> u16 { half::min::<Bf16, false, false>(a, b) }
            MinNanBf16 (a: u16, b: u16) -> u16 { half::min::<Bf16, false, true>(a, b) }
            MaxBf16 (a: u16, b: u16) -> u16 { half::max::<Bf16, false, false>(a, b) }
            MaxNanBf16 (a: u16, b: u16) -> u16 { half::max::<Bf16, false, true>(a, b) }
            Ex2ApproxFtzBf16 (a: u16) -> u16 { half::ex2_approx::<Bf16, true>(a) }
            TanhApproxBf16 (a: u16) -> u16 { half::tanh_approx::<Bf16>(a) }
            AddBf16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::add::<Bf16, false, false>, a, b) }
            SubBf16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::sub::<Bf16, false, false>, a, b) }
            MulBf16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::mul::<Bf16, false, false>, a, b) }
            FmaBf16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma::<Bf16, false, false>, a, b, c) }
            FmaReluBf16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma_relu::<Bf16, false>, a, b, c) }
            NegBf16x2 (a: u32) -> u32 { half::map1_x2(half::neg::<Bf16, false>, a) }
            AbsBf16x2 (a: u32) -> u32 { half::map1_x2(half::abs::<Bf16, false>, a) }
            MinBf16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::min::<Bf16, false, false>, a, b) }
            MinNanBf16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::min::<Bf16, false, true>, a, b) }
            MaxBf16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::max::<Bf16, false, false>, a, b) }
            MaxNanBf16x2 (a: u32, b: u32) -> u32 { half::map2_x2(half::max::<Bf16, false, true>, a, b) }
            Ex2ApproxFtzBf16x2 (a: u32) -> u32 { half::map1_x2(half::ex2_approx::<Bf16, true>, a) }
            TanhApproxBf16x2 (a: u32) -> u32 { half::map1_x2(half::tanh_approx::<Bf16>, a) }
            FtzF16 (a: u16) -> u16 { half::ftz::<F16>(a) }
            MinXorsignF16 (a: u16, b: u16; n) -> u16 { extremum!(n, half::min_xorsign_abs, [F16,], a, b) }
            MaxXorsignF16 (a: u16, b: u16; n) -> u16 { extremum!(n, half::max_xorsign_abs, [F16,], a, b) }
            MinXorsignF16x2 (a: u32, b: u32; n) -> u32 { half::map2_x2(|a, b| extremum!(n, half::min_xorsign_abs, [F16,], a, b), a, b) }
            MaxXorsignF16x2 (a: u32, b: u32; n) -> u32 { half::map2_x2(|a, b| extremum!(n, half::max_xorsign_abs, [F16,], a, b), a, b) }
            MinXorsignBf16 (a: u16, b: u16; n) -> u16 { extremum!(n, half::min_xorsign_abs, [Bf16,], a, b) }
            MaxXorsignBf16 (a: u16, b: u16; n) -> u16 { extremum!(n, half::max_xorsign_abs, [Bf16,], a, b) }
            MinXorsignBf16x2 (a: u32, b: u32; n) -> u32 { half::map2_x2(|a, b| extremum!(n, half::min_xorsign_abs, [Bf16,], a, b), a, b) }
            MaxXorsignBf16x2 (a: u32, b: u32; n) -> u32 { half::map2_x2(|a, b| extremum!(n, half::max_xorsign_abs, [Bf16,], a, b), a, b) }
            FmaOobF16 (a: u16, b: u16, c: u16) -> u16 { half::fma_oob::<F16, false>(a, b, c) }
            FmaOobReluF16 (a: u16, b: u16, c: u16) -> u16 { half::fma_oob::<F16, true>(a, b, c) }
            FmaOobF16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma_oob::<F16, false>, a, b, c) }
            FmaOobReluF16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma_oob::<F16, true>, a, b, c) }
            FmaOobBf16 (a: u16, b: u16, c: u16) -> u16 { half::fma_oob::<Bf16, false>(a, b, c) }
            FmaOobReluBf16 (a: u16, b: u16, c: u16) -> u16 { half::fma_oob::<Bf16, true>(a, b, c) }
            FmaOobBf16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma_oob::<Bf16, false>, a, b, c) }
            FmaOobReluBf16x2 (a: u32, b: u32, c: u32) -> u32 { half::map3_x2(half::fma_oob::<Bf16, true>, a, b, c) }
            // Selection by sign (9.7.6.4).
            SlctS3232 (a: u32, b: u32, c: i32) -> u32 { compare::slct_s32(a, b, c) }
            SlctF3232 (a: u32, b: u32, c: f32) -> u32 { compare::slct_f32::<u32, false>(a, b, c) }
            SlctS3264 (a: u64, b: u64, c: i32) -> u64 { compare::slct_s32(a, b, c) }
            SlctF3264 (a: u64, b: u64, c: f32) -> u64 { compare::slct_f32::<u64, false>(a, b, c) }
            // Conversions (9.7.9.21); `n` as in the rounded forms above.
            CvtSatU8ToS8 (a: u8) -> i8 { convert::int_to_int_sat(a) }
            CvtSatU8ToU16 (a: u8) -> u16 { convert::int_to_int_sat(a) }
            CvtSatU8ToS16 (a: u8) -> i16 { convert::int_to_int_sat(a) }
            CvtSatU8ToU32 (a: u8) -> u32 { convert::int_to_int_sat(a) }
            CvtSatU8ToS32 (a: u8) -> i32 { convert::int_to_int_sat(a) }
            CvtSatU8ToU64 (a: u8) -> u64 { convert::int_to_int_sat(a) }
            CvtSatU8ToS64 (a: u8) -> i64 { convert::int_to_int_sat(a) }
            CvtSatS8ToU8 (a: i8) -> u8 { convert::int_to_int_sat(a) }
            CvtSatS8ToU16 (a: i8) -> u16 { convert::int_to_int_sat(a) }
            CvtSatS8ToS16 (a: i8) -> i16 { convert::int_to_int_sat(a) }
            CvtSatS8ToU32 (a: i8) -> u32 { convert::int_to_int_sat(a) }
            CvtSatS8ToS32 (a: i8) -> i32 { convert::int_to_int_sat(a) }
            CvtSatS8ToU64 (a: i8) -> u64 { convert::int_to_int_sat(a) }
            CvtSatS8ToS64 (a: i8) -> i64 { convert::int_to_int_sat(a) }
            CvtSatU16ToU8 (a: u16) -> u8 { convert::int_to_int_sat(a) }
            CvtSatU16ToS8 (a: u16) -> i8 { convert::int_to_int_sat(a) }
            CvtSatU16ToS16 (a: u16) -> i16 { convert::int_to_int_sat(a) }
            CvtSatU16ToU32 (a: u16) -> u32 { convert::int_to_int_sat(a) }
            CvtSatU16ToS32 (a: u16) -> i32 { convert::int_to_int_sat(a) }
            CvtSatU16ToU64 (a: u16) -> u64 { convert::int_to_int_sat(a) }
            CvtSatU16ToS64 (a: u16) -> i64 { convert::int_to_int_sat(a) }
            CvtSatS16ToU8 (a: i16) -> u8 { convert::int_to_int_sat(a) }
            CvtSatS16ToS8 (a: i16) -> i8 { convert::int_to_int_sat(a) }
            CvtSatS16ToU16 (a: i16) -> u16 { convert::int_to_int_sat(a) }
            CvtSatS16ToU32 (a: i16) -> u32 { convert::int_to_int_sat(a) }
            CvtSatS16ToS32 (a: i16) -> i32 { convert::int_to_int_sat(a) }
            CvtSatS16ToU64 (a: i16) -> u64 { convert::int_to_int_sat(a) }
            CvtSatS16ToS64 (a: i16) -> i64 { convert::int_to_int_sat(a) }
            CvtSatU32ToU8 (a: u32) -> u8 { convert::int_to_int_sat(a) }
            CvtSatU32ToS8 (a: u32) -> i8 { convert::int_to_int_sat(a) }
            CvtSatU32ToU16 (a: u32) -> u16 { convert::int_to_int_sat(a) }
            CvtSatU32ToS16 (a: u32) -> i16 { convert::int_to_int_sat(a) }
            CvtSatU32ToS32 (a: u32) -> i32 { convert::int_to_int_sat(a) }
            CvtSatU32ToU64 (a: u32) -> u64 { convert::int_to_int_sat(a) }
            CvtSatU32ToS64 (a: u32) -> i64 { convert::int_to_int_sat(a) }
            CvtSatS32ToU8 (a: i32) -> u8 { convert::int_to_int_sat(a) }
            CvtSatS32ToS8 (a: i32) -> i8 { convert::int_to_int_sat(a) }
            CvtSatS32ToU16 (a: i32) -> u16 { convert::int_to_int_sat(a) }
            CvtSatS32ToS16 (a: i32) -> i16 { convert::int_to_int_sat(a) }
            CvtSatS32ToU32 (a: i32) -> u32 { convert::int_to_int_sat(a) }
            CvtSatS32ToU64 (a: i32) -> u64 { convert::int_to_int_sat(a) }
            CvtSatS32ToS64 (a: i32) -> i64 { convert::int_to_int_sat(a) }
            CvtSatU64ToU8 (a: u64) -> u8 { convert::int_to_int_sat(a) }
            CvtSatU64ToS8 (a: u64) -> i8 { convert::int_to_int_sat(a) }
            CvtSatU64ToU16 (a: u64) -> u16 { convert::int_to_int_sat(a) }
            CvtSatU64ToS16 (a: u64) -> i16 { convert::int_to_int_sat(a) }
            CvtSatU64ToU32 (a: u64) -> u32 { convert::int_to_int_sat(a) }
            CvtSatU64ToS32 (a: u64) -> i32 { convert::int_to_int_sat(a) }
            CvtSatU64ToS64 (a: u64) -> i64 { convert::int_to_int_sat(a) }
            CvtSatS64ToU8 (a: i64) -> u8 { convert::int_to_int_sat(a) }
            CvtSatS64ToS8 (a: i64) -> i8 { convert::int_to_int_sat(a) }
            CvtSatS64ToU16 (a: i64) -> u16 { convert::int_to_int_sat(a) }
            CvtSatS64ToS16 (a: i64) -> i16 { convert::int_to_int_sat(a) }
            CvtSatS64ToU32 (a: i64) -> u32 { convert::int_to_int_sat(a) }
            CvtSatS64ToS32 (a: i64) -> i32 { convert::int_to_int_sat(a) }
            CvtSatS64ToU64 (a: i64) -> u64 { convert::int_to_int_sat(a) }
            CvtF32ToU8 (a: f32; n) -> u8 { rounded_with!(n, convert::f32_to_int, [_], a) }
            CvtF64ToU8 (a: f64; n) -> u8 { rounded_with!(n, convert::f64_to_int, [_], a) }
            CvtRoundedU8ToF32 (a: u8; n) -> f32 { rounded_with!(n, convert::int_to_f32, [_], a) }
            CvtRoundedU8ToF64 (a: u8; n) -> f64 { rounded_with!(n, convert::int_to_f64, [_], a) }
            CvtU8ToF16 (a: u8; n) -> u16 { rounded_with!(n, convert::int_to_half, [u8, F16], a) }
            CvtU8ToBf16 (a: u8; n) -> u16 { rounded_with!(n, convert::int_to_half, [u8, Bf16], a) }
            CvtF32ToS8 (a: f32; n) -> i8 { rounded_with!(n, convert::f32_to_int, [_], a) }
            CvtF64ToS8 (a: f64; n) -> i8 { rounded_with!(n, convert::f64_to_int, [_], a) }
            CvtRoundedS8ToF32 (a: i8; n) -> f32 { rounded_with!(n, convert::int_to_f32, [_], a) }
            CvtRoundedS8ToF64 (a: i8; n) -> f64 { rounded_with!(n, convert::int_to_f64, [_], a) }
            CvtS8ToF16 (a: i8; n) -> u16 { rounded_with!(n, convert::int_to_half, [i8, F16], a) }
            CvtS8ToBf16 (a: i8; n) -> u16 { rounded_with!(n, convert::int_to_half, [i8, Bf16], a) }
            CvtF32ToU16 (a: f32; n) -> u16 { rounded_with!(n, convert::f32_to_int, [_], a) }
            CvtF64ToU16 (a: f64; n) -> u16 { rounded_with!(n, convert::f64_to_int, [_], a) }
            CvtRoundedU16ToF32 (a: u16; n) -> f32 { rounded_with!(n, convert::int_to_f32, [_], a) }
            CvtRoundedU16ToF64 (a: u16; n) -> f64 { rounded_with!(n, convert::int_to_f64, [_], a) }
            CvtU16ToF16 (a: u16; n) -> u16 { rounded_with!(n, convert::int_to_half, [u16, F16], a) }
            CvtU16ToBf16 (a: u16; n) -> u16 { rounded_with!(n, convert::int_to_half, [u16, Bf16], a) }
            CvtF32ToS16 (a: f32; n) -> i16 { rounded_with!(n, convert::f32_to_int, [_], a) }
            CvtF64ToS16 (a: f64; n) -> i16 { rounded_with!(n, convert::f64_to_int, [_], a) }
            CvtRoundedS16ToF32 (a: i16; n) -> f32 { rounded_with!(n, convert::int_to_f32, [_], a) }
            CvtRoundedS16ToF64 (a: i16; n) -> f64 { rounded_with!(n, convert::int_to_f64, [_], a) }
            CvtS16ToF16 (a: i16; n) -> u16 { rounded_with!(n, convert::int_to_half, [i16, F16], a) }
            CvtS16ToBf16 (a: i16; n) -> u16 { rounded_with!(n, convert::int_to_half, [i16, Bf16], a) }
            CvtF32ToU32 (a: f32; n) -> u32 { rounded_with!(n, convert::f32_to_int, [_], a) }
            CvtF64ToU32 (a: f64; n) -> u32 { rounded_with!(n, convert::f64_to_int, [_], a) }
            CvtRzU32FromF64 (a: f64) -> u32 { convert::f64_to_int::<u32, Rz>(a) }
            CvtRoundedU32ToF32 (a: u32; n) -> f32 { rounded_with!(n, convert::int_to_f32, [_], a) }
            CvtRoundedU32ToF64 (a: u32; n) -> f64 { rounded_with!(n, convert::int_to_f64, [_], a) }
            CvtU32ToF16 (a: u32; n) -> u16 { rounded_with!(n, convert::int_to_half, [u32, F16], a) }
            CvtU32ToBf16 (a: u32; n) -> u16 { rounded_with!(n, convert::int_to_half, [u32, Bf16], a) }
            CvtF32ToS32 (a: f32; n) -> i32 { rounded_with!(n, convert::f32_to_int, [_], a) }
            CvtF64ToS32 (a: f64; n) -> i32 { rounded_with!(n, convert::f64_to_int, [_], a) }
            CvtRzS32FromF64 (a: f64) -> i32 { convert::f64_to_int::<i32, Rz>(a) }
            CvtRoundedS32ToF32 (a: i32; n) -> f32 { rounded_with!(n, convert::int_to_f32, [_], a) }
            CvtRoundedS32ToF64 (a: i32; n) -> f64 { rounded_with!(n, convert::int_to_f64, [_], a) }
            CvtS32ToF16 (a: i32; n) -> u16 { rounded_with!(n, convert::int_to_half, [i32, F16], a) }
            CvtS32ToBf16 (a: i32; n) -> u16 { rounded_with!(n, convert::int_to_half, [i32, Bf16], a) }
            CvtF32ToU64 (a: f32; n) -> u64 { rounded_with!(n, convert::f32_to_int, [_], a) }
            CvtF64ToU64 (a: f64; n) -> u64 { rounded_with!(n, convert::f64_to_int, [_], a) }
            CvtRzU64FromF32 (a: f32) -> u64 { convert::f32_to_int::<u64, Rz>(a) }
            CvtRzU64FromF64 (a: f64) -> u64 { convert::f64_to_int::<u64, Rz>(a) }
            CvtU64ToF32 (a: u64) -> f32 { convert::int_to_f32::<u64, Rn>(a) }
            CvtU64ToF64 (a: u64) -> f64 { convert::int_to_f64::<u64, Rn>(a) }
            CvtRoundedU64ToF32 (a: u64; n) -> f32 { rounded_with!(n, convert::int_to_f32, [_], a) }
            CvtRoundedU64ToF64 (a: u64; n) -> f64 { rounded_with!(n, convert::int_to_f64, [_], a) }
            CvtU64ToF16 (a: u64; n) -> u16 { rounded_with!(n, convert::int_to_half, [u64, F16], a) }
            CvtU64ToBf16 (a: u64; n) -> u16 { rounded_with!(n, convert::int_to_half, [u64, Bf16], a) }
            CvtF32ToS64 (a: f32; n) -> i64 { rounded_with!(n, convert::f32_to_int, [_], a) }
            CvtF64ToS64 (a: f64; n) -> i64 { rounded_with!(n, convert::f64_to_int, [_], a) }
            CvtRzS64FromF32 (a: f32) -> i64 { convert::f32_to_int::<i64, Rz>(a) }
            CvtRzS64FromF64 (a: f64) -> i64 { convert::f64_to_int::<i64, Rz>(a) }
            CvtS64ToF32 (a: i64) -> f32 { convert::int_to_f32::<i64, Rn>(a) }
            CvtS64ToF64 (a: i64) -> f64 { convert::int_to_f64::<i64, Rn>(a) }
            CvtRoundedS64ToF32 (a: i64; n) -> f32 { rounded_with!(n, convert::int_to_f32, [_], a) }
            CvtRoundedS64ToF64 (a: i64; n) -> f64 { rounded_with!(n, convert::int_to_f64, [_], a) }
            CvtS64ToF16 (a: i64; n) -> u16 { rounded_with!(n, convert::int_to_half, [i64, F16], a) }
            CvtS64ToBf16 (a: i64; n) -> u16 { rounded_with!(n, convert::int_to_half, [i64, Bf16], a) }
            RoundF32 (a: f32; n) -> f32 { rounded_same!(n, convert::f32_to_integral, a) }
            RoundF64 (a: f64; n) -> f64 { rounded_same!(n, convert::f64_to_integral, a) }
            CvtRoundedF64ToF32 (a: f64; n) -> f32 { rounded_same!(n, convert::f64_to_f32, a) }
            CvtF16ToF64 (a: u16) -> f64 { convert::half_to_f64::<F16>(a) }
            CvtF32ToF16 (a: f32; n) -> u16 { rounded_with!(n, convert::f32_to_half, [F16], a) }
            CvtF64ToF16 (a: f64; n) -> u16 { rounded_with!(n, convert::f64_to_half, [F16], a) }
            CvtX2F16 (a: f32, b: f32) -> u32 { convert::f32_to_x2::<F16, Rn, false, false>(a, b) }
            CvtX2ReluF16 (a: f32, b: f32) -> u32 { convert::f32_to_x2::<F16, Rn, true, false>(a, b) }
            ReluF16 (a: u16) -> u16 { half::relu::<F16>(a) }
            CvtBf16ToF32 (a: u16) -> f32 { convert::half_to_f32::<Bf16>(a) }
            CvtBf16ToF64 (a: u16) -> f64 { convert::half_to_f64::<Bf16>(a) }
            CvtF32ToBf16 (a: f32; n) -> u16 { rounded_with!(n, convert::f32_to_half, [Bf16], a) }
            CvtF64ToBf16 (a: f64; n) -> u16 { rounded_with!(n, convert::f64_to_half, [Bf16], a) }
            CvtX2Bf16 (a: f32, b: f32) -> u32 { convert::f32_to_x2::<Bf16, Rn, false, false>(a, b) }
            CvtX2ReluBf16 (a: f32, b: f32) -> u32 { convert::f32_to_x2::<Bf16, Rn, true, false>(a, b) }
            ReluBf16 (a: u16) -> u16 { half::relu::<Bf16>(a) }
            CvtF32ToTf32 (a: f32; n) -> u32 { rare::f32_to_tf32(n, a) }
            RoundF16 (a: u16; n) -> u16 { rounded_with!(n, convert::half_to_integral, [F16], a) }
            RoundBf16 (a: u16; n) -> u16 { rounded_with!(n, convert::half_to_integral, [Bf16], a) }
            CvtF16ToBf16 (a: u16; n) -> u16 { rounded_with!(n, convert::half_to_half, [F16, Bf16], a) }
            CvtBf16ToF16 (a: u16; n) -> u16 { rounded_with!(n, convert::half_to_half, [Bf16, F16], a) }
            CvtClampedF16 (a: f32; n) -> u16 { rare::f32_to_half::<F16>(n, a) }
            CvtClampedBf16 (a: f32; n) -> u16 { rare::f32_to_half::<Bf16>(n, a) }
            CvtX2ClampedF16 (a: f32, b: f32; n) -> u32 { half::pack(rare::f32_to_half::<F16>(n, a), rare::f32_to_half::<F16>(n, b)) }
            CvtX2ClampedBf16 (a: f32, b: f32; n) -> u32 { half::pack(rare::f32_to_half::<Bf16>(n, a), rare::f32_to_half::<Bf16>(n, b)) }
            CvtX2StochasticF16 (a: f32, b: f32, c: u32; n) -> u32 { rare::f32_to_x2_stochastic::<F16>(n, a, b, c) }
            CvtX2StochasticBf16 (a: f32, b: f32, c: u32; n) -> u32 { rare::f32_to_x2_stochastic::<Bf16>(n, a, b, c) }
            // Packed formats of 8 bits and fewer; see [`super::op::narrow`] for `n`.
            CvtToNarrow (a: f32, b: f32, c: u16; n) -> u16 { rare::f32_to_narrow(n, a, b, c) }
            CvtStochasticToNarrow (a: f32, b: f32, c: u32; n) -> u16 { rare::f32_to_narrow_stochastic(n, a, b, c) }
            CvtHalvesToNarrow (a: u32, b: u16; n) -> u16 { rare::halves_to_narrow(n, a, b) }
            CvtNarrowToF16x2 (a: u16; n) -> u32 { rare::narrow_to_f16x2(n, a) }
            CvtNarrowToBf16x2 (a: u16, b: u16; n) -> u32 { rare::narrow_to_bf16x2(n, a, b) }
            CvtToUe8m0 (a: f32, b: f32; n) -> u16 { rare::f32_to_ue8m0(n, a, b) }
            CvtUe8m0ToBf16x2 (a: u16) -> u32 { half::pack(minifloat::ue8m0_to_bf16((a >> 8) as u8), minifloat::ue8m0_to_bf16(a as u8)) }
            CvtToS2f6 (a: f32, b: f32, c: u16; n) -> u16 { rare::f32_to_s2f6(n, a, b, c) }
            CvtS2f6ToBf16x2 (a: u16, b: u16; n) -> u32 { rare::s2f6_to_bf16x2(n, a, b) }
            QuadArithmetic (a: u32, b: u32, c: u32; n) -> u32 { rare::quad(n, a, b, c) }
            // `.pzo`.
            PositiveZero16 (a: u16) -> u16 { half::positive_zero(a) }
            PositiveZero16x2 (a: u32) -> u32 { half::map1_x2(half::positive_zero, a) }
            PositiveZero32 (a: u32) -> u32 { if a == 1 << 31 { 0 } else { a } }
            FtzF16x2 (a: u32) -> u32 { half::map1_x2(half::ftz::<F16>, a) }
            CvtPackU16 (a: i32, b: i32) -> u32 { convert::pack_16::<false>(a, b) }
            CvtPackS16 (a: i32, b: i32) -> u32 { convert::pack_16::<true>(a, b) }
            CvtPackU8 (a: i32, b: i32, c: u32) -> u32 { convert::pack_narrow::<false, 8>(a, b, c) }
            CvtPackS8 (a: i32, b: i32, c: u32) -> u32 { convert::pack_narrow::<true, 8>(a, b, c) }
            CvtPackU4 (a: i32, b: i32, c: u32) -> u32 { convert::pack_narrow::<false, 4>(a, b, c) }
            CvtPackS4 (a: i32, b: i32, c: u32) -> u32 { convert::pack_narrow::<true, 4>(a, b, c) }
            CvtPackU2 (a: i32, b: i32, c: u32) -> u32 { convert::pack_narrow::<false, 2>(a, b, c) }
            CvtPackS2 (a: i32, b: i32, c: u32) -> u32 { convert::pack_narrow::<true, 2>(a, b, c) }
            // Video instructions (9.7.18); see [`super::op::video`] for `n`.
            VideoExtract (a: u32; n) -> i64 { rare::video_extract(n, a) }
            VideoPrimary (a: i64, b: i64; n) -> i64 { rare::video_primary(n, a, b) }
            VideoShl (a: i64, b: i64; n) -> i64 { rare::video_shl(n, a, b) }
            VideoShr (a: i64, b: i64; n) -> i64 { rare::video_shr(n, a, b) }
            VideoSaturate (a: i64; n) -> i64 { rare::video_saturate(n, a) }
            VideoMerge (a: i64, b: u32; n) -> u32 { rare::video_merge(n, a, b) }
            VideoMad (a: i64, b: i64, c: u32; n) -> u32 { rare::video_mad(n, a, b, c) }
            VideoSimd (a: u32, b: u32, c: u32; n) -> u32 { rare::video_simd(n, a, b, c) }
        }
        predicate {
            Eq16 (a: u16, b: u16) { compare::eq(a, b) }
            Eq32 (a: u32, b: u32) { compare::eq(a, b) }
            Eq64 (a: u64, b: u64) { compare::eq(a, b) }
            LtU16 (a: u16, b: u16) { compare::lt(a, b) }
            LeU16 (a: u16, b: u16) { compare::le(a, b) }
            LtS16 (a: i16, b: i16) { compare::lt(a, b) }
            LeS16 (a: i16, b: i16) { compare::le(a, b) }
            LtU32 (a: u32, b: u32) { compare::lt(a, b) }
            LeU32 (a: u32, b: u32) { compare::le(a, b) }
            LtS32 (a: i32, b: i32) { compare::lt(a, b) }
            LeS32 (a: i32, b: i32) { compare::le(a, b) }
            LtU64 (a: u64, b: u64) { compare::lt(a, b) }
            LeU64 (a: u64, b: u64) { compare::le(a, b) }
            LtS64 (a: i64, b: i64) { compare::lt(a, b) }
            LeS64 (a: i64, b: i64) { compare::le(a, b) }
            EqF32 (a: f32, b: f32) { compare::eq(a, b) }
            NeOrderedF32 (a: f32, b: f32) { compare::ne_ordered(a, b) }
            LtF32 (a: f32, b: f32) { compare::lt(a, b) }
            LeF32 (a: f32, b: f32) { compare::le(a, b) }
            OrderedF32 (a: f32, b: f32) { compare::num(a, b) }
            TestFiniteF32 (a: f32) { float::testp_finite(a) }
            TestInfiniteF32 (a: f32) { float::testp_infinite(a) }
            TestNumberF32 (a: f32) { float::testp_number(a) }
            TestNotanumberF32 (a: f32) { float::testp_notanumber(a) }
            TestNormalF32 (a: f32) { float::testp_normal(a) }
            TestSubnormalF32 (a: f32) { float::testp_subnormal(a) }
            EqF64 (a: f64, b: f64) { compare::eq(a, b) }
            NeOrderedF64 (a: f64, b: f64) { compare::ne_ordered(a, b) }
            LtF64 (a: f64, b: f64) { compare::lt(a, b) }
            LeF64 (a: f64, b: f64) { compare::le(a, b) }
            OrderedF64 (a: f64, b: f64) { compare::num(a, b) }
            TestFiniteF64 (a: f64) { float::testp_finite(a) }
            TestInfiniteF64 (a: f64) { float::testp_infinite(a) }
            TestNumberF64 (a: f64) { float::testp_number(a) }
            TestNotanumberF64 (a: f64) { float::testp_notanumber(a) }
            TestNormalF64 (a: f64) { float::testp_normal(a) }
            TestSubnormalF64 (a: f64) { float::testp_subnormal(a) }
        }
        other {
            Select32,
            Select64,
            PredicateLogic,
            PredicateConstant,
            AddCarry32,
            AddCarry64,
            CarryOut32,
            CarryOut64,
            Shuffle,
            ShuffleInRange,
            Vote,
            Ballot,
            ActiveMask,
            Elect,
            MatchAny32,
            MatchAny64,
            MatchAll32,
            MatchAll64,
            Redux,
            ReduxF32,
            NotZero32,
        }
        control {
            /// Enter block `a`.
            Jump,
            /// Enter block `a` where the guard is true, else block `b`.
            Branch,
            /// `brx.idx`: enter the block that row `a` selects from table `c`; `b` falls through.
            BranchIndexed,
            /// Memory operation number `a`.
            Memory,
            /// The addresses of memory operation number `a`, which moves nothing.
            Probe,
            /// `cp.async` number `a`.
            AsyncCopy,
            /// Close or wait for groups of asynchronous copies; see
            /// [`wait`](super::asynchronous::wait).
            AsyncWait,
            /// Operation number `a` on an mbarrier; `dst` is its result.
            Mbarrier,
            /// Bulk operation number `a`.
            Bulk,
            /// Tensor operation number `a`.
            Tensor,
            /// Texture or surface operation number `a`.
            Texture,
            /// Operation number `a` on tensor memory.
            TensorMemory,
            /// Arrive at the cluster's barrier or wait there; see [`cluster_barrier`].
            ClusterBarrier,
            /// Copy `c` bytes of local memory from offset `a` to `b`: arguments of a call; see
            /// [`copy_local`].
            CopyLocal,
            /// A barrier of the CTA; see [`barrier`].
            Barrier,
            /// Wait for the lanes that row `a` names.
            WarpSync,
            /// Matrix operation number `a`, for all 32 lanes.
            Matrix,
            /// Read the warp's clock into `dst`; 64 bits if `n` is 1.
            Clock,
            /// Call function `a` of the module; lanes that do not call skip `n` operations.
            Call,
            /// Call the function whose address row `a` holds, which must have signature `b`; lanes
            /// that do not call skip `n` operations.
            CallIndirect,
            /// The end of what follows a guarded call: lanes that skipped the call wait behind it.
            Rejoin,
            /// Save the registers of list `a` until the [`Code::RestoreRegisters`] after the call.
            SaveRegisters,
            /// Restore the registers of list `a` to their values before the call.
            RestoreRegisters,
            /// Take `a` bytes from the stack that row `b` is the top of; `dst` is where they begin.
            EnterFrame,
            /// `alloca`: row `a` bytes with alignment `c` from the stack that row `b` is the top
            /// of.
            Allocate,
            /// Call number `a` of a function of the device runtime.
            Runtime,
            /// Return where the guard is true, else enter block `b`.
            Return,
            /// Exit where the guard is true, else enter block `b`.
            Exit,
            Trap,
            /// Note how the result of the next operation moves with the CTA's place.
            Follow,
        }
    } };
}

pub(crate) use lane_operations;

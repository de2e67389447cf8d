//! The operations of matrix instructions, by the format of the factors.
//!
//! Profilers count them apart from those of threads (Nsight Compute's `sm__ops_path_tensor_*`),
//! because a warp or a warpgroup does them together.

use gpucast_ptx_frontend::isa::Opcode;
use gpucast_ptx_frontend::module::Instruction;
use gpucast_ptx_frontend::types::ScalarType;
use serde::{Deserialize, Serialize};

/// The format of the elements of A.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TensorFormat {
    /// `f64`.
    Fp64,
    /// `tf32`.
    Tf32,
    /// `bf16`.
    Bf16,
    /// `f16`.
    Fp16,
    /// `e4m3` and `e5m2`.
    Fp8,
    /// `e3m2`, `e2m3` and `e2m1`.
    Fp6OrFp4,
    /// Sixteen bits of which eleven are a magnitude and one is a sign (`.kind::ti16`).
    Int16,
    /// `s8` and `u8`.
    Int8,
    /// `s4` and `u4`.
    Int4,
    /// `b1`.
    Int1,
}

impl TensorFormat {
    /// Every format, at the place of its number.
    pub const ALL: [Self; 10] = [
        Self::Fp64,
        Self::Tf32,
        Self::Bf16,
        Self::Fp16,
        Self::Fp8,
        Self::Fp6OrFp4,
        Self::Int16,
        Self::Int8,
        Self::Int4,
        Self::Int1,
    ];

    /// The format of elements of a type.
    #[must_use]
    pub fn of(ty: ScalarType) -> Option<Self> {
        format(ty)
    }

    /// `fp16`, `int8`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fp64 => "fp64",
            Self::Tf32 => "tf32",
            Self::Bf16 => "bf16",
            Self::Fp16 => "fp16",
            Self::Fp8 => "fp8",
            Self::Fp6OrFp4 => "fp6 or fp4",
            Self::Int16 => "int16",
            Self::Int8 => "int8",
            Self::Int4 => "int4",
            Self::Int1 => "int1",
        }
    }
}

/// The operations of one warp in one execution of a matrix instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorOperations {
    /// The format of the operands.
    pub format: TensorFormat,
    /// Operations, a multiply-add being two.
    pub per_warp: u64,
}

/// The operations on one format by an instruction whose products have extents that are known when
/// they are issued (`tcgen05.mma`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProductCounts {
    /// The format of the elements of A.
    pub format: TensorFormat,
    /// Operations of all executions, a multiply-add being two.
    pub operations: u128,
}

impl ProductCounts {
    /// The key of a table of such counts.
    pub(crate) fn key(instruction: u32, format: TensorFormat) -> u32 {
        instruction * Self::FORMATS + format as u32
    }

    const FORMATS: u32 = TensorFormat::ALL.len() as u32;

    /// The instruction of a key.
    pub(crate) fn instruction_of(key: u32) -> u32 {
        key / Self::FORMATS
    }

    /// The counts of a key.
    pub(crate) fn of_key(key: u32, operations: u128) -> Self {
        Self { format: TensorFormat::ALL[(key % Self::FORMATS) as usize], operations }
    }
}

/// The operations of `instruction`, if it multiplies matrices. Those of `tcgen05.mma` are known
/// only when it is issued: [`ProductCounts`].
///
/// Of a sparse A the elements that are stored count. A warp of a warpgroup does a quarter of
/// `wgmma.mma_async`; `mma.m8n8k4` of halves is four products at once (PTX ISA 9.7.15).
#[must_use]
pub fn tensor_operations(instruction: &Instruction) -> Option<TensorOperations> {
    use Opcode as O;
    let opcode = instruction.opcode;
    let share = match opcode {
        O::WmmaMma | O::Mma | O::MmaSp | O::MmaSpOrderedMetadata => 1,
        O::WgmmaMmaAsync | O::WgmmaMmaAsyncSp => 4,
        _ => return None,
    };
    let stored = match opcode {
        O::MmaSp | O::MmaSpOrderedMetadata | O::WgmmaMmaAsyncSp => 2,
        _ => 1,
    };
    let [m, n, k] = instruction.modifiers.iter().find_map(|modifier| extents(modifier.text()))?;
    let types: Vec<ScalarType> = instruction.types().collect();
    // `wmma.mma` of halves names D and C only.
    let of_a = if types.len() < 3 { ScalarType::F16 } else { types[1] };
    let format = format(of_a)?;
    let products = if format == TensorFormat::Fp16 && [m, n, k] == [8, 8, 4] { 4 } else { 1 };
    Some(TensorOperations { format, per_warp: 2 * m * n * k * products / share / stored })
}

/// The extents that a modifier such as `m16n8k16` states.
fn extents(text: &str) -> Option<[u64; 3]> {
    let (m, rest) = text.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some([m.parse().ok()?, n.parse().ok()?, k.parse().ok()?])
}

fn format(ty: ScalarType) -> Option<TensorFormat> {
    use ScalarType as T;
    Some(match ty {
        T::F64 => TensorFormat::Fp64,
        T::Tf32 => TensorFormat::Tf32,
        T::Bf16 => TensorFormat::Bf16,
        T::F16 => TensorFormat::Fp16,
        T::E4m3 | T::E5m2 => TensorFormat::Fp8,
        T::E3m2 | T::E2m3 | T::E2m1 => TensorFormat::Fp6OrFp4,
        T::S16 => TensorFormat::Int16,
        T::S8 | T::U8 => TensorFormat::Int8,
        T::S4 | T::U4 => TensorFormat::Int4,
        T::B1 => TensorFormat::Int1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The operations of the one matrix instruction in a kernel.
    fn operations(declarations: &str, instruction: &str) -> Option<TensorOperations> {
        let text = format!(
            ".version 8.7\n.target sm_120a\n.address_size 64\n.visible .entry k() {{\n\
             .reg .b32 %a<8>, %b<8>, %d<8>, %c<8>; .reg .b64 %da, %db; .reg .pred %p; {declarations}\n\
             {instruction}\nret; }}"
        );
        let text = match instruction.starts_with("wgmma") {
            true => text.replace("sm_120a", "sm_90a"),
            false => text,
        };
        let module = gpucast_ptx_frontend::load(&text)
            .unwrap_or_else(|problems| panic!("{}\n{text}", problems[0].message));
        let body = module.functions.iter().find_map(|function| function.body.as_ref()).unwrap();
        body.instructions.iter().find_map(tensor_operations)
    }

    #[test]
    fn operations_are_twice_the_products_of_the_shape() {
        use TensorFormat as F;
        let four = "{%d0, %d1, %d2, %d3}";
        let c = "{%c0, %c1, %c2, %c3}";
        let a = "{%a0, %a1, %a2, %a3}";
        for (instruction, format, per_warp) in [
            (
                format!("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {four}, {a}, {{%b0, %b1}}, {c};"),
                F::Fp16,
                2 * 16 * 8 * 16,
            ),
            (
                format!("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {four}, {a}, {{%b0, %b1}}, {c};"),
                F::Tf32,
                2 * 16 * 8 * 8,
            ),
            (
                format!("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 {four}, {a}, {{%b0, %b1}}, {c};"),
                F::Int8,
                2 * 16 * 8 * 32,
            ),
            (
                format!("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc {four}, {a}, {{%b0, %b1}}, {c};"),
                F::Int1,
                2 * 16 * 8 * 256,
            ),
            // A half of A's columns is stored.
            (
                format!("mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.bf16.bf16.f32 {four}, {a}, {{%b0, %b1, %b2, %b3}}, {c}, %a7, 0;"),
                F::Bf16,
                16 * 8 * 32,
            ),
            // Four products of 8 x 8 x 4.
            (
                format!("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {four}, {{%a0, %a1}}, {{%b0, %b1}}, {c};"),
                F::Fp16,
                4 * 2 * 8 * 8 * 4,
            ),
            // Only D and C have types.
            (
                "wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3, %a4, %a5, %a6, %a7}, \
                 {%b0, %b1, %b2, %b3, %b4, %b5, %b6, %b7}, {%c0, %c1, %c2, %c3};".to_owned(),
                F::Fp16,
                2 * 16 * 16 * 16,
            ),
            // A quarter for each warp of 64 rows.
            (
                format!("wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e5m2 {four}, %da, %db, %p, 1, 1;"),
                F::Fp8,
                2 * 16 * 8 * 32,
            ),
        ] {
            let expected = TensorOperations { format, per_warp };
            assert_eq!(operations("", &instruction), Some(expected), "{instruction}");
        }
        assert_eq!(operations("", "add.u32 %a0, %a1, %a2;"), None);
    }
}

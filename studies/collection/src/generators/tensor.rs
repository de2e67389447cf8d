//! Products of small matrices on tensor cores.

use crate::Generator;
use crate::language::{Builder, Expression, Kernel, Type, Unroll, Variable};
use crate::variant::{Axis, Unfit, Variant};

/// A product of one warp: D = A B + D.
struct Product {
    word: &'static str,
    instruction: &'static str,
    /// Registers of a thread for D, A and B.
    registers: [usize; 3],
    accumulator: Type,
    factor: Type,
    oldest_target: u32,
    /// The last target, where the product is a feature of single architectures.
    newest_target: Option<u32>,
    /// The oldest version of the PTX ISA, where it is newer than that of the target.
    oldest_isa: Option<[u8; 2]>,
}

/// Factors that lie in registers of 32 bits.
const fn product(
    word: &'static str,
    instruction: &'static str,
    registers: [usize; 3],
    accumulator: Type,
    oldest_target: u32,
) -> Product {
    Product {
        word,
        instruction,
        registers,
        accumulator,
        factor: Type::U32,
        oldest_target,
        newest_target: None,
        oldest_isa: None,
    }
}

use Type::{F32, F64, S32, U32};

const PRODUCTS: [Product; 17] = [
    product("float16_m16n8k8", "m16n8k8.row.col.f32.f16.f16.f32", [4, 2, 1], F32, 75),
    product("float16_m16n8k16", "m16n8k16.row.col.f32.f16.f16.f32", [4, 4, 2], F32, 80),
    product("bfloat16_m16n8k16", "m16n8k16.row.col.f32.bf16.bf16.f32", [4, 4, 2], F32, 80),
    product("tfloat32_m16n8k8", "m16n8k8.row.col.f32.tf32.tf32.f32", [4, 4, 2], F32, 80),
    product("int8_m16n8k32", "m16n8k32.row.col.s32.s8.s8.s32", [4, 4, 2], S32, 80),
    Product {
        factor: F64,
        ..product("float64_m8n8k4", "m8n8k4.row.col.f64.f64.f64.f64", [2, 1, 1], F64, 80)
    },
    Product {
        oldest_isa: Some([6, 4]),
        ..product("float16_m8n8k4", "m8n8k4.row.col.f32.f16.f16.f32", [8, 2, 2], F32, 70)
    },
    Product {
        oldest_isa: Some([6, 4]),
        ..product("float16_half_m8n8k4", "m8n8k4.row.col.f16.f16.f16.f16", [4, 2, 2], U32, 70)
    },
    product("float16_half_m16n8k8", "m16n8k8.row.col.f16.f16.f16.f16", [2, 2, 1], U32, 75),
    product("float16_half_m16n8k16", "m16n8k16.row.col.f16.f16.f16.f16", [2, 4, 2], U32, 80),
    Product {
        oldest_isa: Some([8, 4]),
        ..product("float8_m16n8k32", "m16n8k32.row.col.f32.e4m3.e4m3.f32", [4, 4, 2], F32, 89)
    },
    product("int8_m8n8k16", "m8n8k16.row.col.s32.s8.s8.s32", [2, 1, 1], S32, 75),
    product("int4_m8n8k32", "m8n8k32.row.col.s32.s4.s4.s32", [2, 1, 1], S32, 75),
    product("int4_m16n8k64", "m16n8k64.row.col.s32.s4.s4.s32", [4, 4, 2], S32, 80),
    product("int1_m8n8k128", "m8n8k128.row.col.s32.b1.b1.s32.xor.popc", [2, 1, 1], S32, 75),
    Product {
        newest_target: Some(121),
        ..product(
            "float4_m16n8k32",
            "m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32",
            [4, 4, 2],
            F32,
            120,
        )
    },
    product("int1_m16n8k256", "m16n8k256.row.col.s32.b1.b1.s32.xor.popc", [4, 4, 2], S32, 80),
];

const WORDS: &[&str] = &{
    let mut words = [""; PRODUCTS.len()];
    let mut one = 0;
    while one < words.len() {
        words[one] = PRODUCTS[one].word;
        one += 1;
    }
    words
};

/// Products on tensor cores.
pub(super) const GENERATOR: Generator = Generator {
    name: "tensor_pattern",
    tags: &["tensor", "flops"],
    summary: "Products of small matrices, added to sums in turn",
    axes: &[
        Axis::words("product", "type and extent of the product", WORDS),
        Axis::numbers("sums", "sums, which do not wait for each other", &[1, 4], &[4]),
        Axis::numbers("lsize_0", "threads of a block", &[32, 64, 128, 256], &[256]),
        Axis::size("ngroups", "blocks of the grid", [1, 1], &[1024]),
        Axis::size("m", "products of a warp", [32, 32], &[512]),
    ],
    make: kernel,
};

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let word = variant.word("product")?;
    let product = PRODUCTS.iter().find(|product| product.word == word);
    let product = product.ok_or_else(|| Unfit::new(format!("there is no product {word}")))?;
    let (lsize, groups) = (variant.number("lsize_0")?, variant.number("ngroups")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    kernel.needs_target(product.oldest_target);
    if let Some(newest) = product.newest_target {
        kernel.uses_features_until(newest);
    }
    if let Some(version) = product.oldest_isa {
        kernel.needs_isa(version);
    }
    let ty = product.accumulator;
    let result = kernel.output("result", ty, groups * lsize);
    let value = kernel.name("value", kernel.thread(0).to(product.factor));
    let [sums, left, right] = product.registers;
    let number = variant.number("sums")?;
    let accumulators: Vec<Vec<Variable>> = (0..number)
        .map(|sum| {
            let zero = Expression::number(0, ty);
            (0..sums).map(|at| kernel.variable(&format!("d{sum}_{at}"), zero.clone())).collect()
        })
        .collect();
    let template = template(product);
    let factors = vec![value; left + right];
    kernel.repeat("pass", variant.number("m")? / number, Unroll::By(8), |kernel| {
        for accumulator in &accumulators {
            kernel.assembly(&template, accumulator, &factors);
        }
    });
    let all: Vec<Variable> = accumulators.concat();
    let at = kernel.thread_of_grid();
    kernel.store(&result, at, super::updates::sum(&all));
    Ok(kernel.launched([groups, 1, 1], [lsize, 1, 1]))
}

/// The instruction with numbers for its registers.
fn template(product: &Product) -> String {
    let [sums, left, right] = product.registers;
    let group = |first: usize, number: usize| {
        let names: Vec<String> = (first..first + number).map(|at| format!("${at}")).collect();
        format!("{{{}}}", names.join(", "))
    };
    format!(
        "mma.sync.aligned.{} {}, {}, {}, {}",
        product.instruction,
        group(0, sums),
        group(sums, left),
        group(sums + left, right),
        group(0, sums)
    )
}

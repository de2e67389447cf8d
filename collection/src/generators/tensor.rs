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
}

const PRODUCTS: [Product; 6] = [
    Product {
        word: "float16_m16n8k8",
        instruction: "m16n8k8.row.col.f32.f16.f16.f32",
        registers: [4, 2, 1],
        accumulator: Type::F32,
        factor: Type::U32,
        oldest_target: 75,
    },
    Product {
        word: "float16_m16n8k16",
        instruction: "m16n8k16.row.col.f32.f16.f16.f32",
        registers: [4, 4, 2],
        accumulator: Type::F32,
        factor: Type::U32,
        oldest_target: 80,
    },
    Product {
        word: "bfloat16_m16n8k16",
        instruction: "m16n8k16.row.col.f32.bf16.bf16.f32",
        registers: [4, 4, 2],
        accumulator: Type::F32,
        factor: Type::U32,
        oldest_target: 80,
    },
    Product {
        word: "tfloat32_m16n8k8",
        instruction: "m16n8k8.row.col.f32.tf32.tf32.f32",
        registers: [4, 4, 2],
        accumulator: Type::F32,
        factor: Type::U32,
        oldest_target: 80,
    },
    Product {
        word: "int8_m16n8k32",
        instruction: "m16n8k32.row.col.s32.s8.s8.s32",
        registers: [4, 4, 2],
        accumulator: Type::S32,
        factor: Type::U32,
        oldest_target: 80,
    },
    Product {
        word: "float64_m8n8k4",
        instruction: "m8n8k4.row.col.f64.f64.f64.f64",
        registers: [2, 1, 1],
        accumulator: Type::F64,
        factor: Type::F64,
        oldest_target: 80,
    },
];

const WORDS: &[&str] = &[
    "float16_m16n8k8",
    "float16_m16n8k16",
    "bfloat16_m16n8k16",
    "tfloat32_m16n8k8",
    "int8_m16n8k32",
    "float64_m8n8k4",
];

/// Products on tensor cores.
pub(super) const GENERATOR: Generator = Generator {
    name: "tensor_pattern",
    tags: &["tensor", "flops"],
    summary: "Products of small matrices, added to four sums in turn",
    axes: &[
        Axis::words("product", "type and extent of the product", WORDS),
        Axis::numbers("lsize_0", "threads of a block", &[32, 64, 128, 256], &[256]),
        Axis::size("ngroups", "blocks of the grid", [1, 1], &[1024]),
        Axis::size("m", "products of a warp", [32, 32], &[512]),
    ],
    make: kernel,
};

/// Sums that do not wait for each other.
const SUMS: usize = 4;

fn kernel(variant: &Variant) -> Result<Kernel, Unfit> {
    let word = variant.word("product")?;
    let product = PRODUCTS.iter().find(|product| product.word == word);
    let product = product.ok_or_else(|| Unfit::new(format!("there is no product {word}")))?;
    let (lsize, groups) = (variant.number("lsize_0")?, variant.number("ngroups")?);
    let mut kernel = Builder::new(GENERATOR.name, GENERATOR.summary);
    kernel.needs_target(product.oldest_target);
    let ty = product.accumulator;
    let result = kernel.output("result", ty, groups * lsize);
    let value = kernel.name("value", kernel.thread(0).to(product.factor));
    let [sums, left, right] = product.registers;
    let accumulators: Vec<Vec<Variable>> = (0..SUMS)
        .map(|sum| {
            let zero = Expression::number(0, ty);
            (0..sums).map(|one| kernel.variable(&format!("d{sum}_{one}"), zero.clone())).collect()
        })
        .collect();
    let template = template(product);
    let factors = vec![value; left + right];
    kernel.repeat("pass", variant.number("m")? / SUMS as u64, Unroll::By(8), |kernel| {
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
        let names: Vec<String> = (first..first + number).map(|one| format!("${one}")).collect();
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

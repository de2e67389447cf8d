//! Tensor cores: multiply-adds in a clock by the type of the factors.

use super::{CLOCKS, Parameter, RATE, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, Products};

/// A rate with its products, the widest first.
macro_rules! rate {
    ($field:literal, $kernel:literal, $products:expr) => {
        Parameter::field($field, RATE, $kernel, |bench| rate(bench, &$products))
    };
}

pub(super) const ALL: &[Parameter] = &[
    rate!("tensor_rate", "tensor_pattern of halves, summed in single precision", HALF_IN_SINGLE),
    rate!("tensor_half_rate", "tensor_pattern of halves, summed in halves", HALF_IN_HALF),
    rate!("tensor_tf32_rate", "tensor_pattern of tf32", [TF32]),
    rate!("tensor_fp64_rate", "tensor_pattern of doubles", [FP64]),
    rate!("tensor_fp8_rate", "tensor_pattern of e4m3", [FP8]),
    rate!("tensor_fp4_rate", "tensor_pattern of e2m1", [FP4]),
    rate!("tensor_int8_rate", "tensor_pattern of bytes", INT8),
    rate!("tensor_int4_rate", "tensor_pattern of four-bit integers", INT4),
    rate!("tensor_int1_rate", "tensor_pattern of bits", INT1),
    Parameter::field(
        "tensor_latency",
        CLOCKS,
        "tensor_pattern of one warp with one sum, less the clocks of the multiply-adds",
        latency,
    ),
    Parameter::field(
        "tensor_queue",
        "entry",
        "wgmma of one warpgroup before a chain of multiply-adds, by the number of products",
        queue,
    ),
];

/// A product of the generator.
#[derive(Clone, Copy)]
struct Product {
    word: &'static str,
    /// Multiply-adds of a warp.
    multiply_adds: f64,
    oldest: u32,
    /// The last target whose tensor cores have it; later ones do it by other instructions.
    newest: u32,
}

const fn product(word: &'static str, multiply_adds: u32, oldest: u32) -> Product {
    Product { word, multiply_adds: multiply_adds as f64, oldest, newest: u32::MAX }
}

const HALF_IN_SINGLE: [Product; 3] = [
    product("float16_m16n8k16", 16 * 8 * 16, 80),
    product("float16_m16n8k8", 16 * 8 * 8, 75),
    // Four products of 8 × 8 × 4 by a warp.
    product("float16_m8n8k4", 4 * 8 * 8 * 4, 70),
];
const HALF_IN_HALF: [Product; 3] = [
    product("float16_half_m16n8k16", 16 * 8 * 16, 80),
    product("float16_half_m16n8k8", 16 * 8 * 8, 75),
    product("float16_half_m8n8k4", 4 * 8 * 8 * 4, 70),
];
const TF32: Product = product("tfloat32_m16n8k8", 16 * 8 * 8, 80);
const FP64: Product = product("float64_m8n8k4", 8 * 8 * 4, 80);
const FP8: Product = product("float8_m16n8k32", 16 * 8 * 32, 89);
const FP4: Product = Product { newest: 121, ..product("float4_m16n8k32", 16 * 8 * 32, 120) };
const INT8: [Product; 2] =
    [product("int8_m16n8k32", 16 * 8 * 32, 80), product("int8_m8n8k16", 8 * 8 * 16, 75)];
const INT4: [Product; 2] = [
    Product { newest: 89, ..product("int4_m16n8k64", 16 * 8 * 64, 80) },
    Product { newest: 89, ..product("int4_m8n8k32", 8 * 8 * 32, 75) },
];
const INT1: [Product; 2] = [
    Product { newest: 89, ..product("int1_m16n8k256", 16 * 8 * 256, 80) },
    Product { newest: 89, ..product("int1_m8n8k128", 8 * 8 * 128, 75) },
];

/// The first product that the device has.
fn fitting(bench: &Bench<'_>, products: &[Product]) -> Result<Product, MeasureError> {
    let facts = bench.facts();
    let target = facts.major * 10 + facts.minor;
    let fits = |one: &&Product| (one.oldest..=one.newest).contains(&target);
    products.iter().find(fits).copied().ok_or_else(|| {
        MeasureError::unfit(format!("tensor cores of sm_{target} have no such product"))
    })
}

fn rate(bench: &mut Bench<'_>, products: &[Product]) -> Result<f64, MeasureError> {
    const WARPS_OF_BLOCK: f64 = 8.0;
    let product = fitting(bench, products)?;
    let Product { word, multiply_adds, .. } = product;
    let blocks = super::blocks(bench);
    let sizes = Sizes { smaller: 256, larger: 768 };
    let clocks = bench.clocks(sizes, How::default(), |m| {
        kernels::of_tags(&format!(
            "tensor_pattern product:{word} sums:4 lsize_0:256 ngroups:{blocks} m:{m}"
        ))
    })?;
    Ok(super::BLOCKS_OF_SM as f64 * WARPS_OF_BLOCK * multiply_adds / clocks)
}

fn latency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let product = fitting(bench, &HALF_IN_SINGLE)?;
    let rate = figure_of(bench, "tensor_rate")? / bench.capability("sub_partitions")?;
    let Product { word, multiply_adds, .. } = product;
    let sizes = Sizes { smaller: 256, larger: 768 };
    let clocks = bench.clocks(sizes, How::default(), |m| {
        kernels::of_tags(&format!(
            "tensor_pattern product:{word} sums:1 lsize_0:32 ngroups:1 m:{m}"
        ))
    })?;
    Ok(clocks - multiply_adds / rate)
}

/// The products that a warpgroup begins without waiting for one of them.
///
/// A chain behind the products takes longer than those in the queue. So a pass is the chain and the
/// wait for a place in the queue: for all products but those that the queue holds, and for the
/// latency of the one whose place it takes.
fn queue(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    const FEW: u32 = 8;
    const MANY: u32 = 24;
    const CHAIN: u64 = 512;
    let mut clocks = |number: u32, multiply_adds| {
        // Longer than a launch takes.
        let smaller = match (number, multiply_adds) {
            (_, 1..) => 8,
            (0, _) => 4096,
            _ => (256 / u64::from(number)).max(32),
        };
        let sizes = Sizes { smaller, larger: 3 * smaller };
        bench.clocks(sizes, How::default(), |passes| {
            Ok(kernels::asynchronous_products(Products { number, multiply_adds, passes }))
        })
    };
    let interval = (clocks(MANY, 0)? - clocks(FEW, 0)?) / f64::from(MANY - FEW);
    let latency = clocks(1, 0)? - clocks(0, 0)? - interval;
    let (one, many) = (clocks(1, CHAIN)?, clocks(MANY, CHAIN)?);
    let chain = 2.0 * (one - clocks(1, CHAIN / 2)?);
    // Entries are whole.
    let queue = (f64::from(MANY) - (many - one - latency) / interval).round();
    if queue * interval > chain {
        return Err(MeasureError::unfit(format!(
            "products in the queue may take {:.0} clocks, and the chain takes {chain:.0}",
            queue * interval
        )));
    }
    Ok(queue)
}

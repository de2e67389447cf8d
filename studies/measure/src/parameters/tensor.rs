//! Tensor cores: multiply-adds in a clock by the type of the factors.

use super::{CLOCKS, Parameter, RATE, figure_of};
use crate::bench::{Bench, How, Sizes};
use crate::error::MeasureError;
use crate::kernels::{self, Format, Products, Sms, TensorMemoryProducts, Transfer};

/// A rate with its products, the widest first, and with that of tensor memory.
macro_rules! rate {
    ($field:literal, $kernel:literal, $products:expr, $format:expr) => {
        Parameter::field($field, RATE, $kernel, |bench| rate(bench, &$products, $format))
    };
}

pub(super) const ALL: &[Parameter] = &[
    rate!(
        "tensor_rate",
        "tensor_pattern of halves, summed in single precision (10.x, 11.0: tcgen05.mma)",
        HALF_IN_SINGLE,
        Some(in_memory("f16", 16, SINGLE, 0))
    ),
    rate!(
        "tensor_half_rate",
        "tensor_pattern of halves, summed in halves (10.x, 11.0: tcgen05.mma)",
        HALF_IN_HALF,
        Some(in_memory("f16", 16, HALF, 0))
    ),
    rate!(
        "tensor_tf32_rate",
        "tensor_pattern of tf32 (10.x, 11.0: tcgen05.mma)",
        [TF32],
        Some(in_memory("tf32", 8, SINGLE, 2))
    ),
    rate!("tensor_fp64_rate", "tensor_pattern of doubles", [FP64], None),
    rate!(
        "tensor_fp8_rate",
        "tensor_pattern of e4m3 (10.x, 11.0: tcgen05.mma)",
        [FP8],
        Some(in_memory("f8f6f4", 32, SINGLE, 0))
    ),
    rate!(
        "tensor_fp4_rate",
        "tensor_pattern of e2m1 (10.x, 11.0: tcgen05.mma)",
        [FP4],
        Some(in_memory("f8f6f4", 32, SINGLE, 5))
    ),
    rate!(
        "tensor_scaled_fp4_rate",
        "tcgen05.mma of e2m1 with scales of blocks",
        [],
        Some(Format {
            is_scaled: true,
            ..in_memory("mxf4.block_scale.scale_vec::2X", 64, SINGLE, 1)
        })
    ),
    rate!(
        "tensor_int8_rate",
        "tensor_pattern of bytes (10.x, 11.0: tcgen05.mma)",
        INT8,
        Some(in_memory("i8", 32, WHOLE, 1))
    ),
    rate!("tensor_int4_rate", "tensor_pattern of four-bit integers", INT4, None),
    rate!("tensor_int1_rate", "tensor_pattern of bits", INT1, None),
    Parameter::field(
        "tensor_latency",
        CLOCKS,
        "tensor_pattern of one warp with one sum, less the clocks of the multiply-adds",
        latency,
    ),
    Parameter::field(
        "tensor_queue",
        "entry",
        "wgmma (10.x, 11.0: tcgen05.mma) before a chain of multiply-adds, by the number of products",
        queue,
    ),
    Parameter::field(
        "tensor_memory_latency",
        CLOCKS,
        "one tcgen05.mma that is awaited, less the clocks of its factor and of its sum",
        memory_latency,
    ),
    Parameter::field(
        "tensor_pair_latency",
        CLOCKS,
        "one tcgen05.mma of a pair of blocks that is awaited, less that of one block",
        pair_latency,
    ),
    Parameter::field("tensor_memory_read_rate", RATE, "tcgen05.ld by four warps", |bench| {
        transfer_rate(bench, Transfer::Load)
    }),
    Parameter::field("tensor_memory_write_rate", RATE, "tcgen05.st by four warps", |bench| {
        transfer_rate(bench, Transfer::Store)
    }),
];

/// Codes of sums in the descriptor of `tcgen05.mma` (PTX ISA, tables 42 and 43).
const HALF: u64 = 0;
const SINGLE: u64 = 1;
const WHOLE: u64 = 2;

const fn in_memory(kind: &'static str, depth: u64, sum: u64, factor: u64) -> Format {
    Format { kind, depth, sum, factor, is_scaled: false }
}

/// True if the device has tensor memory. Its tensor cores reach their rates with sums there, and
/// not by `mma.sync`.
fn has_tensor_memory(bench: &Bench<'_>) -> bool {
    bench.capability("tensor_memory_columns").is_ok()
}

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
    let target = facts.compute_capability.sm();
    let fits = |one: &&Product| (one.oldest..=one.newest).contains(&target);
    products.iter().find(fits).copied().ok_or_else(|| {
        MeasureError::unfit(format!("tensor cores of sm_{target} have no such product"))
    })
}

fn rate(
    bench: &mut Bench<'_>,
    products: &[Product],
    in_memory: Option<Format>,
) -> Result<f64, MeasureError> {
    const WARPS_OF_BLOCK: f64 = 8.0;
    if let Some(format) = in_memory.filter(|_| has_tensor_memory(bench)) {
        return Ok(format.multiply_adds() as f64 / clocks_in_memory(bench, format, Sms::One)?);
    }
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

/// Clocks of a product in tensor memory behind others.
fn clocks_in_memory(bench: &mut Bench<'_>, format: Format, sms: Sms) -> Result<f64, MeasureError> {
    let passes = Sizes { smaller: 8, larger: 24 };
    bench.clocks_of_copy([4, 12], passes, |number, passes| {
        let products = TensorMemoryProducts { format, sms, number, multiply_adds: 0, passes };
        Ok(kernels::tensor_memory_products(products))
    })
}

/// Halves, summed in single precision.
const HALVES: Format = in_memory("f16", 16, SINGLE, 0);

/// A product that is awaited, less its clocks behind others, less those that shared memory needs
/// for the first factor, and less the mbarrier's latency. A commit without products tells the rest.
fn memory_latency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let one = awaited_clocks(bench, Sms::One, 1)? - awaited_clocks(bench, Sms::One, 0)?;
    let factor = (kernels::ROWS * kernels::ROW_BYTES) as f64;
    let loading = factor / figure_of(bench, "shared_bytes_rate")?;
    let awaiting = figure_of(bench, "mbarrier_latency")?;
    Ok(one - clocks_in_memory(bench, HALVES, Sms::One)? - loading - awaiting)
}

/// What a product of a pair takes longer until it is told, without what it takes longer behind
/// others.
fn pair_latency(bench: &mut Bench<'_>) -> Result<f64, MeasureError> {
    let mut rest = |sms| -> Result<f64, MeasureError> {
        Ok(awaited_clocks(bench, sms, 1)? - clocks_in_memory(bench, HALVES, sms)?)
    };
    let (pair, one) = (rest(Sms::Pair)?, rest(Sms::One)?);
    Ok(pair - one)
}

/// Clocks of a pass of so many products, which waits for the last one.
fn awaited_clocks(bench: &mut Bench<'_>, sms: Sms, number: u32) -> Result<f64, MeasureError> {
    let passes = Sizes { smaller: 64, larger: 192 };
    bench.clocks(passes, How::default(), |passes| {
        let products =
            TensorMemoryProducts { format: HALVES, sms, number, multiply_adds: 0, passes };
        Ok(kernels::tensor_memory_products(products))
    })
}

/// Bytes of an SM in a clock between tensor memory and registers.
fn transfer_rate(bench: &mut Bench<'_>, transfer: Transfer) -> Result<f64, MeasureError> {
    const WARPS: f64 = 4.0;
    let passes = Sizes { smaller: 64, larger: 192 };
    let clocks = bench.clocks_of_copy([8, 24], passes, |number, passes| {
        Ok(kernels::transfers(transfer, number, passes))
    })?;
    Ok(WARPS * kernels::TRANSFER_BYTES as f64 / clocks)
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
    let is_in_memory = has_tensor_memory(bench);
    let mut clocks = |number: u32, multiply_adds| {
        // Longer than a launch takes.
        let smaller = match (number, multiply_adds) {
            (_, 1..) => 8,
            (0, _) => 4096,
            _ => (256 / u64::from(number)).max(32),
        };
        let sizes = Sizes { smaller, larger: 3 * smaller };
        bench.clocks(sizes, How::default(), |passes| {
            Ok(match is_in_memory {
                true => kernels::tensor_memory_products(TensorMemoryProducts {
                    format: HALVES,
                    sms: Sms::One,
                    number,
                    multiply_adds,
                    passes,
                }),
                false => kernels::asynchronous_products(Products { number, multiply_adds, passes }),
            })
        })
    };
    let interval = (clocks(MANY, 0)? - clocks(FEW, 0)?) / f64::from(MANY - FEW);
    let latency = clocks(1, 0)? - clocks(0, 0)? - interval;
    let (one, many) = (clocks(1, CHAIN)?, clocks(MANY, CHAIN)?);
    let chain = 2.0 * (one - clocks(1, CHAIN / 2)?);
    // A product in tensor memory leaves the queue when it begins, and one is under way then.
    let left = if is_in_memory {
        (many - one) / interval + 1.0
    } else {
        (many - one - latency) / interval
    };
    // Entries are whole.
    let queue = (f64::from(MANY) - left).round();
    if queue * interval > chain {
        return Err(MeasureError::unfit(format!(
            "products in the queue may take {:.0} clocks, and the chain takes {chain:.0}",
            queue * interval
        )));
    }
    Ok(queue)
}

//! Copies and products that run beside a warp, and what waits for them.

use gpucast_collection::language::{Builder, Contents, Expression, Kernel, Type, Unroll, Variable};

/// Bytes of a copy.
const COPY_BYTES: u64 = 16;

/// What waits for the copies of [`awaited_copies`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waiter {
    /// An mbarrier, at which the copies arrive.
    Mbarrier,
    /// The group of the copies. The same instructions on the mbarrier run beside the copy.
    Group,
}

/// How a kernel copies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Copies {
    pub(crate) waiter: Waiter,
    /// Bytes from the source of a copy to that of the next, round and round in `bytes`.
    pub(crate) stride: u64,
    pub(crate) bytes: u64,
    /// Copies in the loop.
    pub(crate) number: u32,
    pub(crate) passes: u64,
    /// The target has `mbarrier.try_wait`, which came with `sm_90`.
    pub(crate) tries: bool,
}

/// Copies of one thread to shared memory, each of which is waited for.
pub(crate) fn awaited_copies(copies: Copies) -> Kernel {
    let Copies { waiter, stride, bytes, number, passes, tries } = copies;
    let mut kernel = Builder::new("awaited_copies", "Copies to shared memory, each waited for");
    kernel.needs_target(if tries { 90 } else { 80 });
    kernel.needs_isa([7, 8]);
    let source = kernel.input("in", Type::U64, bytes / 8, Contents::Zero);
    kernel.shared("tile", Type::U64, COPY_BYTES / 8);
    kernel.shared("barrier", Type::U64, 1);
    let zero = Expression::number(0, Type::U32);
    let [tile, barrier, parity] =
        ["to", "arrivals", "parity"].map(|name| kernel.variable(name, zero.clone()));
    kernel.assembly("mov.u32 $0, tile", &[tile], &[]);
    kernel.assembly("mov.u32 $0, barrier", &[barrier], &[]);
    kernel.assembly("mbarrier.init.shared.b64 [$0], 1", &[], &[barrier.into()]);
    // The first element holds the address of the one that is `stride` bytes behind it.
    let first = kernel.load("first", &source, Expression::number(0, Type::S32));
    let base = kernel.name("base", first - stride);
    let offset = kernel.variable("offset", Expression::number(0, Type::U64));
    let wait = if tries { "try_wait" } else { "test_wait" };
    let wait = |label: &str| format!("{label}: mbarrier.{wait}.parity.shared.b64 done, [$2], $3; ");
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for copy in 0..number {
            let label = format!("WAIT_{copy}");
            let wait = wait(&label);
            let begin = "cp.async.cg.shared.global [$1], [$0], 16; ";
            let end = format!("@!done bra {label}");
            let text = match waiter {
                Waiter::Mbarrier => {
                    format!("{begin}cp.async.mbarrier.arrive.noinc.shared.b64 [$2]; {wait}{end}")
                }
                Waiter::Group => format!(
                    "{begin}mbarrier.arrive.shared.b64 _, [$2]; {wait}\
                     cp.async.commit_group; cp.async.wait_group 0; {end}"
                ),
            };
            let from = base.clone() + Expression::from(offset);
            let operands = [from, tile.into(), barrier.into(), parity.into()];
            kernel.assembly(&format!("{{ .reg .pred done; {text}; }}"), &[], &operands);
            kernel.assembly("xor.b32 $0, $0, 1", &[parity], &[]);
            kernel.assign(offset, (Expression::from(offset) + stride).masked(bytes - 1));
        }
    });
    kernel.launched([1, 1, 1], [1, 1, 1])
}

/// Products of a warpgroup that run beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Products {
    /// Products that are begun behind each other.
    pub(crate) number: u32,
    /// Multiply-adds of each thread that follow them and wait for each other.
    pub(crate) multiply_adds: u64,
    pub(crate) passes: u64,
}

/// Columns of such a product.
const COLUMNS: u64 = 64;

/// Products of one warpgroup, arithmetic behind them, and a wait for all.
pub(crate) fn asynchronous_products(products: Products) -> Kernel {
    const WARPGROUP: u64 = 128;
    /// Bytes of core matrices of 8 × 8 halves, and of two such beside each other.
    const CORE: u64 = 128;
    const PAIR: u64 = 2 * CORE;
    let Products { number, multiply_adds, passes } = products;
    let mut kernel = Builder::new("asynchronous_products", "Products beside their warps");
    kernel.needs_target(90);
    kernel.uses_features_until(90);
    kernel.needs_isa([8, 0]);
    let result = kernel.output("result", Type::F32, WARPGROUP);
    kernel.shared("tile", Type::U32, COLUMNS / 8 * PAIR / 4);
    let descriptor = kernel.variable("descriptor", Expression::number(0, Type::U64));
    // The address and both distances are in units of 16 bytes (PTX manual, matrix descriptor).
    let distances = (CORE / 16) << 16 | (PAIR / 16) << 32;
    let text = format!(
        "{{ .reg .b32 place; mov.u32 place, tile; cvt.u64.u32 $0, place; shr.u64 $0, $0, 4; \
         or.b64 $0, $0, {distances}; }}"
    );
    kernel.assembly(&text, &[descriptor], &[]);
    let sums: Vec<Variable> = (0..COLUMNS / 2)
        .map(|at| kernel.variable(&format!("d{at}"), Expression::number(0, Type::F32)))
        .collect();
    let names: Vec<String> = (0..sums.len()).map(|at| format!("${at}")).collect();
    let product = format!(
        "wgmma.mma_async.sync.aligned.m64n{COLUMNS}k16.f32.f16.f16 {{{}}}, ${}, ${}, 1, 1, 1, 0, 0",
        names.join(", "),
        sums.len(),
        sums.len()
    );
    let number_of_thread = kernel.thread(0).to(Type::F32);
    let value = kernel.variable("value", number_of_thread);
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        kernel.assembly("wgmma.fence.sync.aligned", &[], &[]);
        for _ in 0..number {
            kernel.assembly(&product, &sums, &[descriptor.into()]);
        }
        kernel.assembly("wgmma.commit_group.sync.aligned", &[], &[]);
        super::chain_behind(kernel, value, multiply_adds);
        kernel.assembly("wgmma.wait_group.sync.aligned 0", &[], &[]);
    });
    let total = sums.iter().fold(value.into(), |sum: Expression, &one| sum + Expression::from(one));
    let place = kernel.thread(0);
    kernel.store(&result, place, total);
    kernel.launched([1, 1, 1], [WARPGROUP, 1, 1])
}

//! Products whose sums are in tensor memory, and transfers between it and registers (`tcgen05`).

use gpucast_collection::language::{Builder, Expression, Kernel, Type, Unroll, Variable};

/// Threads of a warp.
const WARP: u64 = 32;

/// Rows of a product: the lanes of tensor memory.
pub(crate) const ROWS: u64 = 128;

/// Columns of a product's sum.
const COLUMNS: u64 = 256;

/// Columns of tensor memory that the block has: the sum, and scales behind it.
const ALLOCATED: u64 = 512;

/// Bytes of a row of a factor, of every format (PTX ISA, `tcgen05.mma`, shapes).
pub(crate) const ROW_BYTES: u64 = 32;

/// Bytes of eight rows of 16 bytes: a core matrix.
const CORE: u64 = 128;

/// Bytes of the two core matrices of eight rows.
const PAIR: u64 = 2 * CORE;

/// A format of the factors and of the sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Format {
    /// `.kind` with what follows it.
    pub(crate) kind: &'static str,
    /// Elements of a row.
    pub(crate) depth: u64,
    /// Codes of the sum and of the factors in the instruction's descriptor (PTX ISA, tables 42 to
    /// 44).
    pub(crate) sum: u64,
    pub(crate) factor: u64,
    /// True if the factors have scales.
    pub(crate) is_scaled: bool,
}

impl Format {
    /// Multiply-adds of a product.
    pub(crate) const fn multiply_adds(self) -> u64 {
        ROWS * COLUMNS * self.depth
    }

    /// The descriptor of the instruction.
    const fn descriptor(self, sms: Sms) -> u64 {
        /// Scales are powers of two.
        const POWERS_OF_TWO: u64 = 1 << 23;
        let scales = if self.is_scaled { POWERS_OF_TWO } else { self.sum << 4 };
        // Scaled products have their rows in other bits, and both hold 128 of them there.
        let rows = ROWS * sms.number();
        scales | self.factor << 7 | self.factor << 10 | (COLUMNS / 8) << 17 | (rows / 16) << 24
    }
}

/// The SMs that multiply together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sms {
    One,
    /// Two blocks of a cluster. Each holds half of the rows of both factors, and the sum of its own
    /// rows. The first one multiplies.
    Pair,
}

impl Sms {
    const fn number(self) -> u64 {
        match self {
            Self::One => 1,
            Self::Pair => 2,
        }
    }
}

/// Products of one warp, and a chain that waits for none of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorMemoryProducts {
    pub(crate) format: Format,
    pub(crate) sms: Sms,
    /// Products of a pass.
    pub(crate) number: u32,
    /// Multiply-adds of the chain behind them.
    pub(crate) multiply_adds: u64,
    pub(crate) passes: u64,
}

/// Passes of products of 128 × 256 for each SM by one thread, which then waits for all of them.
pub(crate) fn tensor_memory_products(products: TensorMemoryProducts) -> Kernel {
    let TensorMemoryProducts { format, sms, number, multiply_adds, passes } = products;
    let mut kernel = Builder::new("tensor_memory_products", "Products in tensor memory");
    let memory = allocate(&mut kernel, sms);
    let result = kernel.output("result", Type::F32, WARP * sms.number());
    kernel.shared("tile", Type::U32, (ROWS + COLUMNS) * ROW_BYTES / 4);
    kernel.shared("barrier", Type::U64, 1);
    let [barrier, parity] =
        ["arrivals", "parity"].map(|name| kernel.variable(name, Expression::number(0, Type::U32)));
    let [rows, columns] =
        ["rows", "columns"].map(|name| kernel.variable(name, Expression::number(0, Type::U64)));
    kernel.assembly("mov.u32 $0, barrier", &[barrier], &[]);
    // Addresses and both distances are in units of 16 bytes (PTX ISA, table 40).
    let distances = (CORE / 16) << 16 | (PAIR / 16) << 32 | 1 << 46;
    for (descriptor, offset) in [(rows, 0), (columns, ROWS * ROW_BYTES)] {
        let text = format!(
            "{{ .reg .b32 place; mov.u32 place, tile; add.u32 place, place, {offset}; \
             cvt.u64.u32 $0, place; shr.u64 $0, $0, 4; or.b64 $0, $0, {distances}; }}"
        );
        kernel.assembly(&text, &[descriptor], &[]);
    }
    let first = kernel.thread_of_grid().equals(Expression::number(0, Type::S32));
    let first = kernel.name("first", first);
    kernel.when(first.clone(), |kernel| {
        kernel.assembly("mbarrier.init.shared.b64 [$0], 1", &[], &[barrier.into()]);
    });
    meet(&mut kernel, sms);
    let scales = if format.is_scaled { ", [$0 + 256], [$0 + 288]" } else { "" };
    let group = sms.number();
    let product = format!(
        "{{ .reg .pred adds; setp.eq.u32 adds, 0, 0; \
         tcgen05.mma.cta_group::{group}.kind::{} [$0], $1, $2, {}{scales}, adds; }}",
        format.kind,
        format.descriptor(sms)
    );
    let wait = format!(
        "{{ .reg .pred done; tcgen05.commit.cta_group::{group}.mbarrier::arrive::one.\
         shared::cluster.b64 [$1]; WAIT: mbarrier.try_wait.parity.shared.b64 done, [$1], $0; \
         @!done bra WAIT; xor.b32 $0, $0, 1; }}"
    );
    let number_of_thread = kernel.thread(0).to(Type::F32);
    let value = kernel.variable("value", number_of_thread);
    kernel.when(first, |kernel| {
        kernel.repeat("pass", passes, Unroll::No, |kernel| {
            for _ in 0..number {
                let operands = [memory.into(), rows.into(), columns.into()];
                kernel.assembly(&product, &[], &operands);
            }
            super::chain_behind(kernel, value, multiply_adds);
            kernel.assembly(&wait, &[parity], &[barrier.into()]);
        });
    });
    meet(&mut kernel, sms);
    free(&mut kernel, memory, sms);
    let place = kernel.thread_of_grid();
    kernel.store(&result, place, value.into());
    kernel.launched([sms.number(), 1, 1], [WARP, 1, 1])
}

/// A barrier of all threads that multiply together.
fn meet(kernel: &mut Builder, sms: Sms) {
    match sms {
        Sms::One => kernel.barrier(),
        Sms::Pair => {
            let both = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned";
            kernel.assembly(both, &[], &[]);
        }
    }
}

/// The way of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transfer {
    /// From tensor memory to registers.
    Load,
    /// From registers to tensor memory.
    Store,
}

/// Bytes of a warp's transfer: 32 columns of 32 lanes.
pub(crate) const TRANSFER_BYTES: u64 = 32 * WARP * 4;

/// Transfers of four warps, each of its own quarter of tensor memory: `number` in a pass.
pub(crate) fn transfers(transfer: Transfer, number: u32, passes: u64) -> Kernel {
    const WARPS: u64 = 4;
    const REGISTERS: u64 = 32;
    let mut kernel = Builder::new("tensor_memory_transfers", "Transfers of tensor memory");
    let memory = allocate(&mut kernel, Sms::One);
    let result = kernel.output("result", Type::U32, WARPS * WARP);
    let thread = kernel.thread(0);
    let values: Vec<Variable> = (0..REGISTERS)
        .map(|at| kernel.variable(&format!("v{at}"), thread.clone().to(Type::U32) + at))
        .collect();
    let quarter =
        kernel.variable("quarter", thread.clone().to(Type::U32).masked((WARPS - 1) * WARP));
    // Lanes are in the upper half of an address.
    kernel.assembly("shl.b32 $0, $0, 16", &[quarter], &[]);
    kernel.assembly("add.u32 $0, $0, $1", &[quarter], &[memory.into()]);
    let names: Vec<String> = (0..values.len()).map(|at| format!("${at}")).collect();
    let (list, place) = (names.join(", "), values.len());
    let (text, wait) = match transfer {
        Transfer::Load => {
            (format!("tcgen05.ld.sync.aligned.32x32b.x32.b32 {{{list}}}, [${place}]"), "ld")
        }
        Transfer::Store => {
            (format!("tcgen05.st.sync.aligned.32x32b.x32.b32 [${place}], {{{list}}}"), "st")
        }
    };
    kernel.assembly(&text, &values, &[quarter.into()]);
    kernel.repeat("pass", passes, Unroll::No, |kernel| {
        for _ in 0..number {
            kernel.assembly(&text, &values, &[quarter.into()]);
        }
        kernel.assembly(&format!("tcgen05.wait::{wait}.sync.aligned"), &[], &[]);
    });
    kernel.barrier();
    free(&mut kernel, memory, Sms::One);
    let zero = Expression::number(0, Type::U32);
    let total = values.iter().fold(zero, |sum, &one| sum + Expression::from(one));
    kernel.store(&result, thread, total);
    kernel.launched([1, 1, 1], [WARPS * WARP, 1, 1])
}

/// The first warp allocates tensor memory. Returns its address.
fn allocate(kernel: &mut Builder, sms: Sms) -> Variable {
    if sms == Sms::Pair {
        kernel.in_clusters(2);
    }
    kernel.needs_target(100);
    kernel.uses_features_until(110);
    kernel.needs_isa([8, 8]);
    kernel.shared("where", Type::U32, 1);
    let memory = kernel.variable("memory", Expression::number(0, Type::U32));
    let by_warp = of_first_warp(&format!(
        "tcgen05.alloc.cta_group::{}.sync.aligned.shared::cta.b32 [where], {ALLOCATED}",
        sms.number()
    ));
    kernel.assembly(&by_warp, &[], &[]);
    kernel.barrier();
    kernel.assembly("ld.shared.u32 $0, [where]", &[memory], &[]);
    memory
}

fn free(kernel: &mut Builder, memory: Variable, sms: Sms) {
    let text = of_first_warp(&format!(
        "tcgen05.dealloc.cta_group::{}.sync.aligned.b32 $0, {ALLOCATED}",
        sms.number()
    ));
    kernel.assembly(&text, &[], &[memory.into()]);
}

/// An instruction of the first warp alone.
fn of_first_warp(instruction: &str) -> String {
    format!(
        "{{ .reg .pred first; .reg .b32 thread; mov.u32 thread, %tid.x; \
         setp.lt.u32 first, thread, {WARP}; @first {instruction}; }}"
    )
}

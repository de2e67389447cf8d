//! Thread-instructions per second of three small kernels: `cargo bench -p gpucast-interpreter`.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot run should stop")]

use divan::Bencher;
use divan::counter::ItemsCount;
use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, NoObserver, Options, Program, Silent, run,
};

fn main() {
    divan::main();
}

/// A tile of C = A x B in shared memory, 16 x 16 threads, 64 steps of 16.
const SGEMM: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c)
{
    .reg .b32 %tx, %ty, %ra, %rb, %k, %j, %t, %sa, %sb, %row, %col;
    .reg .f32 %acc, %x<16>, %y<16>;
    .reg .b64 %pa, %pb, %pc, %q;
    .reg .pred %p;
    .shared .align 16 .b8 as[1024];
    .shared .align 16 .b8 bs[1024];
    ld.param.u64 %pa, [a];
    ld.param.u64 %pb, [b];
    ld.param.u64 %pc, [c];
    mov.u32 %tx, %tid.x;
    mov.u32 %ty, %tid.y;
    mov.u32 %t, %ctaid.y;
    mad.lo.u32 %row, %t, 16, %ty;
    mov.u32 %t, %ctaid.x;
    mad.lo.u32 %col, %t, 16, %tx;
    mad.lo.u32 %ra, %row, 1024, %tx;
    mul.wide.u32 %q, %ra, 4;
    add.u64 %pa, %pa, %q;
    mad.lo.u32 %rb, %ty, 1024, %col;
    mul.wide.u32 %q, %rb, 4;
    add.u64 %pb, %pb, %q;
    mad.lo.u32 %t, %row, 1024, %col;
    mul.wide.u32 %q, %t, 4;
    add.u64 %pc, %pc, %q;
    mov.u32 %sa, as;
    mov.u32 %sb, bs;
    mad.lo.u32 %t, %ty, 16, %tx;
    mad.lo.u32 %ra, %t, 4, %sa;
    mad.lo.u32 %rb, %t, 4, %sb;
    mad.lo.u32 %sa, %ty, 64, %sa;
    mad.lo.u32 %sb, %tx, 4, %sb;
    mov.f32 %acc, 0f00000000;
    mov.u32 %k, 0;
LOOP:
    ld.global.f32 %x0, [%pa];
    ld.global.f32 %y0, [%pb];
    st.shared.f32 [%ra], %x0;
    st.shared.f32 [%rb], %y0;
    bar.sync 0;
INNER
    bar.sync 0;
    add.u64 %pa, %pa, 64;
    add.u64 %pb, %pb, 65536;
    add.u32 %k, %k, 1;
    setp.lt.u32 %p, %k, 64;
    @%p bra LOOP;
    st.global.f32 [%pc], %acc;
    ret;
}
";

/// Integer and floating-point arithmetic on registers alone.
const ALU: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %i, %a, %b, %c, %k;
    .reg .f32 %x, %y;
    .reg .b64 %p;
    .reg .pred %q;
    mov.u32 %i, %tid.x;
    cvt.rn.f32.u32 %x, %i;
    mov.f32 %y, 0f3F000000;
    mov.u32 %a, %i;
    mov.u32 %k, 0;
LOOP:
    mad.lo.u32 %a, %a, 1664525, %i;
    shr.u32 %b, %a, 7;
    xor.b32 %a, %a, %b;
    fma.rn.f32 %x, %x, %y, %y;
    add.f32 %x, %x, %y;
    and.b32 %c, %a, 255;
    add.u32 %i, %i, %c;
    add.u32 %k, %k, 1;
    setp.lt.u32 %q, %k, 2000;
    @%q bra LOOP;
    ld.param.u64 %p, [out];
    mul.wide.u32 %p, %c, 0;
    ret;
}
";

/// Loads and stores 128 bytes apart in neighbouring lanes.
const STRIDED: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %i, %k, %x;
    .reg .b64 %p, %at;
    .reg .pred %q;
    mov.u32 %i, %tid.x;
    ld.param.u64 %p, [out];
    mad.wide.u32 %at, %i, 128, %p;
    mov.u32 %k, 0;
LOOP:
    ld.global.u32 %x, [%at];
    add.u32 %x, %x, 1;
    st.global.u32 [%at], %x;
    add.u32 %k, %k, 1;
    setp.lt.u32 %q, %k, 1000;
    @%q bra LOOP;
    ret;
}
";

/// Warp-level matrix products of registers, four chains of them.
const MATRIX: &str = r"
.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out)
{
    .reg .b32 %a<4>, %b<2>, %k;
    .reg .f32 %w<4>, %x<4>, %y<4>, %z<4>;
    .reg .pred %q;
    mov.u32 %k, 0;
LOOP:
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%w0, %w1, %w2, %w3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%w0, %w1, %w2, %w3};
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%x0, %x1, %x2, %x3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%x0, %x1, %x2, %x3};
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%y0, %y1, %y2, %y3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%y0, %y1, %y2, %y3};
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%z0, %z1, %z2, %z3}, {%a0, %a1, %a2, %a3}, {%b0, %b1}, {%z0, %z1, %z2, %z3};
    add.u32 %k, %k, 1;
    setp.lt.u32 %q, %k, 1000;
    @%q bra LOOP;
    ret;
}
";

/// Run a kernel again and again; items are thread-instructions.
fn bench(bencher: Bencher<'_, '_>, text: &str, grid: [u32; 3], block: [u32; 3], bytes: u64) {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, "k").unwrap();
    let mut memory = DeviceMemory::new();
    let arguments = program.parameters().iter();
    let arguments = arguments
        .map(|parameter| Argument::Address(memory.allocate(&parameter.name, bytes).unwrap()))
        .collect();
    let launch = Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments };
    let mut once = || {
        run(&program, &launch, &mut memory, &mut NoObserver, &Options::default(), &Silent).unwrap()
    };
    let lanes = u64::try_from(once().issued_lanes).unwrap();
    bencher.counter(ItemsCount::new(lanes)).bench_local(once);
}

#[divan::bench(max_time = 5)]
fn sgemm(bencher: Bencher<'_, '_>) {
    let inner: String = (0..16)
        .map(|step| {
            format!(
                "    ld.shared.f32 %x{step}, [%sa+{}];\n    ld.shared.f32 %y{step}, [%sb+{}];\n    \
                 fma.rn.f32 %acc, %x{step}, %y{step}, %acc;\n",
                4 * step,
                64 * step
            )
        })
        .collect();
    bench(bencher, &SGEMM.replace("INNER\n", &inner), [4, 4, 1], [16, 16, 1], 4 << 20);
}

#[divan::bench(max_time = 5)]
fn arithmetic(bencher: Bencher<'_, '_>) {
    bench(bencher, ALU, [16, 1, 1], [256, 1, 1], 4096);
}

/// Items are warp-level products of 16 by 8 by 16.
#[divan::bench(max_time = 5)]
fn matrix_registers(bencher: Bencher<'_, '_>) {
    let module = gpucast_ptx_frontend::load(MATRIX).unwrap();
    let program = Program::new(&module, MATRIX, "k").unwrap();
    let launch = Launch {
        grid: [4, 1, 1],
        block: [128, 1, 1],
        dynamic_shared_bytes: 0,
        cluster: None,
        arguments: vec![Argument::Address(0)],
    };
    let mut memory = DeviceMemory::new();
    bencher.counter(ItemsCount::new(4 * 4 * 4000u32)).bench_local(|| {
        run(
            &program,
            &launch,
            &mut memory,
            &mut NoObserver,
            &Options::default(),
            &gpucast_interpreter::Silent,
        )
        .unwrap()
    });
}

/// A product of matrices of halves, 512 by 512 by 512, through shared memory and `ldmatrix`; items
/// are warp-level products of 16 by 8 by 16.
#[divan::bench(max_time = 5)]
fn matrix_kernel(bencher: Bencher<'_, '_>) {
    const N: u32 = 512;
    let text = include_str!("../tests/kernels/mma.ptx");
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, "product_f16").unwrap();
    let mut memory = DeviceMemory::new();
    let mut buffer =
        |name, bytes: u32| Argument::Address(memory.allocate(name, u64::from(bytes)).unwrap());
    let mut arguments =
        vec![buffer("a", 2 * N * N), buffer("b", 2 * N * N), buffer("c", 4 * N * N)];
    arguments.push(Argument::Bytes(N.to_le_bytes().to_vec()));
    let grid = [N / 64, N / 64, 1];
    let launch =
        Launch { grid, block: [128, 1, 1], cluster: None, dynamic_shared_bytes: 0, arguments };
    bencher.counter(ItemsCount::new(N / 16 * N / 8 * N / 16)).bench_local(|| {
        run(
            &program,
            &launch,
            &mut memory,
            &mut NoObserver,
            &Options::default(),
            &gpucast_interpreter::Silent,
        )
        .unwrap()
    });
}

#[divan::bench(max_time = 5)]
fn strided(bencher: Bencher<'_, '_>) {
    bench(bencher, STRIDED, [16, 1, 1], [256, 1, 1], 1 << 20);
}

//! Tiles and words of shared memory: an order of tiles that lies there has no product computed,
//! and a slice that takes one for the other is given up.

use gpucast_interpreter::{Buffers, Options, Program, Slicer, Treatment};

use super::{Case, Compared, arbitrary};

/// A warp fetches the tile that the first of its words names, multiplies it, and keeps the product
/// in shared memory beside the words. `$WORDS` fetches the words, and `$NEXT` is what decides next.
const KERNEL: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry order(.param .u64 tiles, .param .u64 orders, .param .u64 out)
{
    .shared .align 128 .b8 tile[512];
    .shared .align 128 .b8 words[128];
    .shared .align 8 .b64 full;
    .reg .b32 %r<20>;
    .reg .b64 %rd<10>;
    .reg .f32 %f<8>;
    .reg .pred %p<4>;
    ld.param.u64 %rd1, [tiles];
    ld.param.u64 %rd2, [orders];
    ld.param.u64 %rd3, [out];
    mov.u32 %r1, %tid.x;
    setp.ne.u32 %p1, %r1, 0;
    mov.u32 %r2, full;
    mov.u32 %r3, tile;
    mov.u32 %r4, words;
    shl.b32 %r5, %r1, 2;
    add.u32 %r6, %r4, %r5;
    @%p1 bra READY;
    mbarrier.init.shared.b64 [%r2], 1;
READY:
    bar.sync 0;
    $WORDS
    bar.sync 0;
    ld.shared.u32 %r7, [%r4];
    and.b32 %r7, %r7, 3;
    mul.wide.u32 %rd5, %r7, 512;
    add.u64 %rd6, %rd1, %rd5;
    @%p1 bra FETCHED;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd6], 512, [%r2];
FETCHED:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r2], $PARITY;
    @!%p2 bra FETCHED;
    shl.b32 %r8, %r1, 4;
    add.u32 %r9, %r3, %r8;
    ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, [%r9];
    mov.f32 %f1, 0f00000000;
    mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
        {%f2, %f3, %f4, %f5}, {%r10, %r11, %r12, %r13}, {%r10, %r11}, {%f1, %f1, %f1, %f1};
    bar.sync 0;
    st.shared.v2.f32 [%r9], {%f2, %f3};
    bar.sync 0;
    $NEXT
    and.b32 %r14, %r14, 31;
    mad.lo.u32 %r14, %r14, 32, %r1;
    mul.wide.u32 %rd7, %r14, 4;
    add.u64 %rd8, %rd3, %rd7;
    ld.shared.f32 %f6, [%r9];
    st.global.f32 [%rd8], %f6;
    ret;
}
";

const STORED: &str = "
    mul.wide.u32 %rd4, %r1, 4;
    add.u64 %rd4, %rd2, %rd4;
    ld.global.u32 %r7, [%rd4];
    st.shared.u32 [%r6], %r7;";

const COPIED: &str = "
    @%p1 bra COPIED;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd2], 128, [%r2];
COPIED:
    mbarrier.try_wait.parity.shared.b64 %p2, [%r2], 0;
    @!%p2 bra COPIED;";

const BY_WORD: &str = "ld.shared.u32 %r14, [%r4+4];";
const BY_PRODUCT: &str = "ld.shared.u32 %r14, [%r3];";

fn text(words: &str, next: &str) -> String {
    let parity = if words == COPIED { "1" } else { "0" };
    KERNEL.replace("$WORDS", words).replace("$NEXT", next).replace("$PARITY", parity)
}

fn compared(text: &str) -> Compared {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, "order").unwrap();
    let (buffers, planned) = arbitrary(&program, 7);
    let launches = vec![super::Planned { block: [32, 1, 1], ..planned }];
    let case = Case { text, module: &module, buffers, launches, options: Options::default() };
    case.compare().unwrap()
}

/// The instructions of a kind that a slice computes, and all of them.
fn computed(text: &str, mnemonic: &str) -> (usize, usize) {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, "order").unwrap();
    let slicer = Slicer::new(&module, &program);
    let slice = slicer.slice(&slicer.distinct(), &Buffers::default());
    let lines: Vec<&str> = text.lines().collect();
    let those = program
        .instructions()
        .iter()
        .zip(&slice.treatments)
        .filter(|(one, _)| lines[one.line as usize - 1].trim_start().starts_with(mnemonic));
    let treatments: Vec<Treatment> = those.map(|(_, treatment)| *treatment).collect();
    (treatments.iter().filter(|one| one.computes()).count(), treatments.len())
}

#[test]
fn an_order_of_tiles_has_no_tile_moved_and_no_product_computed() {
    let text = text(STORED, BY_WORD);
    for (mnemonic, expected) in [
        ("cp.async.bulk", (0, 1)),
        ("ldmatrix", (0, 1)),
        ("mma", (0, 1)),
        ("st.shared.v2", (0, 1)),
        ("st.shared.u32", (1, 1)),
    ] {
        assert_eq!(computed(&text, mnemonic), expected, "{mnemonic}");
    }
    let compared = compared(&text);
    assert!(!compared.guessed_wrongly && !compared.fell_back, "{compared:?}");
}

#[test]
fn words_that_a_copy_brings_and_products_that_decide_are_noticed() {
    for (words, next) in [(COPIED, BY_WORD), (STORED, BY_PRODUCT), (COPIED, BY_PRODUCT)] {
        let compared = compared(&text(words, next));
        assert!(compared.guessed_wrongly && !compared.fell_back, "{words} {next} {compared:?}");
    }
}

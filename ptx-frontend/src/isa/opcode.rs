//! The mnemonics.

use std::fmt;

use super::names::Names;

macro_rules! opcodes {
    ($($variant:ident $text:literal)+) => {
        /// A mnemonic. One variant for each word, or words, that names an instruction in the
        /// manual; the words that may follow are [`Modifier`](super::Modifier)s.
        #[allow(missing_docs, reason = "the variants are the mnemonics")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Opcode { $($variant),+ }

        impl Opcode {
            /// Every mnemonic, in the order of the enumeration.
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            const TEXTS: &'static [&'static str] = &[$($text),+];
        }
    };
}

opcodes! {
    // Integer and extended-precision arithmetic (manual, sections 9.7.1 and 9.7.2).
    Add "add" Sub "sub" Mul "mul" Mad "mad" Mul24 "mul24" Mad24 "mad24" Sad "sad" Div "div"
    Rem "rem" Abs "abs" Neg "neg" Min "min" Max "max" Popc "popc" Clz "clz" Bfind "bfind"
    Fns "fns" Brev "brev" Bfe "bfe" Bfi "bfi" Szext "szext" Bmsk "bmsk" Dp4a "dp4a"
    Dp2a "dp2a" Addc "addc" Subc "subc" Madc "madc"
    Clmad "clmad"
    // Floating point (9.7.3 to 9.7.5).
    Testp "testp" Copysign "copysign" Fma "fma" Rcp "rcp" Sqrt "sqrt" Rsqrt "rsqrt" Sin "sin"
    Cos "cos" Lg2 "lg2" Ex2 "ex2" Tanh "tanh"
    // Comparison and selection (9.7.6, 9.7.7).
    Set "set" Setp "setp" Selp "selp" Slct "slct"
    // Logic and shifts (9.7.8).
    And "and" Or "or" Xor "xor" Not "not" Cnot "cnot" Lop3 "lop3" Shf "shf" Shl "shl" Shr "shr"
    // Data movement and conversion (9.7.9).
    Mov "mov" Shfl "shfl" Prmt "prmt" Ld "ld" Ldu "ldu" St "st" StAsync "st.async"
    StBulk "st.bulk" MultimemLdReduce "multimem.ld_reduce" MultimemSt "multimem.st"
    MultimemRed "multimem.red" MultimemStAsync "multimem.st.async"
    MultimemRedAsync "multimem.red.async" MultimemCpAsyncBulk "multimem.cp.async.bulk"
    MultimemCpReduceAsyncBulk "multimem.cp.reduce.async.bulk"
    Prefetch "prefetch" Prefetchu "prefetchu" Applypriority "applypriority"
    ApplypriorityAsyncBulk "applypriority.async.bulk"
    ApplypriorityAsyncBulkTensor "applypriority.async.bulk.tensor" Discard "discard"
    Createpolicy "createpolicy" Isspacep "isspacep" Cvta "cvta" Cvt "cvt" CvtPack "cvt.pack"
    Mapa "mapa" Getctarank "getctarank"
    // Asynchronous copies (9.7.9.25 to 9.7.9.28).
    CpAsync "cp.async" CpAsyncCommitGroup "cp.async.commit_group"
    CpAsyncWaitGroup "cp.async.wait_group" CpAsyncWaitAll "cp.async.wait_all"
    CpAsyncMbarrierArrive "cp.async.mbarrier.arrive" CpAsyncBulk "cp.async.bulk"
    CpReduceAsyncBulk "cp.reduce.async.bulk" CpAsyncBulkPrefetch "cp.async.bulk.prefetch"
    CpAsyncBulkTensor "cp.async.bulk.tensor" CpReduceAsyncBulkTensor "cp.reduce.async.bulk.tensor"
    CpAsyncBulkPrefetchTensor "cp.async.bulk.prefetch.tensor"
    CpAsyncBulkCommitGroup "cp.async.bulk.commit_group"
    CpAsyncBulkWaitGroup "cp.async.bulk.wait_group"
    TensormapReplace "tensormap.replace" TensormapCpFenceproxy "tensormap.cp_fenceproxy"
    Spcompress "spcompress" Spdecompress "spdecompress"
    // Copies over the fabric between GPUs (ISA 9.4, 9.7.11).
    FabricTryGet "fabric.try_get.async" FabricTryPut "fabric.try_put.async"
    FabricTryRed "fabric.try_red.async" FabricTryPullred "fabric.try_pullred.async"
    FabricTryAtom "fabric.try_atom.async" FabricTryGetTensor "fabric.try_get.async.tensor"
    FabricTryPutTensor "fabric.try_put.async.tensor"
    FabricTryRedTensor "fabric.try_red.async.tensor" FabricSubmit "fabric.submit"
    FabricSubmitCommitGroup "fabric.submit.commit_group" FabricWait "fabric.wait"
    // Textures and surfaces (9.7.10, 9.7.11).
    Tex "tex" Tld4 "tld4" Txq "txq" Istypep "istypep" Suld "suld" Sust "sust" Sured "sured"
    Suq "suq"
    // Control flow (9.7.12).
    Bra "bra" BrxIdx "brx.idx" Call "call" Ret "ret" Exit "exit"
    // Parallel synchronisation and communication (9.7.13).
    Bar "bar" BarWarp "bar.warp" Barrier "barrier" BarrierCluster "barrier.cluster"
    Membar "membar" Fence "fence" Atom "atom" Red "red" RedAsync "red.async" Vote "vote"
    Match "match" Activemask "activemask" Redux "redux" Griddepcontrol "griddepcontrol"
    Elect "elect" MbarrierInit "mbarrier.init" MbarrierInval "mbarrier.inval"
    MbarrierExpectTx "mbarrier.expect_tx" MbarrierCompleteTx "mbarrier.complete_tx"
    MbarrierArrive "mbarrier.arrive" MbarrierArriveDrop "mbarrier.arrive_drop"
    MbarrierTestWait "mbarrier.test_wait" MbarrierTryWait "mbarrier.try_wait"
    MbarrierPendingCount "mbarrier.pending_count" MbarrierCheckLayout "mbarrier.check_layout"
    ClusterlaunchcontrolTryCancel "clusterlaunchcontrol.try_cancel"
    ClusterlaunchcontrolQueryCancel "clusterlaunchcontrol.query_cancel"
    // Warp-level matrices (9.7.14).
    WmmaLoad "wmma.load" WmmaStore "wmma.store" WmmaMma "wmma.mma" Mma "mma" MmaSp "mma.sp"
    MmaSpOrderedMetadata "mma.sp::ordered_metadata"
    Ldmatrix "ldmatrix" Stmatrix "stmatrix" Movmatrix "movmatrix"
    // Warpgroup-level matrices (9.7.15).
    WgmmaMmaAsync "wgmma.mma_async" WgmmaMmaAsyncSp "wgmma.mma_async.sp"
    WgmmaFence "wgmma.fence" WgmmaCommitGroup "wgmma.commit_group"
    WgmmaWaitGroup "wgmma.wait_group"
    // Fifth-generation tensor cores (9.7.16).
    Tcgen05Alloc "tcgen05.alloc" Tcgen05Dealloc "tcgen05.dealloc"
    Tcgen05RelinquishAllocPermit "tcgen05.relinquish_alloc_permit" Tcgen05Ld "tcgen05.ld"
    Tcgen05LdRed "tcgen05.ld.red" Tcgen05LdSpcompress "tcgen05.ld.spcompress"
    Tcgen05LdRedSpcompress "tcgen05.ld.red.spcompress" Tcgen05St "tcgen05.st" Tcgen05WaitLd "tcgen05.wait::ld"
    Tcgen05WaitSt "tcgen05.wait::st"
    Tcgen05Cp "tcgen05.cp" Tcgen05Shift "tcgen05.shift" Tcgen05Mma "tcgen05.mma"
    Tcgen05MmaSp "tcgen05.mma.sp" Tcgen05MmaWs "tcgen05.mma.ws" Tcgen05MmaWsSp "tcgen05.mma.ws.sp"
    Tcgen05FenceBeforeThreadSync "tcgen05.fence::before_thread_sync"
    Tcgen05FenceAfterThreadSync "tcgen05.fence::after_thread_sync" Tcgen05Commit "tcgen05.commit"
    // Stack (9.7.17).
    Stacksave "stacksave" Stackrestore "stackrestore" Alloca "alloca"
    // Video (9.7.18).
    Vadd "vadd" Vsub "vsub" Vabsdiff "vabsdiff" Vmin "vmin" Vmax "vmax" Vshl "vshl" Vshr "vshr"
    Vmad "vmad" Vset "vset" Vadd2 "vadd2" Vsub2 "vsub2" Vavrg2 "vavrg2" Vabsdiff2 "vabsdiff2"
    Vmin2 "vmin2" Vmax2 "vmax2" Vset2 "vset2" Vadd4 "vadd4" Vsub4 "vsub4" Vavrg4 "vavrg4"
    Vabsdiff4 "vabsdiff4" Vmin4 "vmin4" Vmax4 "vmax4" Vset4 "vset4"
    // Miscellaneous (9.7.19).
    Brkpt "brkpt" Nanosleep "nanosleep" Pmevent "pmevent" Trap "trap" Setmaxnreg "setmaxnreg"
    TraceMark "trace.mark"
}

impl Opcode {
    /// The mnemonic as it is written, which may be several words (`mbarrier.init`).
    #[must_use]
    pub fn text(self) -> &'static str {
        Self::TEXTS.get(self as usize).copied().unwrap_or_default()
    }

    /// The mnemonic that begins `text`, and its length in bytes.
    ///
    /// `text` is a dotted word as it stands in the source; where several mnemonics fit, the
    /// longest wins, so that `bar.warp.sync` is `bar.warp` and not `bar`.
    #[must_use]
    pub fn from_prefix(text: &str) -> Option<(Self, usize)> {
        let head = text.split('.').next().unwrap_or_default();
        let candidates = NAMES.get_all(head);
        candidates
            .iter()
            .map(|&index| Self::ALL[index as usize])
            .filter(|opcode| {
                let rest = text.strip_prefix(opcode.text());
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
            .max_by_key(|opcode| opcode.text().len())
            .map(|opcode| (opcode, opcode.text().len()))
    }

    /// Returns true if control never reaches the next instruction when this one executes unguarded.
    #[must_use]
    pub const fn ends_block_unconditionally(self) -> bool {
        matches!(self, Self::Bra | Self::BrxIdx | Self::Ret | Self::Exit | Self::Trap)
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

/// Mnemonics by their first word.
static NAMES: std::sync::LazyLock<Names> = std::sync::LazyLock::new(|| {
    Names::new(Opcode::TEXTS.iter().map(|text| text.split('.').next().unwrap_or_default()))
});

//! The modifiers: everything that may follow a mnemonic after a dot.

use std::fmt;

use super::names::Names;
use crate::types::{ScalarType, StateSpace};

impl ScalarType {
    /// The type as it is written, without the dot.
    #[must_use]
    pub fn text(self) -> &'static str {
        Modifier::of_type(self).text()
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.text())
    }
}

macro_rules! modifiers {
    (
        types { $($ty:ident $ty_text:literal)+ }
        spaces { $($space:ident $space_text:literal => $space_is:ident)+ }
        others { $($other:ident $other_text:literal)+ }
    ) => {
        /// A modifier of an instruction, without its leading dot.
        ///
        /// Types and state spaces are modifiers too: see [`Modifier::as_type`] and
        /// [`Modifier::as_space`].
        #[allow(missing_docs, reason = "the variants are the modifiers' own names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Modifier { $($ty,)+ $($space,)+ $($other,)+ }

        impl Modifier {
            /// Every modifier, in the order of the enumeration.
            pub const ALL: &'static [Self] =
                &[$(Self::$ty,)+ $(Self::$space,)+ $(Self::$other,)+];

            const TEXTS: &'static [&'static str] =
                &[$($ty_text,)+ $($space_text,)+ $($other_text,)+];

            /// The type that this modifier names.
            #[must_use]
            pub const fn as_type(self) -> Option<ScalarType> {
                match self {
                    $(Self::$ty => Some(ScalarType::$ty),)+
                    _ => None,
                }
            }

            /// The state space that this modifier names; `shared::cluster` is
            /// [`StateSpace::Shared`].
            #[must_use]
            pub const fn as_space(self) -> Option<StateSpace> {
                match self {
                    $(Self::$space => Some(StateSpace::$space_is),)+
                    _ => None,
                }
            }

            /// The modifier that names `ty`.
            #[must_use]
            pub const fn of_type(ty: ScalarType) -> Self {
                match ty {
                    $(ScalarType::$ty => Self::$ty,)+
                }
            }
        }
    };
}

modifiers! {
    types {
        U8 "u8" U16 "u16" U32 "u32" U64 "u64" S8 "s8" S16 "s16" S32 "s32" S64 "s64" B8 "b8"
        B16 "b16" B32 "b32" B64 "b64" B128 "b128" F16 "f16" F16x2 "f16x2" Bf16 "bf16"
        Bf16x2 "bf16x2" Tf32 "tf32" F32 "f32" F32x2 "f32x2" F64 "f64" U16x2 "u16x2"
        S16x2 "s16x2" U8x4 "u8x4" S8x4 "s8x4" U4 "u4" S4 "s4" U2 "u2" S2 "s2" B1 "b1"
        E4m3 "e4m3" E5m2 "e5m2"
        E4m3x2 "e4m3x2" E5m2x2 "e5m2x2" E4m3x4 "e4m3x4" E5m2x4 "e5m2x4" E3m2 "e3m2" E2m3 "e2m3"
        E2m1 "e2m1" E3m2x2 "e3m2x2" E2m3x2 "e2m3x2" E2m1x2 "e2m1x2" E3m2x4 "e3m2x4"
        E2m3x4 "e2m3x4" E2m1x4 "e2m1x4" E2m1p4x4 "e2m1p4x4" Ue8m0 "ue8m0"
        Ue8m0x2 "ue8m0x2" Ue8m0x4 "ue8m0x4" Ue5m3x2 "ue5m3x2" S2f6x2 "s2f6x2" Ue4m3 "ue4m3"
        B4x16 "b4x16" B4x16P64 "b4x16_p64" B6x16P32 "b6x16_p32" Pred "pred"
        Texref "texref" Samplerref "samplerref" Surfref "surfref"
    }
    spaces {
        Reg "reg" => Reg
        Sreg "sreg" => Sreg
        Const "const" => Const
        Global "global" => Global
        Local "local" => Local
        Param "param" => Param
        ParamEntry "param::entry" => Param
        ParamFunc "param::func" => Param
        Shared "shared" => Shared
        SharedCta "shared::cta" => Shared
        SharedCluster "shared::cluster" => Shared
    }
    others {
        // Rounding, saturation and other arithmetic modes.
        Rn "rn" Rz "rz" Rm "rm" Rp "rp" Rna "rna" Rs "rs" Rni "rni" Rzi "rzi" Rmi "rmi" Rpi "rpi"
        Ftz "ftz" Noftz "noftz" Sat "sat" Satfinite "satfinite" Relu "relu" Approx "approx"
        Full "full" Cc "cc" Lo "lo" Hi "hi" Wide "wide" Oob "oob" Nan "NaN"
        ScaledN1Ue8m0 "scaled::n1::ue8m0" ScaledN2Ue8m0 "scaled::n2::ue8m0"
        PositiveZero "pzo"
        XorSign "xorsign" Shiftamt "shiftamt" Clamp "clamp" Wrap "wrap" L "l" R "r"
        // Comparisons; `lo` and `hi` stand above.
        Eq "eq" Ne "ne" Lt "lt" Le "le" Gt "gt" Ge "ge" Ls "ls" Hs "hs" Equ "equ" Neu "neu"
        Ltu "ltu" Leu "leu" Gtu "gtu" Geu "geu" Num "num" IsNan "nan"
        // Number classes of testp.
        Finite "finite" Infinite "infinite" Number "number" Notanumber "notanumber"
        Normal "normal" Subnormal "subnormal"
        // Operations of atom, red, set, bar.red, redux, vote and the video instructions.
        And "and" Or "or" Xor "xor" Add "add" Inc "inc" Dec "dec" Min "min" Max "max" Cas "cas"
        Exch "exch" Popc "popc" Abs "abs"
        // Warp instructions.
        Sync "sync" Up "up" Down "down" Bfly "bfly" Idx "idx" All "all" Any "any" Uni "uni"
        Ballot "ballot"
        // Byte permutation.
        F4e "f4e" B4e "b4e" Rc8 "rc8" Ecl "ecl" Ecr "ecr" Rc16 "rc16"
        // Vectors and matrix counts.
        V2 "v2" V4 "v4" V8 "v8" X1 "x1" X2 "x2" X4 "x4" X8 "x8" X16 "x16" X32 "x32" X64 "x64"
        X128 "x128"
        // Memory: ordering, scope, cache operators and hints.
        Weak "weak" Volatile "volatile" Relaxed "relaxed" Acquire "acquire" Release "release"
        AcqRel "acq_rel" Sc "sc" Mmio "mmio" Cta "cta" Cluster "cluster" Gpu "gpu" Sys "sys"
        Gl "gl" Nc "nc" Ca "ca" Cg "cg" Cs "cs" Lu "lu" Cv "cv" Wb "wb" Wt "wt"
        Unified "unified" L1 "L1" L2 "L2" L1EvictNormal "L1::evict_normal"
        L1EvictUnchanged "L1::evict_unchanged" L1EvictFirst "L1::evict_first"
        L1EvictLast "L1::evict_last" L1NoAllocate "L1::no_allocate"
        L2EvictNormal "L2::evict_normal" L2EvictFirst "L2::evict_first"
        L2EvictLast "L2::evict_last" L2EvictUnchanged "L2::evict_unchanged"
        L2CacheHint "L2::cache_hint" L2Size64B "L2::64B" L2Size128B "L2::128B"
        L2Size256B "L2::256B" L1Size32B "L1::32B" ValidAddr "valid_addr"
        ProxyReadonly "proxy::readonly" Range "range" Fractional "fractional" Cvt "cvt" To "to"
        Tensormap "tensormap" CpMask "cp_mask"
        // Barriers and fences.
        Arrive "arrive" Red "red" Aligned "aligned" Wait "wait" Proxy "proxy" Alias "alias"
        Async "async" TensormapGeneric "tensormap::generic"
        AsyncGeneric "async::generic" MbarrierInit "mbarrier_init"
        SyncRestrictSharedCluster "sync_restrict::shared::cluster"
        SyncRestrictSharedClusterRead "sync_restrict::shared::cluster::read"
        SyncRestrictSharedCta "sync_restrict::shared::cta"
        SyncRestrictSharedReadMmaA "sync_restrict::shared::read::mma::a"
        GenericFabric "generic::fabric" FabricGeneric "fabric::generic"
        FabricFabric "fabric::fabric" LayoutV0 "layout::v0" LayoutV1 "layout::v1"
        PhaseTypePrimary "phase_type::primary" PhaseTypeConditional "phase_type::conditional"
        ExpectTx "expect_tx" NoComplete "noComplete" NoInc "noinc" Parity "parity"
        LaunchDependents "launch_dependents"
        // Asynchronous copies.
        BulkGroup "bulk_group" Read "read"
        MbarrierCompleteTxBytes "mbarrier::complete_tx::bytes"
        MbarrierArriveOne "mbarrier::arrive::one" MulticastCluster "multicast::cluster"
        MulticastClusterAll "multicast::cluster::all"
        MulticastCluster16b "multicast::cluster::16b" MulticastCluster32b "multicast::cluster::32b"
        IgnoreOob "ignore_oob" ReportDisabled "mbarrier::report::disabled"
        ReportPer16Bytes80000000 "mbarrier::report::validity::per_16bytes::80000000"
        ReportPer16Bytes8000 "mbarrier::report::validity::per_16bytes::8000"
        ReportPer16Bytes80 "mbarrier::report::validity::per_16bytes::80"
        ReportPer16Bytes8 "mbarrier::report::validity::per_16bytes::8"
        ReportPerElementFf "mbarrier::report::validity::per_element::ff"
        OverrideGlobalAddress "override::global_address"
        OverrideGlobalDim "override::global_dim"
        OverrideGlobalDimStride "override::global_dim_stride"
        // Copies over the fabric between GPUs.
        Fabric "fabric" Multimem "multimem" MbarrierCompleteTx16B "mbarrier::complete_tx::16B"
        MbarrierReportFabric "mbarrier::report::fabric" CountedBytes "counted::bytes"
        OpRestrictFetching "op_restrict::fetching" SyncRestrictRead "sync_restrict::read"
        SyncRestrictReads "sync_restrict::reads"
        // Structured sparsity: the stored elements, the elements they are chosen from, and the
        // width of an index.
        Sp1Of2 "sp::1:2" Sp1Of4 "sp::1:4" Sp1Of8 "sp::1:8" Sp1Of16 "sp::1:16" Sp2Of4 "sp::2:4"
        Sp2Of8 "sp::2:8" Sp2Of16 "sp::2:16" Sp4Of8 "sp::4:8" Sp4Of16 "sp::4:16" IndexB2 "b2"
        IndexB4 "b4"
        D1 "1d" D2 "2d" D3 "3d" D4 "4d" D5 "5d"
        Tile "tile" TileGather4 "tile::gather4" TileScatter4 "tile::scatter4" Im2col "im2col"
        Im2colW "im2col::w" Im2colW128 "im2col::w::128" Im2colNoOffs "im2col_no_offs"
        Im2colNoOffsW "im2col_no_offs::w"
        CtaGroup1 "cta_group::1" CtaGroup2 "cta_group::2" B1024 "b1024"
        GlobalAddress "global_address" Rank "rank" BoxDim "box_dim" GlobalDim "global_dim"
        GlobalStride "global_stride" ElementStride "element_stride" Elemtype "elemtype"
        InterleaveLayout "interleave_layout" SwizzleMode "swizzle_mode"
        SwizzleAtomicity "swizzle_atomicity" FillMode "fill_mode" IsCanceled "is_canceled"
        GetFirstCtaid "get_first_ctaid" GetFirstCtaidX "get_first_ctaid::x"
        GetFirstCtaidY "get_first_ctaid::y" GetFirstCtaidZ "get_first_ctaid::z"
        AccF32 "acc::f32" AccF16 "acc::f16"
        // Textures and surfaces.
        A1d "a1d" A2d "a2d" Cube "cube" Acube "acube" D2ms "2dms" A2dms "a2dms" Base "base"
        Level "level" Grad "grad" ComponentG "g" ComponentB "b" ComponentA "a" Formatted "p"
        Trap "trap" Zero "zero" Width "width" Height "height" Depth "depth"
        ChannelDataType "channel_data_type" ChannelOrder "channel_order"
        NormalizedCoords "normalized_coords" ArraySize "array_size"
        NumMipmapLevels "num_mipmap_levels" NumSamples "num_samples"
        ForceUnnormalizedCoords "force_unnormalized_coords" FilterMode "filter_mode"
        AddrMode0 "addr_mode_0" AddrMode1 "addr_mode_1" AddrMode2 "addr_mode_2"
        MemoryLayout "memory_layout"
        // Matrices.
        Row "row" Col "col" MatrixD "d" MatrixC "c" Trans "trans" BlockScale "block_scale"
        ScaleVec1x "scale_vec::1X" ScaleVec2x "scale_vec::2X" ScaleVec4x "scale_vec::4X"
        Block16 "block16" Block32 "block32" KindF16 "kind::f16" KindTf32 "kind::tf32"
        KindI8 "kind::i8" KindTi16 "kind::ti16" KindF8f6f4 "kind::f8f6f4" KindMxf8f6f4 "kind::mxf8f6f4"
        KindMxf4 "kind::mxf4" KindMxf4nvf4 "kind::mxf4nvf4" B8x16 "b8x16"
        M8n8 "m8n8" M8n16 "m8n16" M16n8 "m16n8" M16n16 "m16n16" M8n8k4 "m8n8k4"
        M8n8k16 "m8n8k16" M8n8k32 "m8n8k32" M8n8k128 "m8n8k128" M8n32k16 "m8n32k16"
        M16n8k4 "m16n8k4" M16n8k8 "m16n8k8" M16n8k16 "m16n8k16" M16n8k32 "m16n8k32"
        M16n8k64 "m16n8k64" M16n8k128 "m16n8k128" M16n8k256 "m16n8k256" M16n16k8 "m16n16k8"
        M16n16k16 "m16n16k16" M32n8k16 "m32n8k16"
        // Warpgroup shapes: m64, n a multiple of 8, k set by the element type.
        M64n8k8 "m64n8k8" M64n16k8 "m64n16k8" M64n24k8 "m64n24k8" M64n32k8 "m64n32k8"
        M64n40k8 "m64n40k8" M64n48k8 "m64n48k8" M64n56k8 "m64n56k8" M64n64k8 "m64n64k8"
        M64n72k8 "m64n72k8" M64n80k8 "m64n80k8" M64n88k8 "m64n88k8" M64n96k8 "m64n96k8"
        M64n104k8 "m64n104k8" M64n112k8 "m64n112k8" M64n120k8 "m64n120k8"
        M64n128k8 "m64n128k8" M64n136k8 "m64n136k8" M64n144k8 "m64n144k8"
        M64n152k8 "m64n152k8" M64n160k8 "m64n160k8" M64n168k8 "m64n168k8"
        M64n176k8 "m64n176k8" M64n184k8 "m64n184k8" M64n192k8 "m64n192k8"
        M64n200k8 "m64n200k8" M64n208k8 "m64n208k8" M64n216k8 "m64n216k8"
        M64n224k8 "m64n224k8" M64n232k8 "m64n232k8" M64n240k8 "m64n240k8"
        M64n248k8 "m64n248k8" M64n256k8 "m64n256k8"
        M64n8k16 "m64n8k16" M64n16k16 "m64n16k16" M64n24k16 "m64n24k16" M64n32k16 "m64n32k16"
        M64n40k16 "m64n40k16" M64n48k16 "m64n48k16" M64n56k16 "m64n56k16" M64n64k16
        "m64n64k16" M64n72k16 "m64n72k16" M64n80k16 "m64n80k16" M64n88k16 "m64n88k16"
        M64n96k16 "m64n96k16" M64n104k16 "m64n104k16" M64n112k16 "m64n112k16" M64n120k16
        "m64n120k16" M64n128k16 "m64n128k16" M64n136k16 "m64n136k16" M64n144k16 "m64n144k16"
        M64n152k16 "m64n152k16" M64n160k16 "m64n160k16" M64n168k16 "m64n168k16" M64n176k16
        "m64n176k16" M64n184k16 "m64n184k16" M64n192k16 "m64n192k16" M64n200k16 "m64n200k16"
        M64n208k16 "m64n208k16" M64n216k16 "m64n216k16" M64n224k16 "m64n224k16" M64n232k16
        "m64n232k16" M64n240k16 "m64n240k16" M64n248k16 "m64n248k16" M64n256k16 "m64n256k16"
        M64n8k32 "m64n8k32" M64n16k32 "m64n16k32" M64n24k32 "m64n24k32" M64n32k32 "m64n32k32"
        M64n40k32 "m64n40k32" M64n48k32 "m64n48k32" M64n56k32 "m64n56k32" M64n64k32
        "m64n64k32" M64n72k32 "m64n72k32" M64n80k32 "m64n80k32" M64n88k32 "m64n88k32"
        M64n96k32 "m64n96k32" M64n104k32 "m64n104k32" M64n112k32 "m64n112k32" M64n120k32
        "m64n120k32" M64n128k32 "m64n128k32" M64n136k32 "m64n136k32" M64n144k32 "m64n144k32"
        M64n152k32 "m64n152k32" M64n160k32 "m64n160k32" M64n168k32 "m64n168k32" M64n176k32
        "m64n176k32" M64n184k32 "m64n184k32" M64n192k32 "m64n192k32" M64n200k32 "m64n200k32"
        M64n208k32 "m64n208k32" M64n216k32 "m64n216k32" M64n224k32 "m64n224k32" M64n232k32
        "m64n232k32" M64n240k32 "m64n240k32" M64n248k32 "m64n248k32" M64n256k32 "m64n256k32"
        M64n8k64 "m64n8k64" M64n16k64 "m64n16k64" M64n24k64 "m64n24k64" M64n32k64 "m64n32k64"
        M64n40k64 "m64n40k64" M64n48k64 "m64n48k64" M64n56k64 "m64n56k64" M64n64k64
        "m64n64k64" M64n72k64 "m64n72k64" M64n80k64 "m64n80k64" M64n88k64 "m64n88k64"
        M64n96k64 "m64n96k64" M64n104k64 "m64n104k64" M64n112k64 "m64n112k64" M64n120k64
        "m64n120k64" M64n128k64 "m64n128k64" M64n136k64 "m64n136k64" M64n144k64 "m64n144k64"
        M64n152k64 "m64n152k64" M64n160k64 "m64n160k64" M64n168k64 "m64n168k64" M64n176k64
        "m64n176k64" M64n184k64 "m64n184k64" M64n192k64 "m64n192k64" M64n200k64 "m64n200k64"
        M64n208k64 "m64n208k64" M64n216k64 "m64n216k64" M64n224k64 "m64n224k64" M64n232k64
        "m64n232k64" M64n240k64 "m64n240k64" M64n248k64 "m64n248k64" M64n256k64 "m64n256k64"
        M64n8k256 "m64n8k256" M64n16k256 "m64n16k256" M64n24k256 "m64n24k256" M64n32k256
        "m64n32k256" M64n48k256 "m64n48k256"
        M64n64k256 "m64n64k256" M64n80k256 "m64n80k256" M64n96k256 "m64n96k256" M64n112k256
        "m64n112k256" M64n128k256 "m64n128k256" M64n144k256 "m64n144k256" M64n160k256
        "m64n160k256" M64n176k256 "m64n176k256" M64n192k256 "m64n192k256" M64n208k256
        "m64n208k256" M64n224k256 "m64n224k256" M64n240k256 "m64n240k256" M64n256k256
        "m64n256k256"
        // Tensor memory.
        T16x64b "16x64b" T16x128b "16x128b" T16x256b "16x256b" T32x32b "32x32b"
        T16x32bx2 "16x32bx2" T4x256b "4x256b" T128x256b "128x256b" T128x128b "128x128b"
        T64x128b "64x128b" T32x128b "32x128b" PackB16 "pack::16b" UnpackB16 "unpack::16b"
        Warpx2Rows0213 "warpx2::02_13"
        Warpx2Rows0123 "warpx2::01_23" Warpx4 "warpx4" CollectorAFill "collector::a::fill"
        CollectorAUse "collector::a::use" CollectorALastuse "collector::a::lastuse"
        CollectorADiscard "collector::a::discard"
        CollectorBFill "collector::b::fill" CollectorBUse "collector::b::use"
        CollectorBLastuse "collector::b::lastuse" CollectorBDiscard "collector::b::discard"
        DecompressLutB "decompress::lut::b" Exclusive "exclusive"
        CollectorB0Fill "collector::b0::fill" CollectorB0Use "collector::b0::use" CollectorB0Lastuse
        "collector::b0::lastuse" CollectorB0Discard "collector::b0::discard" CollectorB1Fill
        "collector::b1::fill" CollectorB1Use "collector::b1::use" CollectorB1Lastuse
        "collector::b1::lastuse" CollectorB1Discard "collector::b1::discard" CollectorB2Fill
        "collector::b2::fill" CollectorB2Use "collector::b2::use" CollectorB2Lastuse
        "collector::b2::lastuse" CollectorB2Discard "collector::b2::discard" CollectorB3Fill
        "collector::b3::fill" CollectorB3Use "collector::b3::use" CollectorB3Lastuse
        "collector::b3::lastuse" CollectorB3Discard "collector::b3::discard"
        Ashift "ashift"
        // Video and miscellaneous.
        PlusOne "po" Shr7 "shr7" Shr15 "shr15" Mask "mask"
    }
}

impl Modifier {
    /// The modifier as it is written, without the dot.
    #[must_use]
    pub fn text(self) -> &'static str {
        Self::TEXTS.get(self as usize).copied().unwrap_or_default()
    }

    /// The modifier that is written so.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        NAMES.get(text).and_then(|index| Self::ALL.get(index as usize).copied())
    }
}

impl fmt::Display for Modifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

static NAMES: std::sync::LazyLock<Names> =
    std::sync::LazyLock::new(|| Names::new(Modifier::TEXTS.iter().copied()));

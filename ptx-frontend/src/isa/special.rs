//! Special registers (manual, chapter 10).

use std::fmt;

use super::names::Names;

/// `.x`, `.y`, `.z` or `.w` of a vector special register.
#[allow(missing_docs, reason = "the variants are the components' own names")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    X,
    Y,
    Z,
    W,
}

impl Component {
    /// The four components in order.
    pub const ALL: [Self; 4] = [Self::X, Self::Y, Self::Z, Self::W];

    /// 0 for `x` to 3 for `w`.
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }
}

macro_rules! special_registers {
    (
        vectors { $($vector:ident $vector_text:literal)+ }
        numbered { $($numbered:ident $prefix:literal $suffix:literal $count:literal)+ }
        scalars { $($scalar:ident $text:literal $width:literal)+ }
    ) => {
        /// A special register; vectors carry their component, families their number.
        #[allow(missing_docs, reason = "the variants are the registers' own names")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum SpecialRegister {
            $($vector(Component),)+
            $($numbered(u8),)+
            $($scalar,)+
        }

        impl SpecialRegister {
            /// Every special register.
            #[must_use]
            pub fn all() -> Vec<Self> {
                let mut all = Vec::new();
                $(all.extend(Component::ALL.map(Self::$vector));)+
                $(all.extend((0..$count).map(Self::$numbered));)+
                $(all.push(Self::$scalar);)+
                all
            }

            /// Width in bits: 32 or 64.
            #[must_use]
            pub const fn bits(self) -> u32 {
                match self {
                    $(Self::$vector(_))|+ => 32,
                    Self::PmWide(_) => 64,
                    Self::Pm(_) | Self::Envreg(_) | Self::ReservedSmemOffset(_) => 32,
                    $(Self::$scalar => $width,)+
                }
            }
        }

        impl fmt::Display for SpecialRegister {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match *self {
                    $(Self::$vector(component) => {
                        write!(f, "{}.{}", $vector_text, ["x", "y", "z", "w"][component.index()])
                    })+
                    $(Self::$numbered(number) => write!(f, "{}{number}{}", $prefix, $suffix),)+
                    $(Self::$scalar => f.write_str($text),)+
                }
            }
        }
    };
}

special_registers! {
    vectors {
        Tid "%tid" Ntid "%ntid" Ctaid "%ctaid" Nctaid "%nctaid" Clusterid "%clusterid"
        Nclusterid "%nclusterid" ClusterCtaid "%cluster_ctaid" ClusterNctaid "%cluster_nctaid"
    }
    numbered {
        Pm "%pm" "" 8
        PmWide "%pm" "_64" 8
        Envreg "%envreg" "" 32
        ReservedSmemOffset "%reserved_smem_offset_" "" 2
    }
    scalars {
        Laneid "%laneid" 32
        Warpid "%warpid" 32
        Nwarpid "%nwarpid" 32
        Smid "%smid" 32
        Nsmid "%nsmid" 32
        Gridid "%gridid" 64
        IsExplicitCluster "%is_explicit_cluster" 1
        ClusterCtarank "%cluster_ctarank" 32
        ClusterNctarank "%cluster_nctarank" 32
        LanemaskEq "%lanemask_eq" 32
        LanemaskLe "%lanemask_le" 32
        LanemaskLt "%lanemask_lt" 32
        LanemaskGe "%lanemask_ge" 32
        LanemaskGt "%lanemask_gt" 32
        Clock "%clock" 32
        ClockHi "%clock_hi" 32
        Clock64 "%clock64" 64
        Globaltimer "%globaltimer" 64
        GlobaltimerLo "%globaltimer_lo" 32
        GlobaltimerHi "%globaltimer_hi" 32
        ReservedSmemOffsetBegin "%reserved_smem_offset_begin" 32
        ReservedSmemOffsetEnd "%reserved_smem_offset_end" 32
        ReservedSmemOffsetCap "%reserved_smem_offset_cap" 32
        TotalSmemSize "%total_smem_size" 32
        AggrSmemSize "%aggr_smem_size" 32
        DynamicSmemSize "%dynamic_smem_size" 32
        CurrentGraphExec "%current_graph_exec" 64
        Perctamemoryoffset "%perctamemoryoffset" 64
        Perctamemorysize "%perctamemorysize" 32
        WarpSz "WARP_SZ" 32
    }
}

impl SpecialRegister {
    /// The register with this name: `%tid.x`, `%laneid`, `WARP_SZ`.
    ///
    /// `%tid` without a component is a vector, which only `mov.v4` of very old files could
    /// read; it has no value here.
    #[must_use]
    pub fn from_text(text: &str) -> Option<Self> {
        TABLE.0.get(text).map(|index| TABLE.1[index as usize])
    }

    /// Returns true if `name` (without component) names a special register, so that `%tid.x` is not
    /// mistaken for element `x` of a vector register.
    #[must_use]
    pub fn is_vector_name(name: &str) -> bool {
        matches!(
            name,
            "%tid"
                | "%ntid"
                | "%ctaid"
                | "%nctaid"
                | "%clusterid"
                | "%nclusterid"
                | "%cluster_ctaid"
                | "%cluster_nctaid"
        )
    }
}

/// Names and their special registers. The names are leaked once, about 120 short strings.
static TABLE: std::sync::LazyLock<(Names, Vec<SpecialRegister>)> = std::sync::LazyLock::new(|| {
    let all = SpecialRegister::all();
    let names: Vec<&'static str> =
        all.iter().map(|register| &*Box::leak(register.to_string().into_boxed_str())).collect();
    (Names::new(names.into_iter()), all)
});

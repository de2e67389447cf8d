//! The PTX ISA version and the target that code needs.
//!
//! Rows of the table say it of instructions; single modifiers and special registers can be
//! younger than the instruction that they stand in.

use std::fmt;

use super::{Form, Modifier, Opcode, SpecialRegister, Target};

/// The oldest PTX ISA version and target that have something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Since {
    /// PTX ISA version, major and minor.
    pub isa: (u8, u8),
    /// The oldest target.
    pub target: Target,
}

impl Since {
    /// Requirement of the features that the first version had already.
    pub const BEGINNING: Self = Self::new((1, 0), 10);

    /// The latest version of the manual that the table follows, and its latest target.
    pub const NEWEST: Self = Self::new((9, 5), 121);

    /// An ISA version, and the least compute capability times ten.
    #[must_use]
    pub const fn new(isa: (u8, u8), sm: u32) -> Self {
        Self { isa, target: Target { sm, specific: false } }
    }

    /// An ISA version, and a target with a suffix: the architecture or family alone has it.
    const fn specific(isa: (u8, u8), sm: u32) -> Self {
        Self { isa, target: Target { sm, specific: true } }
    }

    /// Returns the requirement of code that needs both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            isa: self.isa.max(other.isa),
            target: if self.target.rank() >= other.target.rank() {
                self.target
            } else {
                other.target
            },
        }
    }
}

impl Target {
    /// Later architectures rank higher, and of one architecture the form with a suffix.
    #[must_use]
    pub const fn rank(self) -> (u32, bool) {
        (self.sm, self.specific)
    }
}

impl fmt::Display for Target {
    /// `sm_80`, or `sm_90a` where the form is specific to the architecture.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.sm, if self.specific { "a" } else { "" })
    }
}

impl Form {
    /// Returns the first version and target that have this form with these modifiers.
    #[must_use]
    pub fn since(&self, modifiers: &[Modifier]) -> Since {
        let row = Since { isa: self.min_isa, target: self.min_target };
        let wide = wide_vector(self.opcode, modifiers).then_some(Since::new((8, 8), 100));
        let modifiers =
            modifiers.iter().filter_map(|&modifier| modifier_since(self.opcode, modifier));
        modifiers.chain(wide).fold(row, Since::and)
    }
}

/// Returns the requirement of a single modifier, whatever the row says.
#[must_use]
pub fn modifier_since(opcode: Opcode, modifier: Modifier) -> Option<Since> {
    let rubin = Some(Since::specific((9, 4), 107));
    let (isa, sm) = match modifier {
        Modifier::PositiveZero
        | Modifier::MulticastCluster32b
        | Modifier::SyncRestrictSharedReadMmaA
        | Modifier::ReportDisabled
        | Modifier::ReportPer16Bytes80000000
        | Modifier::ReportPer16Bytes8000
        | Modifier::ReportPer16Bytes80
        | Modifier::ReportPer16Bytes8
        | Modifier::ReportPerElementFf
        | Modifier::OverrideGlobalAddress
        | Modifier::OverrideGlobalDim
        | Modifier::OverrideGlobalDimStride
        | Modifier::Im2colNoOffsW
        | Modifier::KindTi16
        | Modifier::CollectorBFill
        | Modifier::CollectorBUse
        | Modifier::CollectorBLastuse
        | Modifier::CollectorBDiscard
        | Modifier::DecompressLutB => return rubin,
        Modifier::MulticastCluster16b => ((9, 4), 90),
        Modifier::Exclusive => ((9, 4), 100),
        Modifier::LayoutV0 | Modifier::LayoutV1 => ((9, 3), 90),
        // Copies and reductions in bulk were weak and relaxed before they could say it.
        Modifier::Weak | Modifier::Relaxed if in_bulk(opcode) => ((9, 3), 90),
        // ptxas takes it in `cp.async` from the beginning.
        Modifier::SharedCta if opcode == Opcode::CpAsync => return None,
        Modifier::SharedCluster | Modifier::Cluster => ((7, 8), 90),
        Modifier::SharedCta | Modifier::ParamEntry | Modifier::ParamFunc => ((7, 8), 30),
        Modifier::L2CacheHint | Modifier::L2Size256B => ((7, 4), 80),
        Modifier::L2Size64B | Modifier::L2Size128B => ((7, 4), 75),
        _ => return None,
    };
    Some(Since::new(isa, sm))
}

const fn in_bulk(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::CpAsyncBulk
            | Opcode::CpReduceAsyncBulk
            | Opcode::MultimemCpAsyncBulk
            | Opcode::MultimemCpReduceAsyncBulk
    )
}

/// Returns true if a load or store moves 32 bytes at once.
fn wide_vector(opcode: Opcode, modifiers: &[Modifier]) -> bool {
    if !matches!(opcode, Opcode::Ld | Opcode::Ldu | Opcode::St) {
        return false;
    }
    let count = modifiers.iter().find_map(|modifier| match modifier {
        Modifier::V2 => Some(2),
        Modifier::V4 => Some(4),
        Modifier::V8 => Some(8),
        _ => None,
    });
    let bits = modifiers.iter().find_map(|modifier| modifier.as_type()).map_or(0, |ty| ty.bits());
    count.unwrap_or(1) * bits == 256
}

impl SpecialRegister {
    /// Returns the first version and target on which the register can be read (manual, chapter 10).
    #[must_use]
    pub const fn since(self) -> Since {
        use SpecialRegister as S;
        let (isa, sm) = match self {
            S::Tid(_) | S::Ntid(_) | S::Ctaid(_) | S::Nctaid(_) => ((1, 0), 10),
            S::Gridid | S::Clock | S::WarpSz => ((1, 0), 10),
            S::Laneid | S::Warpid | S::Smid | S::Pm(0..=3) => ((1, 3), 10),
            S::Nwarpid | S::Nsmid | S::Clock64 => ((2, 0), 20),
            S::LanemaskEq | S::LanemaskLe | S::LanemaskLt => ((2, 0), 20),
            S::LanemaskGe | S::LanemaskGt => ((2, 0), 20),
            S::Envreg(_) => ((2, 1), 10),
            S::Pm(_) => ((3, 0), 20),
            S::Globaltimer | S::GlobaltimerLo | S::GlobaltimerHi => ((3, 1), 30),
            S::PmWide(_) => ((4, 0), 50),
            S::TotalSmemSize | S::DynamicSmemSize => ((4, 1), 20),
            S::ClockHi => ((5, 0), 20),
            S::ReservedSmemOffset(_)
            | S::ReservedSmemOffsetBegin
            | S::ReservedSmemOffsetEnd
            | S::ReservedSmemOffsetCap => ((7, 6), 80),
            S::Clusterid(_)
            | S::Nclusterid(_)
            | S::ClusterCtaid(_)
            | S::ClusterNctaid(_)
            | S::IsExplicitCluster
            | S::ClusterCtarank
            | S::ClusterNctarank => ((7, 8), 90),
            S::CurrentGraphExec => ((8, 0), 50),
            S::AggrSmemSize => ((8, 1), 90),
            S::Perctamemoryoffset | S::Perctamemorysize => ((9, 4), 80),
        };
        Since::new(isa, sm)
    }
}

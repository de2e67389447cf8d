//! Features by name: the counts that a model asks of a kernel (section 6.1).

use std::fmt;

use gpucast_counters::features::{AccessDirection, ElementType, MemorySpace};

/// A feature, as a model names it.
#[derive(Clone, Debug, PartialEq)]
pub enum Feature {
    /// `f_op_float32_madd`: arithmetic (section 6.1.2).
    Operation(OperationFeature),
    /// `f_mem_access_…`: data motion (section 6.1.1).
    MemoryAccess(AccessFeature),
    /// `f_machine_access_…`: accesses of the machine code; not in the paper.
    MachineAccess(MachineAccessFeature),
    /// `f_machine_op_LDS`: instructions of the machine code, of one mnemonic or of all; not in the
    /// paper.
    MachineOperation(Option<String>),
    /// `f_sync_barrier_local`: barriers that a work-item meets (section 6.1.3).
    LocalBarriers,
    /// `f_sync_kernel_launch`: 1 for each launch.
    KernelLaunches,
    /// `f_thread_groups`: work-groups (section 6.1.4).
    ThreadGroups,
    /// `f_sub_groups`: warps; not in the paper.
    SubGroups,
    /// `f_work_items`: threads; not in the paper.
    WorkItems,
    /// `f_cl_wall_time_nvidia_geforce`: the time on a device, an output.
    WallTime(String),
}

/// The arithmetic that is counted; properties that are not given may be anything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OperationFeature {
    /// The type of the operands.
    pub element: Option<ElementType>,
    /// The operation, one of
    /// [`OPERATION_NAMES`](gpucast_counters::features::OPERATION_NAMES).
    pub operation: Option<String>,
}

/// The accesses that are counted: those that satisfy everything that is given.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AccessFeature {
    /// The name of the access.
    pub tag: Option<String>,
    /// The kind of memory.
    pub space: Option<MemorySpace>,
    /// The type of the elements.
    pub element: Option<ElementType>,
    /// The direction.
    pub direction: Option<AccessDirection>,
    /// The constraints on strides of thread indices, by axis.
    pub local_strides: Vec<(usize, Constraint)>,
    /// The constraints on strides of block indices, by axis.
    pub global_strides: Vec<(usize, Constraint)>,
    /// The constraint on the access-to-footprint ratio.
    pub ratio: Option<Constraint>,
}

/// The accesses of the machine code that are counted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MachineAccessFeature {
    /// The accesses of the PTX that they stand for.
    pub access: AccessFeature,
    /// The constraint on the elements that a thread accesses at once.
    pub width: Option<Constraint>,
}

/// A condition on a number: `1`, `>15`, `<n`.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// The relation of the number to the bound.
    pub relation: Relation,
    /// The bound of the comparison.
    pub bound: Bound,
}

/// The relation of a number to a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// The same.
    Equal,
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    Greater,
    /// `>=`
    AtLeast,
}

impl Feature {
    /// Returns true if it counts instructions of the machine code.
    #[must_use]
    pub fn reads_machine_code(&self) -> bool {
        matches!(self, Self::MachineAccess(_) | Self::MachineOperation(_))
    }
}

impl Relation {
    /// The relation's text, as it is written before the bound.
    #[must_use]
    pub fn text(self) -> &'static str {
        match self {
            Self::Equal => "",
            Self::Less => "<",
            Self::AtMost => "<=",
            Self::Greater => ">",
            Self::AtLeast => ">=",
        }
    }

    /// Returns true if `number` has this relation to `bound`. Numbers that differ by no more than
    /// `tolerance`, relative to the bound, are the same.
    #[must_use]
    pub fn holds(self, number: f64, bound: f64, tolerance: f64) -> bool {
        let same = (number - bound).abs() <= tolerance * bound.abs().max(f64::MIN_POSITIVE);
        match self {
            Self::Equal => same,
            Self::Less => number < bound && !same,
            Self::AtMost => number < bound || same,
            Self::Greater => number > bound && !same,
            Self::AtLeast => number > bound || same,
        }
    }
}

/// A number, or a multiple of a size of the problem: `15`, `n`, `16*n`, `n/16`.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The factor of the size, or the number itself.
    pub factor: f64,
    /// The divisor of the size.
    pub divisor: f64,
    /// The size's name.
    pub size: Option<String>,
}

impl Bound {
    /// A number.
    #[must_use]
    pub fn number(number: f64) -> Self {
        Self { factor: number, divisor: 1.0, size: None }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(size) = &self.size else { return write!(f, "{}", self.factor) };
        if self.factor != 1.0 {
            write!(f, "{}*", self.factor)?;
        }
        f.write_str(size)?;
        if self.divisor != 1.0 {
            write!(f, "/{}", self.divisor)?;
        }
        Ok(())
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.relation.text(), self.bound)
    }
}

/// Writes `_lstrides:{0:1;1:>15}`.
fn strides(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    constraints: &[(usize, Constraint)],
) -> fmt::Result {
    for (place, (axis, constraint)) in constraints.iter().enumerate() {
        match place {
            0 => write!(f, "_{name}:{{{axis}:{constraint}")?,
            _ => write!(f, ";{axis}:{constraint}")?,
        }
    }
    if constraints.is_empty() { Ok(()) } else { f.write_str("}") }
}

impl AccessFeature {
    /// Writes the fields; that of a machine access stands before the strides.
    fn write(&self, f: &mut fmt::Formatter<'_>, width: Option<&Constraint>) -> fmt::Result {
        if let Some(tag) = &self.tag {
            write!(f, "_tag:{tag}")?;
        }
        if let Some(space) = self.space {
            write!(f, "_{}", space.name())?;
        }
        if let Some(element) = self.element {
            write!(f, "_{element}")?;
        }
        if let Some(direction) = self.direction {
            write!(f, "_{}", direction.name())?;
        }
        if let Some(width) = width {
            write!(f, "_width:{width}")?;
        }
        strides(f, "lstrides", &self.local_strides)?;
        strides(f, "gstrides", &self.global_strides)?;
        match &self.ratio {
            Some(ratio) => write!(f, "_afr:{ratio}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for AccessFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("f_mem_access")?;
        self.write(f, None)
    }
}

impl fmt::Display for MachineAccessFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("f_machine_access")?;
        self.access.write(f, self.width.as_ref())
    }
}

impl fmt::Display for Feature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operation(OperationFeature { element, operation }) => {
                f.write_str("f_op")?;
                if let Some(element) = element {
                    write!(f, "_{element}")?;
                }
                match operation {
                    Some(operation) => write!(f, "_{operation}"),
                    None => Ok(()),
                }
            }
            Self::MemoryAccess(access) => write!(f, "{access}"),
            Self::MachineAccess(access) => write!(f, "{access}"),
            Self::MachineOperation(None) => f.write_str("f_machine_op"),
            Self::MachineOperation(Some(mnemonic)) => write!(f, "f_machine_op_{mnemonic}"),
            Self::LocalBarriers => f.write_str("f_sync_barrier_local"),
            Self::KernelLaunches => f.write_str("f_sync_kernel_launch"),
            Self::ThreadGroups => f.write_str("f_thread_groups"),
            Self::SubGroups => f.write_str("f_sub_groups"),
            Self::WorkItems => f.write_str("f_work_items"),
            Self::WallTime(device) if device.is_empty() => f.write_str("f_cl_wall_time"),
            Self::WallTime(device) => write!(f, "f_cl_wall_time_{device}"),
        }
    }
}

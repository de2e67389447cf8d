//! The register file of a program: the content of each row, and the rows that are filled in
//! beforehand.
//!
//! Immediates, special registers and kernel parameters are rows too, written once per warp or CTA.
//! The inner loop therefore reads every operand the same way.

use gpucast_ptx_frontend::isa::{Component, SpecialRegister};
use gpucast_ptx_frontend::module::VariableId;

use crate::lane::Row;

/// Rows of the widest register.
pub(crate) const WIDEST: usize = 4;

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchShape {
    /// Address of the barrier of a cooperative launch, if the kernel asks for it.
    pub(crate) grid_workspace: u64,
    pub(crate) grid: [u32; 3],
    /// CTAs of a cluster; the grid is made of whole clusters.
    pub(crate) cluster: [u32; 3],
    /// True if the kernel or the launch asked for clusters.
    pub(crate) explicit_cluster: bool,
    pub(crate) block: [u32; 3],
    pub(crate) dynamic_shared_bytes: u32,
    pub(crate) total_shared_bytes: u32,
}

/// The position of a CTA in its grid.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CtaCoordinates {
    pub(crate) ctaid: [u32; 3],
    clusterid: [u32; 3],
    cluster_ctaid: [u32; 3],
    pub(crate) cluster_rank: u32,
}

/// The place of `index` in a box of these extents; x varies fastest.
fn place([x, y, _]: [u32; 3], index: u64) -> [u32; 3] {
    let (x, y) = (u64::from(x), u64::from(y));
    [index % x, index / x % y, index / x / y].map(|i| i as u32)
}

impl LaunchShape {
    /// Threads of one CTA; at most 1024 once the launch has been checked.
    pub(crate) fn threads_per_cta(&self) -> u32 {
        self.block.iter().product()
    }

    /// CTAs of the grid.
    pub(crate) fn ctas(&self) -> u128 {
        self.grid.iter().map(|&extent| u128::from(extent)).product()
    }

    /// CTAs of one cluster.
    pub(crate) fn ctas_per_cluster(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters of the grid in x, y and z.
    fn clusters(&self) -> [u32; 3] {
        std::array::from_fn(|axis| self.grid[axis] / self.cluster[axis].max(1))
    }

    /// The CTA at place `index` of the order in which CTAs run: cluster by cluster, by rank
    /// within a cluster; x varies fastest.
    pub(crate) fn coordinates(&self, index: u64) -> CtaCoordinates {
        let ctas = u64::from(self.ctas_per_cluster());
        let clusterid = place(self.clusters(), index / ctas);
        let cluster_ctaid = place(self.cluster, index % ctas);
        let ctaid =
            std::array::from_fn(|axis| clusterid[axis] * self.cluster[axis] + cluster_ctaid[axis]);
        CtaCoordinates { ctaid, clusterid, cluster_ctaid, cluster_rank: (index % ctas) as u32 }
    }

    /// The CTA at a place of a grid without clusters.
    pub(crate) fn coordinates_of(&self, ctaid: [u32; 3]) -> CtaCoordinates {
        CtaCoordinates { ctaid, clusterid: ctaid, cluster_ctaid: [0; 3], cluster_rank: 0 }
    }

    /// The place of a CTA in the order in which CTAs run, of a grid without clusters. `None` beyond
    /// 2⁶⁴, where CTAs are not run in order.
    pub(crate) fn index_of(&self, [x, y, z]: [u32; 3]) -> Option<u64> {
        let [width, height, _] = self.grid.map(u128::from);
        let index = u128::from(x) + width * (u128::from(y) + height * u128::from(z));
        index.try_into().ok()
    }

    /// The thread with linear index `index` in its CTA; x varies fastest.
    pub(crate) fn thread(&self, index: u32) -> [u32; 3] {
        let [x, y, _] = self.block;
        [index % x, index / x % y, index / x / y]
    }
}

/// The value of a constant row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ConstantValue {
    Bits(u64),
    /// The device address of a module variable, plus an offset.
    Global(VariableId, i64),
}

/// A row that holds the same value in all lanes of all warps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Constant {
    pub(crate) row: u32,
    pub(crate) wide: bool,
    pub(crate) value: ConstantValue,
}

/// A row that holds a kernel parameter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ParameterRow {
    pub(crate) row: u32,
    pub(crate) wide: bool,
    /// Byte offset in the parameter block.
    pub(crate) offset: u32,
    /// 1, 2, 4 or 8.
    pub(crate) bytes: u8,
    /// True if the sign fills the register.
    pub(crate) signed: bool,
}

/// The assignment of a program's rows.
#[derive(Debug, Default)]
pub(crate) struct RegisterFile {
    pub(crate) rows: u32,
    /// Rows of the register that begins at each row; 0 in the middle of one.
    #[cfg(debug_assertions)]
    pub(crate) widths: Vec<u8>,
    pub(crate) predicates: u32,
    pub(crate) constants: Vec<Constant>,
    /// Special registers that are the same in all CTAs.
    pub(crate) specials: Vec<(SpecialRegister, u32)>,
    /// Those that tell the CTA's place, the same for all its threads.
    pub(crate) cta_specials: Vec<(SpecialRegister, u32)>,
    pub(crate) parameters: Vec<ParameterRow>,
    /// Rows of registers that may be read before they are written.
    pub(crate) uninitialised_rows: Vec<u32>,
    pub(crate) uninitialised_predicates: Vec<u32>,
    /// The row with each thread's stack top, if the program has a stack.
    pub(crate) stack_pointer: Option<u32>,
}

/// A register as it is saved around a call: its first row and the number of its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SavedRow {
    pub(crate) first: u32,
    pub(crate) rows: u32,
}

/// The registers that make up one activation of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SavedRegisters {
    pub(crate) rows: Vec<SavedRow>,
    pub(crate) predicates: Vec<u32>,
}

fn fill(rows: &mut [Row], row: u32, wide: bool, value: u64) {
    let row = row as usize;
    if wide {
        // A 64-bit register is `[u64; 32]` over two rows: low and high words alternate.
        for lane in 0..32 {
            let at = lane * 2;
            rows[row + at / 32].0[at % 32] = value as u32;
            rows[row + (at + 1) / 32].0[(at + 1) % 32] = (value >> 32) as u32;
        }
    } else {
        rows[row].0 = [value as u32; 32];
    }
}

impl RegisterFile {
    /// A new register of so many rows: the first one.
    pub(crate) fn add(&mut self, rows: u32) -> u32 {
        let first = self.rows;
        self.rows += rows;
        #[cfg(debug_assertions)]
        self.widths.extend((0..rows).map(|row| if row == 0 { rows as u8 } else { 0 }));
        first
    }

    /// Rows that a warp has: behind the last one is room for the rest of the widest register, so
    /// that a register of any width may begin at any row.
    pub(crate) fn held_rows(&self) -> usize {
        self.rows as usize + WIDEST - 1
    }

    /// Returns true if the kernel looks for the workspace of a cooperative launch.
    pub(crate) fn wants_grid_workspace(&self) -> bool {
        let asks = |special| matches!(special, SpecialRegister::Envreg(1 | 2));
        self.specials.iter().any(|&(special, _)| asks(special))
    }

    /// Writes the rows that stay the same for all CTAs of a launch. `global` gives the device
    /// address of a module variable.
    pub(crate) fn fill_warp_constants(
        &self,
        rows: &mut [Row],
        shape: &LaunchShape,
        warp: u32,
        global: &dyn Fn(VariableId) -> u64,
    ) {
        for constant in &self.constants {
            let value = match constant.value {
                ConstantValue::Bits(bits) => bits,
                ConstantValue::Global(variable, offset) => {
                    global(variable).wrapping_add_signed(offset)
                }
            };
            fill(rows, constant.row, constant.wide, value);
        }
        for &(special, row) in &self.specials {
            if special.bits() == 64 {
                fill(
                    rows,
                    row,
                    true,
                    special_value(special, shape, &CtaCoordinates::default(), warp, 0),
                );
            } else {
                for lane in 0..32 {
                    let value =
                        special_value(special, shape, &CtaCoordinates::default(), warp, lane);
                    rows[row as usize].0[lane as usize] = value as u32;
                }
            }
        }
    }

    /// Writes the kernel's parameters.
    pub(crate) fn fill_parameters(&self, rows: &mut [Row], block: &[u8]) {
        for parameter in &self.parameters {
            let mut bytes = [0; 8];
            let from = parameter.offset as usize;
            let width = usize::from(parameter.bytes);
            if let Some(source) = block.get(from..from + width) {
                bytes[..width].copy_from_slice(source);
            }
            let mut value = u64::from_le_bytes(bytes);
            if parameter.signed {
                let unused = 64 - 8 * u32::from(parameter.bytes);
                value = ((value << unused) as i64 >> unused) as u64;
            }
            fill(rows, parameter.row, parameter.wide, value);
        }
    }

    /// Writes the rows that depend on the CTA.
    pub(crate) fn fill_cta(&self, rows: &mut [Row], shape: &LaunchShape, cta: &CtaCoordinates) {
        for &(special, row) in &self.cta_specials {
            let value = special_value(special, shape, cta, 0, 0);
            rows[row as usize].0 = [value as u32; 32];
        }
    }

    /// Gives a special register a row.
    pub(crate) fn add_special(&mut self, special: SpecialRegister, row: u32) {
        use SpecialRegister as S;
        match special {
            S::Ctaid(_) | S::Clusterid(_) | S::ClusterCtaid(_) | S::ClusterCtarank => {
                self.cta_specials.push((special, row));
            }
            _ => self.specials.push((special, row)),
        }
    }

    /// Fills `row` as `other`, if that holds a special register which tells the CTA's place.
    /// Returns true if it does.
    pub(crate) fn fill_as(&mut self, row: u32, other: u32) -> bool {
        let special = self.cta_specials.iter().find(|&&(_, one)| one == other);
        let special = special.map(|&(special, _)| special);
        self.cta_specials.extend(special.map(|special| (special, row)));
        special.is_some()
    }

    /// Gives registers that the code may read before it writes them a defined value, so that
    /// results do not depend on which CTA ran before.
    pub(crate) fn clear_uninitialised(&self, rows: &mut [Row], predicates: &mut [u32]) {
        for &row in &self.uninitialised_rows {
            rows[row as usize] = Row::ZERO;
        }
        for &predicate in &self.uninitialised_predicates {
            predicates[predicate as usize] = 0;
        }
    }

    /// Empty each thread's stack, which begins at `start` in local memory.
    pub(crate) fn empty_stack(&self, rows: &mut [Row], start: u32) {
        if let Some(row) = self.stack_pointer {
            rows[row as usize].0 = [start; 32];
        }
    }
}

/// The value of a special register that does not change while a CTA runs.
///
/// There is one SM and one grid: `%smid` and `%gridid` are 0.
/// Clocks are not here; they are read when the instruction executes.
fn special_value(
    special: SpecialRegister,
    shape: &LaunchShape,
    cta: &CtaCoordinates,
    warp: u32,
    lane: u32,
) -> u64 {
    use SpecialRegister as S;
    let axis = |values: [u32; 3], component: Component| match component {
        Component::X => values[0],
        Component::Y => values[1],
        Component::Z => values[2],
        Component::W => 0,
    };
    let bit = 1u32 << lane;
    let value = match special {
        S::Tid(component) => {
            // Lanes past the last thread never execute.
            let thread = warp * 32 + lane;
            axis(shape.thread(thread), component)
        }
        S::Ntid(component) => axis(shape.block, component),
        S::Ctaid(component) => axis(cta.ctaid, component),
        S::Nctaid(component) => axis(shape.grid, component),
        S::Clusterid(component) => axis(cta.clusterid, component),
        S::Nclusterid(component) => axis(shape.clusters(), component),
        S::ClusterCtaid(component) => axis(cta.cluster_ctaid, component),
        S::ClusterNctaid(component) => axis(shape.cluster, component),
        S::ClusterCtarank => cta.cluster_rank,
        S::ClusterNctarank => shape.ctas_per_cluster(),
        S::IsExplicitCluster => u32::from(shape.explicit_cluster),
        S::Nsmid => 1,
        S::Laneid => lane,
        S::Warpid => warp,
        S::Nwarpid => shape.threads_per_cta().div_ceil(32),
        S::Smid => 0,
        S::LanemaskEq => bit,
        S::LanemaskLt => bit - 1,
        S::LanemaskLe => bit | (bit - 1),
        S::LanemaskGt => !(bit | (bit - 1)),
        S::LanemaskGe => !(bit - 1),
        S::WarpSz => 32,
        S::DynamicSmemSize => shape.dynamic_shared_bytes,
        S::TotalSmemSize | S::AggrSmemSize => shape.total_shared_bytes,
        S::Gridid | S::CurrentGraphExec => 0,
        // The driver hands cooperative launches the address of their workspace here.
        S::Envreg(1) => (shape.grid_workspace >> 32) as u32,
        S::Envreg(2) => shape.grid_workspace as u32,
        S::Pm(_) | S::PmWide(_) | S::Envreg(_) => 0,
        S::ReservedSmemOffset(_)
        | S::ReservedSmemOffsetBegin
        | S::ReservedSmemOffsetEnd
        | S::ReservedSmemOffsetCap => 0,
        // Kernels that could read these are refused.
        S::Perctamemoryoffset | S::Perctamemorysize => 0,
        S::Clock | S::ClockHi | S::Clock64 => 0,
        S::Globaltimer | S::GlobaltimerLo | S::GlobaltimerHi => 0,
    };
    u64::from(value)
}

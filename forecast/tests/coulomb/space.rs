//! The tuning space of KTT's example CoulombSum3d: its configurations with their measurements, our
//! kernel of each, and the machine code of `ptxas` 12.9 for it.
//!
//! The program of `examples/evaluate` reads this file, too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use gpucast_forecast::run::assembler::{AssembleError, Assembler, Toolchain};
use gpucast_forecast::{Kernel, LaunchOptions, Supervisor};
use gpucast_machine::ptxas::Prepared;
use gpucast_ptx_frontend::container::Target;

/// The kernels of all configurations.
const PTX: &str = include_str!("../../../corpus/spaces/coulomb-sum-3d/sm_75.ptx");

/// Their machine code, in one file.
const MACHINE_CODE: &[u8] = include_bytes!("sm_75.cubin");

/// KTT's figures.
const MEASURED: &str = include_str!("../../../corpus/published/coulomb-sum-3d.csv");

/// The GPU that was measured.
pub(crate) const GPU: &str = "rtx-2080-ti";

/// Grid points of each side of the measured grid.
pub(crate) const SIDE: u32 = 256;

const ATOMS: u32 = 64;

/// A point of the tuning space.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Configuration {
    /// Grid points of a thread.
    pub(crate) points: u32,
    /// The factor by which the loop over them is unrolled; 0 leaves it to the compiler.
    pub(crate) unroll: u32,
    /// The layout of the atoms: `records` or `arrays`.
    pub(crate) layout: String,
    /// Threads of a block.
    pub(crate) block: [u32; 2],
}

impl Configuration {
    /// The kernel's name.
    pub(crate) fn kernel(&self) -> String {
        format!("coulomb_z{}_u{}_{}", self.points, self.unroll, self.layout)
    }

    /// A launch for the first `depth` planes of the grid, and the first `rows` rows of these.
    pub(crate) fn launch(&self, depth: u32, rows: u32) -> Kernel {
        let [x, y] = self.block;
        let layers = depth / self.points;
        let atoms = |high: f64, seed| format!("buf:f32[{ATOMS}]=uniform(0,{high},{seed})");
        let mut arg = vec![format!("buf:f32[{}]=uniform(0,20,1)", 4 * ATOMS)];
        arg.extend(
            [(20.0, 2), (20.0, 3), (20.0, 4), (0.5, 5)].map(|(high, seed)| atoms(high, seed)),
        );
        arg.extend([format!("s32:{ATOMS}"), "f32:0.5".to_owned(), format!("s32:{SIDE}")]);
        arg.push(format!("buf:f32[{}]=zero", SIDE * SIDE * depth));
        let options = LaunchOptions {
            kernel: Some(self.kernel()),
            grid: Some([SIDE / x, rows / y, layers]),
            block: Some([x, y, 1]),
            arg: arg.into_iter().map(gpucast_forecast::Argument::from).collect(),
            ..LaunchOptions::default()
        };
        Kernel::from_ptx("sm_75.ptx", PTX, &options).unwrap()
    }

    /// Threads of the measured launch.
    pub(crate) fn threads(&self) -> f64 {
        f64::from(SIDE * SIDE) * f64::from(SIDE / self.points)
    }
}

/// A configuration and KTT's figures of it.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(crate) configuration: Configuration,
    /// Registers of a thread.
    pub(crate) registers: u32,
    pub(crate) duration_us: f64,
    /// Counters by their names in Nsight Compute.
    pub(crate) counters: BTreeMap<String, f64>,
}

/// All configurations, those of one kernel behind each other.
pub(crate) fn measured() -> Vec<Measured> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(MEASURED.as_bytes());
    let mut all: Vec<Measured> = reader
        .deserialize::<BTreeMap<String, String>>()
        .map(|row| {
            let mut row = row.unwrap();
            let mut take = |name: &str| row.remove(name).unwrap();
            let mut whole = |name: &str| take(name).parse::<u32>().unwrap();
            let (points, unroll) = (whole("points"), whole("unroll"));
            let block = [whole("block_x"), whole("block_y")];
            let registers = whole("registers");
            assert_eq!(whole("local_bytes"), 0, "KTT did not report local memory");
            let layout = take("layout");
            let duration_us = take("duration_us").parse().unwrap();
            let counters = row.into_iter().map(|(name, text)| (name, text.parse().unwrap()));
            Measured {
                counters: counters.collect(),
                configuration: Configuration { points, unroll, layout, block },
                registers,
                duration_us,
            }
        })
        .collect();
    all.sort_by(|a, b| a.configuration.cmp(&b.configuration));
    all
}

/// Lends the committed machine code in the place of an assembler.
pub(crate) struct Committed;

impl Supervisor for Committed {
    fn toolchain(&self) -> Option<&dyn Toolchain> {
        Some(self)
    }
}

impl Toolchain for Committed {
    fn candidates(&self) -> Vec<PathBuf> {
        vec!["sm_75.cubin".into()]
    }

    fn probe(&self, path: &Path) -> Result<Assembler, String> {
        Ok(Assembler {
            path: path.to_owned(),
            version: "12.9".to_owned(),
            identity: "committed".to_owned(),
            targets: vec![Target::new(75)],
        })
    }

    fn assemble(
        &self,
        _assembler: &Assembler,
        _target: Target,
        _kernel: &str,
        _prepared: &Prepared,
    ) -> Result<Vec<u8>, AssembleError> {
        Ok(MACHINE_CODE.to_vec())
    }
}

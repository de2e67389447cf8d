//! Sparse matrices whose rows make CTAs unlike each other, and their product with a vector.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::path::Path;

use gpucast_forecast::{Kernel, LaunchOptions};

/// A product of a sparse matrix in CSR with a vector, a thread for each row (Bell and Garland,
/// "Efficient sparse matrix-vector multiplication on CUDA", NVIDIA NVR-2008-004, section 4.2).
const KERNEL: &str = r"
.version 8.0
.target sm_50
.address_size 64
.visible .entry scalar(.param .u64 starts, .param .u64 columns, .param .u64 values,
    .param .u64 x, .param .u64 y) {
    .reg .b64 %d<12>; .reg .b32 %r<12>; .reg .f32 %f<4>; .reg .pred %p<2>;
    ld.param.u64 %d0, [starts]; ld.param.u64 %d1, [columns]; ld.param.u64 %d2, [values];
    ld.param.u64 %d3, [x]; ld.param.u64 %d4, [y];
    mov.u32 %r0, %ctaid.x; mov.u32 %r1, %tid.x; mad.lo.u32 %r2, %r0, 128, %r1;
    mul.wide.u32 %d5, %r2, 4; add.u64 %d6, %d0, %d5; add.u64 %d7, %d4, %d5;
    ld.global.u32 %r3, [%d6]; ld.global.u32 %r4, [%d6+4];
    mov.f32 %f0, 0f00000000;
    setp.ge.u32 %p0, %r3, %r4; @%p0 bra DONE;
LOOP:
    mul.wide.u32 %d8, %r3, 4; add.u64 %d9, %d1, %d8; add.u64 %d10, %d2, %d8;
    ld.global.u32 %r5, [%d9]; ld.global.f32 %f1, [%d10];
    mul.wide.u32 %d8, %r5, 4; add.u64 %d9, %d3, %d8; ld.global.f32 %f2, [%d9];
    fma.rn.f32 %f0, %f1, %f2, %f0;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, %r4; @%p1 bra LOOP;
DONE:
    st.global.f32 [%d7], %f0; ret; }
";

/// Threads of a CTA: rows that it takes.
const ROWS: usize = 128;

/// The length of a row of a CTA that does the least work, where few do more.
const LIGHT: u32 = 4;

/// The longest row.
const LONGEST: f64 = 2000.0;

/// Pseudo-random numbers (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Between 0 and 1, both exclusive.
    fn uniform(&mut self) -> f64 {
        ((self.next() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Of the standard normal distribution (Box and Muller).
    fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (TAU * v).cos()
    }

    /// Of a power law that begins at 1.
    fn power(&mut self, exponent: f64) -> f64 {
        self.uniform().powf(-1.0 / exponent)
    }
}

/// How long the rows are. Those `of CTAs` have all rows of a CTA alike.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lengths {
    /// From 1 to 16.
    Uniform,
    /// A power law of this exponent.
    Power(f64),
    /// The same, from the shortest row to the longest.
    SortedPower(f64),
    /// A power law of CTAs.
    PowerOfCtas(f64),
    /// The logarithms have this standard deviation.
    LogNormal(f64),
    /// The same, of CTAs.
    LogNormalOfCtas(f64),
    /// One of so many CTAs, drawn at random, does so many times the work.
    Rare(u64, u32),
    /// A block of this percentage of the CTAs does so many times the work.
    Block(usize, u32),
    /// Every so manieth CTA does so many times the work.
    Period(usize, u32),
    /// Waves of so many CTAs.
    Waves(usize),
    /// Bursts of 50 CTAs, each with a work of its own.
    Bursts,
    /// Work that grows along the grid.
    Growing,
}

/// A matrix by the name that tables give it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) name: &'static str,
    pub(crate) lengths: Lengths,
}

const fn input(name: &'static str, lengths: Lengths) -> Input {
    Input { name, lengths }
}

pub(crate) const UNIFORM: Input = input("uniform", Lengths::Uniform);
pub(crate) const POWER_LAW_1_5: Input = input("power law, exponent 1.5", Lengths::Power(1.5));
pub(crate) const POWER_LAW_2: Input = input("power law, exponent 2", Lengths::Power(2.0));
pub(crate) const RARE_20: Input =
    input("1 of 20 CTAs does 20 times the work", Lengths::Rare(20, 20));
pub(crate) const WAVES: Input = input("waves of 100 CTAs", Lengths::Waves(100));

/// Inputs on which intervals were decided.
pub(crate) const INPUTS: [Input; 15] = [
    UNIFORM,
    input("power law, exponent 1.2", Lengths::Power(1.2)),
    POWER_LAW_1_5,
    POWER_LAW_2,
    input("power law, exponent 3", Lengths::Power(3.0)),
    input("power law 1.5, sorted", Lengths::SortedPower(1.5)),
    input("log-normal CTAs", Lengths::LogNormalOfCtas(1.0)),
    RARE_20,
    input("1 of 100 CTAs does 50 times the work", Lengths::Rare(100, 50)),
    input("1 of 500 CTAs does 200 times the work", Lengths::Rare(500, 200)),
    input("a block of 1 % does 30 times the work", Lengths::Block(1, 30)),
    input("1 of 7 CTAs does 10 times the work", Lengths::Period(7, 10)),
    input("1 of 64 CTAs does 30 times the work", Lengths::Period(64, 30)),
    WAVES,
    input("work that grows along the grid", Lengths::Growing),
];

/// Inputs that are tried with caches, where each sample is executed.
pub(crate) const OF_CACHES: [Input; 5] = [UNIFORM, POWER_LAW_1_5, POWER_LAW_2, RARE_20, WAVES];

/// Inputs on which nothing was decided.
pub(crate) const HELD_OUT: [Input; 14] = [
    input("power law, exponent 1.35", Lengths::Power(1.35)),
    input("power law, exponent 1.8", Lengths::Power(1.8)),
    input("power law, exponent 2.5", Lengths::Power(2.5)),
    input("power law 2.2, sorted", Lengths::SortedPower(2.2)),
    input("log-normal rows, σ = 2", Lengths::LogNormal(2.0)),
    input("log-normal CTAs, σ = 1.5", Lengths::LogNormalOfCtas(1.5)),
    input("power law of CTAs, exponent 1.5", Lengths::PowerOfCtas(1.5)),
    input("power law of CTAs, exponent 2.5", Lengths::PowerOfCtas(2.5)),
    input("1 of 40 CTAs does 3 times the work", Lengths::Rare(40, 3)),
    input("1 of 200 CTAs does 100 times the work", Lengths::Rare(200, 100)),
    input("a block of 5 % does 10 times the work", Lengths::Block(5, 10)),
    input("1 of 13 CTAs does 8 times the work", Lengths::Period(13, 8)),
    input("waves of 333 CTAs", Lengths::Waves(333)),
    input("bursts of 50 CTAs", Lengths::Bursts),
];

impl Lengths {
    /// The lengths of the rows of a matrix for so many CTAs.
    fn of(self, ctas: usize, random: &mut Random) -> Vec<u32> {
        let rows = ctas * ROWS;
        let most = |length: f64| length.min(LONGEST) as u32;
        // By the CTA of the row.
        let mut by_cta = |of: &mut dyn FnMut(usize, &mut Random) -> u32| -> Vec<u32> {
            let each: Vec<u32> = (0..ctas).map(|cta| of(cta, random)).collect();
            (0..rows).map(|row| each[row / ROWS]).collect()
        };
        let work = |is_rare: bool, times: u32| LIGHT * if is_rare { times } else { 1 };
        match self {
            Self::Uniform => (0..rows).map(|_| 1 + (random.next() % 16) as u32).collect(),
            Self::Power(exponent) => {
                (0..rows).map(|_| most(3.0 * random.power(exponent))).collect()
            }
            Self::SortedPower(exponent) => {
                let mut lengths = Self::Power(exponent).of(ctas, random);
                lengths.sort_unstable();
                lengths
            }
            Self::PowerOfCtas(exponent) => {
                by_cta(&mut |_, random| most(3.0 * random.power(exponent)))
            }
            Self::LogNormal(sigma) => {
                (0..rows).map(|_| most(4.0 * (sigma * random.normal()).exp())).collect()
            }
            Self::LogNormalOfCtas(sigma) => {
                by_cta(&mut |_, random| most(4.0 * (sigma * random.normal()).exp()))
            }
            Self::Rare(of, times) => {
                by_cta(&mut |_, random| work(random.next().is_multiple_of(of), times))
            }
            Self::Block(percent, times) => {
                let block = ctas / 3..ctas / 3 + ctas * percent / 100;
                by_cta(&mut |cta, _| work(block.contains(&cta), times))
            }
            Self::Period(every, times) => {
                by_cta(&mut |cta, _| work(cta.is_multiple_of(every), times))
            }
            Self::Waves(length) => by_cta(&mut |cta, _| {
                let phase = cta as f64 * TAU / length as f64;
                (20.0 + 15.0 * phase.cos()) as u32
            }),
            Self::Bursts => {
                let mut work = 0;
                by_cta(&mut |cta, random| {
                    if cta.is_multiple_of(50) {
                        work = 1 + (random.next() % 40) as u32;
                    }
                    work
                })
            }
            Self::Growing => by_cta(&mut |cta, _| (1 + 40 * cta / ctas) as u32),
        }
    }
}

/// Writes a file of NumPy's format 1.0.
fn write(path: &Path, values: &[u32]) {
    let header =
        format!("{{'descr': '<u4', 'fortran_order': False, 'shape': ({},), }}", values.len());
    let padded = (header.len() + 11).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((padded as u16).to_le_bytes());
    bytes.extend(format!("{header:<width$}\n", width = padded - 1).bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    std::fs::write(path, bytes).unwrap();
}

impl Input {
    /// The CTAs of a kind that few are of, if there is one.
    pub(crate) fn rare(self, ctas: usize) -> Option<Vec<bool>> {
        match self.lengths {
            Lengths::Rare(..) | Lengths::Block(..) | Lengths::Period(..) => {
                let lengths = self.lengths.of(ctas, &mut Random(1));
                Some(lengths.iter().step_by(ROWS).map(|&length| length != LIGHT).collect())
            }
            Lengths::Uniform
            | Lengths::Power(_)
            | Lengths::SortedPower(_)
            | Lengths::PowerOfCtas(_)
            | Lengths::LogNormal(_)
            | Lengths::LogNormalOfCtas(_)
            | Lengths::Waves(_)
            | Lengths::Bursts
            | Lengths::Growing => None,
        }
    }

    /// The product with a matrix for so many CTAs, each of which has some shared memory. Columns
    /// lie near the diagonal.
    pub(crate) fn product(self, ctas: usize, shared_bytes: u32) -> (tempfile::TempDir, Kernel) {
        let random = &mut Random(1);
        let lengths = self.lengths.of(ctas, random);
        let (mut starts, mut columns) = (vec![0], Vec::new());
        for (row, &length) in lengths.iter().enumerate() {
            for _ in 0..length {
                let near = row as u64 + random.next() % 4096;
                columns.push((near % lengths.len() as u64) as u32);
            }
            starts.push(columns.len() as u32);
        }
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("m.ptx"), KERNEL).unwrap();
        write(&folder.path().join("starts.npy"), &starts);
        write(&folder.path().join("columns.npy"), &columns);
        let mut toml = "module = \"m.ptx\"\n".to_owned();
        for (name, values) in [("starts", &starts), ("columns", &columns)] {
            let length = values.len();
            write!(
                toml,
                "[buffers.{name}]\ntype = \"u32\"\nlen = {length}\n\
                 init = {{ file = \"{name}.npy\" }}\n"
            )
            .unwrap();
        }
        for (name, length) in
            [("values", columns.len()), ("x", lengths.len()), ("y", lengths.len())]
        {
            write!(toml, "[buffers.{name}]\ntype = \"f32\"\nlen = {length}\ninit = \"zero\"\n")
                .unwrap();
        }
        write!(
            toml,
            "[[launch]]\nkernel = \"scalar\"\ngrid = [{ctas}, 1, 1]\nblock = [{ROWS}, 1, 1]\n\
             shared_bytes = {shared_bytes}\nargs = [\"starts\", \"columns\", \"values\", \"x\", \"y\"]\n"
        )
        .unwrap();
        let path = folder.path().join("m.toml");
        std::fs::write(&path, toml).unwrap();
        let kernel = Kernel::open(path.to_str().unwrap(), &LaunchOptions::default()).unwrap();
        (folder, kernel)
    }
}

//! Nests of loops and loops in several versions (`nests.cu`), against counts worked out by hand
//! from the listings, and against what must hold for any machine code: a product, a multiply-add
//! and a store are executed as often as in the PTX.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Arc;

use gpucast_counters::machine::MachineProfile;
use gpucast_counters::table::BaseTable;
use gpucast_counters::trace::{LaunchTrace, TraceLimits};
use gpucast_counters::{Counter, DeviceModel, Kind};
use gpucast_interpreter::{Argument, DeviceMemory, Launch, Options, Program, Silent, run};
use gpucast_machine::ptxas::{MachineError, attribute, prepare};
use gpucast_ptx_frontend::ScalarType;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};

use super::folder;

pub(super) const TARGETS: [&str; 9] =
    ["sm_50", "sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"];

/// One block of 64 threads of a kernel of `nests.ptx` that was executed.
pub(super) struct Nest {
    pub(super) text: String,
    pub(super) program: Program,
    pub(super) table: BaseTable,
    pub(super) trace: Arc<LaunchTrace>,
}

/// What a kernel is given.
#[derive(Clone, Copy)]
enum Given {
    /// A buffer of 64 KiB of zeros.
    Zeros,
    /// The same with whole numbers from 0 to 8 that repeat irregularly.
    Numbers,
    Integer(i32),
    Float(f32),
}

impl Nest {
    fn new(kernel: &str, given: &[Given]) -> Self {
        let text = fs::read_to_string(folder().join("tests/ptxas/nests.ptx")).unwrap();
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let program = Program::new(&module, &text, kernel).unwrap();
        let mut memory = DeviceMemory::new();
        let mut arguments = Vec::new();
        for (number, one) in given.iter().enumerate() {
            let name = number.to_string();
            arguments.push(match *one {
                Given::Integer(value) => {
                    Argument::Scalar { ty: ScalarType::S32, bits: u64::from(value as u32) }
                }
                Given::Float(value) => {
                    Argument::Scalar { ty: ScalarType::F32, bits: u64::from(value.to_bits()) }
                }
                Given::Zeros => Argument::Address(memory.allocate(&name, 1 << 16).unwrap()),
                Given::Numbers => {
                    let address = memory.allocate(&name, 1 << 16).unwrap();
                    let bytes = memory.bytes_mut(&name).unwrap();
                    for (index, word) in bytes.chunks_exact_mut(4).enumerate() {
                        let number = (index * index + 3 * index) % 11 % 9;
                        word.copy_from_slice(&(number as u32).to_le_bytes());
                    }
                    Argument::Address(address)
                }
            });
        }
        let (grid, block) = ([1, 1, 1], [64, 1, 1]);
        let launch = Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments };
        let bytes = program.static_shared_bytes();
        let mut counter = Counter::new(&program, &launch, bytes, DeviceModel::GTX_480)
            .with_trace(&TraceLimits::default());
        run(&program, &launch, &mut memory, &mut counter, &Options::default(), &Silent).unwrap();
        let profile = counter.finish().0;
        Self { text, program, table: profile.table, trace: profile.trace.unwrap() }
    }

    pub(super) fn image(target: &str) -> Vec<u8> {
        fs::read(folder().join(format!("tests/ptxas/inputs/nests.{target}.cubin"))).unwrap()
    }

    fn count(&self, image: &[u8]) -> Result<MachineProfile, MachineError> {
        let prepared = prepare(&self.text).unwrap();
        attribute(image, "12.9", &prepared, &self.program, &self.table)
    }

    pub(super) fn machine(&self, target: &str) -> MachineProfile {
        self.count(&Self::image(target)).unwrap()
    }

    fn opcode(&self, ptx: u32) -> Opcode {
        self.program.instructions()[ptx as usize].instruction.opcode
    }
}

pub(super) fn kmeans() -> Nest {
    let sizes = [64, 5, 34].map(Given::Integer);
    Nest::new("kmeans", &[&[Given::Zeros; 3][..], &sizes].concat())
}

pub(super) fn breaks(limit: f32) -> Nest {
    let sizes = [Given::Integer(6), Given::Integer(19), Given::Float(limit)];
    Nest::new("breaks", &[&[Given::Zeros; 2][..], &sizes].concat())
}

pub(super) fn early_exit() -> Nest {
    Nest::new("early_exit", &[Given::Zeros, Given::Zeros, Given::Integer(6), Given::Integer(19)])
}

pub(super) fn remainder_loop(rounds: i32) -> Nest {
    Nest::new("remainder_loop", &[Given::Zeros, Given::Zeros, Given::Integer(rounds)])
}

pub(super) fn choices() -> Nest {
    Nest::new("choices", &[Given::Numbers, Given::Zeros, Given::Integer(40)])
}

fn lanes(profile: &MachineProfile) -> u128 {
    profile.rows.iter().map(|row| row.issued_lanes).sum()
}

fn warps(profile: &MachineProfile) -> u128 {
    profile.rows.iter().map(|row| row.warp_executions).sum()
}

#[test]
fn blocks_behind_an_inner_loop_run_as_often_as_the_outer_one() {
    // Read off the listing: 19 instructions outside of the loops; 6 rounds of 15 around the inner
    // loop, and of that 6 instructions up to its break and 4 behind it.
    let outside = 64 * 19;
    let around = 64 * 6 * 15;
    // With a limit below every value each thread leaves the inner loop in its first round.
    let left_at_once = breaks(-1.0).machine("sm_100");
    assert_eq!(lanes(&left_at_once), outside + around + 64 * 6 * 6);
    let never_left = breaks(1.0).machine("sm_100");
    assert_eq!(lanes(&never_left), outside + around + 64 * 6 * 19 * 10);
}

#[test]
fn threads_that_leave_both_loops_are_not_counted_behind_them() {
    // Of 64 threads the first one finds its own number at once; the others go round 6 times 19
    // times. Instructions read off the listing.
    let rounds = 63 * 6 * 19;
    let expected = 64 * 19            // in front of the loops and behind them
        + 4 * (63 * 6 + 1)            // in front of the inner loop
        + 7 * (rounds + 1)            // up to where it is left
        + 7 * rounds
        + 6 * 63 * 6                  // behind the inner loop
        + 63; // a move behind the outer loop
    assert_eq!(lanes(&early_exit().machine("sm_90")), expected);
}

#[test]
fn rounds_fall_on_the_versions_of_an_unrolled_loop_as_its_tests_say() {
    // The PTX goes four rounds at once; ptxas has a version for four of those, one for two, and one
    // for one. Instructions of each part read off the listing: 61, 32, 18.
    let around = 11 + 8 + 8 + 3 + 2 + 2 + 2 + 5;
    // 64 rounds are 4 of the largest version, behind one instruction more.
    assert_eq!(warps(&remainder_loop(64).machine("sm_90")), 2 * (around + 1 + 4 * 61));
    // 13 rounds are one of the second version, one of the last, and one of the PTX's remainder
    // (9 instructions behind 4).
    assert_eq!(warps(&remainder_loop(13).machine("sm_90")), 2 * (around + 32 + 18 + 4 + 9));
}

/// Whether machine code must execute it as often as PTX does.
fn is_kept(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::Fma | Opcode::St)
}

#[test]
fn multiply_adds_and_stores_are_those_of_the_ptx_on_every_architecture() {
    let nests =
        [kmeans(), breaks(1.0), early_exit(), remainder_loop(13), remainder_loop(63), choices()];
    for nest in &nests {
        for target in TARGETS {
            let profile = nest.machine(target);
            let mut found: BTreeMap<u32, u128> = BTreeMap::new();
            for row in &profile.rows {
                let of_ptx = row.instruction.filter(|&ptx| is_kept(nest.opcode(ptx)));
                let works = row.flops.is_some() || row.access.is_some();
                if let Some(ptx) = of_ptx.filter(|_| works && row.mnemonic != "LDC") {
                    *found.entry(ptx).or_default() += row.thread_executions;
                }
            }
            for row in nest.table.rows.iter().filter(|row| is_kept(nest.opcode(row.instruction))) {
                assert_eq!(
                    found.get(&row.instruction).copied().unwrap_or_default(),
                    row.thread_executions,
                    "{} on {target}, line {}",
                    nest.program.kernel(),
                    nest.program.instructions()[row.instruction as usize].line
                );
            }
            assert_eq!(profile.kind, Kind::Modelled, "{target}: {:?}", profile.notes);
        }
    }
}

#[test]
fn the_minimum_of_three_numbers_is_an_integer_instruction() {
    let nest = choices();
    for target in ["sm_90", "sm_100"] {
        let profile = nest.machine(target);
        let minimum = profile.rows.iter().find(|row| row.mnemonic == "VIMNMX3").unwrap();
        assert_eq!(minimum.class, InstructionClass::Integer);
        assert!(minimum.thread_executions > 0);
    }
}

#[test]
fn an_unknown_instruction_counts_like_its_neighbours_and_is_told_of() {
    let nest = choices();
    let mut image = Nest::image("sm_90");
    let known = nest.count(&image).unwrap();
    // The only instruction with opcode 0x00f gets 0x00e, which no table has.
    let minimum: Vec<usize> =
        (0..image.len() - 16).step_by(16).filter(|&at| image[at..at + 2] == [0x0f, 0x72]).collect();
    assert_eq!(minimum.len(), 1);
    image[minimum[0]] = 0x0e;
    let assumed = nest.count(&image).unwrap();
    let integer = |profile: &MachineProfile| -> u128 {
        let rows = profile.rows.iter().filter(|row| row.class == InstructionClass::Integer);
        rows.map(|row| row.thread_executions).sum()
    };
    assert_eq!(integer(&assumed), integer(&known));
    assert_eq!(warps(&assumed), warps(&known));
    let note = assumed.notes.iter().find(|note| note.contains("0x00e")).unwrap();
    assert!(note.contains("1 instructions") && note.contains("integer"), "{note}");
}

#[test]
fn counts_that_contradict_the_ptx_are_not_passed_off_as_modelled() {
    let mut nest = breaks(1.0);
    // What stands behind the inner loop ran as often as the inner loop: no flow explains it.
    let divided = |opcode| matches!(opcode, Opcode::Fma);
    let line = nest.table.rows.iter().position(|row| divided(nest.opcode(row.instruction)));
    let line = line.unwrap();
    for near in line - 1..=line + 1 {
        nest.table.rows[near].issued_lanes *= 19;
        nest.table.rows[near].thread_executions *= 19;
    }
    match nest.count(&Nest::image("sm_100")) {
        Err(MachineError::Contradiction { .. } | MachineError::Unsolved { .. }) => {}
        Ok(profile) => assert_eq!(profile.kind, Kind::Estimated, "{:?}", profile.notes),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn the_uniform_datapath_executes_for_no_thread() {
    let profile = breaks(1.0).machine("sm_100");
    let of_warps = |name: &str| name.starts_with('U') || name == "LDCU";
    let uniform: Vec<_> = profile.rows.iter().filter(|row| of_warps(&row.mnemonic)).collect();
    assert!(uniform.len() >= 5);
    for row in uniform {
        assert_eq!(row.thread_executions, 0, "{}", row.mnemonic);
        assert!(row.warp_executions > 0);
    }
}

//! Machine code that `ptxas` made of the corpus's PTX, counted without it: the cubins are
//! committed (`regenerate.py` makes them).

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests may fail as tests do; clippy.toml only allows it inside #[test]"
)]

mod atomics;
mod nests;
mod schedule;
mod tiles;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use gpucast_counters::Kind;
use gpucast_counters::attribution::spills;
use gpucast_counters::machine::{BackEnd, MachineProfile, MachineRow};
use gpucast_counters::operation::{FlopKind, Precision};
use gpucast_counters::table::{BaseTable, Row};
use gpucast_counters::trace::{LaunchTrace, TraceLimits};
use gpucast_counters::{Counter, DeviceModel};
use gpucast_interpreter::{
    AccessKind, Argument, DeviceMemory, Launch, Options, Program, Silent, run,
};
use gpucast_machine::ptxas::{attribute, known_accesses, prepare};
use gpucast_ptx_frontend::ScalarType;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()
}

/// A kernel of the corpus that was executed.
struct Executed {
    text: String,
    program: Program,
    table: BaseTable,
    trace: Arc<LaunchTrace>,
}

impl Executed {
    /// Runs a kernel of the corpus, or of this folder where it is empty, with buffers of `bytes`,
    /// zeroed, and one last argument if it has one.
    fn new(
        corpus: &str,
        ptx: &str,
        kernel: &str,
        grid: [u32; 3],
        block: [u32; 3],
        bytes: &[u64],
        last: i32,
    ) -> Self {
        Self::with_numbers(corpus, ptx, kernel, [grid, block], bytes, &[last])
    }

    /// The same with several numbers behind the buffers, as many as the kernel has parameters for.
    fn with_numbers(
        corpus: &str,
        ptx: &str,
        kernel: &str,
        [grid, block]: [[u32; 3]; 2],
        bytes: &[u64],
        numbers: &[i32],
    ) -> Self {
        let path = match corpus {
            "" => folder().join(format!("tests/ptxas/{ptx}.ptx")),
            _ => folder().join(format!("../corpus/kernels/{corpus}/{ptx}.ptx")),
        };
        let text = fs::read_to_string(path).unwrap();
        let module = gpucast_ptx_frontend::load(&text).unwrap();
        let program = Program::new(&module, &text, kernel).unwrap();
        let mut memory = DeviceMemory::new();
        let mut arguments: Vec<Argument> = bytes
            .iter()
            .enumerate()
            .map(|(index, &bytes)| {
                Argument::Address(memory.allocate(&index.to_string(), bytes).unwrap())
            })
            .collect();
        let left = program.parameters().len() - arguments.len();
        let number = |&number: &i32| Argument::Scalar {
            ty: ScalarType::S32,
            bits: u64::from(number as u32),
        };
        arguments.extend(numbers.iter().take(left).map(number));
        let launch = Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments };
        let mut counter =
            Counter::new(&program, &launch, program.static_shared_bytes(), DeviceModel::GTX_480)
                .with_trace(&TraceLimits::default());
        run(&program, &launch, &mut memory, &mut counter, &Options::default(), &Silent).unwrap();
        let profile = counter.finish().0;
        Self { text, program, table: profile.table, trace: profile.trace.unwrap() }
    }

    /// The machine code for an architecture.
    fn machine(&self, input: &str) -> MachineProfile {
        let image = fs::read(folder().join(format!("tests/ptxas/inputs/{input}.cubin"))).unwrap();
        let prepared = prepare(&self.text).unwrap();
        attribute(&image, "12.9", &prepared, &self.program, &self.table).unwrap()
    }
}

fn threads(profile: &MachineProfile, class: InstructionClass) -> u128 {
    let rows = profile.rows.iter().filter(|row| row.class == class);
    rows.map(|row| row.thread_executions).sum()
}

fn warps(profile: &MachineProfile) -> u128 {
    profile.rows.iter().map(|row| row.warp_executions).sum()
}

fn fmas(profile: &MachineProfile) -> u128 {
    let rows = profile.rows.iter().filter(|row| {
        row.flops.is_some_and(|f| (f.precision, f.kind) == (Precision::Single, FlopKind::Fma))
    });
    rows.map(|row| row.thread_executions).sum()
}

/// Thesis, table 4.9: 1280 × 640 by 640 × 640 in tiles of 32 × 32.
const MEASURED_LD_ST: u128 = 721_715_200;
const MEASURED_FMA: u128 = 524_288_000;
const MEASURED_WARPS: u128 = 46_208_000;
/// Of Fermi.
const MEASURED_INTEGER: u128 = 164_659_200;

fn sgemm(ptx: &str) -> Executed {
    let bytes = [3_276_800, 1_638_400, 3_276_800];
    Executed::new("sgemm", ptx, "sgemm", [20, 40, 1], [32, 32, 1], &bytes, 640)
}

#[test]
fn sgemm_has_the_loads_stores_and_multiply_adds_that_nvprof_measured() {
    let executed = sgemm("sm_35");
    for (target, registers) in [("sm_35", 26), ("sm_50", 28), ("sm_70", 32)] {
        let profile = executed.machine(&format!("sgemm.{target}"));
        assert_eq!(profile.back_end, BackEnd::Ptxas { version: "12.9".to_owned() });
        assert_eq!(
            (profile.target.as_str(), profile.registers_per_thread),
            (target, Some(registers))
        );
        assert_eq!(threads(&profile, InstructionClass::LoadStore), MEASURED_LD_ST, "{target}");
        assert_eq!(fmas(&profile), MEASURED_FMA, "{target}");
        let ratio = warps(&profile) as f64 / MEASURED_WARPS as f64;
        assert!((0.92..=1.08).contains(&ratio), "inst_executed on {target} is {ratio} of nvprof's");
        // Addresses take fewer instructions than on Fermi; docs/evidence/validation.md says why.
        let ratio = threads(&profile, InstructionClass::Integer) as f64 / MEASURED_INTEGER as f64;
        assert!((0.55..=0.75).contains(&ratio), "inst_integer on {target} is {ratio} of nvprof's");
        assert!(profile.notes.is_empty(), "{:?}", profile.notes);
    }
}

#[test]
fn newer_machines_do_the_same_arithmetic() {
    let executed = sgemm("sm_80");
    for target in ["sm_80", "sm_90", "sm_120"] {
        let profile = executed.machine(&format!("sgemm.{target}"));
        assert_eq!(fmas(&profile), MEASURED_FMA, "{target}");
        let constants: u128 = profile
            .rows
            .iter()
            .filter(|row| row.mnemonic == "LDC")
            .map(|row| row.thread_executions)
            .sum();
        // From sm_90 on parameters are loaded by instructions.
        assert_eq!(threads(&profile, InstructionClass::LoadStore) - constants, MEASURED_LD_ST);
        assert_eq!(constants > 0, target != "sm_80", "{target}");
    }
}

#[test]
fn an_unrolled_loop_counts_every_round_once() {
    // Table 6.4's kernel: ptxas unrolls its loop of 40 tiles four times and keeps a loop for what
    // is left of other sizes. 961 loads and stores of each thread follow from its code.
    let bytes = [3_276_800, 1_638_400, 3_276_800];
    let executed =
        Executed::new("sgemm-16", "sm_35", "sgemm_16", [40, 80, 1], [16, 16, 1], &bytes, 640);
    let profile = executed.machine("sgemm-16.sm_50");
    assert_eq!(threads(&profile, InstructionClass::LoadStore), 961 * 819_200);
    assert_eq!(fmas(&profile), MEASURED_FMA);
    // 10 rounds of the unrolled loop with 8 barriers each, and none of the other.
    let barriers: Vec<u128> = profile
        .rows
        .iter()
        .filter(|row| row.mnemonic == "BAR")
        .map(|row| row.warp_executions)
        .collect();
    assert_eq!(barriers, [10 * 25_600; 8]);
}

#[test]
fn a_loop_whose_body_a_predicate_guards_runs_as_often_as_its_own_lines_say() {
    // 16 rows of 22 pixels, and a disc of 25 by 25. A pixel looks at the rows that the image has,
    // and of each at six times four columns. The machine's loop is one block: predicates guard the
    // loads, which run for the columns alone that the disc covers.
    let (rows, columns) = (16, 22);
    let bytes = [4 * 352, 4 * 352];
    let numbers = [rows, columns, 25, 25];
    let launch = [[2, 1, 1], [176, 1, 1]];
    let executed = Executed::with_numbers(
        "leukocyte-dilate",
        "sm_80",
        "leukocyte_dilate",
        launch,
        &bytes,
        &numbers,
    );
    let looked_at = |row: i32| (row + 12).min(rows - 1) - (row - 12).max(0) + 1;
    let rounds = 6 * 22 * (0..rows).map(looked_at).sum::<i32>() as u128;
    let profile = executed.machine("leukocyte-dilate.sm_90");
    let issued = |mnemonic| {
        let rows = profile.rows.iter().filter(move |row| row.mnemonic == mnemonic);
        rows.map(|row| row.issued_lanes).collect()
    };
    // Four loads of the loop, and one of three behind it for the columns that are left.
    let loads: Vec<u128> = issued("LDG");
    assert_eq!(loads[..4], [rounds; 4]);
    assert_eq!(loads.len(), 5);
    // In front of the loop a block sets it up, once for each row that a pixel looks at.
    let before = profile.rows.iter().filter(|row| 6 * row.issued_lanes == rounds).count();
    assert!(before > 8, "{before}");
}

#[test]
fn threads_that_leave_early_are_not_counted_behind() {
    // 1000 elements by 1024 threads: 24 of them leave at once.
    let bytes = [4000, 4000, 4000];
    let executed =
        Executed::new("vector-add", "sm_35", "vector_add", [4, 1, 1], [256, 1, 1], &bytes, 1000);
    let rows = &executed.table.rows;
    assert!(rows.iter().any(|row| row.issued_lanes == 1000));
    let profile = executed.machine("vector-add.sm_50");
    let stores: Vec<_> = profile.rows.iter().filter(|row| row.mnemonic == "STG").collect();
    assert_eq!(stores.len(), 1);
    assert_eq!((stores[0].thread_executions, stores[0].warp_executions), (1000, 32));
}

/// Two blocks of 64 threads of a kernel of `paths.ptx`.
fn paths(kernel: &str) -> Executed {
    Executed::new("", "paths", kernel, [2, 1, 1], [64, 1, 1], &[4096], 0)
}

#[test]
fn the_rare_path_of_a_division_is_not_entered() {
    let executed = paths("divide");
    for target in ["sm_35", "sm_50", "sm_70"] {
        let profile = executed.machine(&format!("paths.{target}"));
        let called = profile.rows.iter().filter(|row| row.mnemonic.starts_with("CAL"));
        assert_eq!(called.count(), 0, "{target}");
        // A reciprocal, five multiply-adds of Newton's method and its check, once each.
        assert_eq!(threads(&profile, InstructionClass::Fp32), 7 * 128, "{target}");
        assert!(profile.notes.iter().any(|note| note.contains("rare paths")), "{target}");
    }
}

#[test]
fn predicated_instructions_have_the_warps_of_their_block_and_the_threads_of_the_branch() {
    let executed = paths("choose");
    for target in ["sm_35", "sm_50", "sm_70"] {
        let profile = executed.machine(&format!("paths.{target}"));
        let row = |row: &&MachineRow| {
            row.instruction.is_some_and(|index| {
                let instruction = &executed.program.instructions()[index as usize].instruction;
                instruction.opcode == Opcode::Xor
            })
        };
        let rows: Vec<&MachineRow> = profile.rows.iter().filter(row).collect();
        let [xor] = rows[..] else { panic!("{target}: {rows:?}") };
        // Of threads 0 to 63 of each block 22 are divisible by 3; all pass by.
        assert_eq!((xor.warp_executions, xor.issued_lanes, xor.thread_executions), (4, 128, 44));
    }
}

#[test]
fn copies_of_a_loop_add_up_to_its_rounds() {
    // Thread i goes round i times; ptxas makes loops of four, two and one round of it.
    let executed = paths("uneven");
    for target in ["sm_35", "sm_50", "sm_70"] {
        let profile = executed.machine(&format!("paths.{target}"));
        let loads: u128 = profile
            .rows
            .iter()
            .filter(|row| row.access.is_some_and(|access| access.kind == AccessKind::Load))
            .map(|row| row.thread_executions)
            .sum();
        assert_eq!(loads, 2 * (63 * 64 / 2), "{target}");
        // No block outside of a loop runs more often than there are threads.
        let last = profile.rows.iter().rfind(|row| row.mnemonic == "EXIT").unwrap();
        assert_eq!((last.thread_executions, last.warp_executions), (128, 4), "{target}");
    }
}

/// The last round of an unrolled loop stands behind it under a predicate, without a branch of its
/// own. Its executions are fewer than those of its block.
#[test]
fn the_last_round_under_a_predicate_runs_if_one_is_left() {
    let threads = 2 * 256;
    for target in ["sm_70", "sm_80"] {
        for n in [1_u64, 2, 3, 4, 7, 1021, 1022, 1023, 1024] {
            let bytes = [4 * 32 * n, 4 * 512];
            let executed = Executed::new(
                "",
                "remainder",
                "remainder",
                [2, 1, 1],
                [16, 16, 1],
                &bytes,
                n as i32,
            );
            let n = u128::from(n);
            let profile = executed.machine(&format!("remainder.{target}"));
            let of = |mnemonic: &str| -> Vec<u128> {
                let rows = profile.rows.iter().filter(|row| row.mnemonic == mnemonic);
                rows.map(|row| row.thread_executions / threads).collect()
            };
            // The code asks for more than three, then for more than one, then for any.
            // Blocks that do not run have no rows.
            let in_blocks = [n / 4; 4].into_iter().chain([n % 4 / 2; 2]);
            let expected: Vec<u128> = in_blocks.filter(|&rounds| rounds > 0).collect();
            for mnemonic in ["LDG", "FADD"] {
                let mut found = of(mnemonic);
                assert_eq!(found.pop(), Some(n % 2), "{mnemonic} of {n} rounds on {target}");
                assert_eq!(found, expected, "{mnemonic} of {n} rounds on {target}");
            }
            assert_eq!(profile.kind, Kind::Modelled);
        }
    }
}

/// A sum of tables, each as many times as its factor.
fn sum_of(tables: &[(&BaseTable, u128)]) -> BaseTable {
    let mut sum = tables[0].0.clone();
    for (at, row) in sum.rows.iter_mut().enumerate() {
        let of = |count: fn(&Row) -> u128| {
            tables.iter().map(|(table, factor)| count(&table.rows[at]) * factor).sum()
        };
        row.warp_executions = of(|row| row.warp_executions);
        row.issued_lanes = of(|row| row.issued_lanes);
        row.thread_executions = of(|row| row.thread_executions);
    }
    sum
}

#[test]
fn counts_beyond_53_bits_are_exact_up_to_a_common_factor() {
    let counts = |profile: &MachineProfile| {
        let row = |row: &MachineRow| [row.warp_executions, row.issued_lanes, row.thread_executions];
        profile.rows.iter().map(row).collect::<Vec<_>>()
    };
    let executed = sgemm_small();
    let one = executed.machine("sgemm.sm_70");
    for factor in [1 << 70, 3_u128.pow(50), 10_u128.pow(20) + 7] {
        let table = sum_of(&[(&executed.table, factor)]);
        let all = Executed { table, ..sgemm_small() }.machine("sgemm.sm_70");
        assert_eq!((all.kind, &all.notes), (one.kind, &one.notes), "{factor}");
        let expected: Vec<_> =
            counts(&one).into_iter().map(|row| row.map(|count| count * factor)).collect();
        assert_eq!(counts(&all), expected, "{factor}");
    }
    // Without a factor they are rounded, and say so: here one loop has a round more.
    let bytes = [3_276_800, 1_638_400, 3_276_800];
    let longer = Executed::new("sgemm", "sm_35", "sgemm", [1, 1, 1], [32, 32, 1], &bytes, 96);
    let (other, factor) = (longer.machine("sgemm.sm_70"), (1_u128 << 70) + 1);
    let table = sum_of(&[(&executed.table, factor), (&longer.table, 1)]);
    let all = Executed { table, ..sgemm_small() }.machine("sgemm.sm_70");
    assert_eq!(all.kind, Kind::Estimated);
    assert!(all.notes.iter().any(|note| note.contains("rounded to 53 bits")), "{:?}", all.notes);
    let largest = counts(&all).into_iter().flatten().max().unwrap();
    for ((found, one), other) in counts(&all).iter().zip(counts(&one)).zip(counts(&other)) {
        for ((&found, one), other) in found.iter().zip(one).zip(other) {
            let expected = one * factor + other;
            let apart = found.abs_diff(expected);
            assert!(apart as f64 <= largest as f64 * 1e-12, "{found} {expected}");
        }
    }
}

#[test]
fn code_of_another_text_is_not_attributed() {
    let executed = sgemm_small();
    let image = fs::read(folder().join("tests/ptxas/inputs/lmsor.sm_50.cubin")).unwrap();
    let prepared = prepare(&executed.text).unwrap();
    let error = attribute(&image, "", &prepared, &executed.program, &executed.table).unwrap_err();
    assert_eq!(error.to_string(), "the machine code has no kernel named sgemm");
}

/// One tile.
fn sgemm_small() -> Executed {
    Executed::new("sgemm", "sm_35", "sgemm", [1, 1, 1], [32, 32, 1], &[4096, 4096, 4096], 32)
}

#[test]
fn local_memory_is_in_registers_if_machine_code_has_no_access_to_it() {
    let text = fs::read_to_string(folder().join("tests/ptxas/locals.ptx")).unwrap();
    let module = gpucast_ptx_frontend::load(&text).unwrap();
    let image = fs::read(folder().join("tests/ptxas/inputs/locals.sm_80.cubin")).unwrap();
    let prepared = prepare(&text).unwrap();
    let found = |kernel: &str| {
        let program = Program::new(&module, &text, kernel).unwrap();
        let found = known_accesses(&image, &prepared, &program).unwrap().local_in_registers;
        let opcode = |index: u32| program.instructions()[index as usize].instruction.opcode;
        found.into_iter().map(opcode).collect::<Vec<_>>()
    };
    assert_eq!(found("registers"), [Opcode::St, Opcode::St, Opcode::Ld, Opcode::Ld]);
    assert!(found("memory").is_empty());
}

/// A shuffle has a second path for warps whose lanes came apart (`BRA.DIV`), which whole warps stay
/// out of. Its instructions have other bits than those of the first path.
#[test]
fn lanes_that_came_apart_have_a_path_of_their_own_for_shuffles() {
    let executed = Executed::new("", "shuffles", "k", [2, 1, 1], [64, 1, 1], &[512], 0);
    let profile = executed.machine("shuffles.sm_90");
    let of = |mnemonic: &str| -> u128 {
        let rows = profile.rows.iter().filter(|row| row.mnemonic == mnemonic);
        rows.map(|row| row.warp_executions).sum()
    };
    assert_eq!((of("SHFL"), of("ENDCOLLECTIVE")), (2 * 3, 0));
    assert_eq!(profile.kind, Kind::Modelled);
}

/// `ptxas` gives spills the lines of whatever stands near them: `mov`, `bra`, other loads.
#[test]
fn spills_stand_for_what_computes_and_reads_the_value() {
    let executed = Executed::new("", "spills", "spills", [1, 1, 1], [64, 1, 1], &[4096, 256], 2);
    let profile = executed.machine("spills.sm_80");
    let opcode = |row: &MachineRow| {
        let index = row.instruction.unwrap() as usize;
        executed.program.instructions()[index].instruction.opcode
    };
    let of = |mnemonic: &str| -> Vec<&MachineRow> {
        profile.rows.iter().filter(|row| row.mnemonic == mnemonic).collect()
    };
    let (stores, loads) = (of("STL"), of("LDL"));
    assert!(stores.len() > 4 && loads.len() > 4, "{} {}", stores.len(), loads.len());
    // Values are loaded, or results of the loop; its counter begins at zero.
    let computes =
        |row: &&MachineRow| matches!(opcode(row), Opcode::Ld | Opcode::Fma | Opcode::Mov);
    assert_eq!(stores.iter().find(|row| !computes(row)), None);
    // The loop and the sum behind it read them.
    let reads = |row: &&MachineRow| matches!(opcode(row), Opcode::Ld | Opcode::Fma | Opcode::Add);
    assert_eq!(loads.iter().find(|row| !reads(row)), None);
    let spilled: u128 = spills(&executed.table, &profile).values().sum();
    let issued = stores.iter().chain(&loads).map(|row| row.warp_executions).sum::<u128>();
    assert_eq!(spilled, issued);
}

/// Copies of an unrolled loop spill different values: how many spills a copy has says nothing of
/// how often it runs. Two warps make 32 rounds of 24 additions.
#[test]
fn spills_do_not_hide_that_a_loop_was_unrolled() {
    let executed = Executed::new("", "spilled-rounds", "k", [1, 1, 1], [64, 1, 1], &[6144, 256], 0);
    let profile = executed.machine("spilled-rounds.sm_80");
    let of = |mnemonic: &str| -> u128 {
        let rows = profile.rows.iter().filter(|row| row.mnemonic == mnemonic);
        rows.map(|row| row.warp_executions).sum()
    };
    assert_eq!(of("FFMA"), 2 * 32 * 24);
    assert!(of("STL") > 0 && of("LDL") > 0);
}

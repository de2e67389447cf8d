//! The back end `rules` against published counts and against machine code that `ptxas` made.
//!
//! The dynamic counts of the corpus are in `tests/ptxas/*.counts`: for each kernel, ranges of PTX
//! lines with the executions by warps and by threads, as `gpucast profile --by line` gives them
//! (the example `machine_rules --ranges` writes the form). `corpus-small.ptxas` holds what the back
//! end `ptxas` finds in the code that `ptxas` 12.9 makes of the same PTX: `inst_executed` and
//! `ldst_executed`. `against_ptxas.py` writes it. The same of kernels that the rules were not made
//! for is in `holdout.tar`, with their PTX, and in `holdout.ptxas`; `holdout.py` writes both.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

#[path = "../../../tests/archive/mod.rs"]
mod archive;
mod registers;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::LazyLock;

use gpucast_counters::machine::architecture::Architecture;
use gpucast_counters::machine::{MachineProfile, MachineRow};
use gpucast_counters::operation::{FlopKind, Precision};
use gpucast_counters::table::{BaseTable, Description, Row};
use gpucast_interpreter::Program;
use gpucast_machine::rules::translate;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};

const SMALL: &str = include_str!("../ptxas/corpus-small.counts");
const THESIS: &str = include_str!("../ptxas/thesis.counts");
const THESIS_2017: &str = include_str!("../ptxas/thesis-2017.counts");
const PTXAS: &str = include_str!("../ptxas/corpus-small.ptxas");
const HOLDOUT_PTXAS: &str = include_str!("../ptxas/holdout.ptxas");

/// The PTX of the hold-out kernels and `holdout.counts`, by the names of files.
static HOLDOUT: LazyLock<BTreeMap<String, String>> =
    LazyLock::new(|| archive::texts("tests/ptxas/holdout.tar"));

/// One kernel of a file of counts.
struct Counted {
    name: String,
    program: Program,
    table: BaseTable,
}

/// The kernel `name` of a file of counts of the PTX for sm_35.
fn counted(counts: &str, name: &str) -> Counted {
    counted_of(counts, "sm_35", name)
}

/// The same for the PTX for another target.
fn counted_of(counts: &str, ptx: &str, name: &str) -> Counted {
    let lines = counts.lines().skip_while(|line| !line.starts_with(&format!("[{name} ")));
    let header = lines.clone().next().unwrap();
    let mut words = header.trim_matches(['[', ']']).split(' ').skip(1);
    let (family, kernel) = (words.next().unwrap(), words.next().unwrap());
    let text = text_of(&format!("../corpus/kernels/{family}/{ptx}.ptx"));
    counted_in(&text, name, kernel, lines.skip(1))
}

/// A file in the folder of this crate.
fn text_of(path: &str) -> String {
    std::fs::read_to_string(format!("{}/{path}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The kernel of a module, counted in the lines up to the next header: ranges of lines of PTX,
/// executions by warps, lanes that they were issued for if those differ, and executions by threads.
fn counted_in<'l>(
    text: &str,
    name: &str,
    kernel: &str,
    lines: impl Iterator<Item = &'l str>,
) -> Counted {
    let module = gpucast_ptx_frontend::load(text).unwrap();
    let program = Program::new(&module, text, kernel).unwrap();
    let ranges: Vec<Vec<u128>> = lines
        .take_while(|line| !line.starts_with('['))
        .map(|line| line.split(' ').map(|word| word.parse().unwrap()).collect())
        .collect();
    let row = |(index, instruction)| {
        let description = Description::of(instruction);
        let line = u128::from(description.line);
        let range = ranges.iter().find(|range| (range[0]..=range[1]).contains(&line));
        let [warps, lanes, threads] = match *range.map_or(&[][..], |range| &range[2..]) {
            [warps, lanes, threads] => [warps, lanes, threads],
            [warps, threads] => [warps, threads, threads],
            _ => [0; 3],
        };
        Row {
            instruction: index,
            description,
            warp_executions: warps,
            issued_lanes: lanes,
            thread_executions: threads,
            branch: None,
            memory: Vec::new(),
            products: Vec::new(),
        }
    };
    let table = BaseTable { rows: (0..).zip(program.instructions()).map(row).collect() };
    Counted { name: name.to_owned(), program, table }
}

impl Counted {
    fn on(&self, target: &str) -> MachineProfile {
        translate(target.parse::<Architecture>().unwrap(), &self.program, &self.table)
    }
}

fn warps(profile: &MachineProfile) -> u128 {
    profile.rows.iter().map(|row| row.warp_executions).sum()
}

fn threads(profile: &MachineProfile, class: InstructionClass) -> u128 {
    let rows = profile.rows.iter().filter(|row| row.class == class);
    rows.map(|row| row.thread_executions).sum()
}

/// Loads and stores but those of constants, which older machine code has as operands.
fn accesses(profile: &MachineProfile) -> impl Iterator<Item = &MachineRow> {
    let is_one =
        |row: &&MachineRow| row.class == InstructionClass::LoadStore && row.mnemonic != "LDC";
    profile.rows.iter().filter(is_one)
}

fn access_warps(profile: &MachineProfile) -> u128 {
    accesses(profile).map(|row| row.warp_executions).sum()
}

fn access_threads(profile: &MachineProfile) -> u128 {
    accesses(profile).map(|row| row.thread_executions).sum()
}

fn multiply_adds(profile: &MachineProfile, precision: Precision) -> u128 {
    let rows = profile.rows.iter().filter(|row| {
        row.flops.is_some_and(|flops| (flops.precision, flops.kind) == (precision, FlopKind::Fma))
    });
    rows.map(|row| row.thread_executions).sum()
}

/// How far `found` is from `expected`.
fn deviation(found: u128, expected: u128) -> f64 {
    found as f64 / expected as f64 - 1.0
}

/// Konstantinidis 2017, table 4.9.
#[test]
fn sgemm_on_fermi_is_near_the_published_counts() {
    let sgemm = counted(THESIS, "sgemm");
    for target in ["sm_20", "sm_35", "sm_50", "sm_60", "sm_70", "sm_80", "sm_90", "sm_120"] {
        let profile = sgemm.on(target);
        assert_eq!(access_threads(&profile), 721_715_200, "{target}");
        assert_eq!(multiply_adds(&profile, Precision::Single), 524_288_000, "{target}");
        assert_eq!(threads(&profile, InstructionClass::Fp32), 524_288_000, "{target}");
    }
    let fermi = sgemm.on("sm_20");
    assert!(deviation(warps(&fermi), 46_208_000).abs() < 0.15);
}

/// The same, of the PTX that a compiler of the thesis's year writes, which computes both addresses
/// in each tile as the compiler of the measured kernel must have done.
#[test]
fn sgemm_of_its_time_has_the_published_instructions() {
    let fermi = counted_of(THESIS_2017, "sm_30", "sgemm").on("sm_20");
    assert_eq!(warps(&fermi), 46_208_000);
    assert_eq!(threads(&fermi, InstructionClass::LoadStore), 721_715_200);
    assert_eq!(multiply_adds(&fermi, Precision::Single), 524_288_000);
    assert!(deviation(threads(&fermi, InstructionClass::Integer), 164_659_200).abs() < 0.30);
}

/// Konstantinidis 2017, table 4.4: averages of one of the four iterations that were counted.
#[test]
fn sor_on_fermi_is_near_the_published_counts() {
    let fermi = counted(THESIS, "sor-red-black").on("sm_20");
    assert_eq!(threads(&fermi, InstructionClass::LoadStore), 4 * 303_079_424);
    assert_eq!(multiply_adds(&fermi, Precision::Double), 4 * 33_554_432);
    assert!(deviation(warps(&fermi), 4 * 56_100_732).abs() < 0.15);
    assert!(deviation(threads(&fermi, InstructionClass::Integer), 4 * 736_891_392).abs() < 0.30);
}

/// Every metric of the thesis that counts instructions, and how far the rules for Fermi are.
#[test]
fn deviations_from_the_published_counts() {
    use InstructionClass as C;
    let published = [
        ("sgemm", 1, [46_208_000, 164_659_200, 721_715_200, 524_288_000, 0]),
        ("sgemm-16", 1, [54_272_000, 0, 787_251_200, 524_288_000, 0]),
        ("sor-red-black", 4, [56_100_732, 736_891_392, 303_079_424, 0, 218_107_904]),
        ("lmsor", 4, [18_433_804, 184_601_469, 93_107_518, 0, 132_964_096]),
    ];
    let metrics =
        ["inst_executed", "inst_integer", "inst_compute_ld_st", "inst_fp_32", "inst_fp_64"];
    let mut text = String::new();
    let ptx = [(THESIS, "sm_35"), (THESIS_2017, "sm_30")];
    let rows = ptx.iter().flat_map(|ptx| published.map(|row| (ptx, row)));
    for ((counts, ptx), (name, invocations, published)) in rows {
        let profile = counted_of(counts, ptx, name).on("sm_20");
        let found = [
            warps(&profile),
            threads(&profile, C::Integer),
            threads(&profile, C::LoadStore),
            threads(&profile, C::Fp32),
            threads(&profile, C::Fp64),
        ];
        for ((metric, published), found) in metrics.iter().zip(published).zip(found) {
            if published == 0 {
                continue;
            }
            let found = found / invocations;
            let percent = 100.0 * deviation(found, published);
            let row = format!("| {name} | {ptx} | `{metric}` | {published} | {found} |");
            writeln!(text, "{row} {percent:+.1} % |").unwrap();
        }
    }
    insta::assert_snapshot!(text);
}

/// The rules against machine code, over the whole corpus.
#[test]
fn deviations_from_ptxas() {
    let targets = ["sm_50", "sm_70", "sm_80", "sm_90"];
    let mut text = String::new();
    let mut of_target = vec![Vec::new(); targets.len()];
    let names = SMALL.lines().filter_map(|line| line.strip_prefix('['));
    let names: Vec<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    assert!(names.len() >= 40);
    for name in names {
        let kernel = counted(SMALL, name);
        write!(text, "| {} |", kernel.name).unwrap();
        for (target, deviations) in targets.iter().zip(&mut of_target) {
            let numbers = ptxas(PTXAS, name, target);
            let profile = kernel.on(target);
            let instructions = deviation(warps(&profile), numbers[0]);
            let accesses = deviation(access_warps(&profile), numbers[1]);
            deviations.push(instructions.abs());
            write!(text, " {:+.1} % / {:+.1} % |", 100.0 * instructions, 100.0 * accesses).unwrap();
            assert!(instructions.abs() < 0.25, "{name} {target} {instructions}");
        }
        text.push('\n');
    }
    text.push_str("| median, worst |");
    for deviations in &mut of_target {
        deviations.sort_by(f64::total_cmp);
        let median = deviations[deviations.len() / 2];
        let worst = deviations[deviations.len() - 1];
        write!(text, " {:.1} %, {:.1} % |", 100.0 * median, 100.0 * worst).unwrap();
        assert!(median < 0.10);
    }
    insta::assert_snapshot!(text);
}

/// The metrics of `holdout.ptxas`, of a profile by the rules.
fn metrics(profile: &MachineProfile) -> [u128; 10] {
    use InstructionClass as C;
    let classes = [C::Integer, C::Fp16, C::Fp32, C::Fp64, C::BitConvert, C::Control, C::Misc];
    let mut found = [0; 10];
    found[0] = warps(profile);
    found[1] = access_warps(profile);
    for (found, class) in found[2..].iter_mut().zip(classes) {
        *found = threads(profile, class);
    }
    found[9] = threads(profile, C::LoadStore);
    found
}

/// A deviation and the kernel that has it.
type Deviation<'a> = (f64, &'a str);

/// Kernels such as users write. Nothing was done for the half that is called `kept`; with a view of
/// the other half the rules were improved.
#[test]
fn deviations_of_kernels_that_users_might_write() {
    let targets = ["sm_50", "sm_70", "sm_80", "sm_90"];
    let mut lines = HOLDOUT_PTXAS.lines();
    let names: Vec<&str> = lines.next().unwrap().split(' ').skip(3).collect();
    // By half, target and metric, the deviations of all kernels.
    let mut all: BTreeMap<(&str, &str, usize), Vec<Deviation<'_>>> = BTreeMap::new();
    let mut rows: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for line in lines {
        let words: Vec<&str> = line.split(' ').collect();
        let (name, half, target) = (words[0], words[1], words[2]);
        let expected: Vec<u128> = words[3..].iter().map(|word| word.parse().unwrap()).collect();
        let found = metrics(&held_out(name, target).on(target));
        for (metric, (&found, &expected)) in found.iter().zip(&expected).enumerate() {
            let found = if found == expected { 0.0 } else { deviation(found, expected) };
            all.entry((half, target, metric)).or_default().push((found, name));
        }
        let [instructions, accesses] =
            [0, 1].map(|index| 100.0 * deviation(found[index], expected[index]));
        let row = rows.entry((half, name)).or_default();
        write!(row, " {instructions:+.1} % / {accesses:+.1} % |").unwrap();
    }
    let mut text = String::new();
    for half in ["tuned", "kept"] {
        writeln!(text, "| {half} | {} |", targets.join(" | ")).unwrap();
        for (metric, name) in names.iter().enumerate() {
            write!(text, "| {name} |").unwrap();
            for target in targets {
                let mut of_kernels = all[&(half, target, metric)].clone();
                of_kernels.sort_by(|a, b| a.0.abs().total_cmp(&b.0.abs()));
                let median = 100.0 * of_kernels[of_kernels.len() / 2].0.abs();
                let (worst, kernel) = of_kernels[of_kernels.len() - 1];
                write!(text, " {median:.1} %, {:+.1} % {kernel} |", 100.0 * worst).unwrap();
                assert!(metric > 0 || median < 10.0, "{half} {target}");
            }
            text.push('\n');
        }
    }
    for ((half, name), row) in rows {
        writeln!(text, "| {half} | {name} |{row}").unwrap();
    }
    insta::assert_snapshot!(text);
}

/// A hold-out kernel, by the PTX for its target: that for the nearest older one where the rest of
/// it is the same.
fn held_out(name: &str, target: &str) -> Counted {
    let counts = &HOLDOUT["holdout.counts"];
    let sections = || counts.split('[').skip(1).filter(|s| s.starts_with(&format!("{name} ")));
    let of = |section: &&str| {
        let ptx = section.lines().next().unwrap().split([' ', ']']).nth(1).unwrap().to_owned();
        let of_target: u32 = ptx.rsplit('_').next().unwrap().parse().unwrap();
        (of_target <= target[3..].parse().unwrap()).then_some(ptx)
    };
    let (ptx, section) = sections().filter_map(|s| Some((of(&s)?, s))).last().unwrap();
    let text = &HOLDOUT[&format!("{ptx}.ptx")];
    let of_text = text.lines().find(|line| line.starts_with(".target")).unwrap();
    let text = text.replace(of_text, &format!(".target {target}"));
    counted_in(&text, name, name, section.lines().skip(1))
}

/// Kernels that no rule was made for, from other compilers and for other instructions: what is
/// compared is the length of the machine code, every PTX instruction being executed once.
#[test]
fn machine_code_of_kernels_that_no_rule_was_made_for() {
    // All kernels of these files that 12.9 assembles, but Triton's `layer_norm`, which `ptxas`
    // unrolls. Lengths without padding, by 12.9.
    let kernels = [
        ("triton/softmax_sm_80.ptx", "softmax", "sm_80", 190),
        ("triton/matmul_sm_80.ptx", "matmul", "sm_80", 631),
        ("mma.ptx", "product_f16", "sm_80", 370),
        ("mma.ptx", "product_bf16", "sm_80", 370),
        ("wmma.ptx", "product_f16", "sm_80", 123),
        ("wmma.ptx", "product_f64", "sm_80", 125),
        ("wmma.ptx", "product_s8", "sm_80", 271),
        ("wmma.ptx", "product_tf32", "sm_80", 237),
        ("cooperation.ptx", "rotate", "sm_80", 144),
        ("cooperation.ptx", "rotate", "sm_90", 205),
        ("cooperation.ptx", "chain", "sm_80", 31),
        ("cooperation.ptx", "chain", "sm_90", 32),
        ("cluster_sm_90.ptx", "histogram", "sm_90", 124),
        ("cluster_sm_90.ptx", "ring", "sm_90", 85),
        ("cluster_sm_90.ptx", "gather", "sm_90", 95),
        ("cluster_sm_90.ptx", "bulk", "sm_90", 177),
        ("pipeline_sm_80.ptx", "block_pipeline", "sm_80", 249),
        ("pipeline_sm_80.ptx", "barriers", "sm_80", 168),
        ("pipeline_sm_80.ptx", "primitives", "sm_80", 73),
        ("pipeline_sm_80.ptx", "specialised_pipeline", "sm_80", 334),
        ("pipeline_sm_80.ptx", "group_copy", "sm_80", 161),
        ("pipeline_sm_80.ptx", "dropping", "sm_80", 115),
    ];
    let mut text = String::new();
    let mut deviations = Vec::new();
    for (file, kernel, target, length) in kernels {
        let root = env!("CARGO_MANIFEST_DIR");
        let path = format!("{root}/../interpreter/tests/kernels/{file}");
        let source = std::fs::read_to_string(path).unwrap();
        let module = gpucast_ptx_frontend::load(&source).unwrap();
        let program = Program::new(&module, &source, kernel).unwrap();
        let row = |(index, instruction)| Row {
            instruction: index,
            description: Description::of(instruction),
            warp_executions: 1,
            issued_lanes: 32,
            thread_executions: 32,
            branch: None,
            memory: Vec::new(),
            products: Vec::new(),
        };
        let table = BaseTable { rows: (0..).zip(program.instructions()).map(row).collect() };
        let found = warps(&translate(target.parse().unwrap(), &program, &table));
        let deviation = deviation(found, length);
        let percent = 100.0 * deviation;
        writeln!(text, "| {file} | `{kernel}` | {target} | {length} | {found} | {percent:+.1} % |")
            .unwrap();
        deviations.push(deviation.abs());
    }
    insta::assert_snapshot!(text);
    deviations.sort_by(f64::total_cmp);
    assert!(deviations[deviations.len() / 2] < 0.15);
}

/// Warp executions of all instructions and of loads and stores, as the file says.
fn ptxas(file: &str, name: &str, target: &str) -> Vec<u128> {
    let line = file.lines().find(|line| line.starts_with(&format!("{name} {target} ")));
    line.unwrap().split(' ').skip(2).map(|word| word.parse().unwrap()).collect()
}

/// The mnemonics that stand for one `atom` of a class, by space.
fn atomic(space: &str, class: &str, target: &str) -> Vec<String> {
    let ty = class.rsplit('.').next().unwrap();
    let register = match ty {
        "f64" => "%fd",
        "f32" => "%f",
        _ if ty.ends_with("64") => "%rd",
        "f16" | "bf16" => "%h",
        _ => "%r",
    };
    let compared = if class.contains("cas") { format!(", {register}2") } else { String::new() };
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 a) {{\n\
         .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .f32 %f<4>; .reg .f64 %fd<4>; .reg .b16 %h<4>;\n\
         ld.param.u64 %rd0, [a];\natom.{space}.{class} {register}3, [%rd0], {register}1{compared};\n\
         st.{space}.{} [%rd0], {register}3;\nret;\n}}\n",
        match register {
            "%fd" | "%rd" => "b64",
            "%h" => "b16",
            _ => "b32",
        }
    );
    let kernel = counted_in(&text, class, "k", ["1 100 1 32"].into_iter());
    let is_one = |row: &&MachineRow| {
        let index = row.instruction.unwrap() as usize;
        kernel.table.rows[index].description.opcode == Opcode::Atom
    };
    let profile = kernel.on(target);
    profile.rows.iter().filter(is_one).map(|row| row.mnemonic.to_string()).collect()
}

/// What updates a word of shared memory between its load and its store is an instruction of the
/// word's own type: `LDSLK`, `IADD`, `STSUL`, `BRA` on Fermi and Kepler. Later ones have atomics of
/// integers, and loops around those of floats (`ptxas` 12.9).
#[test]
fn atomics_compute_in_the_type_of_their_words() {
    let integers = [
        ("add.u32", "IADD"),
        ("add.u64", "IADD"),
        ("min.s32", "IMNMX"),
        ("max.u32", "IMNMX"),
        ("and.b32", "LOP"),
        ("or.b32", "LOP"),
        ("xor.b32", "LOP"),
        ("inc.u32", "IADD"),
        ("dec.u32", "IADD"),
        ("cas.b32", "SEL"),
        ("cas.b64", "SEL"),
        ("exch.b32", "LDS"),
    ];
    let floats = [
        ("add.f32", "FADD"),
        ("add.f64", "DADD"),
        ("add.noftz.f16", "HADD2"),
        ("add.noftz.bf16", "HADD2"),
        ("add.noftz.f16x2", "HADD2"),
    ];
    let is_float = |name: &String| ["FADD", "DADD", "HADD2", "FMNMX"].contains(&name.as_str());
    let targets =
        ["sm_20", "sm_30", "sm_35", "sm_50", "sm_60", "sm_61", "sm_70", "sm_90", "sm_100"];
    for target in targets {
        let locks = ["sm_20", "sm_30", "sm_35"].contains(&target);
        for space in ["shared", "global"] {
            for (class, update) in integers {
                let names = atomic(space, class, target);
                assert!(!names.iter().any(is_float), "{space} {class} {target}: {names:?}");
                let computes = names.iter().any(|name| name == update);
                assert_eq!(computes, locks && space == "shared", "{class} {target}: {names:?}");
            }
            for (class, update) in floats {
                let names = atomic(space, class, target);
                let computes = names.iter().any(|name| name == update);
                assert_eq!(computes, space == "shared", "{space} {class} {target}: {names:?}");
            }
        }
    }
    assert_eq!(atomic("shared", "add.u32", "sm_35"), ["LDS", "IADD", "ATOMS", "BRA"]);
}

/// Rows belong to instructions of the program, and nothing runs more often than a machine could.
#[test]
fn rows_are_attributed_to_the_program() {
    for name in ["sgemm", "histogram", "reduction-u32", "transpose", "lmsor"] {
        let kernel = counted(SMALL, name);
        for target in ["sm_20", "sm_50", "sm_70", "sm_90", "sm_100"] {
            let profile = kernel.on(target);
            assert!(!profile.rows.is_empty());
            for row in &profile.rows {
                let index = row.instruction.unwrap() as usize;
                assert!(index < kernel.program.instructions().len(), "{name} {target} {row:?}");
                assert!(row.thread_executions <= row.issued_lanes, "{name} {target} {row:?}");
                assert!(row.issued_lanes <= 32 * row.warp_executions, "{name} {target} {row:?}");
            }
        }
    }
}

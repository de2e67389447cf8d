//! Renderings of profiles with machine instructions, whichever assembler there may be.

use gpucast_counters::Kind;
use gpucast_counters::machine::{BackEnd, MachineProfile, MachineRow};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::{cuda_source, kernel_argument};
use gpucast_forecast::run::counting::{self, Counting, Extras};
use gpucast_forecast::run::execute;
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::settings::{CacheChoice, RungChoice};
use gpucast_forecast::{Alone, LaunchOptions};
use gpucast_interpreter::Options;
use gpucast_ptx_frontend::isa::InstructionClass;

use super::*;

/// A made-up translation of each instruction into two of the machine.
fn machine(counted: &Counted) -> MachineProfile {
    let row = |row: &gpucast_counters::table::Row| MachineRow {
        mnemonic: "MOV".into(),
        class: InstructionClass::Misc,
        flops: None,
        access: None,
        instruction: Some(row.instruction),
        warp_executions: 2 * row.warp_executions,
        issued_lanes: 2 * row.issued_lanes,
        thread_executions: 2 * row.thread_executions,
    };
    let prologue = MachineRow {
        mnemonic: "S2R".into(),
        class: InstructionClass::Misc,
        flops: None,
        access: None,
        instruction: None,
        warp_executions: 32,
        issued_lanes: 1024,
        thread_executions: 1024,
    };
    let mut rows: Vec<MachineRow> = counted.profile.table.rows.iter().map(row).collect();
    rows.push(prologue);
    MachineProfile {
        back_end: BackEnd::Ptxas { version: "12.9".to_owned() },
        kind: Kind::Modelled,
        target: "sm_50".to_owned(),
        registers_per_thread: Some(9),
        rows,
        notes: vec!["one loop was unrolled".to_owned()],
    }
}

/// A profile of saxpy as if that were its machine code.
fn shown(names: &str, by: By, format: Format) -> String {
    let saxpy = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/inputs/saxpy.toml");
    let plan = kernel_argument::read(saxpy, &LaunchOptions::default()).unwrap();
    let loaded = execute::load(&plan.module).unwrap();
    let gpu = gpu_argument::find(&gpu_argument::library().unwrap(), "gtx-480").unwrap();
    let device = gpu_argument::device_model(&gpu).unwrap();
    let none = Machine::none();
    let (rung, caches) = (RungChoice::Auto, CacheChoice::Full);
    let counting = Counting {
        device,
        machine: &none,
        extras: Extras::default(),
        rung,
        sample: None,
        caches,
        supervisor: &Alone,
    };
    let options = Options::default();
    let mut counted = counting::count(&plan, &loaded, &options, &counting).unwrap();
    for one in &mut counted {
        one.profile = one.profile.clone().with_machine(machine(one));
    }
    let view = View {
        counted: &counted,
        gpu: &gpu,
        loaded: &loaded,
        files: &cuda_source::files(&plan, &loaded.module, None),
        metrics: &MetricChoice::parse(names).unwrap(),
        by,
        source: SourceChoice::Auto,
        timing: false,
        width: Some(80),
        simulations: &[],
        inlined: false,
    };
    document(&view, format).unwrap()
}

#[test]
fn both_levels_are_shown_and_the_back_end_is_named() {
    let names = "inst_executed,inst_fp_32,ptx_inst_executed,gld_transactions";
    insta::assert_snapshot!("machine-text", shown(names, By::Launch, Format::Text));
    insta::assert_snapshot!("machine-json", shown(names, By::Launch, Format::Json));
    insta::assert_snapshot!("machine-csv", shown(names, By::Launch, Format::Csv));
}

#[test]
fn machine_instructions_stand_beside_their_lines() {
    insta::assert_snapshot!("machine-lines", shown("all", By::Line, Format::Text));
}

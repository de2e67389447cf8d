use std::collections::BTreeSet;

use gpucast_interpreter::AccessKind;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::source::Span;
use gpucast_ptx_frontend::types::StateSpace;

use super::*;
use crate::counts::MemoryCounts;
use crate::hierarchy::L2Traffic;
use crate::machine::{BackEnd, MachineAccess, MachineProfile, MachineRow};
use crate::table::{BaseTable, Description, Row};
use crate::totals::LaunchFacts;

fn totals<'a>(table: &'a BaseTable, machine: Option<&'a MachineProfile>) -> Totals<'a> {
    let launch = LaunchFacts { ctas: 2, threads_per_cta: 64, ..LaunchFacts::default() };
    Totals {
        table,
        machine,
        launch,
        l2: L2Traffic::default(),
        replay: Replay::Whole,
        extent: Extent::Grid,
    }
}

#[test]
fn no_name_is_defined_twice() {
    let names: Vec<&str> = definitions().map(|definition| definition.name).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
    // Two metrics that mean the same as a third would be the same.
    let nsight: Vec<&str> = definitions()
        .flat_map(|definition| definition.nsight_names().map(|(name, _)| name))
        .collect();
    assert_eq!(nsight.iter().collect::<BTreeSet<_>>().len(), nsight.len());
    assert!(definitions().all(|definition| !definition.meaning.is_empty()));
    let (dram, worth) = nsight_definition("dram__sectors_read.sum").unwrap();
    assert_eq!((dram.name, worth), ("dram_read_transactions", 1.0));
    assert!(definition("no_such_metric").is_none() && !is_nsight_name("no_such_metric"));
}

/// Nsight Compute's names have the form `unit__counter.rollup`, save those of launches and of
/// occupancy limits; a typing error would show here.
#[test]
fn names_have_their_vendors_form() {
    for definition in definitions() {
        let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(definition.name.chars().all(word), "{}", definition.name);
        for &(name, _) in definition.read_from().flatten() {
            let (unit, counter) = name.split_once("__").unwrap_or_else(|| panic!("{name}"));
            let units = ["sm", "smsp", "l1tex", "lts", "dram", "gpc", "gpu", "launch", "derived"];
            assert!(units.contains(&unit), "{name}");
            let rollups = [".sum", ".max", ".ratio", ".pct", ".avg", ".sum.per_cycle_active"];
            let rollup = counter.find('.').map_or("", |at| &counter[at..]);
            let plain =
                ["launch", "derived"].contains(&unit) || name.starts_with("sm__maximum_warps_");
            assert!(rollups.contains(&rollup) || rollup.starts_with(".avg.p") || plain, "{name}");
        }
    }
}

#[test]
fn the_nine_metrics_of_the_thesis_are_there_even_if_nothing_ran() {
    let table = BaseTable::default();
    let metrics = metrics(&totals(&table, None));
    for name in [
        "flop_count_sp_fma",
        "flop_count_dp_fma",
        "inst_compute_ld_st",
        "inst_executed",
        "inst_fp_32",
        "inst_fp_64",
        "inst_integer",
        "dram_read_transactions",
        "dram_write_transactions",
    ] {
        assert_eq!(metrics[name].value, Number::Count(0), "{name} (thesis, table 4.1)");
        assert!(definition(name).unwrap().nsight_names().next().is_some(), "{name}");
    }
    // A ratio of nothing is no number, and time is not known.
    assert!(!metrics.contains_key("branch_efficiency") && !metrics.contains_key("ipc"));
}

#[test]
fn extrapolated_traffic_is_an_estimate() {
    let table = BaseTable::default();
    for (replay, kind) in [(Replay::Whole, Kind::Modelled), (Replay::Part, Kind::Estimated)] {
        let metrics = metrics(&Totals { replay, ..totals(&table, None) });
        assert_eq!(metrics["dram_read_transactions"].kind, kind);
        assert_eq!(metrics["gld_transactions"].kind, Kind::Modelled);
        assert_eq!(metrics["flop_count_sp_fma"].kind, Kind::Exact);
    }
}

#[test]
fn without_caches_exactly_the_metrics_of_caches_are_absent() {
    let mut table = table();
    // Ratios of loads have a value only where sectors moved.
    table.rows[0].memory[0].sectors = 4;
    let whole = metrics(&totals(&table, None));
    let without = metrics(&Totals { replay: Replay::None, ..totals(&table, None) });
    for definition in definitions() {
        let is_of_caches = definition.basis == Basis::CacheReplay;
        let expected = whole.get(definition.name).filter(|_| !is_of_caches);
        assert_eq!(without.get(definition.name), expected, "{}", definition.name);
    }
    assert!(whole.contains_key("global_hit_rate") && whole.contains_key("dram_bytes"));
}

/// A generic load whose lanes went to global memory three times and to shared memory once.
fn table() -> BaseTable {
    let requests = |space, requests| MemoryCounts { space, requests, ..MemoryCounts::default() };
    let description = Description {
        opcode: Opcode::Ld,
        class: InstructionClass::LoadStore,
        flops: None,
        tensor: None,
        line: 1,
        span: Span::default(),
        location: None,
    };
    BaseTable {
        rows: vec![Row {
            instruction: 7,
            description,
            warp_executions: 4,
            issued_lanes: 128,
            thread_executions: 100,
            branch: None,
            memory: vec![requests(StateSpace::Global, 3), requests(StateSpace::Shared, 1)],
            products: Vec::new(),
        }],
    }
}

fn machine_row(mnemonic: &'static str, class: InstructionClass, warps: u128) -> MachineRow {
    MachineRow {
        mnemonic: mnemonic.into(),
        class,
        flops: None,
        access: None,
        instruction: Some(7),
        warp_executions: warps,
        issued_lanes: 32 * warps,
        thread_executions: 25 * warps,
    }
}

fn access(space: Option<StateSpace>, kind: AccessKind) -> Option<MachineAccess> {
    Some(MachineAccess { space, kind, bytes: 4 })
}

fn machine(back_end: BackEnd) -> MachineProfile {
    use InstructionClass::{Integer, LoadStore};
    let global = || Some(StateSpace::Global);
    let kind = match back_end {
        BackEnd::Ptxas { .. } => Kind::Modelled,
        BackEnd::Rules => Kind::Estimated,
    };
    MachineProfile {
        kind,
        back_end,
        target: "sm_50".to_owned(),
        registers_per_thread: Some(18),
        rows: vec![
            machine_row("IADD", Integer, 8),
            MachineRow {
                access: access(None, AccessKind::Load),
                ..machine_row("LD", LoadStore, 4)
            },
            MachineRow {
                access: access(global(), AccessKind::Reduction),
                ..machine_row("RED", LoadStore, 2)
            },
            MachineRow {
                access: access(global(), AccessKind::Atomic),
                ..machine_row("ATOM", LoadStore, 1)
            },
        ],
        notes: Vec::new(),
    }
}

/// A tree reduction of 256 threads: machine code executes the load and the store of each of its 8
/// steps in all 8 warps, and the PTX branches around them. Lanes take part in 4, 2, 1, 1 … warps.
/// An assembler that unrolls a loop has several accesses for one of the PTX.
#[test]
fn accesses_of_which_all_lanes_are_predicated_off_are_not_counted() {
    let (requests, threads) = (4 + 2 + 6, 128 + 64 + 32 + 16 + 8 + 4 + 2 + 1);
    let row = |instruction, space, kind| Row {
        instruction,
        warp_executions: requests,
        thread_executions: threads,
        memory: vec![MemoryCounts { space, kind, requests, ..MemoryCounts::default() }],
        ..table().rows.remove(0)
    };
    use AccessKind::{Atomic, Load, Store};
    use StateSpace::{Global, Local, Shared};
    let accesses =
        [(Shared, Load), (Shared, Store), (Global, Load), (Local, Store), (Shared, Atomic)];
    let rows = (0..).zip(accesses).map(|(index, (space, kind))| row(index, space, kind));
    let table = BaseTable { rows: rows.collect() };
    let machine = |copies: u128| {
        let of = |(index, (space, kind)): (u32, (StateSpace, AccessKind))| MachineRow {
            access: access(Some(space), kind),
            instruction: Some(index),
            thread_executions: threads / copies,
            ..machine_row("ACCESS", InstructionClass::LoadStore, 64 / copies)
        };
        let all = (0..copies).flat_map(|_| (0..).zip(accesses).map(of));
        MachineProfile { rows: all.collect(), ..machine(BackEnd::Rules) }
    };
    for copies in [1, 3] {
        let machine = machine(copies);
        let counted = metrics(&totals(&table, Some(&machine)));
        for name in [
            "inst_executed_shared_loads",
            "inst_executed_shared_stores",
            "inst_executed_global_loads",
            "inst_executed_local_stores",
            "inst_executed_shared_atomics",
        ] {
            assert_eq!(counted[name].value, Number::Count(requests), "{name}, {copies} copies");
        }
        // They are issued all the same.
        let issued = 5 * copies * (64 / copies);
        assert_eq!(counted["ldst_executed"].value, Number::Count(issued));
    }
}

#[test]
fn constants_that_are_loaded_are_loads_but_no_accesses_of_memory() {
    let table = table();
    let mut machine = machine(BackEnd::Ptxas { version: "13.5".to_owned() });
    machine.rows.push(MachineRow {
        access: access(Some(StateSpace::Const), AccessKind::Load),
        ..machine_row("LDC", InstructionClass::LoadStore, 5)
    });
    let metrics = metrics(&totals(&table, Some(&machine)));
    assert_eq!(metrics["inst_compute_ld_st"].value, Number::Count((7 + 5) * 25));
    assert_eq!(metrics["ldst_executed"].value, Number::Count(7));
    assert_eq!(metrics["ldst_issued"].value, Number::Count(7));
}

/// Counters of a GTX 970, a GTX 980 and a P100 are loads, stores, `S2R` and `BAR`, to the digit.
#[test]
fn maxwell_and_pascal_count_special_registers_and_barriers_as_loads_and_stores() {
    let table = table();
    let mut machine = machine(BackEnd::Ptxas { version: "12.9".to_owned() });
    machine.rows.push(machine_row("S2R", InstructionClass::Misc, 20));
    machine.rows.push(machine_row("BAR", InstructionClass::Misc, 300));
    machine.rows.push(machine_row("MOV", InstructionClass::Misc, 4000));
    for (target, expected) in [("sm_37", 7), ("sm_50", 327), ("sm_61", 327), ("sm_70", 7)] {
        machine.target = target.to_owned();
        let metrics = metrics(&totals(&table, Some(&machine)));
        assert_eq!(metrics["ldst_executed"].value, Number::Count(expected), "{target}");
    }
}

#[test]
fn machine_instructions_take_the_place_of_ptx_where_they_are_known() {
    let table = table();
    let ptx = metrics(&totals(&table, None));
    let machine = machine(BackEnd::Ptxas { version: "13.5".to_owned() });
    let with_machine = metrics(&totals(&table, Some(&machine)));
    for (name, on_ptx, on_machine) in [
        ("inst_executed", 4, 15),
        ("thread_inst_executed", 128, 15 * 32),
        ("not_predicated_off_thread_inst_executed", 100, 15 * 25),
        ("inst_integer", 0, 8 * 25),
        ("inst_compute_ld_st", 100, 7 * 25),
        ("ldst_executed", 4, 7),
        // The generic load went to global memory most often.
        ("inst_executed_global_loads", 3, 4),
        ("inst_executed_shared_loads", 1, 0),
        ("inst_executed_global_reductions", 0, 2),
        ("inst_executed_global_atomics", 0, 1),
        // PTX stays PTX, and so do its accesses.
        ("ptx_inst_executed", 4, 4),
        ("ptx_thread_inst_executed", 100, 100),
        ("ptx_inst_issued_lanes", 128, 128),
        ("global_load_requests", 3, 3),
        ("warps_launched", 4, 4),
    ] {
        assert_eq!(ptx[name].value, Number::Count(on_ptx), "{name} on PTX");
        assert_eq!(with_machine[name].value, Number::Count(on_machine), "{name} of the machine");
    }
    let real = |metrics: &Metrics, name: &str| metrics[name].value.as_f64();
    assert_eq!(real(&ptx, "inst_per_warp"), 1.0);
    assert_eq!(real(&with_machine, "inst_per_warp"), 15.0 / 4.0);
    assert_eq!(real(&with_machine, "warp_nonpred_execution_efficiency"), 78.125);
    // They limit occupancy, so that the launch says them.
    assert!(!ptx.contains_key("registers_per_thread"));
}

#[test]
fn the_machine_code_decides_the_kind() {
    let table = table();
    let kinds = |machine: Option<&MachineProfile>| {
        let metrics = metrics(&totals(&table, machine));
        ["inst_executed", "flop_count_sp_fma", "ptx_inst_executed"].map(|name| metrics[name].kind)
    };
    let ptxas = machine(BackEnd::Ptxas { version: "13.5".to_owned() });
    use Kind::{Estimated, Exact, Modelled};
    assert_eq!(kinds(None), [Estimated, Exact, Exact]);
    assert_eq!(kinds(Some(&ptxas)), [Modelled, Modelled, Exact]);
    assert_eq!(kinds(Some(&machine(BackEnd::Rules))), [Estimated, Estimated, Exact]);
    // Machine code that does not agree with the PTX is an estimate, too.
    let contradicted = MachineProfile { kind: Estimated, ..ptxas };
    assert_eq!(kinds(Some(&contradicted)), [Estimated, Estimated, Exact]);
}

/// Worked by hand: 25 threads of each warp; 8 additions, 3 products and 2 shifts of warps. Of the
/// shared accesses, 5 move 16 bytes, 2 move 8, 4 move 4; the atomic of 8 bytes is neither a load
/// nor a store, and the load of 16 bytes from global memory is not shared.
#[test]
fn integers_are_told_apart_by_kind_and_shared_accesses_by_width() {
    use InstructionClass::{Integer, LoadStore};
    let moves = |mnemonic, space, kind, bytes, warps| MachineRow {
        access: Some(MachineAccess { space: Some(space), kind, bytes }),
        instruction: None,
        ..machine_row(mnemonic, LoadStore, warps)
    };
    let machine = MachineProfile {
        rows: vec![
            machine_row("IADD3", Integer, 8),
            machine_row("XMAD", Integer, 3),
            machine_row("SHF", Integer, 2),
            // Not an integer instruction, whatever its name.
            machine_row("SHL", InstructionClass::Misc, 50),
            moves("LDS", StateSpace::Shared, AccessKind::Load, 16, 4),
            moves("STS", StateSpace::Shared, AccessKind::Store, 16, 1),
            moves("LDS", StateSpace::Shared, AccessKind::Load, 8, 2),
            moves("LDS", StateSpace::Shared, AccessKind::Load, 4, 4),
            moves("ATOMS", StateSpace::Shared, AccessKind::Atomic, 8, 7),
            moves("LDG", StateSpace::Global, AccessKind::Load, 16, 9),
        ],
        ..machine(BackEnd::Rules)
    };
    let table = table();
    let counted = metrics(&totals(&table, Some(&machine)));
    for (name, count) in [
        ("inst_integer", 13 * 25),
        ("inst_integer_add", 8 * 25),
        ("inst_integer_mul", 3 * 25),
        ("inst_integer_shift", 2 * 25),
        ("inst_integer_logic", 0),
        ("inst_integer_compare", 0),
        ("inst_integer_other", 0),
        ("inst_executed_shared_loads", 10),
        ("inst_executed_shared_64", 2),
        ("inst_executed_shared_128", 5),
    ] {
        assert_eq!(counted[name].value, Number::Count(count), "{name}");
    }
    // On PTX, the width follows from the bytes: 100 threads that moved 1600.
    let mut table = table;
    table.rows[0].memory[1].requested_bytes = 400;
    table.rows[0].memory[0].requested_bytes = 1200;
    let counted = metrics(&totals(&table, None));
    assert_eq!(counted["inst_executed_shared_128"].value, Number::Count(1));
    assert_eq!(counted["inst_executed_shared_64"].value, Number::Count(0));
}

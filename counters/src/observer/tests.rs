//! Launches acted out by hand: what the interpreter would report, without it.

use gpucast_interpreter::{
    ALIKE_BYTES, Access, AccessKind, Further, FurtherAccess, GridBox, Pattern, Recorder, Tally,
    TensorUse,
};
use gpucast_ptx_frontend::ScalarType;
use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::source::Span;
use gpucast_ptx_frontend::types::StateSpace;

use super::*;
use crate::banks::BankGeometry;
use crate::coalescing::{Protocol, SectorSize};
use crate::hierarchy::{L2, L2Contents, L2Geometry, PartialWrites, Replacement};
use crate::machine::{BackEnd, KnownAccesses, MachineAccess, MachineProfile, MachineRow};
use crate::metric::{Kind, Number};
use crate::occupancy::Limiter;
use crate::operation::{FlopKind, Flops, Precision};
use crate::recorder::Route;
use crate::table::Description;
use gpucast_ptx_frontend::ComputeCapability;

const LOAD: u32 = 0;
const STORE: u32 = 1;

fn description(opcode: Opcode, class: InstructionClass) -> Description {
    Description {
        opcode,
        class,
        flops: None,
        tensor: None,
        line: 1,
        span: Span::default(),
        location: None,
    }
}

/// One block: a load and a store.
fn copy_code() -> Code {
    Code {
        kernel: "copy".to_owned(),
        blocks: vec![(0, 2)],
        guarded: vec![],
        instructions: vec![
            description(Opcode::Ld, InstructionClass::LoadStore),
            description(Opcode::St, InstructionClass::LoadStore),
        ],
        routes: [Route::default(); 2].into(),
    }
}

fn launch(ctas: u32, threads: u32) -> Launch {
    let (grid, block) = ([ctas, 1, 1], [threads, 1, 1]);
    Launch { grid, block, cluster: None, dynamic_shared_bytes: 0, arguments: vec![] }
}

/// A full warp whose lanes touch consecutive 4-byte words of global memory.
fn words(instruction: u32, warp: u32, time: u64, address: u64) -> Access<'static> {
    // The lanes' addresses follow from the first one, as the pattern says.
    let addresses = Box::leak(Box::new([address; 32]));
    Access {
        instruction,
        warp,
        time,
        space: StateSpace::Global,
        kind: if instruction == STORE { AccessKind::Store } else { AccessKind::Load },
        bytes_per_lane: 4,
        mask: !0,
        pattern: Pattern::Consecutive,
        addresses,
        continues: false,
        distances: None,
    }
}

/// Runs `cta` for each CTA of the launch, wave by wave as the interpreter does, on recorders
/// that are used again.
fn run(counter: &mut Counter, ctas: u64, mut cta: impl FnMut(u64, &mut CtaRecorder)) {
    let mut recorders: Vec<_> = (0..counter.wave()).map(|_| counter.cta_recorder()).collect();
    let mut first = 0;
    while first < ctas {
        let wave = (ctas - first).min(counter.wave() as u64);
        let recorders = &mut recorders[..wave as usize];
        for (index, recorder) in recorders.iter_mut().enumerate() {
            cta(first + index as u64, recorder);
        }
        counter.collect(first, &mut recorders.iter_mut().collect::<Vec<_>>());
        first += wave;
    }
}

fn count(profile: &LaunchProfile, name: &str) -> u128 {
    match profile.metrics[name].value {
        Number::Count(count) => count,
        Number::Real(real) => panic!("{name} is {real}"),
    }
}

#[test]
fn a_copy_moves_each_sector_once() {
    let mut counter = Counter::for_code(copy_code(), &launch(1000, 256), 0, DeviceModel::GTX_480);
    run(&mut counter, 1000, |cta, recorder| {
        for warp in 0..8 {
            let at = (cta * 8 + u64::from(warp)) * 128;
            recorder.block(warp, 0, !0);
            recorder.access(&words(LOAD, warp, 0, 0x1000_0000 + at));
            recorder.access(&words(STORE, warp, 1, 0x2000_0000 + at));
        }
    });
    let (profile, _) = counter.finish();
    for (metric, expected) in [
        ("dram_read_transactions", 32_000),
        ("dram_write_transactions", 32_000),
        ("dram_write_bytes", 1_024_000),
        ("l2_read_transactions", 32_000),
        ("global_load_requests", 8_000),
        ("gld_transactions", 8_000),
        ("global_load_sectors", 32_000),
        ("gst_transactions", 8_000),
        ("ptx_global_store_bytes", 1_024_000),
        ("inst_executed", 16_000),
        ("ptx_thread_inst_executed", 512_000),
        ("inst_compute_ld_st", 512_000),
    ] {
        assert_eq!(count(&profile, metric), expected, "{metric}");
    }
    assert_eq!(profile.metrics["gld_efficiency"].value, Number::Real(100.0));
    // The traffic stands with the instruction that caused it.
    let loads = &profile.table.rows[LOAD as usize].memory;
    assert_eq!(loads.len(), 1);
    assert_eq!((loads[0].sectors, loads[0].traffic.unwrap().dram_read_sectors), (32_000, 32_000));
    assert_eq!(profile.table.rows[STORE as usize].memory[0].traffic.unwrap().dram_read_sectors, 0);
}

/// Products of two formats by one instruction, CTA by CTA or as one of a class.
#[test]
fn products_whose_extents_are_values_are_summed_by_format() {
    let tell = |recorder: &mut CtaRecorder| {
        for (ty, operations) in
            [(ScalarType::F16, 100), (ScalarType::E4m3, 7), (ScalarType::F16, 20)]
        {
            recorder.tensor(&TensorUse {
                instruction: STORE,
                ty,
                sum: ScalarType::F32,
                operations,
                warp: 0,
                rows: 1,
                columns: 1,
            });
        }
    };
    let new = || Counter::for_code(copy_code(), &launch(3, 32), 0, DeviceModel::GTX_480);
    let mut one_by_one = new();
    run(&mut one_by_one, 3, |_, recorder| tell(recorder));
    let mut as_a_class = new().without_caches();
    let mut recorder = as_a_class.cta_recorder();
    tell(&mut recorder);
    as_a_class.tally(&mut recorder, 3, &GridBox::whole([3, 1, 1]), &[None; 3]).unwrap();
    for counter in [one_by_one, as_a_class] {
        let (profile, _) = counter.finish();
        for (metric, expected) in [
            ("tensor_op_count", 381),
            ("tensor_op_count_fp16", 360),
            ("tensor_op_count_fp8", 21),
            ("tensor_op_count_tf32", 0),
        ] {
            assert_eq!(count(&profile, metric), expected, "{metric}");
        }
        assert!(profile.table.rows[LOAD as usize].products.is_empty());
    }
}

/// A GTX 480 whose L2 has another policy.
fn gtx_480(replacement: Replacement) -> DeviceModel {
    let l2 = L2Geometry { replacement, ..L2Geometry::GTX_480 };
    DeviceModel { l2, ..DeviceModel::GTX_480 }
}

/// Every CTA reads the same `lines` lines.
fn rereads(lines: u64) -> u128 {
    let device = gtx_480(Replacement::Lru);
    let mut counter = Counter::for_code(copy_code(), &launch(45, 1024), 0, device);
    run(&mut counter, 45, |_, recorder| {
        for line in 0..lines {
            recorder.access(&words(LOAD, (line % 32) as u32, line / 32, 0x1000_0000 + line * 128));
        }
    });
    count(&counter.finish().0, "dram_read_transactions")
}

#[test]
fn ctas_of_a_wave_share_what_they_read_and_waves_share_what_fits() {
    // 768 KB are 6144 lines. Three waves of 15 CTAs.
    assert_eq!(rereads(4_000), 4 * 4_000);
    // Twice the capacity: within a wave in step all CTAs meet, but LRU keeps nothing for the next.
    assert_eq!(rereads(12_288), 3 * 4 * 12_288);
}

/// The global accesses of the thesis's SGEMM (appendix; 1280 × 640 times 640 × 640, tiles of 32):
/// DRAM reads and writes.
fn sgemm(replacement: Replacement) -> (u128, u128) {
    let device = gtx_480(replacement);
    let mut counter = Counter::for_code(copy_code(), &launch(20 * 40, 1024), 8192, device);
    assert_eq!(counter.wave(), 15);
    let (a, b, c) = (0x1000_0000, 0x2000_0000, 0x3000_0000);
    let pitch = 640 * 4;
    run(&mut counter, 20 * 40, |cta, recorder| {
        let (column, row) = (cta % 20 * 128, cta / 20 * 32);
        for warp in 0..32 {
            for tile in 0..20 {
                let (warp, time) = (warp as u32, tile * 300);
                let in_tile = tile * 32 + u64::from(warp);
                let of_a = a + (row + u64::from(warp)) * pitch + tile * 128;
                recorder.access(&words(LOAD, warp, time, of_a));
                recorder.access(&words(LOAD, warp, time + 3, b + in_tile * pitch + column));
            }
            recorder.access(&words(STORE, warp as u32, 6000, c + (row + warp) * pitch + column));
        }
    });
    let (profile, _) = counter.finish();
    let count = |name| count(&profile, name);
    (count("dram_read_transactions"), count("dram_write_transactions"))
}

#[test]
fn sgemm_writes_exactly_and_reads_as_far_off_as_documented() {
    // Measured on a GTX 480 (thesis, table 4.9).
    const READS: f64 = 1_218_190.0;
    const WRITES: u128 = 102_400;
    let (reads, writes) = sgemm(Replacement::Lru);
    assert_eq!(writes, WRITES);
    // LRU keeps nothing of the 1.6 MB of B from one wave to the next: 1.85 times too many.
    assert!((reads as f64 / READS - 1.85).abs() < 0.01, "{reads}");
    // The reference GPU's policy keeps a good part.
    let (reads, writes) = sgemm(L2Geometry::GTX_480.replacement);
    assert_eq!(writes, WRITES);
    assert!((reads as f64 / READS - 1.0).abs() < 0.15, "{reads}");
}

/// A loop with a guarded multiply-add and a conditional branch, then an exit.
fn loop_code() -> Code {
    let fma = Description {
        flops: Some(Flops { precision: Precision::Single, kind: FlopKind::Fma, per_thread: 1 }),
        ..description(Opcode::Fma, InstructionClass::Fp32)
    };
    Code {
        kernel: "loop".to_owned(),
        blocks: vec![(0, 3), (3, 1)],
        guarded: vec![1, 2],
        instructions: vec![
            description(Opcode::Add, InstructionClass::Integer),
            fma,
            description(Opcode::Bra, InstructionClass::Control),
            description(Opcode::Exit, InstructionClass::Control),
        ],
        routes: [Route::default(); 4].into(),
    }
}

#[test]
fn blocks_guards_and_branches_become_metrics() {
    let mut counter = Counter::for_code(loop_code(), &launch(2, 48), 0, DeviceModel::GTX_480);
    run(&mut counter, 2, |_, recorder| {
        let mut guarded = [0; 2];
        for (warp, mask) in [(0, !0), (1, 0xFFFF_u32)] {
            // Twice round the loop; half of the lanes leave after the first time.
            let half = mask & 0x5555_5555;
            for (active, taken) in [(mask, half), (half, 0)] {
                recorder.block(warp, 0, active);
                guarded[0] += u64::from((active & 3).count_ones());
                guarded[1] += u64::from(taken.count_ones());
                recorder.branch(2, active, taken);
            }
            recorder.block(warp, 1, mask);
        }
        recorder.guarded_lanes(&guarded);
    });
    let (profile, _) = counter.finish();
    for (metric, expected) in [
        ("ptx_inst_executed", 2 * 2 * (2 * 3 + 1)),
        ("ptx_inst_issued_lanes", 2 * (48 * 3 + 24 * 3 + 48)),
        // The adds, the multiply-adds of lanes 0 and 1 and then 0, the taken branches, the exits.
        ("ptx_thread_inst_executed", 2 * (72 + 6 + 24 + 48)),
        ("inst_integer", 2 * 72),
        ("inst_fp_32", 2 * 6),
        ("flop_count_sp_fma", 2 * 6),
        ("flop_count_sp", 2 * 12),
        ("inst_control", 2 * (24 + 48)),
        ("cf_executed", 2 * 2 * (2 + 1)),
        ("branch", 2 * 4),
        ("divergent_branch", 2 * 2),
    ] {
        assert_eq!(count(&profile, metric), expected, "{metric}");
    }
    assert_eq!(profile.metrics["branch_efficiency"].value, Number::Real(50.0));
    assert_eq!(profile.metrics["ptx_inst_executed"].kind, Kind::Exact);
    assert_eq!(profile.metrics["inst_executed"].kind, Kind::Estimated);
    let branch = profile.table.rows[2].branch.unwrap();
    assert_eq!(branch, BranchCounts { taken_lanes: 2 * 24, divergent: 4 });
}

#[test]
fn spaces_of_one_instruction_are_told_apart() {
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    let column: [u64; 32] = std::array::from_fn(|lane| lane as u64 * 128);
    run(&mut counter, 1, |_, recorder| {
        let global = words(LOAD, 0, 0, 0x1000);
        recorder.access(&global);
        let general = Access { addresses: &column, pattern: Pattern::General, ..global };
        recorder.access(&Access { space: StateSpace::Shared, ..general });
        recorder.access(&Access { space: StateSpace::Shared, mask: 0xF, ..general });
        recorder.access(&Access { space: StateSpace::Const, ..general });
        // The same 8-byte slot of every thread's frame: two words, so two whole lines.
        let slot = Access { pattern: Pattern::Uniform, bytes_per_lane: 8, ..global };
        recorder.access(&Access { space: StateSpace::Local, addresses: &[0x40; 32], ..slot });
    });
    let (profile, _) = counter.finish();
    let memory = &profile.table.rows[LOAD as usize].memory;
    let found: Vec<_> = memory
        .iter()
        .map(|counts| {
            let MemoryCounts { space, requests, sectors, transactions, passes, .. } = *counts;
            (space, requests, sectors, transactions, passes)
        })
        .collect();
    let expected = [
        (StateSpace::Const, 1, 0, 0, 32),
        (StateSpace::Global, 1, 4, 1, 1),
        (StateSpace::Local, 1, 8, 2, 0),
        (StateSpace::Shared, 2, 0, 0, 32 + 4),
    ];
    assert_eq!(found, expected);
    assert_eq!(count(&profile, "shared_load_transactions"), 36);
    assert_eq!(count(&profile, "local_load_transactions"), 8);
    // Global and local memory reach DRAM, the others do not.
    assert_eq!(count(&profile, "dram_read_transactions"), 4 + 8);
}

#[test]
fn an_l2_that_is_kept_is_warm() {
    let read = |counter: &mut Counter| {
        run(counter, 1, |_, recorder| recorder.access(&words(LOAD, 0, 0, 0x1000)));
    };
    let new = || Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    let mut cold = new();
    read(&mut cold);
    let (profile, l2) = cold.finish();
    assert_eq!(count(&profile, "dram_read_transactions"), 4);
    for (contents, reads) in [(L2Contents::Keep, 0), (L2Contents::Warm, 0), (L2Contents::Cold, 4)] {
        let mut again = new().with_l2(contents, l2.clone());
        read(&mut again);
        let reads_again = count(&again.finish().0, "dram_read_transactions");
        assert_eq!(reads_again, reads, "{contents:?}");
    }
    // Another GPU's cache is no beginning.
    let l2_of_another = L2::new(L2Geometry { ways: 8, ..L2Geometry::GTX_480 });
    let mut other = new().with_l2(L2Contents::Keep, Some(l2_of_another));
    read(&mut other);
    assert_eq!(count(&other.finish().0, "dram_read_transactions"), 4);
}

/// One store and one load of local memory by each of 8 warps, on a GPU that writes through.
fn local_accesses(in_registers: &[u32]) -> LaunchProfile {
    let turing = ComputeCapability::new(7, 5);
    let device = DeviceModel::for_capability(turing, 68, L2Geometry::GTX_480).unwrap();
    let counter = Counter::for_code(copy_code(), &launch(1, 256), 0, device);
    let mut counter = counter.with_machine_accesses(&KnownAccesses {
        local_in_registers: in_registers.to_vec(),
        ..KnownAccesses::default()
    });
    run(&mut counter, 1, |_, recorder| {
        for warp in 0..8 {
            let slot = |instruction, time, kind| Access {
                kind,
                space: StateSpace::Local,
                pattern: Pattern::Uniform,
                addresses: &[0x40; 32],
                ..words(instruction, warp, time, 0)
            };
            recorder.access(&slot(STORE, 0, AccessKind::Store));
            recorder.access(&slot(LOAD, 1, AccessKind::Load));
        }
    });
    counter.finish().0
}

#[test]
fn local_memory_in_registers_causes_no_traffic() {
    let profile = local_accesses(&[]);
    // A word of each lane is a line of four sectors. What Turing's L1 holds is loaded from it.
    assert_eq!(count(&profile, "l2_write_transactions"), 8 * 4);
    assert_eq!(count(&profile, "l2_read_transactions"), 0);
    assert_eq!(count(&profile, "local_store_requests"), 8);
    let profile = local_accesses(&[LOAD, STORE]);
    for metric in ["l2_write_transactions", "l2_read_transactions", "dram_write_transactions"] {
        assert_eq!(count(&profile, metric), 0, "{metric}");
    }
    // They are requests of the PTX, and none of the machine code.
    assert_eq!(count(&profile, "local_store_requests"), 8);
    assert_eq!(profile.metrics["local_store_requests"].kind, Kind::Exact);
    let profile = profile.with_machine(MachineProfile {
        back_end: BackEnd::Rules,
        kind: Kind::Estimated,
        target: "sm_75".to_owned(),
        registers_per_thread: None,
        rows: Vec::new(),
        notes: Vec::new(),
    });
    for metric in ["local_store_requests", "local_load_requests", "l2_write_transactions"] {
        assert_eq!(count(&profile, metric), 0, "{metric}");
        assert_ne!(profile.metrics[metric].kind, Kind::Exact, "{metric}");
    }
    assert_eq!(profile.metrics["local_load_requests"].kind, Kind::Estimated);
}

#[test]
fn machine_code_with_fewer_local_accesses_causes_less_traffic() {
    let machine = |stores: u128| MachineProfile {
        back_end: BackEnd::Rules,
        kind: Kind::Estimated,
        target: "sm_75".to_owned(),
        registers_per_thread: None,
        rows: vec![MachineRow {
            mnemonic: "STL".into(),
            class: InstructionClass::LoadStore,
            flops: None,
            access: Some(MachineAccess {
                space: Some(StateSpace::Local),
                kind: AccessKind::Store,
                bytes: 4,
            }),
            instruction: Some(STORE),
            warp_executions: stores,
            issued_lanes: 32 * stores,
            thread_executions: 32 * stores,
        }],
        notes: Vec::new(),
    };
    for (stores, sectors) in [(8, 32), (2, 8), (0, 0), (80, 32)] {
        let profile = local_accesses(&[]).with_machine(machine(stores));
        assert_eq!(count(&profile, "l2_write_transactions"), sectors, "{stores}");
        assert_eq!(count(&profile, "local_store_requests"), stores.min(8), "{stores}");
        assert_eq!(count(&profile, "local_load_requests"), 0);
        assert_eq!(profile.clone().with_machine(machine(stores)), profile, "{stores}");
    }
}

/// Two local loads of neighbouring words that machine code joins: half as many accesses of twice
/// the bytes, of as many warps.
#[test]
fn joined_local_accesses_are_those_of_the_warps_that_take_part() {
    let turing = ComputeCapability::new(7, 5);
    let device = DeviceModel::for_capability(turing, 68, L2Geometry::GTX_480).unwrap();
    let mut counter = Counter::for_code(copy_code(), &launch(1, 256), 0, device);
    run(&mut counter, 1, |_, recorder| {
        (0..8).for_each(|warp| recorder.block(warp, 0, !0));
        for warp in 0..8 {
            for (instruction, address) in [(LOAD, 0x40), (STORE, 0x44)] {
                recorder.access(&Access {
                    kind: AccessKind::Load,
                    space: StateSpace::Local,
                    pattern: Pattern::Uniform,
                    addresses: &[address; 32],
                    ..words(instruction, warp, 0, 0)
                });
            }
        }
    });
    let profile = counter.finish().0;
    assert_eq!(count(&profile, "local_load_requests"), 16);
    let joined = MachineProfile {
        back_end: BackEnd::Rules,
        kind: Kind::Estimated,
        target: "sm_75".to_owned(),
        registers_per_thread: None,
        rows: vec![MachineRow {
            mnemonic: "LDL".into(),
            class: InstructionClass::LoadStore,
            flops: None,
            access: Some(MachineAccess {
                space: Some(StateSpace::Local),
                kind: AccessKind::Load,
                bytes: 8,
            }),
            instruction: Some(LOAD),
            warp_executions: 8,
            issued_lanes: 256,
            thread_executions: 256,
        }],
        notes: Vec::new(),
    };
    let profile = profile.with_machine(joined.clone());
    assert_eq!(count(&profile, "inst_executed_local_loads"), 8);
    assert_eq!(count(&profile, "local_load_requests"), 8);
    assert_eq!(profile.clone().with_machine(joined), profile);
}

/// The first level of a GTX 480 keeps loads of global memory, but for those that go past it.
#[test]
fn loads_with_an_operator_go_past_the_first_level() {
    for (past_l1, hits, at_l2) in [(false, 4, 4), (true, 0, 8)] {
        let code = Code {
            routes: [Route { past_l1, ..Route::default() }, Route::default()].into(),
            ..copy_code()
        };
        let mut counter = Counter::for_code(code, &launch(1, 32), 0, DeviceModel::GTX_480);
        run(&mut counter, 1, |_, recorder| {
            (0..2).for_each(|at| recorder.access(&words(LOAD, 0, at, 0x1000)));
        });
        let (profile, _) = counter.finish();
        let counts = profile.table.rows[LOAD as usize].memory[0];
        assert_eq!(
            (counts.traffic.unwrap().l1_hit_sectors, counts.traffic.unwrap().l2_sectors),
            (hits, at_l2),
            "{past_l1}"
        );
        // What goes past the cache reads none of its banks.
        assert_eq!(counts.passes, if past_l1 { 0 } else { 2 });
        assert_eq!(count(&profile, "dram_read_transactions"), 4);
    }
}

#[test]
fn requests_beyond_the_limit_are_extrapolated() {
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    counter.shape.stream_limit = 100;
    run(&mut counter, 1, |_, recorder| {
        (0..400).for_each(|at| recorder.access(&words(LOAD, 0, at, 0x1000 + at * 128)));
    });
    let (profile, _) = counter.finish();
    assert_eq!(count(&profile, "dram_read_transactions"), 1600);
    assert_eq!(profile.metrics["dram_read_transactions"].kind, Kind::Estimated);
    assert_eq!(count(&profile, "l2_read_transactions"), 1600);
    assert_eq!(count(&profile, "global_load_sectors"), 1600);
}

/// A CTA reads a table of 256 lines at its start, and later 1,024 lines of its own and half of
/// them again; it writes each of them. Streams hold 300 lines: the table and a part of the rest.
/// Two more kernels never come to where the rest would miss, or hit.
#[test]
fn intervals_hold_what_requests_beyond_the_limit_cause() {
    type Requests = fn(u64) -> Vec<(u32, u64)>;
    let mixed: Requests = |cta| {
        let own = |at: u64| 0x100_0000 + (cta * 1024 + at) * 128;
        let table = (0..256).map(|at| (LOAD, 0x1000 + at * 128));
        let reads = (0..1024).map(|at| (LOAD, own(at)));
        let again = (0..512).map(|at| (LOAD, own(2 * at)));
        let writes = (0..1024).map(|at| (STORE, own(at)));
        table.chain(reads).chain(again).chain(writes).collect()
    };
    // The beginning misses and the rest hits, and the other way round.
    let late_hits: Requests = |cta| {
        let first = (0..300).map(|at| (LOAD, 0x100_0000 + (cta * 300 + at) * 128));
        first.chain((0..1000).map(|at| (LOAD, 0x1000 + at % 4 * 128))).collect()
    };
    let late_misses: Requests = |cta| {
        let first = (0..300).map(|at| (LOAD, 0x1000 + at % 4 * 128));
        first.chain((0..1000).map(|at| (LOAD, 0x100_0000 + (cta * 1000 + at) * 128))).collect()
    };
    let l2 = L2Geometry { partial_writes: PartialWrites::Fill, ..L2Geometry::GTX_480 };
    let filling = DeviceModel { l2, ..DeviceModel::GTX_480 };
    let mut tried = 0;
    for (name, requests) in
        [("mixed", mixed), ("late hits", late_hits), ("late misses", late_misses)]
    {
        for device in [DeviceModel::GTX_480, filling] {
            let profile = |limit: Option<usize>| {
                let mut counter = Counter::for_code(copy_code(), &launch(64, 32), 0, device);
                counter.shape.stream_limit = limit.unwrap_or(counter.shape.stream_limit);
                run(&mut counter, 64, |cta, recorder| {
                    for (time, (row, address)) in (0..).zip(requests(cta)) {
                        recorder.access(&words(row, 0, time, address));
                    }
                });
                counter.finish().0
            };
            let (full, cut) = (profile(None), profile(Some(300)));
            assert!(full.intervals.is_empty());
            for (metric, figure) in &full.metrics {
                let (truth, estimate) = (figure.value.as_f64(), cut.metrics[metric]);
                let Some(&[least, most]) = cut.intervals.get(metric) else {
                    assert_eq!(*figure, estimate, "{name}: {metric} is counted");
                    continue;
                };
                assert_eq!(estimate.kind, Kind::Estimated, "{metric}");
                assert!((least..=most).contains(&estimate.value.as_f64()), "{name}: {metric}");
                assert!(
                    (least..=most).contains(&truth),
                    "{name}: {metric} is {truth}, not {least} to {most}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 60, "{tried}");
}

/// Of two instructions, the first one's requests are all replayed. They are not scaled.
#[test]
fn requests_that_were_all_replayed_are_not_extrapolated() {
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    counter.shape.stream_limit = 100;
    run(&mut counter, 1, |_, recorder| {
        (0..50).for_each(|at| recorder.access(&words(LOAD, 0, at, 0x1000 + at * 128)));
        (50..150).for_each(|at| recorder.access(&words(STORE, 0, at, 0x10_0000 + at * 128)));
    });
    let (profile, _) = counter.finish();
    assert_eq!(count(&profile, "dram_read_transactions"), 200);
    assert_eq!(count(&profile, "l2_write_transactions"), 400);
    assert_eq!(count(&profile, "dram_write_transactions"), 400);
}

#[test]
fn the_profile_serialises_as_documented() {
    let counter = Counter::for_code(loop_code(), &launch(2, 48), 0, DeviceModel::GTX_480);
    let (profile, _) = counter.finish();
    let json = serde_json::to_value(&profile).unwrap();
    assert_eq!(json["kernel"], "loop");
    assert_eq!(json["grid"], serde_json::json!([2, 1, 1]));
    assert_eq!(json["invocations"], 1);
    let expected = serde_json::json!(
        {"value": 0, "unit": "operation", "kind": "exact", "level": "ptx"}
    );
    assert_eq!(json["metrics"]["flop_count_sp_fma"], expected);
    assert!(json.get("table").is_none());
    let row = serde_json::to_value(&profile.table).unwrap()[1].clone();
    let expected = serde_json::json!({
        "ptx_line": 1, "opcode": "fma", "counted_as": "inst_fp_32",
        "warp_executions": 0, "issued_lanes": 0, "thread_executions": 0,
    });
    assert_eq!(row, expected);
    assert_eq!(profile.to_kernel_profile().metrics, profile.metrics);
}

#[test]
fn one_instruction_may_read_and_write_the_same_space() {
    // A bulk copy of 16 KiB by one lane from global and from shared memory to shared memory, which
    // tells an mbarrier of 8 bytes there.
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    let access = |space, kind, bytes_per_lane, address| Access {
        instruction: LOAD,
        warp: 0,
        time: 0,
        space,
        kind,
        bytes_per_lane,
        mask: 1 << 7,
        pattern: Pattern::General,
        addresses: Box::leak(Box::new([address; 32])),
        continues: false,
        distances: None,
    };
    run(&mut counter, 1, |_, recorder| {
        recorder.access(&access(StateSpace::Global, AccessKind::Load, 16_384, 0x1010));
        recorder.access(&access(StateSpace::Shared, AccessKind::Load, 16_384, 0));
        recorder.access(&access(StateSpace::Shared, AccessKind::Store, 16_384, 0x100_0000));
        recorder.access(&access(StateSpace::Shared, AccessKind::Reduction, 8, 64));
    });
    let (profile, _) = counter.finish();
    let rows = &profile.table.rows[LOAD as usize].memory;
    let of = |space, kind| {
        let row = rows.iter().find(|row| (row.space, row.kind) == (space, kind)).unwrap();
        (row.requests, row.requested_bytes, row.sectors, row.transactions, row.passes)
    };
    assert_eq!(rows.len(), 4);
    // 16 KiB from the middle of a line: 512 sectors of 129 lines, and half a sector at each end.
    assert_eq!(of(StateSpace::Global, AccessKind::Load), (1, 16_384, 513, 129, 0));
    assert_eq!(of(StateSpace::Shared, AccessKind::Load), (1, 16_384, 0, 0, 128));
    assert_eq!(of(StateSpace::Shared, AccessKind::Store), (1, 16_384, 0, 0, 128));
    assert_eq!(of(StateSpace::Shared, AccessKind::Reduction), (1, 8, 0, 0, 1));
    // The L1 brings in whole lines.
    assert_eq!(count(&profile, "dram_read_transactions"), 129 * 4);
}

#[test]
fn ranges_of_one_copy_are_one_request() {
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, DeviceModel::GTX_480);
    // Two executions of a copy of three rows of 256 bytes each.
    run(&mut counter, 1, |_, recorder| {
        for (execution, row) in [0, 1].into_iter().flat_map(|it| [0, 1, 2].map(|row| (it, row))) {
            recorder.access(&Access {
                bytes_per_lane: 256,
                mask: 1,
                pattern: Pattern::General,
                continues: row != 0,
                ..words(LOAD, 0, execution, 0x1_0000 + 0x1000 * row)
            });
        }
    });
    let (profile, _) = counter.finish();
    let [counts] = profile.table.rows[LOAD as usize].memory[..] else { panic!("one space") };
    assert_eq!((counts.requests, counts.requested_bytes, counts.sectors), (2, 1536, 48));
}

/// The counts of one access by one warp on a device.
fn counts_of(device: DeviceModel, access: &Access<'_>) -> (MemoryCounts, LaunchProfile) {
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, device);
    run(&mut counter, 1, |_, recorder| {
        recorder.block(0, 0, !0);
        recorder.access(access);
    });
    let (profile, _) = counter.finish();
    (profile.table.rows[access.instruction as usize].memory[0], profile)
}

fn gpu(major: u32, minor: u32) -> DeviceModel {
    let l2 = if major == 1 { L2Geometry::NONE } else { L2Geometry::GTX_480 };
    DeviceModel::for_capability(ComputeCapability::new(major, minor), 15, l2).unwrap()
}

/// By hand: 32 banks of four bytes, 128 bytes in a pass.
#[test]
fn loads_take_passes_over_the_banks_of_a_first_level_cache() {
    let passes = |access: &Access<'_>| {
        // They do not depend on the GPU that is counted for.
        let all = [(1, 0), (2, 0), (3, 5), (8, 0)].map(|(major, minor)| {
            let (counts, profile) = counts_of(gpu(major, minor), access);
            assert_eq!(count(&profile, "global_load_passes"), counts.passes);
            (counts.passes, counts.conflict_free)
        });
        assert!(all.iter().all(|digest| *digest == all[0]), "{all:?}");
        all[0]
    };
    let strided = |pitch: u64, bytes_per_lane: u32| {
        let addresses: [u64; 32] = std::array::from_fn(|lane| 0x1000 + lane as u64 * pitch);
        passes(&Access {
            pattern: Pattern::General,
            addresses: &addresses,
            bytes_per_lane,
            ..words(LOAD, 0, 0, 0x1000)
        })
    };
    assert_eq!(passes(&words(LOAD, 0, 0, 0x1000)), (1, 1));
    assert_eq!(strided(4, 4), (1, 1));
    // A column of a matrix: each lane its line, all of them the same bank. With a pitch of 33 words
    // each has a bank of its own, although no two lanes share a line.
    assert_eq!((strided(4096, 4), strided(132, 4)), ((32, 1), (1, 1)));
    // Eight and sixteen bytes a lane go in two and four parts.
    assert_eq!((strided(8, 8), strided(16, 16)), ((2, 2), (4, 4)));
    // All lanes want the same sixteen bytes.
    let uniform =
        Access { pattern: Pattern::Uniform, bytes_per_lane: 16, ..words(LOAD, 0, 0, 0x1000) };
    assert_eq!(passes(&uniform), (1, 1));
    let store = Access { kind: AccessKind::Store, ..words(LOAD, 0, 0, 0x1000) };
    assert_eq!(passes(&store), (0, 0));
}

#[test]
fn constants_are_read_one_address_at_a_time() {
    let addresses: [u64; 32] = std::array::from_fn(|lane| 0x100 + lane as u64 / 8 * 4);
    let access = Access {
        space: StateSpace::Const,
        pattern: Pattern::General,
        addresses: &addresses,
        ..words(LOAD, 0, 0, 0)
    };
    let passes = |device, access: &Access<'_>| {
        let (counts, _) = counts_of(device, access);
        (counts.passes, counts.conflict_free)
    };
    // Four addresses in a warp; two in each half-warp, whose requests are made one by one on 1.x
    // (CUDA C Programming Guide 4.2, section 5.3.2.4).
    assert_eq!(passes(gpu(2, 0), &access), (4, 1));
    assert_eq!(passes(gpu(1, 3), &access), (4, 2));
    let uniform = Access { pattern: Pattern::Uniform, ..access };
    assert_eq!(passes(gpu(2, 0), &uniform), (1, 1));
    assert_eq!(passes(gpu(1, 3), &uniform), (2, 2));
    let consecutive = Access { pattern: Pattern::Consecutive, ..access };
    assert_eq!(passes(gpu(2, 0), &consecutive), (32, 1));
    assert_eq!(passes(gpu(1, 3), &consecutive), (32, 2));
}

#[test]
fn updates_of_one_address_are_counted_in_steps() {
    // Lanes 0, 3, 6, … add to one word, the others to words of their own.
    let addresses: [u64; 32] = std::array::from_fn(|lane| match lane % 3 {
        0 => 0x1000_0000,
        _ => 0x1000_0000 + lane as u64 * 4,
    });
    for kind in [AccessKind::Atomic, AccessKind::Reduction] {
        let access = Access {
            kind,
            pattern: Pattern::General,
            addresses: &addresses,
            ..words(LOAD, 0, 0, 0)
        };
        let (counts, profile) = counts_of(gpu(8, 0), &access);
        assert_eq!((counts.update_steps, counts.transactions, counts.sectors), (11, 22, 4));
        assert_eq!(count(&profile, "atomic_transactions"), 4);
    }
    let (loads, _) = counts_of(gpu(8, 0), &words(LOAD, 0, 0, 0x1000_0000));
    assert_eq!(loads.update_steps, 0);
}

#[test]
fn conflicts_stand_beside_the_passes_without_them() {
    let addresses: [u64; 32] = std::array::from_fn(|lane| lane as u64 * 16);
    let access = Access {
        space: StateSpace::Shared,
        pattern: Pattern::General,
        addresses: &addresses,
        ..words(LOAD, 0, 0, 0)
    };
    let (counts, _) = counts_of(gpu(8, 0), &access);
    assert_eq!((counts.passes, counts.conflict_free), (4, 1));
    let wide = Access { bytes_per_lane: 8, ..access };
    let (counts, _) = counts_of(gpu(8, 0), &wide);
    assert_eq!((counts.passes, counts.conflict_free), (4, 2));
}

#[test]
fn without_an_l2_every_transaction_is_one_of_dram() {
    let (counts, profile) = counts_of(gpu(1, 3), &words(LOAD, 0, 0, 0x1000_0004));
    // Misaligned by a word: the first half-warp needs both halves of its segment; the second
    // one needs the upper half, and 32 bytes of the next segment.
    assert_eq!((counts.transactions, counts.sectors), (3, 4 + 2 + 1));
    assert_eq!(count(&profile, "dram_read_transactions"), 7);
    let mut counter = Counter::for_code(copy_code(), &launch(1, 32), 0, gpu(1, 3));
    run(&mut counter, 1, |_, recorder| {
        for time in 0..3 {
            recorder.access(&words(STORE, 0, time, 0x2000_0000));
        }
    });
    let (profile, _) = counter.finish();
    assert_eq!(count(&profile, "dram_write_transactions"), 3 * 4);
    assert_eq!(count(&profile, "dram_read_transactions"), 0);
}

#[test]
fn sectors_of_16_bytes_move_half_as_much_for_scattered_words() {
    // A GPU whose misses read one sector.
    let mut device = gpu(8, 6);
    let addresses: [u64; 32] = std::array::from_fn(|lane| 0x1000_0000 + lane as u64 * 256);
    let access =
        Access { pattern: Pattern::General, addresses: &addresses, ..words(LOAD, 0, 0, 0) };
    let bytes = |device| count(&counts_of(device, &access).1, "dram_read_bytes");
    assert_eq!(bytes(device), 32 * 32);
    device.coalescing.sector = SectorSize::new(16).unwrap();
    assert_eq!(bytes(device), 32 * 16);
    // A line that is smaller than those of requests, and one that is larger.
    device.l2.line_bytes = 64;
    assert_eq!(bytes(device), 32 * 16);
    device.coalescing.sector = SectorSize::new(64).unwrap();
    device.l2.line_bytes = 256;
    assert_eq!(bytes(device), 32 * 64);
}

#[test]
fn registers_keep_ctas_away() {
    let new = || Counter::for_code(copy_code(), &launch(1, 256), 0, DeviceModel::GTX_480);
    let resident = |counter: &Counter| counter.device.wave(counter.cta);
    assert_eq!(resident(&new()), 15 * 6);
    // 63 registers: 16 warps in an SM.
    let counter = new().with_registers(ThreadRegisters { count: 63, estimated: None, spilled: 0 });
    assert_eq!(resident(&counter), 15 * 2);
    assert_eq!(counter.occupancy().limiters().collect::<Vec<_>>(), [Limiter::Registers]);
}

/// Accesses with the numbers of their distances, as the interpreter reports them, and without.
#[test]
fn numbers_of_distances_change_no_count() {
    let kepler = DeviceModel { banks: BankGeometry::CAPABILITY_3, ..DeviceModel::GTX_480 };
    let odd = BankGeometry::CAPABILITY_5.with_banks(24).unwrap();
    let odd = DeviceModel { banks: odd, ..DeviceModel::GTX_480 };
    let devices = [DeviceModel::GTX_480, kepler, odd];
    let rows: [fn(u64) -> u64; 6] = [
        |lane| lane / 16 * 64,
        |lane| lane % 16 * 4,
        |lane| lane * 132,
        |lane| lane * 128,
        |lane| 4096 - lane * 36,
        |lane| lane * lane * 4 % 1020,
    ];
    let id = |number: usize| std::num::NonZeroU64::new(number as u64 + 1);
    for device in devices {
        let of = |numbered: bool| {
            let mut counter = Counter::for_code(copy_code(), &launch(3, 256), 0, device);
            run(&mut counter, 3, |cta, recorder| {
                for time in 0..600_u64 {
                    // Distances change now and then, and the first lane goes everywhere.
                    let row = (time / 7 % 6) as usize;
                    let first = 0x10_0000 + cta * 4096 + time * time % 97 * 4;
                    let addresses = std::array::from_fn(|lane| first + rows[row](lane as u64));
                    let instruction = if time % 2 == 0 { LOAD } else { STORE };
                    let plain = words(instruction, 0, time, 0);
                    let space = [StateSpace::Global, StateSpace::Shared][(time / 2 % 2) as usize];
                    let number = id(4 * row + 2 * (time % 2) as usize + (time / 2 % 2) as usize);
                    let distances = number.filter(|_| numbered);
                    let pattern = Pattern::General;
                    let addresses = &addresses;
                    recorder.access(&Access { space, pattern, addresses, distances, ..plain });
                }
            });
            counter.finish().0
        };
        let (numbered, plain) = (of(true), of(false));
        assert_eq!(numbered.table, plain.table);
        assert!(count(&plain, "shared_load_transactions") > 300);
        assert!(count(&plain, "global_load_sectors") > 300);
    }
}

/// Accesses told one by one, and told by what the recorder asks for of those that are alike.
#[test]
fn accesses_that_are_told_together_count_as_each_of_them() {
    let kepler = DeviceModel { banks: BankGeometry::CAPABILITY_3, ..DeviceModel::GTX_480 };
    let volta = DeviceModel { banks: BankGeometry::CAPABILITY_5, ..DeviceModel::GTX_480 };
    let mut tesla = DeviceModel::GTX_480;
    tesla.coalescing.protocol = Protocol::HalfWarpSegments;
    let distances: [fn(u64) -> u64; 5] =
        [|_| 0, |lane| lane * 4, |lane| lane / 16 * 64, |lane| lane * 132, |lane| 4096 - lane * 36];
    let spaces = [StateSpace::Global, StateSpace::Shared, StateSpace::Const];
    for (device, has_caches) in [DeviceModel::GTX_480, kepler, volta, tesla]
        .map(|device| [(device, true), (device, false)])
        .concat()
    {
        let of = |together: bool| {
            let mut counter = Counter::for_code(copy_code(), &launch(3, 256), 0, device);
            if !has_caches {
                counter = counter.without_caches();
            }
            run(&mut counter, 3, |cta, recorder| {
                // Kinds of accesses by slot, with what the recorder needs, their number and clock.
                let mut slots: Vec<(_, Further, u64, u64)> = Vec::new();
                for time in 0..900_u64 {
                    let kind = time % 5;
                    let first = 0x10_0000 + cta * 4096 + time * time % 97 * 4;
                    let addresses =
                        std::array::from_fn(|lane| first + distances[kind as usize](lane as u64));
                    let instruction = if time % 2 == 0 { LOAD } else { STORE };
                    let space = match spaces[(time / 2 % 3) as usize] {
                        StateSpace::Const if instruction == STORE => StateSpace::Shared,
                        space => space,
                    };
                    let pattern =
                        [Pattern::Uniform, Pattern::Consecutive].get(kind as usize).copied();
                    let access = Access {
                        space,
                        pattern: pattern.unwrap_or(Pattern::General),
                        addresses: &addresses,
                        distances: std::num::NonZeroU64::new(kind + 1),
                        ..words(instruction, 3, time, 0)
                    };
                    let first = addresses[0];
                    let alike = (instruction, space, kind, first % ALIKE_BYTES);
                    match slots.iter().position(|slot| slot.0 == alike) {
                        _ if !together => recorder.access(&access),
                        None => {
                            let slot = slots.len() as u32;
                            slots.push((alike, recorder.first_access(slot, &access), 0, 0));
                        }
                        Some(slot) => {
                            let (_, needs, number, latest) = &mut slots[slot];
                            (*number, *latest) = (*number + 1, time);
                            let further = FurtherAccess { warp: 3, time, first };
                            match needs {
                                Further::Each => recorder.access(&access),
                                Further::Address => recorder.further_address(slot as u32, further),
                                Further::Number => {}
                            }
                        }
                    }
                }
                for (slot, (_, needs, number, latest)) in slots.into_iter().enumerate() {
                    if needs != Further::Each {
                        recorder.further_accesses(slot as u32, number, latest);
                    }
                }
            });
            counter.finish()
        };
        let ((together, mut l2), (each, mut l2_of_each)) = (of(true), of(false));
        assert_eq!(together.table, each.table, "caches: {has_caches}");
        let state = |l2: &mut Option<L2>| l2.as_mut().map(L2::state);
        assert_eq!(state(&mut l2), state(&mut l2_of_each));
        assert!(count(&each, "shared_load_transactions") > 100);
        assert!(count(&each, "global_load_sectors") > 100);
    }
}

//! Local memory, and what machine code makes of its accesses.

use super::*;

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

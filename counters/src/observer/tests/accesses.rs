//! Blocks, branches and accesses as rows of the table and as metrics.

use super::*;

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

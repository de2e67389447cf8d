//! The way of recorded warps through the machine code, against the counts of the same code.

use std::collections::BTreeMap;
use std::fs;

use gpucast_counters::machine::MachineProfile;
use gpucast_machine::ptxas::{MachineError, prepare, schedule};
use gpucast_simulation::code::{
    AccessKind, Action, Class, FenceScope, Instruction, MemoryAccess, Space, TensorFormat,
};
use gpucast_simulation::launch::{Beside, Launch, WarpTrace};

use super::nests::{self, Nest};
use super::{Executed, folder, paths, sgemm_small};

impl Executed {
    fn try_launch(&self, input: &str) -> Result<Launch, MachineError> {
        let image = fs::read(folder().join(format!("tests/ptxas/inputs/{input}.cubin"))).unwrap();
        let prepared = prepare(&self.text).unwrap();
        schedule(&image, &prepared, &self.program, &self.table, &self.trace)
    }

    pub(super) fn launch(&self, input: &str) -> Launch {
        self.try_launch(input).unwrap()
    }
}

impl Nest {
    fn launch(&self, target: &str) -> Launch {
        let prepared = prepare(&self.text).unwrap();
        let image = Self::image(target);
        schedule(&image, &prepared, &self.program, &self.table, &self.trace).unwrap()
    }
}

fn warps(launch: &Launch) -> impl Iterator<Item = &WarpTrace> {
    launch.classes.iter().flat_map(|class| &class.samples).flat_map(|cta| &cta.warps)
}

/// The instructions that a warp executes, in order.
fn instructions<'l>(
    launch: &'l Launch,
    warp: &'l WarpTrace,
) -> impl Iterator<Item = &'l Instruction> {
    warp.path.iter().flat_map(|&block| {
        let block = launch.code.blocks[block as usize].clone();
        &launch.code.instructions[block.start as usize..block.end as usize]
    })
}

/// Executions by warps, by mnemonic and PTX instruction.
type Executions = BTreeMap<(String, Option<u32>), u64>;

/// The executions by all CTAs: those of a class execute each block equally often.
fn executions(launch: &Launch) -> Executions {
    let mut executions = Executions::new();
    for (number, class) in launch.classes.iter().enumerate() {
        assert_eq!(class.scale, 1.0);
        let of_class = launch.order.iter().filter(|run| run.class as usize == number);
        let ctas: u64 = of_class.map(|run| run.ctas).sum();
        let mut sum = Executions::new();
        for warp in class.samples.iter().flat_map(|cta| &cta.warps) {
            assert_eq!(warp.left_out_instructions, 0);
            for one in instructions(launch, warp) {
                *sum.entry((one.mnemonic.clone().into_owned(), one.ptx)).or_default() += 1;
            }
        }
        for (key, count) in sum {
            *executions.entry(key).or_default() += count * ctas / class.samples.len() as u64;
        }
    }
    executions
}

fn counted(profile: &MachineProfile) -> Executions {
    let mut executions = Executions::new();
    for row in profile.rows.iter().filter(|row| row.warp_executions > 0) {
        let key = (row.mnemonic.clone().into_owned(), row.instruction);
        *executions.entry(key).or_default() += row.warp_executions as u64;
    }
    executions
}

/// Executions of the instructions that read each queue of a warp.
fn readers(launch: &Launch, warp: &WarpTrace) -> Vec<usize> {
    let mut readers = vec![0; launch.code.queues as usize];
    for one in instructions(launch, warp) {
        if let Action::Access(MemoryAccess { queue: Some(queue), .. }) = one.action {
            readers[queue as usize] += 1;
        }
    }
    readers
}

fn sgemm(ptx: &str) -> Executed {
    Executed::new("sgemm", ptx, "sgemm", [2, 2, 1], [32, 32, 1], &[16384; 3], 64)
}

const SGEMMS: [(&str, &str); 5] = [
    ("sm_35", "sm_50"),
    ("sm_35", "sm_70"),
    ("sm_80", "sm_80"),
    ("sm_80", "sm_90"),
    ("sm_80", "sm_120"),
];

#[test]
fn the_ways_of_all_warps_hold_the_counted_executions() {
    for (ptx, target) in SGEMMS {
        let (executed, input) = (sgemm(ptx), format!("sgemm.{target}"));
        let counted = counted(&executed.machine(&input));
        assert_eq!(executions(&executed.launch(&input)), counted, "sgemm {target}");
    }
    for target in ["sm_50", "sm_61"] {
        let input = format!("sgemm-16.{target}");
        let bytes = [65536; 3];
        let executed =
            Executed::new("sgemm-16", "sm_35", "sgemm_16", [2, 2, 1], [16, 16, 1], &bytes, 112);
        let counted = counted(&executed.machine(&input));
        assert_eq!(executions(&executed.launch(&input)), counted, "sgemm-16 {target}");
    }
    for kernel in ["divide", "choose"] {
        let executed = paths(kernel);
        for input in ["paths.sm_50", "paths.sm_70"] {
            let counted = counted(&executed.machine(input));
            assert_eq!(executions(&executed.launch(input)), counted, "{kernel} {input}");
        }
    }
    let nests = [
        nests::kmeans(),
        nests::breaks(-1.0),
        nests::breaks(1.0),
        nests::early_exit(),
        nests::remainder_loop(37),
        nests::remainder_loop(3),
    ];
    for nest in nests {
        for target in nests::TARGETS {
            let (found, counted) =
                (executions(&nest.launch(target)), counted(&nest.machine(target)));
            assert_eq!(found, counted, "{} {target}", nest.program.kernel());
        }
    }
}

#[test]
fn warps_whose_threads_go_different_ways_have_nearly_the_counted_executions() {
    let check = |name: &str, launch: &Launch, profile: &MachineProfile| {
        let sum = |all: Executions| all.into_values().sum::<u64>() as f64;
        let ratio = sum(executions(launch)) / sum(counted(profile));
        assert!((0.97..=1.03).contains(&ratio), "{name} has {ratio} of the counted executions");
    };
    let uneven = paths("uneven");
    for input in ["paths.sm_50", "paths.sm_70"] {
        check(input, &uneven.launch(input), &uneven.machine(input));
    }
    let choices = nests::choices();
    for target in nests::TARGETS {
        check(target, &choices.launch(target), &choices.machine(target));
    }
}

#[test]
fn each_access_has_a_request_where_the_assembler_kept_accesses_apart() {
    let vector_add = Executed::new(
        "vector-add",
        "sm_35",
        "vector_add",
        [4, 1, 1],
        [256, 1, 1],
        &[4000; 3],
        1000,
    );
    let mut launches = vec![vector_add.launch("vector-add.sm_50")];
    for nest in [nests::kmeans(), nests::remainder_loop(37), nests::choices()] {
        launches.extend(nests::TARGETS.map(|target| nest.launch(target)));
    }
    for launch in &launches {
        assert!(launch.code.queues > 0);
        for warp in warps(launch) {
            let requests: Vec<usize> = warp.requests.iter().map(Vec::len).collect();
            assert_eq!(readers(launch, warp), requests);
        }
    }
}

#[test]
fn joined_accesses_read_one_queue_and_leave_the_others() {
    // Of each four loads of neighbouring elements one of 16 bytes is left.
    for (ptx, target) in SGEMMS {
        let launch = sgemm(ptx).launch(&format!("sgemm.{target}"));
        for warp in warps(&launch) {
            let readers = readers(&launch, warp);
            for (readers, requests) in readers.iter().zip(&warp.requests) {
                assert!([0, requests.len()].contains(readers), "{target}");
            }
            // 3 · 8 loads of four elements each stand for one.
            assert_eq!(readers.iter().filter(|&&readers| readers == 0).count(), 24, "{target}");
        }
    }
}

#[test]
fn barriers_stand_between_the_stores_and_loads_of_a_tile() {
    for (ptx, target) in SGEMMS {
        let launch = sgemm(ptx).launch(&format!("sgemm.{target}"));
        for warp in warps(&launch) {
            let mut order = String::new();
            for one in instructions(&launch, warp) {
                let letter = match (one.action, &*one.mnemonic) {
                    (Action::CtaBarrier { .. }, _) => 'b',
                    (Action::Access(access), _) if access.space == Space::Shared => {
                        if access.kind == AccessKind::Store { 's' } else { 'l' }
                    }
                    (Action::Exit, "EXIT") => 'x',
                    _ => continue,
                };
                if !order.ends_with(letter) {
                    order.push(letter);
                }
            }
            assert_eq!(order, "sblbsblbx", "{target}");
        }
    }
}

#[test]
fn an_unrolled_loop_goes_round_before_its_remainder() {
    let remainder = nests::remainder_loop(37);
    for target in nests::TARGETS {
        let launch = remainder.launch(target);
        for warp in warps(&launch) {
            // A round has two multiply-adds. Every version has more rounds than the next one.
            let products: Vec<usize> = warp
                .path
                .iter()
                .map(|&block| {
                    let block = launch.code.blocks[block as usize].clone();
                    let of_block =
                        &launch.code.instructions[block.start as usize..block.end as usize];
                    of_block.iter().filter(|instruction| instruction.mnemonic == "FFMA").count()
                })
                .filter(|&products| products > 0)
                .collect();
            assert_eq!(products.iter().sum::<usize>(), 2 * 37, "{target}");
            assert!(products.is_sorted_by(|a, b| a >= b), "{target}: {products:?}");
        }
    }
}

#[test]
fn instructions_of_a_product_go_to_their_units() {
    for (ptx, target) in SGEMMS {
        let launch = sgemm(ptx).launch(&format!("sgemm.{target}"));
        let first = |mnemonic: &str| {
            launch
                .code
                .instructions
                .iter()
                .find(|instruction| instruction.mnemonic == mnemonic)
                .unwrap()
        };
        assert_eq!(first("FFMA").class, Class::Fp32);
        assert_eq!(first("BAR").action, Action::CtaBarrier { queue: None });
        assert_eq!(first("EXIT").action, Action::Exit);
        let Action::Access(load) = first("LDG").action else { panic!("{target}: LDG loads") };
        assert_eq!((load.space, load.kind, load.bytes), (Space::Global, AccessKind::Load, 4));
        assert!(load.queue.is_some() && !load.has_uniform_address);
        let wide = launch
            .code
            .instructions
            .iter()
            .filter(|instruction| matches!(instruction.action, Action::Access(access) if access.bytes == 16));
        assert_eq!(wide.count(), 8, "{target}");
        assert_eq!(launch.ctas(), 4);
        assert!(launch.code.bytes >= 8 * launch.code.instructions.len() as u32);
    }
}

#[test]
fn copies_and_products_are_waited_for_as_the_code_says() {
    let executed = Executed::new("", "copies", "copies", [1, 1, 1], [32, 1, 1], &[8192, 8192], 0);
    for target in ["sm_80", "sm_90"] {
        let launch = executed.launch(&format!("copies.{target}"));
        let all = &launch.code.instructions;
        let accesses = |mnemonic: &str| -> Vec<(AccessKind, u32)> {
            let of_one = |one: &Instruction| match one.action {
                Action::Access(access) => {
                    assert!(access.queue.is_some(), "{mnemonic}");
                    (access.kind, access.bytes)
                }
                other => panic!("{mnemonic} is {other:?}"),
            };
            all.iter().filter(|instruction| instruction.mnemonic == mnemonic).map(of_one).collect()
        };
        let copy = |bypasses_l1| AccessKind::AsyncCopy { bypasses_l1 };
        assert_eq!(accesses("LDGSTS"), [(copy(true), 16), (copy(false), 8)]);
        assert_eq!(accesses("LDSM"), [(AccessKind::Load, 16), (AccessKind::Load, 8)]);
        assert_eq!(accesses("ATOMG"), [(AccessKind::Atomic, 4)]);
        // Two groups raise a counter, which is waited for twice.
        let commits: Vec<Option<u8>> = all
            .iter()
            .filter(|instruction| matches!(instruction.action, Action::CommitCopies { .. }))
            .map(|instruction| instruction.control.write_barrier)
            .collect();
        assert_eq!(commits, [Some(0), Some(0)]);
        let waits: Vec<Action> = all
            .iter()
            .map(|instruction| instruction.action)
            .filter(|action| matches!(action, Action::AwaitCounter { .. }))
            .collect();
        let wait = |pending| Action::AwaitCounter { counter: 0, pending };
        assert_eq!(waits, [wait(1), wait(0)], "{target}");
        let products: Vec<Action> = all
            .iter()
            .filter(|instruction| instruction.class == Class::Tensor)
            .map(|instruction| instruction.action)
            .collect();
        let product = Action::Multiply {
            multiply_adds: 16 * 8 * 16,
            format: TensorFormat::HalfInSingle,
            is_asynchronous: false,
            ends_group: false,
        };
        assert_eq!(products, [product], "{target}");
        assert!(
            all.iter().any(|instruction| instruction.action == Action::Fence(FenceScope::Gpu)),
            "{target}"
        );
    }
}

#[test]
fn code_without_scheduling_fields_is_refused() {
    let error = sgemm_small().try_launch("sgemm.sm_35").unwrap_err();
    assert!(matches!(error, MachineError::NoSchedule { .. }), "{error}");
    assert!(error.to_string().contains("when its instructions may issue"), "{error}");
}

#[test]
fn rounds_of_bulk_copies_keep_their_order() {
    // `phases.ptx`: 8 rounds, in which two mbarriers count a copy each. The assembler guards the
    // copies by predicates, lets a loop elect their lane, and puts the first try of each wait in
    // front of the loop that spins.
    let phases = |rounds| {
        let launch = [[1, 1, 1], [64, 1, 1]];
        Executed::with_numbers("", "phases", "rounds_of_copies", launch, &[4096; 2], &[rounds])
    };
    let launch = phases(8).launch("phases.sm_90");
    let mut copies_of_warps = Vec::new();
    for warp in warps(&launch) {
        let all: Vec<&Instruction> = instructions(&launch, warp).collect();
        let is_barrier = |one: &&Instruction| matches!(one.action, Action::CtaBarrier { .. });
        let rounds: Vec<_> = all.split(|instruction| is_barrier(instruction)).collect();
        // What is in front of the first round, the rounds, and the store behind.
        assert_eq!(rounds.len(), 10);
        for round in &rounds[1..9] {
            let waits: Vec<_> = round
                .iter()
                .filter(|instruction| matches!(instruction.action, Action::AwaitPhase { .. }))
                .map(|instruction| instruction.ptx)
                .collect();
            assert_eq!(waits.len(), 2);
            assert_ne!(waits[0], waits[1]);
            let first_wait = round
                .iter()
                .position(|instruction| matches!(instruction.action, Action::AwaitPhase { .. }))
                .unwrap();
            let told = |one: &&&Instruction| {
                matches!(one.action, Action::ArriveAtPhase { .. }) || one.mnemonic == "UBLKCP"
            };
            assert_eq!(round[first_wait..].iter().filter(told).count(), 0);
            assert_eq!(round[..first_wait].iter().filter(told).count(), 6);
        }
        let copies =
            warp.requests.iter().flatten().filter(|request| request.space == Space::Global);
        copies_of_warps.push(copies.count());
    }
    // Of the first warp one thread copies; all warps store once.
    assert_eq!(copies_of_warps, [17, 1]);
}

#[test]
fn guarded_turns_and_waits_keep_the_rounds_that_they_belong_to() {
    // `turns.ptx`: the assembler guards the barriers by predicates. The first try of the wait has
    // the line of an instruction that computes its operands.
    const ROUNDS: usize = 6;
    let launch = [[1, 1, 1], [64, 1, 1]];
    let executed = Executed::with_numbers("", "turns", "turns", launch, &[256], &[ROUNDS as i32]);
    let launch = executed.launch("turns.sm_90");
    let of = |warp: &WarpTrace, is_meant: &dyn Fn(&Action) -> bool| -> Vec<Beside> {
        let mut taken: BTreeMap<u32, usize> = BTreeMap::new();
        let mut found = Vec::new();
        for one in instructions(&launch, warp) {
            if let Some(queue) = one.action.queue() {
                let at = taken.entry(queue).or_default();
                if is_meant(&one.action) {
                    found.push(warp.requests[queue as usize][*at].beside);
                }
                *at += 1;
            }
        }
        found
    };
    let meets = |action: &Action| matches!(action, Action::CtaBarrier { queue: Some(_) });
    let arrives = |action: &Action| matches!(action, Action::CtaArrive { queue: Some(_) });
    let waits = |action: &Action| matches!(action, Action::AwaitPhase { .. });
    let [first, second] = warps(&launch).collect::<Vec<_>>()[..] else { panic!("two warps") };
    let (own, others) = (of(first, &meets), of(second, &arrives));
    // No turn is awaited in the first round, and none is passed on in the last.
    assert_eq!((own.len(), own[0]), (ROUNDS, Beside::Nothing));
    assert_eq!((others.len(), others[5]), (ROUNDS, Beside::Nothing));
    assert_eq!(own[1..], others[..5]);
    assert_eq!(of(first, &arrives), of(second, &meets));
    let mut phases = own[1..].to_vec();
    phases.extend(of(second, &meets));
    phases.sort_by_key(|beside| format!("{beside:?}"));
    phases.dedup();
    assert_eq!(phases.len(), 11);
    for warp in [first, second] {
        let waited = of(warp, &waits);
        assert_eq!(waited.len(), ROUNDS);
        assert!(waited.iter().all(|beside| matches!(beside, Beside::Phase(_))), "{waited:?}");
        // Nobody goes through the loop that spins.
        assert_eq!(instructions(&launch, warp).filter(|one| waits(&one.action)).count(), ROUNDS);
    }
}

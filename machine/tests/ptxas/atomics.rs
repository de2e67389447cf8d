//! Atomics whose values a warp adds up before one lane changes memory, by both back ends.

use gpucast_machine::rules::Compiled;
use gpucast_simulation::launch::Launch;

use super::Executed;

/// The most lanes of a warp at one address that change memory one after the other.
struct Steps {
    kernel: &'static str,
    /// Where whole warps alone exchange different values (until sm_75).
    by_shuffles: u8,
    /// Where `REDUX` and `ATOMS.POPC.INC` exist (since sm_80).
    by_reductions: u8,
}

/// Of 64 threads, half of which skip the atomic where the name says so (`ones`, `some_values`,
/// `tickets`). The words of pairs of threads are `scattered`, `bins` and `weights`.
const STEPS: [Steps; 15] = {
    const fn steps(kernel: &'static str, by_shuffles: u8, by_reductions: u8) -> Steps {
        Steps { kernel, by_shuffles, by_reductions }
    }
    [
        // One value at one address, under any condition, with a result or without.
        steps("ones", 1, 1),
        steps("tickets", 1, 1),
        steps("wide", 1, 1),
        steps("bin", 1, 1),
        // Different values.
        steps("values", 1, 1),
        steps("maximum", 1, 1),
        steps("some_values", 16, 1),
        // Ones at different words of shared memory, and other values.
        steps("bins", 2, 1),
        steps("weights", 2, 2),
        // What is never added up: other addresses, and operations without a reduction.
        steps("scattered", 2, 2),
        steps("floats", 32, 32),
        steps("wrapping", 32, 32),
        steps("wide_values", 32, 32),
        steps("exchanged", 32, 32),
        // The user's own choice of a lane.
        steps("chosen", 1, 1),
    ]
};

fn most_steps(launch: &Launch) -> u8 {
    let samples = launch.classes.iter().flat_map(|class| &class.samples);
    let requests =
        samples.flat_map(|cta| &cta.warps).flat_map(|warp| warp.requests.iter().flatten());
    requests.map(|request| request.serial).max().unwrap()
}

#[test]
fn both_back_ends_add_up_the_lanes_that_the_assembler_adds_up() {
    let mut wrong = Vec::new();
    for Steps { kernel, by_shuffles, by_reductions } in STEPS {
        let executed = Executed::new("", "atomics", kernel, [1, 1, 1], [64, 1, 1], &[4096], 0);
        for target in ["sm_50", "sm_75", "sm_80", "sm_90", "sm_100"] {
            let expected = match target {
                "sm_50" | "sm_75" => by_shuffles,
                _ => by_reductions,
            };
            let assembled = executed.launch(&format!("atomics.{target}"));
            let mut check = |back_end: &str, launch: &Launch| {
                let found = most_steps(launch);
                if found != expected {
                    wrong.push(format!("{kernel} by {back_end} for {target}: {found}"));
                }
            };
            check("ptxas", &assembled);
            let compiled =
                Compiled::new(target.parse().unwrap(), &executed.program, &executed.table);
            check("rules", &compiled.schedule(&executed.trace));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn one_lane_of_a_warp_is_counted_where_it_updates_for_all() {
    let threads = |kernel: &str, target: &str, ptxas: bool| -> u128 {
        let executed = Executed::new("", "atomics", kernel, [1, 1, 1], [64, 1, 1], &[4096], 0);
        let profile = match ptxas {
            true => executed.machine(&format!("atomics.{target}")),
            false => {
                let target = target.parse().unwrap();
                Compiled::new(target, &executed.program, &executed.table).profile()
            }
        };
        let updates = profile.rows.iter().filter(|row| row.mnemonic.starts_with("RED"));
        updates.filter(|row| row.access.is_some()).map(|row| row.thread_executions).sum()
    };
    for target in ["sm_50", "sm_75", "sm_80", "sm_90", "sm_100"] {
        for ptxas in [true, false] {
            // Two warps with 16 lanes each; 64 lanes with an address for two of them.
            assert_eq!(threads("ones", target, ptxas), 2, "{target} {ptxas}");
            assert_eq!(threads("scattered", target, ptxas), 64, "{target} {ptxas}");
        }
    }
}

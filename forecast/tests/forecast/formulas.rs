//! Launches counted by formulas: the tables are those of executions in the same sizes.

use std::path::Path;

use gpucast_counters::cells::Frame;
use gpucast_counters::{Kind, LaunchProfile, MetricValue, Metrics};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::input::expression::Parameters;
use gpucast_forecast::input::kernel_argument;
use gpucast_forecast::parametric::{ByFormulas, Problem, Swept};
use gpucast_forecast::run::counting::{self, Counted, Counting, Extras};
use gpucast_forecast::run::kept::KeptCounts;
use gpucast_forecast::run::machine::Machine;
use gpucast_forecast::run::module;
use gpucast_forecast::run::rung::Rung;
use gpucast_forecast::run::sources::Counts;
use gpucast_forecast::settings::{
    CacheChoice, ExecutionSettings, MachineChoice, MachineSettings, RungChoice, Size,
};
use gpucast_forecast::{Alone, Failure, Kernel, LaunchOptions, Supervisor};
use gpucast_interpreter::{Options, Program};
use gpucast_model::{Gpu, Needs};

use crate::common::is_nightly;

fn gpu(name: &str) -> Gpu {
    gpu_argument::find(&gpu_argument::library().unwrap(), name).unwrap()
}

/// A folder of formulas, as a program has one.
struct Keeper(KeptCounts);

impl Keeper {
    fn of(folder: &Path) -> Self {
        Self(KeptCounts::new(folder, "this build".to_owned()))
    }
}

impl Supervisor for Keeper {
    fn kept_counts(&self) -> Option<&KeptCounts> {
        Some(&self.0)
    }
}

/// A launch file of the program's tests.
fn input(file: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/inputs");
    format!("{folder}/{file}")
}

fn plan(input: &str, sizes: &Parameters) -> Result<gpucast_forecast::input::plan::Plan, Failure> {
    let param = sizes.iter().map(|(name, &size)| (name.clone(), size)).collect();
    Ok(kernel_argument::read(input, &LaunchOptions { param, ..LaunchOptions::default() })?)
}

/// Counts by rules for machine instructions, with or without caches.
fn counts(caches: CacheChoice) -> Counts {
    let machine = MachineSettings { machine: MachineChoice::Rules, ..MachineSettings::default() };
    let counting = RungChoice::Formulas;
    let execution = ExecutionSettings { counting, caches, ..ExecutionSettings::default() };
    Counts { machine, execution, ..Counts::default() }
}

/// Asks about a launch file with parameters.
fn ask<T>(
    file: &str,
    names: &[&str],
    (gpu, counts): (&Gpu, &Counts),
    supervisor: &dyn Supervisor,
    question: impl FnOnce(&Problem<'_>) -> T,
) -> T {
    let path = input(file);
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let identity = std::fs::read_to_string(&path).unwrap();
    let plan_at = |sizes: &Parameters| plan(&path, sizes);
    question(&Problem {
        names: &names,
        plan_at: &plan_at,
        identity: &identity,
        gpu,
        counts,
        supervisor,
    })
}

/// The counts of executing one size, as `auto` does it.
fn executed(problem: &Problem<'_>, sizes: &[u64]) -> Vec<Counted> {
    let named = problem.names.iter().cloned().zip(sizes.iter().map(|&size| size as f64));
    let plan = (problem.plan_at)(&named.collect()).unwrap();
    let device = gpu_argument::device_model(problem.gpu).unwrap();
    let loaded = module::load(&plan).unwrap();
    let kernels = plan.launches.iter().map(|launch| launch.kernel.as_str());
    let machine = &problem.counts.machine;
    let machine = Machine::new(machine, &loaded, device.capability, kernels, None).unwrap();
    let caches = problem.counts.execution.caches;
    let counting = Counting {
        device,
        machine: &machine,
        extras: Extras::default(),
        rung: RungChoice::Auto,
        sample: None,
        caches,
        supervisor: &Alone,
    };
    counting::count(&plan, &loaded, &Options::default(), &counting).unwrap()
}

fn by_formulas(found: &ByFormulas, problem: &Problem<'_>, sizes: &[u64]) -> Option<Vec<Counted>> {
    let named = problem.names.iter().cloned().zip(sizes.iter().map(|&size| size as f64));
    let plan = (problem.plan_at)(&named.collect()).unwrap();
    found.count(&plan, sizes, problem).unwrap()
}

/// What a figure says beside its kind.
fn values(metrics: &Metrics) -> Vec<(&str, String, &'static str)> {
    let mut all = Vec::new();
    for (name, &MetricValue { value, unit, kind: _ }) in metrics {
        all.push((name.as_str(), format!("{value:?}"), unit));
    }
    all
}

fn check_equal(ours: &Counted, theirs: &Counted, what: &str) {
    assert_eq!(ours.counted_by.rung, Rung::Formulas, "{what}");
    let (one, other) = (&ours.profile, &theirs.profile);
    assert!(one.table == other.table, "the base table of {what}");
    assert!(one.machine == other.machine, "the machine instructions of {what}");
    assert_eq!((one.grid, one.block), (other.grid, other.block), "{what}");
    assert_eq!(one.invocations, other.invocations, "{what}");
    assert_eq!(one.cta_shape(), other.cta_shape(), "{what}");
    assert_eq!(values(&one.metrics), values(&other.metrics), "{what}");
    assert_eq!(values(&one.ptx_metrics), values(&other.ptx_metrics), "{what}");
    assert_eq!(ours.ranges, theirs.ranges, "{what}");
    assert_eq!(ours.ordered_because, theirs.ordered_because, "{what}");
    assert_eq!(ours.watched, theirs.watched, "{what}");
    // What was exact is not proven here; facts of the launch need no execution.
    for (name, ours) in &one.metrics {
        let theirs = other.metrics[name].kind;
        assert!(ours.kind == Kind::Estimated || ours.kind == theirs, "{what}: {name}");
    }
    assert_eq!(one.metrics["flop_count_sp"].kind, Kind::Estimated, "{what}");
}

/// A problem whose sizes are swept, and the sizes that are compared.
struct Case {
    file: &'static str,
    names: &'static [&'static str],
    /// First, last and step of each parameter.
    swept: &'static [[u64; 3]],
    /// Each parameter goes through its sizes in steps of so many, until this many are compared.
    strides: &'static [u64],
    compared: u64,
}

const CASES: [Case; 6] = [
    Case {
        file: "saxpy-n.toml",
        names: &["n"],
        swept: &[[1, 100_000, 1]],
        strides: &[1987],
        compared: 50,
    },
    Case {
        file: "parametric/sgemm.toml",
        names: &["m", "n"],
        swept: &[[32, 3200, 32], [32, 3200, 32]],
        strides: &[7, 11],
        compared: 50,
    },
    Case {
        file: "parametric/stencil.toml",
        names: &["n"],
        swept: &[[32, 3200, 32]],
        strides: &[2],
        compared: 50,
    },
    Case {
        file: "parametric/transpose.toml",
        names: &["height", "width"],
        swept: &[[32, 3200, 32], [32, 3200, 32]],
        strides: &[13, 3],
        compared: 50,
    },
    Case {
        file: "parametric/reduction.toml",
        names: &["n"],
        swept: &[[1, 20_000, 1]],
        strides: &[397],
        compared: 50,
    },
    Case {
        file: "parametric/ell.toml",
        names: &["entries", "rows"],
        swept: &[[1, 64, 1], [128, 12_800, 128]],
        strides: &[3, 7],
        compared: 50,
    },
];

fn swept(ranges: &[[u64; 3]]) -> Swept {
    let values = |&[first, last, step]: &[u64; 3]| -> Vec<f64> {
        (first..=last).step_by(step as usize).map(|size| size as f64).collect()
    };
    Swept::of(&ranges.iter().map(values).collect::<Vec<_>>()).unwrap()
}

#[test]
fn tables_by_formulas_are_those_of_executions() {
    let (gpu, counts) = (gpu("gtx-480"), counts(CacheChoice::None));
    for case in &CASES {
        ask(case.file, case.names, (&gpu, &counts), &Alone, |problem| {
            let found = ByFormulas::for_sweep(problem, &swept(case.swept)).unwrap();
            let found = found.unwrap_or_else(|because| panic!("{}: {because}", case.file));
            assert!(found.held_back() > 3, "{}", case.file);
            let mut without = 0;
            let compared = if is_nightly() { case.compared } else { case.compared / 3 };
            for at in 0..compared {
                let size = |(&[first, last, step], &stride): (&[u64; 3], &u64)| {
                    let places = (last - first) / step + 1;
                    first + at * stride % places * step
                };
                let sizes: Vec<u64> = case.swept.iter().zip(case.strides).map(size).collect();
                let what = format!("{} in {sizes:?}", case.file);
                match by_formulas(&found, problem, &sizes) {
                    Some(ours) => {
                        let theirs = executed(problem, &sizes);
                        assert_eq!(ours.len(), theirs.len(), "{what}");
                        let mut both = ours.iter().zip(&theirs);
                        both.by_ref().for_each(|(ours, theirs)| check_equal(ours, theirs, &what));
                    }
                    None => without += 1,
                }
            }
            assert!(without < compared / 5, "{}: {without} sizes have none", case.file);
        });
    }
}

/// A copy has formulas for what goes through the caches, too.
#[test]
fn traffic_that_fits_formulas_is_that_of_executions() {
    let (gpu, counts) = (gpu("h100-sxm"), counts(CacheChoice::Full));
    ask("saxpy-n.toml", &["n"], (&gpu, &counts), &Alone, |problem| {
        let swept = swept(&[[8192, 1 << 20, 8192]]);
        let found = ByFormulas::for_sweep(problem, &swept).unwrap().unwrap();
        for sizes in [[8192], [5 * 8192], [77 * 8192], [1 << 20]] {
            let ours = by_formulas(&found, problem, &sizes).unwrap();
            check_equal(&ours[0], &executed(problem, &sizes)[0], &format!("{sizes:?}"));
            assert!(ours[0].profile.metrics.contains_key("dram_read_transactions"));
        }
    });
}

#[test]
fn kept_formulas_need_no_execution_and_go_as_far_as_they_were_compared() {
    let folder = tempfile::tempdir().unwrap();
    let keeper = Keeper::of(folder.path());
    let (gpu, counts) = (gpu("gtx-480"), counts(CacheChoice::None));
    let of =
        |problem: &Problem<'_>, range| ByFormulas::for_sweep(problem, &swept(&[range])).unwrap();
    ask("saxpy-n.toml", &["n"], (&gpu, &counts), &keeper, |problem| {
        assert!(ByFormulas::for_size(problem, &[4096]).unwrap().is_none(), "nothing is kept");
        let first = of(problem, [1, 10_000, 1]).unwrap();
        // Sizes between, even if they are few.
        let second = of(problem, [64, 640, 64]).unwrap();
        assert_eq!(
            (second.executed(), second.held_back()),
            (first.executed(), first.held_back()),
            "nothing was executed"
        );
        let one = ByFormulas::for_size(problem, &[9999]).unwrap().unwrap();
        check_equal(
            &by_formulas(&one, problem, &[9999]).unwrap()[0],
            &executed(problem, &[9999])[0],
            "9999",
        );
        assert!(ByFormulas::for_size(problem, &[10_001]).unwrap().is_none(), "too large");
        // Larger ones are compared first.
        let third = of(problem, [1, 1_000_000, 1000]).unwrap();
        assert_eq!(third.executed(), first.executed());
        assert!(third.held_back() > first.held_back());
        assert!(ByFormulas::for_size(problem, &[999_001]).unwrap().is_some());
    });
    // Another GPU counts otherwise.
    let other = self::gpu("h100-sxm");
    ask("saxpy-n.toml", &["n"], (&other, &counts), &keeper, |problem| {
        assert!(ByFormulas::for_size(problem, &[4096]).unwrap().is_none());
    });
}

#[test]
fn what_has_no_formulas_says_why() {
    let gpu = gpu("gtx-480");
    let refused = |file: &str, counts: &Counts, range| -> String {
        ask(file, &["n"], (&gpu, counts), &Alone, |problem| {
            let found = ByFormulas::for_sweep(problem, &swept(&[range])).unwrap();
            found.map(|_| ()).unwrap_err()
        })
    };
    let without = counts(CacheChoice::None);
    let stages = Counts { needs: Needs::STAGES, ..without.clone() };
    let reasons = [
        refused("saxpy-n.toml", &stages, [1, 1000, 1]),
        refused("saxpy-n.toml", &without, [1, 10, 1]),
        // Tiles of 32 × 32 and no guard: other sizes are out of bounds.
        refused("parametric/stencil.toml", &without, [32, 160, 1]),
        // The L2 of this GPU serves some of a product's requests.
        refused("parametric/sgemm.toml", &counts(CacheChoice::Full), [32, 1056, 32]),
    ];
    insta::assert_snapshot!(reasons.join("\n"));
}

#[test]
fn sizes_of_a_sweep_have_a_first_one_and_a_step() {
    let of = |values: &[f64]| {
        let swept = Swept::of(&[values.to_vec()])?;
        Some((swept.sizes[0].first, swept.sizes[0].step, swept.sizes[0].last, swept.number))
    };
    assert_eq!(of(&[96.0, 32.0, 256.0]), Some((32, 32, 256, 3)));
    assert_eq!(of(&[7.0, 22.0, 37.0, 7.0]), Some((7, 15, 37, 4)));
    assert_eq!(of(&[5.0]), Some((5, 1, 5, 1)));
    assert_eq!(of(&[1.5, 2.0]), None);
    assert_eq!(of(&[0.0, 2.0]), None);
    assert_eq!(of(&[]), None);
}

/// Every launch of the corpus, taken apart and put together again.
#[test]
fn cells_are_all_that_an_execution_finds_out() {
    let gpu = gpu("gtx-480");
    let device = gpu_argument::device_model(&gpu).unwrap();
    let mut launches = 0;
    for entry in gpucast_corpus::entries() {
        let options = LaunchOptions { size: Some(Size::Small), ..LaunchOptions::default() };
        let kernel = Kernel::open(entry.name, &options).unwrap();
        let loaded = module::load(kernel.plan()).unwrap();
        for caches in [CacheChoice::None, CacheChoice::Full] {
            let extras = Extras { only_executed: true, ..Extras::default() };
            let counting = Counting {
                device,
                machine: &Machine::none(),
                extras,
                rung: RungChoice::Auto,
                sample: None,
                caches,
                supervisor: &Alone,
            };
            let counted = counting::count(kernel.plan(), &loaded, &Options::default(), &counting);
            for (planned, one) in kernel.plan().launches.iter().zip(counted.unwrap()) {
                let profile: &LaunchProfile = &one.profile;
                let Some(cells) = profile.cells().filter(|_| profile.invocations == 1) else {
                    continue;
                };
                let text = &loaded.source.text;
                let program = Program::new(&loaded.module, text, &planned.kernel).unwrap();
                let frame = Frame {
                    program: &program,
                    grid: planned.grid,
                    block: planned.block,
                    dynamic_shared_bytes: planned.shared_bytes,
                    registers: None,
                    cluster_ctas: 1,
                    device,
                    has_caches: caches != CacheChoice::None,
                    times: 1,
                };
                let again = frame.profile(&cells).unwrap();
                assert!(again.table == profile.table, "{}", entry.name);
                assert_eq!(values(&again.metrics), values(&profile.metrics), "{}", entry.name);
                // One count less is another launch.
                let mut fewer = cells.clone();
                fewer.pop_last();
                assert!(frame.profile(&fewer).is_none_or(|other| {
                    values(&other.metrics) != values(&profile.metrics)
                        || other.table != profile.table
                }));
                launches += 1;
            }
        }
    }
    assert!(launches > 150, "{launches}");
}

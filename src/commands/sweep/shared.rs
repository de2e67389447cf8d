//! Sweeps that many processes execute together: plan, work, status, merge.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use gpucast_forecast::store::Store;
use gpucast_forecast::sweep::shared::{
    self, Missing, Opened, Request, SweepPlan, USUAL_LEASE, Worked, Worker,
};
use gpucast_forecast::{Supervisor as _, number};
use gpucast_render::sweep::state;

use super::format;
use super::grid::Parts;
use crate::cli::shared_sweep::{MergeSweep, PlanSweep, StoredPlan, SweepStatus, WorkSweep};
use crate::failure::{Failure, Report};
use crate::output::rows::RowFile;
use crate::output::{Output, Terminal, diagnostic};
use crate::{interrupt, store};

/// The time of `--max-seconds` is over: `EX_TEMPFAIL` of `sysexits.h`.
const TIME_IS_OVER: u8 = 75;

pub(super) fn plan(arguments: &PlanSweep) -> Result<(), Failure> {
    if arguments.grid.metrics.is_some() {
        let report = Report::new("a shared sweep gives times, and --metrics asks for counts");
        return Err(Failure::Usage(report.hint("`gpucast sweep` alone gives metrics")));
    }
    let parts = Parts::of(&arguments.grid)?;
    let terminal = Terminal::without_notes(&arguments.grid.execution)?;
    let store = store::open(&arguments.plan.store)?;
    let plan = SweepPlan::new(
        &Request {
            axes: &parts.axes,
            cases: &parts.cases,
            gpus: &parts.gpus,
            fields: &parts.fields,
            models: &parts.words,
            count_on: &parts.count_on,
            timing: parts.timing,
            counts: &parts.counts,
            toolchain: terminal.toolchain(),
        },
        &*store,
    )?;
    plan.save(&*store, &arguments.plan.plan, arguments.replace)?;
    let status = shared::status(&plan.open()?, &*store)?;
    diagnostic::note(&format!(
        "{} executions are planned, {} of them are stored already",
        number::count(status.executions as u64),
        number::count(status.stored as u64),
    ));
    Ok(())
}

pub(super) fn work(arguments: WorkSweep) -> Result<(), Failure> {
    let (store, plan) = open(&arguments.plan)?;
    let limit = arguments.max_seconds.map(Duration::from_secs);
    let terminal = Terminal::of_worker(arguments.print_to)?;
    let terminal = match limit.and_then(|limit| Instant::now().checked_add(limit)) {
        Some(end) => terminal.until(end),
        None => terminal,
    };
    let worker = Worker {
        store: &*store,
        owner: &owner(),
        lease: Duration::from_secs(arguments.lease),
        shard: arguments.shard,
        retry: arguments.retry,
        ptxas: arguments.ptxas,
        supervisor: &terminal,
    };
    let mut worked = Worked::default();
    let outcome = worker.run(&plan, &mut worked);
    let Worked { executed, failed } = worked;
    let count = |number: usize| number::count(number as u64);
    diagnostic::note(&format!("{} executed, {} of them failed", count(executed), count(failed)));
    match outcome {
        Err(gpucast_forecast::Failure::Stopped) if !interrupt::is_asked() => {
            diagnostic::note("the time is over; the same command continues");
            Err(Failure::Exit(TIME_IS_OVER))
        }
        outcome => Ok(outcome?),
    }
}

pub(super) fn status(arguments: &SweepStatus) -> Result<(), Failure> {
    let (store, plan) = open(&arguments.plan)?;
    let status = shared::status(&plan, &*store)?;
    tidy(&*store);
    Output::open(None)?.write(&state(&status))
}

/// Removes what killed workers left behind. Whoever may only read the store gets their answer all
/// the same.
fn tidy(store: &dyn Store) {
    match store.tidy(USUAL_LEASE) {
        Ok(0) => {}
        Ok(1) => diagnostic::note("1 unfinished file of killed workers removed"),
        Ok(removed) => {
            let removed = number::count(removed as u64);
            diagnostic::note(&format!("{removed} unfinished files of killed workers removed"));
        }
        Err(error) => {
            diagnostic::note(&format!("unfinished files of killed workers stay: {error}"));
        }
    }
}

pub(super) fn merge(arguments: MergeSweep) -> Result<(), Failure> {
    let format = format(arguments.format, arguments.output.as_ref())?;
    let (store, plan) = open(&arguments.plan)?;
    let terminal = Terminal::of_worker(None)?;
    let missing = if arguments.allow_missing { Missing::Told } else { Missing::Refused };
    let mut rows = RowFile::open(arguments.output, format, plan.columns())?;
    match shared::merge(&plan, &*store, missing, &terminal, &mut rows) {
        Ok(()) => {
            rows.finish()?;
            tidy(&*store);
            Ok(())
        }
        Err(failure) => {
            rows.discard();
            Err(failure.into())
        }
    }
}

/// The store of a plan and its grid.
fn open(plan: &StoredPlan) -> Result<(Box<dyn Store>, Opened), Failure> {
    let store = store::open(&plan.store)?;
    let plan = SweepPlan::load(&*store, &plan.plan)?.open()?;
    Ok((store, plan))
}

/// A name that no other worker has: the machine, the process, and when it started.
fn owner() -> String {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let machine = machine.split_whitespace().next().unwrap_or("machine").to_owned();
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{machine}/{}/{}", std::process::id(), clock.as_millis())
}

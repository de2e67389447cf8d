//! `gpucast sweep submit`: workers as a job array.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use gpucast_forecast::sweep::shared::{SlurmArray, SweepPlan};

use crate::cli::shared_sweep::SubmitSweep;
use crate::failure::{Failure, Report};
use crate::output::Output;
use crate::store;

pub(super) fn run(arguments: SubmitSweep) -> Result<(), Failure> {
    // A plan that is not there would fail in each task.
    SweepPlan::load(&*store::open(&arguments.plan.store)?, &arguments.plan.plan)?;
    let program = std::env::current_exe()
        .map_err(|error| Report::new(format!("this program does not find itself: {error}")))?;
    let place = &arguments.plan.store;
    let array = SlurmArray {
        program: program.display().to_string(),
        // Tasks may start in another folder.
        store: match place.contains("://") {
            true => place.clone(),
            false => std::path::absolute(Path::new(place))
                .map_err(|error| Report::file("find", Path::new(place), &error))?
                .display()
                .to_string(),
        },
        plan: arguments.plan.plan,
        tasks: arguments.array.get(),
        cores: arguments.cores.get(),
        time: arguments.time,
        partition: arguments.partition,
        options: arguments.options,
    };
    let script = array.script();
    let answer = if arguments.dry_run { script } else { submitted(&script)? };
    Output::open(None)?.write(&answer)
}

/// Gives a script to `sbatch`; returns its answer.
fn submitted(script: &str) -> Result<String, Report> {
    let failed = |error: std::io::Error| {
        Report::new(format!("sbatch cannot be run: {error}"))
            .hint("submit from a machine of the cluster, or take the script of --dry-run there")
    };
    let mut sbatch = Command::new("sbatch")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(failed)?;
    if let Some(mut input) = sbatch.stdin.take() {
        // A script that sbatch does not read to its end is one that it complains about.
        let _ = input.write_all(script.as_bytes());
    }
    let output = sbatch.wait_with_output().map_err(failed)?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(Report::new(format!("sbatch refused the job: {}", message.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

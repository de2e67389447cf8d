//! The commands: each reads its input, asks the libraries, and renders their answer.

pub(crate) mod advise;
pub(crate) mod bench;
pub(crate) mod calibrate;
pub(crate) mod check;
pub(crate) mod classroom;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod corpus;
mod counted;
pub(crate) mod counts;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod exec;
pub(crate) mod explain;
pub(crate) mod gpus;
pub(crate) mod judge;
pub(crate) mod kernels;
pub(crate) mod lab;
mod limits;
pub(crate) mod man;
pub(crate) mod ncu;
pub(crate) mod plot;
pub(crate) mod predict;
pub(crate) mod profile;
pub(crate) mod proposal;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod sensitivity;
pub(crate) mod serve;
pub(crate) mod sweep;
pub(crate) mod trace;
pub(crate) mod trust;
pub(crate) mod tune;
mod usual_gpu;

use crate::cli::{Cli, Command};
use crate::confine;
use crate::failure::{Failure, Report};

/// Runs a command.
pub(crate) fn run(cli: Cli) -> Result<(), Failure> {
    // Threads that have begun would stay free.
    let confined = cli.confined.folder.as_deref().map(|folder| {
        let readable = match &cli.command {
            Command::Judge(arguments) => judge::readable(arguments),
            _ => Vec::new(),
        };
        confine::confine(folder, cli.confined.limits(), readable)
    });
    if let Some(threads) = cli.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.into())
            .build_global()
            .map_err(|error| Report::new(format!("cannot start {threads} threads: {error}")))?;
    }
    match cli.command {
        Command::Predict(arguments) => predict::run(arguments),
        Command::Advise(arguments) => advise::run(&arguments),
        Command::Sweep(arguments) => sweep::run(*arguments),
        Command::Tune(arguments) => tune::run(&arguments),
        Command::Sensitivity(arguments) => sensitivity::run(&arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Judge(arguments) => judge::run(&arguments, confined),
        Command::Profile(arguments) => profile::run(arguments),
        Command::Trace(arguments) => trace::run(&arguments),
        Command::Counts(arguments) => counts::run(&arguments),
        Command::Run(arguments) => run::run(arguments),
        Command::Bench(arguments) => bench::run(&arguments, cli.threads),
        Command::Exec(arguments) => exec::run(&arguments, cli.threads),
        Command::Ncu(arguments) => ncu::run(&arguments, cli.threads),
        Command::Libraries(arguments) => exec::write_libraries(&arguments),
        Command::Plot(command) => plot::run(command),
        Command::Report(arguments) => report::run(&arguments),
        Command::Doctor => doctor::run(),
        Command::Check(arguments) => check::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments, cli.threads),
        Command::Classroom(arguments) => classroom::run(&arguments),
        Command::Gpus(command) => gpus::run(command),
        Command::Calibrate(command) => calibrate::run(&command),
        Command::Corpus(command) => corpus::run(command),
        Command::Kernels(command) => kernels::run(command),
        Command::Lab(command) => lab::run(command),
        Command::Trust(arguments) => trust::run(&arguments),
        Command::Completions { shell } => completions::run(shell),
        Command::Man { out } => man::run(out.as_deref()),
    }
}

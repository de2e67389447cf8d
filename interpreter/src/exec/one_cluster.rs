//! One cluster of a grid by itself, for observers that ask what CTAs do and not what they compute.
//!
//! `program` is that of a slice that writes no contents of device memory. So the launch itself may
//! be executed afterwards as if nothing had been, and the cluster finds what it would find among
//! all others.

use super::cluster::{Cluster, ClusterTurn};
use super::cta::LaunchContext;
use super::level::Level;
use super::observation::hand_over;
use super::{Request, prepare_rest, setup};
use crate::launch::{Launch, LaunchError, Options, RunError, Silent};
use crate::memory::DeviceMemory;
use crate::observer::{Observer, Recorder, Wants};
use crate::program::Program;

/// Executes the `cluster`-th cluster of a launch up to about the budget of warp-instructions. Where
/// there are no clusters, each CTA is one; x varies fastest. `program` comes from
/// [`Program::sliced`].
///
/// Returns false if the cluster did not get to its end: the budget was used up, or it came to a
/// fault. The observer has heard what came before ([`Observer::collect_failed`]). The inner error
/// is the reason why the launch cannot be executed in part. The observer has heard nothing then.
///
/// # Errors
///
/// [`RunError::Launch`] if the launch itself is impossible.
pub fn run_cluster<O: Observer>(
    program: &Program,
    launch: &Launch,
    cluster: u64,
    memory: &mut DeviceMemory,
    observer: &mut O,
    options: &Options,
) -> Result<Result<bool, String>, RunError> {
    if let Some(because) = program.writes_contents() {
        return Ok(Err(because));
    }
    let globals = setup::variables(program, memory)?;
    prepare_rest(program, memory, options)?;
    let request = Request { level: Level::detect(), program, launch, options, host: &Silent };
    let context = request.context(memory, &globals, Wants::of::<O>())?;
    let context = LaunchContext { is_trial: true, ..context };
    let all = setup::ctas_in_order(&context.shape)?;
    let ctas = context.shape.ctas_per_cluster();
    let Some(first) = cluster.checked_mul(u64::from(ctas)).filter(|&first| first < all) else {
        return Ok(Err(format!("the grid has no cluster {cluster}")));
    };
    let needed = context.device.total_bytes().saturating_add(Cluster::bytes(&context));
    if context.memory_limit.is_some_and(|limit| needed > limit) {
        return Ok(Err("there is no memory for a cluster".to_owned()));
    }
    let mut executed = Cluster::new(&context).map_err(|_| {
        let buffers = context.device.total_bytes();
        RunError::Launch(LaunchError::Memory { needed, buffers, limit: None })
    })?;
    let mut recorders: Vec<O::Recorder> = (0..ctas).map(|_| observer.recorder(program)).collect();
    let turn = {
        let mut hearing: Vec<&mut dyn Recorder> =
            recorders.iter_mut().map(Recorder::listening).collect();
        executed.start(&context, &mut hearing, first);
        executed.run(&context, &mut hearing, options.instruction_budget, false)
    };
    let has_ended = matches!(turn, Ok(ClusterTurn::Done));
    if has_ended {
        hand_over(observer, first, &mut recorders);
    } else {
        let mut recorders: Vec<_> = recorders.iter_mut().collect();
        observer.collect_failed(first, &mut recorders);
    }
    Ok(Ok(has_ended))
}

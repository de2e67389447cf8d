//! Tells an observer of the CTAs of a grid by their representatives.
//!
//! The requests of every CTA go through the caches, although CTAs of a class are alike. Generating
//! a stream costs 3 % of its replay, so exact replays stay the rule: their results are the same to
//! the byte.

use std::ops::Range;

use rayon::prelude::*;

use super::cover::Cover;
use crate::exec::MIN_BATCH;
use crate::exec::cluster::{Cluster, ClusterTurn};
use crate::exec::cta::LaunchContext;
use crate::exec::observation::hand_over;
use crate::launch::{Host, LaunchError, RunError};
use crate::observer::{Observer, StandIn};

/// Fills recorders batch by batch while the observer collects the batch before; `windows` are the
/// CTAs that it hears of.
pub(super) fn tell<O: Observer<Recorder: StandIn>>(
    context: &LaunchContext<'_>,
    cover: &Cover<O::Recorder>,
    observer: &mut O,
    windows: &[Range<u64>],
    host: &dyn Host,
) -> Result<(), RunError> {
    let ctas: u64 = windows.iter().map(|window| window.end - window.start).sum();
    let wave = observer.wave().max(1);
    let batch = MIN_BATCH.max(4 * rayon::current_num_threads()).next_multiple_of(wave);
    let batch = (batch as u64).min(ctas).max(1) as usize;
    let recorders = |observer: &O| -> Vec<_> {
        (0..batch).map(|_| observer.recorder(context.program)).collect()
    };
    let (mut filling, mut full) = (recorders(observer), recorders(observer));
    let mut pending: Option<(u64, usize)> = None;
    let mut done = 0;
    let starts = windows
        .iter()
        .flat_map(|window| window.clone().step_by(batch).map(|first| (first, window.end)));
    for (first, end) in starts {
        if context.stop.poll()
            && let Some(reason) = context.stop.reason()
        {
            return Err(RunError::Stopped { reason, done: done.into(), ctas: ctas.into() });
        }
        let count = (batch as u64).min(end - first) as usize;
        let fill = || {
            let recorders = filling[..count].par_iter_mut().enumerate();
            recorders.try_for_each(|(index, recorder)| {
                record(context, cover, first + index as u64, recorder)
            })
        };
        let collect = || {
            if let Some((first, count)) = pending {
                hand_over(observer, first, &mut full[..count]);
            }
        };
        let (outcome, ()) = rayon::join(fill, collect);
        outcome?;
        std::mem::swap(&mut filling, &mut full);
        pending = Some((first, count));
        done += count as u64;
        host.progress(done.into(), ctas.into());
    }
    if let Some((first, count)) = pending {
        hand_over(observer, first, &mut full[..count]);
    }
    Ok(())
}

/// Makes the record of one CTA.
fn record<R: StandIn>(
    context: &LaunchContext<'_>,
    cover: &Cover<R>,
    cta: u64,
    recorder: &mut R,
) -> Result<(), RunError> {
    let place = context.shape.coordinates(cta).ctaid;
    match cover.find_class(place) {
        Some((class, steps)) if !recorder.singles_out(cta) => {
            let shifts = class.shifts.iter().zip(steps);
            let shifts = shifts.filter_map(|(shift, steps)| Some((shift.as_ref()?, steps)));
            recorder.stand_in(&class.record, &shifts.collect::<Vec<_>>());
            Ok(())
        }
        _ => execute(context, cta, recorder),
    }
}

/// Executes a CTA of which the recorder wants to hear more than its class has in common.
fn execute<R: StandIn>(
    context: &LaunchContext<'_>,
    cta: u64,
    recorder: &mut R,
) -> Result<(), RunError> {
    let mut cluster = Cluster::new(context).map_err(|_| {
        let (bytes, buffers) = (Cluster::bytes(context), context.device.total_bytes());
        let needed = buffers.saturating_add(bytes);
        LaunchError::Memory { needed, buffers, limit: None }
    })?;
    let recorders = &mut [recorder.listening()];
    cluster.start(context, recorders, cta);
    match cluster.run(context, recorders, context.budget, false) {
        Ok(ClusterTurn::Done) => Ok(()),
        Ok(ClusterTurn::Expired | ClusterTurn::Taken) => match context.stop.reason() {
            Some(reason) => {
                Err(RunError::Stopped { reason, done: cta.into(), ctas: context.shape.ctas() })
            }
            None => Err(RunError::Fault(cluster.budget_fault(context))),
        },
        Err(fault) => Err(RunError::Fault(fault)),
    }
}

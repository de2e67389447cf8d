//! The steps of a warp.

use gpucast_forecast::run::warp_steps::{self, MOST_STEPS};
use gpucast_forecast::run::warp_way::WarpChoice;
use gpucast_forecast::{Failure, Supervisor};
use gpucast_render::steps::{self, View};

use crate::Engine;
use crate::opened::Opened;
use crate::request::{Steps, Warp};

pub(super) fn steps(
    engine: &Engine,
    asked: &Steps,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    let opened = Opened::of(&asked.kernel, engine.compiler.as_ref(), None)?;
    let plan = opened.kernel.plan();
    let Warp { of_launch: launch, cta, warp } = asked.warp;
    let end = asked.first.saturating_add(asked.most.min(MOST_STEPS));
    let choice = WarpChoice { launch, cta, warp, execution: 0, steps: asked.first..end };
    let options = engine.limits.options();
    let record = warp_steps::record(plan, &opened.loaded, &choice, &options, supervisor)?;
    let files = &opened.files;
    Ok(steps::document(&View { plan, choice: &choice, steps: &record, files })?)
}

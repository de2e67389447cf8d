//! The steps of a warp.

use gpucast_forecast::input::cuda_source;
use gpucast_forecast::run::module;
use gpucast_forecast::run::warp_steps::{self, MOST_STEPS};
use gpucast_forecast::run::warp_way::WarpChoice;
use gpucast_forecast::{Failure, Kernel as Opened, Supervisor};
use gpucast_render::steps::{self, View};

use crate::Engine;
use crate::place::Place;
use crate::request::{Steps, Warp};

pub(super) fn steps(
    engine: &Engine,
    asked: &Steps,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    let mut place = Place::of(&asked.kernel)?;
    place.launch.cuda.compiler.clone_from(&engine.compiler);
    let opened = Opened::open(&place.input, &place.launch)?;
    let plan = opened.plan();
    let loaded = module::load(plan)?;
    let Warp { of_launch: launch, cta, warp } = asked.warp;
    let end = asked.first.saturating_add(asked.most.min(MOST_STEPS));
    let choice = WarpChoice { launch, cta, warp, execution: 0, steps: asked.first..end };
    let options = engine.limits.options();
    let record = warp_steps::record(plan, &loaded, &choice, &options, supervisor)?;
    let files = cuda_source::files(plan, &loaded.module, place.sources().as_deref());
    Ok(steps::document(&View { plan, choice: &choice, steps: &record, files: &files })?)
}

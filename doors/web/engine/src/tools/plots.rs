//! Pictures, the same as the command line's.

use gpucast_counters::occupancy::{CtaShape, Limiter};
use gpucast_forecast::choice::gpu_argument;
use gpucast_forecast::prediction::refusal;
use gpucast_forecast::run::warp_way::{self, WarpChoice, Way};
use gpucast_forecast::{Failure, Report, Supervisor};
use gpucast_model::sm_simulation::Recorded;
use gpucast_plot::pictures::curves::Curves;
use gpucast_plot::{DrawError, Scene, Theme, svg};
use gpucast_ptx_frontend::types::StateSpace;
use gpucast_render::pictures::warp::WarpView;
use gpucast_render::pictures::{occupancy as occupancies, roofline, spent, warp};
use gpucast_render::timeline::{self, Selection, View};
use serde_json::json;

use super::{document, times};
use crate::Engine;
use crate::opened::Opened;
use crate::request::{Kernel, Occupancy, OnGpu, Picture, Plot, Warp};

/// Accesses of one picture: more are asked for line by line.
const MOST_ACCESSES: usize = 12;
/// Rows of a picture of lanes.
const MOST_ROWS: u64 = 200;

pub(super) fn plot(
    engine: &mut Engine,
    plot: &Plot,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    let scene = match plot.picture {
        Picture::Access => accesses(engine, plot, StateSpace::Global, supervisor)?,
        Picture::Banks => accesses(engine, plot, StateSpace::Shared, supervisor)?,
        Picture::Divergence => divergence(engine, plot, supervisor)?,
        Picture::Timeline => sm_timeline(engine, plot, supervisor)?,
        Picture::Roofline => {
            let views = times::predictions(&engine.asked(&plot.on, true, supervisor)?)?;
            roofline::scene(&views, None)
        }
        Picture::Spent => time_spent(engine, &plot.on, supervisor)?,
    };
    picture(scene)
}

/// A scene as a document.
fn picture(scene: Result<Scene, DrawError>) -> Result<String, Failure> {
    let undrawable = |error: DrawError| Report::new(error.to_string());
    let scene = scene.map_err(undrawable)?;
    let svg = svg::write(&scene, Theme::Light).map_err(undrawable)?;
    document(&json!({
        "schema": "gpucast.picture/1",
        "svg": svg,
        "width": scene.width,
        "height": scene.height,
    }))
}

/// A warp that was followed.
struct Followed {
    opened: Opened,
    choice: WarpChoice,
    way: Way,
}

impl Followed {
    fn view(&self) -> WarpView<'_> {
        WarpView {
            kernel: &self.opened.kernel.plan().launches[self.choice.launch].kernel,
            choice: &self.choice,
            way: &self.way,
            files: &self.opened.files,
        }
    }
}

fn follow(
    engine: &Engine,
    kernel: &Kernel,
    choice: WarpChoice,
    supervisor: &dyn Supervisor,
) -> Result<Followed, Failure> {
    let opened = Opened::of(kernel, engine.compiler.as_ref(), None)?;
    let options = engine.limits.options();
    let plan = opened.kernel.plan();
    let way = warp_way::follow(plan, &opened.loaded, &choice, &options, supervisor)?;
    Ok(Followed { opened, choice, way })
}

fn choice(warp: Warp, execution: u64, steps: std::ops::Range<u64>) -> WarpChoice {
    let Warp { of_launch: launch, cta, warp } = warp;
    WarpChoice { launch, cta, warp, execution, steps }
}

fn accesses(
    engine: &Engine,
    plot: &Plot,
    space: StateSpace,
    supervisor: &dyn Supervisor,
) -> Result<Result<Scene, DrawError>, Failure> {
    let gpu = engine.gpu(&plot.on.gpu)?;
    let device = gpu_argument::device_model(&gpu)?;
    let choice = choice(plot.warp, plot.execution, 0..0);
    let followed = follow(engine, &plot.on.kernel, choice, supervisor)?;
    let mut chosen = followed.way.accesses_to(space, plot.line)?;
    let left_out = chosen.len().saturating_sub(MOST_ACCESSES);
    if left_out > 0 {
        supervisor.note(&format!("{left_out} more accesses are left out; choose a line"));
        chosen.truncate(MOST_ACCESSES);
    }
    Ok(match space {
        StateSpace::Shared => warp::banks(followed.view(), &chosen, &device, None),
        _ => warp::access(followed.view(), &chosen, &device, None),
    })
}

fn divergence(
    engine: &Engine,
    plot: &Plot,
    supervisor: &dyn Supervisor,
) -> Result<Result<Scene, DrawError>, Failure> {
    let choice = choice(plot.warp, 0, 0..MOST_ROWS);
    let followed = follow(engine, &plot.on.kernel, choice, supervisor)?;
    Ok(warp::divergence(followed.view(), None))
}

fn sm_timeline(
    engine: &mut Engine,
    plot: &Plot,
    supervisor: &dyn Supervisor,
) -> Result<Result<Scene, DrawError>, Failure> {
    let ctas = plot.ctas.as_deref().unwrap_or("all").parse();
    let ctas = ctas.map_err(|message| Failure::Usage(Report::new(message)))?;
    let sms = "0".parse().map_err(|message| Failure::Usage(Report::new(message)))?;
    let selection = Selection { sms, ctas, ..Selection::default() };
    let asked = engine.asked(&plot.on, false, supervisor)?;
    let gpu = asked.gpu()?;
    let sources = asked.kernel.sources(&asked.group.counting_gpu);
    let at = plot.warp.of_launch;
    let both = sources.get(at).zip(asked.kernel.counted.get(at));
    let (source, counted) = both.ok_or_else(|| Report::new(format!("there is no launch {at}")))?;
    let recorded = Recorded::of(&source.profile, gpu, &source.conditions)
        .map_err(|error| refusal(&error, source))?;
    let Opened { loaded, files, .. } = &asked.kernel.opened;
    let view = View { gpu: &gpu.name, recorded: &recorded, counted, loaded, files };
    Ok(Ok(timeline::picture(&view, &selection, None)?))
}

fn time_spent(
    engine: &mut Engine,
    on: &OnGpu,
    supervisor: &dyn Supervisor,
) -> Result<Result<Scene, DrawError>, Failure> {
    let mut asked = engine.asked(on, false, supervisor)?;
    let advice = times::advised(&mut asked)?;
    let views = times::predictions(&asked)?;
    let both = views.iter().zip(&advice).filter_map(|(view, advice)| {
        let prediction = &view.predictions.first()?.prediction;
        Some((prediction, advice.verdict.spent.as_slice()))
    });
    Ok(spent::scene(&both.collect::<Vec<_>>()))
}

/// The occupancy of blocks of a shape, with what limits it and curves over each limit.
pub(super) fn occupancy(
    engine: &mut Engine,
    asked: &Occupancy,
    supervisor: &dyn Supervisor,
) -> Result<String, Failure> {
    let gpu = engine.gpu(&asked.on.gpu)?;
    let device = gpu_argument::device_model(&gpu)?;
    let shape = match asked.threads {
        Some(threads) => CtaShape {
            threads,
            shared_bytes: asked.shared_bytes,
            registers_per_thread: asked.registers,
        },
        None => {
            let asked = engine.asked(&asked.on, false, supervisor)?;
            let first = asked.kernel.counted.first();
            first.map(|counted| counted.profile.cta_shape()).unwrap_or_default()
        }
    };
    let here = device.occupancy(shape);
    let limit = |(limiter, blocks): &(Limiter, Option<u32>)| {
        let binds = *blocks == Some(here.ctas_per_sm);
        json!({ "name": limiter.text(), "blocks": blocks, "binds": binds })
    };
    let undrawable = |error: DrawError| Report::new(error.to_string());
    let draw = |picture: Curves| picture.scene().and_then(|scene| svg::write(&scene, Theme::Light));
    let pictures = occupancies::curves(shape, &gpu).unwrap_or_default().into_iter().map(draw);
    let pictures = pictures.collect::<Result<Vec<String>, _>>().map_err(undrawable)?;
    document(&json!({
        "schema": "gpucast.occupancy/1",
        "gpu": gpu.name,
        "threads": shape.threads,
        "registers": shape.registers_per_thread,
        "shared_bytes": shape.shared_bytes,
        "blocks": here.ctas_per_sm,
        "warps": here.warps_per_sm(),
        "most_warps": here.max_warps_per_sm,
        "theoretical": here.theoretical(),
        "limits": here.limits.iter().map(limit).collect::<Vec<_>>(),
        "pictures": pictures,
    }))
}

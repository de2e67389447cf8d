//! What a timeline shows, in a few lines.

use gpucast_forecast::number;
use gpucast_model::sm_simulation::State;
use gpucast_model::sm_simulation::recording::Recording;

use super::View;
use super::selection::Selection;
use crate::table::{Align, aligned};

/// Steps of a critical path below this share of it are not named.
const LEAST_NAMED: f64 = 0.01;

/// What the file of a timeline has, and what the critical path of the SM that ends last goes
/// through.
#[must_use]
pub fn summary(view: &View<'_>, selection: &Selection, bytes: usize) -> String {
    let recorded = view.recorded;
    let mut text = format!("{}: {:.1} MB\n", view.title(), bytes as f64 / 1e6);
    if recorded.invocations > 1 {
        text += &format!(
            "One of {} invocations, and {} run like it.\n",
            number::count(recorded.invocations),
            number::count(recorded.alike)
        );
    }
    let head = ["SM", "stands for", "CTAs", "shown", "warp instructions", "clocks", "µs"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let is_shown = |sm, recording, cta| selection.sms.has(sm) && selection.has_cta(recording, cta);
    for (at, recording) in (0..).zip(&recorded.sms) {
        let shown = (0..recording.ctas.len() as u32).filter(|&cta| is_shown(at, recording, cta));
        rows.push(vec![
            at.to_string(),
            number::whole_or_real(recording.alike),
            number::count(recording.ctas.len() as u128),
            number::count(shown.count() as u128),
            number::count(recording.issues.len() as u128),
            number::count(recording.end as u128),
            format!("{:.2}", recording.end / recorded.clock_mhz),
        ]);
    }
    text += &aligned(2, &[Align::Right; 7], &rows);
    let (simulated, own) = recorded.outcome.ctas;
    if simulated < own {
        text += &format!(
            "Of {} CTAs of SM 0, {} are simulated; the others follow at their rate.\n",
            number::count(own),
            number::count(simulated)
        );
    }
    if let Some(first) = recorded.sms.first() {
        text += &critical_path(first);
    }
    text
}

fn critical_path(recording: &Recording) -> String {
    let mut clocks = [0.0; State::COUNT];
    for step in recording.critical_path() {
        clocks[step.state as usize] += step.until - step.from;
    }
    let whole: f64 = clocks.iter().sum();
    let mut states = State::ALL.to_vec();
    states.retain(|&state| clocks[state as usize] >= LEAST_NAMED * whole && whole > 0.0);
    states.sort_by(|&a, &b| clocks[b as usize].total_cmp(&clocks[a as usize]));
    let mut rows = vec![["state", "clocks", "share"].map(str::to_owned).to_vec()];
    rows.extend(states.into_iter().map(|state| {
        let clocks = clocks[state as usize];
        let share = format!("{:.0} %", 100.0 * clocks / whole);
        vec![state.name().to_owned(), number::count(clocks.round() as u128), share]
    }));
    let table = aligned(2, &[Align::Left, Align::Right, Align::Right], &rows);
    format!("Critical path of SM 0\n{table}")
}

//! The warps of simulated SMs as a picture: a row a warp, its time coloured by what it waits for.

use gpucast_forecast::{Report, number};
use gpucast_model::sm_simulation::State;
use gpucast_model::sm_simulation::recording::Recording;
use gpucast_plot::Scene;
use gpucast_plot::pictures::timeline::{Kind, Slice, Timeline, Track};

use super::{Selection, View};

/// Rows of a picture: more would be a carpet.
const MOST_WARPS: usize = 64;

/// States that a picture does not tell apart, from what helps to what stands in the way.
const KINDS: [(&str, u8); 7] = [
    ("issues", 8),
    ("waits for memory: latency", 4),
    ("waits for arithmetic", 6),
    ("waits for memory: bandwidth and queues", 7),
    ("waits at a barrier", 3),
    ("waits for shared memory or a special function", 5),
    ("waits for its turn, or for something else", 2),
];

fn kind(state: State) -> usize {
    match state {
        State::Selected => 0,
        State::L1Latency | State::L2Latency | State::DramLatency | State::Copies => 1,
        State::Wait | State::MathPipe | State::Products => 2,
        State::LoadStoreQueue | State::L2Queue | State::DramQueue | State::LgThrottle => 3,
        State::Barrier | State::Membar => 4,
        State::ShortScoreboard | State::MioThrottle => 5,
        State::NotSelected
        | State::NoInstruction
        | State::ConstantMiss
        | State::Launch
        | State::Tail => 6,
    }
}

/// The picture of what is selected, as far as it has rows.
///
/// # Errors
///
/// If nothing is selected.
pub fn picture(
    view: &View<'_>,
    selection: &Selection,
    title: Option<&str>,
) -> Result<Scene, Report> {
    selection.check(&view.recorded.sms)?;
    let mut tracks = Vec::new();
    let (mut first, mut end) = (f64::INFINITY, 0.0_f64);
    for (number, recording) in selection.sms(&view.recorded.sms) {
        let clocks = selection.clocks_of(recording);
        first = first.min(clocks.start);
        end = end.max(clocks.end.min(recording.end));
        tracks.extend(of_sm(number, recording, selection));
    }
    let left_out = tracks.len().saturating_sub(MOST_WARPS);
    tracks.truncate(MOST_WARPS);
    let note = format!(
        "{} more warps are left out; choose CTAs by their numbers.",
        number::count(left_out as u64)
    );
    let timeline = Timeline {
        title: title.map_or_else(|| "Warps of an SM over time".to_owned(), str::to_owned),
        subtitle: view.title(),
        axis: "clocks since the start of the launch".to_owned(),
        kinds: KINDS.map(|(name, eighths)| Kind { name: name.to_owned(), eighths }).to_vec(),
        tracks,
        span: (first, end),
        notes: if left_out > 0 { vec![note] } else { Vec::new() },
    };
    timeline.scene().map_err(|error| Report::new(error.to_string()))
}

/// The warps of the CTAs that are shown.
fn of_sm(sm: u32, recording: &Recording, selection: &Selection) -> Vec<Track> {
    let mut slices: Vec<Vec<Slice>> = vec![Vec::new(); recording.warps.len()];
    for (at, issue) in recording.issues.iter().enumerate() {
        let own = &mut slices[issue.warp as usize];
        let waits = recording.waits_of(at).iter();
        own.extend(waits.map(|wait| Slice {
            from: wait.from,
            until: wait.until,
            kind: kind(wait.state),
        }));
        let clock = issue.clock as f64;
        own.push(Slice { from: clock, until: clock + 1.0, kind: kind(State::Selected) });
    }
    let mut tracks: Vec<(u32, Track)> = Vec::new();
    for (warp, slices) in recording.warps.iter().zip(slices) {
        if selection.has_cta(recording, warp.cta) {
            let name = format!("warp {}, sub-core {}", warp.number, warp.sub_core);
            let group = format!("SM {sm}, CTA {}", warp.cta);
            tracks.push((warp.cta, Track { group, name, slices }));
        }
    }
    tracks.sort_by_key(|(cta, _)| *cta);
    tracks.into_iter().map(|(_, track)| track).collect()
}

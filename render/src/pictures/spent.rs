//! Where the time goes: a bar for each GPU, parted by what the issue slots of the SM wait for.

use gpucast_advice::verdict::Spent;
use gpucast_model::Prediction;
use gpucast_plot::number::TimeUnit;
use gpucast_plot::pictures::bars::{Bar, Bars, Length};
use gpucast_plot::theme::SERIES;
use gpucast_plot::{DrawError, Scene};

use super::{listed, short_name};

/// The part of all states that are not named.
const REST: &str = "everything else";

/// A bar for each prediction of one kernel.
///
/// # Errors
///
/// If there is nothing to draw, or the picture becomes too large.
pub fn scene(predictions: &[(&Prediction, &[Spent])]) -> Result<Scene, DrawError> {
    bars(predictions).scene()
}

fn bars(predictions: &[(&Prediction, &[Spent])]) -> Bars {
    let unit = TimeUnit::of(predictions.iter().map(|(prediction, _)| prediction.time_ms));
    let series = series(predictions);
    let bar = |(prediction, spent): &(&Prediction, &[Spent])| {
        let share = |name: &&str| {
            let named = spent.iter().filter(|part| part.text == *name);
            named.map(|named| named.share).sum::<f64>()
        };
        let mut shares: Vec<f64> = series.iter().map(share).collect();
        shares.push((1.0 - shares.iter().sum::<f64>()).max(0.0));
        Bar {
            group: String::new(),
            name: prediction.gpu.clone(),
            parts: shares.iter().map(|share| share * prediction.time_ms * unit.per_ms).collect(),
            marked: None,
            remark: format!("{}, {}", unit.time(prediction.time_ms), prediction.bound),
        }
    };
    let kernel = predictions.first().map_or_else(String::new, |(one, _)| short_name(&one.kernel));
    let models = listed(predictions.iter().map(|(one, _)| one.model));
    Bars {
        title: format!("Where the time of {kernel} goes"),
        subtitle: format!("What the issue slots of an SM are spent on, by {models}"),
        series: series.iter().copied().chain([REST]).map(str::to_owned).collect(),
        axis: format!("time ({})", unit.symbol),
        mark: String::new(),
        bars: predictions.iter().map(bar).collect(),
        length: Length::Values,
        notes: Vec::new(),
    }
}

/// The states that have a colour of their own: those of the largest shares, on any of the GPUs.
fn series(predictions: &[(&Prediction, &[Spent])]) -> Vec<&'static str> {
    let mut largest: Vec<(&'static str, f64)> = Vec::new();
    for one in predictions.iter().flat_map(|(_, spent)| spent.iter()) {
        match largest.iter_mut().find(|(text, _)| *text == one.text) {
            Some((_, share)) => *share = share.max(one.share),
            None => largest.push((one.text, one.share)),
        }
    }
    largest.sort_by(|a, b| b.1.total_cmp(&a.1));
    largest.into_iter().take(SERIES - 1).map(|(text, _)| text).collect()
}

#[cfg(test)]
mod tests {
    use gpucast_model::{Bound, Detail, Symbols};

    use super::*;

    #[test]
    fn parts_add_up_to_the_time_and_the_largest_have_names() {
        let prediction = Prediction {
            kernel: "k".to_owned(),
            gpu: "h100-sxm".to_owned(),
            model: "sm-simulation",
            time_ms: 2.0,
            interval: None,
            interval_declined_because: None,
            clock_mhz: None,
            sustained: None,
            power_limit_w: None,
            energy: None,
            bound: Bound::Compute,
            parameters: Symbols::default(),
            intermediate: Symbols::default(),
            parts: Vec::new(),
            explanation: String::new(),
            warnings: Vec::new(),
            detail: Detail::Offload,
        };
        let texts = ["a", "b", "c", "d", "e", "f", "g", "h"];
        let spent =
            |at: usize| Spent { state: "", text: texts[at], share: 0.05 + 0.01 * at as f64 };
        let spent: Vec<Spent> = (0..8).map(spent).collect();
        let picture = bars(&[(&prediction, &spent)]);
        assert_eq!(picture.series, ["h", "g", "f", "e", "d", "c", REST]);
        let parts = &picture.bars[0].parts;
        assert!((parts.iter().sum::<f64>() - 2.0).abs() < 1e-9, "{parts:?}");
        assert!((parts[0] - 0.24).abs() < 1e-9 && (parts[6] - 2.0 * 0.43).abs() < 1e-9);
    }
}

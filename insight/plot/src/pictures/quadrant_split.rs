//! The quadrant split of Konstantinidis 2017, section 3.3: throughput over bandwidth. A GPU is a
//! point; a kernel is a half-line from the origin whose slope is its operational intensity. A GPU
//! above the half-line is bound by its memory, and the kernel's place is straight below it. A GPU
//! beneath is bound by its instructions, and the place is to the left.

use crate::axis::{Axis, Kind};
use crate::draw::DrawError;
use crate::geometry::{Point, Rect, point};
use crate::labels::{Labels, label};
use crate::layout::{Entry, Key, LABEL_SIZE, Page, Panel, SMALL_SIZE};
use crate::number::significant;
use crate::scene::{Anchor, Mark, Scene, Text};
use crate::theme::Ink;

/// A bandwidth and a throughput.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peak {
    /// GB/s.
    pub gbps: f64,
    /// 10⁹ operations per second.
    pub gflops: f64,
}

/// A factor that lowers the throughput that a kernel can reach.
#[derive(Clone, Debug, PartialEq)]
pub struct Adjustment {
    /// Its symbol.
    pub name: String,
    /// The throughput after it, in 10⁹ operations per second.
    pub gflops: f64,
}

/// A GPU.
#[derive(Clone, Debug, PartialEq)]
pub struct Device {
    /// Its name.
    pub name: String,
    /// Its peak.
    pub peak: Peak,
    /// The peak of its data sheet.
    pub theoretical: Option<Peak>,
    /// The effects that lower the throughput, in order.
    pub adjustments: Vec<Adjustment>,
    /// The kernel's measured throughput there, in 10⁹ operations per second.
    pub measured_gflops: Option<f64>,
}

impl Device {
    /// The throughput after all adjustments.
    #[must_use]
    pub fn adjusted(&self) -> f64 {
        self.adjustments.last().map_or(self.peak.gflops, |last| last.gflops)
    }

    /// The kernel's place under a peak: on its half-line (eq. 4.18).
    #[must_use]
    pub fn estimate(peak: Peak, intensity: f64) -> Peak {
        let gflops = peak.gflops.min(intensity * peak.gbps);
        Peak { gbps: gflops / intensity, gflops }
    }
}

/// A quadrant split of one kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct QuadrantSplit {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// The kernel.
    pub kernel: String,
    /// Operations for each byte, greater than zero.
    pub intensity: f64,
    /// GPUs, at least one.
    pub devices: Vec<Device>,
    /// The scale of both axes; logarithmic ones hold GPUs of different sizes.
    pub scale: Kind,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 540.0;
const RADIUS: f64 = 5.5;

impl QuadrantSplit {
    /// Lays the picture out.
    ///
    /// # Errors
    ///
    /// Without a GPU, or without an operational intensity.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        if self.devices.is_empty() {
            return Err(DrawError::Nothing("a quadrant split needs a GPU".to_owned()));
        }
        if !(self.intensity > 0.0 && self.intensity.is_finite()) {
            let why = format!("kernel {} has no finite operational intensity", self.kernel);
            return Err(DrawError::Nothing(why));
        }
        let mut page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: self.legend(),
            notes: self.notes.clone(),
        };
        let mut scene = Scene::default();
        for _ in 0..2 {
            let (canvas, body) = page.canvas(WIDTH, HEIGHT);
            scene = canvas;
            let (x, y) = self.axes();
            let panel = Panel::draw(&mut scene, body, x, y);
            let missed = self.draw(&mut scene, &panel);
            if missed.is_empty() {
                break;
            }
            page.notes.clone_from(&self.notes);
            page.notes.push(format!("Without room for a label: {}.", missed.join(", ")));
        }
        Ok(scene)
    }

    fn axes(&self) -> (Axis, Axis) {
        let mut gbps = Vec::new();
        let mut gflops = Vec::new();
        for device in &self.devices {
            for peak in [Some(device.peak), device.theoretical].into_iter().flatten() {
                let estimate = Device::estimate(peak, self.intensity);
                gbps.extend([peak.gbps, estimate.gbps]);
                gflops.extend([peak.gflops, estimate.gflops]);
            }
            let adjusted = Peak { gbps: device.peak.gbps, gflops: device.adjusted() };
            let estimate = Device::estimate(adjusted, self.intensity);
            gbps.push(estimate.gbps);
            gflops.extend(device.adjustments.iter().map(|adjustment| adjustment.gflops));
            gflops.push(estimate.gflops);
            gbps.extend(device.measured_gflops.map(|measured| measured / self.intensity));
            gflops.extend(device.measured_gflops);
        }
        let titles = ["memory bandwidth (GB/s)", "throughput (10⁹ operations/s)"];
        match self.scale {
            Kind::Linear => (
                widened(Axis::from_zero(gbps, titles[0])),
                widened(Axis::from_zero(gflops, titles[1])),
            ),
            Kind::Logarithmic => (
                Axis::logarithmic(gbps, (2.0, 2.2), titles[0]),
                Axis::logarithmic(gflops, (2.5, 1.8), titles[1]),
            ),
        }
    }

    fn legend(&self) -> Vec<Entry> {
        let any = |what: fn(&Device) -> bool| self.devices.iter().any(what);
        let mut entries = vec![Entry::new(
            Key::Line(Ink::Axis),
            format!("{}: {} operations/byte", self.kernel, significant(self.intensity, 3)),
        )];
        if any(|device| device.theoretical.is_some()) {
            entries.push(Entry::new(Key::Mark(Mark::Ring, Ink::Muted), "data sheet"));
        }
        if self.are_adjusted() {
            entries.push(Entry::new(Key::Mark(Mark::Disc, Ink::Text), "measured peak"));
            entries.push(Entry::new(Key::Mark(Mark::Disc, Ink::Series(0)), "after efficiencies"));
        } else {
            entries.push(Entry::new(Key::Mark(Mark::Disc, Ink::Series(0)), "GPU"));
        }
        entries.push(Entry::new(Key::Mark(Mark::Diamond, Ink::Series(1)), "predicted"));
        if any(|device| device.measured_gflops.is_some()) {
            entries.push(Entry::new(Key::Mark(Mark::Cross, Ink::Text), "measured"));
        }
        entries
    }

    fn are_adjusted(&self) -> bool {
        self.devices.iter().any(|device| !device.adjustments.is_empty())
    }

    fn draw(&self, scene: &mut Scene, panel: &Panel) -> Vec<String> {
        let mut labels = Labels::new(panel.plot.shrunk(2.0));
        self.draw_half_line(scene, panel, &mut labels);
        let mut wanted: Vec<(Point, Text)> = Vec::new();
        for device in &self.devices {
            self.draw_device(scene, panel, device, (&mut labels, &mut wanted));
        }
        // Marks are all reserved before the first label looks for a place.
        for (at, text) in wanted {
            labels.near(scene, at, RADIUS + 5.0, text);
        }
        labels.missed().to_vec()
    }

    fn draw_half_line(&self, scene: &mut Scene, panel: &Panel, labels: &mut Labels) {
        let begin = match self.scale {
            Kind::Linear => 0.0,
            Kind::Logarithmic => panel.x.low.min(panel.y.low / self.intensity),
        };
        let end = panel.x.high.max(panel.y.high / self.intensity);
        let ends = [begin, end].map(|gbps| panel.at(gbps, gbps * self.intensity));
        let Some((from, to)) = panel.plot.clip(ends[0], ends[1]) else { return };
        // The lower half-quadrant, where GPUs are bound by their instructions.
        let plot = panel.plot;
        let mut below = vec![from, to];
        if to.x < plot.right - 0.5 {
            below.push(point(plot.right, plot.top));
        }
        below.push(point(plot.right, plot.bottom));
        if from.y < plot.bottom - 0.5 {
            below.push(point(plot.left, plot.bottom));
        }
        scene.area(below, Ink::Grid, 0.45);
        scene.line(from, to, 3.0, Ink::Axis);
        labels.avoid(from, to);
        for text in
            [half_name(Half::Memory, plot, (from, to)), half_name(Half::Compute, plot, (from, to))]
                .into_iter()
                .flatten()
        {
            labels.reserve(text.bounds());
            scene.text(text);
        }
    }

    fn draw_device(
        &self,
        scene: &mut Scene,
        panel: &Panel,
        device: &Device,
        (labels, wanted): (&mut Labels, &mut Vec<(Point, Text)>),
    ) {
        let place = |peak: Peak| panel.at(peak.gbps, peak.gflops);
        let under = |gflops| Peak { gbps: device.peak.gbps, gflops };
        let number = |gflops| significant(gflops, 4);
        let alone = self.devices.len() == 1;
        let mut marks: Vec<(Mark, Point, Ink)> = Vec::new();
        if let Some(peak) = device.theoretical {
            let at = place(peak);
            let estimate = place(Device::estimate(peak, self.intensity));
            scene.dashed(&[at, estimate], 1.2, Ink::Axis, [2.0, 3.0]);
            labels.avoid(at, estimate);
            marks.push((Mark::Ring, at, Ink::Muted));
            let text = format!("{}, data sheet {}", device.name, number(peak.gflops));
            wanted.push((at, label(text, SMALL_SIZE).ink(Ink::Muted)));
        }

        // From the peak down; steps too small to see share a label.
        let adjusted = !device.adjustments.is_empty();
        let mut current = place(device.peak);
        let kind = if adjusted { ", measured peak" } else { "" };
        let mut words = format!("{}{kind} {}", device.name, number(device.peak.gflops));
        marks.push((Mark::Disc, current, if adjusted { Ink::Text } else { Ink::Series(0) }));
        for adjustment in &device.adjustments {
            let next = place(under(adjustment.gflops));
            let step = format!("{} {}", adjustment.name, number(adjustment.gflops));
            if next.distance(current) > 2.0 * RADIUS + 3.0 {
                scene.arrow(current, next.shifted(0.0, -RADIUS - 1.0), 1.6, Ink::Series(0));
                labels.avoid(current, next);
                marks.push((Mark::Disc, next, Ink::Series(0)));
                let finished = std::mem::replace(&mut words, step);
                if alone {
                    wanted.push((current, label(finished, SMALL_SIZE)));
                }
            } else {
                words = format!("{words}, {step}");
            }
            current = next;
        }
        if !alone && adjusted {
            words = format!("{} {}", device.name, number(device.adjusted()));
        }
        wanted.push((current, label(words, SMALL_SIZE)));

        let estimate = Device::estimate(under(device.adjusted()), self.intensity);
        let at = place(estimate);
        scene.dashed(&[current, at], 1.4, Ink::Series(1), [5.0, 3.0]);
        labels.avoid(current, at);
        marks.push((Mark::Diamond, at, Ink::Series(1)));
        let measured = device.measured_gflops.map(|gflops| {
            (panel.at(gflops / self.intensity, gflops), format!("measured {}", number(gflops)))
        });
        if alone {
            wanted.push((at, label(format!("predicted {}", number(estimate.gflops)), SMALL_SIZE)));
            wanted.extend(measured.iter().map(|(at, words)| (*at, label(&**words, SMALL_SIZE))));
        }
        marks.extend(measured.map(|(at, _)| (Mark::Cross, at, Ink::Text)));
        // Marks lie above all lines.
        for (mark, at, ink) in marks {
            scene.mark(mark, at, if mark == Mark::Cross { 4.5 } else { RADIUS }, ink);
            labels.reserve_mark(at, RADIUS + 2.0);
        }
    }
}

/// A side of the half-line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    /// Above it.
    Memory,
    /// Below it.
    Compute,
}

/// The name of a half in its corner, along the edge if the half-line leaves no room for it to lie.
/// Returns `None` if there is no room at all.
fn half_name(half: Half, plot: Rect, (from, to): (Point, Point)) -> Option<Text> {
    const CLEARANCE: f64 = 6.0;
    let lying = |words, at, anchor| Text::new(words, at, anchor, LABEL_SIZE).ink(Ink::Muted);
    let candidates = match half {
        Half::Memory => {
            let words = "memory-bound GPUs";
            let corner = point(plot.left + 10.0, plot.top + 18.0);
            let edge = point(plot.left + 18.0, plot.top + 10.0);
            [lying(words, corner, Anchor::Start), lying(words, edge, Anchor::End).turned(90.0)]
        }
        Half::Compute => {
            let words = "compute-bound GPUs";
            let corner = point(plot.right - 10.0, plot.bottom - 10.0);
            [lying(words, corner, Anchor::End), lying(words, corner, Anchor::Start).turned(90.0)]
        }
    };
    // Pixels above the half-line, which climbs from left to right.
    let length = from.distance(to);
    let above = |at: &Point| {
        ((to.y - from.y) * (at.x - from.x) - (to.x - from.x) * (at.y - from.y)) / length
    };
    let is_clear = |text: &Text| {
        text.bounds().0.iter().all(|corner| match half {
            Half::Memory => above(corner) > CLEARANCE,
            Half::Compute => above(corner) < -CLEARANCE,
        })
    };
    candidates.into_iter().find(is_clear)
}

/// A linear axis with room for labels at its end.
fn widened(mut axis: Axis) -> Axis {
    axis.high *= 1.12;
    axis
}

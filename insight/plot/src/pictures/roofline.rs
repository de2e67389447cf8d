//! The roofline: throughput over operational intensity, under a GPU's peaks (Williams et al. 2009),
//! with the ceilings of all levels of memory at once (Yang & Williams 2019).

use crate::axis::Axis;
use crate::draw::DrawError;
use crate::geometry::{Point, point};
use crate::labels::{Labels, label};
use crate::layout::{Entry, Key, LABEL_SIZE, Page, Panel, SMALL_SIZE};
use crate::number::significant;
use crate::scene::{Mark, Scene};
use crate::theme::Ink;

/// A level of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Device memory.
    Dram,
    /// The L2 cache.
    L2,
    /// The first-level caches.
    L1,
    /// Shared memory.
    Shared,
}

impl Level {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dram => "DRAM",
            Self::L2 => "L2",
            Self::L1 => "L1",
            Self::Shared => "shared",
        }
    }

    /// Its ink: roofs and points of a level share it.
    #[must_use]
    pub fn ink(self) -> Ink {
        Ink::Series(match self {
            Self::Dram => 0,
            Self::L2 => 1,
            Self::L1 => 2,
            Self::Shared => 3,
        })
    }
}

/// A slanted roof.
#[derive(Clone, Debug, PartialEq)]
pub struct Bandwidth {
    /// The level that delivers the bytes.
    pub level: Level,
    /// Bandwidth in GB/s.
    pub gbps: f64,
    /// True if it is the data sheet's, drawn broken.
    pub theoretical: bool,
}

/// A flat roof.
#[derive(Clone, Debug, PartialEq)]
pub struct Ceiling {
    /// The arithmetic that is limited: `FMA`, `no FMA`, `tensor`. A data sheet's figure for the
    /// same arithmetic shares its label.
    pub name: String,
    /// Throughput in 10⁹ operations per second.
    pub gflops: f64,
    /// True if it is the data sheet's, drawn broken.
    pub theoretical: bool,
}

/// A kernel's place at one level of memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelPoint {
    /// The level.
    pub level: Level,
    /// Operations for each byte that passes it.
    pub intensity: f64,
}

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its intensities.
    pub places: Vec<LevelPoint>,
    /// Its throughput as predicted, in 10⁹ operations per second.
    pub gflops: f64,
    /// As measured, if it was.
    pub measured_gflops: Option<f64>,
}

/// A roofline of one GPU.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Roofline {
    /// The title.
    pub title: String,
    /// A sentence below it.
    pub subtitle: String,
    /// Slanted roofs, at least one.
    pub bandwidths: Vec<Bandwidth>,
    /// Flat roofs, at least one.
    pub ceilings: Vec<Ceiling>,
    /// Kernels.
    pub kernels: Vec<Kernel>,
    /// Sentences below the picture.
    pub notes: Vec<String>,
}

const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 520.0;
const RADIUS: f64 = 5.5;
/// What is left to see of a mark around one that covers it.
const RING: f64 = 4.0;
/// A throughput over its roof from which on a point lies above it, and not on it.
const ABOVE: f64 = 1.001;
/// Flat roofs that are less than this many pixels apart are one line to the eye.
const SAME_LINE: f64 = 1.5;

impl Roofline {
    /// Lays the picture out.
    ///
    /// # Errors
    ///
    /// Without a roof of either kind, and without a kernel below them.
    pub fn scene(&self) -> Result<Scene, DrawError> {
        let fastest = self.bandwidths.iter().map(|roof| roof.gbps).fold(0.0, f64::max);
        let highest = self.ceilings.iter().map(|roof| roof.gflops).fold(0.0, f64::max);
        if !(fastest > 0.0 && highest > 0.0) {
            let why = "a roofline needs a bandwidth and a throughput";
            return Err(DrawError::Nothing(why.to_owned()));
        }
        if self.kernels.is_empty() {
            let why = "no kernel has a point, which needs counted operations and counted bytes";
            return Err(DrawError::Nothing(why.to_owned()));
        }
        let (x, y) = self.axes(highest);
        let mut page = Page {
            title: self.title.clone(),
            subtitle: self.subtitle.clone(),
            legend: self.legend(),
            notes: [self.notes.clone(), self.above_roofs()].concat(),
        };
        let notes = page.notes.clone();
        // Labels that find no place are named below; a first pass says which.
        let mut scene = Scene::default();
        for _ in 0..2 {
            let (canvas, body) = page.canvas(WIDTH, HEIGHT);
            scene = canvas;
            let panel = Panel::draw(&mut scene, body, x.clone(), y.clone());
            let missed = self.draw(&mut scene, &panel, (fastest, highest));
            if missed.is_empty() {
                break;
            }
            page.notes.clone_from(&notes);
            page.notes.push(format!("Without room for a label: {}.", missed.join(", ")));
        }
        Ok(scene)
    }

    fn axes(&self, highest: f64) -> (Axis, Axis) {
        let places = || self.kernels.iter().flat_map(|kernel| &kernel.places);
        let ridges = self.bandwidths.iter().map(|roof| highest / roof.gbps);
        let intensities = places().map(|place| place.intensity);
        let x = Axis::logarithmic(
            ridges.chain(intensities),
            (6.0, 6.0),
            "operational intensity (operations/byte)",
        );
        let lowest_roof = self.ceilings.iter().map(|roof| roof.gflops);
        let throughputs =
            self.kernels.iter().flat_map(|kernel| [Some(kernel.gflops), kernel.measured_gflops]);
        let y = Axis::logarithmic(
            lowest_roof.chain(throughputs.flatten()),
            (5.0, 2.0),
            "throughput (10⁹ operations/s)",
        );
        (x, y)
    }

    fn legend(&self) -> Vec<Entry> {
        // Points carry their names; forms tell kernels apart as long as they do not repeat.
        let named = self.kernels.iter().enumerate();
        let named = named.filter(|_| self.kernels.len() <= Mark::SERIES.len());
        let mut entries: Vec<Entry> = named
            .map(|(at, kernel)| {
                Entry::new(Key::Mark(Mark::of_series(at), Ink::Muted), &*kernel.name)
            })
            .collect();
        let mut levels: Vec<Level> = self
            .kernels
            .iter()
            .flat_map(|kernel| kernel.places.iter().map(|place| place.level))
            .collect();
        levels.sort_unstable();
        levels.dedup();
        for level in levels {
            let label = format!("at {}", level.name());
            entries.push(Entry::new(Key::Patch(level.ink()), label));
        }
        if self.kernels.iter().any(|kernel| kernel.measured_gflops.is_some()) {
            entries.push(Entry::new(Key::Mark(Mark::Cross, Ink::Text), "measured"));
        }
        let theoretical = self.bandwidths.iter().any(|roof| roof.theoretical)
            || self.ceilings.iter().any(|roof| roof.theoretical);
        if theoretical {
            entries.push(Entry::new(Key::Dashes(Ink::Axis), "by the data sheet"));
        }
        entries
    }

    /// Draws the data; returns the labels that found no place.
    fn draw(
        &self,
        scene: &mut Scene,
        panel: &Panel,
        (fastest, highest): (f64, f64),
    ) -> Vec<String> {
        let mut labels = Labels::new(panel.plot.shrunk(2.0));
        let mut flats: Vec<(Point, Point, &Ceiling)> = Vec::new();
        for roof in &self.ceilings {
            // A flat roof begins where the fastest memory reaches it.
            let from = panel.at(roof.gflops / fastest, roof.gflops);
            let to = panel.at(panel.x.high, roof.gflops);
            if let Some((from, to)) = panel.plot.clip(from, to) {
                draw_roof(scene, (from, to), Ink::Text, roof.theoretical);
                labels.avoid(from, to);
                flats.push((from, to, roof));
            }
        }
        let mut slopes: Vec<(Point, Point, &Bandwidth)> = Vec::new();
        for roof in &self.bandwidths {
            let from = panel.at(panel.x.low, panel.x.low * roof.gbps);
            let to = panel.at(highest / roof.gbps, highest);
            if let Some((from, to)) = panel.plot.clip(from, to) {
                draw_roof(scene, (from, to), roof.level.ink(), roof.theoretical);
                labels.avoid(from, to);
                slopes.push((from, to, roof));
            }
        }
        self.draw_kernels(scene, panel, &mut labels);
        for (from, to, roof) in slopes {
            let number = significant(roof.gbps, 4);
            let twin = self.bandwidths.iter().find(|bandwidth| {
                bandwidth.level == roof.level && bandwidth.theoretical != roof.theoretical
            });
            // A colon, because the `1` of `L1` and the first digit look like one number.
            let short = format!("{}: {number} GB/s", roof.level.name());
            let text = match (twin, roof.theoretical) {
                (Some(_), true) => continue,
                (Some(twin), false) => {
                    format!("{short} (data sheet {})", significant(twin.gbps, 4))
                }
                (None, _) => short.clone(),
            };
            labels.along(scene, (from, to), &[&text, &short], (LABEL_SIZE, Ink::Text));
        }
        let mut labelled: Vec<f64> = Vec::new();
        for &(from, to, roof) in &flats {
            let is_level = |other: &f64| (other - from.y).abs() < SAME_LINE;
            if labelled.iter().any(is_level) || (roof.theoretical && self.twin(roof).is_some()) {
                continue;
            }
            labelled.push(from.y);
            // Roofs that fall on one line share a label.
            let level = flats.iter().filter(|(other, _, _)| is_level(&other.y));
            let level = level.map(|(_, _, roof)| *roof);
            let level: Vec<&Ceiling> =
                level.filter(|roof| !(roof.theoretical && self.twin(roof).is_some())).collect();
            let names: Vec<&str> = level.iter().map(|roof| roof.name.as_str()).collect();
            let gflops = || level.iter().map(|roof| roof.gflops);
            let (low, high) =
                (gflops().fold(f64::INFINITY, f64::min), gflops().fold(0.0, f64::max));
            let value = match (throughput(low), throughput(high)) {
                (low, high) if low == high => high,
                (low, high) => format!("{low} to {high}"),
            };
            let short = format!("{} {value}", names.join(", "));
            let text = match (level.as_slice(), self.twin(roof)) {
                ([_], Some(twin)) => {
                    let sheet = throughput(twin.gflops);
                    let (number, unit) = sheet.rsplit_once(' ').unwrap_or((&sheet, ""));
                    // A unit that stands there already is not said again.
                    let sheet = if short.ends_with(unit) { number } else { &sheet };
                    format!("{short} (data sheet {sheet})")
                }
                _ => short.clone(),
            };
            labels.along(scene, (to, from), &[&text, &short], (LABEL_SIZE, Ink::Text));
        }
        self.label_kernels(scene, panel, &mut labels);
        labels.missed().to_vec()
    }

    /// The data sheet's counterpart of a measured roof, and the other way round.
    fn twin(&self, roof: &Ceiling) -> Option<&Ceiling> {
        let is_twin = |one: &&Ceiling| one.name == roof.name && one.theoretical != roof.theoretical;
        self.ceilings.iter().find(is_twin)
    }

    fn draw_kernels(&self, scene: &mut Scene, panel: &Panel, labels: &mut Labels) {
        for (at, kernel) in self.kernels.iter().enumerate() {
            let points: Vec<(Point, Level)> = kernel
                .places
                .iter()
                .filter(|place| place.intensity > 0.0 && kernel.gflops > 0.0)
                .map(|place| (panel.at(place.intensity, kernel.gflops), place.level))
                .collect();
            let mut line: Vec<Point> = points.iter().map(|(at, _)| *at).collect();
            line.sort_by(|a, b| a.x.total_cmp(&b.x));
            if let [first, .., last] = line[..] {
                labels.avoid(first, last);
            }
            scene.path(line, 1.0, Ink::Axis);
            if let (Some(measured), Some(place)) = (kernel.measured_gflops, kernel.places.first()) {
                let cross = panel.at(place.intensity, measured);
                let predicted = panel.at(place.intensity, kernel.gflops);
                scene.dashed(&[predicted, cross], 1.0, Ink::Axis, [3.0, 2.0]);
                scene.mark(Mark::Cross, cross, 4.5, Ink::Text);
                let words = format!("{} measured: {}", kernel.name, throughput(measured));
                scene.reading_at(cross, 6.0, words);
                labels.reserve_mark(cross, 6.0);
            }
            for (place, &(point, level)) in points.iter().enumerate() {
                // Levels of one intensity have one place: each is a ring around the next.
                let next = &points[place + 1..];
                let covers = |(other, _): &&(Point, Level)| (other.x - point.x).abs() < RADIUS;
                let radius = RING.mul_add(next.iter().filter(covers).count() as f64, RADIUS);
                scene.mark(Mark::of_series(at), point, radius, level.ink());
                let intensity = kernel.places.iter().find(|place| place.level == level);
                let intensity = intensity.map_or(0.0, |place| place.intensity);
                let words = format!(
                    "{} at {}: {} operations/byte, {}",
                    kernel.name,
                    level.name(),
                    significant(intensity, 4),
                    throughput(kernel.gflops)
                );
                scene.reading_at(point, radius + 1.5, words);
                labels.reserve_mark(point, radius + 2.5);
            }
        }
    }

    /// The levels whose roof a kernel's throughput exceeds, in words. A model that knows a level
    /// predicts nothing above its roof; one that does not know it may.
    fn above_roofs(&self) -> Vec<String> {
        let highest = self.ceilings.iter().map(|roof| roof.gflops).fold(0.0, f64::max);
        let exceeds = |kernel: &Kernel, place: &LevelPoint| {
            let roofs = self.bandwidths.iter().filter(|roof| roof.level == place.level);
            let gbps = roofs.map(|roof| roof.gbps).fold(0.0, f64::max);
            let roof = highest.min(if gbps > 0.0 { gbps * place.intensity } else { highest });
            kernel.gflops > roof * ABOVE
        };
        let of_kernel = |kernel: &Kernel| {
            let places = kernel.places.iter().filter(|place| exceeds(kernel, place));
            let levels: Vec<&str> = places.map(|place| place.level.name()).collect();
            (!levels.is_empty()).then(|| {
                let name = &kernel.name;
                format!(
                    "{name} lies above the roof of {}: it is bound there instead.",
                    levels.join(", ")
                )
            })
        };
        self.kernels.iter().filter_map(of_kernel).collect()
    }

    fn label_kernels(&self, scene: &mut Scene, panel: &Panel, labels: &mut Labels) {
        for kernel in &self.kernels {
            let places = kernel.places.iter().filter(|place| place.intensity > 0.0);
            let rightmost = places.max_by(|a, b| a.intensity.total_cmp(&b.intensity));
            if let (Some(place), true) = (rightmost, kernel.gflops > 0.0) {
                let at = panel.at(place.intensity, kernel.gflops);
                let text = format!("{} {}", kernel.name, throughput(kernel.gflops));
                labels.near(scene, at, RADIUS + 5.0, label(text, SMALL_SIZE));
            }
        }
    }
}

fn draw_roof(scene: &mut Scene, (from, to): (Point, Point), ink: Ink, theoretical: bool) {
    if theoretical {
        scene.dashed(&[from, to], 1.6, ink, [6.0, 4.0]);
    } else {
        scene.line(point(from.x, from.y), to, 2.2, ink);
    }
}

/// A throughput in the unit that suits it.
fn throughput(gflops: f64) -> String {
    match gflops {
        g if g >= 1e5 => format!("{} Top/s", significant(g / 1e3, 4)),
        g => format!("{} Gop/s", significant(g, 4)),
    }
}

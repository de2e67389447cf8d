//! A simulated launch, or a whole program, over time: a file for Perfetto's viewer, and what is in
//! it.
//!
//! ```text
//! recording ──► parts: processes, tracks, slices, arrows, counters ─┬─► Perfetto's protobuf
//! counts (lines) ┘                                                  └─► Chrome's JSON
//! ```
//!
//! | file | idea |
//! |---|---|
//! | `selection` | SMs, CTAs and clocks that are shown |
//! | `labels` | instructions and lines in words |
//! | `sm` | the tracks of an SM |
//! | `program` | the tracks of a program |
//! | `events` | what a file is made of, whatever its form |
//! | `picture` | the warps of an SM as a picture |
//! | `perfetto`, `messages` | the form of Perfetto |
//! | `chrome` | the Trace Event Format |
//! | `summary` | the same in a few lines |

mod chrome;
mod events;
mod labels;
mod messages;
mod perfetto;
mod picture;
mod program;
mod selection;
mod sm;
mod summary;

use std::collections::BTreeMap;

use gpucast_counters::machine::BackEnd;
use gpucast_forecast::Report;
use gpucast_forecast::input::cuda_source::CudaFile;
use gpucast_forecast::input::kernel_name::readable;
use gpucast_forecast::run::counting::Counted;
use gpucast_forecast::run::execute::Loaded;
use gpucast_model::sm_simulation::Recorded;

use events::{Clock, Events};
use labels::Labels;
pub use picture::picture;
pub use program::{Written, program};
pub use selection::{Numbers, Selection};
pub use summary::summary;

/// The form of a timeline's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimelineFormat {
    /// Perfetto's protobuf, for ui.perfetto.dev and its tools.
    Perfetto,
    /// The Trace Event Format, JSON, for Perfetto, chrome://tracing and others.
    Json,
}

/// The unit of a timeline's axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds at the clock of the SM. Viewers know no parts of them.
    Ns,
    /// A nanosecond stands for each clock, so that every clock is seen.
    Clocks,
}

/// A launch that was simulated for a timeline.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The GPU's name.
    pub gpu: &'a str,
    /// The simulation.
    pub recorded: &'a Recorded,
    /// The counts of the launch.
    pub counted: &'a Counted,
    /// The module.
    pub loaded: &'a Loaded,
    /// Its CUDA files.
    pub files: &'a BTreeMap<u32, CudaFile>,
}

/// The file of a timeline.
///
/// # Errors
///
/// If nothing is selected, and if the file has more bytes than the selection allows for its CTAs.
pub fn document(
    view: &View<'_>,
    selection: &Selection,
    format: TimelineFormat,
    unit: TimeUnit,
) -> Result<Vec<u8>, Report> {
    let ctas = selection.check(&view.recorded.sms)?;
    let clock = match unit {
        TimeUnit::Ns => Clock { ns: 1e3 / view.recorded.clock_mhz },
        TimeUnit::Clocks => Clock { ns: 1.0 },
    };
    let title = view.title();
    match format {
        TimelineFormat::Perfetto => {
            let mut file = perfetto::File::new(clock, title);
            view.write(selection, ctas, &mut file)?;
            Ok(file.finish())
        }
        TimelineFormat::Json => {
            let mut file = chrome::File::new(clock, title);
            view.write(selection, ctas, &mut file)?;
            Ok(file.finish())
        }
    }
}

impl View<'_> {
    /// What was simulated, in a line.
    fn title(&self) -> String {
        let kernel = &self.counted.profile.kernel;
        let machine = self.counted.profile.machine.as_ref();
        let by = machine.map(|machine| match &machine.back_end {
            BackEnd::Ptxas { version } => format!(", machine code of ptxas {version}"),
            BackEnd::Rules => ", machine code by rules".to_owned(),
        });
        format!("{} on {}{}", readable(kernel), self.gpu, by.unwrap_or_default())
    }

    fn write(
        &self,
        selection: &Selection,
        ctas: usize,
        file: &mut impl Events,
    ) -> Result<(), Report> {
        let labels = Labels::new(self);
        let most = selection.most_bytes(ctas);
        for (number, recording) in selection.sms(&self.recorded.sms) {
            sm::Sm::new(number, recording, selection, &labels).write(file, &mut |bytes| {
                if bytes as u64 > most { Err(selection.too_large(ctas)) } else { Ok(()) }
            })?;
        }
        Ok(())
    }
}

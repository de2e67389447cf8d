//! `gpucast trace`: its options.

use std::path::PathBuf;

use clap::Args;
use gpucast_model::gpu::Clock;
use gpucast_render::timeline::{Numbers, Selection, TimeUnit, TimelineFormat};

use super::{ExecutionOptions, LaunchOptions, MachineOptions, size, words};

#[derive(Debug, Args)]
pub(crate) struct Trace {
    #[command(flatten)]
    pub(crate) simulated: Simulated,

    /// Bytes of the file that a CTA may take, on average
    #[arg(long, help_heading = "Timeline", value_name = "SIZE", default_value = "50MB", value_parser = size::bytes)]
    pub(crate) limit: u64,

    /// The unit of the time's axis
    #[arg(long, help_heading = "Timeline", value_name = "UNIT", default_value = "ns", value_parser = words::time_unit())]
    pub(crate) time_unit: TimeUnit,

    /// The form of the file [default: that of its name: .json, else Perfetto's]
    #[arg(long, help_heading = "Output", value_name = "FORMAT", value_parser = words::timeline_format())]
    pub(crate) format: Option<TimelineFormat>,

    /// The timeline's file, such as t.pftrace or t.json
    #[arg(short, long, help_heading = "Output", value_name = "FILE")]
    pub(crate) output: PathBuf,
}

/// A launch that is simulated to be looked at, and the part of it that is shown.
#[derive(Debug, Args)]
// `--ctas` chooses CTAs here. A sample of the grid, whose size it is elsewhere, records no CTAs.
#[command(mut_arg("ctas", |ctas| ctas.long("sampled-ctas").hide(true)))]
// A timeline is no place for the seconds of the execution.
#[command(mut_arg("execution_time", |seconds| seconds.hide(true)))]
pub(crate) struct Simulated {
    /// A corpus name (sgemm), a launch file (x.toml), a module (x.ptx, or x.cu, which is compiled),
    /// or a fatbin, object, library or executable with PTX inside
    #[arg(value_name = "KERNEL")]
    pub(crate) input: String,

    #[command(flatten)]
    pub(crate) launch: LaunchOptions,

    // The text is an attribute because rustdoc would take its brackets for links.
    #[arg(
        long,
        help_heading = "Prediction",
        value_name = "GPU",
        help = "The GPU by name or TOML file [default: that of the environment variable \
                GPUCAST_GPU, or h100-sxm]"
    )]
    pub(crate) gpu: Option<String>,

    /// The clock of the SMs: base, boost, or a number of megahertz; device memory keeps its own
    /// [default: sp_clock of the GPU's file]
    #[arg(long, help_heading = "Prediction", value_name = "CLOCK")]
    pub(crate) clock: Option<Clock>,

    /// Which of several launches, counted from 1
    #[arg(long = "launch", help_heading = "Kernel", value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) number: Option<u32>,

    #[command(flatten)]
    pub(crate) machine: MachineOptions,

    #[command(flatten)]
    pub(crate) execution: ExecutionOptions,

    /// The simulated SMs that are shown: all, or 0,2-3; SM 0 ends last
    #[arg(long, help_heading = "Timeline", value_name = "NUMBERS", default_value = "0")]
    pub(crate) sms: Numbers,

    /// The CTAs of each SM that are shown, in the order of their starts: all, or 0,5-7
    #[arg(
        long = "ctas",
        id = "shown_ctas",
        help_heading = "Timeline",
        value_name = "NUMBERS",
        default_value = "all"
    )]
    pub(crate) shown_ctas: Numbers,

    /// The clocks that are shown
    #[arg(long, help_heading = "Timeline", value_name = "FIRST..END", value_parser = clocks)]
    pub(crate) clocks: Option<Clocks>,
}

/// Consecutive clocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Clocks {
    from: f64,
    until: f64,
}

/// Reads `1000..5000`, `..5000` or `1000..`.
fn clocks(text: &str) -> Result<Clocks, String> {
    let wrong = || format!("`{text}` is no range of clocks; write 1000..5000, ..5000 or 1000..");
    let (from, until) = text.split_once("..").ok_or_else(wrong)?;
    let number = |text: &str, missing: f64| match text.trim().replace('_', "").as_str() {
        "" => Ok(missing),
        digits => digits.parse::<u64>().map(|clock| clock as f64).map_err(|_| wrong()),
    };
    let clocks = Clocks { from: number(from, 0.0)?, until: number(until, f64::INFINITY)? };
    if clocks.from < clocks.until { Ok(clocks) } else { Err(wrong()) }
}

impl Trace {
    /// The form that is asked for, or that the file's name asks for.
    pub(crate) fn format(&self) -> TimelineFormat {
        self.format.unwrap_or_else(|| TimelineFormat::of(&self.output))
    }

    /// What is shown.
    pub(crate) fn selection(&self) -> Selection {
        Selection { bytes_of_cta: self.limit, ..self.simulated.selection() }
    }
}

impl Simulated {
    /// What is shown.
    pub(crate) fn selection(&self) -> Selection {
        let all = Clocks { from: 0.0, until: f64::INFINITY };
        let Clocks { from, until } = self.clocks.unwrap_or(all);
        let (sms, ctas) = (self.sms.clone(), self.shown_ctas.clone());
        Selection { sms, ctas, from, until, ..Selection::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_clocks_may_lack_an_end() {
        let of = |from, until| Ok(Clocks { from, until });
        assert_eq!(clocks("10..20"), of(10.0, 20.0));
        assert_eq!(clocks("..20_000"), of(0.0, 20_000.0));
        assert_eq!(clocks("7.."), of(7.0, f64::INFINITY));
        for wrong in ["", "5", "20..10", "5..5", "a..b", "-1..5", "1.5..2", "1e3..5"] {
            assert!(clocks(wrong).is_err(), "{wrong}");
        }
    }
}

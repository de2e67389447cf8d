//! The timeline of a program, which is written when it has ended.

use gpucast_forecast::number;
use gpucast_host::report::ProcessReport;
use gpucast_render::timeline::{TimelineFormat, program};

use crate::cli::exec::{Exec, Mode};
use crate::failure::{Failure, Report};
use crate::output::{Output, diagnostic};

/// The file of a timeline.
pub(super) struct File {
    output: Output,
    format: TimelineFormat,
    most_bytes: usize,
}

impl File {
    /// Tries the file before the program runs; none if no timeline is asked for.
    pub(super) fn open(arguments: &Exec) -> Result<Option<Self>, Failure> {
        let Some(path) = &arguments.trace else { return Ok(None) };
        if arguments.mode == Mode::Run {
            let report = Report::new("with --mode run kernels take no time, which --trace shows");
            return Err(Failure::Usage(report.hint("leave --mode out, or take --mode sample")));
        }
        let format = TimelineFormat::of(path);
        let most_bytes = usize::try_from(arguments.trace_limit).unwrap_or(usize::MAX);
        let output = Output::open(Some(path.clone()))?;
        Ok(Some(Self { output, format, most_bytes }))
    }

    pub(super) fn write(&mut self, reports: &[ProcessReport]) -> Result<(), Failure> {
        let written = program(reports, self.format, self.most_bytes);
        if written.left_out > 0 {
            let [shown, left_out] = [written.shown, written.left_out].map(number::count);
            diagnostic::note(&format!(
                "the timeline has {shown} calls and operations, and no room for {left_out} later \
                 ones"
            ));
        }
        self.output.write_bytes(&written.bytes)
    }
}

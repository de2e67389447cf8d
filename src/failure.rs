//! The reasons why a command did not succeed, and the exit statuses for them.

pub(crate) use gpucast_forecast::failure::{Report, SourceText, suggest};
use gpucast_forecast::input::kernel_argument::ReadFailure;
use gpucast_forecast::input::module_listing::Unlaunched;

/// Reason why a command did not succeed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The input is at fault: exit status 1.
    Input(Vec<Report>),
    /// The command line is at fault: exit status 2.
    Usage(Report),
    /// A module's launch is not known: exit status 2.
    Unlaunched(Box<Unlaunched>),
    /// Everything has been said on the output already: exit status 1.
    Said,
    /// The program that was run ended with this status, and has said why.
    Exit(u8),
    /// The user stopped the run.
    Stopped,
    /// The reader of our output went away; that is its right.
    BrokenPipe,
}

impl From<Report> for Failure {
    fn from(report: Report) -> Self {
        Self::Input(vec![report])
    }
}

impl From<Vec<Report>> for Failure {
    fn from(reports: Vec<Report>) -> Self {
        Self::Input(reports)
    }
}

impl From<ReadFailure> for Failure {
    fn from(failure: ReadFailure) -> Self {
        match failure {
            ReadFailure::Failure(failure) => failure.into(),
            ReadFailure::Unlaunched(module) => Self::Unlaunched(module),
        }
    }
}

impl From<gpucast_forecast::Failure> for Failure {
    fn from(failure: gpucast_forecast::Failure) -> Self {
        use gpucast_forecast::Failure as Of;
        match failure {
            Of::Input(reports) => Self::Input(reports),
            Of::Usage(report) => Self::Usage(report),
            Of::Explained => Self::Said,
            Of::Stopped => Self::Stopped,
        }
    }
}

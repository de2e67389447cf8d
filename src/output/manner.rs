//! How much is said on the standard error, and in which colours. The whole process has one manner,
//! as it has one standard error.

use std::io::IsTerminal as _;
use std::sync::OnceLock;

use clap::ColorChoice;

use crate::cli::ErrorFormat;

/// How much is said beside results and errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Verbosity {
    /// Nothing.
    Quiet,
    /// Notes beside text for people, and progress on a terminal.
    #[default]
    Usual,
    /// Notes beside everything, and what was used and how long it took.
    Verbose,
}

/// The manner of the process.
#[derive(Clone, Copy, Debug, Default)]
struct Manner {
    colour: ColorChoice,
    verbosity: Verbosity,
    errors: ErrorFormat,
}

static MANNER: OnceLock<Manner> = OnceLock::new();

/// Sets the manner, once.
pub(crate) fn set(colour: ColorChoice, verbosity: Verbosity, errors: ErrorFormat) {
    MANNER.get_or_init(|| Manner { colour, verbosity, errors });
}

fn manner() -> Manner {
    MANNER.get().copied().unwrap_or_default()
}

/// How errors look.
pub(super) fn errors() -> ErrorFormat {
    manner().errors
}

/// How much is said.
pub(crate) fn verbosity() -> Verbosity {
    manner().verbosity
}

/// The look of reports on the standard error: with frames for people, or plain for programs.
pub(super) struct Look {
    pub(super) framed: bool,
    pub(super) coloured: bool,
}

/// The look of reports.
pub(super) fn look() -> Look {
    let terminal = std::io::stderr().is_terminal();
    match manner().colour {
        ColorChoice::Always => Look { framed: true, coloured: true },
        ColorChoice::Never => Look { framed: terminal, coloured: false },
        // https://no-color.org
        ColorChoice::Auto => {
            Look { framed: terminal, coloured: terminal && std::env::var_os("NO_COLOR").is_none() }
        }
    }
}

//! Options that take one of a few words. Each word stands for a value of a library, which knows no
//! command line.

use clap::ValueEnum;
use clap::builder::{EnumValueParser, PossibleValuesParser, TypedValueParser};
use gpucast_lab::Language;
use gpucast_render::difference::DifferenceFormat;
use gpucast_render::judgement::JudgementFormat;
use gpucast_render::lab::GradeFormat;
use gpucast_render::marks::MarkFormat;
use gpucast_render::profile::{By, SourceChoice};
use gpucast_render::sweep::TableFormat;
use gpucast_render::timeline::{TimeUnit, TimelineFormat};
use gpucast_render::{Format, TextOrJson};

/// Declares the words of an option with their help, and a parser that gives the library's value.
macro_rules! words {
    ($(#[$doc:meta])* $parser:ident as $name:ident for $of:ty {
        $($(#[$help:meta])* $word:ident),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, ValueEnum)]
        enum $name {
            $($(#[$help])* $word),+
        }

        $(#[$doc])*
        pub(super) fn $parser() -> impl TypedValueParser<Value = $of> {
            EnumValueParser::<$name>::new().map(|word| match word {
                $($name::$word => <$of>::$word),+
            })
        }
    };
}

words! {
    /// Forms of a result.
    format as FormatWord for Format {
        /// For people
        Text,
        /// For programs, versioned
        Json,
        /// For spreadsheets
        Csv,
    }
}

words! {
    /// Forms of a result that has no CSV form.
    text_or_json as TextOrJsonWord for TextOrJson {
        /// For people
        Text,
        /// For programs, versioned
        Json,
    }
}

words! {
    /// Forms of a judgement.
    judgement_format as JudgementFormatWord for JudgementFormat {
        /// For people
        Text,
        /// For programs, versioned
        Json,
        /// For a browser: one file that refers to nothing outside
        Html,
    }
}

/// Languages, by their codes.
pub(super) fn language() -> impl TypedValueParser<Value = Language> {
    PossibleValuesParser::new(Language::ALL.iter().map(|language| language.code()))
        .map(|code| Language::of_code(&code).unwrap_or_default())
}

/// The form of a run's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunFormat {
    Text,
    Json,
    Sarif,
    Github,
    Junit,
}

words! {
    /// Forms of a run's result.
    run_format as RunFormatWord for RunFormat {
        /// For people
        Text,
        /// For programs, versioned
        Json,
        /// Findings at their lines, for code hosts and editors: SARIF 2.1.0
        Sarif,
        /// Findings as annotations of a GitHub workflow
        Github,
        /// Checks and expectations as test cases, for CI systems: JUnit's XML
        #[value(alias = "xml")]
        Junit,
    }
}

/// The form of a prediction's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredictionFormat {
    Text,
    Json,
    Csv,
    Sarif,
    Junit,
    Github,
}

impl PredictionFormat {
    /// The form of the prediction itself. Broken limits are for programs.
    pub(crate) fn document(self) -> Format {
        match self {
            Self::Text => Format::Text,
            Self::Json | Self::Sarif | Self::Junit | Self::Github => Format::Json,
            Self::Csv => Format::Csv,
        }
    }

    /// The form of broken limits, where these stand in the prediction's place.
    pub(crate) fn marks(self) -> Option<MarkFormat> {
        match self {
            Self::Text | Self::Json | Self::Csv => None,
            Self::Sarif => Some(MarkFormat::Sarif),
            Self::Junit => Some(MarkFormat::Junit),
            Self::Github => Some(MarkFormat::Github),
        }
    }
}

words! {
    /// Forms of a prediction.
    prediction_format as PredictionFormatWord for PredictionFormat {
        /// For people
        Text,
        /// For programs, versioned
        Json,
        /// For spreadsheets
        Csv,
        /// Broken limits at their lines, for code hosts and editors: SARIF 2.1.0
        Sarif,
        /// Limits as test cases, for CI systems: JUnit's XML
        #[value(alias = "xml")]
        Junit,
        /// Broken limits as annotations of a GitHub workflow
        Github,
    }
}

words! {
    /// Forms of a difference.
    difference_format as DifferenceFormatWord for DifferenceFormat {
        /// For people
        Text,
        /// For programs, versioned
        Json,
        /// For a browser, in one file
        Html,
        /// For a comment on a change
        Markdown,
        /// Broken limits at their lines, for code hosts and editors: SARIF 2.1.0
        Sarif,
        /// Limits as test cases, for CI systems: JUnit's XML
        Junit,
        /// Broken limits as annotations of a GitHub workflow
        Github,
    }
}

words! {
    /// Forms of grades.
    grade_format as GradeFormatWord for GradeFormat {
        /// For people
        Text,
        /// For programs, versioned
        Json,
        /// For spreadsheets
        Csv,
        /// For a page
        #[value(alias = "md")]
        Markdown,
    }
}

words! {
    /// Forms of a timeline's file.
    timeline_format as TimelineFormatWord for TimelineFormat {
        /// Perfetto's protobuf, for ui.perfetto.dev
        Perfetto,
        /// The Trace Event Format, for Perfetto and chrome://tracing
        Json,
    }
}

words! {
    /// Units of a timeline's axis.
    time_unit as TimeUnitWord for TimeUnit {
        /// Nanoseconds at the clock of the SM
        Ns,
        /// A nanosecond for each clock, so that every single issue has a width
        Clocks,
    }
}

words! {
    /// Forms of a table.
    table_format as TableFormatWord for TableFormat {
        /// For people
        Text,
        /// For programs, versioned
        Json,
        /// For spreadsheets
        Csv,
        /// For data frames
        Parquet,
    }
}

words! {
    /// Meanings of a row of a profile.
    by as ByWord for By {
        /// A kernel launch
        Launch,
        /// A line of the source
        Line,
        /// What all CTAs do between two barriers
        Stage,
        /// A conditional branch
        Branch,
        /// Accesses to memory with the same strides: the features of cost models
        Access,
    }
}

words! {
    /// Whose lines are shown.
    source as SourceWord for SourceChoice {
        /// CUDA if the PTX names its lines and the file is there, otherwise PTX
        Auto,
        /// PTX
        Ptx,
        /// CUDA, without its text if the file is not there
        Cuda,
    }
}

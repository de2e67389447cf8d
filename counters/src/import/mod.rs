//! Reads counts that somebody else took: a metrics file, or the CSV of a vendor's profiler.
//!
//! A model does not care if its counts were executed here or measured on hardware. A file's figures
//! become [`KernelProfile`]s under nvprof's names. [`crate::definitions`] says which of Nsight
//! Compute's metrics mean the same. Figures are [`Kind::Measured`], unless the file was written by
//! [`crate::export`]: those are [`Kind::Modelled`]. Profiles that this program wrote in its own
//! form keep the kind of each figure.
//!
//! [`Kind::Measured`]: crate::metric::Kind::Measured
//! [`Kind::Modelled`]: crate::metric::Kind::Modelled

mod error;
mod metrics_toml;
mod ncu;
mod number;
mod nvprof;
mod own;
mod table;

use crate::profile::KernelProfile;

pub use error::{ImportError, Position, Reason};
pub use metrics_toml::metrics_toml;
pub use ncu::ncu_csv;
pub use nvprof::nvprof_csv;
pub use own::{profile_csv, profile_json};

/// The contents of a profiler's file.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// One profile for each kernel, in the order in which the file first names them.
    pub profiles: Vec<KernelProfile>,
    /// The names of the metrics and events that the file holds and no model here knows, sorted.
    pub ignored: Vec<String>,
}

/// The file formats that [`read`] tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A metrics file: `kernel`, `invocations`, `measured_on`, `[metrics]`.
    MetricsToml,
    /// `nvprof --csv --metrics …`.
    NvprofCsv,
    /// `ncu --csv`, long form or `--page raw`.
    NcuCsv,
    /// `gpucast profile --format json`.
    ProfileJson,
    /// `gpucast profile --format csv`.
    ProfileCsv,
}

impl Format {
    /// Recognises a format by the header line that only its writer prints.
    #[must_use]
    pub fn of(text: &str) -> Self {
        if own::is_json(text) {
            return Self::ProfileJson;
        }
        for line in text.lines() {
            if own::is_header(line) {
                return Self::ProfileCsv;
            }
            if nvprof::is_header(line) {
                return Self::NvprofCsv;
            }
            if ncu::is_header(line) {
                return Self::NcuCsv;
            }
        }
        Self::MetricsToml
    }
}

/// Reads a file of any of the [`Format`]s.
///
/// # Errors
///
/// When the text is not well formed, has a name that is not allowed, or holds a figure that is no
/// figure. The error gives the first such place, with its line and column.
pub fn read(text: &str) -> Result<Imported, ImportError> {
    match Format::of(text) {
        Format::MetricsToml => match reason_against_toml(text) {
            Some(reason) => Err(ImportError { position: Position::START, reason }),
            None => Ok(Imported { profiles: vec![metrics_toml(text)?], ignored: Vec::new() }),
        },
        Format::NvprofCsv => nvprof_csv(text),
        Format::NcuCsv => ncu_csv(text),
        Format::ProfileJson => profile_json(text),
        Format::ProfileCsv => profile_csv(text),
    }
}

/// Returns the reason why a text cannot be a metrics file: it is empty, or a table of another
/// program.
fn reason_against_toml(text: &str) -> Option<Reason> {
    let Some(first) = text.lines().find(|line| !line.trim().is_empty()) else {
        return Some(Reason::Empty);
    };
    let is_table = first.contains(',') && !first.contains('=') && !first.trim().starts_with('#');
    is_table.then_some(Reason::NoHeader)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOML: &str = "kernel = \"k\"\n[metrics]\ninst_executed = 1\n";
    const NVPROF: &str = "==1== NVPROF is profiling\n\"Device\",\"Kernel\",\"Invocations\",\
                          \"Metric Name\",\"Metric Description\",\"Min\",\"Max\",\"Avg\"\n\
                          \"Tesla K20c (0)\",\"k(float*, int)\",3,\"inst_executed\",\"µ\",1,1,1\n";
    const NCU: &str = "==PROF== Connected\n\"ID\",\"Kernel Name\",\"Metric Name\",\
                       \"Metric Unit\",\"Metric Value\"\n\
                       \"0\",\"k\",\"smsp__inst_executed.sum\",\"inst\",\"1\"\n";

    #[test]
    fn each_format_is_recognised_by_its_header() {
        for (text, format) in
            [(TOML, Format::MetricsToml), (NVPROF, Format::NvprofCsv), (NCU, Format::NcuCsv)]
        {
            assert_eq!(Format::of(text), format);
            let imported = read(text).unwrap();
            assert_eq!(imported.profiles[0].metrics["inst_executed"].value.as_f64(), 1.0);
        }
    }

    #[test]
    fn tables_of_other_programs_and_empty_files_are_named_for_what_they_are() {
        let reason = |text| read(text).unwrap_err().reason;
        assert_eq!(reason(""), Reason::Empty);
        assert_eq!(reason("\n  \n"), Reason::Empty);
        assert_eq!(reason("kernel,time\nsgemm,1\n"), Reason::NoHeader);
        assert_eq!(reason("# counts, by hand\n"), Reason::MissingKey { key: "kernel" });
    }

    #[test]
    fn no_truncated_file_makes_a_reader_panic() {
        for text in [TOML, NVPROF, NCU] {
            for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
                let cut = &text[..end];
                let _ = (read(cut), metrics_toml(cut), nvprof_csv(cut), ncu_csv(cut));
            }
        }
    }
}

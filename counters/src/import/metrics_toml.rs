//! The metrics file: published or copied counts in TOML.
//!
//! ```toml
//! kernel = "sgemm"
//! invocations = 1              # default 1; totals are the metrics times this
//! measured_on = "gtx-480"      # optional
//! [metrics]
//! flop_count_sp_fma = 524288000
//! ```

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ImportError, Position, Reason, nearest};
use super::number;
use crate::definitions::{definition, definitions};
use crate::metric::{Kind, MetricValue, Metrics, Number};
use crate::profile::KernelProfile;

const KEYS: [&str; 4] = ["kernel", "invocations", "measured_on", "metrics"];

/// Reads a metrics file.
///
/// # Errors
///
/// On text that is not TOML, and on keys and metrics that do not exist. Also on values of the wrong
/// type or that no count can have, and on a file without a kernel name or metrics.
pub fn metrics_toml(text: &str) -> Result<KernelProfile, ImportError> {
    let root = DeTable::parse(text).map_err(|error| ImportError {
        position: error.span().map_or(Position::START, |span| Position::of(text, span.start)),
        reason: Reason::Syntax { message: error.message().to_owned() },
    })?;
    Reader { text }.profile(root.get_ref())
}

/// Remembers the text, so that a span can become a line.
struct Reader<'a> {
    text: &'a str,
}

impl Reader<'_> {
    fn profile(&self, root: &DeTable<'_>) -> Result<KernelProfile, ImportError> {
        let mut kernel = None;
        let mut invocations = 1;
        let mut measured_on = None;
        let mut metrics = None;
        for (key, value) in root {
            let name = key.get_ref().as_ref();
            match name {
                "kernel" => kernel = Some(self.string(name, value)?),
                "invocations" => invocations = self.invocations(value)?,
                "measured_on" => measured_on = Some(self.string(name, value)?),
                "metrics" => metrics = Some(self.metrics(value)?),
                _ => {
                    let suggestion = nearest(name, KEYS);
                    let reason = Reason::UnknownKey { key: name.into(), suggestion };
                    return Err(self.error(key.span(), reason));
                }
            }
        }
        let missing =
            |key| ImportError { position: Position::START, reason: Reason::MissingKey { key } };
        Ok(KernelProfile {
            kernel: kernel.ok_or_else(|| missing("kernel"))?,
            invocations,
            measured_on,
            metrics: metrics.ok_or_else(|| missing("metrics"))?,
        })
    }

    fn metrics(&self, value: &Spanned<DeValue<'_>>) -> Result<Metrics, ImportError> {
        let table = value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong_type("metrics", "a table", value))?;
        if table.is_empty() {
            return Err(self.error(value.span(), Reason::Empty));
        }
        let mut metrics = Metrics::new();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let Some(metric) = definition(name) else {
                let suggestion = nearest(name, definitions().map(|metric| metric.name));
                let reason = Reason::UnknownMetric { name: name.into(), suggestion };
                return Err(self.error(key.span(), reason));
            };
            let value = self.number(name, value)?;
            metrics.insert(
                name.to_owned(),
                MetricValue { value, unit: metric.unit, kind: Kind::Measured },
            );
        }
        Ok(metrics)
    }

    fn invocations(&self, value: &Spanned<DeValue<'_>>) -> Result<u64, ImportError> {
        match self.number("invocations", value)? {
            Number::Count(0) => Err(self.error(
                value.span(),
                Reason::Impossible {
                    name: "invocations".into(),
                    value: "0".into(),
                    why: "a kernel that never ran has no counts",
                },
            )),
            Number::Count(count) => u64::try_from(count)
                .map_err(|_| self.wrong_type("invocations", "a number below 2⁶⁴", value)),
            Number::Real(_) => Err(self.wrong_type("invocations", "a whole number", value)),
        }
    }

    fn string(&self, key: &str, value: &Spanned<DeValue<'_>>) -> Result<String, ImportError> {
        value
            .get_ref()
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| self.wrong_type(key, "a string", value))
    }

    fn number(&self, name: &str, value: &Spanned<DeValue<'_>>) -> Result<Number, ImportError> {
        let parsed = match value.get_ref() {
            DeValue::Integer(integer) => {
                match u128::from_str_radix(integer.as_str(), integer.radix()) {
                    Ok(count) => Ok(Number::Count(count)),
                    // Negative, or above 2¹²⁸: the real says which.
                    Err(_) => number::parse(name, integer.as_str()),
                }
            }
            DeValue::Float(float) => match float.as_str().parse::<f64>() {
                Ok(real) => number::checked(name, real),
                Err(_) => Err(Reason::NotANumber { name: name.into(), text: float.to_string() }),
            },
            _ => return Err(self.wrong_type(name, "a number", value)),
        };
        parsed.map_err(|reason| self.error(value.span(), reason))
    }

    fn wrong_type(
        &self,
        key: &str,
        expected: &'static str,
        value: &Spanned<DeValue<'_>>,
    ) -> ImportError {
        let found = match value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "an integer",
            DeValue::Float(_) => "a float",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "an array",
            DeValue::Table(_) => "a table",
        };
        self.error(value.span(), Reason::WrongType { key: key.into(), expected, found })
    }

    fn error(&self, span: Range<usize>, reason: Reason) -> ImportError {
        ImportError { position: Position::of(self.text, span.start), reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_file_is_read() {
        let profile = metrics_toml(
            "kernel = \"sgemm\"\ninvocations = 4\nmeasured_on = \"gtx-480\"\n[metrics]\n\
             flop_count_sp_fma = 524_288_000\ninst_executed = 0x10\nwarp_execution_efficiency = 78.21\n",
        )
        .unwrap();
        assert_eq!(profile.kernel, "sgemm");
        assert_eq!(profile.invocations, 4);
        assert_eq!(profile.measured_on.as_deref(), Some("gtx-480"));
        let fma = profile.metrics["flop_count_sp_fma"];
        assert_eq!(fma.value, Number::Count(524_288_000));
        assert_eq!(profile.metrics["inst_executed"].value, Number::Count(16));
        assert_eq!(fma.unit, "operation");
        assert_eq!(fma.kind, Kind::Measured);
        assert_eq!(profile.metrics["warp_execution_efficiency"].value, Number::Real(78.21));
    }

    /// Every refusal with its place and its hint, as the user sees them.
    #[test]
    fn errors_name_the_place_and_the_remedy() {
        let files = [
            "kernel = ",
            "kernal = \"a\"",
            "kernel = 3",
            "kernel = \"a\"",
            "invocations = 1\n[metrics]\ninst_executed = 1",
            "kernel = \"a\"\n[metrics]\n",
            "kernel = \"a\"\n[metrics]\ninst_exectued = 1",
            "kernel = \"a\"\n[metrics]\nfrobnications = 1",
            "kernel = \"a\"\n[metrics]\n  inst_executed = -1",
            "kernel = \"a\"\n[metrics]\ninst_executed = nan",
            "kernel = \"a\"\n[metrics]\ninst_executed = inf",
            "kernel = \"a\"\n[metrics]\ninst_executed = \"many\"",
            "kernel = \"a\"\ninvocations = 0\n[metrics]\ninst_executed = 1",
            "kernel = \"a\"\ninvocations = 1.5\n[metrics]\ninst_executed = 1",
            "kernel = \"a\"\nmetrics = 5",
            "kernel = \"a\"\nkernel = \"b\"",
        ];
        let report: Vec<String> = files
            .iter()
            .map(|text| {
                let error = metrics_toml(text).unwrap_err();
                format!("{text:?}\n  {error}\n  hint: {}", error.hint().unwrap_or_default())
            })
            .collect();
        insta::assert_snapshot!(report.join("\n"));
    }
}

//! Model files: an expression with calibrated parameters, and the GPU that they hold for.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::Range;

use serde::Deserialize;
use thiserror::Error;
use toml::Spanned;

use super::calibration::Calibration;
use super::formula::Formula;
use super::parser::ExpressionError;

/// The name and version of model files.
pub const SCHEMA: &str = "gpucast.cost-model/1";

/// A calibrated model.
#[derive(Clone, Debug, PartialEq)]
pub struct CostModelFile {
    /// The library name of the GPU that the parameters hold for.
    pub gpu: String,
    /// The origin of the parameters.
    pub source: String,
    /// The expression as written, for people.
    pub text: String,
    /// The expressions that it names.
    pub terms: BTreeMap<String, String>,
    /// The expression.
    pub formula: Formula,
    /// Values of the formula's parameters, in its order.
    pub parameters: Vec<Parameter>,
}

/// A calibrated parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// `p_…`.
    pub name: String,
    /// The cost in seconds per unit of its feature, as a rule.
    pub value: f64,
    /// The standard deviation of the value's error, if it is known.
    pub standard_error: Option<f64>,
}

/// A model file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct ModelFileError {
    /// The fault.
    pub message: String,
    /// The bytes of the file that are at fault.
    pub range: Range<usize>,
    /// A remedy, if there is one.
    pub hint: Option<String>,
}

impl ModelFileError {
    fn new(message: impl Into<String>, range: Range<usize>) -> Self {
        Self { message: message.into(), range, hint: None }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    schema: Spanned<String>,
    gpu: String,
    source: String,
    model: Spanned<String>,
    #[serde(default)]
    terms: BTreeMap<String, Spanned<String>>,
    parameters: Spanned<BTreeMap<String, Spanned<toml::Value>>>,
    /// The record of a calibration; for people.
    #[serde(default, rename = "calibration")]
    _calibration: Option<toml::Table>,
}

/// Reads `1.9e-12` or `{ value = 1.9e-12, standard_error = 2e-14 }`.
fn estimate(raw: &toml::Value) -> Option<(f64, Option<f64>)> {
    let number = |value: &toml::Value| match value {
        toml::Value::Float(number) => Some(*number),
        toml::Value::Integer(number) => Some(*number as f64),
        _ => None,
    };
    let finite = |value: &toml::Value| number(value).filter(|number| number.is_finite());
    let toml::Value::Table(table) = raw else { return Some((finite(raw)?, None)) };
    if table.keys().any(|key| !matches!(key.as_str(), "value" | "standard_error")) {
        return None;
    }
    let error = match table.get("standard_error") {
        Some(error) => Some(finite(error).filter(|error| *error >= 0.0)?),
        None => None,
    };
    Some((finite(table.get("value")?)?, error))
}

impl CostModelFile {
    /// Reads a model file.
    ///
    /// # Errors
    ///
    /// On text that is not TOML, lacks a field or has unknown ones, and on expressions that cannot
    /// be read. Also on parameters that are missing, not finite, or not in the model.
    pub fn from_toml(text: &str) -> Result<Self, ModelFileError> {
        let raw: Raw = toml::from_str(text).map_err(|error| {
            ModelFileError::new(error.message(), error.span().unwrap_or(0..text.len().min(1)))
        })?;
        if raw.schema.get_ref() != SCHEMA {
            let message = format!("the schema is `{}`, not `{SCHEMA}`", raw.schema.get_ref());
            return Err(ModelFileError::new(message, raw.schema.span()));
        }
        let terms: BTreeMap<String, String> =
            raw.terms.iter().map(|(name, text)| (name.clone(), text.get_ref().clone())).collect();
        if let Some((name, term)) = raw.terms.iter().find(|(name, _)| !name.starts_with("c_")) {
            let mut error =
                ModelFileError::new(format!("`{name}` is no name of an expression"), term.span());
            error.hint = Some("names of expressions begin with c_".to_owned());
            return Err(error);
        }
        let formula = Formula::parse(raw.model.get_ref(), &terms).map_err(|error| {
            let of = error.within.as_ref().and_then(|name| raw.terms.get(name));
            in_string(text, of.unwrap_or(&raw.model), error)
        })?;
        let given = raw.parameters.get_ref();
        for (name, parameter) in given {
            if !formula.parameters().contains(name) {
                let message = format!("the model has no parameter `{name}`");
                return Err(ModelFileError::new(message, parameter.span()));
            }
        }
        let parameters = formula
            .parameters()
            .iter()
            .map(|name| {
                let raw_parameter = given.get(name).ok_or_else(|| {
                    let message = format!("the parameter `{name}` of the model has no value");
                    ModelFileError::new(message, raw.parameters.span())
                })?;
                let (value, standard_error) =
                    estimate(raw_parameter.get_ref()).ok_or_else(|| ModelFileError {
                        message: format!("the value of `{name}` cannot be read"),
                        range: raw_parameter.span(),
                        hint: Some(format!(
                            "write {name} = 1.9e-12 or {name} = {{ value = 1.9e-12, \
                             standard_error = 2e-14 }}"
                        )),
                    })?;
                Ok(Parameter { name: name.clone(), value, standard_error })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            gpu: raw.gpu,
            source: raw.source,
            text: raw.model.into_inner(),
            terms,
            formula,
            parameters,
        })
    }

    /// The values of the parameters, in the formula's order.
    #[must_use]
    pub fn values(&self) -> Vec<f64> {
        self.parameters.iter().map(|parameter| parameter.value).collect()
    }

    /// The file of a calibration for a GPU; `source` names the measurements that it was fitted to.
    #[must_use]
    pub fn to_toml(
        gpu: &str,
        source: &str,
        model: &str,
        terms: &BTreeMap<String, String>,
        calibration: &Calibration,
    ) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut file = format!(
            "schema = {}\ngpu = {}\nsource = {}\nmodel = {}\n",
            quoted(SCHEMA),
            quoted(gpu),
            quoted(source),
            quoted(model)
        );
        if !terms.is_empty() {
            file.push_str("\n[terms]\n");
        }
        for (name, text) in terms {
            // Writing to a string cannot fail.
            let _ = writeln!(file, "{name} = {}", quoted(text));
        }
        file.push_str("\n[parameters]\n");
        for parameter in &calibration.parameters {
            let name = &parameter.name;
            let value = parameter.value;
            let _ = match parameter.standard_error {
                Some(error) => {
                    writeln!(file, "{name} = {{ value = {value:e}, standard_error = {error:e} }}")
                }
                None => writeln!(file, "{name} = {{ value = {value:e} }}"),
            };
        }
        let _ = write!(
            file,
            "\n[calibration]\nsamples = {}\nscale = \"{}\"\nresidual = {:e}\n\
             geometric_mean_error = {:e}\nworst_error = {:e}\n",
            calibration.samples.len(),
            calibration.scale.name(),
            calibration.residual,
            calibration.geometric_mean_error,
            calibration.worst_error
        );
        file
    }
}

/// An error of an expression, at its position in the file. The position is exact if the string is
/// written without escapes.
fn in_string(text: &str, string: &Spanned<String>, error: ExpressionError) -> ModelFileError {
    let span = string.span();
    let written = text.get(span.clone()).unwrap_or_default();
    let range = match written.find(string.get_ref().as_str()) {
        Some(start) => {
            let start = span.start + start;
            start + error.range.start..start + error.range.end
        }
        None => span,
    };
    ModelFileError { message: error.message, range, hint: error.hint }
}

/// The models that come with the program, by name.
pub const BUILT_IN: [(&str, &str); 1] =
    [("stevens-matmul", include_str!("../cost-models/stevens-matmul.toml"))];

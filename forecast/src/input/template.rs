//! Launch files as generators of kernels: a kernel for each combination of values.
//!
//! The tags of a collection choose among its own generators. A launch file with `[parameters]` is a
//! generator of the user's own, whose arguments are the parameters. Its PTX may use them, too.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::expression::Parameters;
use super::launch_file::{self, InitValue};
use super::options::LaunchOptions;
use super::plan::Plan;
use super::toml_report::toml_report;
use super::{kernel_argument, module_text};
use crate::failure::{Failure, Report, SourceText, suggest};

/// A launch file whose parameters are the arguments of a generator.
#[derive(Clone, Debug)]
pub struct Template {
    path: PathBuf,
    source: SourceText,
    /// The parameters with their usual values.
    usual: Parameters,
}

/// A template with a value for each parameter.
#[derive(Clone, Debug)]
pub struct TemplateKernel {
    template: Template,
    values: Parameters,
}

/// The texts of a template's kernel, whose launch file stands for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateTexts {
    /// The module.
    pub ptx: String,
    /// The launch file.
    pub launch: String,
}

impl Template {
    /// Opens a launch file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, and one without parameters.
    pub fn open(path: &Path) -> Result<Self, Report> {
        let source = module_text::read_text(path)?;
        let usual = launch_file::parameters(&source, &[])?;
        if usual.is_empty() {
            // A file with a fault has no parameters that anybody could read.
            launch_file::parse(&source)?;
            let report = Report::new(format!("{} has no parameters", source.name));
            return Err(report.hint("declare them with their usual values: [parameters] n = 1024"));
        }
        Ok(Self { path: path.to_owned(), source, usual })
    }

    /// The file's name without its ending.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The parameters with their usual values.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, f64)> {
        self.usual.iter().map(|(name, &value)| (name.as_str(), value))
    }

    /// A kernel for each combination of values, the last parameter changing fastest. A parameter
    /// without wanted values has its usual one.
    ///
    /// # Errors
    ///
    /// A name that is no parameter, and a value that is no number.
    pub fn kernels(&self, wanted: &[(String, Vec<String>)]) -> Result<Vec<TemplateKernel>, Report> {
        let unknown = wanted.iter().find(|(name, _)| !self.usual.contains_key(name));
        if let Some((name, _)) = unknown {
            let message = format!("{} has no parameter `{name}`", self.source.name);
            let known: Vec<&str> = self.usual.keys().map(String::as_str).collect();
            let all = format!("its parameters are {}", known.join(", "));
            return Err(Report::new(message).hint(suggest(name, known).unwrap_or(all)));
        }
        let mut all = vec![Parameters::new()];
        for (name, &usual) in &self.usual {
            let given = wanted.iter().filter(|(other, _)| other == name);
            let mut values: Vec<f64> = Vec::new();
            for text in given.flat_map(|(_, texts)| texts) {
                let value = text.parse().ok().filter(|value: &f64| value.is_finite());
                let value = value.ok_or_else(|| {
                    Report::new(format!("`{text}` is no value of `{name}`"))
                        .hint(format!("values are numbers: {name}:{usual}"))
                })?;
                if !values.contains(&value) {
                    values.push(value);
                }
            }
            if values.is_empty() {
                values.push(usual);
            }
            let with = |begun: Parameters| {
                let longer = move |&value: &f64| {
                    let mut longer = begun.clone();
                    longer.insert(name.clone(), value);
                    longer
                };
                values.iter().map(longer).collect::<Vec<_>>()
            };
            all = all.into_iter().flat_map(with).collect();
        }
        let kernel = |values| TemplateKernel { template: self.clone(), values };
        Ok(all.into_iter().map(kernel).collect())
    }
}

impl TemplateKernel {
    /// The template.
    #[must_use]
    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The values of the parameters.
    #[must_use]
    pub fn values(&self) -> &Parameters {
        &self.values
    }

    /// The tags that choose this kernel alone: the file, and the values that are not usual.
    #[must_use]
    pub fn tags(&self) -> String {
        let values = self.decided().map(|(name, value)| format!(" {name}:{value}"));
        std::iter::once(self.template.path.display().to_string()).chain(values).collect()
    }

    /// A name for files.
    #[must_use]
    pub fn file_name(&self) -> String {
        let values = self.decided().map(|(name, value)| format!("-{name}-{value}"));
        std::iter::once(self.template.name()).chain(values).collect()
    }

    fn decided(&self) -> impl Iterator<Item = (&String, &f64)> {
        self.values.iter().filter(|(name, value)| self.template.usual.get(*name) != Some(value))
    }

    /// The plan of the kernel. CUDA is compiled for `arch`, and containers give the PTX for it.
    ///
    /// # Errors
    ///
    /// Faults of the launch file and of its module.
    pub fn plan(&self, arch: Option<&str>) -> Result<Plan, Failure> {
        let param = self.values.iter().map(|(name, &value)| (name.clone(), value)).collect();
        let source = launch_file::with_parameters(self.with_values()?, &self.values)?;
        let file = launch_file::parse(&source)?;
        // PTX is of one architecture already.
        let ending = Path::new(file.module.get_ref()).extension();
        let has_choice = ending.is_some_and(|ending| ending != "ptx");
        let arch = arch.filter(|_| has_choice).map(str::to_owned);
        let options = LaunchOptions { param, arch, ..LaunchOptions::default() };
        Ok(kernel_argument::read(&self.template.path.to_string_lossy(), &options)?)
    }

    /// The texts of the kernel. The launch file names its module `module`, and has numbers in the
    /// place of expressions.
    ///
    /// # Errors
    ///
    /// As [`TemplateKernel::plan`]; and files of values, which the new launch file would not find.
    pub fn texts(&self, module: &str, arch: Option<&str>) -> Result<TemplateTexts, Failure> {
        let plan = self.plan(arch)?;
        let source = self.with_values()?;
        let source = launch_file::with_parameters(source, &self.values)?;
        let file = launch_file::parse(&source)?;
        for (name, buffer) in &file.buffers {
            let Some(init) = &buffer.init else { continue };
            if let InitValue::File(_) = init.get_ref() {
                let message = format!("buffer `{}` takes its values from a file", name.get_ref());
                let report = source.report(init.span(), message);
                return Err(report.hint("only the launch file itself finds it").into());
            }
        }
        let mut launch = source.text.to_string();
        launch.replace_range(file.module.span(), &toml::Value::from(module).to_string());
        Ok(TemplateTexts { ptx: plan.module.text.to_string(), launch: without_parameters(&launch) })
    }

    /// The launch file with the values in the place of the usual ones.
    fn with_values(&self) -> Result<SourceText, Report> {
        #[derive(Deserialize)]
        struct Declared {
            parameters: std::collections::BTreeMap<String, Spanned<toml::Value>>,
        }
        let source = &self.template.source;
        let declared: Declared =
            toml::from_str(&source.text).map_err(|error| toml_report(source, &error))?;
        let mut places: Vec<_> = declared.parameters.iter().collect();
        places.sort_by_key(|(_, value)| std::cmp::Reverse(value.span().start));
        let mut text = source.text.to_string();
        for (name, place) in places {
            if let Some(&value) = self.values.get(name) {
                text.replace_range(place.span(), &value.to_string());
            }
        }
        Ok(SourceText { name: source.name.clone(), text: text.into() })
    }
}

/// A launch file without the table of its parameters, which no expression uses any more.
fn without_parameters(text: &str) -> String {
    let mut is_inside = false;
    let is_kept = |line: &&str| {
        if line.trim_start().starts_with('[') {
            is_inside = line.trim_end() == "[parameters]";
        }
        !is_inside
    };
    text.split_inclusive('\n').filter(is_kept).collect()
}

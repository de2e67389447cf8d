//! The file of a tuning space.
//!
//! ```toml
//! launch = "convolution.toml"        # a launch file that declares the parameters
//! constraints = ["block_x * block_y <= 1024", "tile_x == 1 || block_y < 8"]
//! problem_size = [1024, 1024]        # for other tuners' files; optional
//!
//! [parameters]                       # the last one changes fastest
//! block_x = [16, 32, 64]
//! block_y = [1, 2, 4, 8]
//!
//! [compile]                          # optional; otherwise as for any CUDA source
//! command = ["nvcc", "-ptx", "-DBLOCK_X=${block_x}", "-o", "${output}", "${source}"]
//! ```

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use crate::failure::{Report, SourceText};
use crate::input::expression::{self, Parameters};
use crate::input::module_text;
use crate::input::toml_report::toml_report;

/// The most combinations of values, before constraints.
const MOST_COMBINATIONS: usize = 1_000_000;

/// A kernel's parameters with their values, and which combinations make sense.
#[derive(Clone, Debug)]
pub struct Space {
    /// The launch file.
    pub launch: PathBuf,
    /// The parameters in the order of the file.
    pub parameters: Vec<Parameter>,
    /// The size of the problem, for files of other tuners.
    pub problem_size: Vec<u64>,
    /// The program that compiles a configuration, with its arguments; none for the usual compiler.
    pub compile: Option<Vec<String>>,
    constraints: Vec<Spanned<String>>,
    source: SourceText,
}

/// A parameter of a tuning space.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// Its name, which is a macro of CUDA source and a parameter of the launch file.
    pub name: String,
    /// Its values.
    pub values: Vec<f64>,
}

/// One value for each parameter of a space, in its order.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration(pub Vec<f64>);

impl Configuration {
    /// The values as other tuners write them: `16,1,4`.
    pub fn key(&self) -> String {
        let texts: Vec<String> = self.0.iter().map(f64::to_string).collect();
        texts.join(",")
    }
}

/// The file as written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    launch: String,
    #[serde(default)]
    constraints: Vec<Spanned<String>>,
    #[serde(default)]
    problem_size: Vec<u64>,
    parameters: BTreeMap<Spanned<String>, toml::Value>,
    compile: Option<Compile>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Compile {
    command: Vec<String>,
}

impl Space {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    ///
    /// Whatever is wrong with the file, with its place.
    pub fn read(path: &Path) -> Result<Self, Report> {
        let source = module_text::read_text(path)?;
        Self::of_text(source, path.parent().unwrap_or(Path::new("")))
    }

    fn of_text(source: SourceText, folder: &Path) -> Result<Self, Report> {
        let file: File =
            toml::from_str(&source.text).map_err(|error| toml_report(&source, &error))?;
        let mut named: Vec<(Spanned<String>, toml::Value)> = file.parameters.into_iter().collect();
        named.sort_by_key(|(name, _)| name.span().start);
        let mut parameters = Vec::new();
        for (name, values) in named {
            let place = name.span();
            let name = name.into_inner();
            let values = values_of(&values).ok_or_else(|| {
                source
                    .report(place, format!("`{name}` has no list of numbers"))
                    .hint(format!("write {name} = [1, 2, 4]"))
            })?;
            parameters.push(Parameter { name, values });
        }
        if parameters.is_empty() {
            let message = format!("{} has no parameters, so nothing to tune", source.name);
            return Err(Report::new(message));
        }
        if file.compile.as_ref().is_some_and(|compile| compile.command.is_empty()) {
            return Err(Report::new(format!("{}: `command` names no program", source.name)));
        }
        Ok(Self {
            launch: folder.join(file.launch),
            parameters,
            problem_size: file.problem_size,
            compile: file.compile.map(|compile| compile.command),
            constraints: file.constraints,
            source,
        })
    }

    /// The text of the file, as it was read.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The name of the launch file without folder and ending.
    pub fn name(&self) -> String {
        self.launch.file_stem().map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    /// A space of these parameters, for tests of files.
    #[cfg(test)]
    pub(super) fn of_parameters(names: &[&str]) -> Self {
        let values: Vec<String> = names.iter().map(|name| format!("{name} = [1]\n")).collect();
        let text = format!("launch = \"k.toml\"\n[parameters]\n{}", values.concat());
        Self::of_text(SourceText::new("space.toml", text), Path::new("")).unwrap()
    }

    /// Every combination of values that keeps the constraints, the last parameter changing fastest.
    ///
    /// # Errors
    ///
    /// A constraint that cannot be evaluated, with its place; too many combinations, or none.
    pub fn configurations(&self) -> Result<Vec<Configuration>, Report> {
        let mut all = self.parameters.iter().map(|parameter| parameter.values.len());
        let number = all.try_fold(1_usize, usize::checked_mul);
        if number.is_none_or(|number| number > MOST_COMBINATIONS) {
            let message =
                format!("{} has more than {MOST_COMBINATIONS} combinations", self.source.name);
            return Err(Report::new(message).hint("leave values out"));
        }
        let mut configurations = vec![Configuration(Vec::new())];
        for parameter in &self.parameters {
            configurations = configurations
                .iter()
                .flat_map(|shorter| {
                    parameter.values.iter().map(|&value| {
                        let mut longer = shorter.0.clone();
                        longer.push(value);
                        Configuration(longer)
                    })
                })
                .collect();
        }
        let mut kept = Vec::new();
        for configuration in configurations {
            if self.holds(&configuration)? {
                kept.push(configuration);
            }
        }
        if kept.is_empty() {
            let message = format!("no configuration keeps the constraints of {}", self.source.name);
            return Err(Report::new(message));
        }
        Ok(kept)
    }

    fn holds(&self, configuration: &Configuration) -> Result<bool, Report> {
        let parameters = self.named(configuration);
        for constraint in &self.constraints {
            // The text of a string begins behind its quotation mark.
            let start = constraint.span().start + 1;
            let holds = expression::holds(&self.source, start, constraint.get_ref(), &parameters)?;
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The values of a configuration by name.
    pub fn named(&self, configuration: &Configuration) -> Parameters {
        let names = self.parameters.iter().map(|parameter| parameter.name.clone());
        names.zip(configuration.0.iter().copied()).collect()
    }
}

/// Numbers of a list; true and false are 1 and 0.
fn values_of(value: &toml::Value) -> Option<Vec<f64>> {
    let values = value.as_array().filter(|values| !values.is_empty())?;
    let number = |value: &toml::Value| match value {
        toml::Value::Integer(integer) => Some(*integer as f64),
        toml::Value::Float(real) if real.is_finite() => Some(*real),
        toml::Value::Boolean(truth) => Some(f64::from(u8::from(*truth))),
        _ => None,
    };
    values.iter().map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(text: &str) -> Result<Space, Report> {
        Space::of_text(SourceText::new("space.toml", text), Path::new("folder"))
    }

    #[test]
    fn a_space_is_the_combinations_that_keep_the_constraints() {
        let text = "launch = \"k.toml\"\nconstraints = [\"y * x <= 32\", \"fast == 1 || y > 1\"]\n\
                    [parameters]\ny = [1, 2, 4]\nx = [8, 16]\nfast = [true, false]\n";
        let space = space(text).unwrap();
        assert_eq!(space.launch, Path::new("folder/k.toml"));
        let keys: Vec<String> =
            space.configurations().unwrap().iter().map(Configuration::key).collect();
        // The parameters stand in the order of the file.
        assert_eq!(
            keys,
            ["1,8,1", "1,16,1", "2,8,1", "2,8,0", "2,16,1", "2,16,0", "4,8,1", "4,8,0"]
        );
    }

    #[test]
    fn what_is_wrong_is_pointed_at() {
        let head = "launch = \"k.toml\"\n";
        let cases = [
            ("[parameters]\nx = [1]".to_owned(), "the key `launch` is missing"),
            (format!("{head}[parameters]\n"), "has no parameters"),
            (format!("{head}[parameters]\nx = 1\n"), "3:1: `x` has no list of numbers"),
            (format!("{head}[parameters]\nx = [\"a\"]\n"), "3:1: `x` has no list of numbers"),
            (
                format!("{head}constraints = [\"z > 1\"]\n[parameters]\nx = [1]\n"),
                "2:17: there is no parameter `z`",
            ),
            (
                format!("{head}constraints = [\"x >\"]\n[parameters]\nx = [1]\n"),
                "2:20: a number or a name is missing here",
            ),
            (
                format!("{head}constraints = [\"x > 1\"]\n[parameters]\nx = [1]\n"),
                "no configuration keeps the constraints",
            ),
            (
                format!("{head}constrants = []\n[parameters]\nx = [1]\n"),
                "2:1: there is no key `constrants` here",
            ),
        ];
        for (text, expected) in cases {
            let report = match space(&text) {
                Err(report) => report,
                Ok(space) => space.configurations().unwrap_err(),
            };
            assert!(report.to_string().contains(expected), "{text}\n{report}");
        }
    }
}

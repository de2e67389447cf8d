//! Launch files of a problem in any size.

use std::path::Path;

use super::expression::Parameters;
use super::options::LaunchOptions;
use super::{launch_file, module_text};
use crate::compiler::CudaOptions;
use crate::failure::Failure;

/// A launch file before its parameters are put in.
#[derive(Clone, Debug, PartialEq)]
pub struct UnfilledLaunch {
    /// The text.
    pub text: String,
    /// All its parameters: those that are given, and the usual values of the others.
    pub parameters: Parameters,
}

impl UnfilledLaunch {
    /// The launch file that a KERNEL is; `None` if it is something else.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that lacks a parameter that is given.
    pub fn read(input: &str, options: &LaunchOptions) -> Result<Option<Self>, Failure> {
        let path = Path::new(input);
        if path.extension().is_none_or(|extension| extension != "toml") {
            return Ok(None);
        }
        let source = module_text::read_text(path)?;
        let parameters = launch_file::parameters(&source, &options.param)?;
        Ok(Some(Self { text: source.text.to_string(), parameters }))
    }

    /// Names everything that a plan follows from but for the values of some parameters, and for the
    /// files that the launch file names.
    #[must_use]
    pub fn identity(&self, varied: &[String], options: &LaunchOptions) -> String {
        let fixed: Vec<(&String, &f64)> =
            self.parameters.iter().filter(|(name, _)| !varied.contains(name)).collect();
        // Code has a name of its own, whatever options it was compiled with.
        let cuda = CudaOptions::default();
        let options = LaunchOptions { param: Vec::new(), project: None, cuda, ..options.clone() };
        format!("{}\n{fixed:?}\n{options:?}", self.text)
    }
}

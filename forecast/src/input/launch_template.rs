//! Launches whose options have expressions in them, for sizes that vary.

use std::path::Path;

use super::expression::{self, Parameters};
use super::options::{LaunchOptions, Size};
use super::typed::Argument;
use crate::failure::{Failure, Report, SourceText};

/// The launch of a module with parameters in it, or the choice of a corpus kernel's files.
#[derive(Clone, Debug, Default)]
pub struct LaunchTemplate {
    /// CTAs of the grid, as `${ceil(n/256)},1`.
    pub grid: Option<String>,
    /// Threads of a CTA.
    pub block: Option<String>,
    /// CTAs of a cluster.
    pub cluster: Option<String>,
    /// Dynamic shared memory in bytes.
    pub shared_bytes: Option<String>,
    /// The arguments, as on the command line.
    pub arguments: Vec<String>,
    /// What has no expressions: the kernel, its target, how CUDA is compiled, the project.
    pub options: LaunchOptions,
}

impl LaunchTemplate {
    /// Refuses a parameter that nothing would use, so that sizes do not differ in name alone.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] says where the parameter could be used.
    pub fn check_parameter(&self, input: &str, name: &str) -> Result<(), Failure> {
        let usage =
            |message: String, hint: &str| Err(Failure::Usage(Report::new(message).hint(hint)));
        if gpucast_corpus::find(input).is_some() {
            let message = format!("the corpus kernel {input} has no parameter `{name}`");
            return usage(message, "its sizes are --size small,paper");
        }
        if !is_launch_file(input) && !self.mentions(name) {
            let message = format!("no option of the launch uses `{name}`");
            return usage(message, "write --grid '${ceil(n/256)}' or --arg 'u32:${n}'");
        }
        Ok(())
    }

    /// The first option that describes an execution.
    pub fn first_given(&self) -> Option<&'static str> {
        let options = [
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--cluster", self.cluster.is_some()),
            ("--shared-bytes", self.shared_bytes.is_some()),
            ("--arg", !self.arguments.is_empty()),
            ("--arch", self.options.arch.is_some()),
        ];
        options.into_iter().find_map(|(option, given)| given.then_some(option))
    }

    /// Returns true if an expression in one of the options has this name in it.
    fn mentions(&self, name: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let single = [&self.grid, &self.block, &self.cluster, &self.shared_bytes];
        let mut texts = single.into_iter().flatten().chain(&self.arguments);
        texts.any(|text| {
            let expressions = text.split("${").skip(1).filter_map(|rest| rest.split('}').next());
            let mut words = expressions.flat_map(|it| it.split(|c: char| !is_word(c)));
            words.any(|word| word == name)
        })
    }

    /// The options of one point. A launch file takes the parameters itself.
    ///
    /// # Errors
    ///
    /// An expression that has no value, and a value that an option does not take.
    pub fn at(
        self,
        input: &str,
        size: Option<Size>,
        parameters: Parameters,
    ) -> Result<LaunchOptions, Report> {
        let text = |option: &str, text: &Option<String>| {
            let filled = text.as_ref().map(|text| {
                let source = SourceText::new(option, text.as_str());
                expression::substitute(&source, &parameters, false)
            });
            filled.transpose()
        };
        let extent_of = |option: &str, template: &Option<String>| {
            let filled = text(option, template)?;
            let extent = filled.map(|text| {
                extent(&text).map_err(|error| Report::new(format!("{option} {text}: {error}")))
            });
            extent.transpose()
        };
        let bytes = text("--shared-bytes", &self.shared_bytes)?;
        let shared_bytes = bytes.map(|text| {
            text.trim()
                .parse()
                .map_err(|_| Report::new(format!("--shared-bytes {text} is no number of bytes")))
        });
        let arguments = self.arguments.iter().map(|argument| {
            let source = SourceText::new("--arg", argument.as_str());
            expression::substitute(&source, &parameters, false).map(Argument::from)
        });
        Ok(LaunchOptions {
            grid: extent_of("--grid", &self.grid)?,
            block: extent_of("--block", &self.block)?,
            cluster: extent_of("--cluster", &self.cluster)?,
            shared_bytes: shared_bytes.transpose()?,
            arg: arguments.collect::<Result<_, _>>()?,
            size,
            param: match is_launch_file(input) {
                true => parameters.into_iter().collect(),
                false => Vec::new(),
            },
            ..self.options
        })
    }
}

fn is_launch_file(input: &str) -> bool {
    Path::new(input).extension().is_some_and(|extension| extension == "toml")
}

/// Reads `x`, `x,y` or `x,y,z`, also as people and profilers write them: `16x64`, `(16, 64, 1)`.
///
/// # Errors
///
/// Says what is wrong with the text.
pub fn extent(text: &str) -> Result<[u32; 3], String> {
    let mut extent = [1; 3];
    let inner = text.strip_prefix('(').and_then(|text| text.strip_suffix(')'));
    let parts: Vec<&str> = inner.unwrap_or(text).split([',', 'x']).collect();
    if parts.len() > 3 {
        return Err("at most three numbers: x, y and z".to_owned());
    }
    for (place, part) in extent.iter_mut().zip(parts) {
        *place = match part.trim().parse() {
            Ok(0) | Err(_) => return Err(format!("`{part}` is not a positive whole number")),
            Ok(number) => number,
        };
    }
    Ok(extent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extents_have_one_to_three_positive_numbers() {
        assert_eq!(extent("20"), Ok([20, 1, 1]));
        assert_eq!(extent("20,40"), Ok([20, 40, 1]));
        assert_eq!(extent("1,2,3"), Ok([1, 2, 3]));
        assert_eq!(extent("16x64"), Ok([16, 64, 1]));
        assert_eq!(extent("(16, 64, 1)"), Ok([16, 64, 1]));
        for wrong in
            ["", "0", "-1", "1,", "1,2,3,4", "4294967296", "x", "1x", "(1,2", "(1)x2", "0x10"]
        {
            assert!(extent(wrong).is_err(), "{wrong}");
        }
    }
}

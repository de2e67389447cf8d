//! Launches whose options have expressions in them, for sizes that vary.

use std::path::Path;

use gpucast_forecast::Argument;
use gpucast_forecast::input::expression::{self, Parameters};
use gpucast_forecast::settings::{LaunchOptions, Size as CorpusSize};

use crate::cli::LaunchTemplate;
use crate::failure::{Failure, Report, SourceText};
use crate::project;

/// Refuses a parameter that nothing would use, so that sizes do not differ in name alone.
pub(super) fn check_parameter(
    input: &str,
    name: &str,
    launch: &LaunchTemplate,
) -> Result<(), Failure> {
    let usage = |message: String, hint: &str| Err(Failure::Usage(Report::new(message).hint(hint)));
    if gpucast_corpus::find(input).is_some() {
        let message = format!("the corpus kernel {input} has no parameter `{name}`");
        return usage(message, "its sizes are --size small,paper");
    }
    if !is_launch_file(input) && !launch.mentions(name) {
        let message = format!("no option of the launch uses `{name}`");
        return usage(message, "write --grid '${ceil(n/256)}' or --arg 'u32:${n}'");
    }
    Ok(())
}

fn is_launch_file(input: &str) -> bool {
    Path::new(input).extension().is_some_and(|extension| extension == "toml")
}

impl LaunchTemplate {
    /// The first option that describes an execution.
    pub(super) fn first_given(&self) -> Option<&'static str> {
        let options = [
            ("--grid", self.grid.is_some()),
            ("--block", self.block.is_some()),
            ("--cluster", self.cluster.is_some()),
            ("--shared-bytes", self.shared_bytes.is_some()),
            ("--arg", !self.arg.is_empty()),
            ("--arch", self.arch.is_some()),
        ];
        options.into_iter().find_map(|(option, given)| given.then_some(option))
    }

    /// Returns true if an expression in one of the options has this name in it.
    fn mentions(&self, name: &str) -> bool {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let single = [&self.grid, &self.block, &self.cluster, &self.shared_bytes];
        let mut texts = single.into_iter().flatten().chain(&self.arg);
        texts.any(|text| {
            let expressions = text.split("${").skip(1).filter_map(|rest| rest.split('}').next());
            let mut words = expressions.flat_map(|it| it.split(|c: char| !is_word(c)));
            words.any(|word| word == name)
        })
    }

    /// The options of one point. A launch file takes the parameters itself.
    pub(super) fn at(
        &self,
        input: &str,
        size: Option<CorpusSize>,
        parameters: Parameters,
    ) -> Result<LaunchOptions, Report> {
        let text = |option: &str, text: &Option<String>| {
            let filled = text.as_ref().map(|text| {
                let source = SourceText::new(option, text.as_str());
                expression::substitute(&source, &parameters, false)
            });
            filled.transpose()
        };
        let extent = |option: &str, template: &Option<String>| {
            let filled = text(option, template)?;
            let extent = filled.map(|text| {
                crate::cli::extent(&text)
                    .map_err(|error| Report::new(format!("{option} {text}: {error}")))
            });
            extent.transpose()
        };
        let bytes = text("--shared-bytes", &self.shared_bytes)?;
        let shared_bytes = bytes.map(|text| {
            text.trim()
                .parse()
                .map_err(|_| Report::new(format!("--shared-bytes {text} is no number of bytes")))
        });
        let arguments = self.arg.iter().map(|argument| {
            let source = SourceText::new("--arg", argument.as_str());
            expression::substitute(&source, &parameters, false).map(Argument::from)
        });
        Ok(LaunchOptions {
            kernel: self.kernel.clone(),
            grid: extent("--grid", &self.grid)?,
            block: extent("--block", &self.block)?,
            cluster: extent("--cluster", &self.cluster)?,
            shared_bytes: shared_bytes.transpose()?,
            arg: arguments.collect::<Result<_, _>>()?,
            arch: self.arch.clone(),
            size,
            dlcm: None,
            l2: None,
            cuda: (&self.cuda).into(),
            project: project::current(),
            param: match is_launch_file(input) {
                true => parameters.into_iter().collect(),
                false => Vec::new(),
            },
        })
    }
}

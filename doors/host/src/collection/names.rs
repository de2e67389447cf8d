//! Kernels as options of NVIDIA's profiler choose them.

use gpucast_forecast::failure::Report;
use gpucast_forecast::input::kernel_name;
use regex_lite::Regex;
use serde::{Deserialize, Serialize};

/// The words before an expression.
const REGEX: &str = "regex:";

/// A name, or `regex:` and an expression that a part of the name fits.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// The whole name.
    Name(String),
    /// An expression.
    Expression(Regex),
}

impl Pattern {
    /// Reads the word of an option.
    ///
    /// # Errors
    ///
    /// If the expression is none.
    pub fn parse(text: &str) -> Result<Self, Report> {
        match text.strip_prefix(REGEX) {
            None => Ok(Self::Name(text.to_owned())),
            Some(expression) => Regex::new(expression).map(Self::Expression).map_err(|error| {
                Report::new(format!("`{expression}` is no regular expression: {error}"))
            }),
        }
    }

    /// Returns true if a name fits.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::Name(own) => own == name,
            Self::Expression(expression) => expression.is_match(name),
        }
    }
}

/// The form of a kernel's name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NameBase {
    /// The name alone, without namespaces, template arguments and parameters.
    #[default]
    Function,
    /// The whole C++ name.
    Demangled,
    /// The name in the module.
    Mangled,
}

/// A kernel's name in each form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelNames {
    /// As [`NameBase::Function`].
    pub function: String,
    /// As [`NameBase::Demangled`].
    pub demangled: String,
    /// As [`NameBase::Mangled`].
    pub mangled: String,
}

impl KernelNames {
    /// The names of the kernel that its module calls `symbol`.
    #[must_use]
    pub fn of(symbol: &str) -> Self {
        let short = kernel_name::demangled_short(symbol);
        Self {
            function: kernel_name::bare(short.as_deref().unwrap_or(symbol)).to_owned(),
            demangled: kernel_name::demangled(symbol).unwrap_or_else(|| symbol.to_owned()),
            mangled: symbol.to_owned(),
        }
    }

    /// The name in a form.
    #[must_use]
    pub fn based(&self, base: NameBase) -> &str {
        match base {
            NameBase::Function => &self.function,
            NameBase::Demangled => &self.demangled,
            NameBase::Mangled => &self.mangled,
        }
    }
}

/// Launches by `context:stream:name:invocation`, each part of which may be empty. There is one
/// context, 1. A name behind an operator, as in `1:7:regex:gemm:3`, is an expression.
#[derive(Clone, Debug)]
pub struct KernelId {
    context: Option<Pattern>,
    kernel: Option<Pattern>,
    invocation: Option<Pattern>,
}

/// The number of the context, as the profiler counts.
const CONTEXT: &str = "1";

impl KernelId {
    /// Reads the word of the option.
    ///
    /// # Errors
    ///
    /// If it has not the form, or an expression is none.
    pub fn parse(text: &str) -> Result<Self, Report> {
        let wrong = || {
            let report = Report::new(format!("--kernel-id {text}: no known form"));
            report
                .hint("write context:stream:[regex:]name:invocation; parts may be empty: ::gemm:2")
        };
        let (context, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (_stream, rest) = rest.split_once(':').ok_or_else(wrong)?;
        let (name, invocation) = rest.rsplit_once(':').ok_or_else(wrong)?;
        let part = |text: &str| (!text.is_empty()).then(|| Pattern::parse(text)).transpose();
        let invocation = match invocation.parse::<u64>() {
            Ok(_) => Some(Pattern::Name(invocation.to_owned())),
            Err(_) if invocation.is_empty() => None,
            Err(_) => Some(Pattern::parse(&format!("{REGEX}^(?:{invocation})$"))?),
        };
        Ok(Self { context: part(context)?, kernel: part(name)?, invocation })
    }

    /// Returns true if it means the launch of a kernel, which is its `invocation`-th.
    #[must_use]
    pub fn matches(&self, name: &str, invocation: u64) -> bool {
        let fits = |part: &Option<Pattern>, text: &str| {
            part.as_ref().is_none_or(|pattern| pattern.matches(text))
        };
        fits(&self.context, CONTEXT)
            && fits(&self.kernel, name)
            && fits(&self.invocation, &invocation.to_string())
    }
}

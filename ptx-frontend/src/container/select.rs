//! The choice of the PTX of a file to execute.
//!
//! A file often carries the same module for several architectures; [`best_ptx`] has the rule.

use std::fmt;

use memchr::memmem;

use super::{ContainerError, Contents, Entry, EntryKind, Suffix, Target};

/// The PTX to execute, and why this one.
#[derive(Clone, Copy, Debug)]
pub struct Selection<'c, 'a> {
    /// The chosen entry, always PTX.
    pub entry: &'c Entry<'a>,
    /// Reason for the choice.
    pub reason: Reason,
    /// Number of PTX entries to choose from.
    pub candidates: usize,
}

/// Reason for the choice of a PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is the only one.
    Only,
    /// It was compiled for the target.
    Exact,
    /// It is the highest that runs on the target.
    HighestBelow(Target),
    /// None runs on the target; it is the lowest.
    NoneRuns(Target),
    /// No target was asked for; it is the highest.
    Highest,
}

impl fmt::Display for Selection<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.entry.target {
            Some(target) => write!(f, "PTX for {target}")?,
            None => f.write_str("PTX for an unnamed architecture")?,
        }
        match self.reason {
            Reason::Only => f.write_str(", the only PTX in the file"),
            Reason::Exact => write!(f, ", the exact match among {}", self.candidates),
            Reason::HighestBelow(asked) => {
                write!(f, ", the highest of {} that {asked} accepts", self.candidates)
            }
            Reason::NoneRuns(asked) => {
                write!(f, ", the lowest of {}: none of them runs on {asked}", self.candidates)
            }
            Reason::Highest => write!(f, ", the highest of {}", self.candidates),
        }
    }
}

/// Reason why there is no PTX to execute.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectError {
    /// Device code, but no PTX.
    #[error("{}", explain_no_ptx(cubins, lto_ir))]
    NoPtx {
        /// The architectures of the machine code in the file, in ascending order.
        cubins: Vec<Target>,
        /// The architectures of its LTO-IR, in ascending order.
        lto_ir: Vec<Target>,
    },
    /// No PTX that could be chosen has the kernel.
    #[error("none of the {modules} PTX modules of the file has a kernel named `{kernel}`")]
    NoKernel {
        /// The name that was looked for.
        kernel: String,
        /// The modules that were searched.
        modules: usize,
    },
    /// A PTX could not be read while it was searched for a kernel.
    #[error(transparent)]
    Container(#[from] ContainerError),
}

fn explain_no_ptx(cubins: &[Target], lto_ir: &[Target]) -> String {
    let list =
        |targets: &[Target]| targets.iter().map(Target::to_string).collect::<Vec<_>>().join(", ");
    let mut text = String::from("the file holds no PTX, only ");
    if !cubins.is_empty() {
        text += &format!("machine code for {}", list(cubins));
    }
    if !lto_ir.is_empty() {
        let and = if cubins.is_empty() { "" } else { " and " };
        text += &format!("{and}LTO-IR (encrypted compiler code) for {}", list(lto_ir));
    }
    if cubins.is_empty() && lto_ir.is_empty() {
        text += "entries of unknown kinds";
    }
    // With its suffix: code for sm_90a has instructions that plain compute_90 has not.
    let newest = lto_ir.iter().chain(cubins).max().copied().unwrap_or(Target::new(80));
    let sm = newest.to_string().replace("sm_", "");
    text += &format!(
        ". Kernels are executed from PTX, the portable form of the code, which machine code \
         cannot be turned back into. Compile again with PTX embedded: `nvcc -gencode \
         arch=compute_{sm},code=compute_{sm}`, or `code=[sm_{sm},compute_{sm}]` to keep the \
         machine code as well"
    );
    text
}

/// Returns the best PTX of the file for `target`, as the driver would choose on that GPU:
///
/// 1. the highest PTX that runs on the target (see [`Target::runs_on`]); of the same
///    architecture the most specific, `a` before `f` before none; so an exact match wins;
/// 2. where none runs on it, the lowest PTX there is: a forecast is still possible, since the
///    program is executed on the CPU and not on that GPU;
/// 3. without a target, the highest PTX, of the same architecture the most portable.
///
/// A target with a suffix (`sm_90a`) prefers the PTX of exactly that name. Of several that are
/// equal the first in the file is taken.
///
/// A library of many translation units has one PTX for each; see [`best_ptx_of_each_module`] and
/// [`best_ptx_with_kernel`].
///
/// # Errors
///
/// Returns an error if the file has no PTX. The error tells what the file has instead and how to
/// compile it again.
pub fn best_ptx<'c, 'a>(
    contents: &'c Contents<'a>,
    target: Option<Target>,
) -> Result<Selection<'c, 'a>, SelectError> {
    select(contents.ptx(), target).ok_or_else(|| no_ptx(contents))
}

/// The best PTX of every module that has one, in the order of the file.
///
/// # Errors
///
/// As [`best_ptx`].
pub fn best_ptx_of_each_module<'c, 'a>(
    contents: &'c Contents<'a>,
    target: Option<Target>,
) -> Result<Vec<Selection<'c, 'a>>, SelectError> {
    let chosen: Vec<_> = contents
        .entries
        .chunk_by(|a, b| a.module == b.module)
        .filter_map(|module| {
            select(module.iter().filter(|entry| entry.kind == EntryKind::Ptx), target)
        })
        .collect();
    if chosen.is_empty() { Err(no_ptx(contents)) } else { Ok(chosen) }
}

/// The best PTX of the first module that defines a kernel of that name.
///
/// # Errors
///
/// As [`best_ptx`]; when a PTX is damaged; and when none has the kernel.
pub fn best_ptx_with_kernel<'c, 'a>(
    contents: &'c Contents<'a>,
    target: Option<Target>,
    kernel: &str,
) -> Result<Selection<'c, 'a>, SelectError> {
    let chosen = best_ptx_of_each_module(contents, target)?;
    let modules = chosen.len();
    for selection in chosen {
        if has_kernel(&selection.entry.ptx()?, kernel) {
            return Ok(selection);
        }
    }
    Err(SelectError::NoKernel { kernel: kernel.to_owned(), modules })
}

fn select<'c, 'a: 'c>(
    ptx: impl Iterator<Item = &'c Entry<'a>>,
    asked: Option<Target>,
) -> Option<Selection<'c, 'a>> {
    let entries: Vec<_> = ptx.collect();
    let candidates = entries.len();
    let target = |entry: &Entry<'_>| entry.target.unwrap_or(Target::new(0));
    // The first of the entries with the greatest key.
    let best = |runs: &dyn Fn(Target) -> bool, key: &dyn Fn(Target) -> (i64, i64)| {
        let fit = entries.iter().rev().filter(|entry| runs(target(entry)));
        fit.copied().max_by_key(|entry| key(target(entry)))
    };
    let rank = |suffix| match suffix {
        None => 0,
        Some(Suffix::Family) => 1,
        Some(Suffix::Accelerated) => 2,
    };
    let any = |_| true;
    let (entry, reason) = if let [only] = entries[..] {
        (only, Reason::Only)
    } else if let Some(asked) = asked {
        if let Some(entry) = best(&|own| own == asked && own.suffix.is_some(), &|_| (0, 0)) {
            (entry, Reason::Exact)
        } else if let Some(entry) =
            best(&|own| own.runs_on(asked.sm), &|own| (i64::from(own.sm), rank(own.suffix)))
        {
            let exact = target(entry).sm == asked.sm;
            (entry, if exact { Reason::Exact } else { Reason::HighestBelow(asked) })
        } else {
            let lowest = best(&any, &|own| (-i64::from(own.sm), -rank(own.suffix)))?;
            (lowest, Reason::NoneRuns(asked))
        }
    } else {
        (best(&any, &|own| (i64::from(own.sm), -rank(own.suffix)))?, Reason::Highest)
    };
    Some(Selection { entry, reason, candidates })
}

fn no_ptx(contents: &Contents<'_>) -> SelectError {
    let targets = |kind| {
        let entries = contents.entries.iter().filter(move |entry| entry.kind == kind);
        let mut targets: Vec<_> = entries.filter_map(|entry| entry.target).collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    };
    SelectError::NoPtx { cubins: targets(EntryKind::Cubin), lto_ir: targets(EntryKind::LtoIr) }
}

/// Returns true if the text has `.entry kernel`.
fn has_kernel(ptx: &[u8], kernel: &str) -> bool {
    const ENTRY: &[u8] = b".entry";
    memmem::find_iter(ptx, ENTRY).any(|at| {
        let rest = ptx[at + ENTRY.len()..].trim_ascii_start();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_$%".contains(byte);
        rest.strip_prefix(kernel.as_bytes())
            .is_some_and(|behind| !behind.first().is_some_and(is_word))
    })
}

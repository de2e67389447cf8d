//! Options of Nsight Compute that have nothing to choose here.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

/// What becomes of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reaction {
    /// Nothing: results are the same.
    Silent,
    /// A note says why it changes nothing.
    Noted(&'static str),
    /// It would change what is profiled, and cannot.
    Refused(&'static str),
}

use Reaction::{Noted, Refused, Silent};

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Other {
    name: &'static str,
    takes_value: bool,
    reaction: Reaction,
}

const RANGES: &str = "ranges of NVTX are not followed; choose launches by --kernel-name, \
                      --launch-skip and --launch-count, or by cudaProfilerStart and \
                      --profile-from-start off";
const ATTACHING: &str = "the program is run to its end here, and nobody can attach to it";
const SAMPLES: &str = "nothing is sampled: stalls come from a simulation of every instruction";
const RULES: &str = "rules are not applied; `gpucast advise` says what to change in a kernel";
const FILES: &str = "sections are built in, and no section files are read";
const SOURCES: &str = "the source page shows PTX; `gpucast profile --by line` shows lines of CUDA";

/// The options: name, whether a value follows, and what becomes of it.
const OTHERS: &[Other] = &[
    flag("nvtx", Noted(RANGES)),
    valued("nvtx-include", Refused(RANGES)),
    valued("nvtx-exclude", Refused(RANGES)),
    valued("nvtx-push-pop-scope", Silent),
    valued("print-nvtx-rename", Silent),
    valued("mode", Refused(ATTACHING)),
    valued("hostname", Refused(ATTACHING)),
    valued("port", Silent),
    valued("max-connections", Silent),
    valued("config-file", Silent),
    valued("config-file-path", Silent),
    valued("target-processes-filter", Noted("processes are not chosen by name")),
    flag("support-32bit", Silent),
    flag("null-stdin", Noted("the program reads the standard input")),
    valued("injection-path-32", Silent),
    valued("preload-library", Silent),
    valued("communicator", Silent),
    valued("lockstep-kernel-launch", Silent),
    valued("replay-mode", Silent),
    valued("app-replay-buffer", Silent),
    valued("app-replay-match", Silent),
    valued("app-replay-mode", Silent),
    valued("range-replay-options", Silent),
    valued("graph-profiling", Noted("each kernel of a graph is a result of its own")),
    valued("range-filter", Refused(RANGES)),
    valued("filter-mode", Silent),
    flag("disable-profiler-start-stop", Noted("cudaProfilerStop ends profiling as ever")),
    valued("check-exit-code", Silent),
    valued("kill", Noted("the program goes on to its end behind the last profiled launch")),
    flag("call-stack", Noted("calls of the host are not recorded")),
    valued("call-stack-type", Silent),
    valued("pipeline-boost-state", Silent),
    valued("section-folder", Noted(FILES)),
    valued("section-folder-recursive", Noted(FILES)),
    flag("section-folder-restore", Silent),
    flag("list-rules", Noted(RULES)),
    valued("rule", Noted(RULES)),
    valued("apply-rules", Silent),
    flag("print-rule-details", Silent),
    valued("import-source", Silent),
    valued("source-folder", Silent),
    valued("source-folders", Silent),
    valued("resolve-source-file", Silent),
    valued("print-source", Noted(SOURCES)),
    flag("print-metric-attribution", Silent),
    valued("print-metric-instances", Silent),
    flag("print-instruction-name", Silent),
    valued("rename-kernels", Silent),
    valued("rename-kernels-path", Silent),
    valued("rename-kernels-export", Silent),
    flag("disable-extra-suffixes", Silent),
    valued("sampling-interval", Silent),
    valued("sampling-max-passes", Silent),
    valued("sampling-buffer-size", Silent),
    valued("warp-sampling-interval", Silent),
    valued("warp-sampling-max-passes", Silent),
    valued("warp-sampling-buffer-size", Silent),
    valued("pm-sampling-interval", Noted(SAMPLES)),
    valued("pm-sampling-buffer-size", Silent),
    valued("pm-sampling-max-passes", Silent),
    valued("query-metrics-mode", Silent),
    valued("query-metrics-collection", Silent),
    valued("chips", Silent),
    flag("list-chips", Noted("`gpucast gpus list` lists the GPUs")),
];

const fn flag(name: &'static str, reaction: Reaction) -> Other {
    Other { name, takes_value: false, reaction }
}

const fn valued(name: &'static str, reaction: Reaction) -> Other {
    Other { name, takes_value: true, reaction }
}

/// The options that were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct OtherOptions {
    given: Vec<Other>,
}

impl OtherOptions {
    /// What to say of the options that change nothing.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.given.iter().filter_map(|option| match option.reaction {
            Noted(text) => Some(format!("--{}: {text}", option.name)),
            Silent | Refused(_) => None,
        })
    }

    /// The first option that cannot be, and why.
    pub(crate) fn refused(&self) -> Option<String> {
        self.given.iter().find_map(|option| match option.reaction {
            Refused(text) => Some(format!("--{}: {text}", option.name)),
            Silent | Noted(_) => None,
        })
    }
}

impl Args for OtherOptions {
    fn augment_args(command: Command) -> Command {
        let argument = |one: &Other| {
            let argument = Arg::new(one.name).long(one.name).hide(true);
            match one.takes_value {
                true => argument.value_name("VALUE").action(ArgAction::Append),
                false => argument.action(ArgAction::SetTrue),
            }
        };
        command.args(OTHERS.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OtherOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let is_given = |one: &&Other| {
            let source = matches.value_source(one.name);
            source.is_some_and(|source| source != clap::parser::ValueSource::DefaultValue)
        };
        Ok(Self { given: OTHERS.iter().filter(is_given).copied().collect() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

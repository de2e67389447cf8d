//! The tools: what each is for, which fields it takes, and what they are on the command line.

use regex_lite::Regex;

/// A question that the server answers.
#[derive(Debug)]
pub struct Tool {
    /// Its name in addresses and calls.
    pub name: &'static str,
    /// The question in a few words.
    pub title: &'static str,
    /// When to ask it, and what the answer has.
    pub description: &'static str,
    /// The command of the program.
    pub(crate) command: &'static str,
    /// What the command is about.
    pub(crate) subject: Subject,
    /// Where the document comes from.
    pub(crate) result: Document,
    /// Options that every call has.
    pub(crate) fixed: &'static [&'static str],
    pub(crate) fields: &'static [&'static [Field]],
}

/// What a tool is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A source, which nobody launches.
    Module,
    /// A source with a launch, or a kernel of the corpus.
    Kernel,
    /// A source beside another one.
    Candidate,
    /// A word.
    Word,
    /// A question of the classroom's page, in a form of its own.
    Question,
}

/// Where a command leaves its JSON document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Document {
    StandardOutput,
    /// A file of the scratch folder.
    File(&'static str),
}

/// A field of a request that becomes an option.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    /// The long option, without its dashes.
    pub(crate) option: &'static str,
    pub(crate) form: Form,
    pub(crate) meaning: &'static str,
}

/// The values of a field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form {
    Text(Pattern),
    /// The option is repeated.
    Texts(Pattern),
    /// The texts become one value, with commas between.
    List(Pattern),
    Choice(&'static [&'static str]),
    Whole {
        least: u64,
        most: u64,
    },
    /// A number that is not negative.
    Number,
    Flag,
}

/// The most texts of a field.
pub(crate) const MOST_TEXTS: usize = 64;

/// Texts that a field takes: a regular expression and a length that schemas and checks share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern {
    pub(crate) form: &'static str,
    /// Characters of the longest one.
    pub(crate) longest: usize,
}

impl Pattern {
    pub(crate) fn fits(self, text: &str) -> bool {
        text.chars().count() <= self.longest
            && Regex::new(self.form).is_ok_and(|form| form.is_match(text))
    }
}

/// A kernel's name, mangled or not, or a pattern of names.
const NAME: Pattern =
    Pattern { form: r"^[A-Za-z0-9_$~*?][A-Za-z0-9_$~*?:<>(),.&+ -]*$", longest: 1000 };
/// A number of each dimension, or an expression with parameters.
const EXTENT: Pattern =
    Pattern { form: r"^[A-Za-z0-9${(][A-Za-z0-9${}()+*/%., _-]*$", longest: 200 };
/// An argument cannot name a file of another folder: it has slashes in expressions alone.
const ARGUMENT: Pattern = Pattern {
    form: r"^[A-Za-z0-9]([A-Za-z0-9_:\[\]{}()=.,+$* -]|\$\{[A-Za-z0-9_()+*/%., -]+\})*$",
    longest: 1000,
};
const ASSIGNMENT: Pattern =
    Pattern { form: r"^[A-Za-z_][A-Za-z0-9_.]*=[-+]?[0-9][0-9A-Za-z.+-]*$", longest: 140 };
const DEFINE: Pattern =
    Pattern { form: r"^[A-Za-z_][A-Za-z0-9_]*(=[A-Za-z0-9_.+:<>(), -]*)?$", longest: 300 };
const TARGET: Pattern = Pattern { form: r"^(sm|compute)_[0-9][0-9][0-9]?[a-z]?$", longest: 12 };
/// GPUs have no dots in their names, so none is a file.
pub(crate) const GPU: Pattern = Pattern { form: r"^[a-z0-9][a-z0-9-]*$", longest: 60 };
const MODEL: Pattern = Pattern { form: r"^[a-z][a-z0-9-]*$", longest: 60 };
const METRIC: Pattern = Pattern { form: r"^[A-Za-z0-9_*?][A-Za-z0-9_.*?]*$", longest: 150 };
const CHANGE: Pattern = Pattern { form: r"^[a-z][a-z0-9-]*(=[0-9][0-9.e]*%?)?$", longest: 80 };
const BUFFER: Pattern = Pattern { form: r"^[A-Za-z_][A-Za-z0-9_.-]*$", longest: 100 };
const RANGE: Pattern = Pattern { form: r"^(all|[0-9][0-9,-]*)$", longest: 100 };
const CLOCKS: Pattern = Pattern { form: r"^[0-9_]*\.\.[0-9_]*$", longest: 30 };
/// A kernel of the corpus: no dots and no slashes, so that it is no file.
pub(crate) const CORPUS: Pattern = Pattern { form: r"^[a-z][a-z0-9-]*$", longest: 60 };
/// A code, a metric, a field, a word of the glossary.
pub(crate) const WORD: Pattern =
    Pattern { form: r"^[A-Za-z0-9_][A-Za-z0-9_. +:-]*$", longest: 150 };

macro_rules! fields {
    ($($name:literal as $option:literal, $form:expr, $meaning:literal;)+) => {
        &[$(Field { name: $name, option: $option, form: $form, meaning: $meaning }),+]
    };
}

const COMPILED: &[Field] = fields! {
    "kernel" as "kernel", Form::Text(NAME), "The kernel: its name, mangled or not, or a part that only one kernel has. Needed if the source has several.";
    "defines" as "define", Form::Texts(DEFINE), "Macros for the CUDA compiler: N=1024.";
    "std" as "std", Form::Choice(&["c++11", "c++14", "c++17", "c++20"]), "The version of C++.";
};

const LAUNCHED: &[Field] = fields! {
    "grid" as "grid", Form::Text(EXTENT), "CTAs of the grid: 1024 or 64,64,1.";
    "block" as "block", Form::Text(EXTENT), "Threads of a CTA: 256 or 16,16.";
    "shared_bytes" as "shared-bytes", Form::Whole { least: 0, most: 1 << 20 }, "Dynamic shared memory in bytes.";
    "args" as "arg", Form::Texts(ARGUMENT), "The kernel's arguments in order: u32:7, f32:1.5, buf:f32[1024], buf:f32[1024]=uniform(-1,1,7), =zero, =iota, =constant(2).";
    "params" as "param", Form::Texts(ASSIGNMENT), "Values for [parameters] of a launch file: n=4096.";
};

const OF_KERNEL: &[Field] = fields! {
    "cluster" as "cluster", Form::Text(EXTENT), "CTAs of a cluster: 2 or 2,1,1.";
    "arch" as "arch", Form::Text(TARGET), "The architecture that CUDA is compiled for, such as sm_90.";
    "size" as "size", Form::Choice(&["small", "paper"]), "The problem size of a corpus kernel.";
};

const COUNTED: &[Field] = fields! {
    "l2" as "l2", Form::Choice(&["cold", "keep", "warm", "repeated", "overwritten"]), "The contents of the L2 before the launch: cold as Nsight Compute measures, keep as in a program.";
    "counting" as "counting", Form::Choice(&["auto", "classes", "slice", "sample", "full"]), "How much of the launch is executed to count it.";
};

const OF_GPUS: &[Field] = fields! {
    "gpu" as "gpu", Form::List(GPU), "GPUs by name: h100-sxm, a100, rtx-4090. The resource gpucast://gpus lists them.";
};

const OF_GPU: &[Field] = fields! {
    "gpu" as "gpu", Form::Text(GPU), "The GPU by name: h100-sxm. The resource gpucast://gpus lists them.";
};

const CHECKED: &[Field] = fields! {
    "checks" as "check", Form::Choice(&["all", "memory", "race", "init", "sync"]), "What is looked for; all by default.";
};

const PROFILED: &[Field] = fields! {
    "metrics" as "metrics", Form::List(METRIC), "Metrics by the names of nvprof or Nsight Compute, or patterns: flop_count_*, dram__bytes.sum. All by default.";
    "by" as "by", Form::Choice(&["launch", "line", "stage", "branch", "access"]), "What a row stands for.";
    "stalls" as "stalls", Form::Flag, "With by = line: where warps spend their time.";
};

const PREDICTED: &[Field] = fields! {
    "model" as "model", Form::List(MODEL), "Models by name, or all. By default the one that fits the GPU best.";
    "what_if" as "what-if", Form::List(CHANGE), "Predict as if something were different: no-bank-conflicts, perfect-coalescing, occupancy=50%, tensor-cores.";
};

const JUDGED: &[Field] = fields! {
    "reference_kernel" as "reference-kernel", Form::Text(NAME), "The reference's kernel, if not that of `kernel`.";
    "reference_grid" as "reference-grid", Form::Text(EXTENT), "CTAs of the reference's grid, if not those of `grid`.";
    "reference_block" as "reference-block", Form::Text(EXTENT), "Threads of the reference's CTAs, if not those of `block`.";
    "seeds" as "seeds", Form::Whole { least: 1, most: 100 }, "Runs with different inputs; 3 by default.";
    "given_size_only" as "given-size-only", Form::Flag, "Do not try sizes beside the given one.";
    "results" as "result", Form::Texts(BUFFER), "Buffers that are results; by default those that the reference writes. Those of modules are arg0, arg1, …";
    "rtol" as "rtol", Form::Number, "The relative tolerance of floating-point results.";
    "atol" as "atol", Form::Number, "The absolute tolerance of floating-point results.";
};

const TRACED: &[Field] = fields! {
    "sms" as "sms", Form::Text(RANGE), "The simulated SMs that are shown: all, or 0,2-3.";
    "ctas" as "ctas", Form::Text(RANGE), "The CTAs of each SM that are shown: all, or 0,5-7.";
    "clocks" as "clocks", Form::Text(CLOCKS), "The clocks that are shown: 1000..5000.";
};

/// The most bytes that a CTA of a timeline takes: more than this is nothing for a message.
const BYTES_OF_CTA: &str = "--limit=1MB";

/// All tools.
pub static TOOLS: [Tool; 9] = [
    Tool {
        name: "compile",
        title: "Does it compile?",
        description: "Compile CUDA or parse PTX, and say what each kernel needs: registers, shared \
                      memory, parameters, instructions. Nothing runs. `document.files[].errors` has \
                      each error with its line.",
        command: "check",
        subject: Subject::Module,
        result: Document::StandardOutput,
        fixed: &[],
        fields: &[COMPILED],
    },
    Tool {
        name: "check",
        title: "Is it safe?",
        description: "Run a kernel under checks like compute-sanitizer's: accesses out of bounds, \
                      data races, reads of memory that nothing has written, barriers that not all \
                      threads reach. `document.launches[].findings` names line, thread and address.",
        command: "run",
        subject: Subject::Kernel,
        result: Document::StandardOutput,
        fixed: &[],
        fields: &[CHECKED, COMPILED, LAUNCHED, OF_KERNEL],
    },
    Tool {
        name: "run",
        title: "Does it run to its end?",
        description: "Execute a kernel on the CPU. With a launch file that has [[expect]] entries, \
                      compare its results: `document.expectations[].mismatches`. What printf \
                      prints is in `printed`.",
        command: "run",
        subject: Subject::Kernel,
        result: Document::StandardOutput,
        fixed: &[],
        fields: &[COMPILED, LAUNCHED, OF_KERNEL],
    },
    Tool {
        name: "profile",
        title: "What does it do?",
        description: "Count what a hardware profiler would count, by the names of nvprof and Nsight \
                      Compute, for a launch or each line. Each figure has a kind: exact, modelled \
                      or estimated.",
        command: "profile",
        subject: Subject::Kernel,
        result: Document::StandardOutput,
        fixed: &[],
        fields: &[PROFILED, OF_GPU, COMPILED, LAUNCHED, OF_KERNEL, COUNTED],
    },
    Tool {
        name: "predict",
        title: "How fast is it?",
        description: "Predict the time on GPUs that are not there, with an interval that four of \
                      five measured kernels keep to. Times whose intervals overlap are ties.",
        command: "predict",
        subject: Subject::Kernel,
        result: Document::StandardOutput,
        fixed: &[],
        fields: &[OF_GPUS, PREDICTED, COMPILED, LAUNCHED, OF_KERNEL, COUNTED],
    },
    Tool {
        name: "advise",
        title: "What should change?",
        description: "Say what is slow, in which line, why, and what to change, with the gain of \
                      each change by predicting again. `document.advice[].items` is in order of \
                      gain; `explain` tells more of each rule.",
        command: "advise",
        subject: Subject::Kernel,
        result: Document::StandardOutput,
        fixed: &[],
        fields: &[OF_GPUS, COMPILED, LAUNCHED, OF_KERNEL, COUNTED],
    },
    Tool {
        name: "judge",
        title: "Is it better than the reference?",
        description: "Run a candidate beside a reference on several inputs and sizes, under all \
                      checks, compare results and work, and predict both times. \
                      `document.verdict` is wrong, unsafe, slower, faster or unsure, with evidence. \
                      Without `gpu` no time is predicted.",
        command: "judge",
        subject: Subject::Candidate,
        result: Document::StandardOutput,
        fixed: &[],
        fields: &[JUDGED, OF_GPU, COMPILED, LAUNCHED],
    },
    Tool {
        name: "trace",
        title: "Where do its warps wait?",
        description: "Simulate a launch and give a timeline as Chrome's trace events: what each \
                      warp issued, waited for, and for whom. Documents are large; choose few CTAs \
                      and clocks.",
        command: "trace",
        subject: Subject::Kernel,
        result: Document::File("timeline.json"),
        fixed: &["--output=timeline.json", BYTES_OF_CTA],
        fields: &[TRACED, OF_GPU, COMPILED, LAUNCHED, OF_KERNEL],
    },
    Tool {
        name: "explain",
        title: "What does this word mean?",
        description: "Explain a code of an error, warning or finding, a rule of advice, a metric, a \
                      field of a GPU, or a word of the glossary.",
        command: "explain",
        subject: Subject::Word,
        result: Document::StandardOutput,
        fixed: &[],
        fields: &[],
    },
];

/// What the classroom's page asks. It is no tool for programs and agents, who have those above.
pub(crate) static CLASSROOM: Tool = Tool {
    name: "classroom",
    title: "What does the classroom's page ask?",
    description: "A question of the page, which has a form of its own.",
    command: "classroom",
    subject: Subject::Question,
    result: Document::StandardOutput,
    fixed: &[],
    fields: &[],
};

impl Tool {
    /// A tool by its name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The fields that become options.
    pub(crate) fn options(&self) -> impl Iterator<Item = &'static Field> {
        self.fields.iter().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn arguments_have_slashes_in_expressions_alone() {
        for right in ["u32:7", "buf:f32[${n/2}]=uniform(-1,1,7)", "struct:{u32:5,ptr:arg0}"] {
            assert!(ARGUMENT.fits(right), "{right}");
        }
        for wrong in ["buf:f32[4]=/etc/x.npy", "buf:f32[4]=../x.npy", "u32:7/2", "-u32:7", ""] {
            assert!(!ARGUMENT.fits(wrong), "{wrong}");
        }
    }

    #[test]
    fn every_tool_is_on_the_page() {
        let page = include_str!("../../../docs/sanitiser.md");
        for tool in &TOOLS {
            assert!(page.contains(&format!("| `{}` | ", tool.name)), "{}", tool.name);
        }
    }

    #[test]
    fn no_tool_has_a_field_twice() {
        for tool in &TOOLS {
            let names: Vec<&str> = tool.options().map(|field| field.name).collect();
            let once: BTreeSet<&str> = names.iter().copied().collect();
            assert_eq!(names.len(), once.len(), "{}", tool.name);
        }
    }
}

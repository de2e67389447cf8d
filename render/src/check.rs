//! The findings of `gpucast check` as text: a block for each kernel, or a line where there are
//! many.

use std::collections::BTreeMap;

use gpucast_forecast::input::kernel_name;
use gpucast_forecast::inspection::{
    Cause, File, Kernel, KernelSlice, MachineCode, Memory, Parameter, SlicedInstruction, Treated,
    Unsupported,
};
use gpucast_forecast::number;

use super::table::{Align, aligned, wrapped};

/// Kernels that are described at length; of more, each has a line.
const MOST_DESCRIBED: usize = 12;
/// Column at which the second column begins.
const INDENT: usize = 18;
const WIDTH: usize = 100;

/// Amount of text about each kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A block for each kernel.
    Blocks,
    /// A line for each kernel.
    Lines,
}

impl Form {
    /// Blocks where the kernels were chosen by name or are few.
    pub fn for_files(files: &[File], chosen: bool) -> Self {
        let kernels: usize = files.iter().map(|file| file.kernels.len()).sum();
        if chosen || kernels <= MOST_DESCRIBED { Self::Blocks } else { Self::Lines }
    }
}

/// A file's text; blocks of files are set apart by an empty line.
pub fn text(file: &File, form: Form, is_first: bool) -> String {
    let mut text = String::new();
    if form == Form::Blocks && !is_first {
        text.push('\n');
    }
    text += &format!("{}: {}\n", file.path, heading(file));
    match form {
        Form::Blocks => {
            for kernel in &file.kernels {
                text.push('\n');
                text += &block(kernel);
            }
        }
        Form::Lines => {
            text += &lines(&file.kernels);
            let all = file.kernels.iter().flat_map(|kernel| &kernel.unsupported);
            for sentence in unsupported(all) {
                text += &labelled("not executed", &sentence);
            }
        }
    }
    for machine in &file.machine_code {
        let named = machine.kernels.iter().map(|kernel| (kernel.name.as_str(), &kernel.facts));
        text += &format!("\nmachine code for {}\n", machine.target);
        text += &machine_table("kernel", named);
    }
    text
}

fn heading(file: &File) -> String {
    if let Some(reason) = file.skipped {
        return format!("skipped: {reason}");
    }
    let mut parts = Vec::new();
    if let (Some(isa), Some(target), Some(bits)) = (&file.isa, &file.target, file.address_bits) {
        parts.push(format!("PTX ISA {isa} for {target}, {bits}-bit addresses"));
    }
    match (file.kernels.len(), file.errors.len()) {
        (0, 0) => parts.push("no kernels".to_owned()),
        (0, 1) => parts.push("1 error".to_owned()),
        (0, errors) => parts.push(format!("{errors} errors")),
        (kernels, errors) => {
            let plural = if kernels == 1 { "" } else { "s" };
            parts.push(format!("{kernels} kernel{plural}"));
            if errors > 0 {
                parts.push(format!("{errors} error{}", if errors == 1 { "" } else { "s" }));
            }
        }
    }
    parts.join(", ")
}

fn verdict(kernel: &Kernel) -> String {
    match (kernel.executable, kernel.unsupported.len()) {
        (true, _) => "can be executed".to_owned(),
        (false, number) => format!("in part executable, {number} unsupported"),
    }
}

/// A row for each kernel.
fn lines(kernels: &[Kernel]) -> String {
    let row = |kernel: &Kernel| {
        vec![
            number::count(kernel.instructions as u64),
            verdict(kernel),
            kernel_name::shortened(kernel.demangled.as_ref().unwrap_or(&kernel.name)),
        ]
    };
    let rows: Vec<Vec<String>> = kernels.iter().map(row).collect();
    aligned(2, &[Align::Right, Align::Left, Align::Left], &rows)
}

fn block(kernel: &Kernel) -> String {
    let mut text = format!("{}: {}\n", kernel_name::shortened(&kernel.name), verdict(kernel));
    let mut say = |what: &str, sentence: &str| {
        if !sentence.is_empty() {
            text += &labelled(what, sentence);
        }
    };
    let demangled = kernel.demangled.as_deref().map(kernel_name::shortened);
    say("demangled", &demangled.unwrap_or_default());
    say("instructions", &instructions(kernel));
    for sentence in unsupported(&kernel.unsupported) {
        say("not executed", &sentence);
    }
    let needs = &kernel.needs;
    say(
        "needs",
        &format!(
            "PTX ISA {}{}, {}{}",
            needs.isa,
            because(needs.isa_because.as_ref()),
            needs.target,
            because(needs.target_because.as_ref())
        ),
    );
    say("registers", &counts(&kernel.registers, |name| format!(".{name}")));
    say("memory", &memory(&kernel.memory));
    say("parameters", &parameters(kernel));
    say("directives", &kernel.directives.join("; "));
    say("calls", &calls(kernel));
    let facts = kernel.machine_code.iter().map(|facts| (facts.target.as_str(), facts));
    text += &machine_table("machine code", facts);
    text += &kernel.slice.as_ref().map_or(String::new(), slice);
    text
}

/// A row for each instruction of a slice, under a summary.
fn slice(slice: &KernelSlice) -> String {
    if let Some(reason) = slice.not_sliced_because {
        return labelled("slice", &format!("counting executes everything: {reason}"));
    }
    let count = |treated: Treated| {
        slice.instructions.iter().filter(|instruction| instruction.treatment == treated).count()
    };
    let part = |&(treated, word): &(Treated, &str)| match count(treated) {
        0 => None,
        number => Some(format!("{} {word}", number::count(number as u64))),
    };
    let parts: Vec<String> = Treated::WORDS.iter().filter_map(part).collect();
    let mut text = labelled("slice", &parts.join(", "));
    let contents = match slice.needs_contents_of.as_slice() {
        [] => "no buffer".to_owned(),
        names => names.join(", "),
    };
    text += &labelled("needs contents", &contents);
    let row = |one: &SlicedInstruction| {
        let root = one.root.as_ref();
        vec![
            one.line.to_string(),
            one.treatment.word().to_owned(),
            root.map_or(String::new(), |root| format!("for {} in line {}", root.opcode, root.line)),
            one.instruction.clone(),
        ]
    };
    let rows: Vec<Vec<String>> = slice.instructions.iter().map(row).collect();
    text + &aligned(2, &[Align::Right, Align::Left, Align::Left, Align::Left], &rows)
}

/// A sentence behind its subject.
fn labelled(what: &str, sentence: &str) -> String {
    wrapped(&format!("{what:<width$}", width = INDENT - 2), INDENT, WIDTH, sentence)
}

fn instructions(kernel: &Kernel) -> String {
    let mix = counts(&kernel.mix, |name| name.replace('_', " "));
    let all: u64 = kernel.mix.values().sum();
    let own = kernel.instructions as u64;
    let own = match all == own {
        true => String::new(),
        false => format!(" ({} of the kernel itself)", number::count(own)),
    };
    format!("{}{own}: {mix}", number::count(all))
}

/// The most frequent first.
fn counts(counts: &BTreeMap<&'static str, u64>, name: impl Fn(&str) -> String) -> String {
    let mut rows: Vec<_> = counts.iter().collect();
    rows.sort_by_key(|&(_, &count)| std::cmp::Reverse(count));
    let row = |(key, count): (&&str, &u64)| format!("{} {}", number::count(*count), name(key));
    rows.into_iter().map(row).collect::<Vec<_>>().join(", ")
}

/// Lists the instructions that cannot be executed, once for each instruction and reason.
fn unsupported<'a>(all: impl IntoIterator<Item = &'a Unsupported>) -> Vec<String> {
    let mut groups: Vec<(&Unsupported, usize)> = Vec::new();
    for one in all {
        let same = |group: &&mut (&Unsupported, usize)| {
            group.0.instruction == one.instruction && group.0.reason == one.reason
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.1 += 1,
            None => groups.push((one, 1)),
        }
    }
    let sentence = |(first, times): (&Unsupported, usize)| {
        let place = match times {
            1 => format!("line {}", first.line),
            _ => format!("{times} times, first in line {}", first.line),
        };
        match first.instruction.as_str() {
            "" => format!("{} ({place})", first.reason),
            instruction => format!("{instruction}: {} ({place})", first.reason),
        }
    };
    groups.into_iter().map(sentence).collect()
}

fn because(cause: Option<&Cause>) -> String {
    match cause {
        None => String::new(),
        Some(Cause { what, line: Some(line) }) => format!(" ({what} in line {line})"),
        Some(Cause { what, line: None }) => format!(" ({what})"),
    }
}

fn memory(memory: &Memory) -> String {
    let dynamic =
        if memory.dynamic_shared { "dynamic shared memory".to_owned() } else { String::new() };
    let sizes = [
        (memory.shared_bytes, "shared"),
        (memory.local_bytes, "local for a thread"),
        (memory.constant_bytes, "constant"),
        (memory.global_bytes, "global"),
    ];
    let size = |&(bytes, what): &(u64, &str)| {
        (bytes > 0).then(|| format!("{} bytes {what}", number::count(bytes)))
    };
    let parts = sizes.iter().filter_map(size).chain((!dynamic.is_empty()).then_some(dynamic));
    parts.collect::<Vec<_>>().join(", ")
}

fn parameters(kernel: &Kernel) -> String {
    // Compilers put the kernel's name before it, which says nothing here.
    let prefix = format!("{}_", kernel.name);
    let parameter = |one: &Parameter| {
        let name = one.name.strip_prefix(&prefix).unwrap_or(&one.name);
        let elements = one.elements.map_or(String::new(), |count| format!("[{count}]"));
        format!("{name} .{}{elements} at {}", one.ty, one.offset)
    };
    let all: Vec<String> = kernel.parameters.iter().map(parameter).collect();
    if all.is_empty() {
        return String::new();
    }
    format!("{} bytes: {}", number::count(kernel.parameter_bytes), all.join(", "))
}

fn calls(kernel: &Kernel) -> String {
    let mut parts: Vec<String> =
        kernel.functions.iter().map(|name| kernel_name::shortened(name)).collect();
    let external = |name: &String| format!("{} (not in this module)", kernel_name::shortened(name));
    parts.extend(kernel.externals.iter().map(external));
    if kernel.indirect_calls > 0 {
        parts.push(format!("{} through a register", number::count(kernel.indirect_calls)));
    }
    parts.join(", ")
}

/// A row for each machine code, under a heading.
fn machine_table<'a>(
    heading: &str,
    all: impl Iterator<Item = (&'a str, &'a MachineCode)>,
) -> String {
    let mut rows = vec![
        [heading, "registers", "shared", "stack", "local", "constant", "code bytes"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for (name, facts) in all {
        rows.push(vec![
            kernel_name::shortened(name),
            facts.registers_per_thread.to_string(),
            number::count(facts.shared_bytes),
            facts.stack_bytes.map_or_else(|| "?".to_owned(), number::count),
            number::count(facts.local_bytes),
            number::count(facts.constant_bytes),
            number::count(facts.code_bytes),
        ]);
    }
    if rows.len() == 1 {
        return String::new();
    }
    use Align::{Left, Right};
    aligned(2, &[Left, Right, Right, Right, Right, Right, Right], &rows)
}

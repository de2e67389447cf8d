//! One PTX file for each mnemonic, with the expectation beside the code.
//!
//! Where each thread is a case of its own, the kernel may stand in short (`tests/cases`). Or a
//! comment has a line for each case: operands, and the results expected. It names the buffers in
//! the order of the kernel's parameters.
//!
//! ```text
//! // case a s32, b s32 -> d s32         a name and a type for each buffer
//! //   1, 0x7fffffff -> -0x80000000
//! // case a f32 -> d f32 ~1e-6          results with a relative error
//! //   0.25 -> 0.5
//! // case x u32, a u32 -> x u32, d u32  a buffer before and after the launch
//! //   1, 2 -> 3, 1
//! ```
//!
//! Otherwise a line is a buffer:
//!
//! ```text
//! // in a s32: 1, -2, 0x7fffffff        contents before the launch
//! // out d s32: 2, -1, -0x80000000      contents expected after it
//! // launch 64                          threads; the longest buffer's length if left out
//! // launch 64 2                        threads and CTAs
//! ```
//!
//! `GPUCAST_EXPORT=FOLDER cargo test -p gpucast-interpreter --test all -- --ignored exported`
//! writes each kernel with a launch file. `gpucast bench --device 0 FOLDER/…` runs these on a GPU.
//!
//! The expected values were computed with Python's integers and fractions from the text of the
//! PTX manual. Where an H200 contradicts it, they are the H200's. Every file runs twice: as it
//! stands, and with untyped (`.b32`) registers, as newer compilers write them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "helpers of tests are not inside the test functions that the lints spare"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use gpucast_interpreter::{
    Argument, DeviceMemory, Launch, NoObserver, Options, Program, Silent, run,
};
use gpucast_ptx_frontend::isa::{Form, Opcode, forms};

/// A buffer of a kernel: its contents before and after the launch.
#[derive(Default)]
struct Buffer {
    name: String,
    ty: String,
    before: Option<Vec<String>>,
    after: Option<Vec<String>>,
    tolerance: f64,
}

/// A kernel and what its comment says.
#[derive(Default)]
struct Case {
    kernel: String,
    buffers: Vec<Buffer>,
    threads: Option<u32>,
    ctas: Option<u32>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions")
}

/// The list that the next lines continue.
enum Continued {
    /// Values of the buffer at this place, after the launch or before it.
    Values { at: usize, out: bool },
    /// Cases, a line each: the first buffers are operands; the places of results.
    Cases { operands: usize, results: Vec<usize> },
}

/// The comments of a file, and what kernel follows each.
fn cases(text: &str) -> Vec<Case> {
    let mut cases = Vec::new();
    let mut case = Case::default();
    let mut continued: Option<Continued> = None;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("// launch ") {
            let mut numbers = rest.split_whitespace().map(|n| n.parse().expect("a number"));
            case.threads = numbers.next();
            case.ctas = numbers.next();
        } else if let Some(rest) = line.strip_prefix("// case ") {
            let (operands, results) = rest.split_once("->").expect("results behind an arrow");
            assert!(case.buffers.is_empty(), "cases name all buffers: {line}");
            case.buffers = operands.split(',').map(buffer).collect();
            let operands = case.buffers.len();
            let results = results.split(',').map(buffer);
            let results = results.map(|result| place(&mut case.buffers, result)).collect();
            continued = Some(Continued::Cases { operands, results });
        } else if let Some((out, rest)) = line
            .strip_prefix("// in ")
            .map(|rest| (false, rest))
            .or_else(|| line.strip_prefix("// out ").map(|rest| (true, rest)))
        {
            let (head, values) = rest.split_once(':').expect("a colon after the type");
            let new = buffer(head);
            let at = place(&mut case.buffers, new);
            let list = if out { &mut case.buffers[at].after } else { &mut case.buffers[at].before };
            *list = Some(Vec::new());
            append(list, values);
            continued = Some(Continued::Values { at, out });
        } else if let Some(values) = line.strip_prefix("//   ") {
            match &continued {
                None => {}
                Some(Continued::Values { at, out }) => {
                    let buffer = &mut case.buffers[*at];
                    append(if *out { &mut buffer.after } else { &mut buffer.before }, values);
                }
                Some(Continued::Cases { operands, results }) => {
                    add_case(&mut case.buffers, *operands, results, values);
                }
            }
        } else if let Some(rest) = line.strip_prefix(".visible .entry ") {
            case.kernel = rest.split('(').next().unwrap().trim().to_owned();
            cases.push(std::mem::take(&mut case));
            continued = None;
        }
    }
    cases
}

/// A buffer of `NAME TYPE` or `NAME TYPE ~ERROR`.
fn buffer(head: &str) -> Buffer {
    let mut words = head.split_whitespace();
    let name = words.next().expect("a name").to_owned();
    let ty = words.next().expect("a type").to_owned();
    let tolerance = words.next().map_or(0.0, |word| word[1..].parse().unwrap());
    Buffer { name, ty, tolerance, ..Buffer::default() }
}

/// The place of a buffer, which is added unless one of its name is there.
fn place(buffers: &mut Vec<Buffer>, new: Buffer) -> usize {
    buffers.iter().position(|buffer| buffer.name == new.name).unwrap_or_else(|| {
        buffers.push(new);
        buffers.len() - 1
    })
}

/// Adds `OPERAND, … -> RESULT, …` to the buffers.
fn add_case(buffers: &mut [Buffer], operands: usize, results: &[usize], line: &str) {
    let (before, after) = line.split_once("->").expect("results behind an arrow");
    let values = |text: &str| text.split(',').map(|v| v.trim().to_owned()).collect::<Vec<_>>();
    let (before, after) = (values(before), values(after));
    assert_eq!((operands, results.len()), (before.len(), after.len()), "a value each: {line}");
    for (buffer, value) in buffers.iter_mut().zip(before) {
        buffer.before.get_or_insert_default().push(value);
    }
    for (&at, value) in results.iter().zip(after) {
        buffers[at].after.get_or_insert_default().push(value);
    }
}

fn append(list: &mut Option<Vec<String>>, values: &str) {
    let values = values.split(',').map(str::trim).filter(|value| !value.is_empty());
    list.get_or_insert_default().extend(values.map(str::to_owned));
}

fn width(ty: &str) -> usize {
    ty.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<usize>().map_or(2, |bits| bits / 8)
}

/// The little-endian bytes of a value as written.
fn bytes(ty: &str, value: &str) -> Vec<u8> {
    match ty {
        "f32" => value.parse::<f32>().unwrap().to_bits().to_le_bytes().to_vec(),
        "f64" => value.parse::<f64>().unwrap().to_bits().to_le_bytes().to_vec(),
        _ => {
            let (negative, digits) = match value.strip_prefix('-') {
                Some(digits) => (true, digits),
                None => (false, value),
            };
            let magnitude = match digits.strip_prefix("0x") {
                Some(hex) => u128::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            let magnitude =
                magnitude.unwrap_or_else(|_| panic!("`{value}` is not a value of type {ty}"));
            let bits = if negative { magnitude.wrapping_neg() } else { magnitude };
            bits.to_le_bytes()[..width(ty)].to_vec()
        }
    }
}

fn float(ty: &str, bytes: &[u8]) -> f64 {
    match ty {
        "f32" => f64::from(f32::from_le_bytes(bytes.try_into().unwrap())),
        _ => f64::from_le_bytes(bytes.try_into().unwrap()),
    }
}

fn agrees(buffer: &Buffer, wanted: &str, got: &[u8]) -> bool {
    if !buffer.ty.starts_with('f') {
        return bytes(&buffer.ty, wanted) == got;
    }
    if bytes(&buffer.ty, wanted) == got {
        return true;
    }
    let (wanted, got) = (wanted.parse::<f64>().unwrap(), float(&buffer.ty, got));
    let close = buffer.tolerance * wanted.abs();
    (wanted.is_nan() && got.is_nan()) || (wanted - got).abs() <= close && wanted.is_finite()
}

/// Run every kernel of a text and return what differs from its comment.
fn check(file: &str, text: &str, used: &mut Vec<(Opcode, u16)>) -> Vec<String> {
    let module = gpucast_ptx_frontend::load(text).unwrap_or_else(|problems| {
        panic!("{file}: {:?}", problems.iter().map(|p| &p.message).collect::<Vec<_>>())
    });
    let mut problems = Vec::new();
    for case in cases(text) {
        let program = match Program::new(&module, text, &case.kernel) {
            Ok(program) => program,
            Err(error) => {
                problems.push(format!("{file}, {}: {error}", case.kernel));
                continue;
            }
        };
        used.extend(
            program.instructions().iter().map(|i| (i.instruction.opcode, i.instruction.form.0)),
        );
        let mut memory = DeviceMemory::new();
        let mut arguments = Vec::new();
        let mut longest = 0;
        for buffer in &case.buffers {
            let values = buffer.before.as_ref().or(buffer.after.as_ref()).unwrap();
            longest = longest.max(values.len());
            let address =
                memory.allocate(&buffer.name, (values.len() * width(&buffer.ty)) as u64).unwrap();
            arguments.push(Argument::Address(address));
            if let Some(values) = &buffer.before {
                let contents: Vec<u8> =
                    values.iter().flat_map(|value| bytes(&buffer.ty, value)).collect();
                memory.bytes_mut(&buffer.name).unwrap().copy_from_slice(&contents);
            }
        }
        let launch = Launch {
            grid: [case.ctas.unwrap_or(1), 1, 1],
            block: [case.threads.unwrap_or(longest as u32), 1, 1],
            cluster: None,
            dynamic_shared_bytes: 0,
            arguments,
        };
        let options = Options { instruction_budget: 1 << 20, ..Options::default() };
        if let Err(error) = run(&program, &launch, &mut memory, &mut NoObserver, &options, &Silent)
        {
            problems.push(format!("{file}, {}: {error}", case.kernel));
            continue;
        }
        for buffer in &case.buffers {
            let Some(after) = &buffer.after else { continue };
            let got = memory.bytes(&buffer.name).unwrap().chunks(width(&buffer.ty));
            for (index, (wanted, got)) in after.iter().zip(got).enumerate() {
                if !agrees(buffer, wanted, got) {
                    let inputs: Vec<_> = case
                        .buffers
                        .iter()
                        .filter_map(|b| {
                            Some(format!("{} = {}", b.name, b.before.as_ref()?.get(index)?))
                        })
                        .collect();
                    let shown: String = got.iter().rev().map(|b| format!("{b:02x}")).collect();
                    problems.push(format!(
                        "{file}, {}: {}[{index}] is 0x{shown}, not {wanted} ({})",
                        case.kernel,
                        buffer.name,
                        inputs.join(", ")
                    ));
                    break;
                }
            }
        }
    }
    problems
}

/// The text with registers as newer compilers declare them.
fn untyped(text: &str) -> String {
    let mut text = text.to_owned();
    for kind in ["s", "u", "f"] {
        for bits in [16, 32, 64] {
            text = text.replace(&format!(".reg .{kind}{bits}"), &format!(".reg .b{bits}"));
        }
    }
    text
}

/// Files by stem.
fn files() -> Vec<(String, String)> {
    let mut files: Vec<_> = std::fs::read_dir(directory())
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (stem, crate::cases::expanded(&std::fs::read_to_string(path).unwrap()))
        })
        .collect();
    files.sort();
    files
}

#[test]
fn instructions_do_what_their_files_say() {
    let mut used = Vec::new();
    let mut problems = Vec::new();
    for (file, text) in files() {
        problems.extend(check(&file, &text, &mut used));
        let text = untyped(&text);
        problems.extend(check(&format!("{file} with untyped registers"), &text, &mut Vec::new()));
    }
    let forms: BTreeSet<u16> = used.iter().map(|&(_, form)| form).collect();
    println!("{} forms of the instruction table are exercised", forms.len());
    assert!(problems.is_empty(), "{} problems:\n{}", problems.len(), problems.join("\n"));
}

/// Mnemonics that the lowering refuses. Whoever teaches it one takes it off this list and writes
/// its file.
const NOT_EXECUTED: &[&str] = &[
    "cp.async.bulk.tensor",
    "cp.async.bulk.prefetch.tensor",
    "cp.reduce.async.bulk.tensor",
    "tensormap.",
    "tex",
    "tld4",
    "txq",
    "istypep",
    "suld",
    "sust",
    "sured",
    "suq",
    "tcgen05.",
    "fabric.",
    "applypriority.async.bulk.tensor",
];

#[test]
fn every_executed_mnemonic_has_a_file_that_uses_it() {
    let files = files();
    for &opcode in Opcode::ALL {
        let text = opcode.text();
        if NOT_EXECUTED.iter().any(|prefix| text.starts_with(prefix)) {
            continue;
        }
        let (_, contents) = files
            .iter()
            .find(|(stem, _)| *stem == text.replace("::", "--"))
            .unwrap_or_else(|| panic!("{text} has no file in tests/instructions"));
        let module = gpucast_ptx_frontend::load(contents).unwrap();
        let uses =
            module.functions.iter().filter_map(|f| f.body.as_ref()).any(|body| {
                body.instructions.iter().any(|instruction| instruction.opcode == opcode)
            });
        assert!(uses, "{text}.ptx never uses {text}");
    }
}

/// Rows whose every form is executed somewhere else, or by nobody.
fn is_tested_elsewhere(form: &Form) -> bool {
    // `tests/matrices` executes every row of these.
    let matrix = ["wmma.", "wgmma.mma", "mma", "ldmatrix", "stmatrix", "movmatrix"];
    let text = form.opcode.text();
    matrix.iter().any(|prefix| text.starts_with(prefix))
        || NOT_EXECUTED.iter().any(|prefix| text.starts_with(prefix))
}

#[test]
fn every_executed_row_has_a_kernel() {
    let mut used = Vec::new();
    for (file, text) in files() {
        check(&file, &text, &mut used);
    }
    let used: BTreeSet<u16> = used.iter().map(|&(_, form)| form).collect();
    let rows = forms().iter().enumerate();
    let unused: Vec<&str> = rows
        .filter(|(index, form)| !used.contains(&(*index as u16)) && !is_tested_elsewhere(form))
        .map(|(_, form)| form.text)
        .collect();
    assert!(unused.is_empty(), "no kernel uses\n{}", unused.join("\n"));
}

/// The text of each kernel with what it needs of its file, by name.
fn alone(text: &str) -> Vec<(String, String)> {
    let (mut shared, mut kernels, mut kernel) = (String::new(), Vec::new(), None::<String>);
    for line in text.lines() {
        if line.starts_with("//") {
            continue;
        }
        if line.starts_with(".visible .entry ") {
            kernel = Some(String::new());
        }
        let place = kernel.as_mut().unwrap_or(&mut shared);
        place.push_str(line);
        place.push('\n');
        if line.starts_with('}') {
            kernels.extend(kernel.take());
        }
    }
    let name = |kernel: &str| {
        kernel[".visible .entry ".len()..].split('(').next().unwrap().trim().to_owned()
    };
    kernels.iter().map(|kernel| (name(kernel), format!("{shared}{kernel}"))).collect()
}

/// The text for an architecture, if the front end takes it there.
fn for_target(text: &str, target: &str, version: &str) -> Option<String> {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for line in &mut lines {
        if line.starts_with(".target ") {
            *line = format!(".target {target}");
        } else if let Some(said) = line.strip_prefix(".version ") {
            let number = |text: &str| text.trim().parse::<f64>().unwrap();
            *line =
                format!(".version {}", if number(said) > number(version) { version } else { said });
        }
    }
    let text = lines.join("\n") + "\n";
    gpucast_ptx_frontend::load(&text).is_ok().then_some(text)
}

/// The launch file of a case, and the files of its buffers: names and contents. Exact values are
/// compared as bytes.
fn launch_file(case: &Case) -> (String, Vec<(String, Vec<u8>)>) {
    let kernel = &case.kernel;
    let (mut buffers, mut expected, mut files) = (String::new(), String::new(), Vec::new());
    let mut longest = 1;
    for buffer in &case.buffers {
        let Buffer { name, ty, before, after, tolerance } = buffer;
        let count = before.as_ref().or(after.as_ref()).unwrap().len();
        longest = longest.max(count);
        let is_float = ty == "f32" || ty == "f64";
        let (shown, len) = if is_float { (ty.as_str(), count) } else { ("u8", count * width(ty)) };
        buffers += &format!("[buffers.{name}]\ntype = \"{shown}\"\nlen = {len}\n");
        let mut stored = |when: &str, values: &[String]| {
            let file = format!("{kernel}.{name}.{when}.bin");
            files.push((file.clone(), values.iter().flat_map(|value| bytes(ty, value)).collect()));
            file
        };
        if let Some(before) = before {
            buffers += &format!("init = {{ file = {:?} }}\n", stored("before", before));
        }
        if let Some(after) = after {
            let file = stored("after", after);
            expected += &format!("[[expect]]\nbuffer = {name:?}\nfile = {file:?}\n");
            expected += &format!("rtol = {tolerance:e}\natol = 0.0\n");
        }
    }
    let names: Vec<String> =
        case.buffers.iter().map(|buffer| format!("{:?}", buffer.name)).collect();
    let launch = format!(
        "[[launch]]\nkernel = {kernel:?}\ngrid = [{}, 1, 1]\nblock = [{}, 1, 1]\nargs = [{}]\n",
        case.ctas.unwrap_or(1),
        case.threads.unwrap_or(longest as u32),
        names.join(", ")
    );
    (format!("module = \"{kernel}.ptx\"\n{buffers}{launch}{expected}"), files)
}

#[test]
#[ignore = "it writes files for a run on a GPU"]
fn exported() {
    let folder = PathBuf::from(std::env::var("GPUCAST_EXPORT").expect("GPUCAST_EXPORT=FOLDER"));
    let target = std::env::var("GPUCAST_TARGET").unwrap_or("sm_90a".to_owned());
    let version = std::env::var("GPUCAST_PTX_VERSION").unwrap_or("9.0".to_owned());
    let (mut written, mut left) = (0, 0);
    for (stem, text) in files() {
        let folder = folder.join(&stem);
        std::fs::create_dir_all(&folder).unwrap();
        let texts = alone(&text);
        for case in cases(&text) {
            let (_, text) = texts.iter().find(|(name, _)| *name == case.kernel).unwrap();
            let Some(text) = for_target(text, &target, &version) else {
                left += 1;
                continue;
            };
            let (launch, files) = launch_file(&case);
            let write =
                |name: &str, bytes: &[u8]| std::fs::write(folder.join(name), bytes).unwrap();
            write(&format!("{}.ptx", case.kernel), text.as_bytes());
            write(&format!("{}.toml", case.kernel), launch.as_bytes());
            files.iter().for_each(|(name, bytes)| write(name, bytes));
            written += 1;
        }
    }
    println!("{written} kernels are written; {target} has not what {left} others need");
}

//! A complaint about a module without a launch: it lists the kernels with their parameters, and a
//! command to copy.

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::module::{Formal, Function, FunctionKind, Variable};

use super::container::{self, ItemCode};
use super::kernel_name;
use super::module_text::ModuleFile;
use super::options::LaunchOptions;
use crate::failure::Report;

/// Kernels that are listed; large libraries have thousands.
const MOST_LISTED: usize = 12;
/// Elements of the example's buffers, and its sizes.
const ELEMENTS: u64 = 1 << 20;
const BLOCK: u64 = 256;
/// A structure with more bytes than this is not written out.
const LONGEST_BYTES: u64 = 16;

/// The complaint that `missing` options must be given for the module in `path`.
pub(super) fn report(
    path: &str,
    file: &ModuleFile,
    options: &LaunchOptions,
    missing: &[&str],
) -> Report {
    let report =
        Report::new(format!("{path} is a module, so {} must be given", missing.join(" and ")));
    let kernels = kernels(path, file, options.kernel.as_deref());
    let Some(first) = kernels.first() else {
        return report.hint(
            "for example --kernel saxpy --grid 4096 --block 256 --arg u32:1048576 \
             --arg 'buf:f32[1048576]'",
        );
    };
    let listed = kernels.iter().take(MOST_LISTED).map(|kernel| format!("  {}", shown(kernel)));
    let more = kernels.len().saturating_sub(MOST_LISTED);
    let more = (more > 0).then(|| format!("  and {more} more, which `gpucast check` lists"));
    listed.chain(more).fold(report, Report::fact).hint(format!(
        "with your own sizes and types: gpucast predict {} --gpu h100-sxm {}",
        quoted(path),
        example(first, options)
    ))
}

/// A kernel and its parameters.
struct Kernel {
    name: String,
    parameters: Vec<Variable>,
}

/// Returns the kernels of a file, or those that `wanted` means.
fn kernels(path: &str, file: &ModuleFile, wanted: Option<&str>) -> Vec<Kernel> {
    let mut kernels: Vec<Kernel> = Vec::new();
    let mut add = |text: &str| {
        // Containers hold the same kernel for several architectures.
        let is_new =
            |name: &str, kernels: &[Kernel]| kernels.iter().all(|known| known.name != name);
        if kernels.len() >= MOST_LISTED {
            // These are only counted, and the names can be had without parsing.
            for name in kernel_name::kernels(text) {
                if is_new(name, &kernels) {
                    kernels.push(Kernel { name: name.to_owned(), parameters: Vec::new() });
                }
            }
            return;
        }
        // A faulty text is complained about when it is executed.
        let Ok(module) = gpucast_ptx_frontend::load(text) else { return };
        for kernel in of_module(&module) {
            if is_new(&kernel.name, &kernels) {
                kernels.push(kernel);
            }
        }
    };
    match file {
        ModuleFile::Text(source) => add(&source.text),
        ModuleFile::Container { bytes, .. } => {
            // So is a damaged container.
            let _ = container::for_each_item(path, bytes, |item| {
                if let ItemCode::Ptx(Ok(source)) = item.code {
                    add(&source.text);
                }
            });
        }
    }
    let Some(wanted) = wanted else { return kernels };
    let names: Vec<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let meant = kernel_name::meant(wanted, &known);
    kernels.retain(|kernel| meant.contains(&kernel.name.as_str()));
    kernels
}

fn of_module(module: &Module) -> impl Iterator<Item = Kernel> {
    let is_kernel = |one: &&Function| one.kind == FunctionKind::Entry && one.body.is_some();
    module.functions.iter().filter(is_kernel).map(move |function| {
        let variable = |formal: &Formal| match formal {
            Formal::Variable(id) => Some(module.variables[id.index()].clone()),
            Formal::Register(_) => None,
        };
        let parameters = function.params.iter().filter_map(variable).collect();
        Kernel { name: function.name.clone(), parameters }
    })
}

/// A kernel with the types of its parameters.
fn shown(kernel: &Kernel) -> String {
    if kernel_name::demangled(&kernel.name).is_some() {
        return kernel_name::signature(&kernel.name);
    }
    let parameter = |one: &Variable| {
        let name = one.name.strip_prefix(&format!("{}_", kernel.name)).unwrap_or(&one.name);
        let size = if is_scalar(one) { String::new() } else { format!("[{}]", one.size_bytes) };
        format!(".{} {name}{size}", one.ty.text())
    };
    let parameters: Vec<String> = kernel.parameters.iter().map(parameter).collect();
    format!("{}({})", kernel.name, parameters.join(", "))
}

fn is_scalar(parameter: &Variable) -> bool {
    parameter.dimensions.is_empty() && parameter.vector == 1
}

/// The options of a launch of the kernel, with what was given already.
fn example(kernel: &Kernel, options: &LaunchOptions) -> String {
    let shape = |given: Option<[u32; 3]>, otherwise: u64| match given {
        Some([x, 1, 1]) => x.to_string(),
        Some([x, y, z]) => format!("{x},{y},{z}"),
        None => otherwise.to_string(),
    };
    let name = kernel_name::demangled_short(&kernel.name).unwrap_or_else(|| kernel.name.clone());
    let mut words = vec![
        format!("--kernel {}", quoted(&name)),
        format!("--grid {}", shape(options.grid, ELEMENTS / BLOCK)),
        format!("--block {}", shape(options.block, BLOCK)),
    ];
    let arguments = if options.arg.is_empty() { arguments(kernel) } else { options.arg.clone() };
    words.extend(arguments.iter().map(|argument| format!("--arg {}", quoted(argument))));
    words.join(" ")
}

/// An argument for each parameter. The C++ name says which are pointers, and to what; without one
/// every unsigned parameter of 64 bits is taken for a pointer.
fn arguments(kernel: &Kernel) -> Vec<String> {
    let signature = kernel_name::demangled(&kernel.name);
    let types = signature.as_deref().map(parameter_types).unwrap_or_default();
    let argument = |(index, one): (usize, &Variable)| {
        let pointee = match types.get(index).filter(|_| types.len() == kernel.parameters.len()) {
            Some(ty) => ty.contains('*').then(|| element(ty)),
            None => matches!(one.ty.text(), "u64" | "b64").then_some("f32"),
        };
        match (is_scalar(one), pointee, one.ty.text()) {
            (true, Some(element), _) => format!("buf:{element}[{ELEMENTS}]"),
            (true, None, ty @ ("f32" | "f64" | "f16" | "bf16")) => format!("{ty}:1"),
            (true, None, ty) => format!("{}:{ELEMENTS}", ty.replace('b', "u")),
            (false, ..) if one.size_bytes <= LONGEST_BYTES => {
                format!("bytes:0x{}", "00".repeat(one.size_bytes as usize))
            }
            (false, ..) => format!("struct:{{…{} bytes…}}", one.size_bytes),
        }
    };
    kernel.parameters.iter().enumerate().map(argument).collect()
}

/// `float*`, `float const*` and `int` out of `saxpy(float*, float const*, int)`.
fn parameter_types(signature: &str) -> Vec<&str> {
    let Some(inside) = signature.strip_suffix(')').and_then(|text| {
        let mut depth = 0;
        // The parenthesis that the last one closes: template arguments may have their own.
        let open = text.char_indices().rev().find(|&(_, letter)| {
            depth += match letter {
                ')' => 1,
                '(' => -1,
                _ => 0,
            };
            depth < 0
        })?;
        Some(&text[open.0 + 1..])
    }) else {
        return Vec::new();
    };
    let mut types = Vec::new();
    let (mut depth, mut start) = (0_i32, 0);
    for (at, letter) in inside.char_indices() {
        match letter {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                types.push(inside[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = inside[start..].trim();
    if !last.is_empty() {
        types.push(last);
    }
    types
}

/// The type of a buffer whose pointer has this C++ type; `f32` where nothing fits.
fn element(pointer: &str) -> &'static str {
    const ELEMENTS: [(&str, &str); 14] = [
        ("double", "f64"),
        ("unsigned char", "u8"),
        ("unsigned short", "u16"),
        ("unsigned int", "u32"),
        ("unsigned long", "u64"),
        ("signed char", "s8"),
        ("bool", "u8"),
        ("char", "s8"),
        ("short", "s16"),
        ("int", "s32"),
        ("long", "s64"),
        ("__half", "f16"),
        ("__nv_bfloat16", "bf16"),
        ("float", "f32"),
    ];
    let pointee = pointer.split('*').next().unwrap_or_default();
    let known = ELEMENTS.iter().find(|(name, _)| pointee.trim().starts_with(name));
    known.map_or("f32", |&(_, element)| element)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-./:,+=%@".contains(letter);
    match word.chars().all(is_plain) && !word.is_empty() {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::{SourceText, shown as shown_report};

    const TEXT: &str = "\
.version 7.8
.target sm_80
.address_size 64
.visible .entry _Z5scalePdPKffj(
 .param .u64 _Z5scalePdPKffj_param_0, .param .u64 _Z5scalePdPKffj_param_1,
 .param .f32 _Z5scalePdPKffj_param_2, .param .u32 _Z5scalePdPKffj_param_3)
{ ret; }
.visible .entry plain(.param .u64 address, .param .align 4 .b8 pair[8]) { ret; }
";

    #[test]
    fn the_kernels_of_a_module_are_listed_with_a_command_to_copy() {
        let file = ModuleFile::Text(SourceText::new("m.ptx", TEXT));
        let missing = ["--kernel", "--grid", "--block"];
        let all = report("m.ptx", &file, &LaunchOptions::default(), &missing);
        insta::assert_snapshot!(shown_report(&all));
        let given = LaunchOptions {
            kernel: Some("plain".to_owned()),
            grid: Some([8, 2, 1]),
            ..LaunchOptions::default()
        };
        insta::assert_snapshot!(shown_report(&report("m.ptx", &file, &given, &["--block"])));
    }

    #[test]
    fn types_of_parameters_are_told_apart_at_the_outermost_commas() {
        let types = parameter_types("void f<g(int), 2>(pair<int, char>*, float (*)(int, int))");
        assert_eq!(types, ["pair<int, char>*", "float (*)(int, int)"]);
        assert_eq!(parameter_types("f()"), [""; 0]);
        assert_eq!(parameter_types("f"), [""; 0]);
    }

    #[test]
    fn elements_are_those_of_the_pointee() {
        for (pointer, expected) in [
            ("float const*", "f32"),
            ("unsigned char*", "u8"),
            ("unsigned long long*", "u64"),
            ("__half*", "f16"),
            ("float4*", "f32"),
            ("Node*", "f32"),
        ] {
            assert_eq!(element(pointer), expected, "{pointer}");
        }
    }
}

//! Modules without a launch: their kernels with the parameters, and a command to copy.

use std::fmt;
use std::path::{Path, PathBuf};

use gpucast_ptx_frontend::Module;
use gpucast_ptx_frontend::module::{Formal, Function, FunctionKind, Variable};
use gpucast_ptx_frontend::types::StateSpace;

use super::bounded;
use super::container::{self, ItemCode};
use super::cuda_module::Code;
use super::kernel_name;
use super::launch_shape::LaunchShape;
use super::loaded;
use super::module_text::ModuleFile;
use super::options::LaunchOptions;
use crate::cuda_text::{self, Declared};
use crate::failure::{Failure, Report, SourceText};

/// Kernels that are listed; large libraries have thousands.
const MOST_LISTED: usize = 12;
/// A longer header declares no kernel that anybody wants to see here.
const LONGEST_INCLUDED: u64 = 1 << 20;
/// Included files that are looked through for declarations.
const MOST_INCLUDED: usize = 32;

/// A module whose launch is not known.
pub struct Unlaunched {
    pub(crate) path: PathBuf,
    pub(crate) file: ModuleFile,
    pub(crate) options: LaunchOptions,
    pub(crate) missing: Vec<&'static str>,
    /// Names the compiler, if there was one.
    pub(super) note: Option<String>,
    pub(crate) kernels: Vec<Listed>,
    /// Sizes of blocks and tiles that the source names.
    pub(crate) sizes: Vec<u32>,
}

impl fmt::Debug for Unlaunched {
    /// The path: the module may be megabytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unlaunched({})", self.path.display())
    }
}

/// A kernel and its parameters.
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) parameters: Vec<ListedParameter>,
    /// The launches that it is written for.
    pub(crate) shape: LaunchShape,
    /// The block that it is compiled for.
    pub(crate) required_block: Option<[u32; 3]>,
    /// The most threads of a block that it is compiled for.
    pub(crate) most_threads: Option<u32>,
    /// True if it has shared memory of a size that the launch gives.
    pub(crate) has_dynamic_shared: bool,
}

/// A parameter, with what PTX and C++ know of it.
pub(crate) struct ListedParameter {
    pub(crate) variable: Variable,
    /// The C++ type, where it is known.
    pub(crate) ty: Option<String>,
    /// The name in the source; empty if it is not known.
    pub(crate) name: String,
}

impl Unlaunched {
    /// A module that lacks options of a launch.
    ///
    /// # Errors
    ///
    /// A file without kernels, and everything that is wrong with its text.
    pub(super) fn new(
        path: &Path,
        code: Code,
        source: Option<&SourceText>,
        options: &LaunchOptions,
        missing: Vec<&'static str>,
    ) -> Result<Self, Failure> {
        let Code { file, note } = code;
        let texts = source.map(|source| with_included(source, options)).unwrap_or_default();
        let declared: Vec<Declared> =
            texts.iter().flat_map(|text| cuda_text::declared(text)).collect();
        let mut sizes: Vec<u32> =
            texts.iter().flat_map(|text| cuda_text::block_sizes(text)).collect();
        sizes.dedup();
        let kernels = kernels(path, &file, options.kernel.as_deref(), &declared)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            options: options.clone(),
            missing,
            note,
            kernels,
            sizes,
        })
    }

    /// The file, as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if there is one kernel only that may be meant.
    pub fn has_one_kernel(&self) -> bool {
        self.kernels.len() == 1
    }

    /// The kernels with names and types of their parameters, one line each.
    pub fn listing(&self) -> Vec<String> {
        let listed = self.kernels.iter().take(MOST_LISTED).map(shown);
        let more = self.kernels.len().saturating_sub(MOST_LISTED);
        let more = (more > 0).then(|| format!("and {more} more, which `gpucast check` lists"));
        listed.chain(more).collect()
    }

    /// The complaint, with the kernels.
    pub fn report(&self) -> Report {
        let message = format!(
            "{} is a module, so {} must be given",
            self.path.display(),
            self.missing.join(" and ")
        );
        let lines = self.listing().into_iter().map(|line| format!("  {line}"));
        lines.fold(Report::new(message), Report::fact)
    }
}

/// The text of a source, and those of the files beside it that it includes.
fn with_included(source: &SourceText, options: &LaunchOptions) -> Vec<String> {
    let own = Path::new(&*source.name).parent().unwrap_or(Path::new("")).to_owned();
    let folders: Vec<PathBuf> =
        std::iter::once(own).chain(options.cuda.includes.iter().cloned()).collect();
    let mut texts = vec![source.text.to_string()];
    let mut names: Vec<String> = Vec::new();
    let mut at = 0;
    while at < texts.len() && texts.len() <= MOST_INCLUDED {
        let included: Vec<String> = cuda_text::includes(&texts[at])
            .into_iter()
            .filter(|(_, in_quotes)| *in_quotes)
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in included.into_iter().take(MOST_INCLUDED) {
            let path = folders.iter().map(|folder| folder.join(&name)).find(|path| path.is_file());
            let text = path.and_then(|path| bounded::read(&path, LONGEST_INCLUDED).ok());
            let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
            if let (Some(text), false) = (text, names.contains(&name)) {
                names.push(name);
                texts.push(text);
            }
        }
        at += 1;
    }
    texts
}

/// Returns the kernels of a file, or those that `wanted` means.
fn kernels(
    path: &Path,
    file: &ModuleFile,
    wanted: Option<&str>,
    declared: &[Declared],
) -> Result<Vec<Listed>, Failure> {
    let mut kernels: Vec<Listed> = Vec::new();
    let mut faults: Vec<Report> = Vec::new();
    let mut add = |source: &SourceText| {
        // Containers hold the same kernel for several architectures.
        let is_new =
            |name: &str, kernels: &[Listed]| kernels.iter().all(|known| known.name != name);
        if kernels.len() >= MOST_LISTED {
            // These are only counted, and the names can be had without parsing.
            for name in kernel_name::kernels(&source.text) {
                if is_new(name, &kernels) {
                    kernels.push(Listed::unknown(name));
                }
            }
            return;
        }
        match loaded::load(source) {
            Ok(loaded) => {
                for kernel in of_module(&loaded.module, declared) {
                    if is_new(&kernel.name, &kernels) {
                        kernels.push(kernel);
                    }
                }
            }
            Err(reports) => faults.extend(reports),
        }
    };
    let name = match file {
        ModuleFile::Text(source) => {
            add(source);
            source.name.to_string()
        }
        ModuleFile::Container { name, bytes } => {
            let mut refusal = None;
            container::for_each_item(&path.display().to_string(), bytes, |item| match item.code {
                ItemCode::Ptx(Ok(source)) => add(&source),
                ItemCode::Ptx(Err(report)) | ItemCode::Machine(report) => refusal = Some(report),
                ItemCode::LtoIr => {}
            })?;
            faults.extend(refusal);
            name.clone()
        }
    };
    if kernels.is_empty() && !faults.is_empty() {
        return Err(faults.into());
    }
    if kernels.is_empty() {
        return Err(Report::new(format!("{name} has no kernel"))
            .hint("a kernel is a `__global__` function of CUDA, and an `.entry` of PTX")
            .into());
    }
    let Some(wanted) = wanted else { return Ok(kernels) };
    let names: Vec<String> = kernels.iter().map(|kernel| kernel.name.clone()).collect();
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let meant = kernel_name::meant(wanted, &known);
    if meant.is_empty() {
        return Err(kernel_name::unplaced(wanted, &known, &name).into());
    }
    kernels.retain(|kernel| meant.contains(&kernel.name.as_str()));
    Ok(kernels)
}

fn of_module<'a>(
    module: &'a Module,
    declared: &'a [Declared],
) -> impl Iterator<Item = Listed> + 'a {
    let is_kernel = |one: &&Function| one.kind == FunctionKind::Entry && one.body.is_some();
    // Shared memory without a size is the launch's. Any kernel of the module may use it.
    let is_dynamic = |one: &Variable| one.space == StateSpace::Shared && one.size_bytes == 0;
    let has_dynamic_shared = module.variables.iter().any(is_dynamic);
    // Any kernel may call them.
    let callees = module.functions.iter().filter(|one| one.kind == FunctionKind::Device);
    let of_callees =
        callees.map(LaunchShape::of).fold(LaunchShape::default(), LaunchShape::calling);
    module.functions.iter().filter(is_kernel).map(move |function| {
        let variable = |formal: &Formal| match formal {
            Formal::Variable(id) => Some(module.variables[id.index()].clone()),
            Formal::Register(_) => None,
        };
        let variables: Vec<Variable> = function.params.iter().filter_map(variable).collect();
        Listed {
            parameters: parameters(&function.name, variables, declared),
            name: function.name.clone(),
            shape: LaunchShape::of(function).calling(of_callees),
            required_block: function.directives.reqntid,
            most_threads: function
                .directives
                .maxntid
                .map(|extents| extents.into_iter().fold(1, u32::saturating_mul)),
            has_dynamic_shared,
        }
    })
}

/// The parameters of a kernel, with what its C++ name and its declaration say of them.
fn parameters(name: &str, variables: Vec<Variable>, declared: &[Declared]) -> Vec<ListedParameter> {
    let signature = kernel_name::demangled(name);
    let types = signature.as_deref().map(parameter_types).unwrap_or_default();
    let short = kernel_name::demangled_short(name).unwrap_or_else(|| name.to_owned());
    let bare = kernel_name::bare(&short);
    let fits = |one: &&Declared| one.name == bare && one.parameters.len() == variables.len();
    let all: Vec<&Declared> = declared.iter().filter(fits).collect();
    // Of overloads nobody knows which one is meant.
    let own = match all[..] {
        [only] => Some(only),
        [first, ..] if all.iter().all(|kernel| kernel.parameters == first.parameters) => {
            Some(first)
        }
        _ => None,
    };
    let has_types = types.len() == variables.len();
    let parameter = |(index, variable): (usize, Variable)| {
        let declared = own.and_then(|own| own.parameters.get(index));
        let mangled = types.get(index).filter(|_| has_types).map(|&ty| ty.to_owned());
        // A template's declaration has the names of its parameters.
        let is_template = own.is_some_and(|own| own.template.is_some());
        let ty = match declared {
            Some(declared) if !is_template => Some(declared.ty.clone()),
            _ => mangled.clone(),
        };
        let name = declared.map(|declared| declared.name.clone()).unwrap_or_default();
        ListedParameter { variable, ty: ty.or(mangled), name }
    };
    variables.into_iter().enumerate().map(parameter).collect()
}

impl Listed {
    /// A kernel of which the name is known.
    fn unknown(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            parameters: Vec::new(),
            shape: LaunchShape::default(),
            required_block: None,
            most_threads: None,
            has_dynamic_shared: false,
        }
    }

    /// The shortest name that means this kernel among `all`.
    pub(crate) fn shortest_name(&self, all: &[Self]) -> String {
        let known: Vec<&str> = all.iter().map(|kernel| kernel.name.as_str()).collect();
        let means = |name: &String| kernel_name::meant(name, &known) == [self.name.as_str()];
        let forms = [kernel_name::demangled_short(&self.name), kernel_name::demangled(&self.name)];
        forms.into_iter().flatten().find(means).unwrap_or_else(|| self.name.clone())
    }
}

impl ListedParameter {
    /// True for a number, false for a structure or an array.
    pub(crate) fn is_scalar(&self) -> bool {
        self.variable.dimensions.is_empty() && self.variable.vector == 1
    }

    /// The type of a buffer for a pointer; `None` if it is no pointer. Without a C++ type every
    /// unsigned parameter of 64 bits is taken for one.
    pub(crate) fn pointee(&self) -> Option<&'static str> {
        if !self.is_scalar() || self.variable.size_bytes != 8 {
            return None;
        }
        match &self.ty {
            Some(ty) => ty.contains(['*', '&', '[']).then(|| element(ty)),
            None => matches!(self.variable.ty.text(), "u64" | "b64").then_some("f32"),
        }
    }
}

/// A kernel with the types of its parameters.
fn shown(kernel: &Listed) -> String {
    let has_types = kernel.parameters.iter().all(|parameter| parameter.ty.is_some());
    if has_types && kernel.parameters.iter().any(|parameter| !parameter.name.is_empty()) {
        let parameter = |one: &ListedParameter| {
            let ty = one.ty.as_deref().unwrap_or_default();
            let (ty, brackets) = match ty.strip_suffix("[]") {
                Some(ty) => (ty, "[]"),
                None => (ty, ""),
            };
            let space = if ty.ends_with(['*', '&']) { "" } else { " " };
            format!("{ty}{space}{}{brackets}", one.name)
        };
        let parameters: Vec<String> = kernel.parameters.iter().map(parameter).collect();
        return format!("{}({})", kernel_name::readable(&kernel.name), parameters.join(", "));
    }
    if kernel_name::demangled(&kernel.name).is_some() {
        return kernel_name::signature(&kernel.name);
    }
    let parameter = |one: &ListedParameter| {
        let variable = &one.variable;
        let prefix = format!("{}_", kernel.name);
        let name = variable.name.strip_prefix(&prefix).unwrap_or(&variable.name);
        let size =
            if one.is_scalar() { String::new() } else { format!("[{}]", variable.size_bytes) };
        format!(".{} {name}{size}", variable.ty.text())
    };
    let parameters: Vec<String> = kernel.parameters.iter().map(parameter).collect();
    format!("{}({})", kernel.name, parameters.join(", "))
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
    const ELEMENTS: [(&str, &str); 29] = [
        ("double", "f64"),
        ("uint8_t", "u8"),
        ("uint16_t", "u16"),
        ("uint32_t", "u32"),
        ("uint64_t", "u64"),
        ("int8_t", "s8"),
        ("int16_t", "s16"),
        ("int32_t", "s32"),
        ("int64_t", "s64"),
        ("size_t", "u64"),
        ("uchar", "u8"),
        ("ushort", "u16"),
        ("uint", "u32"),
        ("unsigned char", "u8"),
        ("unsigned short", "u16"),
        ("unsigned int", "u32"),
        ("unsigned long", "u64"),
        ("unsigned", "u32"),
        ("signed char", "s8"),
        ("bool", "u8"),
        ("char", "s8"),
        ("short", "s16"),
        ("int", "s32"),
        ("long", "s64"),
        ("half", "f16"),
        ("__half", "f16"),
        ("nv_bfloat16", "bf16"),
        ("__nv_bfloat16", "bf16"),
        ("float", "f32"),
    ];
    let pointee = pointer.split(['*', '&', '[']).next().unwrap_or_default();
    let words = pointee.split_whitespace();
    let is_qualifier = |word: &str| matches!(word, "const" | "volatile" | "struct");
    let pointee: Vec<&str> = words.filter(|word| !is_qualifier(word)).collect();
    let pointee = pointee.join(" ");
    let known = ELEMENTS.iter().find(|(name, _)| pointee.starts_with(name));
    known.map_or("f32", |&(_, element)| element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::shown as shown_report;

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

    fn unlaunched(cuda: Option<&str>, options: &LaunchOptions) -> Unlaunched {
        let file = ModuleFile::Text(SourceText::new("m.ptx", TEXT));
        let source = cuda.map(|text| SourceText::new("m.cu", text));
        let missing = vec!["--kernel", "--grid", "--block"];
        let code = Code { file, note: None };
        Unlaunched::new(Path::new("m.ptx"), code, source.as_ref(), options, missing).unwrap()
    }

    #[test]
    fn the_kernels_of_a_module_are_listed() {
        let all = unlaunched(None, &LaunchOptions::default());
        insta::assert_snapshot!(shown_report(&all.report()));
        let given = LaunchOptions { kernel: Some("plain".to_owned()), ..LaunchOptions::default() };
        insta::assert_snapshot!(shown_report(&unlaunched(None, &given).report()));
    }

    #[test]
    fn parameters_have_the_names_of_the_source() {
        let cuda = "__global__ void scale(double *to, const float *from, float by, unsigned n) {}";
        let listed = unlaunched(Some(cuda), &LaunchOptions::default()).listing();
        assert_eq!(listed[0], "scale(double *to, const float *from, float by, unsigned n)");
    }

    #[test]
    fn a_module_without_kernels_says_so() {
        let refused = |text: &str| {
            let file = ModuleFile::Text(SourceText::new("m.ptx", text));
            let options = LaunchOptions::default();
            let code = Code { file, note: None };
            match Unlaunched::new(Path::new("m.ptx"), code, None, &options, vec!["--kernel"]) {
                Err(Failure::Input(reports)) => reports[0].message.clone(),
                _ => panic!("it has no kernel"),
            }
        };
        assert_eq!(refused(""), "the text is empty");
        assert_eq!(
            refused(".version 7.8\n.target sm_80\n.address_size 64\n"),
            "m.ptx has no kernel"
        );
        assert!(refused(".version 7.8\n.target sm_80\n.entry k() { oops; }").contains("oops"));
    }

    #[test]
    fn a_name_that_no_kernel_has_is_refused() {
        let file = ModuleFile::Text(SourceText::new("m.ptx", TEXT));
        for (wanted, hint) in
            [("nosuch", "known are _Z5scalePdPKffj, plain"), ("plian", "did you mean `plain`?")]
        {
            let Err(Failure::Input(reports)) =
                kernels(Path::new("m.ptx"), &file, Some(wanted), &[])
            else {
                panic!("it has no such kernel");
            };
            assert_eq!(reports[0].message, format!("m.ptx has no kernel named `{wanted}`"));
            assert_eq!(reports[0].hint.as_deref(), Some(hint));
        }
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
            ("const uint8_t *__restrict__", "u8"),
            ("unsigned int[]", "u32"),
            ("unsigned *", "u32"),
            ("float4*", "f32"),
            ("Node*", "f32"),
        ] {
            assert_eq!(element(pointer), expected, "{pointer}");
        }
    }
}

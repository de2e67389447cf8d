//! The resources and requirements of a kernel, and whether it can be executed.

use std::collections::BTreeMap;

use gpucast_interpreter::Program;
use gpucast_interpreter::program::LowerError;
use gpucast_ptx_frontend::container::Cubin;
use gpucast_ptx_frontend::isa::InstructionClass;
use gpucast_ptx_frontend::module::{
    Formal, Function, FunctionId, FunctionKind, PerformanceDirectives,
};
use gpucast_ptx_frontend::source::LineIndex;
use gpucast_ptx_frontend::usage::{self, Usage};
use serde::Serialize;

use super::machine::MachineCode;
use super::slice::KernelSlice;
use crate::input::kernel_name;
use crate::input::loaded::Loaded;

/// A kernel, read and not executed.
#[derive(Serialize)]
pub struct Kernel {
    /// Its name in the PTX.
    pub name: String,
    /// Its C++ name, if that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub demangled: Option<String>,
    /// The line of its name.
    pub line: u32,
    /// Static instructions of the kernel itself.
    pub instructions: usize,
    /// True if it can be executed.
    pub executable: bool,
    /// Instructions that cannot be executed.
    pub unsupported: Vec<Unsupported>,
    /// Static instructions by counting class, with those of the functions that it reaches.
    pub mix: BTreeMap<&'static str, u64>,
    /// The same by mnemonic.
    pub mnemonics: BTreeMap<&'static str, u64>,
    /// The oldest version and target that suffice.
    pub needs: Needs,
    /// Device functions that it reaches.
    pub functions: Vec<String>,
    /// Functions that it calls and that the module only declares.
    pub externals: Vec<String>,
    /// Calls through a register.
    pub indirect_calls: u64,
    /// Virtual registers that the code names, by type, with those of the functions.
    pub registers: BTreeMap<&'static str, u64>,
    /// Declared memory.
    pub memory: Memory,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// Bytes of all parameters with their padding.
    pub parameter_bytes: u64,
    /// Performance directives as written.
    pub directives: Vec<String>,
    /// Figures that machine code in the same container gives for the kernel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machine_code: Vec<MachineCode>,
    /// The treatment of its instructions where only counts are wanted, if it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slice: Option<KernelSlice>,
}

/// An instruction that cannot be executed.
#[derive(Serialize)]
pub struct Unsupported {
    /// Its line, from 1 on.
    pub line: u32,
    /// Its column, from 1 on.
    pub column: u32,
    /// The instruction as it is written.
    pub instruction: String,
    /// Reason why it cannot be executed.
    pub reason: String,
}

/// The oldest version and target that have all that the kernel uses.
#[derive(Serialize)]
pub struct Needs {
    pub isa: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isa_because: Option<Cause>,
    pub target: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target_because: Option<Cause>,
}

/// The cause of a required version or target.
#[derive(PartialEq, Eq, Serialize)]
pub struct Cause {
    /// An instruction with its modifiers, or a directive.
    pub what: String,
    /// The line where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Declared memory in bytes.
#[derive(Serialize)]
pub struct Memory {
    /// Static shared memory of a CTA.
    pub shared_bytes: u64,
    /// True if it uses shared memory that a launch sizes.
    pub dynamic_shared: bool,
    /// Local memory of a thread.
    pub local_bytes: u64,
    /// Constant memory of the module that the kernel uses.
    pub constant_bytes: u64,
    /// Global variables that the kernel uses.
    pub global_bytes: u64,
}

/// A parameter of a kernel.
#[derive(Serialize)]
pub struct Parameter {
    /// Its name in the PTX.
    pub name: String,
    /// The element's type in the PTX.
    #[serde(rename = "type")]
    pub ty: &'static str,
    /// Elements, if it is an array, such as a structure passed by value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elements: Option<u64>,
    /// Bytes before it.
    pub offset: u64,
    /// Its size.
    pub bytes: u64,
    /// Its alignment in bytes.
    pub align: u32,
}

/// Looks at the kernels of a module.
pub(super) struct Inspector<'a> {
    loaded: &'a Loaded,
    cubins: &'a [Cubin],
    lines: LineIndex,
}

impl<'a> Inspector<'a> {
    pub(super) fn new(loaded: &'a Loaded, cubins: &'a [Cubin]) -> Self {
        Self { loaded, cubins, lines: LineIndex::new(&loaded.source.text) }
    }

    /// The kernels that the module defines.
    pub(super) fn kernels(&self) -> impl Iterator<Item = FunctionId> {
        let functions = self.loaded.module.functions.iter().enumerate();
        functions
            .filter(|(_, one)| one.kind == FunctionKind::Entry && one.body.is_some())
            .map(|(index, _)| FunctionId(index as u32))
    }

    /// Describes a kernel, with its slice if `sliced`.
    pub(super) fn kernel(&self, id: FunctionId, sliced: bool) -> Kernel {
        let Loaded { source, module } = self.loaded;
        let function = &module.functions[id.index()];
        let usage = Usage::of(module, id);
        let program = Program::new(module, &source.text, &function.name);
        let slice = program.as_ref().ok().filter(|_| sliced);
        let slice = slice.map(|program| KernelSlice::of(self.loaded, program));
        let unsupported = self.unsupported(program);
        let name_of = |id: &FunctionId| module.functions[id.index()].name.clone();
        let parameters = self.parameters(function);
        let last = parameters.last();
        Kernel {
            name: function.name.clone(),
            demangled: kernel_name::demangled(&function.name),
            line: self.lines.position(&source.text, function.span.start).line,
            instructions: function.body.as_ref().map_or(0, |body| body.instructions.len()),
            executable: unsupported.is_empty(),
            unsupported,
            mix: usage.classes.iter().map(|(&class, &count)| (class_name(class), count)).collect(),
            needs: self.needs(&usage.needs),
            functions: usage.functions.iter().skip(1).map(name_of).collect(),
            externals: usage.externals.iter().map(name_of).collect(),
            indirect_calls: usage.indirect_calls,
            mnemonics: usage.mnemonics,
            registers: usage.registers,
            memory: Memory {
                shared_bytes: usage.memory.shared,
                dynamic_shared: usage.memory.dynamic_shared,
                local_bytes: usage.memory.local,
                constant_bytes: usage.memory.constant,
                global_bytes: usage.memory.global,
            },
            parameter_bytes: last.map_or(0, |last| last.offset.saturating_add(last.bytes)),
            parameters,
            directives: directives(&function.directives),
            machine_code: MachineCode::of_kernel(self.cubins, &function.name),
            slice,
        }
    }

    /// What keeps a kernel from being executed.
    fn unsupported(&self, program: Result<Program, LowerError>) -> Vec<Unsupported> {
        let source = &self.loaded.source;
        let found = match program {
            Err(LowerError::Unsupported { instructions, .. }) => instructions,
            Ok(program) => program.unsupported().to_vec(),
            // The kernel is one that the module defines.
            Err(LowerError::NoSuchKernel { .. }) => Vec::new(),
        };
        let mut unsupported: Vec<_> = found
            .into_iter()
            .map(|problem| {
                let position = self.lines.position(&source.text, problem.span.start);
                Unsupported {
                    line: position.line,
                    column: position.column,
                    instruction: problem.what,
                    reason: problem.reason,
                }
            })
            .collect();
        unsupported.sort_by_key(|problem| (problem.line, problem.column));
        unsupported
    }

    fn needs(&self, needs: &usage::Needs) -> Needs {
        let text = &self.loaded.source.text;
        let cause = |cause: &usage::Cause| match cause {
            usage::Cause::Nothing => None,
            usage::Cause::Instruction(_, span) => {
                let written = text.get(span.range()).unwrap_or_default();
                // Behind the guard, up to the operands.
                let word = written.split_whitespace().find(|word| !word.starts_with('@'));
                let line = self.lines.position(text, span.start).line;
                let what = word.unwrap_or_default().trim_end_matches(';').to_owned();
                Some(Cause { what, line: Some(line) })
            }
            usage::Cause::Directive(name) => Some(Cause { what: (*name).to_owned(), line: None }),
        };
        let (major, minor) = needs.since.isa;
        Needs {
            isa: format!("{major}.{minor}"),
            isa_because: cause(&needs.isa_because),
            target: needs.since.target.to_string(),
            target_because: cause(&needs.target_because),
        }
    }

    fn parameters(&self, function: &Function) -> Vec<Parameter> {
        let mut end: u64 = 0;
        let mut parameters = Vec::new();
        for formal in &function.params {
            let Formal::Variable(id) = formal else { continue };
            let variable = &self.loaded.module.variables[id.index()];
            let align = u64::from(variable.align.max(1));
            let offset = end.checked_next_multiple_of(align).unwrap_or(u64::MAX);
            end = offset.saturating_add(variable.size_bytes);
            let element = u64::from(variable.ty.bytes()).max(1);
            let is_array = !variable.dimensions.is_empty() || variable.vector > 1;
            parameters.push(Parameter {
                name: variable.name.clone(),
                ty: variable.ty.text(),
                elements: is_array.then_some(variable.size_bytes / element),
                offset,
                bytes: variable.size_bytes,
                align: variable.align,
            });
        }
        parameters
    }
}

/// A class as a word.
fn class_name(class: InstructionClass) -> &'static str {
    match class {
        InstructionClass::Fp16 => "fp16",
        InstructionClass::Fp32 => "fp32",
        InstructionClass::Fp64 => "fp64",
        InstructionClass::Integer => "integer",
        InstructionClass::BitConvert => "bit_convert",
        InstructionClass::LoadStore => "load_store",
        InstructionClass::Control => "control",
        InstructionClass::InterThread => "inter_thread",
        InstructionClass::Texture => "texture",
        InstructionClass::Tensor => "tensor",
        InstructionClass::Misc => "misc",
    }
}

fn directives(directives: &PerformanceDirectives) -> Vec<String> {
    let PerformanceDirectives {
        maxntid,
        reqntid,
        minnctapersm,
        maxnctapersm,
        maxnreg,
        reqnctapercluster,
        maxclusterrank,
        explicitcluster,
        blocksareclusters,
        minperctamemory,
        pragmas,
    } = directives;
    let triple = |name: &str, value: &Option<[u32; 3]>| {
        value.map(|[x, y, z]| format!(".{name} {x}, {y}, {z}"))
    };
    let one = |name: &str, value: &Option<u32>| value.map(|value| format!(".{name} {value}"));
    let known = [
        triple("maxntid", maxntid),
        triple("reqntid", reqntid),
        one("minnctapersm", minnctapersm),
        one("maxnctapersm", maxnctapersm),
        one("maxnreg", maxnreg),
        explicitcluster.then(|| ".explicitcluster".to_owned()),
        blocksareclusters.then(|| ".blocksareclusters".to_owned()),
        triple("reqnctapercluster", reqnctapercluster),
        one("maxclusterrank", maxclusterrank),
        one("minperctamemory", minperctamemory),
    ];
    let pragmas = pragmas.iter().map(|text| format!(".pragma \"{text}\""));
    known.into_iter().flatten().chain(pragmas).collect()
}

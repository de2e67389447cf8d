//! CUDA of a kernel, for readers and for nvcc.

use std::fmt::Write as _;

use crate::language::{
    Array, ArrayMemory, Caching, Expression, Kernel, Loop, Parameter, Statement, Type, Unroll,
};

/// The source of a kernel.
#[must_use]
pub fn source(kernel: &Kernel) -> String {
    let mut text = format!("// {}\n\n", kernel.summary);
    let mut types = kernel.buffers().chain(&kernel.arrays).map(|array| array.ty);
    if types.any(|ty| ty == Type::F16) {
        text += "#include <cuda_fp16.h>\n\n";
    }
    for array in
        kernel.arrays.iter().filter(|array| matches!(array.place, ArrayMemory::Constant(_)))
    {
        let _ = writeln!(text, "__constant__ {} {}[{}];\n", array.ty.cuda(), array.name, array.len);
    }
    let parameters: Vec<String> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Buffer(Array { name, ty, place: ArrayMemory::Input(_), .. }) => {
                format!("const {} *__restrict__ {name}", ty.cuda())
            }
            Parameter::Buffer(Array { name, ty, .. }) => {
                format!("{} *__restrict__ {name}", ty.cuda())
            }
            Parameter::Scalar { variable, .. } => {
                format!("{} {}", variable.ty.cuda(), kernel.name_of(*variable))
            }
            Parameter::Texture { variable, .. } => {
                format!("cudaTextureObject_t {}", kernel.name_of(*variable))
            }
        })
        .collect();
    let threads: u32 = kernel.block.iter().product();
    let clusters = match kernel.cluster {
        ..=1 => String::new(),
        blocks => format!(" __cluster_dims__({blocks}, 1, 1)"),
    };
    let _ = writeln!(
        text,
        "extern \"C\" __global__ void{clusters} __launch_bounds__({threads})\n{}({})\n{{",
        kernel.name,
        parameters.join(", ")
    );
    for array in kernel.arrays.iter().filter(|array| array.place == ArrayMemory::Shared) {
        let (ty, name, len) = (array.ty.cuda(), &array.name, array.len);
        let _ = writeln!(text, "    __shared__ __align__(16) {ty} {name}[{len}];");
    }
    statements(kernel, &kernel.body, 1, &mut text);
    text += "}\n";
    text
}

/// The first line of a statement: the whole of it, but for loops and conditions.
pub(crate) fn first_line(kernel: &Kernel, statement: &Statement) -> String {
    match statement {
        Statement::Declare { variable, value } => {
            let constant = if kernel.changes(*variable) { "" } else { "const " };
            let name = kernel.name_of(*variable);
            format!("{constant}{} {name} = {};", variable.ty.cuda(), expression(kernel, value))
        }
        Statement::Assign { variable, value } => {
            format!("{} = {};", kernel.name_of(*variable), expression(kernel, value))
        }
        Statement::Load { into, declares, array, index, caching } => {
            let place = element(kernel, array, index);
            let name = into.first().map_or("_", |&name| kernel.name_of(name));
            if let [one] = into.as_slice() {
                let value = match caching {
                    Caching::Usual => place,
                    Caching::All => format!("__ldca(&{place})"),
                    Caching::Volatile => {
                        format!("*(const volatile {} *)&{place}", array.ty.cuda())
                    }
                    Caching::SecondLevel => format!("__ldcg(&{place})"),
                    Caching::ReadOnly => format!("__ldg(&{place})"),
                };
                return match declares {
                    true => format!("const {} {name} = {value};", one.ty.cuda()),
                    false => format!("{name} = {value};"),
                };
            }
            let ty = vector_type(array.ty, into.len());
            let name = name.split('.').next().unwrap_or(name);
            let volatile = if *caching == Caching::Volatile { "volatile " } else { "" };
            format!("const {ty} {name} = *reinterpret_cast<const {volatile}{ty} *>(&{place});")
        }
        Statement::Store { array, index, values } => {
            let place = element(kernel, array, index);
            let values: Vec<String> =
                values.iter().map(|value| expression(kernel, value)).collect();
            if let [one] = values.as_slice() {
                return format!("{place} = {one};");
            }
            let ty = vector_type(array.ty, values.len());
            format!("*reinterpret_cast<{ty} *>(&{place}) = make_{ty}({});", values.join(", "))
        }
        Statement::Reduce { operation, array, index, value } => {
            let mut letters = operation.chars();
            let first = letters.next().map(|letter| letter.to_ascii_uppercase());
            let name: String = first.into_iter().chain(letters).collect();
            let place = element(kernel, array, index);
            format!("atomic{name}(&{place}, {});", expression(kernel, value))
        }
        Statement::Barrier => "__syncthreads();".to_owned(),
        Statement::Loop(Loop { variable, from, to, step, .. }) => {
            let name = kernel.name_of(*variable);
            let next = if *step == 1 { format!("++{name}") } else { format!("{name} += {step}") };
            format!("for (int {name} = {from}; {name} < {}; {next}) {{", expression(kernel, to))
        }
        Statement::If { condition, .. } => format!("if ({}) {{", expression(kernel, condition)),
        Statement::Assembly { ptx, outputs, inputs } => {
            let numbers: Vec<String> =
                (0..outputs.len() + inputs.len()).map(|number| format!("%{number}")).collect();
            let outputs: Vec<String> = outputs
                .iter()
                .map(|&output| {
                    format!("\"+{}\"({})", constraint(output.ty), kernel.name_of(output))
                })
                .collect();
            let inputs: Vec<String> = inputs
                .iter()
                .map(|input| {
                    format!("\"{}\"({})", constraint(input.ty()), expression(kernel, input))
                })
                .collect();
            let text = filled(ptx, &numbers);
            let (outputs, inputs) = (outputs.join(", "), inputs.join(", "));
            format!("asm volatile(\"{text};\" : {outputs} : {inputs});")
        }
    }
}

/// A template with `$0`, `$1`, … replaced.
pub(crate) fn filled(template: &str, operands: &[String]) -> String {
    // From the last one, because `$1` begins as `$10` does.
    operands.iter().enumerate().rev().fold(template.to_owned(), |text, (number, operand)| {
        text.replace(&format!("${number}"), operand)
    })
}

fn statements(kernel: &Kernel, body: &[Statement], depth: usize, text: &mut String) {
    let indent = "    ".repeat(depth);
    for statement in body {
        if let Statement::Loop(Loop { unroll, .. }) = statement {
            let _ = match unroll {
                Unroll::No => writeln!(text, "#pragma unroll 1"),
                Unroll::By(copies) => writeln!(text, "#pragma unroll {copies}"),
                Unroll::Whole => writeln!(text, "#pragma unroll"),
            };
        }
        let _ = writeln!(text, "{indent}{}", first_line(kernel, statement));
        if let Statement::Loop(Loop { body, .. }) | Statement::If { body, .. } = statement {
            statements(kernel, body, depth + 1, text);
            let _ = writeln!(text, "{indent}}}");
        }
    }
}

fn element(kernel: &Kernel, array: &Array, index: &Expression) -> String {
    format!("{}[{}]", array.name, expression(kernel, index))
}

fn expression(kernel: &Kernel, value: &Expression) -> String {
    match value {
        Expression::Integer(value, Type::F32) => format!("{value}.0f"),
        Expression::Integer(value, Type::F64) => format!("{value}.0"),
        Expression::Integer(value, Type::F16) => format!("__half({value}.0f)"),
        Expression::Integer(value, Type::S64) => format!("{value}ll"),
        Expression::Integer(value, Type::U64) => format!("{value}ull"),
        Expression::Integer(value, Type::U32) => format!("{value}u"),
        Expression::Integer(value, Type::S32 | Type::Predicate) => value.to_string(),
        Expression::Variable(variable) => kernel.name_of(*variable).to_owned(),
        Expression::Index(index) => index.cuda(),
        Expression::Binary(operator, operands) => {
            let own = operator.tightness();
            let side = |side: &Expression, is_right: bool| {
                let text = expression(kernel, side);
                match side {
                    Expression::Binary(inner, _)
                        if inner.tightness() < own
                            || own < 2
                            || (is_right && inner.tightness() == own) =>
                    {
                        format!("({text})")
                    }
                    _ => text,
                }
            };
            let [left, right] = &**operands;
            format!("{} {} {}", side(left, false), operator.sign(), side(right, true))
        }
        Expression::Call(function, arguments) => {
            let arguments: Vec<String> = arguments
                .iter()
                .map(|argument| {
                    let text = expression(kernel, argument);
                    let alone =
                        matches!(argument, Expression::Binary(..)) && !function.cuda.ends_with(')');
                    if alone { format!("({text})") } else { text }
                })
                .collect();
            filled(function.cuda, &arguments)
        }
        Expression::Convert(ty, inner) => {
            let text = expression(kernel, inner);
            match &**inner {
                Expression::Binary(..) => format!("({})({text})", ty.cuda()),
                _ => format!("({}){text}", ty.cuda()),
            }
        }
    }
}

/// `float4`, `uint2`.
fn vector_type(ty: Type, width: usize) -> String {
    let name = match ty {
        Type::U32 => "uint",
        Type::S64 => "longlong",
        Type::U64 => "ulonglong",
        _ => ty.cuda(),
    };
    format!("{name}{width}")
}

/// The letter of a type in inline assembly.
const fn constraint(ty: Type) -> char {
    match ty {
        Type::F16 => 'h',
        Type::F32 => 'f',
        Type::F64 => 'd',
        Type::S64 | Type::U64 => 'l',
        Type::S32 | Type::U32 | Type::Predicate => 'r',
    }
}

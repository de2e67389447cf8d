//! PTX of a kernel.
//!
//! The text is what a plain compiler would write: addresses are computed once and reached by
//! offsets, equal values are computed once, and loops are copied where the kernel says so.

mod registers;
mod values;
mod version;

use std::fmt::Write as _;

use gpucast_ptx_frontend::container::Target;

use crate::cuda;
use crate::language::{
    Array, ArrayMemory, Caching, Expression, Kernel, Loop, Parameter, Statement, Type, Unroll,
    Variable,
};
use registers::Registers;
use values::Values;

/// The module of a kernel for a target.
#[must_use]
pub fn module(kernel: &Kernel, target: Target) -> String {
    let mut printer = Printer::new(kernel);
    printer.begin();
    printer.statements(&kernel.body);
    printer.lines.push("\tret;".to_owned());
    let target = kernel.target_of(target);
    let [major, minor] = version::of_target(target.sm).max(kernel.oldest_isa);
    let mut text = format!(
        "// {}\n.version {major}.{minor}\n.target {target}\n.address_size 64\n\n",
        kernel.summary
    );
    for array in
        kernel.arrays.iter().filter(|array| matches!(array.place, ArrayMemory::Constant(_)))
    {
        let _ = writeln!(text, "{}\n", declaration(".const", array));
    }
    let parameters: Vec<String> = kernel
        .parameters
        .iter()
        .map(|parameter| match parameter {
            Parameter::Buffer(array) => format!("\t.param .u64 {}", parameter_name(&array.name)),
            Parameter::Scalar { variable, .. } => {
                format!("\t.param .u32 {}", parameter_name(kernel.name_of(*variable)))
            }
            Parameter::Texture { variable, .. } => {
                format!("\t.param .u64 {}", parameter_name(kernel.name_of(*variable)))
            }
        })
        .collect();
    let [x, y, z] = kernel.block;
    let _ = writeln!(text, ".visible .entry {}(\n{}\n)", kernel.name, parameters.join(",\n"));
    let _ = writeln!(text, ".maxntid {x}, {y}, {z}");
    if kernel.cluster > 1 {
        let _ = writeln!(text, ".explicitcluster\n.reqnctapercluster {}, 1, 1", kernel.cluster);
    }
    text += "{\n";
    text += &printer.registers.declarations();
    for array in kernel.arrays.iter().filter(|array| array.place == ArrayMemory::Shared) {
        let _ = writeln!(text, "\t{}", declaration(".shared", array));
    }
    text.push('\n');
    for line in &printer.lines {
        text += line;
        text.push('\n');
    }
    text += "}\n";
    text
}

fn declaration(space: &str, array: &Array) -> String {
    // 16 bytes, so that vectors of four lie on their multiples.
    format!("{space} .align 16 .{} {}[{}];", memory_type(array.ty), array.name, array.len)
}

/// The parameter of a buffer or number.
pub(crate) fn parameter_name(name: &str) -> String {
    format!("parameter_{name}")
}

/// The type of an access: loads and stores have no half precision.
const fn memory_type(ty: Type) -> &'static str {
    match ty {
        Type::F16 => "b16",
        _ => ty.ptx(),
    }
}

/// The state of the text while it is written.
struct Printer<'k> {
    kernel: &'k Kernel,
    registers: Registers,
    values: Values,
    lines: Vec<String>,
    /// The register of each variable that is alive.
    places: Vec<String>,
    /// The counters of unrolled loops, with their values in this copy.
    counters: Vec<(Variable, Expression)>,
    labels: usize,
    /// True in copies of a body, whose comments stand in the first one.
    silent: bool,
}

impl<'k> Printer<'k> {
    fn new(kernel: &'k Kernel) -> Self {
        Self {
            kernel,
            registers: Registers::default(),
            values: Values::default(),
            lines: Vec::new(),
            places: vec![String::new(); kernel.variables.len()],
            counters: Vec::new(),
            labels: 0,
            silent: false,
        }
    }

    /// Loads the parameters.
    fn begin(&mut self) {
        for parameter in &self.kernel.parameters {
            match parameter {
                Parameter::Buffer(array) => {
                    let generic = self.registers.fresh(Type::U64);
                    let name = parameter_name(&array.name);
                    self.line(format!("ld.param.u64 {generic}, [{name}];"));
                    self.pure(Type::U64, "cvta.to.global.u64", &[generic], Some(&array.name));
                }
                Parameter::Scalar { variable, .. } | Parameter::Texture { variable, .. } => {
                    let register = self.registers.fresh(variable.ty);
                    let name = parameter_name(self.kernel.name_of(*variable));
                    let bits = variable.ty.bits();
                    self.line(format!("ld.param.u{bits} {register}, [{name}];"));
                    self.place(*variable, register);
                }
            }
        }
    }

    fn statements(&mut self, statements: &[Statement]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Statement) {
        if !self.silent {
            let line = cuda::first_line(self.kernel, statement);
            self.lines.push(format!("\t// {line}"));
        }
        match statement {
            Statement::Declare { variable, value } => self.declare(*variable, value),
            Statement::Assign { variable, value } => {
                let register = self.register_of(*variable);
                self.compute_into(&register, value);
                self.values.forget(&register);
            }
            Statement::Load { into, declares, array, index, caching } => {
                let address = self.address(array, index);
                if *declares {
                    for &variable in into {
                        let register = self.registers.fresh(variable.ty);
                        self.place(variable, register);
                    }
                }
                let registers: Vec<String> =
                    into.iter().map(|&name| self.register_of(name)).collect();
                let operator = match caching {
                    Caching::Volatile => ".volatile",
                    Caching::Usual => "",
                    Caching::All => ".ca",
                    Caching::SecondLevel => ".cg",
                    Caching::ReadOnly => ".nc",
                };
                let (space, ty) = (space(array), memory_type(array.ty));
                let vector = vector(&registers);
                let destination = operand(&registers);
                let (space, operator) = match caching {
                    Caching::Volatile => (operator, space),
                    _ => (space, operator),
                };
                self.line(format!("ld{space}{operator}{vector}.{ty} {destination}, {address};"));
                registers.iter().for_each(|register| self.values.forget(register));
            }
            Statement::Store { array, index, values } => {
                let values: Vec<String> =
                    values.iter().map(|value| self.in_register(value)).collect();
                let address = self.address(array, index);
                let (space, ty) = (space(array), memory_type(array.ty));
                let vector = vector(&values);
                self.line(format!("st{space}{vector}.{ty} {address}, {};", operand(&values)));
            }
            Statement::Reduce { operation, array, index, value } => {
                let value = self.in_register(value);
                let address = self.address(array, index);
                let ty = match *operation {
                    "and" | "or" | "xor" => format!("b{}", array.ty.bits()),
                    _ => array.ty.ptx().to_owned(),
                };
                let space = space(array);
                self.line(format!("red{space}.{operation}.{ty} {address}, {value};"));
            }
            Statement::Barrier => self.line("bar.sync 0;".to_owned()),
            Statement::Loop(repeated) => self.repeated(repeated),
            Statement::If { condition, body } => {
                let condition = self.in_register(condition);
                let label = self.label("SKIP");
                self.line(format!("@!{condition} bra {label};"));
                let values = self.values.clone();
                self.statements(body);
                self.values = values;
                assigned(body).iter().for_each(|&name| self.forget(name));
                self.lines.push(format!("{label}:"));
            }
            Statement::Assembly { ptx, outputs, inputs } => {
                let mut operands: Vec<String> =
                    outputs.iter().map(|&output| self.register_of(output)).collect();
                for input in inputs {
                    let input = self.in_register(input);
                    operands.push(input);
                }
                let text = cuda::filled(ptx, &operands);
                // A block of instructions ends with its brace.
                let end = if text.starts_with('{') { "" } else { ";" };
                self.line(format!("{text}{end}"));
                outputs.iter().for_each(|&output| self.forget(output));
            }
        }
    }

    fn declare(&mut self, variable: Variable, value: &Expression) {
        let value = self.substituted(value);
        let is_variable =
            matches!(&value, Expression::Variable(other) if self.kernel.changes(*other));
        let is_number = matches!(value, Expression::Integer(..));
        let register = if self.kernel.changes(variable) || is_variable || is_number {
            let register = self.registers.fresh(variable.ty);
            self.compute_into(&register, &value);
            register
        } else {
            self.value(&value)
        };
        self.place(variable, register);
    }

    fn repeated(&mut self, repeated: &Loop) {
        let &Loop { variable, from, step, .. } = repeated;
        let to = self.substituted(&repeated.to);
        let silent = self.silent;
        if let (Unroll::Whole, Expression::Integer(to, _)) = (repeated.unroll, &to) {
            let mut value = from;
            while value < *to {
                self.counters.push((variable, Expression::Integer(value, variable.ty)));
                self.statements(&repeated.body);
                self.counters.pop();
                self.silent = true;
                value += step;
            }
            self.silent = silent;
            return;
        }
        let copies = match repeated.unroll {
            Unroll::By(copies) => i64::from(copies),
            Unroll::No | Unroll::Whole => 1,
        };
        let limit = self.value(&to);
        let counter = self.registers.fresh(variable.ty);
        self.line(format!("mov.u32 {counter}, {from};"));
        self.place(variable, counter.clone());
        let label = self.label("LOOP");
        self.lines.push(format!("{label}:"));
        let changed = assigned(&repeated.body);
        changed.iter().for_each(|&name| self.forget(name));
        let values = self.values.clone();
        for copy in 0..copies {
            self.counters
                .push((variable, Expression::from(variable) + (copy * step).unsigned_abs()));
            self.statements(&repeated.body);
            self.counters.pop();
            self.silent = true;
        }
        self.silent = silent;
        self.values = values;
        let more = self.registers.fresh(Type::Predicate);
        self.line(format!("add.s32 {counter}, {counter}, {};", copies * step));
        self.line(format!("setp.lt.s32 {more}, {counter}, {limit};"));
        self.line(format!("@{more} bra {label};"));
    }

    /// A value, in a register or as a number.
    fn value(&mut self, expression: &Expression) -> String {
        let expression = self.substituted(expression);
        match &expression {
            Expression::Integer(value, Type::F16) => {
                let bits = half_bits(*value);
                self.pure(Type::F16, "mov.b16", &[format!("0x{bits:04X}")], None)
            }
            Expression::Integer(value, ty) => number(*value, *ty),
            Expression::Variable(variable) => self.register_of(*variable),
            Expression::Index(index) => self.pure(Type::S32, "mov.u32", &[index.ptx()], None),
            _ => {
                let (mnemonic, operands) = self.operation(&expression);
                self.pure(expression.ty(), &mnemonic, &operands, None)
            }
        }
    }

    /// A value in a register.
    fn in_register(&mut self, expression: &Expression) -> String {
        let value = self.value(expression);
        if value.starts_with('%') {
            return value;
        }
        let ty = expression.ty();
        self.pure(ty, &format!("mov.{}", move_type(ty)), &[value], None)
    }

    /// Computes a value into a register that has a name of its own.
    fn compute_into(&mut self, register: &str, expression: &Expression) {
        let expression = self.substituted(expression);
        let ty = expression.ty();
        let (mnemonic, operands) = match &expression {
            Expression::Integer(..) | Expression::Variable(_) | Expression::Index(_) => {
                (format!("mov.{}", move_type(ty)), vec![self.value(&expression)])
            }
            _ => self.operation(&expression),
        };
        self.line(format!("{mnemonic} {register}, {};", operands.join(", ")));
    }

    /// The instruction of an expression, and its operands.
    fn operation(&mut self, expression: &Expression) -> (String, Vec<String>) {
        match expression {
            Expression::Binary(operator, operands) => {
                let [left, right] = &**operands;
                let mnemonic = operator.mnemonic(left.ty());
                (mnemonic, vec![self.in_register(left), self.value(right)])
            }
            Expression::Call(function, arguments) => {
                let operands =
                    arguments.iter().map(|argument| self.in_register(argument)).collect();
                (function.ptx.to_owned(), operands)
            }
            Expression::Convert(ty, inner) => {
                (conversion(inner.ty(), *ty), vec![self.in_register(inner)])
            }
            Expression::Integer(..) | Expression::Variable(_) | Expression::Index(_) => {
                ("mov.b32".to_owned(), vec![self.value(expression)])
            }
        }
    }

    /// The register of a value that instructions without side effects compute, once.
    fn pure(
        &mut self,
        ty: Type,
        mnemonic: &str,
        operands: &[String],
        named: Option<&str>,
    ) -> String {
        if let Some(known) = self.values.find(mnemonic, operands) {
            return known;
        }
        let register = self.registers.fresh(ty);
        self.line(format!("{mnemonic} {register}, {};", operands.join(", ")));
        match named {
            Some(name) => self.values.name(name, &register),
            None => self.values.remember(mnemonic, operands, &register),
        }
        register
    }

    /// The address of an element: a register or name, and an offset.
    fn address(&mut self, array: &Array, index: &Expression) -> String {
        let index = self.substituted(index);
        let (variable, constant) = values::split(&index);
        let bytes = array.ty.bytes();
        let offset = constant * i64::try_from(bytes).unwrap_or(1);
        let base = match (&array.place, variable) {
            (ArrayMemory::Shared | ArrayMemory::Constant(_), None) => array.name.clone(),
            (ArrayMemory::Shared, Some(variable)) => {
                let index = self.in_register(&variable.to(Type::S32));
                let name = self.pure(Type::U32, "mov.u32", std::slice::from_ref(&array.name), None);
                let operands = [index, bytes.to_string(), name];
                self.pure(Type::U32, "mad.lo.s32", &operands, None)
            }
            (_, None) => self.base(array),
            (_, Some(variable)) => {
                let base = self.base(array);
                let wide = match variable.ty() {
                    Type::S64 | Type::U64 => "mul.lo.s64",
                    _ => "mul.wide.s32",
                };
                let index = self.in_register(&variable);
                let distance = self.pure(Type::U64, wide, &[index, bytes.to_string()], None);
                self.pure(Type::U64, "add.s64", &[base, distance], None)
            }
        };
        match offset {
            0 => format!("[{base}]"),
            _ => format!("[{base}+{offset}]"),
        }
    }

    /// The register that holds an array's address.
    fn base(&mut self, array: &Array) -> String {
        match self.values.named(&array.name) {
            Some(register) => register,
            None => self.pure(Type::U64, "mov.u64", std::slice::from_ref(&array.name), None),
        }
    }

    /// The expression with the counters of unrolled loops replaced by their values.
    fn substituted(&self, expression: &Expression) -> Expression {
        self.counters.iter().fold(expression.clone(), |expression, (variable, value)| {
            expression.with(*variable, value)
        })
    }

    fn register_of(&self, variable: Variable) -> String {
        self.places.get(variable.number).cloned().unwrap_or_default()
    }

    fn place(&mut self, variable: Variable, register: String) {
        if let Some(place) = self.places.get_mut(variable.number) {
            *place = register;
        }
    }

    fn forget(&mut self, variable: Variable) {
        let register = self.register_of(variable);
        self.values.forget(&register);
    }

    fn label(&mut self, kind: &str) -> String {
        self.labels += 1;
        format!("${kind}_{}", self.labels)
    }

    fn line(&mut self, text: String) {
        self.lines.push(format!("\t{text}"));
    }
}

/// The variables that get another value in a body.
fn assigned(body: &[Statement]) -> Vec<Variable> {
    let mut found = Vec::new();
    for statement in body {
        match statement {
            Statement::Assign { variable, .. } => found.push(*variable),
            Statement::Load { into, declares: false, .. } => found.extend(into),
            Statement::Assembly { outputs, .. } => found.extend(outputs),
            Statement::Loop(Loop { variable, body, .. }) => {
                found.push(*variable);
                found.extend(assigned(body));
            }
            Statement::If { body, .. } => found.extend(assigned(body)),
            Statement::Declare { .. }
            | Statement::Load { .. }
            | Statement::Store { .. }
            | Statement::Reduce { .. }
            | Statement::Barrier => {}
        }
    }
    found
}

const fn space(array: &Array) -> &'static str {
    match array.place {
        ArrayMemory::Input(_) | ArrayMemory::Output => ".global",
        ArrayMemory::Shared => ".shared",
        ArrayMemory::Constant(_) => ".const",
    }
}

/// `.v2` or `.v4` of several registers.
fn vector(registers: &[String]) -> String {
    match registers.len() {
        1 => String::new(),
        width => format!(".v{width}"),
    }
}

fn operand(registers: &[String]) -> String {
    match registers {
        [one] => one.clone(),
        _ => format!("{{{}}}", registers.join(", ")),
    }
}

/// A number as PTX writes it.
fn number(value: i64, ty: Type) -> String {
    match ty {
        Type::F32 => format!("0f{:08X}", (value as f32).to_bits()),
        Type::F64 => format!("0d{:016X}", (value as f64).to_bits()),
        _ => value.to_string(),
    }
}

/// The bits of a small whole number in half precision.
fn half_bits(value: i64) -> u16 {
    let magnitude = value.unsigned_abs().min(2048);
    if magnitude == 0 {
        return 0;
    }
    let exponent = magnitude.ilog2();
    let fraction = (magnitude - (1 << exponent)) << 10 >> exponent;
    let sign = u64::from(value < 0) << 15;
    (sign | (u64::from(exponent) + 15) << 10 | fraction) as u16
}

/// The type of a `mov`.
fn move_type(ty: Type) -> String {
    match ty {
        Type::F16 => "b16".to_owned(),
        _ => ty.ptx().to_owned(),
    }
}

/// The conversion between types: to nearest into floating point, towards zero out of it.
fn conversion(from: Type, to: Type) -> String {
    let (source, result) = (from.ptx(), to.ptx());
    let rounding = match (from.is_float(), to.is_float()) {
        (true, true) if to.bits() > from.bits() => "",
        (_, true) => ".rn",
        (true, false) => ".rzi",
        (false, false) => "",
    };
    format!("cvt{rounding}.{result}.{source}")
}

#[cfg(test)]
mod tests {
    use super::half_bits;

    #[test]
    fn small_numbers_have_their_bits_in_half_precision() {
        let expected = [(0, 0x0000), (1, 0x3C00), (2, 0x4000), (3, 0x4200), (-5, 0xC500)];
        for (value, bits) in expected {
            assert_eq!(half_bits(value), bits, "{value}");
        }
    }
}

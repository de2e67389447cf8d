//! Variables, registers, parameters and performance directives.

use super::scope::{Family, Symbol};
use super::{Resolver, constant, problem};
use crate::ast::{self, Expression, FunctionDirective, Qualifier};
use crate::module::{
    FunctionId, FunctionKind, Linkage, PointerAttribute, Register, RegisterId, Variable, VariableId,
};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};
use crate::types::StateSpace;

/// Directives of kernels that no device function has.
const KERNEL_DIRECTIVES: &[&str] =
    &[".maxntid", ".reqntid", ".minnctapersm", ".maxnctapersm", ".maxnreg", ".minperctamemory"];

/// More registers than this in one declaration are a mistake; ptxas gives up earlier.
const MAX_FAMILY: u64 = 1 << 24;

/// The parsed qualifiers of a declaration.
pub(super) struct Qualifiers {
    pub(super) align: Option<u32>,
    pub(super) vector: u8,
    pointer: Option<PointerAttribute>,
}

impl<'a> Resolver<'a> {
    /// A constant that is a size, a count or an alignment.
    pub(super) fn size(&self, expression: &Expression<'a>, span: Span) -> Result<u64, Diagnostic> {
        let value = constant::evaluate(expression, span)?;
        match value {
            constant::Constant::Integer { bits, signed } if !signed || bits as i64 >= 0 => Ok(bits),
            _ => Err(problem(
                Code::BadConstant,
                "a size is a whole number that is not negative",
                span,
            )),
        }
    }

    pub(super) fn qualifiers(
        &self,
        variable: &ast::Variable<'a>,
    ) -> Result<Qualifiers, Diagnostic> {
        let mut found = Qualifiers { align: None, vector: 1, pointer: None };
        for qualifier in variable.qualifiers.iter().chain(&variable.pointer) {
            match qualifier {
                Qualifier::Vector(count) => found.vector = *count,
                Qualifier::Align(bytes) => {
                    let bytes = self.size(bytes, variable.span)?;
                    if !bytes.is_power_of_two() || bytes > u64::from(u32::MAX / 2) {
                        let message = format!("an alignment is a power of two, not {bytes}");
                        return Err(problem(Code::BadDeclaration, message, variable.span));
                    }
                    match &mut found.pointer {
                        Some(pointer) => pointer.align = bytes as u32,
                        None => found.align = Some(bytes as u32),
                    }
                }
                // The default alignment of a pointee is 4 (manual, section 5.4.5 on `.ptr`).
                Qualifier::Ptr => found.pointer = Some(PointerAttribute { space: None, align: 4 }),
                Qualifier::Space(space) => match &mut found.pointer {
                    Some(pointer) => pointer.space = Some(*space),
                    None => {
                        let message = format!("`.{}` does not belong here", space.text());
                        return Err(problem(Code::BadDeclaration, message, variable.span));
                    }
                },
                Qualifier::Attribute(_) => {}
            }
        }
        Ok(found)
    }

    /// Declares everything that one declaration names in the innermost scope.
    pub(super) fn declare_variables(
        &mut self,
        variable: &ast::Variable<'a>,
        function: Option<FunctionId>,
    ) -> Result<(), Diagnostic> {
        let qualifiers = self.qualifiers(variable)?;
        for declarator in &variable.declarators {
            match (variable.space, function) {
                (StateSpace::Reg | StateSpace::Sreg, Some(function)) => {
                    self.declare_register(variable, declarator, qualifiers.vector, function)?;
                }
                (StateSpace::Reg | StateSpace::Sreg, None) => {
                    return Err(problem(
                        Code::BadDeclaration,
                        "registers are declared in functions",
                        variable.span,
                    ));
                }
                _ => self.declare_variable(variable, declarator, &qualifiers, function)?,
            }
        }
        Ok(())
    }

    fn declare_register(
        &mut self,
        variable: &ast::Variable<'a>,
        declarator: &ast::Declarator<'a>,
        vector: u8,
        function: FunctionId,
    ) -> Result<(), Diagnostic> {
        let ty = variable.ty;
        let name = declarator.name.map_or("_", |name| name.text);
        let span = declarator.name.map_or(variable.span, |name| name.span);
        if !declarator.dimensions.is_empty() || declarator.initializer.is_some() {
            return Err(problem(
                Code::BadDeclaration,
                "a register is neither an array nor initialised",
                span,
            ));
        }
        let Some(count) = &declarator.count else {
            let id = self.new_register(function, name, ty, vector);
            if name != "_" && !self.scopes.declare(name, Symbol::Register(id)) {
                return Err(problem(
                    Code::DeclaredTwice,
                    format!("`{name}` is declared twice"),
                    span,
                ));
            }
            return Ok(());
        };
        let count = self.size(count, span)?;
        if count > MAX_FAMILY {
            return Err(problem(
                Code::BadDeclaration,
                format!("{count} registers are too many"),
                span,
            ));
        }
        let family = Family { ty, vector, count: count as u32 };
        if !self.scopes.declare_family(name, family) {
            return Err(problem(
                Code::DeclaredTwice,
                format!("`{name}<…>` is declared twice"),
                span,
            ));
        }
        Ok(())
    }

    pub(super) fn new_register(
        &mut self,
        function: FunctionId,
        name: &str,
        ty: crate::types::ScalarType,
        vector: u8,
    ) -> RegisterId {
        let registers = &mut self.module.functions[function.index()].registers;
        let id = RegisterId(registers.len() as u32);
        registers.push(Register { name: name.to_owned(), ty, vector });
        id
    }

    fn declare_variable(
        &mut self,
        variable: &ast::Variable<'a>,
        declarator: &ast::Declarator<'a>,
        qualifiers: &Qualifiers,
        function: Option<FunctionId>,
    ) -> Result<(), Diagnostic> {
        let name = declarator.name.map_or("_", |name| name.text);
        let span = declarator.name.map_or(variable.span, |name| name.span);
        let too_large = || problem(Code::BadDeclaration, format!("`{name}` is too large"), span);
        let element = u64::from(variable.ty.bytes()) * u64::from(qualifiers.vector);
        // Parameters of functions may be empty or, the last one, of any length.
        let is_function = function
            .is_some_and(|id| self.module.functions[id.index()].kind == FunctionKind::Device);
        let may_be_empty = variable.linkage == Linkage::Extern
            || variable.space == StateSpace::Param && is_function;
        let mut size = element;
        let mut dimensions = Vec::new();
        let initial = declarator.initializer.as_ref();
        for (index, dimension) in declarator.dimensions.iter().enumerate() {
            let length = match dimension {
                Some(length) => match self.size(length, span)? {
                    0 if !may_be_empty => {
                        return Err(problem(
                            Code::BadDeclaration,
                            format!("`{name}` has no elements"),
                            span,
                        ));
                    }
                    length => length,
                },
                // `x[] = {1, 2, 3}` has as many elements as are written.
                None if index == 0 => match initial {
                    Some(ast::Initializer::List(items)) if !items.is_empty() => items.len() as u64,
                    _ if may_be_empty => 0,
                    _ => {
                        return Err(problem(
                            Code::BadDeclaration,
                            format!("`{name}` has no length"),
                            span,
                        ));
                    }
                },
                None => {
                    return Err(problem(
                        Code::BadDeclaration,
                        "only the first dimension may be left out",
                        span,
                    ));
                }
            };
            dimensions.push(length);
            size = size.checked_mul(length).ok_or_else(too_large)?;
        }
        // Sizes become addresses, so they stay far from the end of the address space.
        if size > 1 << 48 {
            return Err(too_large());
        }
        if variable.ty == crate::types::ScalarType::Pred {
            return Err(problem(
                Code::BadDeclaration,
                "a predicate is a register; it has no place in memory",
                span,
            ));
        }
        if let Some(count) = &declarator.count {
            // `.param .b32 p<4>` declares four variables of ordinary names.
            let count = self.size(count, span)?;
            let hint = Some(format!("declare {count} variables, or an array"));
            return Err(Diagnostic {
                hint,
                ..problem(Code::BadDeclaration, "`<…>` is for registers", span)
            });
        }
        let initializer = match initial {
            Some(_) if !matches!(variable.space, StateSpace::Global | StateSpace::Const) => {
                let message = format!(
                    "`{name}` is in .{} memory, which has no initial value",
                    variable.space.text()
                );
                return Err(problem(Code::BadDeclaration, message, span));
            }
            Some(_) if variable.linkage == Linkage::Extern => {
                let message = format!("`{name}` is `.extern`, so it has no initial value here");
                return Err(problem(Code::BadDeclaration, message, span));
            }
            Some(initializer) => {
                self.initializer(initializer, variable.ty, &dimensions, qualifiers.vector, span)?
            }
            None => Vec::new(),
        };
        let resolved = Variable {
            name: name.to_owned(),
            space: variable.space,
            ty: variable.ty,
            vector: qualifiers.vector,
            dimensions,
            align: qualifiers.align.unwrap_or(element as u32),
            size_bytes: size,
            linkage: variable.linkage,
            function,
            pointer: qualifiers.pointer,
            initializer,
            span,
        };
        if name != "_" && self.scopes.is_taken(name) {
            return self.redeclare(name, resolved);
        }
        let id = VariableId(self.module.variables.len() as u32);
        self.module.variables.push(resolved);
        if name != "_" {
            self.scopes.declare(name, Symbol::Variable(id));
        }
        Ok(())
    }

    /// A second declaration is fine if one of the two is `.extern`.
    fn redeclare(&mut self, name: &str, second: Variable) -> Result<(), Diagnostic> {
        use Linkage::Extern;
        if let Some(Symbol::Variable(id)) = self.scopes.find(name) {
            let first = &mut self.module.variables[id.index()];
            let linked = first.linkage == Extern || second.linkage == Extern;
            if linked && first.space == second.space && first.ty == second.ty {
                if second.linkage != Extern {
                    *first = second;
                }
                return Ok(());
            }
        }
        Err(problem(Code::DeclaredTwice, format!("`{name}` is declared twice"), second.span))
    }

    /// `.maxntid` and its relatives.
    pub(super) fn directive(
        &mut self,
        directive: &FunctionDirective<'a>,
        function: FunctionId,
    ) -> Result<(), Diagnostic> {
        let span = directive.name.span;
        let mut numbers = Vec::new();
        for value in &directive.values {
            let number = self.size(value, span)?;
            let number = u32::try_from(number).map_err(|_| {
                problem(Code::BadDirective, format!("{number} is too large here"), span)
            })?;
            numbers.push(number);
        }
        let expected = |what: &str| {
            problem(Code::BadDirective, format!("`{}` takes {what}", directive.name.text), span)
        };
        let one = || match numbers[..] {
            [number] => Ok(Some(number)),
            _ => Err(expected("one number")),
        };
        let three = || match numbers[..] {
            [x] => Ok(Some([x, 1, 1])),
            [x, y] => Ok(Some([x, y, 1])),
            [x, y, z] => Ok(Some([x, y, z])),
            _ => Err(expected("one to three numbers")),
        };
        let one_of_two =
            || problem(Code::BadDirective, "`.maxntid` and `.reqntid` do not go together", span);
        let none = || if numbers.is_empty() { Ok(true) } else { Err(expected("no number")) };
        let function = &mut self.module.functions[function.index()];
        let is_kernel = function.kind == FunctionKind::Entry;
        let name = directive.name.text;
        let known = &mut function.directives;
        if KERNEL_DIRECTIVES.contains(&name) && !is_kernel {
            return Err(problem(Code::BadDirective, format!("`{name}` is for kernels"), span));
        }
        if KERNEL_DIRECTIVES.contains(&name) && numbers.contains(&0) {
            return Err(problem(
                Code::BadDirective,
                format!("`{name}` takes numbers from 1 on"),
                span,
            ));
        }
        match name {
            ".maxntid" if known.reqntid.is_some() => return Err(one_of_two()),
            ".reqntid" if known.maxntid.is_some() => return Err(one_of_two()),
            ".noreturn" if is_kernel => {
                return Err(problem(
                    Code::BadDirective,
                    "`.noreturn` is for functions; a kernel returns",
                    span,
                ));
            }
            ".maxntid" => known.maxntid = three()?,
            ".reqntid" => known.reqntid = three()?,
            ".minnctapersm" => known.minnctapersm = one()?,
            ".maxnctapersm" => known.maxnctapersm = one()?,
            ".maxnreg" => known.maxnreg = one()?,
            ".reqnctapercluster" => known.reqnctapercluster = three()?,
            ".maxclusterrank" => known.maxclusterrank = one()?,
            ".explicitcluster" => known.explicitcluster = none()?,
            ".noreturn" => function.no_return = none()?,
            ".blocksareclusters" => known.blocksareclusters = none()?,
            // Hints about the stack frame and calling convention; nothing depends on them.
            ".abi_preserve" | ".abi_preserve_control" | ".unique" => {}
            ".minperctamemory" => known.minperctamemory = one()?,
            ".language" => {
                if let Some(unknown) = directive.strings.iter().find(|string| !is_language(string))
                {
                    return Err(problem(
                        Code::BadDirective,
                        format!("{unknown} is no language known to PTX"),
                        span,
                    ));
                }
            }
            ".pragma" => {
                let strings = directive.strings.iter();
                known.pragmas.extend(strings.map(|text| text.trim_matches('"').to_owned()));
            }
            unknown => {
                const KNOWN: &[&str] = &[
                    ".maxntid",
                    ".reqntid",
                    ".minnctapersm",
                    ".maxnctapersm",
                    ".maxnreg",
                    ".reqnctapercluster",
                    ".maxclusterrank",
                    ".explicitcluster",
                    ".blocksareclusters",
                    ".minperctamemory",
                    ".noreturn",
                    ".language",
                    ".pragma",
                ];
                let near = crate::parser::nearest(unknown, KNOWN.iter().copied());
                return Err(Diagnostic {
                    code: Code::UnknownDirective,
                    message: format!("unknown directive `{unknown}`"),
                    span,
                    hint: near.map(|near| format!("did you mean `{near}`?")),
                });
            }
        }
        Ok(())
    }
}

/// Returns true for a name that `.language` may have (manual of ISA 9.4, section 11.8.2), or its
/// number from 0 to 10.
fn is_language(text: &str) -> bool {
    const NAMES: [&str; 9] = [
        "\"unknown\"",
        "\"ptx\"",
        "\"nvvm\"",
        "\"cuda c++\"",
        "\"cuda c++ tile\"",
        "\"tile ir\"",
        "\"python-cutile\"",
        "\"fortran\"",
        "\"optix\"",
    ];
    let digits = text.strip_prefix("0x").or(text.strip_prefix("0X"));
    let number = digits.map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
    number.is_ok_and(|number| number <= 10)
        || NAMES.iter().any(|name| name.eq_ignore_ascii_case(text))
}

//! Statements of a function body.

use smallvec::SmallVec;

use super::scope::Symbol;
use super::{DirectivesSeen, Resolver, problem};
use crate::ast::{self, Name, Statement, StatementKind};
use crate::isa::{Access, OperandShape};
use crate::module::{
    Body, FunctionId, Guard, Instruction, Label, LabelId, Location, Operand, Prototype,
    PrototypeId, TargetList, TargetListId,
};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};
use crate::types::ScalarType;

/// The labels that each scope of a body declares, in order of the scopes' opening braces.
type ScopeLabels<'a> = Vec<Vec<(&'a str, Symbol, Span)>>;

impl<'a> Resolver<'a> {
    pub(super) fn body(&mut self, statements: &[Statement<'a>], function: FunctionId) -> Body {
        let mut body = Body::default();
        let mut scopes = self.collect_labels(statements, &mut body).into_iter();
        self.declare_labels(scopes.next());
        let mut location = None;
        self.places.begin_function();
        // Labels and lists are numbered in order of the text, which is the order of this walk.
        let (mut labels, mut lists) = (0, 0);
        self.directives_seen = DirectivesSeen::default();
        for (index, statement) in statements.iter().enumerate() {
            let result = match &statement.kind {
                StatementKind::Open => {
                    self.scopes.open();
                    self.declare_labels(scopes.next());
                    Ok(())
                }
                StatementKind::Close => {
                    self.scopes.close();
                    Ok(())
                }
                StatementKind::Label(_) => {
                    if !names_directive(statements, index) {
                        body.labels[labels].instruction = body.instructions.len() as u32;
                        labels += 1;
                    }
                    Ok(())
                }
                StatementKind::Instruction(instruction) => {
                    self.prelude.clear();
                    self.instruction(instruction, statement.span, location, function).map(
                        |resolved| {
                            for first in self.prelude.drain(..) {
                                body.instructions.push(first.before(&resolved));
                            }
                            body.instructions.push(resolved);
                        },
                    )
                }
                StatementKind::Variable(variable) => {
                    self.declare_variables(variable, Some(function))
                }
                StatementKind::Loc(loc) => {
                    location = self.places.read(loc, &mut self.module.inlined);
                    Ok(())
                }
                StatementKind::Targets(directive, names) => {
                    lists += 1;
                    self.directives_seen.lists = lists as u32;
                    self.targets(directive, names)
                        .map(|targets| body.target_lists[lists - 1] = targets)
                }
                StatementKind::Pragma(strings) => {
                    let texts = strings.iter().map(|text| text.trim_matches('"').to_owned());
                    let known = &mut self.module.functions[function.index()].directives;
                    known.pragmas.extend(texts);
                    Ok(())
                }
                // Prototypes were read together with the labels that name them.
                StatementKind::Prototype(_) => {
                    self.directives_seen.prototypes += 1;
                    Ok(())
                }
                StatementKind::DebugLine(_) | StatementKind::LocIntermediate(_) => Ok(()),
            };
            if let Err(diagnostic) = result {
                self.report(diagnostic);
            }
        }
        body
    }

    /// Number every label, list and prototype of a body, and note which scope names it.
    fn collect_labels(&mut self, statements: &[Statement<'a>], body: &mut Body) -> ScopeLabels<'a> {
        let mut scopes: ScopeLabels<'a> = vec![Vec::new()];
        let mut open = vec![0];
        // A label directly before a directive names the directive.
        let mut pending: Option<(&'a str, Span)> = None;
        for (index, statement) in statements.iter().enumerate() {
            let named = match &statement.kind {
                StatementKind::Open => {
                    open.push(scopes.len());
                    scopes.push(Vec::new());
                    continue;
                }
                StatementKind::Close => {
                    open.pop();
                    continue;
                }
                StatementKind::Label(name) if names_directive(statements, index) => {
                    pending = Some((name, statement.span));
                    continue;
                }
                StatementKind::Label(name) => {
                    let id = LabelId(body.labels.len() as u32);
                    body.labels.push(Label { name: (*name).to_owned(), instruction: 0 });
                    Some((*name, Symbol::Label(id), statement.span))
                }
                StatementKind::Targets(..) => {
                    let id = TargetListId(body.target_lists.len() as u32);
                    body.target_lists.push(TargetList::Labels(Vec::new()));
                    pending.take().map(|(name, span)| (name, Symbol::Targets(id), span))
                }
                StatementKind::Prototype(prototype) => {
                    let id = PrototypeId(body.prototypes.len() as u32);
                    let named = pending.take();
                    let name = named.map_or("", |(name, _)| name);
                    match self.prototype(name, prototype, statement.span) {
                        Ok(prototype) => body.prototypes.push(prototype),
                        Err(diagnostic) => {
                            self.report(diagnostic);
                            continue;
                        }
                    }
                    named.map(|(name, span)| (name, Symbol::Prototype(id), span))
                }
                _ => continue,
            };
            if let (Some(named), Some(&scope)) = (named, open.last()) {
                scopes[scope].push(named);
            }
        }
        scopes
    }

    fn declare_labels(&mut self, labels: Option<Vec<(&'a str, Symbol, Span)>>) {
        for (name, symbol, span) in labels.into_iter().flatten() {
            if !self.scopes.declare(name, symbol) {
                self.report(problem(
                    Code::DeclaredTwice,
                    format!("`{name}` is declared twice"),
                    span,
                ));
            }
        }
    }

    fn instruction(
        &mut self,
        instruction: &ast::Instruction<'a>,
        span: Span,
        location: Option<Location>,
        function: FunctionId,
    ) -> Result<Instruction, Diagnostic> {
        let guard = match instruction.guard {
            Some(guard) => {
                let register = self.register(guard.name, function)?;
                let registers = &self.module.functions[function.index()].registers;
                if registers[register.index()].ty != ScalarType::Pred {
                    let message = format!("the guard `{}` is not a predicate", guard.name.text);
                    return Err(problem(Code::WrongOperand, message, guard.name.span));
                }
                Some(Guard { register, negated: guard.negated })
            }
            None => None,
        };
        let mut operands: SmallVec<[Operand; 4]> = SmallVec::new();
        let mut computes_first = false;
        for operand in &instruction.operands {
            operands.push(self.operand(operand, function)?);
            computes_first |= operands.len() == 1 && !self.prelude.is_empty();
        }
        self.reinterpret(instruction, &mut operands, function);
        let form = self.check(instruction, &operands, span, function)?;
        let first = form.form().operands.first();
        if computes_first && first.is_some_and(|first| writes(first, &operands)) {
            let at = instruction.operands.first().map_or(span, |operand| operand.span);
            return Err(problem(
                Code::WrongOperand,
                "a result goes to a register, without an offset",
                at,
            ));
        }
        Ok(Instruction {
            opcode: instruction.opcode,
            form,
            modifiers: instruction.modifiers.clone(),
            guard,
            operands,
            span,
            location,
        })
    }

    fn targets(&self, directive: &str, names: &[Name<'a>]) -> Result<TargetList, Diagnostic> {
        let mut labels = Vec::new();
        let mut functions = Vec::new();
        for &name in names {
            match (directive, self.scopes.find(name.text)) {
                (".branchtargets", Some(Symbol::Label(label))) => labels.push(label),
                (".calltargets", Some(Symbol::Function(callee))) => functions.push(callee),
                (".branchtargets", _) => return Err(self.undefined("label", name)),
                _ => return Err(self.undefined("function", name)),
            }
        }
        Ok(if directive == ".branchtargets" {
            TargetList::Labels(labels)
        } else {
            TargetList::Functions(functions)
        })
    }

    fn prototype(
        &self,
        name: &str,
        prototype: &ast::Prototype<'a>,
        span: Span,
    ) -> Result<Prototype, Diagnostic> {
        let sizes = |variables: Option<&Vec<ast::Variable<'a>>>| {
            variables
                .into_iter()
                .flatten()
                .map(|variable| self.parameter_size(variable, span))
                .collect::<Result<Vec<_>, _>>()
        };
        Ok(Prototype {
            name: name.to_owned(),
            returns: sizes(prototype.returns.as_ref())?,
            params: sizes(prototype.params.as_ref())?,
        })
    }

    /// Size and alignment in bytes of a parameter of a prototype.
    fn parameter_size(
        &self,
        variable: &ast::Variable<'a>,
        span: Span,
    ) -> Result<(u64, u32), Diagnostic> {
        let qualifiers = self.qualifiers(variable)?;
        let element = u64::from(variable.ty.bytes()) * u64::from(qualifiers.vector);
        let mut size = element;
        let dimensions = variable.declarators.iter().flat_map(|declarator| &declarator.dimensions);
        for dimension in dimensions.flatten() {
            let length = self.size(dimension, span)?;
            let too_large = || problem(Code::WrongOperand, "this parameter is too large", span);
            size = size.checked_mul(length).ok_or_else(too_large)?;
        }
        Ok((size, qualifiers.align.unwrap_or(element as u32)))
    }
}

/// Returns true if the first operand is a result in a register.
fn writes(shape: &OperandShape, operands: &[Operand]) -> bool {
    shape.access != Access::Read && !matches!(operands.first(), Some(Operand::Address(_)))
}

/// Returns true if the label at `index` names the `.branchtargets`, `.calltargets` or
/// `.callprototype` behind it, and not an instruction.
fn names_directive(statements: &[Statement<'_>], index: usize) -> bool {
    matches!(
        statements.get(index + 1).map(|statement| &statement.kind),
        Some(StatementKind::Targets(..) | StatementKind::Prototype(_))
    )
}

//! A syntax tree to a [`Module`]: names become indices, instructions are matched against the
//! table and checked by the manual's type rules.
//!
//! NVIDIA's assembler refuses everything that is refused here; the reverse is the aim. The known
//! exceptions are not checked: alignment and value ranges of operands, `.param` conventions of
//! calls, and limits of resources.

mod body;
mod check;
mod constant;
mod declaration;
mod initializer;
mod inlined;
mod operand;
mod prelude;
mod scope;

use crate::ast::{File, Function as FunctionItem, Item, Name};
use crate::hash::FastMap;
use crate::isa::{FormId, Modifier, Opcode, Since};
use crate::module::{Formal, Function, FunctionId, FunctionKind, Linkage, Module, Operand};
use crate::module::{Lookup, PerformanceDirectives};
use crate::parser::{nearest, parse_each};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};
use crate::types::StateSpace;
use inlined::Places;
use prelude::Prelude;
use scope::{Scopes, Symbol};
use smallvec::SmallVec;

/// Parse, resolve and check a text.
///
/// # Errors
///
/// Everything that is wrong with the text, in order of its position; never empty.
pub fn load(text: &str) -> Result<Module, Vec<Diagnostic>> {
    let mut resolver = Resolver::new();
    let mut diagnostics = parse_each(text, |item| resolver.item(&item));
    resolver.finish(diagnostics.is_empty());
    // Names that a broken statement would have declared are missing now; only the cause counts.
    let complete = diagnostics.is_empty();
    let further = resolver.diagnostics.into_iter();
    diagnostics
        .extend(further.filter(|diagnostic| complete || diagnostic.code != Code::UndefinedName));
    if diagnostics.is_empty() {
        return Ok(resolver.module);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    Err(diagnostics)
}

/// Resolves a parsed file.
///
/// # Errors
///
/// Everything that the resolver found wrong, in the order of the text; never empty.
pub fn resolve(file: &File<'_>) -> Result<Module, Vec<Diagnostic>> {
    let mut resolver = Resolver::new();
    file.items.iter().for_each(|item| resolver.item(item));
    resolver.finish(true);
    if resolver.diagnostics.is_empty() { Ok(resolver.module) } else { Err(resolver.diagnostics) }
}

/// The facts known of a mnemonic with its modifiers once it has been met.
struct KnownForms {
    /// The rows whose modifiers fit.
    fitting: SmallVec<[FormId; 2]>,
    /// The row that version and target were found to allow. They depend on nothing else but the
    /// modifiers, so the answer holds for every further instance.
    allowed: Option<FormId>,
}

/// By mnemonic and modifiers as written, the index into [`Resolver::known_forms`].
type FormCache = FastMap<(Opcode, SmallVec<[Modifier; 6]>), usize>;

/// Words that may stand in `.target` besides the architecture (manual, section 11.1.2).
const TARGET_OPTIONS: &[&str] =
    &["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

/// A diagnostic without a hint.
fn problem(code: Code, message: impl Into<String>, span: Span) -> Diagnostic {
    Diagnostic { code, message: message.into(), span, hint: None }
}

/// The target lists and prototypes of a body that the walk has passed.
#[derive(Clone, Copy, Default)]
struct DirectivesSeen {
    lists: u32,
    prototypes: u32,
}

struct Resolver<'a> {
    module: Module,
    scopes: Scopes<'a>,
    diagnostics: Vec<Diagnostic>,
    forms: FormCache,
    known_forms: Vec<KnownForms>,
    /// Place of the text's first item: its `.version`, else the default.
    first: Option<Span>,
    directives_seen: DirectivesSeen,
    /// Instructions that compute operands such as `%r1 + 4`, to go before the instruction at hand.
    prelude: Vec<Prelude>,
    /// `.alias` directives, applied to all code at the end.
    aliases: Vec<(FunctionId, FunctionId)>,
    places: Places<'a>,
}

impl<'a> Resolver<'a> {
    fn new() -> Self {
        Self {
            module: Module {
                isa_version: (0, 0),
                target_sm: 0,
                target: String::new(),
                address_bits: 0,
                files: Vec::new(),
                inlined: Vec::new(),
                variables: Vec::new(),
                functions: Vec::new(),
                lookup: Lookup::default(),
            },
            scopes: Scopes::new(),
            diagnostics: Vec::new(),
            forms: FormCache::default(),
            known_forms: Vec::new(),
            first: None,
            directives_seen: DirectivesSeen::default(),
            prelude: Vec::new(),
            aliases: Vec::new(),
            places: Places::default(),
        }
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.diagnostics.push(diagnostic);
    }

    /// Resolves the next item of the text.
    fn item(&mut self, item: &Item<'a>) {
        if self.first.is_none() {
            self.first = Some(match item {
                Item::Version(version) => version.span,
                _ => {
                    self.begin_with_version("the text does not begin with `.version`");
                    Span::default()
                }
            });
        }
        match item {
            Item::Version(version) => self.version(*version),
            Item::Target(names) => self.target(names),
            Item::AddressSize(bits) => self.address_size(*bits),
            Item::Section(section) => self.places.section(section),
            Item::DebugLine(_) | Item::Pragma(_) => {}
            Item::File(file) => {
                let index = file.index.parse().unwrap_or_default();
                self.module.files.push((index, file.name.trim_matches('"').to_owned()));
            }
            Item::Alias { alias, target } => {
                if let Err(diagnostic) = self.alias(*alias, *target) {
                    self.report(diagnostic);
                }
            }
            Item::Variable(variable) => {
                self.default_address_size();
                if let Err(diagnostic) = self.declare_variables(variable, None) {
                    self.report(diagnostic);
                }
            }
            Item::Function(function) => {
                self.default_address_size();
                if let Err(diagnostic) = self.function(function) {
                    self.report(diagnostic);
                }
            }
        }
    }

    /// Makes the checks that need the whole text.
    ///
    /// `complete` says that nothing of it was left out because it could not be parsed.
    fn finish(&mut self, complete: bool) {
        self.default_address_size();
        match self.first {
            None if complete => self.begin_with_version("the text is empty"),
            None => self.begin_with_version("the text does not begin with `.version`"),
            Some(first) if first != Span::default() && self.module.target.is_empty() => {
                self.report(Diagnostic {
                    code: Code::MissingTarget,
                    message: "there is no `.target` after `.version`".to_owned(),
                    span: first,
                    hint: Some("write for example `.target sm_80`".to_owned()),
                });
            }
            Some(_) => {}
        }
        self.apply_aliases();
        self.places.name_callees(&mut self.module.inlined);
    }

    fn begin_with_version(&mut self, message: &str) {
        let hint = "PTX begins with `.version`, `.target` and `.address_size`".to_owned();
        let span = Span::default();
        self.report(Diagnostic {
            code: Code::MissingVersion,
            message: message.to_owned(),
            span,
            hint: Some(hint),
        });
    }

    fn version(&mut self, version: Name<'a>) {
        if self.module.isa_version != (0, 0) {
            let message = "the text has one `.version`, at its beginning";
            self.report(problem(Code::DeclaredTwice, message, version.span));
            return;
        }
        match parse_version(version.text) {
            Some(pair) => {
                self.module.isa_version = pair;
                let (major, minor) = Since::NEWEST.isa;
                if pair > (major, minor) {
                    self.report(Diagnostic {
                        code: Code::UnknownVersion,
                        message: format!(
                            "PTX ISA {} is not known here: {major}.{minor} is the newest",
                            version.text
                        ),
                        span: version.span,
                        hint: Some(format!(
                            "write `.version {major}.{minor}` if the text needs nothing newer"
                        )),
                    });
                }
            }
            None => self.report(Diagnostic {
                code: Code::UnknownVersion,
                message: format!("`{}` is not a PTX version", version.text),
                span: version.span,
                hint: Some("write it like `.version 8.0`".to_owned()),
            }),
        }
    }

    fn target(&mut self, names: &[Name<'a>]) {
        if !self.module.target.is_empty() {
            let span = names.first().map_or_else(Span::default, |name| name.span);
            self.report(problem(Code::DeclaredTwice, "the text has one `.target`", span));
            return;
        }
        for name in names {
            if parse_target(name.text).is_none() && !TARGET_OPTIONS.contains(&name.text) {
                let message = format!("`{}` is not a target", name.text);
                self.report(Diagnostic {
                    hint: Some("write it like `.target sm_80`".to_owned()),
                    ..problem(Code::UnknownTarget, message, name.span)
                });
            }
        }
        let texts: Vec<&str> = names.iter().map(|name| name.text).collect();
        self.module.target = texts.join(", ");
        let sm = names.iter().find_map(|name| parse_target(name.text));
        match (sm, names.first()) {
            (Some(sm), Some(first)) if sm > Since::NEWEST.target.sm => {
                self.module.target_sm = sm;
                self.report(Diagnostic {
                    code: Code::UnknownTarget,
                    message: format!("`{}` is no target of any known PTX ISA", first.text),
                    span: first.span,
                    hint: Some(format!("the newest is {}", Since::NEWEST.target)),
                });
            }
            (Some(sm), _) => self.module.target_sm = sm,
            (None, _) => {}
        }
    }

    fn address_size(&mut self, bits: Name<'a>) {
        let known = self.module.address_bits;
        self.module.address_bits = match bits.text {
            "64" => 64,
            "32" => 32,
            text => {
                let message = format!("the address size is 32 or 64, not {text}");
                self.report(problem(Code::BadDirective, message, bits.span));
                64
            }
        };
        if known != 0 && known != self.module.address_bits {
            self.report(Diagnostic {
                hint: Some("write it directly after `.target`".to_owned()),
                ..problem(Code::BadDirective, "the address size comes too late here", bits.span)
            });
        }
    }

    /// 32 bits where nothing else is said (manual, section 11.1.3).
    fn default_address_size(&mut self) {
        if self.module.address_bits == 0 {
            self.module.address_bits = 32;
        }
    }

    fn alias(&mut self, alias: Name<'a>, target: Name<'a>) -> Result<(), Diagnostic> {
        let mut ids = [FunctionId(0); 2];
        for (id, name) in ids.iter_mut().zip([alias, target]) {
            match self.scopes.find(name.text) {
                Some(Symbol::Function(function)) => *id = function,
                _ => return Err(self.undefined("function", name)),
            }
        }
        if self.module.functions[ids[1].index()].body.is_none() {
            let message = format!("`{}` is not defined in this text", target.text);
            return Err(problem(Code::BadDirective, message, target.span));
        }
        self.aliases.push((ids[0], ids[1]));
        Ok(())
    }

    /// Lets every use of an alias refer to its target.
    fn apply_aliases(&mut self) {
        fn replace(operand: &mut Operand, aliases: &[(FunctionId, FunctionId)]) {
            match operand {
                Operand::Function(function) => {
                    if let Some(&(_, target)) = aliases.iter().find(|(from, _)| from == function) {
                        *function = target;
                    }
                }
                Operand::Vector(operands) | Operand::List(operands) => {
                    operands.iter_mut().for_each(|operand| replace(operand, aliases));
                }
                _ => {}
            }
        }
        if self.aliases.is_empty() {
            return;
        }
        let bodies = self.module.functions.iter_mut().filter_map(|function| function.body.as_mut());
        for body in bodies {
            for operand in
                body.instructions.iter_mut().flat_map(|instruction| &mut instruction.operands)
            {
                replace(operand, &self.aliases);
            }
        }
    }

    fn function(&mut self, item: &FunctionItem<'a>) -> Result<(), Diagnostic> {
        let id = self.declare_function(item)?;
        self.scopes.enter_function();
        let returns = self.formals(item.returns.as_deref(), id);
        let params = self.formals(item.params.as_deref(), id);
        let function = &mut self.module.functions[id.index()];
        function.returns = returns;
        function.params = params;
        for directive in &item.directives {
            if let Err(diagnostic) = self.directive(directive, id) {
                self.report(diagnostic);
            }
        }
        if let Some(statements) = &item.body {
            let body = self.body(statements, id);
            self.module.functions[id.index()].body = Some(body);
        }
        self.scopes.leave_function();
        Ok(())
    }

    /// The function's index: a new one, or that of its earlier declaration.
    fn declare_function(&mut self, item: &FunctionItem<'a>) -> Result<FunctionId, Diagnostic> {
        let name = item.name;
        match self.scopes.find(name.text) {
            Some(Symbol::Function(id)) => {
                let known = &mut self.module.functions[id.index()];
                if known.body.is_some() {
                    let message = format!("`{}` is already defined", name.text);
                    return Err(problem(Code::BadDirective, message, name.span));
                }
                known.registers.clear();
                known.span = name.span;
                if item.linkage != Linkage::Internal {
                    known.linkage = item.linkage;
                }
                Ok(id)
            }
            Some(_) => Err(problem(
                Code::DeclaredTwice,
                format!("`{}` is already defined", name.text),
                name.span,
            )),
            None => {
                let id = FunctionId(self.module.functions.len() as u32);
                self.module.functions.push(Function {
                    name: name.text.to_owned(),
                    kind: item.kind,
                    linkage: item.linkage,
                    no_return: false,
                    returns: Vec::new(),
                    params: Vec::new(),
                    directives: PerformanceDirectives::default(),
                    registers: Vec::new(),
                    body: None,
                    span: name.span,
                });
                self.scopes.declare(name.text, Symbol::Function(id));
                if item.kind == FunctionKind::Entry && item.returns.is_some() {
                    return Err(problem(Code::BadDirective, "a kernel returns nothing", name.span));
                }
                Ok(id)
            }
        }
    }

    fn formals(
        &mut self,
        variables: Option<&[crate::ast::Variable<'a>]>,
        function: FunctionId,
    ) -> Vec<Formal> {
        let mut formals = Vec::new();
        let is_kernel = self.module.functions[function.index()].kind == FunctionKind::Entry;
        for variable in variables.unwrap_or_default() {
            if is_kernel && variable.space != StateSpace::Param {
                let message = "parameters of kernels are in .param memory";
                self.report(problem(Code::BadDeclaration, message, variable.span));
                continue;
            }
            let registers = self.module.functions[function.index()].registers.len();
            let count = self.module.variables.len();
            if let Err(diagnostic) = self.declare_variables(variable, Some(function)) {
                self.report(diagnostic);
                continue;
            }
            formals.push(match variable.space {
                StateSpace::Reg => Formal::Register(crate::module::RegisterId(registers as u32)),
                _ => Formal::Variable(crate::module::VariableId(count as u32)),
            });
        }
        formals
    }

    /// A name that nothing declares, with the nearest one that something does.
    fn undefined(&self, what: &str, name: Name<'_>) -> Diagnostic {
        let near = nearest(name.text, self.scopes.names());
        Diagnostic {
            code: Code::UndefinedName,
            message: format!("{what} `{}` is not defined", name.text),
            span: name.span,
            hint: near.map(|near| format!("did you mean `{near}`?")),
        }
    }
}

/// `8.0` as `(8, 0)`.
fn parse_version(text: &str) -> Option<(u8, u8)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// `sm_90a` as 90.
fn parse_target(text: &str) -> Option<u32> {
    let number = text.strip_prefix("sm_").or_else(|| text.strip_prefix("compute_"))?;
    number.trim_end_matches(['a', 'f']).parse().ok()
}

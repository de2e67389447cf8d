//! Matching an instruction to its row of the table, and the manual's type rules.

use smallvec::SmallVec;

use super::{KnownForms, Resolver, problem};
use crate::ast::Instruction;
use crate::isa::{
    Access, Count, Form, FormId, InstructionClass, Modifier, ModifierMismatch, Opcode, OperandKind,
    OperandShape, PairResult, ShapeType, SpecialRegister, forms_of, match_modifiers,
};
use crate::module::{Address, AddressBase, FunctionId, Immediate, Operand, Register, RegisterId};
use crate::source::{Diagnostic, Span};
use crate::types::{ScalarType, StateSpace, TypeKind};

/// Why an operand does not fit its place.
struct Misfit {
    message: String,
    hint: Option<String>,
}

fn misfit(message: impl Into<String>) -> Misfit {
    Misfit { message: message.into(), hint: None }
}

impl<'a> Resolver<'a> {
    /// The row that `instruction` is an instance of.
    pub(super) fn check(
        &mut self,
        instruction: &Instruction<'a>,
        operands: &[Operand],
        span: Span,
        function: FunctionId,
    ) -> Result<FormId, Diagnostic> {
        let known = self.matching_forms(instruction, span)?;
        let context = Context {
            resolver: self,
            registers: &self.module.functions[function.index()].registers,
            modifiers: &instruction.modifiers,
            types: instruction.modifiers.iter().filter_map(|one| one.as_type()).collect(),
        };
        // The first row whose operands fit; else what is wrong with the row that fits furthest.
        let mut best: Option<(usize, Diagnostic)> = None;
        for &id in &self.known_forms[known].fitting {
            let form = id.form();
            let (fitting, diagnostic) = match context.fit(form, operands) {
                Ok(()) => {
                    if self.known_forms[known].allowed != Some(id) {
                        self.check_since(form, instruction, span)?;
                        self.known_forms[known].allowed = Some(id);
                    }
                    return Ok(id);
                }
                Err((index, misfit)) => {
                    let at = instruction.operands.get(index).map_or(span, |operand| operand.span);
                    (index, Diagnostic { message: misfit.message, span: at, hint: misfit.hint })
                }
            };
            if best.as_ref().is_none_or(|(furthest, _)| fitting > *furthest) {
                best = Some((fitting, diagnostic));
            }
        }
        Err(best.map_or_else(
            || problem(format!("`{}` has no such form", instruction.opcode), span),
            |(_, diagnostic)| diagnostic,
        ))
    }

    /// The index of what is known of the instruction's mnemonic and modifiers.
    fn matching_forms(
        &mut self,
        instruction: &Instruction<'a>,
        span: Span,
    ) -> Result<usize, Diagnostic> {
        let key = (instruction.opcode, instruction.modifiers.clone());
        if let Some(known) = self.forms.get(&key) {
            return Ok(*known);
        }
        let fitting: SmallVec<[FormId; 2]> = forms_of(instruction.opcode)
            .filter(|(_, form)| match_modifiers(form, &instruction.modifiers).is_ok())
            .map(|(id, _)| id)
            .collect();
        if fitting.is_empty() {
            return Err(no_such_modifiers(instruction, span));
        }
        let index = self.known_forms.len();
        self.known_forms.push(KnownForms { fitting, allowed: None });
        self.forms.insert(key, index);
        Ok(index)
    }

    /// Minimum ISA version and target, and the one rule that depends on the target.
    fn check_since(
        &self,
        form: &Form,
        instruction: &Instruction<'a>,
        span: Span,
    ) -> Result<(), Diagnostic> {
        let (module, target) = (&self.module, form.min_target);
        // Without a version or target there is one diagnostic already.
        if module.target_sm == 0 || module.isa_version == (0, 0) {
            return Ok(());
        }
        let name = spelled(instruction);
        if module.isa_version < form.min_isa {
            let (major, minor) = form.min_isa;
            return Err(Diagnostic {
                hint: Some(format!("write `.version {major}.{minor}` or later")),
                ..problem(format!("`{name}` needs PTX ISA version {major}.{minor}"), span)
            });
        }
        let suffixed =
            module.target.split(',').next().is_some_and(|name| name.ends_with(['a', 'f']));
        if module.target_sm < target.sm || target.specific && !suffixed {
            let suffix = if target.specific { "a" } else { "" };
            return Err(problem(
                format!("`{name}` needs `.target sm_{}{suffix}` or later", target.sm),
                span,
            ));
        }
        for &modifier in &instruction.modifiers {
            let Some((isa, sm)) = modifier_since(modifier) else { continue };
            // ptxas takes it in `cp.async` from the beginning.
            if modifier == Modifier::SharedCta && instruction.opcode == Opcode::CpAsync {
                continue;
            }
            if module.isa_version < isa || module.target_sm < sm {
                return Err(problem(
                    format!("`.{modifier}` needs PTX ISA version {}.{} and sm_{sm}", isa.0, isa.1),
                    span,
                ));
            }
        }
        self.check_removed(instruction, span)?;
        self.check_vector(instruction, span)?;
        let rounds = instruction
            .modifiers
            .iter()
            .any(|one| matches!(one, Modifier::Rn | Modifier::Rz | Modifier::Rm | Modifier::Rp));
        let is_f32 = instruction.modifiers.contains(&Modifier::F32);
        // Multiply-add was not fused before sm_20, so it had no rounding (manual, mad).
        if instruction.opcode == Opcode::Mad && is_f32 && !rounds && module.target_sm >= 20 {
            return Err(Diagnostic {
                hint: Some("write `.rn`, `.rz`, `.rm` or `.rp`".to_owned()),
                ..problem(format!("`{name}` needs a rounding modifier from sm_20 on"), span)
            });
        }
        Ok(())
    }
}

/// What single modifiers need, whatever instruction they stand in.
const fn modifier_since(modifier: Modifier) -> Option<((u8, u8), u32)> {
    match modifier {
        Modifier::SharedCluster | Modifier::Cluster => Some(((7, 8), 90)),
        Modifier::SharedCta | Modifier::ParamEntry | Modifier::ParamFunc => Some(((7, 8), 30)),
        Modifier::L2CacheHint | Modifier::L2Size256B => Some(((7, 4), 80)),
        Modifier::L2Size64B | Modifier::L2Size128B => Some(((7, 4), 75)),
        _ => None,
    }
}

impl Resolver<'_> {
    /// `shfl` and `vote` without `.sync` end with sm_70 (manual, sections 9.7.9.5, 9.7.13.8).
    fn check_removed(&self, instruction: &Instruction<'_>, span: Span) -> Result<(), Diagnostic> {
        let old = matches!(instruction.opcode, Opcode::Shfl | Opcode::Vote)
            && !instruction.modifiers.contains(&Modifier::Sync);
        if old && self.module.target_sm >= 70 && self.module.isa_version >= (6, 4) {
            return Err(Diagnostic {
                hint: Some("write `.sync` and a mask of the lanes that take part".to_owned()),
                ..problem(format!("`{}` needs `.sync` from sm_70 on", spelled(instruction)), span)
            });
        }
        Ok(())
    }

    /// How wide a vector access may be (manual, `ld` and `st`): 16 bytes, or 32 from sm_100 on
    /// as `.v8` of 32-bit or `.v4` of 64-bit elements; the `.L2::evict` priorities need the
    /// latter.
    fn check_vector(&self, instruction: &Instruction<'_>, span: Span) -> Result<(), Diagnostic> {
        if !matches!(instruction.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St) {
            return Ok(());
        }
        let count = instruction.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::V2 => Some(2),
            Modifier::V4 => Some(4),
            Modifier::V8 => Some(8),
            _ => None,
        });
        let element = instruction.modifiers.iter().find_map(|modifier| modifier.as_type());
        let bits = count.unwrap_or(1) * element.map_or(0, ScalarType::bits);
        let many = count == Some(8) && element.is_some_and(|ty| ty.bits() != 32);
        let priority = instruction.modifiers.iter().find(|modifier| {
            matches!(
                modifier,
                Modifier::L2EvictFirst | Modifier::L2EvictLast | Modifier::L2EvictNormal
            )
        });
        let name = spelled(instruction);
        match priority {
            _ if many || bits > 256 || (count.is_some() && element == Some(ScalarType::B128)) => {
                Err(problem(format!("`{name}` has no such vector"), span))
            }
            _ if bits == 256
                && (self.module.target_sm < 100 || self.module.isa_version < (8, 8)) =>
            {
                Err(problem(format!("`{name}` needs PTX ISA version 8.8 and sm_100"), span))
            }
            Some(priority) if bits != 256 => Err(problem(
                format!("`.{priority}` is for `.v8` of 32-bit and `.v4` of 64-bit elements"),
                span,
            )),
            _ => Ok(()),
        }
    }
}

/// The instruction with its modifiers, for messages.
fn spelled(instruction: &Instruction<'_>) -> String {
    let mut text = instruction.opcode.text().to_owned();
    for modifier in &instruction.modifiers {
        text.push('.');
        text.push_str(modifier.text());
    }
    text
}

/// What may stand somewhere, for hints; long lists are cut.
fn choices(modifiers: &[Modifier]) -> String {
    const SHOWN: usize = 12;
    let shown = modifiers.iter().take(SHOWN).map(|modifier| format!("`.{modifier}`"));
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if modifiers.len() > SHOWN {
        text.push_str(", …");
    }
    text
}

/// No row takes the modifiers: say which one is wrong or missing in the row that comes closest.
fn no_such_modifiers(instruction: &Instruction<'_>, span: Span) -> Diagnostic {
    let opcode = instruction.opcode;
    let written = &instruction.modifiers;
    let mut missing: Vec<Modifier> = Vec::new();
    let mut furthest = 0;
    let mut allowed: Vec<Modifier> = Vec::new();
    for (_, form) in forms_of(opcode) {
        match match_modifiers(form, written) {
            Ok(()) => {}
            Err(ModifierMismatch::Missing(choices)) => missing.extend(choices),
            Err(ModifierMismatch::Unexpected(index)) => {
                if index > furthest {
                    allowed.clear();
                    furthest = index;
                }
                if index == furthest {
                    allowed.extend(free_choices(form, &written[..index]));
                }
            }
        }
    }
    if !missing.is_empty() {
        missing.sort_unstable();
        missing.dedup();
        return Diagnostic {
            message: format!("`{}` lacks a modifier", spelled(instruction)),
            span,
            hint: Some(format!("one of {} belongs there", choices(&missing))),
        };
    }
    allowed.sort_unstable();
    allowed.dedup();
    let before = written[..furthest]
        .iter()
        .fold(opcode.text().to_owned(), |text, modifier| format!("{text}.{modifier}"));
    let hint = if allowed.is_empty() {
        format!("no modifier can follow `{before}`")
    } else {
        format!("after `{before}` can stand {}", choices(&allowed))
    };
    let wrong = written.get(furthest).map_or("", |modifier| modifier.text());
    Diagnostic {
        message: format!("`.{wrong}` does not belong in `{}`", spelled(instruction)),
        span,
        hint: Some(hint),
    }
}

/// What could still stand in `form` after the modifiers `written`.
fn free_choices<'f>(
    form: &'f Form,
    written: &'f [Modifier],
) -> impl Iterator<Item = Modifier> + 'f {
    form.slots.iter().flat_map(|slot| slot.choices.iter().copied()).filter(|&choice| {
        let mut longer: SmallVec<[Modifier; 8]> = written.into();
        longer.push(choice);
        !matches!(match_modifiers(form, &longer), Err(ModifierMismatch::Unexpected(_)))
    })
}

/// What the fit of an operand depends on.
struct Context<'c, 'a> {
    resolver: &'c Resolver<'a>,
    registers: &'c [Register],
    modifiers: &'c [Modifier],
    types: SmallVec<[ScalarType; 4]>,
}

impl Context<'_, '_> {
    fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Check all operands; the error carries the index of the operand that does not fit.
    fn fit(&self, form: &Form, operands: &[Operand]) -> Result<(), (usize, Misfit)> {
        let required = form.operands.iter().filter(|shape| !shape.optional).count();
        let mut spare = operands
            .len()
            .checked_sub(required)
            .ok_or_else(|| (0, wrong_count(form, required, form.operands.len(), operands.len())))?;
        let mut next = 0;
        for shape in &form.operands {
            if shape.optional {
                let present = operands.get(next).filter(|_| spare > 0);
                if !present.is_some_and(|operand| self.may_take(shape, operand)) {
                    continue;
                }
                spare -= 1;
            }
            let Some(operand) = operands.get(next) else {
                return Err((
                    next,
                    wrong_count(form, required, form.operands.len(), operands.len()),
                ));
            };
            self.fit_one(form, shape, operand).map_err(|misfit| (next, misfit))?;
            next += 1;
        }
        if next < operands.len() {
            return Err((next, wrong_count(form, required, form.operands.len(), operands.len())));
        }
        self.check_spaces(form, operands)
    }

    /// Whether an optional place takes this operand, or leaves it to the next one.
    fn may_take(&self, shape: &OperandShape, operand: &Operand) -> bool {
        match shape.kind {
            OperandKind::List => matches!(operand, Operand::List(_)),
            OperandKind::CallTargets => true,
            // A cache policy comes with `.L2::cache_hint` and not without; likewise the mask.
            _ if shape.name == "cache" => self.has(Modifier::L2CacheHint),
            _ if shape.name == "ctamask" => self.has(Modifier::MulticastCluster),
            _ if shape.count == Count::Any => matches!(operand, Operand::Vector(_)),
            _ => !matches!(operand, Operand::Address(_)) || shape.kind == OperandKind::Address,
        }
    }

    fn fit_one(&self, form: &Form, shape: &OperandShape, operand: &Operand) -> Result<(), Misfit> {
        let name = shape.name;
        match shape.kind {
            OperandKind::Address => match operand {
                Operand::Address(address) => self.address(address),
                _ => Err(misfit(format!("`{name}` is an address in brackets"))),
            },
            OperandKind::Indexed => match operand {
                Operand::Indexed(_) => Ok(()),
                _ => Err(misfit(format!("`{name}` is an object with coordinates in brackets"))),
            },
            OperandKind::Label => match operand {
                Operand::Label(_) => Ok(()),
                _ => Err(misfit("a label of this function is needed here")),
            },
            OperandKind::BranchTargets => match operand {
                Operand::Targets(_) => Ok(()),
                _ => Err(misfit("the label of a `.branchtargets` is needed here")),
            },
            OperandKind::Callee => match operand {
                Operand::Function(_) => Ok(()),
                Operand::Register(register) if self.is_pointer(*register) => Ok(()),
                _ => Err(misfit("a function or its address in a register is needed here")),
            },
            OperandKind::CallTargets => match operand {
                Operand::Targets(_) | Operand::Prototype(_) | Operand::Variable(..) => Ok(()),
                _ => Err(misfit("a prototype or a list of call targets is needed here")),
            },
            OperandKind::List => match operand {
                Operand::List(_) => Ok(()),
                _ => Err(misfit("a list in parentheses is needed here")),
            },
            OperandKind::Immediate => match operand {
                Operand::Immediate(Immediate::Integer(_))
                | Operand::Special(SpecialRegister::WarpSz) => Ok(()),
                _ => Err(misfit(format!("`{name}` is a constant"))),
            },
            OperandKind::Value | OperandKind::Any | OperandKind::AddressValue => {
                self.value(form, shape, operand)
            }
        }
    }

    fn value(&self, form: &Form, shape: &OperandShape, operand: &Operand) -> Result<(), Misfit> {
        let name = shape.name;
        let (operand, second) = match (operand, shape.pair) {
            (Operand::Pair(pair), PairResult::Optional | PairResult::Required) => {
                (&pair[0], Some(&pair[1]))
            }
            (Operand::Pair(_), PairResult::None) => {
                return Err(misfit(format!("`{name}` is one operand, not two")));
            }
            (_, PairResult::Required) => {
                return Err(misfit(format!("`{name}` is followed by a predicate: `{name}|p`")));
            }
            (operand, _) => (operand, None),
        };
        match second {
            Some(Operand::Sink) | None => {}
            Some(Operand::Register(id)) if self.register(*id).ty == ScalarType::Pred => {}
            Some(_) => return Err(misfit("the second result is a predicate")),
        }
        if *operand == Operand::Sink && shape.access == Access::Write {
            // Results that may be dropped: a second one stays, or there are side effects.
            let droppable = shape.pair != PairResult::None
                || matches!(
                    form.opcode,
                    Opcode::Atom | Opcode::MbarrierArrive | Opcode::MbarrierArriveDrop
                );
            return if droppable { Ok(()) } else { Err(misfit(format!("`{name}` cannot be `_`"))) };
        }
        let count = match shape.count {
            Count::One => None,
            Count::Vector => self.vector_modifier(),
            Count::Matrices => Some(self.matrix_modifier()),
            Count::Exactly(count) => Some(usize::from(count)),
            Count::Any => match operand {
                Operand::Vector(elements) => Some(elements.len()),
                _ => return Err(misfit(format!("`{name}` is a list of registers in braces"))),
            },
        };
        match count {
            // Compilers write the single result of a surface load in braces.
            None if shape.count == Count::Vector && form.class == InstructionClass::Texture => {
                match operand {
                    Operand::Vector(elements) if elements.len() == 1 => {
                        self.scalar(form, shape, &elements[0])
                    }
                    _ => self.scalar(form, shape, operand),
                }
            }
            Some(count) => self.vector(form, shape, operand, count),
            None => self.scalar(form, shape, operand),
        }
    }

    fn vector_modifier(&self) -> Option<usize> {
        self.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::V2 => Some(2),
            Modifier::V4 => Some(4),
            Modifier::V8 => Some(8),
            _ => None,
        })
    }

    fn matrix_modifier(&self) -> usize {
        let count = self.modifiers.iter().find_map(|modifier| match modifier {
            Modifier::X1 => Some(1),
            Modifier::X2 => Some(2),
            Modifier::X4 => Some(4),
            _ => None,
        });
        // An 16-by-16 matrix of bytes takes two registers.
        let wide = self.has(Modifier::M16n16);
        count.unwrap_or(1) * if wide { 2 } else { 1 }
    }

    fn vector(
        &self,
        form: &Form,
        shape: &OperandShape,
        operand: &Operand,
        count: usize,
    ) -> Result<(), Misfit> {
        let name = shape.name;
        match operand {
            Operand::Vector(elements) if elements.len() == count => {
                for element in elements {
                    if *element != Operand::Sink {
                        self.scalar(form, shape, element)?;
                    }
                }
                Ok(())
            }
            // A vector register is all of its elements.
            Operand::Register(id) if usize::from(self.register(*id).vector) == count => {
                self.fit_register(form, shape, self.register(*id))
            }
            Operand::Vector(elements) => {
                Err(misfit(format!("`{name}` has {count} elements, not {}", elements.len())))
            }
            _ => Err(misfit(format!("`{name}` is {count} registers in braces"))),
        }
    }

    fn register(&self, id: RegisterId) -> &Register {
        &self.registers[id.index()]
    }

    fn is_pointer(&self, id: RegisterId) -> bool {
        let register = self.register(id);
        let whole =
            matches!(register.ty.kind(), TypeKind::Bits | TypeKind::Signed | TypeKind::Unsigned);
        whole && matches!(register.ty.bits(), 32 | 64)
    }

    /// The type that the shape asks for; `None` if it asks for none.
    fn wanted(&self, shape: &OperandShape) -> Option<ScalarType> {
        match shape.ty {
            ShapeType::Modifier(index) => self.types.get(usize::from(index)).copied(),
            ShapeType::Wide => self.types.first().map(|&ty| match ty {
                ScalarType::U16 => ScalarType::U32,
                ScalarType::S16 => ScalarType::S32,
                ScalarType::U32 => ScalarType::U64,
                ScalarType::S32 => ScalarType::S64,
                other => other,
            }),
            ShapeType::Fixed(ty) => Some(ty),
            ShapeType::Pointer | ShapeType::None => None,
        }
    }

    fn scalar(&self, form: &Form, shape: &OperandShape, operand: &Operand) -> Result<(), Misfit> {
        let name = shape.name;
        let written = shape.access != Access::Read;
        match operand {
            Operand::Register(id) => self.fit_register(form, shape, self.register(*id)),
            Operand::Element(id, _) => {
                let mut element = self.register(*id).clone();
                element.vector = 1;
                self.fit_register(form, shape, &element)
            }
            _ if written
                && !matches!(operand, Operand::Part { .. } | Operand::Lanes { .. })
                && !(shape.kind == OperandKind::Any && matches!(operand, Operand::Vector(_))) =>
            {
                Err(misfit(format!("`{name}` is written, so it must be a register")))
            }
            Operand::Negated(id) => match self.wanted(shape) {
                Some(ScalarType::Pred) if self.register(*id).ty == ScalarType::Pred => Ok(()),
                _ => Err(misfit("only predicates are negated with `!`")),
            },
            Operand::Part { .. } | Operand::Lanes { .. } | Operand::Negative(_) => {
                if shape.selectable {
                    Ok(())
                } else {
                    Err(misfit(format!("`{name}` of `{}` takes a whole register", form.opcode)))
                }
            }
            Operand::Immediate(immediate) => self.immediate(form, shape, *immediate),
            Operand::Special(SpecialRegister::WarpSz) => {
                self.immediate(form, shape, Immediate::Integer(32))
            }
            Operand::Special(special) => self.special(form, shape, *special),
            Operand::Variable(..) | Operand::Function(_) => self.address_value(shape, operand),
            Operand::Vector(elements) if shape.kind == OperandKind::Any => {
                self.pack(shape, elements)
            }
            Operand::Vector(_) => Err(misfit(format!("`{name}` is one register, not a vector"))),
            Operand::Sink => Err(misfit(format!("`{name}` cannot be `_`"))),
            Operand::Label(_)
            | Operand::Address(_)
            | Operand::Pair(_)
            | Operand::List(_)
            | Operand::Targets(_)
            | Operand::Prototype(_)
            | Operand::Indexed(_) => Err(misfit(format!("`{name}` is a register or a constant"))),
        }
    }

    /// A register fits an instruction type by the rules of the manual's section 9.4.
    fn fit_register(
        &self,
        form: &Form,
        shape: &OperandShape,
        register: &Register,
    ) -> Result<(), Misfit> {
        if register.vector > 1 && shape.count == Count::One && form.opcode != Opcode::Mov {
            let message = format!("`{}` is a vector; name one of its elements", register.name);
            return Err(misfit(message));
        }
        let Some(wanted) = self.wanted(shape) else {
            return match shape.ty {
                ShapeType::Pointer if register.ty.kind() == TypeKind::Float => {
                    Err(misfit(format!("`{}` is {}, not an integer", register.name, register.ty)))
                }
                _ => Ok(()),
            };
        };
        if fits(register.ty, wanted, shape.wider) {
            return Ok(());
        }
        let wider = if shape.wider { " or a wider one" } else { "" };
        let same_size = register.ty.bits() == wanted.bits();
        Err(Misfit {
            message: format!(
                "`{}` is {}, but `{}` needs {wanted}{wider} as `{}`",
                register.name, register.ty, form.opcode, shape.name
            ),
            hint: same_size
                .then(|| format!("a .b{} register fits any type of its size", register.ty.bits())),
        })
    }

    fn immediate(
        &self,
        form: &Form,
        shape: &OperandShape,
        immediate: Immediate,
    ) -> Result<(), Misfit> {
        let wanted = self.wanted(shape);
        let (kind, bits) = match wanted {
            Some(ty) => (ty.kind(), ty.bits()),
            None => return Ok(()),
        };
        let fits = match (immediate, kind) {
            (_, TypeKind::Packed | TypeKind::Opaque) => {
                bits == 32
                    && matches!(immediate, Immediate::Integer(_))
                    && form.opcode != Opcode::Add
            }
            (Immediate::Integer(_), TypeKind::Float) => false,
            (Immediate::Integer(_), _) => true,
            (_, TypeKind::Float) => bits >= 32,
            (Immediate::F32(_), TypeKind::Bits) => bits == 32,
            (Immediate::F64(_), TypeKind::Bits) => bits == 64,
            (_, TypeKind::Unsigned | TypeKind::Signed | TypeKind::Predicate) => false,
        };
        if fits {
            return Ok(());
        }
        let what = match immediate {
            Immediate::Integer(_) => "an integer literal",
            Immediate::F32(_) | Immediate::F64(_) => "a floating-point literal",
        };
        let wanted = wanted.map(|ty| ty.to_string()).unwrap_or_default();
        Err(Misfit {
            message: format!("{what} does not fit `{}`, which is {wanted}", shape.name),
            hint: match (immediate, kind, bits) {
                (Immediate::Integer(_), TypeKind::Float, 32 | 64) => {
                    Some("write it as a floating-point literal: `1.0`, `0f3F800000`".to_owned())
                }
                _ => None,
            },
        })
    }

    /// Special registers are read by `mov` and, in old code, by `cvt`.
    fn special(
        &self,
        form: &Form,
        shape: &OperandShape,
        special: SpecialRegister,
    ) -> Result<(), Misfit> {
        if !matches!(form.opcode, Opcode::Mov | Opcode::Cvt) {
            return Err(Misfit {
                message: format!("`{}` cannot read the special register `{special}`", form.opcode),
                hint: Some("copy it with `mov` first".to_owned()),
            });
        }
        let Some(wanted) = self.wanted(shape) else { return Ok(()) };
        let whole = matches!(wanted.kind(), TypeKind::Bits | TypeKind::Unsigned | TypeKind::Signed);
        // The low half of a 32-bit special register may be read as .u16 (ISA 1.x code does);
        // %gridid was 32 bits wide in ISA 1.x and 2.x.
        let half = special.bits() == 32 && wanted.bits() == 16;
        let narrow = special == SpecialRegister::Gridid && wanted.bits() == 32;
        if whole && (wanted.bits() == special.bits() || half || narrow) {
            return Ok(());
        }
        Err(misfit(format!("`{special}` has {} bits and does not fit {wanted}", special.bits())))
    }

    /// The address of a variable or function as a value.
    fn address_value(&self, shape: &OperandShape, operand: &Operand) -> Result<(), Misfit> {
        let allowed = match shape.kind {
            OperandKind::Any => true,
            OperandKind::AddressValue => matches!(operand, Operand::Variable(..)),
            _ => false,
        };
        if !allowed {
            return Err(Misfit {
                message: format!("`{}` is a register or a constant, not an address", shape.name),
                hint: Some("take the address with `mov` first".to_owned()),
            });
        }
        match self.wanted(shape) {
            Some(ty) if ty.kind() == TypeKind::Float || ty.bits() < 32 => {
                Err(misfit(format!("an address does not fit {ty}")))
            }
            _ => Ok(()),
        }
    }

    /// `{lo, hi}` of `mov`: as many bits as the type, in equal parts.
    fn pack(&self, shape: &OperandShape, elements: &[Operand]) -> Result<(), Misfit> {
        let Some(wanted) = self.wanted(shape) else { return Ok(()) };
        if wanted.kind() != TypeKind::Bits || !matches!(elements.len(), 2 | 4 | 8) {
            return Err(misfit(format!("{wanted} cannot be split into {} parts", elements.len())));
        }
        let part = wanted.bits() / elements.len() as u32;
        for element in elements {
            let bits = match element {
                Operand::Register(id) | Operand::Element(id, _) => {
                    let ty = self.register(*id).ty;
                    if ty == ScalarType::Pred { 1 } else { ty.bits() }
                }
                Operand::Immediate(_) if shape.access == Access::Read => part,
                Operand::Sink if shape.access == Access::Write => part,
                _ => 0,
            };
            if bits != part {
                return Err(misfit(format!("{wanted} is {} parts of {part} bits", elements.len())));
            }
        }
        Ok(())
    }

    /// A register that holds an address is an integer; generic and global addresses are as
    /// wide as `.address_size` says, the other spaces' also fit 32 bits.
    fn address(&self, address: &Address) -> Result<(), Misfit> {
        let AddressBase::Register(id) = address.base else { return Ok(()) };
        let register = self.register(id);
        if !self.is_pointer(id) || register.vector > 1 {
            return Err(misfit(format!(
                "`{}` is {}; an address is an integer of 32 or 64 bits",
                register.name, register.ty
            )));
        }
        let bits = register.ty.bits();
        let space = self.modifiers.iter().find_map(|modifier| modifier.as_space());
        let short = matches!(
            space,
            Some(StateSpace::Shared | StateSpace::Local | StateSpace::Const | StateSpace::Param)
        );
        // Instructions on shared memory name several spaces or none; only the plain ones are
        // sure to need the full width.
        let plain = self.types.len() == 1 && (space.is_none() || space == Some(StateSpace::Global));
        if bits == 32 && self.resolver.module.address_bits == 64 && plain && !short {
            return Err(misfit(format!(
                "`{}` has 32 bits, but addresses have 64 here",
                register.name
            )));
        }
        Ok(())
    }

    /// A named variable must be in the space that the instruction accesses.
    fn check_spaces(&self, form: &Form, operands: &[Operand]) -> Result<(), (usize, Misfit)> {
        if !matches!(
            form.opcode,
            Opcode::Ld | Opcode::Ldu | Opcode::St | Opcode::Atom | Opcode::Red
        ) {
            return Ok(());
        }
        let space = self.modifiers.iter().find_map(|modifier| modifier.as_space());
        for (index, operand) in operands.iter().enumerate() {
            let Operand::Address(Address { base: AddressBase::Variable(id), .. }) = operand else {
                continue;
            };
            let variable = &self.resolver.module.variables[id.index()];
            match space {
                Some(space) if space != variable.space => {
                    let message = format!(
                        "`{}` is in .{} memory, not in .{}",
                        variable.name,
                        variable.space.text(),
                        space.text()
                    );
                    return Err((index, misfit(message)));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// Whether a register of type `register` can hold an operand of type `wanted`.
fn fits(register: ScalarType, wanted: ScalarType, wider: bool) -> bool {
    if register == ScalarType::Pred || wanted == ScalarType::Pred {
        return register == wanted;
    }
    let (have, need) = (register.bits(), wanted.bits());
    // Sub-byte results take a whole byte register, and there are none below 16 bits.
    let need = need.max(8);
    if have < need || (have != need && !wider) {
        return false;
    }
    let (a, b) = (register.kind(), wanted.kind());
    let bits = |kind| kind == TypeKind::Bits;
    let integer = |kind| matches!(kind, TypeKind::Signed | TypeKind::Unsigned);
    if wider && have != need {
        // Wider registers hold integers of any kind, and floats only as bits.
        return bits(a) || (integer(a) && (integer(b) || bits(b)));
    }
    bits(a) || bits(b) || (integer(a) && integer(b)) || register == wanted
}

fn wrong_count(form: &Form, least: usize, most: usize, found: usize) -> Misfit {
    let wanted = match (least, most) {
        (0, 0) => "no operands".to_owned(),
        (1, 1) => "1 operand".to_owned(),
        (least, most) if least == most => format!("{least} operands"),
        (least, most) => format!("{least} to {most} operands"),
    };
    misfit(format!("`{}` takes {wanted}, not {found}", form.opcode))
}

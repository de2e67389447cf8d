//! The operands of an instruction against the places of a row.

use smallvec::SmallVec;

use super::ranges::in_range;
use super::{Misfit, misfit};
use crate::isa::{
    Access, Count, Form, InstructionClass, Modifier, Opcode, OperandKind, OperandShape, PairResult,
    ShapeType, SpecialRegister, sparse_vectors,
};
use crate::module::{Immediate, Operand, Register, RegisterId};
use crate::resolver::Resolver;
use crate::types::{ScalarType, TypeKind};

/// The facts on which the fit of an operand depends.
pub(super) struct Context<'c, 'a> {
    pub(super) resolver: &'c Resolver<'a>,
    pub(super) registers: &'c [Register],
    pub(super) modifiers: &'c [Modifier],
    pub(super) types: SmallVec<[ScalarType; 4]>,
}

impl Context<'_, '_> {
    pub(super) fn has(&self, modifier: Modifier) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// Checks all operands; the error carries the index of the operand that does not fit.
    pub(super) fn fit(&self, form: &Form, operands: &[Operand]) -> Result<(), (usize, Misfit)> {
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
                    if shape.name == "cache" && self.has(Modifier::L2CacheHint) {
                        return Err((next, misfit("`.L2::cache_hint` needs a cache policy")));
                    }
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
        if let (Opcode::Mov, [Operand::Vector(_), Operand::Vector(_)]) = (form.opcode, operands)
            && form.operands.iter().all(|shape| shape.count == Count::One)
        {
            return Err((1, misfit("one side of `mov` is a single register")));
        }
        self.check_spaces(form, operands)
    }

    /// Returns true if an optional place takes this operand, and false if it leaves it to the next
    /// one.
    fn may_take(&self, shape: &OperandShape, operand: &Operand) -> bool {
        match shape.kind {
            OperandKind::List => matches!(operand, Operand::List(_)),
            OperandKind::CallTargets => true,
            // A cache policy comes with `.L2::cache_hint` and not without; likewise the mask.
            _ if shape.name == "cache" => self.has(Modifier::L2CacheHint),
            _ if shape.name == "ctamask" => {
                self.has(Modifier::MulticastCluster) || self.has(Modifier::MulticastCluster16b)
            }
            // Offsets into the image are for the modes that walk over one.
            _ if shape.name == "offsets" => {
                let modes = [Modifier::Im2col, Modifier::Im2colW, Modifier::Im2colW128];
                modes.iter().any(|&mode| self.has(mode)) && matches!(operand, Operand::Vector(_))
            }
            _ if shape.count == Count::Any => matches!(operand, Operand::Vector(_)),
            _ => !matches!(operand, Operand::Address(_)) || shape.kind == OperandKind::Address,
        }
    }

    fn fit_one(&self, form: &Form, shape: &OperandShape, operand: &Operand) -> Result<(), Misfit> {
        let name = shape.name;
        match shape.kind {
            OperandKind::Address => match operand {
                Operand::Address(address) => self.address(shape, address),
                _ => Err(misfit(format!("`{name}` is an address in brackets"))),
            },
            OperandKind::Indexed => match operand {
                Operand::Indexed(_) => Ok(()),
                _ => Err(misfit(format!("`{name}` is an object with coordinates in brackets"))),
            },
            OperandKind::Handle { counted } => match operand {
                Operand::Indexed(parts) => self.handle(parts, counted),
                _ => Err(misfit("an endpoint and an offset in brackets are needed here")),
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
                Operand::Immediate(Immediate::Integer(value)) => {
                    in_range(form.opcode, self.modifiers, shape, *value)
                }
                Operand::Special(SpecialRegister::WarpSz) => {
                    in_range(form.opcode, self.modifiers, shape, 32)
                }
                _ => Err(misfit(format!("`{name}` is a constant"))),
            },
            OperandKind::Value | OperandKind::Any | OperandKind::AddressValue => {
                self.value(form, shape, operand)
            }
        }
    }

    /// `[endpoint, offset]` in registers of 32 and 64 bits, and the offset of a counter.
    fn handle(&self, parts: &[Operand], counted: bool) -> Result<(), Misfit> {
        let wanted = if counted { 3 } else { 2 };
        if parts.len() != wanted {
            return Err(misfit(format!("{wanted} registers belong in the brackets here")));
        }
        for (index, part) in parts.iter().enumerate() {
            let bits = if index == 0 { 32 } else { 64 };
            let fits = match part {
                Operand::Register(id) => {
                    self.is_pointer(*id) && self.register(*id).ty.bits() == bits
                }
                _ => false,
            };
            if !fits {
                let what = ["the endpoint", "the offset", "the offset of the counter"][index];
                return Err(misfit(format!("{what} is an integer register of {bits} bits")));
            }
        }
        Ok(())
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
        let arrives = matches!(form.opcode, Opcode::MbarrierArrive | Opcode::MbarrierArriveDrop);
        let elsewhere =
            self.has(Modifier::SharedCluster) || self.has(Modifier::MulticastCluster32b);
        if arrives && shape.access == Access::Write && elsewhere {
            return match operand {
                Operand::Sink => Ok(()),
                _ => Err(misfit("another CTA's barrier returns no state; write `_` instead")),
            };
        }
        if *operand == Operand::Sink && shape.access == Access::Write {
            // Results that may be dropped: a second one stays, or there are side effects.
            let droppable = match form.opcode {
                Opcode::Shfl => false,
                Opcode::Atom | Opcode::MbarrierArrive | Opcode::MbarrierArriveDrop => true,
                _ => shape.pair != PairResult::None,
            };
            return if droppable { Ok(()) } else { Err(misfit(format!("`{name}` cannot be `_`"))) };
        }
        let count = match shape.count {
            Count::One => None,
            Count::Vector => self.vector_modifier(),
            Count::Matrices => Some(self.matrix_modifier()),
            Count::Exactly(count) => Some(usize::from(count)),
            Count::Any => match operand {
                Operand::Vector(elements) => {
                    Some(self.sparse_length(form, shape)?.unwrap_or(elements.len()))
                }
                _ => return Err(misfit(format!("`{name}` is a list of registers in braces"))),
            },
        };
        match count {
            // Compilers write the single register of a surface access, a load or a store in braces.
            None if shape.count == Count::Vector
                && (form.class == InstructionClass::Texture
                    || matches!(form.opcode, Opcode::Ld | Opcode::Ldu | Opcode::St)) =>
            {
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

    /// Returns the length of a vector of an instruction on structured sparsity; `None` for the
    /// others.
    fn sparse_length(&self, form: &Form, shape: &OperandShape) -> Result<Option<usize>, Misfit> {
        let Some(vectors) = sparse_vectors(form.opcode, self.modifiers) else { return Ok(None) };
        let vectors = vectors.map_err(misfit)?;
        Ok(Some(match (form.opcode, shape.name) {
            (Opcode::Spdecompress, "d") | (Opcode::Spcompress, "data") => vectors.dense,
            (Opcode::Spdecompress, "data") | (_, "q") => vectors.stored,
            _ => vectors.metadata,
        }))
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
            Operand::Vector(elements)
                if elements.iter().all(|element| *element == Operand::Sink) =>
            {
                Err(misfit(format!("`{name}` has no register")))
            }
            Operand::Vector(elements) if elements.len() == count => {
                for element in elements {
                    match element {
                        Operand::Sink if shape.access == Access::Write => {}
                        _ => self.scalar(form, shape, element)?,
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

    pub(super) fn register(&self, id: RegisterId) -> &Register {
        &self.registers[id.index()]
    }

    pub(super) fn is_pointer(&self, id: RegisterId) -> bool {
        let register = self.register(id);
        let whole =
            matches!(register.ty.kind(), TypeKind::Bits | TypeKind::Signed | TypeKind::Unsigned);
        whole && matches!(register.ty.bits(), 32 | 64)
    }

    /// The type that the shape asks for; `None` if it asks for none.
    pub(super) fn wanted(&self, shape: &OperandShape) -> Option<ScalarType> {
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
}

fn wrong_count(form: &Form, least: usize, most: usize, found: usize) -> Misfit {
    let wanted = match (least, most) {
        (0, 0) => "no operands".to_owned(),
        (1, 1) => "1 operand".to_owned(),
        (least, most) if least == most => format!("{least} operands"),
        (least, most) if (least..=most).contains(&found) => {
            return misfit(format!("`{}` has no place for this operand", form.opcode));
        }
        (least, most) => format!("{least} to {most} operands"),
    };
    misfit(format!("`{}` takes {wanted}, not {found}", form.opcode))
}

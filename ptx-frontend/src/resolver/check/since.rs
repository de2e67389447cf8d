//! Checks that the module's version and target have the features that an instruction uses.

use super::messages::{choices, spelled};
use crate::ast::Instruction;
use crate::isa::{Clash, Form, Modifier, Opcode, clash, modifier_since};
use crate::resolver::{Resolver, problem};
use crate::source::{Diagnostic, DiagnosticCode as Code, Span};
use crate::types::ScalarType;

impl<'a> Resolver<'a> {
    /// Minimum ISA version and target, and the one rule that depends on the target.
    pub(super) fn check_since(
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
                ..problem(
                    Code::NeedsVersion,
                    format!("`{name}` needs PTX ISA version {major}.{minor}"),
                    span,
                )
            });
        }
        let suffixed =
            module.target.split(',').next().is_some_and(|name| name.ends_with(['a', 'f']));
        if module.target_sm < target.sm || target.specific && !suffixed {
            return Err(problem(
                Code::NeedsTarget,
                format!("`{name}` needs `.target {target}` or later"),
                span,
            ));
        }
        for &modifier in &instruction.modifiers {
            let Some(since) = modifier_since(instruction.opcode, modifier) else { continue };
            let ((major, minor), target) = (since.isa, since.target);
            if module.isa_version < since.isa
                || module.target_sm < target.sm
                || target.specific && !suffixed
            {
                return Err(problem(
                    Code::NeedsVersion,
                    format!("`.{modifier}` needs PTX ISA version {major}.{minor} and {target}"),
                    span,
                ));
            }
        }
        match clash(instruction.opcode, &instruction.modifiers) {
            None => {}
            Some(Clash::Together(one, other)) => {
                let message = format!("`.{one}` and `.{other}` do not go together in `{name}`");
                return Err(problem(Code::NeedsVersion, message, span));
            }
            Some(Clash::Lacks(one, companions)) => {
                return Err(Diagnostic {
                    hint: Some(format!("one of {} belongs there", choices(companions))),
                    ..problem(
                        Code::WrongModifiers,
                        format!("`.{one}` stands alone in `{name}`"),
                        span,
                    )
                });
            }
        }
        let short = instruction.opcode == Opcode::Cvta
            && instruction.modifiers.contains(&Modifier::U32)
            && module.address_bits == 64;
        if short {
            return Err(Diagnostic {
                hint: Some("write `.u64`, as `.address_size 64` says".to_owned()),
                ..problem(
                    Code::WrongModifiers,
                    format!("`{name}` converts addresses of 32 bits"),
                    span,
                )
            });
        }
        self.check_removed(instruction, span)?;
        self.check_vector(instruction, span)?;
        let rounds = instruction.modifiers.iter().any(|modifier| {
            matches!(modifier, Modifier::Rn | Modifier::Rz | Modifier::Rm | Modifier::Rp)
        });
        let is_f32 = instruction.modifiers.contains(&Modifier::F32);
        // Multiply-add was not fused before sm_20, so it had no rounding (manual, mad).
        if instruction.opcode == Opcode::Mad && is_f32 && !rounds && module.target_sm >= 20 {
            return Err(Diagnostic {
                hint: Some("write `.rn`, `.rz`, `.rm` or `.rp`".to_owned()),
                ..problem(
                    Code::WrongModifiers,
                    format!("`{name}` needs a rounding modifier from sm_20 on"),
                    span,
                )
            });
        }
        Ok(())
    }
}

impl Resolver<'_> {
    /// `shfl` and `vote` without `.sync` end with sm_70 (manual, sections 9.7.9.5, 9.7.13.8),
    /// `wmma` without `.aligned` with ISA 6.3 (release notes of that version).
    fn check_removed(&self, instruction: &Instruction<'_>, span: Span) -> Result<(), Diagnostic> {
        let old = matches!(instruction.opcode, Opcode::Shfl | Opcode::Vote)
            && !instruction.modifiers.contains(&Modifier::Sync);
        if old && self.module.target_sm >= 70 && self.module.isa_version >= (6, 4) {
            return Err(Diagnostic {
                hint: Some("write `.sync` and a mask of the lanes that take part".to_owned()),
                ..problem(
                    Code::NeedsVersion,
                    format!("`{}` needs `.sync` from sm_70 on", spelled(instruction)),
                    span,
                )
            });
        }
        let wmma =
            matches!(instruction.opcode, Opcode::WmmaLoad | Opcode::WmmaStore | Opcode::WmmaMma);
        let aligned = instruction.modifiers.contains(&Modifier::Aligned);
        if wmma && !aligned && self.module.isa_version >= (6, 3) {
            return Err(Diagnostic {
                hint: Some("write `.aligned` behind `.sync`".to_owned()),
                ..problem(
                    Code::NeedsVersion,
                    format!(
                        "`{}` needs `.aligned` from PTX ISA version 6.3 on",
                        spelled(instruction)
                    ),
                    span,
                )
            });
        }
        Ok(())
    }

    /// Checks the width of a vector access (manual, `ld` and `st`). It may be 16 bytes, or 32 from
    /// sm_100 on as `.v8` of 32-bit or `.v4` of 64-bit elements. The `.L2::evict` priorities need
    /// the latter.
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
                Err(problem(Code::WrongModifiers, format!("`{name}` has no such vector"), span))
            }
            _ if bits == 256
                && (self.module.target_sm < 100 || self.module.isa_version < (8, 8)) =>
            {
                Err(problem(
                    Code::NeedsVersion,
                    format!("`{name}` needs PTX ISA version 8.8 and sm_100"),
                    span,
                ))
            }
            Some(priority) if bits != 256 => Err(problem(
                Code::WrongModifiers,
                format!("`.{priority}` is for `.v8` of 32-bit and `.v4` of 64-bit elements"),
                span,
            )),
            _ => Ok(()),
        }
    }
}

//! Registers of a kernel, by class.

use std::fmt::Write as _;

use crate::language::Type;

/// A class of registers: its declaration, and the beginning of its names.
const CLASSES: [(&str, &str); 6] =
    [("pred", "%p"), ("b16", "%h"), ("b32", "%r"), ("b64", "%rd"), ("f32", "%f"), ("f64", "%fd")];

/// How many registers of each class there are.
#[derive(Debug, Default)]
pub(super) struct Registers {
    used: [usize; CLASSES.len()],
}

impl Registers {
    /// A register for values of a type.
    pub(super) fn fresh(&mut self, ty: Type) -> String {
        let class = match ty {
            Type::Predicate => 0,
            Type::F16 => 1,
            Type::S32 | Type::U32 => 2,
            Type::S64 | Type::U64 => 3,
            Type::F32 => 4,
            Type::F64 => 5,
        };
        self.used[class] += 1;
        format!("{}{}", CLASSES[class].1, self.used[class])
    }

    /// The declarations of all.
    pub(super) fn declarations(&self) -> String {
        let mut text = String::new();
        for ((class, name), used) in CLASSES.iter().zip(self.used).filter(|(_, used)| *used > 0) {
            let _ = writeln!(text, "\t.reg .{class} {name}<{}>;", used + 1);
        }
        text
    }
}

//! The meaning of names in each scope.

use crate::hash::FastMap;
use crate::module::{FunctionId, LabelId, PrototypeId, RegisterId, TargetListId, VariableId};
use crate::types::ScalarType;

/// The item that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    Register(RegisterId),
    Variable(VariableId),
    Function(FunctionId),
    Label(LabelId),
    Targets(TargetListId),
    Prototype(PrototypeId),
}

/// `.reg .b32 %r<10>`: registers that come into being when they are used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Family {
    pub(super) ty: ScalarType,
    pub(super) vector: u8,
    pub(super) count: u32,
}

#[derive(Default)]
struct Scope<'a> {
    symbols: FastMap<&'a str, Symbol>,
    families: FastMap<&'a str, Family>,
}

/// The scopes from the module to the innermost block.
pub(super) struct Scopes<'a> {
    stack: Vec<Scope<'a>>,
}

/// The result of looking a name up.
pub(super) enum Found {
    Symbol(Symbol),
    /// A member of a register family that has not been used before, and its scope.
    Member {
        family: Family,
        scope: usize,
    },
}

impl<'a> Scopes<'a> {
    pub(super) fn new() -> Self {
        Self { stack: vec![Scope::default()] }
    }

    /// Enters a function: only the module's names remain visible.
    pub(super) fn enter_function(&mut self) {
        self.stack.truncate(1);
        self.stack.push(Scope::default());
    }

    pub(super) fn leave_function(&mut self) {
        self.stack.truncate(1);
    }

    pub(super) fn open(&mut self) {
        self.stack.push(Scope::default());
    }

    pub(super) fn close(&mut self) {
        if self.stack.len() > 2 {
            self.stack.pop();
        }
    }

    /// Declares a name in the innermost scope. Returns false if it is taken there.
    pub(super) fn declare(&mut self, name: &'a str, symbol: Symbol) -> bool {
        let depth = self.stack.len() - 1;
        self.stack[depth].symbols.insert(name, symbol).is_none()
    }

    pub(super) fn declare_at(&mut self, scope: usize, name: &'a str, symbol: Symbol) {
        self.stack[scope].symbols.insert(name, symbol);
    }

    /// Returns true if the innermost scope has this name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.stack.last().is_some_and(|scope| scope.symbols.contains_key(name))
    }

    pub(super) fn declare_family(&mut self, prefix: &'a str, family: Family) -> bool {
        // Compilers declare as many registers as they use.
        const MOST_RESERVED: u32 = 1 << 14;
        let depth = self.stack.len() - 1;
        self.stack[depth].symbols.reserve(family.count.min(MOST_RESERVED) as usize);
        self.stack[depth].families.insert(prefix, family).is_none()
    }

    pub(super) fn find(&self, name: &str) -> Option<Symbol> {
        self.stack.iter().rev().find_map(|scope| scope.symbols.get(name).copied())
    }

    /// Looks up a name that may be a member of a register family.
    pub(super) fn find_register(&self, name: &str) -> Option<Found> {
        for (depth, scope) in self.stack.iter().enumerate().rev() {
            if let Some(&symbol) = scope.symbols.get(name) {
                return Some(Found::Symbol(symbol));
            }
            // A family's prefix may itself end in digits: `%r1_<4>` does not, `%a1<4>` does.
            if scope.families.is_empty() {
                continue;
            }
            let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
            for split in digits..name.len() {
                let (prefix, number) = name.split_at(split);
                let canonical = number.len() == 1 || !number.starts_with('0');
                let Some(&family) = scope.families.get(prefix).filter(|_| canonical) else {
                    continue;
                };
                if number.parse().is_ok_and(|number: u32| number < family.count) {
                    return Some(Found::Member { family, scope: depth });
                }
            }
        }
        None
    }

    /// Every visible name, for hints.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> + '_ {
        self.stack.iter().rev().flat_map(|scope| scope.symbols.keys().copied())
    }
}

//! Operands that an instruction cannot take: they are brought into registers beforehand.
//!
//! Up to Ada, an instruction takes one operand from the constant bank or one literal. The others
//! are moved into registers in the block that needs them. Since Hopper, constants are loaded into
//! uniform registers (`ULDC`) or registers (`LDC`) once for all blocks that the load dominates. The
//! start of the window of shared memory is computed from the CTA's rank.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use gpucast_ptx_frontend::isa::{InstructionClass, Opcode};
use gpucast_ptx_frontend::types::{ScalarType, StateSpace};
use smallvec::SmallVec;

use super::super::family::{Constants, Family, Multiplier};
use super::super::flow::{Dominators, outside_of_loops};
use super::super::graph::{Arg, Graph, Op, Part};
use super::Selected;

/// The operands that are in registers so far; ask block by block, in reverse post-order.
#[derive(Debug)]
pub(in super::super) struct Operands<'a> {
    family: &'a Family,
    dominators: &'a Dominators,
    /// The closest block outside of all loops that leads to each block.
    outside: Vec<u32>,
    /// Literals and constants moved in a block.
    moved: HashSet<(u32, Arg)>,
    /// The blocks in which a constant was loaded.
    loaded: HashMap<Arg, SmallVec<[u32; 2]>>,
    /// The blocks in which the start of shared memory was computed.
    windows: SmallVec<[u32; 2]>,
    /// Constants that some instruction takes from a register of the lanes alone.
    of_lanes: HashSet<Arg>,
}

impl<'a> Operands<'a> {
    pub(in super::super) fn new(
        graph: &Graph<'_>,
        family: &'a Family,
        dominators: &'a Dominators,
    ) -> Self {
        Self {
            family,
            dominators,
            outside: outside_of_loops(graph, dominators),
            moved: HashSet::new(),
            loaded: HashMap::new(),
            windows: SmallVec::new(),
            of_lanes: constants_of_lanes(graph, family),
        }
    }

    /// The operands of an operation that instructions bring into registers.
    pub(in super::super) fn bring(&mut self, op: &Op<'_>) -> SmallVec<[Brought; 2]> {
        let hoists = self.family.constants == Constants::Uniform;
        let block = if hoists { self.outside[op.block as usize] } else { op.block };
        needs(op, self.family).into_iter().filter_map(|need| self.one(block, need)).collect()
    }

    fn one(&mut self, block: u32, need: Need) -> Option<Brought> {
        let arg = need.arg;
        let new = |selected| Some(Brought { arg, block, selected: Some(selected) });
        let old = |block| Some(Brought { arg, block, selected: None });
        let dominating = |homes: &[u32]| {
            homes.iter().copied().find(|&home| self.dominators.dominates(home, block))
        };
        match arg {
            Arg::Shared(start) if self.family.shared_window => {
                if dominating(&self.windows).is_none() {
                    self.windows.push(block);
                    self.loaded.entry(arg).or_default().push(block);
                    return new(Selected::new("S2UR", WINDOW));
                }
                let homes = self.loaded.entry(arg).or_default();
                if let Some(home) = dominating(homes) {
                    return old(home);
                }
                if start == 0 {
                    return None;
                }
                homes.push(block);
                new(Selected::new("UIADD3", 1))
            }
            Arg::Bank(_) if self.family.constants == Constants::Uniform => {
                let homes = self.loaded.entry(arg).or_default();
                if let Some(home) = dominating(homes) {
                    return old(home);
                }
                homes.push(block);
                // Addresses are added up by the lanes, which take pointers from registers.
                new(if need.words > 1 {
                    Selected::constant(8)
                } else if self.of_lanes.contains(&arg) {
                    Selected::constant(4)
                } else {
                    Selected::new("ULDC", 1)
                })
            }
            _ if need.in_register => {
                let is_new = self.moved.insert((block, arg));
                if is_new { new(Selected::new("MOV", need.words)) } else { old(block) }
            }
            _ => None,
        }
    }
}

/// An operand in a register that an instruction of its own fills.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Brought {
    pub(in super::super) arg: Arg,
    /// The block whose executions are those of the instruction.
    pub(in super::super) block: u32,
    /// The instruction; `None` if an earlier operation has brought the operand.
    pub(in super::super) selected: Option<Selected>,
}

/// The constants that no uniform register can hold. An instruction takes them where it takes
/// registers of the lanes only, or it takes another uniform register already.
fn constants_of_lanes(graph: &Graph<'_>, family: &Family) -> HashSet<Arg> {
    let mut found = HashSet::new();
    if family.constants == Constants::Direct {
        return found;
    }
    for op in graph.ops.iter().filter(|op| op.is_live()) {
        let needs = needs(op, family);
        let banks = || needs.iter().filter(|need| matches!(need.arg, Arg::Bank(_)));
        found.extend(banks().filter(|need| need.in_register).map(|need| need.arg));
        let narrow = banks().filter(|need| need.words == 1);
        found.extend(narrow.skip(1).map(|need| need.arg));
    }
    found
}

/// The number of operations that take each constant from a register, if that takes an instruction.
#[derive(Debug, Default)]
pub(in super::super) struct ConstantUses {
    uses: HashMap<Arg, u32>,
}

impl ConstantUses {
    /// Up to Ada constants are operands. If they are moved, the assembler does not reckon with it.
    pub(in super::super) fn new(graph: &Graph<'_>, family: &Family) -> Self {
        if family.constants == Constants::Direct {
            return Self::default();
        }
        Self { uses: uses((0..graph.ops.len()).map(|index| index as u32), graph, family) }
    }

    /// Instructions that load constants which only `members` use, or compute where shared memory
    /// begins.
    pub(in super::super) fn instructions(
        &self,
        members: &[u32],
        graph: &Graph<'_>,
        family: &Family,
    ) -> u32 {
        if self.uses.is_empty() {
            return 0;
        }
        let inside = uses(members.iter().copied(), graph, family);
        let window = family.shared_window && inside.keys().any(|arg| matches!(arg, Arg::Shared(_)));
        let own = inside
            .iter()
            .filter(|(arg, uses)| matches!(arg, Arg::Bank(_)) && self.uses.get(arg) == Some(uses));
        own.count() as u32 + if window { WINDOW } else { 0 }
    }
}

/// For each constant, the number of the given operations that need it.
fn uses(
    indices: impl Iterator<Item = u32>,
    graph: &Graph<'_>,
    family: &Family,
) -> HashMap<Arg, u32> {
    let mut uses = HashMap::new();
    for op in indices.map(|index| graph.op(index)).filter(|op| op.is_live()) {
        for need in needs(op, family) {
            *uses.entry(need.arg).or_default() += 1;
        }
    }
    uses
}

/// Instructions that compute the start of shared memory.
const WINDOW: u32 = 3;

/// An operand that is no register.
#[derive(Clone, Copy, Debug)]
struct Need {
    arg: Arg,
    /// True if the instruction cannot take it as it is.
    in_register: bool,
    /// Moves of 32 bits that it takes.
    words: u32,
}

fn needs(op: &Op<'_>, family: &Family) -> SmallVec<[Need; 4]> {
    let mut needs = SmallVec::new();
    // Moves have been counted as instructions of their own, and calls pass registers.
    if matches!(op.opcode, Opcode::Mov | Opcode::Call | Opcode::Bra | Opcode::Ret | Opcode::Exit) {
        if op.opcode == Opcode::Mov && family.constants == Constants::Uniform {
            return needs;
        }
        let shared = op.args.iter().filter(|arg| matches!(arg, Arg::Shared(_)));
        needs.extend(shared.map(|&arg| Need { arg, in_register: false, words: 1 }));
        return needs;
    }
    let words = op.ty.bits().div_ceil(32);
    if let Some(memory) = op.memory {
        if let Some(base @ (Arg::Bank(_) | Arg::Shared(_))) = memory.base {
            let wide = !matches!(
                memory.space,
                Some(
                    StateSpace::Shared | StateSpace::Const | StateSpace::Local | StateSpace::Param
                )
            );
            let in_register = wide && matches!(base, Arg::Bank(_));
            needs.push(Need { arg: base, in_register, words: if wide { 2 } else { 1 } });
        }
        // Data is stored from registers; zero is one.
        let data = op.args.iter().filter(|arg| is_literal(arg));
        needs.extend(data.map(|&arg| Need { arg, in_register: true, words }));
        return needs;
    }
    if op.source.form.form().class == InstructionClass::InterThread {
        return needs;
    }
    let direct = direct_operands(op, family);
    let mut taken = 0_i32;
    for (position, arg) in op.args.iter().enumerate() {
        if direct.ignored.contains(&position) || !is_literal(arg) {
            continue;
        }
        // Constants of the bank are preferred if one of two has to be moved. They may be anything,
        // while a literal that is moved can be shared by the block.
        let must_move = direct.register_first == Some(position);
        let is_bank = matches!(arg, Arg::Bank(_));
        // The start of shared memory and uniform registers are registers.
        let in_register_already =
            family.constants == Constants::Uniform && (is_bank || matches!(arg, Arg::Shared(_)));
        if !must_move && !in_register_already {
            taken += 1;
        }
        // The sum that a product of twice the width is added to.
        let is_twice_as_wide =
            op.part == Part::Wide && position == 2 && family.constants == Constants::Uniform;
        let words = match (is_bank, is_twice_as_wide) {
            (true, true) => 2 * words,
            (true, false) => words,
            // Once more for a second partial product that is far away.
            (false, _) if must_move && words > 1 && is_product(op) => words + 1,
            (false, _) => 1,
        };
        needs.push(Need { arg: *arg, in_register: must_move, words });
    }
    // Doubles whose low half is not zero are literals of the constant bank up to Ada.
    if op.ty == ScalarType::F64 && family.constants == Constants::Uniform {
        for need in &mut needs {
            if matches!(need.arg, Arg::Constant(bits) if bits & 0xffff_ffff != 0) {
                need.in_register = true;
                need.words = 2;
                taken -= 1;
            }
        }
    }
    if taken > 1 {
        let mut surplus = taken - 1;
        // Literals first.
        for wanted in [false, true] {
            for need in needs.iter_mut() {
                let is_bank = matches!(need.arg, Arg::Bank(_));
                let movable = family.constants == Constants::Direct || !is_bank;
                if surplus > 0 && movable && !need.in_register && is_bank == wanted {
                    need.in_register = true;
                    surplus -= 1;
                }
            }
        }
    }
    needs
}

/// Returns true if an argument is no register: neither the zero register nor the start of shared
/// memory where that is one.
fn is_literal(arg: &Arg) -> bool {
    match arg {
        Arg::Constant(value) => *value != 0,
        Arg::Bank(_) | Arg::Shared(_) => true,
        Arg::Register(_) | Arg::Special(_) => false,
    }
}

/// The arguments that are not ordinary operands.
#[derive(Clone, Debug, Default)]
struct Direct {
    /// Parts of the instruction itself.
    ignored: Range<usize>,
    /// Must be a register.
    register_first: Option<usize>,
}

fn is_product(op: &Op<'_>) -> bool {
    matches!(op.opcode, Opcode::Mul | Opcode::Mad) && op.is_integer()
}

/// The index of a product's literal of more than 16 bits.
fn long_factor(op: &Op<'_>) -> Option<usize> {
    op.args.iter().take(2).position(|arg| match arg {
        Arg::Constant(value) => *value > 0xffff && !value.is_power_of_two(),
        _ => false,
    })
}

fn direct_operands(op: &Op<'_>, family: &Family) -> Direct {
    let power = |arg: Option<&Arg>| match arg {
        Some(Arg::Constant(value)) => value.is_power_of_two(),
        _ => false,
    };
    let are_constants = |places: Range<usize>| {
        let args = op.args.get(places);
        args.is_some_and(|args| args.iter().all(|arg| matches!(arg, Arg::Constant(_))))
    };
    match op.opcode {
        Opcode::Mad if op.is_integer() && power(op.args.get(1)) => {
            let shifts = op.part == Part::Low || family.multiplier == Multiplier::Xmad;
            Direct { ignored: if shifts { 1..2 } else { 0..0 }, register_first: Some(0) }
        }
        // `XMAD` takes literals of 16 bits.
        Opcode::Mul | Opcode::Mad
            if is_product(op)
                && family.multiplier == Multiplier::Xmad
                && long_factor(op).is_some() =>
        {
            Direct { ignored: 0..0, register_first: long_factor(op) }
        }
        Opcode::Shl | Opcode::Shr => Direct { ignored: 1..2, register_first: Some(0) },
        Opcode::Lop3 => Direct { ignored: 3..4, register_first: None },
        // The place and the length of a field. One literal holds both on Maxwell, and since Volta
        // two instructions have one of them each.
        Opcode::Bfe if op.ty.bits() == 32 && are_constants(1..3) => {
            Direct { ignored: 1..3, register_first: None }
        }
        Opcode::Bfi if op.ty.bits() == 32 && are_constants(2..4) => {
            Direct { ignored: 2..4, register_first: None }
        }
        _ => Direct::default(),
    }
}

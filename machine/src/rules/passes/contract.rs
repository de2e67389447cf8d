//! Contraction: products and shifts become part of the sums that take them.

use gpucast_ptx_frontend::isa::{Modifier, Opcode};
use gpucast_ptx_frontend::types::ScalarType;

use super::super::family::{Constants, Family, Multiplier};
use super::super::graph::{Arg, Graph, Op, Part, Register, State};

/// Contracts operations that the family has instructions for.
pub(super) fn contract(graph: &mut Graph<'_>, family: &Family) {
    let mut products: Vec<u32> =
        (0..graph.ops.len() as u32).filter(|&index| is_product(graph, index, family)).collect();
    // If a sum could take either of two products, `XMAD` adds for nothing and shifts come second.
    // Elsewhere shifts come first, because an addition with a shift takes no literal besides.
    let shift_last = family.multiplier == Multiplier::Xmad;
    products.sort_by_key(|&index| (graph.op(index).opcode == Opcode::Shl) == shift_last);
    for product in products {
        let Some(result) = graph.op(product).result() else { continue };
        share_with_narrow(graph, product, result);
        let users: Vec<u32> = graph.uses(result).to_vec();
        if users.is_empty() {
            graph.change(&[product], |graph| graph.op_mut(product).state = State::Dead);
            continue;
        }
        if worthwhile(graph, product, users.len(), family)
            && users.iter().all(|&user| takes(graph, product, user, family))
        {
            let changed: Vec<u32> = users.iter().copied().chain([product]).collect();
            graph.change(&changed, |graph| {
                users.into_iter().for_each(|user| absorb(graph, product, user));
                graph.op_mut(product).state = State::Dead;
            });
        }
    }
    if family.iadd3 {
        add_three(graph);
    }
}

/// Lets 32-bit sums compute the low half of a 64-bit product themselves: with the sum, that is one
/// instruction as the sum alone is.
fn share_with_narrow(graph: &mut Graph<'_>, product: u32, result: Register) {
    if graph.op(product).part != Part::Wide {
        return;
    }
    let narrow = |user: u32| {
        let op = graph.op(user);
        let once = op.args.iter().filter(|arg| **arg == Arg::Register(result)).count() == 1;
        op.is_live()
            && op.opcode == Opcode::Add
            && op.is_integer()
            && op.ty.bits() == 32
            && op.args.len() == 2
            && once
            && keeps(graph, product, user)
    };
    let users: Vec<u32> = graph.uses(result).iter().copied().filter(|&user| narrow(user)).collect();
    graph.change(&users, |graph| {
        for &user in &users {
            absorb(graph, product, user);
            let op = graph.op_mut(user);
            op.part = Part::Low;
            op.ty = ScalarType::B32;
        }
    });
}

/// Returns true if an operation is a product or a shift by a literal, unguarded and read.
fn is_product(graph: &Graph<'_>, index: u32, family: &Family) -> bool {
    let op = graph.op(index);
    let Some(result) = op.result() else { return false };
    let kind = match op.opcode {
        Opcode::Mul => op.part != Part::High && op.ty.bits() >= 32,
        Opcode::Shl => matches!(op.args.get(1), Some(Arg::Constant(_))),
        // `LEA.HI` adds the high half of a shifted number.
        Opcode::Shr => {
            family.multiplier == Multiplier::ImadWide
                && op.ty.bits() == 32
                && matches!(op.args.get(1), Some(Arg::Constant(_)))
        }
        _ => false,
    };
    kind && op.is_live() && graph.value(result) == Some(index) && !graph.uses(result).is_empty()
}

/// Returns true if contraction into every user costs no more than the product by itself.
fn worthwhile(graph: &Graph<'_>, product: u32, users: usize, family: &Family) -> bool {
    let op = graph.op(product);
    if !op.is_integer() || users == 1 {
        return users == 1;
    }
    match (op.opcode, family.multiplier) {
        (Opcode::Shl, _) => op.ty.bits() == 32,
        (Opcode::Shr, _) => false,
        (_, multiplier) => {
            let literal = op.args.iter().any(|arg| matches!(arg, Arg::Constant(_)));
            multiplier == Multiplier::ImadWide && op.ty.bits() == 32 && literal
        }
    }
}

/// Returns true if `user` is a sum that can take `product`.
fn takes(graph: &Graph<'_>, product: u32, user: u32, family: &Family) -> bool {
    let (product_op, op) = (graph.op(product), graph.op(user));
    let Some(result) = product_op.result() else { return false };
    let times = op.args.iter().filter(|arg| **arg == Arg::Register(result)).count();
    let in_arguments = times == 1
        && op.args.len() == 2
        && op.memory.is_none()
        && op.guard.is_none_or(|guard| guard.predicate != result);
    if !op.is_live() || !in_arguments || !keeps(graph, product, user) {
        return false;
    }
    // If constants are loaded once for a loop, so are values computed from them alone.
    let of_constants =
        product_op.args.iter().all(|arg| matches!(arg, Arg::Bank(_) | Arg::Constant(_)));
    if of_constants && family.constants == Constants::Uniform && product_op.block != op.block {
        return false;
    }
    if !product_op.is_integer() {
        let contractible = |op: &Op<'_>| {
            ![Modifier::Rn, Modifier::Rz, Modifier::Rm, Modifier::Rp, Modifier::Sat]
                .iter()
                .any(|&modifier| op.has(modifier))
        };
        return matches!(op.opcode, Opcode::Add | Opcode::Sub)
            && op.ty == product_op.ty
            && contractible(op)
            && contractible(product_op);
    }
    let carries = op.has(Modifier::Cc) || op.has(Modifier::Sat);
    let same_width = op.ty.bits() == product_op.result_bits();
    let shift = product_op.opcode == Opcode::Shl;
    let has_instruction = product_op.part == Part::Wide
        || product_op.ty.bits() == 32
        || shift
        || family.multiplier == Multiplier::ImadWide;
    op.is_integer()
        && same_width
        && !carries
        && has_instruction
        && (op.opcode == Opcode::Add || subtracts(product_op, op, result, family))
}

/// Returns true if a difference takes a product with a literal, which is negated then.
fn subtracts(product: &Op<'_>, op: &Op<'_>, result: Register, family: &Family) -> bool {
    let literal = product.args.iter().any(|arg| matches!(arg, Arg::Constant(_)));
    op.opcode == Opcode::Sub
        && family.multiplier == Multiplier::ImadWide
        && product.opcode == Opcode::Mul
        && product.part == Part::Low
        && literal
        && op.args.get(1) == Some(&Arg::Register(result))
}

/// Returns true if everything that `product` reads has the same value where `user` stands.
pub(super) fn keeps(graph: &Graph<'_>, product: u32, user: u32) -> bool {
    let op = graph.op(product);
    op.args.iter().all(|arg| match arg {
        Arg::Register(register) if graph.value(*register).is_none() => {
            op.block == graph.op(user).block
                && user > product
                && !graph.definitions[register.index()]
                    .iter()
                    .any(|&change| change > product && change < user)
        }
        _ => true,
    })
}

fn absorb(graph: &mut Graph<'_>, product: u32, user: u32) {
    let product_op = graph.op(product).clone();
    let op = graph.op_mut(user);
    let other = op.args.iter().find(|arg| product_op.result().map(Arg::Register) != Some(**arg));
    let Some(&other) = other else { return };
    op.args = match (product_op.opcode, product_op.args.as_slice()) {
        // Either way it is one `LEA`.
        (Opcode::Shl | Opcode::Shr, [arg, Arg::Constant(by)]) => {
            let factor = 1_u64.checked_shl(*by as u32).unwrap_or(0);
            smallvec::smallvec![*arg, Arg::Constant(factor), other]
        }
        (_, [left, right]) => smallvec::smallvec![*left, *right, other],
        _ => return,
    };
    op.opcode = if product_op.is_integer() { Opcode::Mad } else { Opcode::Fma };
    op.part = product_op.part;
    op.ty = product_op.ty;
}

/// Sums of sums become sums of three.
fn add_three(graph: &mut Graph<'_>) {
    for index in 0..graph.ops.len() as u32 {
        let op = graph.op(index);
        if !is_sum(op) {
            continue;
        }
        let inner = op.args.iter().find_map(|&arg| {
            let inner = graph.value_of(arg)?;
            let result = graph.op(inner).result()?;
            let once = graph.use_count(result) == 1;
            (once && is_sum(graph.op(inner)) && keeps(graph, inner, index)).then_some(inner)
        });
        let Some(inner) = inner else { continue };
        graph.change(&[inner, index], |graph| {
            let inner_op = graph.op(inner).clone();
            let op = graph.op_mut(index);
            op.args.retain(|arg| inner_op.result().map(Arg::Register) != Some(*arg));
            op.args.extend(inner_op.args);
            graph.op_mut(inner).state = State::Dead;
        });
    }
}

fn is_sum(op: &Op<'_>) -> bool {
    let plain = !op.has(Modifier::Cc) && !op.has(Modifier::Sat);
    let literals = op.args.iter().filter(|arg| !matches!(arg, Arg::Register(_))).count();
    matches!(op.opcode, Opcode::Add | Opcode::Sub)
        && op.is_live()
        && op.is_integer()
        && op.ty.bits() == 32
        && op.ty != ScalarType::Pred
        && op.args.len() == 2
        && literals <= 1
        && plain
        && op.guard.is_none()
}

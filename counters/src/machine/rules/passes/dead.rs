//! Dead code: operations whose results nobody reads.

use gpucast_ptx_frontend::isa::Opcode;

use super::super::graph::{Graph, Op, State};

/// Removes what has no effect, until nothing more goes.
pub(super) fn remove(graph: &mut Graph<'_>) {
    loop {
        graph.find_uses();
        let dead: Vec<usize> = (0..graph.ops.len())
            .filter(|&index| {
                let op = &graph.ops[index];
                op.state != State::Dead
                    && is_pure(op)
                    && op.results.iter().all(|&result| only_feeds_itself(graph, index, result))
            })
            .collect();
        if dead.is_empty() {
            return;
        }
        for index in dead {
            graph.ops[index].state = State::Dead;
        }
    }
}

/// Whether nothing but the operation itself reads its result, as with a counter that nobody asks.
fn only_feeds_itself(
    graph: &Graph<'_>,
    index: usize,
    result: super::super::graph::Register,
) -> bool {
    graph.uses(result).iter().all(|&user| user as usize == index)
}

/// Whether an operation does nothing but write its results.
pub(in super::super) fn is_pure(op: &Op<'_>) -> bool {
    use Opcode as O;
    if op.results.is_empty() {
        return false;
    }
    match op.opcode {
        O::Ld | O::Ldu => !op.has(gpucast_ptx_frontend::isa::Modifier::Volatile),
        O::Add
        | O::Sub
        | O::Mul
        | O::Mad
        | O::Mul24
        | O::Mad24
        | O::Sad
        | O::Div
        | O::Rem
        | O::Abs
        | O::Neg
        | O::Min
        | O::Max
        | O::Popc
        | O::Clz
        | O::Bfind
        | O::Fns
        | O::Brev
        | O::Bfe
        | O::Bfi
        | O::Szext
        | O::Bmsk
        | O::Dp4a
        | O::Dp2a
        | O::Testp
        | O::Copysign
        | O::Fma
        | O::Rcp
        | O::Sqrt
        | O::Rsqrt
        | O::Sin
        | O::Cos
        | O::Lg2
        | O::Ex2
        | O::Tanh
        | O::Set
        | O::Setp
        | O::Selp
        | O::Slct
        | O::And
        | O::Or
        | O::Xor
        | O::Not
        | O::Cnot
        | O::Lop3
        | O::Shf
        | O::Shl
        | O::Shr
        | O::Mov
        | O::Prmt
        | O::Isspacep
        | O::Cvta
        | O::Cvt
        | O::CvtPack
        | O::Mapa
        | O::Getctarank
        | O::Createpolicy => true,
        _ => false,
    }
}
